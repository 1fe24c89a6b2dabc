"""Table schemas of call stacks: frames, stacks, samples, the stacks of waiting threads, mounts of virtual threads."""

from __future__ import annotations

from headway.store.table_types import Column, TableSchema

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
