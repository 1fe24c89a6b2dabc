"""Types of the result of `headway whatif`: the replay of the unchanged run, and the wall time after each change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.analyses.common.idleness import Idleness
    from headway.analyses.lost_cores.types import Loss
    from headway.errors import Notice

Extent = Literal["least", "middle", "most"]
"""How far changes of single steps reach, as a recording knows that within limits."""


@dataclass(frozen=True, slots=True)
class LockChange:
    """A change of the locks that go by a name: removed, had for a part of the time, or so many locks instead of each."""

    lock: str
    is_removed: bool = False
    held_part: float = 1.0
    parts: int = 1

    @property
    def text(self) -> str:
        """Return the change for people."""
        if self.is_removed:
            return f"without {self.lock}"
        if self.parts > 1:
            return f"{self.lock} split in {self.parts}"
        return f"{self.lock} held for {100 * self.held_part:.6g}%"


NUMBER = r"\d+"
"""The part of a thread name's regular expression that matches its number: http-1 and http-2 are one name with two numbers."""


@dataclass(frozen=True, slots=True)
class SleepChange:
    """A change of the sleeps whose place matches a pattern: the program asks for so many seconds instead."""

    place: re.Pattern[str]
    seconds: float

    @property
    def text(self) -> str:
        """Return the change for people."""
        pattern = self.place.pattern
        place = re.sub(r"\\(.)", r"\1", pattern[1:-1].replace(NUMBER, "*"))
        is_one_place = pattern == f"^{re.escape(place).replace(re.escape('*'), NUMBER)}$"
        return f"{self.seconds:.6g} s asleep at {place if is_one_place else pattern}"


@dataclass(frozen=True, slots=True)
class MethodChange:
    """A change of a method: with all that it calls it takes a part of the CPU time that it took."""

    method: str
    part: float

    @property
    def text(self) -> str:
        """Return the change for people."""
        return f"{self.method} in {100 * self.part:.6g}% of its CPU time"


@dataclass(frozen=True, slots=True)
class PoolChange:
    """A change of a thread pool: so many workers."""

    pool: str
    workers: int

    @property
    def text(self) -> str:
        """Return the change for people."""
        return f"{self.workers} worker{'' if self.workers == 1 else 's'} in {self.pool}"


@dataclass(frozen=True, slots=True)
class QueueChange:
    """A change of a bounded queue: room for so many elements, which is enough that nobody waits for room."""

    queue: str
    room: int

    @property
    def text(self) -> str:
        """Return the change for people."""
        return f"room for {self.room} in {self.queue}"


@dataclass(frozen=True, slots=True)
class WaitChange:
    """A change of what several threads may have at once, as connections or permits: nobody waits for one at a place."""

    place: str

    @property
    def text(self) -> str:
        """Return the change for people."""
        return f"no waiting at {self.place}"


@dataclass(frozen=True, slots=True)
class BalanceChange:
    """A change of the parallel stages that threads wait for at a place: all parts of a stage are equal."""

    place: str

    @property
    def text(self) -> str:
        """Return the change for people."""
        return f"equal parts at {self.place}"


@dataclass(frozen=True, slots=True)
class Smt:
    """Cores of several logical CPUs: with all of them busy a core does so many times what it does with one."""

    per_core: int = 1
    throughput: float = 1.0

    @property
    def text(self) -> str:
        """Return the cores for people."""
        return f"{self.per_core} CPUs a core that do {self.throughput:g}x"


WHOLE_CORES = Smt()
"""Each CPU is a core."""


