"""Result types of `speedups`: ratios, and shares as fractions. Their inputs are in regions/primitives.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headway.errors import Notice
from headway.model.counter_ladder import NONE


@dataclass(frozen=True, slots=True)
class Block:
    """The wall times of one block's runs, recorded and plain, without warm-up; a block's runs follow each other closely."""

    sequential_ns: int
    parallel_ns: int
    plain_sequential_ns: int
    plain_parallel_ns: int


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands about the whole sweep: one reports it, one runs it again with more repeats."""

    report: str
    rerun: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Pair:
    """The possible speedup without two limits at once."""

    limits: tuple[str, str]
    speedup: float


@dataclass(frozen=True, slots=True)
class Pop:
    """POP efficiencies, 1 is ideal; a scaling above 1 means less work than the sequential program's.

    parallel = load_balance * communication; computation = instructions * ipc * frequency (None without counters);
    overall = parallel * computation: sequential CPU time over threads times wall time.
    """

    overall: float
    parallel: float
    load_balance: float | None
    communication: float | None
    computation: float
    instructions: float | None
    ipc: float | None
    frequency: float | None


@dataclass(frozen=True, slots=True)
class SpeedupMetrics:
    """Means over the runs at one number of threads, all regions; None: unknown. `*_wall_ns` are of the whole command."""

    recorded_wall_ns: float | None
    plain_wall_ns: float | None
    cpu_ns: float | None
    instructions: float | None
    cycles: float | None
    cpi: float | None
    cache_misses: float | None


@dataclass(frozen=True, slots=True)
class AtThreads:
    """Figures at one number of threads; mappings have the keys of `LIMITS` (stack: also `speedup`).

    `low` and `high` bound the computed speedup, `real_low` and `real_high` the real one (95 %, from the repeats; None: one run),
    `ratio_low` and `ratio_high` computed over real speedup (from the runs of each block, which were made soon after each other).
    `possible` also has `instruction_overhead` and `cpi_overhead` (both parts), and `all`. `stack` adds up to `threads`.
    `regions`: the same per region, as if it were the whole program (its own `regions` are empty, it has no real speedup).
    """

    threads: int
    runs: int
    plain_runs: int
    real_speedup: float | None
    real_low: float | None
    real_high: float | None
    ratio_low: float | None
    ratio_high: float | None
    computed_speedup: float
    low: float | None
    high: float | None
    efficiencies: Mapping[str, float | None]
    possible: Mapping[str, float | None]
    possible_intervals: Mapping[str, tuple[float, float]]
    pairs: tuple[Pair, ...]
    stack: Mapping[str, float]
    pop: Pop | None
    metrics: SpeedupMetrics
    regions: Mapping[str, AtThreads]
    imbalance: Mapping[str, float | None]
    """What of `load_balance` is due to `instructions` and what to `cpi` (the product is the balance in cycles); None: unknown."""
    flat: Mapping[str, Mapping[str, float]]
    """By region (REST included): the innermost frames that the busiest thread spent most CPU time in, mean ns of the runs."""
    efficiency_intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Between what efficiencies lie that are made of counts, as far as these have bounds."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The largest limit at `threads` threads; `limit` is a key of `possible`, None if there is none or it is withheld.

    `gain` is a fraction: 0.5 says half as fast again without it. `next` is a command. `undecided` are the limits any of which may
    be the largest one, the one that seems so first, where the verdict is withheld.
    """

    threads: int
    limit: str | None
    gain: float | None
    place: str | None
    evidence: tuple[str, ...]
    next: str
    withheld: str | None
    text: str
    """One sentence for people."""
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Speedups:
    """The result of `speedups`: one row per number of threads, ascending.

    `counters`: instructions and cycles are known, of some part at least. `sequential` holds the sequential program's metrics,
    `region` the region asked for (None: the whole program). `warmup` says what was found to be warm-up, and why; None: it was
    not looked for. `step`: the step of the ladder of counters that all recordings reach (model/counter_ladder.py).
    """

    mode: str
    counters: bool
    regions: tuple[str, ...]
    region: str | None
    cores: int | None
    sequential: SpeedupMetrics
    rows: tuple[AtThreads, ...]
    verdict: Verdict
    notices: tuple[Notice, ...]
    warmup: Mapping[str, object] | None = None
    step: str = NONE
