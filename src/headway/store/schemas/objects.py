"""Table schemas of objects and memory: allocations, accesses and their owners, the memory nodes of heaps."""

from __future__ import annotations

from headway.store import views
from headway.store.table_types import Column, TableSchema

ALLOCATION = TableSchema(
    "allocation",
    "What was really allocated, by thread, class and site. Only where asked for (--objects allocations). Sums of the whole "
    "recording; with an interval estimates from samples.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column(
            "thread_id", "INTEGER", "thread.thread_id; null: a virtual thread, or none that is known", nullable=True
        ),
        Column("java_id", "BIGINT", "Thread.getId(); 0: the JVM does not tell, -1: many threads together"),
        Column("class_name", "VARCHAR", "class of the objects, int[] for arrays; empty: many classes together"),
        Column("site_class", "VARCHAR", "class of the innermost Java frame; empty: not recorded"),
        Column("site_method", "VARCHAR", "its method; empty: not recorded"),
        Column("site_line", "INTEGER", "its line; null: unknown", nullable=True),
        Column("objects", "BIGINT", "objects, arrays included"),
        Column("bytes", "BIGINT", "what they take of the heap, headers and padding included"),
        Column("array_length", "BIGINT", "sum of the lengths of the arrays, elements"),
        Column("objects_error", "DOUBLE", "standard error of objects; null: all were counted", nullable=True),
        Column("bytes_error", "DOUBLE", "standard error of bytes", nullable=True),
        Column("array_length_error", "DOUBLE", "standard error of array_length", nullable=True),
        Column("samples", "BIGINT", "objects sampled; null: all were counted", nullable=True),
    ),
)

ACCESS = TableSchema(
    "access",
    "How often code of a class reads and writes fields of objects (tuples) and elements of arrays, and static fields apart, by "
    "thread. Only where asked for (--objects accesses). Sums of the whole recording.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column("thread_id", "INTEGER", "thread.thread_id; null: virtual threads, or none that is known", nullable=True),
        Column("java_id", "BIGINT", "Thread.getId(); -1: many threads together, -2: all virtual threads"),
        Column("class_name", "VARCHAR", "the class whose code it is; empty: unknown"),
        Column("tuple_reads", "BIGINT", "reads of fields of objects"),
        Column("tuple_writes", "BIGINT", "writes of fields of objects"),
        Column("array_reads", "BIGINT", "reads of elements of arrays"),
        Column("array_writes", "BIGINT", "writes of elements of arrays"),
        Column("static_reads", "BIGINT", "reads of static fields"),
        Column("static_writes", "BIGINT", "writes of static fields"),
    ),
)

ACCESS_WINDOW = TableSchema(
    "access_window",
    "Accesses where they were counted in windows (--objects accesses --windows 300ms/60s), in place of table `access`: what "
    "windows counted, and what threads did in the spells before them, from which `headway objects` estimates the whole run.",
    (
        *ACCESS.columns[:4],
        Column(
            "window_group",
            "SMALLINT",
            "0: what all windows have counted, exactly; 1 to 10: what the thread did in the spells right before the windows of a "
            "group, each as long as its window, as it follows from these windows; 11: what the windows of all these spells have "
            "counted. Windows are put into groups in turn",
        ),
        *ACCESS.columns[4:],
    ),
)

ACCESS_WINDOW_WORK = TableSchema(
    "access_window_work",
    "CPU time of threads in windows and between them, and how well windows tell what was done in the spells before them. Only "
    "where accesses were counted in windows.",
    (
        *ACCESS.columns[:3],
        Column("window_group", "SMALLINT", "the group of windows; 0: the first window, and the time behind the last"),
        Column("cpu_in_ns", "BIGINT", "in windows"),
        Column("cpu_own_ns", "BIGINT", "what the same work would have taken at the thread's own speed"),
        Column("cpu_between_ns", "BIGINT", "between each window and the one before"),
        Column("cpu_before_ns", "BIGINT", "of that, in the spells of which it is known what the thread did"),
        Column("cpu_unseen_ns", "BIGINT", "in those of which it is not, as it passed too few marks"),
        Column("marks", "BIGINT", "group 0: how often it passed marks, code that always counts, in the known spells"),
        Column("marks_in", "BIGINT", "group 0: and in the windows of these spells"),
        Column(
            "marks_wrong", "BIGINT", "group 0: so many more or fewer than windows say, by mark, without most of chance"
        ),
        Column("marks_largest", "BIGINT", "group 0: of marks, those of the mark that it passed most often"),
    ),
)

