# Made from the module by scripts/make_stub.py (make reference): change native/python, not this file.

"""headway's native parts: collectors and decoder"""

from typing import Any
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray


class CounterEvent:
    """A performance event, as perf_event_open is asked for it."""

    def __init__(self, name: str, type: int, config: int, config1: int, config2: int, bp_type: int, user_only: bool, kernel_only: bool, exercise: int) -> None: ...

def try_counters(groups: Sequence[Sequence[CounterEvent]]) -> list[Any]:
    """
    Count each group on this thread over a known loop, twice: [[{errno, first, second, enabled_ns, running_ns}]].
    """

class ThreadCounters:
    """Groups of events of single threads; see counters/thread_counters.h."""

    def __init__(self, groups: Sequence[Sequence[CounterEvent]]) -> None: ...

    def add(self, tid: int) -> int:
        """Count a thread from now on; 0, or errno."""

    def remove(self, tid: int) -> None: ...

    def read(self, tid: int) -> Any:
        """[(value, enabled_ns, running_ns)] since it was added, or None."""

class CpuCounters:
    """Groups of events of whole CPUs, whatever runs there."""

    def __init__(self, groups: Sequence[Sequence[CounterEvent]], cpus: Sequence[int]) -> None:
        """Open and start them. Raises CollectorError."""

    def read(self) -> list[Any]:
        """
        [(cpu, counter, value, enabled_ns, running_ns)]; what can't be read any more is left out.
        """

class CollectorError(Exception):
    """
    A collector cannot work here. Attributes: step (what was tried), errno (why), detail (free text).
    """

    step: str
    errno: int
    detail: str

class KernelCollector:
    """
    Records the scheduling of processes by eBPF into spool files. See kernel_collector.h.
    """

    def __init__(self, spool_dir: str, ring_bytes: int = 0, force_raw: bool = False, counters: Sequence[Sequence[CounterEvent]] = []) -> None:
        """
        Load the programs. `counters`: groups of CounterEvent that each switch is to read. Raises CollectorError.
        """

    def add_process(self, pid: int) -> None:
        """
        Record this process and what it forks from now on. Raises CollectorError.
        """

    def snapshot_process(self, pid: int) -> None:
        """
        For a process that runs already: record it and all its descendants. Raises CollectorError.
        """

    def start(self) -> None:
        """Create the spool files and attach. Raises CollectorError."""

    def stats(self) -> dict[str, Any]: ...

    def stop(self) -> dict[str, Any]:
        """Detach, drain, close; returns the final figures."""

class PerfCollector:
    """
    Records the switches of a process tree as an ordinary user, into spool files.
    """

    def __init__(self, spool_dir: str, ring_bytes: int = 0, drain_ms: int = 40) -> None: ...

    def add_process(self, pid: int) -> None:
        """
        Record this process and what it forks from now on. Raises CollectorError.
        """

    def snapshot_process(self, pid: int) -> None:
        """The same for a process that runs already, and all its descendants."""

    def start(self) -> None: ...

    def stats(self) -> dict[str, Any]: ...

    def stop(self) -> dict[str, Any]: ...

def probe_bpf() -> dict[str, Any]:
    """Load and attach a trivial BPF program: {errno, step}."""

def probe_perf() -> dict[str, Any]:
    """Open headway's perf events on this thread: {errno, step, ring_bytes}."""

def probe_hardware_counter() -> dict[str, Any]:
    """Open a hardware cycle counter on this thread: {errno, step}."""

def order_of(arg: NDArray[numpy.int64], /) -> Any:
    """
    Places of the numbers from the least to the most; equal ones stay as they were.
    """

