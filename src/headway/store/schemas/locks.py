"""Table schemas of what threads waited for: the objects, every wait, and how long threads held a contended lock."""

from __future__ import annotations

from headway.store.table_types import Column, TableSchema

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
