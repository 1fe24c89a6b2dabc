"""HW81x: how a program uses memory (`headway memory`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW810",
        "a recording without figures of memory",
        "{path} says nothing of how the program uses memory: {reason}",
        "What a program allocates, and what the CPUs count of it, is recorded only when it is asked for.",
        "headway record --objects allocations --counters -o NAME.headway -- CMD",
    ),
    Message(
        "HW811",
        "allocations of the warm-up",
        "figures of allocations are of the whole recording, the warm-up included; those of counters are of the last iterations",
        "The JVM's sums of allocations are kept by thread, class and site, not by time.",
        "headway record --pid PID --objects allocations --duration 30s -o NAME.headway   (attached once it is warm)",
        NOTE,
    ),
    Message(
        "HW812",
        "a second recording of other work",
        "{other} can't give the time for the work of {path}: {reason}",
        "The time of the second recording is taken for the first one's work: the same command, JVM and options, from begin to "
        "end, and without counting accesses.",
        "headway record -o TIMED.headway -- CMD   (with the CMD of the first)",
    ),
)
