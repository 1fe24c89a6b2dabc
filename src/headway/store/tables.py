"""The schema of every table: columns, types, units, meaning. Readers and the reference docs are generated from it.

Physical tables are Parquet files of the recording. Views are SQL over them, row by row (no windows, no ASOF joins), so
that DuckDB and Spark read them alike. Times are CLOCK_MONOTONIC nanoseconds in int64; durations end in `_ns`.

`slice` holds one row per *scheduling cycle* of a thread, which is why the store stays small: blocked, then runnable,
then running, in that order, each possibly of length zero. `thread_state` is the view that spells a slice out as up to
three rows.
"""

from __future__ import annotations

from headway.store import causal_tables, packing, views
from headway.store.table_types import Column, TableSchema

__all__ = ["TABLES", "Column", "TableSchema"]

THREAD = TableSchema(
    "thread",
    "Every thread of the recorded process tree. thread_id is its row number here: other tables use it, because a tid "
    "may be used again. Identity outside a recording is (tid, start_ns).",
    (
        Column("thread_id", "INTEGER", "dense id, 0.. in order of start"),
        Column("pid", "INTEGER", "thread group, initial pid namespace"),
        Column("tid", "INTEGER", "thread, initial pid namespace"),
        Column("start_ns", "BIGINT", "birth (task start_time); before the recording for threads found at attach"),
        Column("end_ns", "BIGINT", "exit; null while alive at the end", nullable=True),
        Column("name", "VARCHAR", "Java name, else the kernel's last name; invalid UTF-8 is escaped as \\xNN"),
        Column("comm", "VARCHAR", "the kernel's name (15 bytes), escaped alike"),
        Column("kind", "VARCHAR", "app, gc, jit, vm, carrier, headway"),
        Column("java_id", "BIGINT", "Thread.getId()", nullable=True),
        Column("is_daemon", "BOOLEAN", "Java daemon flag", nullable=True),
        Column("group", "VARCHAR", "Java thread group", nullable=True),
        Column("parent_tid", "INTEGER", "the thread that created it", nullable=True),
        Column("from_snapshot", "BOOLEAN", "true: ran before the recording, its first state is from /proc"),
        Column("running_ns", "BIGINT", "time on a CPU inside the window", nullable=True),
        Column("exec_ns", "BIGINT", "the part of running_ns that the host did not steal", nullable=True),
        Column("runnable_ns", "BIGINT", "time waiting for a CPU", nullable=True),
        Column("blocked_ns", "BIGINT", "time sleeping, uninterruptible or stopped", nullable=True),
        Column("switches", "BIGINT", "times switched in", nullable=True),
        Column(
            "collecting_ns",
            "BIGINT",
            "the part of running_ns in which a thread of kind vm collected garbage; activity counts it as gc",
            nullable=True,
        ),
        Column("cpu_clock_ns", "BIGINT", "CPU clock read by the agent at thread end: an oracle", nullable=True),
        Column(
            "java_end_ns",
            "BIGINT",
            "when its Java part ended, a little before end_ns: by then it has done its work; null: not known",
            nullable=True,
        ),
        Column("bottle_height_ns", "BIGINT", "sum of dt/active while active: its share of wall time", nullable=True),
        Column("bottle_width", "DOUBLE", "its parallelism: active time / bottle_height_ns", nullable=True),
        Column("parallelism_running", "DOUBLE", "mean active threads while this one runs", nullable=True),
    ),
)

