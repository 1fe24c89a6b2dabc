"""Result types of `why`: the account of cores x wall time. Durations are ns; points in time are ns from the recording's start.

The identity: core_ns = sum(used_ns) + stolen_ns + other_processes_ns + idle_ns + sum(lost.core_ns) (+ what `invariant_error`
says is off). A core is lost at an instant when the program may use it and nothing runs on it, unless all of the program waits
for work from outside: then it is idle, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.analyses.counters.types import Figure
from headway.errors import Notice
from headway.model.kinds import COUNTED, Kind

USED = (*COUNTED, Kind.HEADWAY.value)
"""Who used the cores. `headway`: its threads in the program, and the recorder beside it."""
WORTH_GAIN = 1.05
"""So many times as fast a program must likely be without a loss of little core time for that to come first."""
TOGETHER = "not_told_apart"
"""Key of `used_ns` for what a recording without thread states knows as one sum only; then the keys of USED are missing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cause is. What does not apply or is not known is None. `method` is Class.method of the innermost frame that is no
    JDK code, `lock` as `locks` names it (a queue, a latch or a barrier, too), `thread` the thread that others waited for, or that
    ran alone; `pid` tells several JVMs apart. `threads` > 1: `thread` is what the names of so many threads of a pool have in
    common, with * for numbers.
    """

    method: str | None = None
    line: int | None = None
    lock: str | None = None
    thread: str | None = None
    pid: int | None = None
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Loss:
    """Core time lost to one cause at one place, with a first-order bound of the speedup if it vanished.

    `share` is of the account's core time; `bound_speedup` wall time / (wall time without it), at least 1, None where it can't be
    said; `likely_speedup` an estimate between 1 and that, by which losses are ranked, None where it is
    not known, too; `evidence` are sentences with figures, most telling first; `figures` the same as numbers (units in names);
    `doubts` ids of the messages that say why it may be wrong. `likely_interval`: where a replay of the run predicts the likely
    speedup (lost_cores.changes), between which it lies; `unknown_gain`: why that replay is refused.
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
    likely_interval: tuple[float, float] | None = None
    unknown_gain: Notice | None = None
    estimated_speedup: float | None = None
    """By this a loss is ordered and listed whose likely speedup is unknown, as the replay is refused; it is not shown."""

    @property
    def ordering_speedup(self) -> float:
        """Return by which speedup the loss is ordered and listed: the likely one, or the estimate; 1 where neither is known."""
        return self.likely_speedup or self.estimated_speedup or 1.0


@dataclass(frozen=True, slots=True)
class IdleThreads:
    """Threads of one name that wait for work from outside: role (waits.classification.roles), number, and the waiting method."""

    role: str
    name: str
    threads: int
    method: str | None


@dataclass(frozen=True, slots=True)
class Account:
    """Where cores x wall time went between two points. `invariant_error` is |what is left over| / core_ns. `lost` is in the
    order of what would likely be gained.

    `idle_ns` is the core time and `outside_ns` the wall time in which the whole program waited for work from outside, `idle` who
    waited: known where the agent took the stacks of threads that stand still.

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
    idle_ns: int = 0
    outside_ns: int = 0
    idle: tuple[IdleThreads, ...] = ()

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
    """A stretch of about constant parallelism with its own account; `active` is its mean of active threads.

    `cpi`: cycles per instruction of the program's own threads, None where they were not counted.
    """

    number: int
    active: float
    account: Account
    cpi: Figure | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """The account of a recording or window, of its phases, and of time bins for charts.

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
    cpi: Figure | None = None
    """Cycles per instruction of the program's own threads; None where they were not counted."""