@dataclass(frozen=True, slots=True)
class Change:
    """One set of changes that are made together; None, or a factor of 1, leaves it as it is.

    `cores`: on so many cores of the same kind, or logical CPUs with `smt`. `clock`: CPUs that compute so many times as fast.
    `io`: I/O so many times as fast. `has_gc`: False as if nothing had to be collected. `locks`, `sleeps`, `methods`, `pools`,
    `queues`, `balanced`, `waits`: of the first recording. `without`: causes of `headway why` some of whose waits take no time.
    """

    cores: int
    clock: float = 1.0
    io: float = 1.0
    has_gc: bool = True
    locks: tuple[LockChange, ...] = ()
    sleeps: tuple[SleepChange, ...] = ()
    methods: tuple[MethodChange, ...] = ()
    smt: Smt = WHOLE_CORES
    pools: tuple[PoolChange, ...] = ()
    queues: tuple[QueueChange, ...] = ()
    balanced: tuple[BalanceChange, ...] = ()
    waits: tuple[WaitChange, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def reaches_steps(self) -> bool:
        """Return whether single steps of the first recording are changed."""
        return bool(self.sleeps or self.methods or self.queues or self.balanced or self.waits)


@dataclass(frozen=True, slots=True)
class Levels:
    """For how long, in ns, no thread was ready to run, one (and there were more cores), fewer than cores, as many, or more."""

    none_ns: float
    one_ns: float
    few_ns: float
    all_ns: float
    many_ns: float


@dataclass(frozen=True, slots=True)
class WaitedLock:
    """A lock that threads wait for in a predicted run: its name, the line, for how long, all added up, and how often.

    A wait counts once for each thread that has the lock meanwhile.
    """

    lock: str
    place: str | None
    waited_ns: int
    waits: int


@dataclass(frozen=True, slots=True)
class PathPart:
    """What a thread did on a predicted run's critical path, as `headway critical-path` names it, and for how long.

    What is `running` may share cores with other threads.
    """

    thread: str
    state: str
    ns: int


@dataclass(frozen=True, slots=True)
class PredictedAccount:
    """Where the cores of a predicted run go, as `headway why` accounts for a recorded one: used by kind, idle, lost by cause.

    `lost`: the most first, without what each would gain. `locks` and `path`: only where the run is to be explained.
    """

    cores: int
    wall_ns: int
    used_ns: Mapping[str, int]
    idle_ns: int
    lost: tuple[Loss, ...]
    locks: tuple[WaitedLock, ...] = ()
    path: tuple[PathPart, ...] = ()

    @property
    def core_ns(self) -> int:
        """Return what the program could have used: cores x wall time."""
        return self.cores * self.wall_ns


@dataclass(frozen=True, slots=True)
class Further:
    """The best of some changes made beside those before it, and the wall time with all of them.

    `gain`: how many times as fast that is as without it; `tried`: of how many it is the best.
    """

    change: Change
    wall_ns: int
    gain: float
    tried: int


@dataclass(frozen=True, slots=True)
class Predicted:
    """The wall time after a change, of the run `path`, on a machine that runs nothing else; `together`: beside the others.

    `next_cause` is what keeps a core idle for most of that time (common.causes), or `cores` where none is; None where nothing
    is. `next_place`: where, None where that is not known. `account`: where it was asked for and is known. `further`: what
    another change would gain, the last one hardly anything; where that was asked for. `reordered`: waits that were ended
    because threads waited in a circle, in another order of locks. `tasks_ns`: where pools are
    changed, with all in pieces that may be several tasks, and with all of it whole. `most_ahead`: where queues have more
    room, how many waits for room that threads had in the recording were left out at a time, at most. `without_account`: why
    `next_cause` goes by how many threads are ready alone; None where it goes by an account of lost cores.
    """

    path: str
    change: Change
    together: bool
    wall_ns: int
    low_ns: int
    high_ns: int
    speedup: float
    next_cause: str | None
    levels: Levels
    next_place: str | None = None
    reordered: int = 0
    account: PredictedAccount | None = None
    further: tuple[Further, ...] = ()
    tasks_ns: tuple[int, int] | None = None
    most_ahead: int = 0
    without_account: str | None = None


@dataclass(frozen=True, slots=True)
class UnchangedRun:
    """How well the unchanged run was replayed on the machine as it was, and what it takes without what others took of it.

    `refused`: why there is no answer, None where there is one.
    """

    path: str
    recorded_cores: int
    measured_ns: int
    replayed_ns: int | None
    error: float | None
    quiet_ns: int | None
    refused: Notice | None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answer: a replay for each recording, the first one's first, and what was predicted in the order asked for.

    `tried`: of a ranking, how many changes and pairs it is the best of; None where changes were asked for.
    """

    replays: tuple[UnchangedRun, ...]
    predicted: tuple[Predicted, ...]
    notices: tuple[Notice, ...]
    tried: int | None = None
    idleness: Idleness | None = None
    """How long the first recording's program waited for work from outside; None: hardly ever."""

    @property
    def refused(self) -> Notice | None:
        """Return the first reason why there is no answer."""
        return next((each.refused for each in self.replays if each.refused is not None), None)