SLICE = TableSchema(
    "slice",
    "One scheduling cycle of a thread: blocked for blocked_ns (0: was preempted or is new), then runnable for "
    "runnable_ns, then running from start_ns for running_ns. A cycle still open at the end of the recording has "
    "is_open, and running_ns 0 if it never got a CPU. Rows are in order of start_ns + running_ns.",
    (
        Column("thread_id", "INTEGER", "thread.thread_id"),
        Column("start_ns", "BIGINT", "switch-in"),
        Column("blocked_ns", "BIGINT", "time blocked before the wake-up"),
        Column("runnable_ns", "BIGINT", "time runnable before start_ns; null: counted as blocked", nullable=True),
        Column("running_ns", "BIGINT", "time on the CPU"),
        Column("stolen_ns", "BIGINT", "running_ns - exec_ns: what the host took; null unknown", nullable=True),
        Column("cpu", "SMALLINT", "CPU of the running part; -1 if it never ran"),
        Column("blocked_state", "UTINYINT", "0 none, 1 sleeping, 2 uninterruptible, 3 stopped"),
        Column(
            "blocked_in",
            "UTINYINT",
            "what it blocked in: 0 not blocked or not known, 1 futex, 2 futex with a timeout, 3 nanosleep, 4 poll or epoll, 5 a "
            "file or descriptor, 6 a socket's call, 7 wait for a child, 8 another system call, 9 none (page fault)",
            nullable=True,
        ),
        Column("waker_id", "INTEGER", "thread_id of the waker; -1 unknown, -2 outside the recorded tree"),
        Column("waker_irq", "BOOLEAN", "the waking came from interrupt context"),
        Column("is_open", "BOOLEAN", "cut off by the end of the recording"),
        *(
            Column(
                name, "BIGINT", f"what counter {place} of the manifest's counters counted while it ran", nullable=True
            )
            for place, name in enumerate(packing.COUNTS)
        ),
        *(
            Column(
                name, "BIGINT", f"part of running_ns in which group {place} of counters did not count", nullable=True
            )
            for place, name in enumerate(packing.UNCOUNTED)
        ),
    ),
    unpack=views.SLICE,
    unpack_without={
        "blocked_in": "CAST(0 AS UTINYINT)",
        **dict.fromkeys((*packing.COUNTS, *packing.UNCOUNTED), "CAST(-1 AS BIGINT)"),
    },
)

THREAD_STATE = TableSchema(
    "thread_state",
    "Each thread's states as intervals, spelled out from slice.",
    (
        Column("thread_id", "INTEGER", "thread.thread_id"),
        Column("tid", "INTEGER", "thread.tid"),
        Column("thread_start_ns", "BIGINT", "thread.start_ns"),
        Column("start_ns", "BIGINT", "begin of the interval"),
        Column("dur_ns", "BIGINT", "length"),
        Column("exec_ns", "BIGINT", "running only: dur_ns less what the host stole", nullable=True),
        Column("state", "VARCHAR", "running, runnable, sleeping, uninterruptible, stopped"),
        Column("cpu", "SMALLINT", "running only", nullable=True),
        Column("waker_tid", "INTEGER", "blocked states: who ended it; null unknown", nullable=True),
        Column("waker_context", "VARCHAR", "blocked states: thread, irq; null unknown", nullable=True),
    ),
    sql=views.THREAD_STATE,
    needs=("slice", "thread"),
)

ACTIVITY = TableSchema(
    "activity",
    "How long each combination of counts held, per time bin: the exact sweep over every state change, summed inside "
    "bins so that the table stays bounded (docs/decisions). Sum of dur_ns over all rows = wall time. Threads of kind "
    "headway are not counted.",
    (
        Column("bin_start_ns", "BIGINT", "begin of the bin"),
        Column("dur_ns", "BIGINT", "time inside the bin during which exactly these counts held"),
        Column("active_app", "INTEGER", "application (and carrier) threads running or runnable"),
        Column("active_gc", "INTEGER", "GC threads running or runnable"),
        Column("active_jit", "INTEGER", "JIT threads running or runnable"),
        Column("active_vm", "INTEGER", "VM threads running or runnable"),
        Column("running_app", "INTEGER", "application threads on a CPU"),
        Column("running_gc", "INTEGER", "GC threads on a CPU"),
        Column("running_jit", "INTEGER", "JIT threads on a CPU"),
        Column("running_vm", "INTEGER", "VM threads on a CPU"),
        Column("stolen_ns", "BIGINT", "core-ns that the host took from the running threads meanwhile", nullable=True),
    ),
)

