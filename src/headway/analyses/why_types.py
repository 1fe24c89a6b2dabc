"""What `why` answers with: cores x wall time, accounted for. Times are ns; points in time count from the recording's start.

The identity: core_ns = sum(used_ns) + stolen_ns + other_processes_ns + sum(lost.core_ns) (+ what `invariant_error` says is off).
A core is lost at an instant when the program may use it and nothing runs on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.errors import Notice

USED = ("app", "gc", "jit", "vm", "headway")
"""Who used the cores. `headway`: its threads in the program, and the recorder beside it."""
TOGETHER = "not_told_apart"
"""Key of `used_ns` for what a recording without thread states knows as one sum only; then the keys of USED are missing."""

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
    SCHEDULER: "a thread was ready to run and a core was free, but they had not come together",
    QUOTA: "a thread was ready to run, but the CPU quota was used up",
    START: "the JVM was starting: main had not begun",
    END: "the JVM was ending: it waited for its shutdown hooks, or the last application thread had ended",
    CARRIERS: "virtual threads were ready to run, but every carrier was taken or pinned",
    CONDITION: "a thread waited for a condition that another one had to bring about",
    OTHERS_WAIT: "threads waited for other threads (locks, joins or queues: what for was not recorded)",
    BLOCKED: "threads were blocked; on what was not recorded",
    UNKNOWN: "not known: no record of this wait, or records were lost",
}
"""Every cause and what it means. The last four are what remains where a recording can't tell causes apart."""

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
    SCHEDULER: "ready, not yet running",
    QUOTA: "CPU quota",
    START: "JVM start",
    END: "JVM end",
    CARRIERS: "carriers taken",
    CONDITION: "waiting for a condition",
    OTHERS_WAIT: "waiting for threads",
    BLOCKED: "blocked",
    UNKNOWN: "unknown",
}
"""The causes in two or three words, for tables, legends and tracks."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cause is. What does not apply or is not known is None. `method` is Class.method of the innermost frame that is no
    JDK code, `lock` as `locks` names it (a queue, a latch or a barrier, too), `thread` the thread that others waited for, or that
    ran alone; `pid` tells several JVMs apart.
    """

    method: str | None = None
    line: int | None = None
    lock: str | None = None
    thread: str | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """Core time lost to one cause at one place, with a first-order bound of the speedup if it vanished.

    `share` is of the account's core time; `bound_speedup` wall time / (wall time without it), at least 1, None where it can't be
    said; `likely_speedup` an estimate between 1 and that, by which losses are ranked (why_replay), None where its waits were not
    replayed, too; `evidence` are sentences with figures, most telling first; `figures` the same as numbers (units in names);
    `doubts` ids of the messages that say why it may be wrong.
    """

    cause: str
    core_ns: int
    share: float
    place: Place
    bound_speedup: float | None
    evidence: tuple[str, ...] = ()
    figures: Mapping[str, float | int | str | None] | None = None
    likely_speedup: float | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """Where cores x wall time went between two points. `invariant_error` is |what is left over| / core_ns. `lost` is in the
    order of what would likely be gained.

    `excess_ns`: threads ran on more cores than the account has; it was taken off what was lost, then off what was used.
    """

    start_ns: int
    end_ns: int
    cores: float
    used_ns: Mapping[str, int]
    stolen_ns: int | None
    other_processes_ns: int | None
    lost: tuple[Loss, ...]
    invariant_error: float
    excess_ns: int = 0

    @property
    def wall_ns(self) -> int:
        """Return the length of the span."""
        return self.end_ns - self.start_ns

    @property
    def core_ns(self) -> int:
        """Return what the program could have used: cores x wall time."""
        return round(self.cores * self.wall_ns)

    @property
    def lost_ns(self) -> int:
        """Return the core time in which nothing ran."""
        return sum(loss.core_ns for loss in self.lost)


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of about constant parallelism (change points), with its own account; `active` is its mean of active threads."""

    number: int
    active: float
    account: Account


@dataclass(frozen=True, slots=True)
class Why:
    """The account of a recording or of a window, of its phases, and of time bins for pictures.

    `by_cause` sums `account.lost` per cause, largest first. `bins`: `bin_ns` wide (the last one ends with the
    account), core-ns under the name of each cause, under "used_app" ... "used_headway" (USED), "stolen" and "other_processes".
    """

    account: Account
    by_cause: tuple[tuple[str, int], ...]
    phases: tuple[Phase, ...]
    bin_ns: int
    bins: Mapping[str, Sequence[int]]
    mode: str
    notices: tuple[Notice, ...]
