"""What `speedups` is made of, and what it answers with.

The primitives (filled from recordings by `regions`, or by hand from counters measured elsewhere) are whole numbers: ns, or
counts of events; what is not known is None. The results are ratios; shares are fractions.

How the time of a region is taken apart, for an instance of it (from the first thread that enters to the last that leaves) and
each thread t in it:

    busy = cpu + lock_wait + runnable + steal + gc + jit + io        of this thread, inside the instance

`busy` leaves out only that the thread has nothing to do: it waits for the others (a join, a barrier, an empty queue).
Every ns of a thread has one part: a thread that is stopped by a GC pause while it waits for a lock counts under gc.
The instance lasts as long as its busiest thread, and as nobody is busy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.errors import Notice

REST = "(rest)"
"""The name of the region that holds what is in no other one: the sequential fraction."""
PARALLEL = "(parallel)"
"""The region that is made up where none is given or found: the times with more than one application thread active. The sequential
program has none of it, so nothing of it can be compared with that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPrimitives:
    """One region in one run, all its instances together. Sums are over instances and application threads.

    A part of the time that is None is not known: its efficiency is null, and its time counts as waiting of no known kind.
    For REST the instances are the gaps between the other regions' instances, and all of the below is meant in the same way;
    the sequential program has the same regions, with one thread in each.
    """

    name: str
    instances: int
    wall_ns: int
    """Sum of the instances' lengths. The regions' and REST's add up to the run's (overlapping regions: the first one has it)."""
    cpu_ns: int
    """On a CPU and executing, stolen time left out, spinning included."""
    lock_wait_ns: int | None = 0
    """Blocked in contention (idle waiting is not)."""
    runnable_ns: int | None = 0
    """Ready, but not on a CPU, for any other reason than `jit_ns`."""
    steal_ns: int | None = 0
    """On a CPU that the host did not run."""
    gc_ns: int | None = 0
    """Stopped by a pause of the garbage collector."""
    jit_ns: int | None = 0
    """Ready, but a compiler's thread had the CPU."""
    io_ns: int | None = 0
    """Blocked in the kernel for another reason: files, sockets, sleeps, page faults."""
    spin_ns: int | None = 0
    """Of `cpu_ns`: spent waiting in a loop."""
    busiest_busy_ns: int | None = None
    """Sum over instances of the busy time of the thread that is busiest in that instance. None: `wall_ns` is taken for it."""
    busiest_unhindered_ns: int | None = None
    """Sum over instances of the largest busy time without `runnable_ns` and `steal_ns`: the busiest thread's, had it always had a
    CPU; instances that only a lack of CPUs parted are one. None: the time without a CPU is spread like all else."""
    overall_busiest_busy_ns: int | None = None
    """Busy time of the thread that is busiest over all instances: the paper's reference, never above `busiest_busy_ns`."""
    instructions: int | None = None
    cycles: int | None = None
    cache_misses: int | None = None
    spin_instructions: int | None = None
    spin_cycles: int | None = None
    """Of `instructions`, `cycles`; None with `spin_ns` above zero: its share of the CPU time is taken."""
    busiest_cpu_ns: int | None = None
    busiest_instructions: int | None = None
    busiest_cycles: int | None = None
    """Of the threads behind `busiest_busy_ns`, in the instances where each of them is the busiest one."""
    threads: int = 1
    """Different threads that were busy in the region."""
    frames: Mapping[str, int] = field(default_factory=dict)
    """Evidence: CPU ns of the largest innermost frames ("pkg.Class.method:line" or without line), all threads."""
    busiest_frames: Mapping[str, int] = field(default_factory=dict)
    """The same of `busiest_thread` alone."""
    spin_frames: Mapping[str, int] = field(default_factory=dict)
    """Frames of `spin_ns`."""
    locks: Mapping[str, int] = field(default_factory=dict)
    """Evidence: blocked ns of the locks waited for longest, by their name as `headway locks` shows it."""
    lock_sites: Mapping[str, int] = field(default_factory=dict)
    """The same by the line that waits."""
    thread_cpu_ns: Mapping[str, int] = field(default_factory=dict)
    """Evidence: CPU ns of the busiest threads by name."""
    sampled: frozenset[str] | None = None
    """Names of the threads that have a sample in one of its stacks, of REST in any; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPrimitives:
    """One recorded run of the sequential (`threads` is 1) or of the parallel program, REST last in `regions`."""

    threads: int
    number: int
    wall_ns: int
    """Of what is looked at: the window, without excluded warm-up."""
    regions: tuple[RegionPrimitives, ...]
    busiest_cpu_ns: int | None = None
    """CPU time of the application thread that used most (for the POP efficiencies)."""
    cores: int | None = None
    """CPUs that the program might use."""
    others_share: float | None = None
    """Of the time of those CPUs: used by other processes or taken by the host, in what is looked at."""
    recording: str | None = None
    """Path, for the commands that the verdict proposes."""
    events: tuple[str, ...] | None = None
    """What the recording has profiles of, for the same; None: not known."""
    window_ns: tuple[int, int | None] | None = None
    """What is looked at, from the recording's start (to None: until its end); None: all of it."""
    started_ns: int = 0
    """When the recording starts, by the clock of its tables."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What the speedup would be without two limits at once."""

    limits: tuple[str, str]
    speedup: float


@dataclass(frozen=True, slots=True)
class Pop:
    """The efficiencies of the POP methodology, 1 is ideal; a scaling above 1 means less work than the sequential program's.

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
class Metrics:
    """Means over the runs with so many threads, all regions; None where unknown. `*_wall_ns` are those of the whole command."""

    recorded_wall_ns: float | None
    plain_wall_ns: float | None
    cpu_ns: float | None
    instructions: float | None
    cycles: float | None
    cpi: float | None
    cache_misses: float | None


@dataclass(frozen=True, slots=True)
class AtThreads:
    """Figures at one number of threads; keys of the mappings are `LIMITS` of `speedup_model` (stack: those and `speedup`).

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
    metrics: Metrics
    regions: Mapping[str, AtThreads]
    imbalance: Mapping[str, float | None]
    """What of `load_balance` is due to `instructions` and what to `cpi` (the product is the balance in cycles); None: unknown."""
    flat: Mapping[str, Mapping[str, float]]
    """The flat profile of the busiest thread: per region (REST included) mean CPU ns of its largest innermost frames."""


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
    """The answer of `speedups`: one row per number of threads, ascending.

    `counters`: instructions and cycles are known, of some part at least. `sequential` holds the sequential program's metrics,
    `region` the region asked for (None: the whole program). `warmup` says what was found to be warm-up, and why; None: it was
    not looked for.
    """

    mode: str
    counters: bool
    regions: tuple[str, ...]
    region: str | None
    cores: int | None
    sequential: Metrics
    rows: tuple[AtThreads, ...]
    verdict: Verdict
    notices: tuple[Notice, ...]
    warmup: Mapping[str, object] | None = None
