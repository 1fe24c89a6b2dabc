"""The page of a recording (report/html/payload.py). Never raw events: at most 2 MB, always."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from headway.report.html.payloads.common import Kind, MadeBy, NoticePayload
from headway.report.html.payloads.counters import CountersView
from headway.report.html.payloads.flame import FlameSet
from headway.report.html.payloads.lost_cores import WhyView
from headway.report.html.payloads.placements import PlacementsView

DOINGS = tuple(
    f"{doing}_ns" for doing in ("running", "runnable", "blocked", "gc_pause", "sleeping", "handoff", "unknown")
)
VOCABULARIES = {"DOINGS": ("Doing", DOINGS)}
Doing: TypeAlias = "str"


class FindingPayload(TypedDict):
    """A line of the verdict, and the figures that it is made of."""

    id: str
    text: str
    figures: dict[str, float | None]


class LevelRow(TypedDict):
    """Wall time with `from`..`to` threads active, or running; one level where from = to."""

    from_: int
    to: int
    active_ns: int
    active_corrected_ns: int | None
    running_ns: int
    running_corrected_ns: int | None
    by_kind: dict[Kind, int]


class ProfilePayload(TypedDict):
    """The mean number of threads over time, by kind."""

    start_ns: list[int]
    dur_ns: list[int]
    active: dict[Kind, list[float]]
    running: dict[Kind, list[float]]
    stolen: list[float] | None


class ParallelismPayload(TypedDict):
    """How many threads were active."""

    wall_ns: int
    corrected_wall_ns: int | None
    mean_active: float
    mean_running: float
    max_active: int
    max_running: int
    idle_share: float
    serial_share: float
    stolen_core_ns: int | None
    running_core_ns: dict[Kind, int]
    percentiles: list[tuple[int, int]]
    levels: list[LevelRow]
    profile: ProfilePayload


class PredictionPayload(TypedDict):
    """The wall time on a number of cores."""

    cores: int
    ns: int | None
    corrected_ns: int | None
    low_ns: int | None
    high_ns: int | None
    interval: str
    withheld: str | None
    ideal_ns: int


class WalltimePayload(TypedDict):
    """Wall times on other numbers of cores."""

    recorded_cores: int
    runs: int
    measured_ns: int
    corrected_measured_ns: int | None
    critical_ns: int
    critical_low_ns: int | None
    idle: str | None
    """The sentence that says for how much of the time the program waited for requests from outside; None: hardly ever."""
    predictions: list[PredictionPayload]


class BinnedStates(TypedDict):
    """Shares of each of `n` equal bins of the recording as bytes (255 = the whole bin), base64; "" is all zero."""

    n: int
    running: str
    runnable: str
    sleeping: str
    other: str


class LanePayload(TypedDict):
    """A thread, and what it did over time."""

    id: int
    pid: int
    tid: int
    name: str
    kind: str
    start_ns: int
    end_ns: int | None
    running_ns: int | None
    stolen_ns: int | None
    runnable_ns: int | None
    blocked_ns: int | None
    switches: int | None
    share: float | None
    mean_parallelism: float | None
    bottle_height_ns: int | None
    """Its part of the wall time, each moment divided among the active threads (Du Bois et al., OOPSLA 2013)."""
    bottle_width: float | None
    """The mean number of active threads while it is active itself."""
    exact: list[int] | None
    """State code, length in ns, state code, length, ... from `exact_from_ns`; codes in lanes/model.ts."""
    exact_from_ns: int
    bins: BinnedStates | None


class RestOfThreads(TypedDict):
    """The threads that have no lane, together."""

    threads: int
    running_ns: int
    runnable_ns: int
    blocked_ns: int
    switches: int
    by_kind: dict[str, int]


class LanesPayload(TypedDict):
    """The threads that ran longest, and the rest."""

    total: int
    lanes: list[LanePayload]
    rest: RestOfThreads | None


class Times(TypedDict):
    """A distribution of times: nearest-rank percentiles."""

    p50: int
    p99: int
    max: int
    mean: int
    count: int
    source: NotRequired[str]


class LockSite(TypedDict):
    """A line at which a lock is waited for."""

    line: str
    share: float
    wait_ns: int
    times: int
    stacks_taken: int
    contention: bool
    stack: list[str]
    is_cut: bool


class BlockedOn(TypedDict):
    """What a holder waited for itself."""

    name: str
    wait_ns: int


class LockHolder(TypedDict):
    """A thread that held a lock while others waited, and what it did."""

    thread: str
    share: float
    wait_ns: int
    doing: dict[Doing, int]
    seen_by: list[str]
    blocked_on: list[BlockedOn]


class LockWaker(TypedDict):
    """A thread that ended waits, and the line of its unpark; null: not known, as of monitors."""

    thread: str
    line: str | None
    share: float
    times: int


class ChainLink(TypedDict):
    """A thread, and the lock that it waits for."""

    thread: str
    lock: str


class LockPattern(TypedDict):
    """Something typical that a lock shows."""

    name: str
    text: str


class LockRow(TypedDict):
    """A row of `headway locks`; `waiters` is the mean number of waiting threads in each bin, null where it has no object."""

    name: str
    place: str | None
    """The line at which most of the time was waited; null: not known."""
    class_name: str
    kind: str
    waiting: str
    rule: str
    contention: bool
    objects: int
    dead: bool
    deadlocked: bool
    first_thread: str | None
    first_ns: int
    last_ns: int
    times_parked: int
    parked_now: int
    peak_parked: int
    parking_thread_time_ns: int
    parking_real_time_ns: int
    average_parking_time_ns: int | None
    average_hold_time_ns: int | None
    real_time_util_pct: float | None
    thread_time_util_pct: float | None
    real_life_time_util_pct: float | None
    thread_life_time_util_pct: float | None
    wait_time_ns: Times | None
    true_hold_time_ns: Times | None
    lost_core_ns: int | None
    speedup_bound: float | None
    sites: list[LockSite]
    more_sites: int
    holders: list[LockHolder]
    more_holders: int
    wakers: list[LockWaker]
    more_wakers: int
    holding: dict[Doing, int] | None
    chain: list[ChainLink]
    chain_is_cycle: bool
    patterns: list[LockPattern]
    waiters: list[float] | None


class LockView(TypedDict):
    """The locks that cost most."""

    bins: int
    contended_ns: int
    idle_ns: int
    hidden: int
    rows: list[LockRow]
    deadlocks: list[list[ChainLink]]


class Fact(TypedDict):
    """A fact of the recording, as text."""

    label: str
    value: str


class FactGroup(TypedDict):
    """Facts under a heading."""

    heading: str
    rows: list[Fact]


class AddedTable(TypedDict):
    """A table of an analysis that a package adds; null cells are not known, `left_out` rows are not here."""

    title: str
    columns: list[str]
    rows: list[list[str | int | float | None]]
    left_out: int


class ScatterPoint(TypedDict):
    """A point with its figures, in the order of the axes; null: not known."""

    name: str
    figures: list[float | None]


class ScatterPayload(TypedDict):
    """Points any two of whose figures are drawn; the reader's own comes first where there is one."""

    title: str
    axes: list[str]
    points: list[ScatterPoint]
    has_own: bool


