"""Table schemas of what threads and CPUs did: threads, their scheduling, the JVM's phases, counters, lost records.

`slice` holds one row per *scheduling cycle* of a thread, which is why the store stays small: blocked, then runnable,
then running, in that order, each possibly of length zero. `thread_state` is the view that spells a slice out as up to
three rows.
"""

from __future__ import annotations

from headway.store import packing, views
from headway.store.table_types import Column, TableSchema

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