JVM_PHASE = TableSchema(
    "jvm_phase",
    "Phases the JVM reports.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column("start_ns", "BIGINT", "begin"),
        Column("dur_ns", "BIGINT", "length"),
        Column(
            "kind",
            "VARCHAR",
            "gc_pause, startup, shutdown (with the wait for its hooks); imported: safepoint (which may be a pause, too)",
        ),
        Column("cause", "VARCHAR", "the JVM's word for why", nullable=True),
    ),
)

JVM = TableSchema(
    "jvm",
    "What each JVM of the tree said about itself.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column("key", "VARCHAR", "java.version, java.vm.name, flags, available_processors, command, ..."),
        Column("value", "VARCHAR", "its value"),
    ),
)

COUNTER = TableSchema(
    "counter",
    "Counters sampled over time.",
    (
        Column("ns", "BIGINT", "when"),
        Column(
            "event",
            "VARCHAR",
            "cpu_steal, cpu_busy (per CPU), cgroup_throttled, recorder_cpu (all cumulative), cpu_khz, cpu_load_jvm_user "
            "(imported) ...",
        ),
        Column("cpu", "SMALLINT", "the CPU; -1 for none"),
        Column("value", "BIGINT", "ns for times, millionths of the machine for loads"),
    ),
)

CPU_GAP = TableSchema(
    "cpu_gap",
    "Stretches in which a CPU ran no thread of the recorded tree, but did run others (kernel threads and headway's recorder are "
    "others, too). Long stretches come in several rows. In order of their end. Absent where that was not recorded.",
    (
        Column("cpu", "SMALLINT", "the CPU"),
        Column("start_ns", "BIGINT", "the last of ours left the CPU, or the window began"),
        Column("dur_ns", "BIGINT", "until one of ours came, or the window's end"),
        Column("other_ns", "BIGINT", "how long others ran there meanwhile; idle for the rest"),
    ),
)

LOSS = TableSchema(
    "loss",
    "Records that could not be taken: everything about this CPU and span is uncertain.",
    (
        Column("source", "VARCHAR", "sched, lifecycle, agent, disk; births: threads that are left out (HW235)"),
        Column("cpu", "SMALLINT", "-1 for none"),
        Column("start_ns", "BIGINT", "first lost record"),
        Column("dur_ns", "BIGINT", "to the last lost record"),
        Column("events", "BIGINT", "how many"),
    ),
)

FRAME = TableSchema(
    "frame",
    "A method and line that stacks are made of.",
    (
        Column("frame_id", "INTEGER", "dense id, 0.."),
        Column("class_name", "VARCHAR", "java.util.HashMap"),
        Column("method", "VARCHAR", "its name, without signature"),
        Column("line", "INTEGER", "source line; null in native methods and where the class has none", nullable=True),
        Column(
            "kind",
            "VARCHAR",
            "java (compiled, or not known how), interpreted, inlined, c1 (first compiler), native, jvm (libjvm), kernel",
        ),
    ),
)

STACK = TableSchema(
    "stack",
    "Stacks, one row per frame. headway's own frames are left out.",
    (
        Column("stack_id", "INTEGER", "dense id, 0.."),
        Column("depth", "SMALLINT", "0 is the innermost frame"),
        Column("frame_id", "INTEGER", "frame.frame_id"),
        Column("is_cut", "BOOLEAN", "the stack is deeper than what is stored"),
    ),
)