class JfrReader:
    """Reads a JFR file as tables of events; see native/jfr/reader.h."""

    def __init__(self, path: str, wanted: Sequence[str], times: int, most_chunks: int = 0) -> None: ...

    def next(self) -> Any:
        """
        (event, rows, [(column, kind, unit, values)], texts, [(first row, chunk)]), or None at the end.
        """

    def stacks(self) -> dict[str, Any]:
        """Frames of the stacks that are new since the last call."""

    def frames(self) -> dict[str, Any]:
        """Every frame so far."""

    def threads(self, first: int, most: int) -> list[Any]:
        """
        So many threads from the first one on: (os tid, java id, os name, java name, group, is virtual).
        """

    def chunks(self) -> list[Any]:
        """What the headers of the chunks so far say."""

    def problems(self) -> list[Any]:
        """The first problems: (offset, what)."""

    @property
    def problem_count(self) -> int: ...

    @property
    def refused(self) -> str: ...

    @property
    def newer(self) -> int: ...

    @property
    def position(self) -> int: ...

    @property
    def size(self) -> int: ...

class WaitObjects:
    """What threads of a file waited for; see native/jfr/wait_objects.h."""

    def __init__(self, most_open: int = 8388608, most_objects: int = 1048576) -> None: ...

    def add(self, arg0: int, arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], arg3: NDArray[numpy.int32], arg4: NDArray[numpy.int32], arg5: NDArray[numpy.int64], arg6: NDArray[numpy.int64], /) -> Any:
        """Takes waits of one kind; returns the numbers of their objects."""

    def levels(self, arg0: NDArray[numpy.int32], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], /) -> None:
        """Waits (object, start_ns, dur_ns) in order of start, in batches."""

    def end_levels(self) -> None:
        """All were given to levels."""

    @property
    def not_followed(self) -> int: ...

    @property
    def not_told_apart(self) -> int: ...

    def objects(self) -> dict[str, Any]:
        """Every object so far, as columns."""

class ParquetFile:
    """Writes a table as Parquet; see native/parquet/file.h."""

    def __init__(self, fd: int, path: str, columns: Sequence[tuple[str, str, bool, bool]], compress: Any, checksum: Any) -> None: ...

    def write(self, arg0: int, arg1: list[Any], /) -> None:
        """Rows, and (rows, below, texts) of each column."""

    def close(self) -> None:
        """Writes the end."""

class LossAccount:
    """
    Gives each core that nothing ran on to a cause: see lost_cores/loss_account.h.
    """

    def __init__(self, *, from_ns: int, to_ns: int, cores: float, bin_ns: int, cuts: Sequence[int], kinds: NDArray[numpy.uint8], is_background: NDArray[numpy.uint8], exit_ns: NDArray[numpy.int64], waits: dict[str, Any], spans: dict[str, Any], others: dict[str, Any], probe_ns: NDArray[numpy.int64], probe_thread: NDArray[numpy.int32], shares_cores: bool = False, most_idle: float = float('inf')) -> None: ...

    def batch(self, *, tick_ns: int, end_ticks: NDArray[numpy.int64], running_ticks: NDArray[numpy.int64], runnable_ticks: NDArray[numpy.int64], blocked_ticks: NDArray[numpy.int64], stolen_ticks: NDArray[numpy.int64], thread_id: NDArray[numpy.int32], waker_id: NDArray[numpy.int32], flags: NDArray[numpy.uint8], blocked_in: object | None = None) -> bool:
        """
        Slices, the last batch of the table first. False: the rest of the table does not matter.
        """

    def finish(self) -> dict[str, Any]:
        """
        Segments in order of time, bins (28 values each: used, stolen, other, lost), probes.
        """

def replayed(*, what: NDArray[numpy.uint8], thread: NDArray[numpy.int32], other: NDArray[numpy.int32], length_ns: NDArray[numpy.int64], group: NDArray[numpy.int32], threads: int, groups: int, last: Sequence[int]) -> Any:
    """
    How far each of the last threads is ahead at the end without the waits of each group: see replay/replay.h.
    """

