"""The causes of lost cores: the name of each, its title for people, and what it means.

native/lost_cores/loss_rows.h has them in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping

SERIAL = "serial_section"
LOCK = "lock_contention"
IMBALANCE = "imbalance"
STARVED = "starved_consumer"
FULL = "full_producer"
GC = "gc_pause"
SAFEPOINT = "safepoint"
JIT = "jit"
SLEEP = "sleep"
IO = "io"
FEW = "too_few_tasks"
SCHEDULER = "scheduler"
QUOTA = "cpu_quota"
START = "jvm_start"
END = "jvm_end"
CARRIERS = "carriers"
CONDITION = "condition"
OTHERS_WAIT = "waiting_for_threads"
BLOCKED = "blocked"
UNKNOWN = "unknown"
IDLE = "idle"

CAUSES: Mapping[str, str] = {
    SERIAL: "one application thread was active, and nobody waited for anything but it",
    LOCK: "threads waited for a lock that another one held",
    IMBALANCE: "threads waited at a join, barrier, latch or future for one that had more to do",
    STARVED: "consumers of a queue waited for a slower producer",
    FULL: "producers waited for room in a queue, for a slower consumer",
    GC: "the garbage collector had stopped the program",
    SAFEPOINT: "the JVM had stopped the program for something else than garbage",
    JIT: "a thread waited for the compiler",
    SLEEP: "a thread slept or waited for a time to come, and others waited for it or nobody else had work",
    IO: "a thread waited for a file, the network or another process",
    FEW: "fewer threads had work than there were cores",
    SCHEDULER: "a thread of the application was ready to run and a core was free, but they had not come together",
    QUOTA: "a thread was ready to run, but the CPU quota was used up",
    START: "the JVM was starting: main had not begun",
    END: "the JVM was ending: it waited for its shutdown hooks, or the last application thread had ended",
    CARRIERS: "virtual threads were ready to run, but every carrier was taken or pinned",
    CONDITION: "a thread waited for a condition that another one had to bring about",
    OTHERS_WAIT: "threads waited for other threads (locks, joins or queues: what for was not recorded)",
    BLOCKED: "threads were blocked; on what was not recorded",
    UNKNOWN: "not known: no record of this wait, or records were lost",
    IDLE: "no loss: the whole program waited for work from outside (a request, input, a timer)",
}
"""Every cause and what it means. The four before the last remain where a recording can't tell causes apart; `idle` is no loss,
and has a place of its own in the account."""

OF_THE_JVM = (START, END)
"""Causes that nobody can remove from a program: they come after all that would gain much."""

TITLES: Mapping[str, str] = {
    SERIAL: "serial section",
    LOCK: "lock contention",
    IMBALANCE: "imbalance",
    STARVED: "starved consumer",
    FULL: "full producer",
    GC: "GC pause",
    SAFEPOINT: "safepoint",
    JIT: "waiting for the JIT",
    SLEEP: "sleep",
    IO: "I/O",
    FEW: "too few tasks",
    SCHEDULER: "scheduling delay",
    QUOTA: "CPU quota",
    START: "JVM start",
    END: "JVM end",
    CARRIERS: "carriers taken",
    CONDITION: "waiting for a condition",
    OTHERS_WAIT: "waiting for threads",
    BLOCKED: "blocked",
    UNKNOWN: "unknown",
    IDLE: "idle",
}
"""The causes in two or three words, for tables, legends and tracks."""