BLOCKER = TableSchema(
    "blocker",
    "Every object that threads of a JVM blocked on, with sums that are exact even where the table block was capped. One "
    "object that is both locked and waited on has a row for each.",
    (
        Column("blocker_id", "INTEGER", "dense id, 0.."),
        Column("pid", "INTEGER", "the JVM"),
        Column("kind", "VARCHAR", "park, monitor, wait"),
        Column("class_name", "VARCHAR", "class of the object; empty: all parks without a blocker"),
        Column(
            "identity_hash",
            "INTEGER",
            "System.identityHashCode of the object; 0: none, or what no row of an object of this class and kind has",
        ),
        Column("first_thread", "VARCHAR", "name of the thread of the first measured event"),
        Column("first_stack_id", "INTEGER", "stack.stack_id of the first measured event", nullable=True),
        Column("first_ns", "BIGINT", "first measured event"),
        Column("last_ns", "BIGINT", "last measured event"),
        Column(
            "died_ns",
            "BIGINT",
            "found collected; null: alive at the end, or a short-lived object, at which nobody looks again",
            nullable=True,
        ),
        Column("times_parked", "BIGINT", "blocks that began, also those below the threshold"),
        Column("times_measured", "BIGINT", "those that the times hold"),
        Column("parked_now", "INTEGER", "threads blocked on it at the end"),
        Column("peak_parked", "INTEGER", "most threads blocked at once"),
        Column("thread_time_ns", "BIGINT", "sum over threads of the time blocked, open blocks up to the end"),
        Column("real_time_ns", "BIGINT", "time with at least one thread blocked"),
        Column("holds", "BIGINT", "contended acquisitions seen from acquire to release"),
        Column("hold_ns", "BIGINT", "their sum"),
    ),
)

BLOCK = TableSchema(
    "block",
    "Each time a Java thread blocked in a park, a contended monitor enter or Object.wait. In order of start_ns. Threads "
    "that are virtual have no thread_id.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column("thread_id", "INTEGER", "thread.thread_id; null: virtual or unknown", nullable=True),
        Column("java_id", "BIGINT", "Thread.getId() of it"),
        Column("is_virtual", "BOOLEAN", "a virtual thread"),
        Column("is_pinned", "BOOLEAN", "a virtual thread that kept its carrier"),
        Column("blocker_id", "INTEGER", "blocker.blocker_id; parks without a blocker have one in common"),
        Column("kind", "VARCHAR", "park, monitor, wait"),
        Column("is_timed", "BOOLEAN", "with a timeout"),
        Column("start_ns", "BIGINT", "begin; of is_attached blocks when the agent saw it"),
        Column("dur_ns", "BIGINT", "length"),
        Column("stack_id", "INTEGER", "stack.stack_id; null: not taken this time", nullable=True),
        Column("weight", "INTEGER", "blocks of this thread that its stack stands for"),
        Column("waker_thread_id", "INTEGER", "who unparked it, or by the kernel who woke it", nullable=True),
        Column("waker_java_id", "BIGINT", "the same by Thread.getId()", nullable=True),
        Column("waker_stack_id", "INTEGER", "stack of the unpark", nullable=True),
        Column(
            "waking_ns",
            "BIGINT",
            "the unpark, when a virtual thread's sleep was over (with no waker), or the kernel's waking; null: not seen",
            nullable=True,
        ),
        Column(
            "is_kernel_waking",
            "BOOLEAN",
            "no unpark was seen: waker and waking_ns are by the kernel's waking, as of monitors and of an interrupt; null: "
            "no waking, or not known",
            nullable=True,
        ),
        Column(
            "owner_thread_id",
            "INTEGER",
            "who held the lock at start_ns, an open wait's monitor at the end; null: nobody or unknown",
            nullable=True,
        ),
        Column("owner_java_id", "BIGINT", "the same by Thread.getId()", nullable=True),
        Column("is_open", "BOOLEAN", "still going on at the end of the recording"),
        Column("is_attached", "BOOLEAN", "had begun before the agent came"),
        Column("is_end_guessed", "BOOLEAN", "its end was not seen: taken from the waking or the thread's next event"),
        Column(
            "is_repark",
            "BOOLEAN",
            "parks once more for what its block before was about, which it has not got in between: one wait, counted there; "
            "null: not known",
            nullable=True,
        ),
        Column(
            "owns_monitor",
            "BOOLEAN",
            "of a virtual thread that left its carrier for it: owns the monitor that it last waited for; null: not known",
            nullable=True,
        ),
    ),
)