class CriticalPath:
    """
    The walk along the critical path; see native/critical_path/critical_path.h.
    """

    def __init__(self, birth_ns: NDArray[numpy.int64], parent: NDArray[numpy.int32], is_sampler: NDArray[numpy.uint8], role: NDArray[numpy.uint8], first: NDArray[numpy.int64], start_ns: NDArray[numpy.int64], end_ns: NDArray[numpy.int64], waker: NDArray[numpy.int32], waking_ns: NDArray[numpy.int64], thread: int, from_ns: int, to_ns: int) -> None:
        """
        Threads by thread_id; waits in order of (thread, start_ns), and where each thread's begin.
        """

    def batch(self, tick_ns: NDArray[numpy.int16], end_ticks: NDArray[numpy.int64], running_ticks: NDArray[numpy.int64], runnable_ticks: NDArray[numpy.int64], blocked_ticks: NDArray[numpy.int64], stolen_ticks: NDArray[numpy.int64], thread_id: NDArray[numpy.int32], waker_id: NDArray[numpy.int32], flags: NDArray[numpy.uint8], blocked_in: NDArray[numpy.uint8]) -> None:
        """
        Take stored columns of `slice`, the last batch first; blocked_in may be empty. Raises ValueError when they are not in order.
        """

    def finish(self) -> None:
        """There are no more slices."""

    @property
    def is_done(self) -> bool:
        """Whether the path has reached from_ns."""

    @property
    def followed(self) -> int:
        """How often it went from one thread to another that woke it."""

    def take(self) -> dict[str, Any]:
        """
        Hand over the pieces found since the last call, from the last to the first.
        """

class RunSteps:
    """The program of a recorded run; see native/replay/run_steps.h."""

    def __init__(self, birth_ns: NDArray[numpy.int64], parent: NDArray[numpy.int32], role: NDArray[numpy.uint8], process: NDArray[numpy.int32], from_ns: int, to_ns: int, cores: int) -> None:
        """Threads by thread_id, the recorded span, and on how many cores it was."""

    def batch(self, tick_ns: NDArray[numpy.int16], end_ticks: NDArray[numpy.int64], running_ticks: NDArray[numpy.int64], runnable_ticks: NDArray[numpy.int64], blocked_ticks: NDArray[numpy.int64], stolen_ticks: NDArray[numpy.int64], thread_id: NDArray[numpy.int32], waker_id: NDArray[numpy.int32], flags: NDArray[numpy.uint8], blocked_in: NDArray[numpy.uint8]) -> bool:
        """
        Take stored columns of `slice`, in any order; blocked_in may be empty. False: too many.
        """

    def tell_waits(self, *, thread: NDArray[numpy.int32], start_ns: NDArray[numpy.int64], end_ns: NDArray[numpy.int64], blocker: NDArray[numpy.int32]) -> None:
        """
        Every wait that the JVM tells of, in order of (thread, start): whoever waits for a time outside of them sleeps.
        """

    def tell_ends(self, has_ended: NDArray[numpy.uint8]) -> None:
        """
        Which threads ended: who waits for one that it started waits for those that had ended before, too.
        """

    def resolve(self, start_ns: NDArray[numpy.int64], end_ns: NDArray[numpy.int64], vm_thread: NDArray[numpy.int32], lock_thread: NDArray[numpy.int32], lock_start_ns: NDArray[numpy.int64], lock_end_ns: NDArray[numpy.int64], answered_thread: NDArray[numpy.int32], answered_woken_ns: NDArray[numpy.int64]) -> None:
        """
        There are no more slices. Collections that stopped all threads, in any order; waits for locks, in order of (thread, start); waits for I/O that a thread of the run ended by an interrupt, in order of (thread, end).
        """

    def program_steps(self) -> dict[str, Any]:
        """The steps of the program's threads, in order of thread and time."""

    def with_tasks(self, *, thread: NDArray[numpy.int32], begin_ns: NDArray[numpy.int64], pool: NDArray[numpy.int32], has_wait: NDArray[numpy.uint8], submitter: NDArray[numpy.int32], submitted_ns: NDArray[numpy.int64], join_thread: NDArray[numpy.int32], join_ns: NDArray[numpy.int64], join_since_ns: NDArray[numpy.int64], join_pool: NDArray[numpy.int32]) -> RunSteps:
        """
        The run with tasks instead of the pools' threads that ran them; see native/replay/pool_tasks.h.
        """

    def figures(self) -> dict[str, Any]:
        """
        Numbers of slices and signals, and how long threads waited, by what ended it.
        """