_OWNED = (
    ("tuple_reads", "reads of fields"),
    ("tuple_writes", "writes of fields"),
    ("array_reads", "reads of elements"),
    ("array_writes", "writes of elements"),
)

ACCESS_OWNER = TableSchema(
    "access_owner",
    "Of the accesses in `access`, those to objects whose owner, the thread that allocated them, is known; the rest is unknown. "
    "Only where asked for (--objects accesses --owner allocator).",
    (
        *ACCESS.columns[:4],
        *(Column(f"{name}_local", "BIGINT", f"{what} of objects of the same thread") for name, what in _OWNED),
        *(Column(f"{name}_shared", "BIGINT", f"{what} of objects of another thread") for name, what in _OWNED),
    ),
)

ACCESS_PAIR = TableSchema(
    "access_pair",
    "How often one thread reads and writes objects that another one, or itself, allocated, in all classes. Only where asked for "
    "(--objects accesses --owner allocator).",
    (
        *ACCESS.columns[:3],
        Column("owner_thread_id", "INTEGER", "thread.thread_id of the owner; null: none that is known", nullable=True),
        Column(
            "owner_java_id",
            "BIGINT",
            "Thread.getId() of the owner; 0: unknown, -2: virtual threads, -3: unknown, the program has hashed the object",
        ),
        *(Column(name, "BIGINT", what) for name, what in _OWNED),
    ),
)

_OF_ACCESSES = (
    ("{}", "{}; null: not recorded, as in all columns of accesses"),
    ("{}_own", "of them those to objects that the thread allocated itself; null: owners are not recorded"),
    ("{}_shared", "to objects that another thread allocated"),
    ("{}_unknown_owner", "to objects of which it is not known who allocated them"),
    (
        "{}_local",
        "to objects on the memory node of the thread's CPU: all where the machine has one node, else estimated from samples "
        "(access_node), null where there are none",
    ),
    ("{}_remote", "to objects on another node: none where the machine has one node, else estimated likewise"),
)

THREAD_OBJECTS = TableSchema(
    "thread_objects",
    "What each thread allocated, read and wrote: the published table 5.4 (Papadakis 2022), from allocation, access, "
    "access_owner and thread. A tuple is an object that is no array. Sums of the whole recording.",
    (
        *ALLOCATION.columns[:2],
        Column("java_id", "BIGINT", "Thread.getId(); 0: unknown, -1: many threads together, -2: all virtual threads"),
        Column("thread_name", "VARCHAR", "thread.name", nullable=True),
        Column("thread_kind", "VARCHAR", "thread.kind", nullable=True),
        Column("thread_start_ns", "BIGINT", "thread.start_ns", nullable=True),
        Column(
            "thread_end_ns", "BIGINT", "thread.java_end_ns, else end_ns; null while alive at the end", nullable=True
        ),
        Column("tuple_allocations", "BIGINT", "tuples allocated; null: allocations are not recorded", nullable=True),
        Column("tuple_total_size", "BIGINT", "their bytes", nullable=True),
        Column("array_allocations", "BIGINT", "arrays allocated", nullable=True),
        Column("array_total_size", "BIGINT", "their bytes", nullable=True),
        Column("array_total_length", "BIGINT", "sum of their lengths, elements", nullable=True),
        Column("unknown_allocations", "BIGINT", "objects of many classes together", nullable=True),
        Column("unknown_total_size", "BIGINT", "their bytes", nullable=True),
        Column("allocations_error", "DOUBLE", "standard error of all objects; null: all were counted", nullable=True),
        Column("total_size_error", "DOUBLE", "standard error of all bytes; null: all were counted", nullable=True),
        *(
            Column(form.format(kind), "BIGINT", meaning.format(f"{_OWNED[place][1]} of objects"), nullable=True)
            for place, kind in enumerate(views.OBJECT_KINDS)
            for form, meaning in _OF_ACCESSES
        ),
        Column("static_read", "BIGINT", "reads of static fields", nullable=True),
        Column("static_write", "BIGINT", "writes of static fields", nullable=True),
    ),
    sql=views.THREAD_OBJECTS,
    needs=("thread",),
    needs_any=("allocation", "access", "access_owner", "access_node"),
)