HOLD = TableSchema(
    "hold",
    "Contended acquisitions of exclusive locks, from acquire to release: other threads were queued at the acquire. In "
    "order of start_ns.",
    (
        Column("blocker_id", "INTEGER", "blocker.blocker_id"),
        Column("thread_id", "INTEGER", "the holder; null: virtual or unknown", nullable=True),
        Column("java_id", "BIGINT", "Thread.getId() of it"),
        Column("start_ns", "BIGINT", "acquired"),
        Column("dur_ns", "BIGINT", "until released"),
        Column("source", "VARCHAR", "owner: seen at the synchroniser; waking: from the kernel's waking of the next"),
    ),
)

SAMPLE = TableSchema(
    "sample",
    "Stack samples: where a thread was at an instant, and how much the sample stands for. In order of ns.",
    (
        Column("thread_id", "INTEGER", "thread.thread_id; null: virtual or unknown", nullable=True),
        Column("ns", "BIGINT", "when it was taken"),
        Column(
            "event", "VARCHAR", "cpu, wall, alloc, lock, cycles, instructions, cache-misses or another event's name"
        ),
        Column(
            "weight", "BIGINT", "what it stands for: ns of CPU or wall time, bytes allocated, else counts of the event"
        ),
        Column("stack_id", "INTEGER", "stack.stack_id; null: the stack could not be walked", nullable=True),
        Column("state", "VARCHAR", "wall samples: running, sleeping; null: unknown", nullable=True),
    ),
)

WAITING_STACK = TableSchema(
    "waiting_stack",
    "Where threads stood that were in no recorded block: in a native call, asleep, or waiting since before the agent came. "
    "Once per thread and state; without locks only what an attach found. In order of ns.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column("thread_id", "INTEGER", "thread.thread_id"),
        Column("ns", "BIGINT", "when the stack was taken"),
        Column("state", "VARCHAR", "native, sleep, wait, park"),
        Column("stack_id", "INTEGER", "stack.stack_id"),
    ),
)

MOUNT = TableSchema(
    "mount",
    "When a carrier had a virtual thread. Only of recordings made with --virtual-threads. In order of thread_id and start_ns.",
    (
        Column("pid", "INTEGER", "the JVM"),
        Column("thread_id", "INTEGER", "the carrier: thread.thread_id"),
        Column("java_id", "BIGINT", "Thread.getId() of the virtual thread"),
        Column("start_ns", "BIGINT", "mounted"),
        Column("dur_ns", "BIGINT", "until it was unmounted, or the recording ended"),
    ),
)

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
    ("{}_local", "to objects on the memory node of the thread's CPU: all where the machine has one node, else null"),
    ("{}_remote", "to objects on another node: none where the machine has one node, else null"),
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
    needs_any=("allocation", "access", "access_owner"),
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

REGION_COUNTER = TableSchema(
    "region_counter",
    "Hardware counters of runs that were measured elsewhere, one row per run, or per region of one. Only where imported.",
    (
        Column("threads", "INTEGER", "the run's number of threads"),
        Column("program", "VARCHAR", "sequential, parallel"),
        Column("region", "VARCHAR", "the region's name; empty: the whole run"),
        Column("cycles", "BIGINT", "CPU cycles", nullable=True),
        Column("instructions", "BIGINT", "instructions retired", nullable=True),
        Column("cache_misses", "BIGINT", "last-level cache misses", nullable=True),
        Column("thread", "VARCHAR", "of one thread only; null: of all together", nullable=True),
    ),
)

TABLES: dict[str, TableSchema] = {
    table.name: table
    for table in (
        *(THREAD, SLICE, THREAD_STATE, ACTIVITY, JVM_PHASE, JVM, COUNTER, CPU_GAP, LOSS),
        *(FRAME, STACK, BLOCKER, BLOCK, HOLD, WAITING_STACK, SAMPLE, MOUNT, ALLOCATION, ACCESS, REGION_COUNTER),
        *(ACCESS_OWNER, ACCESS_PAIR, THREAD_OBJECTS, HEAP_NODE),
        *(ACCESS_WRITER, ACCESS_WRITER_PAIR),
        *causal_tables.ALL,
    )
}