class LockAcquisitions:
    """Who had which lock when; see native/replay/lock_acquisitions.h."""

    def __init__(self, *, lock: NDArray[numpy.int32], thread: NDArray[numpy.int32], waker: NDArray[numpy.int32], owner: NDArray[numpy.int32], start_ns: NDArray[numpy.int64], end_ns: NDArray[numpy.int64], waking_ns: NDArray[numpy.int64], is_repark: NDArray[numpy.uint8], is_monitor_wait: NDArray[numpy.uint8], hold_lock: NDArray[numpy.int32], hold_thread: NDArray[numpy.int32], hold_start_ns: NDArray[numpy.int64], hold_end_ns: NDArray[numpy.int64]) -> None:
        """Waits for locks numbered 0.., and holds, in any order."""

    def columns(self) -> dict[str, Any]:
        """The acquisitions, by lock and time."""

class LockPlan:
    """
    Acquisitions of locks in a run, as after a change; see native/replay/lock_plan.h.
    """

    def __init__(self, *, steps: RunSteps, acquired: LockAcquisitions, is_removed: NDArray[numpy.uint8], held_part: NDArray[numpy.float64], parts: NDArray[numpy.int32], is_fair: NDArray[numpy.uint8], seed: int) -> None:
        """
        A change of each lock; `seed` decides which part of a split lock is asked for.
        """

class StepChanges:
    """Changes of single steps of a run; see native/replay/step_changes.h."""

    def __init__(self, *, steps: RunSteps, step: NDArray[numpy.uint32], wait_ns: NDArray[numpy.float64], work_factor: NDArray[numpy.float64]) -> None:
        """By places in the run's steps; a negative wait stays as it was."""

def replay_on_cores(*, runs: Sequence[RunSteps], last: Sequence[int], cores: float, has_stolen: bool, work_factor: float, io_factor: float, waking_factor: float, has_collections: bool, has_lock_waits: bool, plans: Sequence[LockPlan], changed: Sequence[StepChanges], per_core: float, throughput: float, timelines: Sequence[ReplayTimeline] = [], workers: Sequence[Sequence[int]] = []) -> list[Any]:
    """
    `workers`: of each run the number of workers of each pool (RunSteps.with_tasks). Of each run: when it ends (negative: it is stuck), for how long no thread was ready, one, fewer than cores, as many, more, how long a core was free, of that while threads waited for locks, the waiting by lock, how many waits had to be ended, and how many that a change ended were ahead of the other thread at most. See native/replay/core_replay.h.
    """

class ReplayTimeline:
    """
    What a run's threads do while it is replayed; see native/replay/replay_timeline.h.
    """

    def __init__(self, steps: RunSteps) -> None:
        """Of a replay that is to come."""

    @property
    def is_whole(self) -> bool:
        """False: there were too many slices, and some are missing."""

    def slices(self, from_ns: int) -> dict[str, Any]:
        """
        Slices as they are stored, in ticks of 1 ns, in order; the span begins at from_ns.
        """

    def lock_waits(self, plan: LockPlan) -> dict[str, Any]:
        """
        Waits for recorded locks, each as long as one thread had it, in ns since the start of the span.
        """

    def times(self, thread: NDArray[numpy.int32], ns: NDArray[numpy.int64]) -> Any:
        """
        When threads come to where they were at recorded times, in ns since the start of the span.
        """