class HeatRowPayload(TypedDict):
    """One row of a heat map: its counts by kind of access, column and group, and which column is the row's own (null: none)."""

    name: str
    cells: list[list[int]]
    groups: list[list[int]]
    own: int | None


class HeatMapPayload(TypedDict):
    """Counts by row and column, coloured by size; `left_out` rows and columns are not here."""

    title: str
    kinds: list[str]
    groups: list[str]
    columns: list[str]
    rows: list[HeatRowPayload]
    marks: str
    left_out: int


class AddedSection(TypedDict):
    """The answer of an analysis that a package adds."""

    name: str
    package: str
    title: str
    sentences: list[str]
    tables: list[AddedTable]
    scatter: ScatterPayload | None
    heat_map: HeatMapPayload | None


class Phases(TypedDict):
    """The JVM's phases: start_ns, dur_ns, kind, cause."""

    items: list[tuple[int, int, str, str]]
    left_out: int


ViewName: TypeAlias = "Literal['parallelism', 'walltime', 'lanes', 'locks', 'flames', 'why', 'counters']"


class Payload(TypedDict):
    """The payload of a recording's page."""

    version: Literal[1]
    made: MadeBy
    title: str
    command: str
    mode: str
    wall_ns: int
    recorded_cores: int | None
    findings: list[FindingPayload]
    notices: list[NoticePayload]
    why: WhyView | None
    """Where the cores went; null where it can't be said."""
    parallelism: ParallelismPayload | None
    walltime: WalltimePayload | None
    locks: LockView | None
    counters: CountersView | None
    """What was counted while threads ran; null where nothing was."""
    placements: PlacementsView | None
    """When the program was on one memory node and when on all; null where no records of that were given."""
    flames: FlameSet | None
    """Flame graphs of what was sampled, and of time blocked; null where there is neither."""
    missing: dict[ViewName, str | None]
    """Why a view has nothing to show, or there are no lanes: a view is never empty without saying why."""
    threads: LanesPayload
    phases: Phases
    sections: list[AddedSection]
    """Answers of analyses that packages add."""
    facts: list[FactGroup]
