"""What a run spends in each parallel region and in the rest ("primitives"): the input from which possible speedups are computed.

The primitives (filled from recordings by `regions`, or by hand from counters measured elsewhere) are whole numbers: ns, or
counts of events; what is not known is None.

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

from headway.model.counter_ladder import NONE

REST = "(rest)"
"""The name of the region that holds what is in no other one: the sequential fraction."""
PARALLEL = "(parallel)"
"""The region that is made up where none is given or found: the times with more than one application thread active. The sequential
program has none of it, so nothing of it can be compared with that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPrimitives:
    """The sums of one region over all its instances in one run and over all application threads; times in ns.

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
    instructions_low: int | None = None
    instructions_high: int | None = None
    cycles_low: int | None = None
    cycles_high: int | None = None
    """The least and the most that there can be of both, where running slices were counted; None: not known."""
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
    """The primitives of one recorded run of the sequential (`threads` is 1) or parallel program, REST last in `regions`."""

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
    step: str = NONE
    """On which step of the ladder of counters the recording stands: what it counted while threads ran."""
    started_ns: int = 0
    """When the recording starts, by the clock of its tables."""
