"""The page of a sweep (report/html/speedups.py)."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from headway.report.html.payloads.common import MadeBy, NoticePayload
from headway.report.html.payloads.flame import FlameSet

POP_NAMES = (
    *("overall", "parallel", "load_balance", "communication"),
    *("computation", "instructions", "ipc", "frequency"),
)
VOCABULARIES = {"POP": ("PopMetric", POP_NAMES)}
PopMetric: TypeAlias = "str"
ByLimit: TypeAlias = "dict[str, float | None]"
"""By limit; null where it can't be known."""


class Figures(TypedDict):
    """What a region and the whole program have alike."""

    computed_speedup: float
    low: float | None
    high: float | None
    efficiencies: ByLimit
    possible: ByLimit
    """The speedup without each limit, and without `all`."""
    possible_intervals: dict[str, tuple[float, float]]
    stack: dict[str, float]
    """Adds up to the number of threads: `speedup`, and what each limit costs (below 0: less than in the sequential program)."""


class RegionRow(Figures):
    """A region at a number of threads."""

    name: str


class MetricsPayload(TypedDict):
    """Sums of a number of threads' runs."""

    recorded_wall_ns: float | None
    plain_wall_ns: float | None
    cpu_ns: float | None
    instructions: float | None
    cycles: float | None
    cpi: float | None
    cache_misses: float | None


class ImbalancePayload(TypedDict):
    """What of the load balance is due to the number of instructions, and to their speed; null without counters per thread."""

    instructions: float | None
    cpi: float | None


class PairPayload(TypedDict):
    """The speedup without two limits at once."""

    limits: tuple[str, str]
    speedup: float


class FlatProfile(TypedDict):
    """Mean CPU ns of the busiest thread's largest frames in a region."""

    region: str
    frames: list[tuple[str, float]]


class SweepRow(Figures):
    """A number of threads."""

    threads: int
    runs: int
    plain_runs: int
    real_speedup: float | None
    real_low: float | None
    real_high: float | None
    pop: dict[PopMetric, float | None] | None
    metrics: MetricsPayload
    imbalance: ImbalancePayload
    pairs: list[PairPayload]
    flat: list[FlatProfile]
    regions: list[RegionRow]


class CommandsPayload(TypedDict):
    """What was run."""

    parallel: str
    sequential: str | None
    repeat: int


class VerdictPayload(TypedDict):
    """What limits the speedup most."""

    threads: int
    limit: str | None
    gain: float | None
    place: str | None
    evidence: list[str]
    next: str
    withheld: str | None
    undecided: list[str]
    text: str


class SweepPage(TypedDict):
    """The payload of a sweep's page."""

    version: Literal[1]
    page: Literal["sweep"]
    made: MadeBy
    title: str
    commands: CommandsPayload | None
    mode: str
    counters: bool
    cores: int | None
    regions: list[str]
    region: str | None
    labels: dict[str, str]
    efficiency_labels: dict[str, str]
    sequential: MetricsPayload
    rows: list[SweepRow]
    verdict: VerdictPayload
    notices: list[NoticePayload]
    left_out: list[str]
    flames: FlameSet | None
    no_flames: str | None