ACCESS_WRITER = TableSchema(
    "access_writer",
    "The same as `access_owner` by another rule: an object's owner is the thread that wrote to it last, before the first write "
    "the one that allocated it. Only where asked for (--objects accesses --owner last-writer).",
    ACCESS_OWNER.columns,
)

ACCESS_WRITER_PAIR = TableSchema(
    "access_writer_pair",
    "The same as `access_pair` by another rule: how often one thread reads and writes objects that another one, or itself, wrote "
    "to last. Only where asked for (--objects accesses --owner last-writer).",
    ACCESS_PAIR.columns,
)

LINE_WRITE = TableSchema(
    "line_write",
    "How often each thread wrote to each field of objects, and to the elements of arrays in each method. Only where asked for "
    "(--objects accesses,lines). Sums of the whole recording.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column("thread_id", "INTEGER", "thread.thread_id; null: none that is known", nullable=True),
        Column("java_id", "BIGINT", "Thread.getId(); of the carrier while it runs virtual threads"),
        Column(
            "field",
            "VARCHAR",
            "the field, com.acme.Order.hits, or elements: long[] in com.acme.Work.run; empty: unknown",
        ),
        Column("field_offset", "INTEGER", "where the field is in its object, bytes; null: elements", nullable=True),
        Column("writes", "BIGINT", "writes"),
    ),
)

LINE_SHARE = TableSchema(
    "line_share",
    "Of the writes in `line_write`, those before which another thread had written to the same place, or near it on the same "
    "cache line, since this thread did. Only where asked for (--objects accesses,lines). Sums of the whole recording.",
    (
        *LINE_WRITE.columns[:3],
        Column("other_thread_id", "INTEGER", "thread.thread_id of the other thread; null: unknown", nullable=True),
        Column("other_java_id", "BIGINT", "its Thread.getId()"),
        LINE_WRITE.columns[3],
        Column("other_field", "VARCHAR", "what the other thread wrote to last there, named likewise"),
        Column(
            "distance",
            "VARCHAR",
            "same: the very same field of the object, or element; line: elsewhere within the same 64 bytes; pair: elsewhere "
            "within the same 128",
        ),
        Column("same_object", "BOOLEAN", "both are in one object or array; false: in neighbours"),
        Column("writes", "BIGINT", "writes of this thread"),
    ),
)

_NODES = (
    Column("kind", "VARCHAR", "tuple_reads, tuple_writes, array_reads or array_writes"),
    Column("cpu_node", "SMALLINT", "memory node of the CPU that made the access; null: unknown", nullable=True),
    Column(
        "page_node", "SMALLINT", "node of the page; null: unknown, as the page was not there, or moving", nullable=True
    ),
    Column("samples", "BIGINT", "accesses that were sampled, each with the same chance"),
    Column("accesses", "BIGINT", "those that they stand for, counted: of the same kind since the sample before"),
)

ACCESS_NODE = TableSchema(
    "access_node",
    "Samples of the accesses in `access`, one in about a thousand, by memory node. Only where asked for (--objects "
    "accesses,nodes). Sums of the whole recording.",
    (*ACCESS.columns[:4], *_NODES),
)

ACCESS_NODE_PAIR = TableSchema(
    "access_node_pair",
    "The same samples by the thread that owns the object, in all classes. Only where asked for (--objects accesses,nodes with "
    "owners).",
    (
        *ACCESS_PAIR.columns[:5],
        Column("rule", "VARCHAR", "by which rule it owns it: allocator, last-writer"),
        *_NODES,
    ),
)

HEAP_NODE = TableSchema(
    "heap_node",
    "On which memory node the pages of each JVM's heap are, now and then. Only where asked for (--numa-map). One look has a row "
    "for each node with pages of the heap, and one for pages of which that is not known.",
    (
        Column("ns", "BIGINT", "when"),
        Column("pid", "INTEGER", "the JVM, as the recorder sees its number"),
        Column("is_heap", "BOOLEAN", "its heap; false: all of its memory that is no file's, as its heap is not known"),
        Column(
            "memory_pages", "BIGINT", "pages that the program may write to there, whether they are there yet or not"
        ),
        Column("page_bytes", "BIGINT", "bytes of a page"),
        Column("asked_pages", "BIGINT", "pages of which the kernel was asked; fewer than memory_pages: at random"),
        Column("node", "SMALLINT", "memory node; null: not there yet, swapped out, or on its way", nullable=True),
        Column("pages", "BIGINT", "those of asked_pages that are there"),
    ),
)