class LiveRecords:
    """
    What an agent's file says of the rows of its live table; native/decode/lock_records/live_records.h.
    """

    def __init__(self) -> None: ...

    def read(self, fd: int, pid: int) -> bool:
        """Read on; False: not the file of JVM `pid`."""

    def knows(self, blocker_id: int, stack_id: int) -> bool:
        """Whether both have been read."""

    def knows_stack(self, stack_id: int) -> bool:
        """Whether it was read, with its methods."""

    def java_version(self) -> bytes:
        """The JVM's java.version as bytes, b'' while it is not known."""

    def first_thread(self, blocker_id: int, java_id: int) -> Any:
        """The name as bytes, or None."""

    def frames(self, stack_id: int) -> list[Any]:
        """(class, method, line), innermost first, names as bytes."""

class Locks:
    """
    The tables of locks of a spool; see native/decode/lock_tables/lock_rows.h. Made by Decoder.locks().
    """

    def files(self) -> list[Any]:
        """
        What is known of each agent's records and table, in the order of Decoder.agents().
        """

    def begin(self, jvms: list[Any], java_of_thread: NDArray[numpy.int64], own: NDArray[numpy.uint8], start_ns: int) -> None:
        """
        Say who the threads are. jvms: per file (pid, close_ns, tid, start_ns, thread_id, java_id, java_thread_id).
        """

    def next_blocks(self, rows: int = 262144) -> Any:
        """About `rows` more blocks, or None."""

    def next_holds(self, rows: int = 262144) -> Any:
        """The same of holds; after the blocks."""

    def standing(self) -> dict[str, Any]:
        """Every stack of a thread that stood still; after begin()."""

    def next_stacks(self, rows: int = 262144) -> Any:
        """The same of stacks' frames."""

    def frames(self) -> dict[str, Any]:
        """
        Every frame, after all stacks: indices into texts, lines (-1 native, -2 unknown).
        """

    def blockers(self) -> dict[str, Any]:
        """Every blocker, after all blocks and holds."""

class Decoder:
    """Turns a spool directory into the columns of the store."""

    def __init__(self, spool_dir: str, room_bytes: int = 18446744073709551615, most_threads: int = 1048576) -> None:
        """
        Read lifecycle.spool and agent-*.spool; what agents wrote takes room_bytes of memory at most, and of more than most_threads threads the first are read.
        """

    def lifecycle(self) -> dict[str, Any]:
        """
        Columns of every thread whose birth or snapshot is on record, by thread_id.
        """

    def agents(self) -> list[Any]:
        """What each in-JVM agent wrote."""

    def locks(self) -> Locks:
        """What the agents wrote about locks."""

    def has_sched(self) -> bool:
        """Whether there are scheduling records."""

    def last_record_ns(self) -> int:
        """Time of the last record; reads the whole spool."""

    def begin(self, start_ns: int, end_ns: int, kinds: NDArray[numpy.uint8], bin_ns: int, tick_ns: int, max_activity_rows: int = 131072, collecting: tuple[NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int64]] | None = None) -> None:
        """
        Start the pass over the scheduling records. `collecting`: thread_id, begin and end of the spans in which a thread of the VM collects garbage, and counts as gc.
        """

    def counted(self) -> tuple[int, int]:
        """
        How many counters slices have counts of, and in how many groups they are.
        """

    def next(self, rows: int = 262144) -> Any:
        """
        About `rows` more slices as they are stored (store/packing.py), or None at the end.
        """

    def result(self) -> dict[str, Any]:
        """Totals, activity, losses and counts, once next() gave None."""

def integrate_parallelism(thread_id: NDArray[numpy.int32], start_ns: NDArray[numpy.int64], runnable_ns: NDArray[numpy.int64], running_ns: NDArray[numpy.int64], stolen_ns: NDArray[numpy.int64], kinds: NDArray[numpy.uint8], from_ns: int, to_ns: int, bin_ns: int, collecting: tuple[NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int64]] | None = None) -> dict[str, Any]:
    """
    ParallelismIntegrator over slices in order of their end, clipped to a window; kinds[thread_id] 255 leaves a thread out; `collecting` as in Decoder.begin.
    """
