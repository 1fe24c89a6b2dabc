"""Invariants of a recording, checked when it is finalised; a violated one marks all results.

Each check compares two figures that come about in different ways: the rows of the state machine, the levels of the sweep,
the kernel's count at a thread's exit, and the CPU clock that the JVM's agent read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.model import Kind
from headway.model.kinds import COUNTED, NOT_COUNTED, number_of
from headway.record.finalise.threads.thread_table import RecordedThread
from headway.store.manifest import Invariant

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOLERANCE = 0.005
_READING_NS = 100_000
"""A clock and the time of reading it are two calls of the kernel: so far apart are what they tell, either way."""
_LEAST_NS = 20_000_000
"""Threads that ran for less have no share worth comparing."""


def check(result: Mapping[str, Any], threads: Sequence[RecordedThread], window: tuple[int, int]) -> list[Invariant]:
    """Check every invariant that the records allow. `result` is `Decoder.result()`; `window` in ns."""
    return [
        _wall(result["activity"], window),
        _levels("running", result, threads),
        _levels("active", result, threads),
        _height(result),
        _one_per_cpu(result),
        _consistent(result),
        _blocks(result),
        *_clocks(result, threads, window),
    ]


def _wall(activity: Mapping[str, NDArray[Any]], window: tuple[int, int]) -> Invariant:
    total, wall = int(activity["dur_ns"].sum()), window[1] - window[0]
    return Invariant("wall", total == wall, f"levels last {total} ns together, the recording {wall} ns")


def _levels(what: str, result: Mapping[str, Any], threads: Sequence[RecordedThread]) -> Invariant:
    """Compare the sweep's core-ns with the threads' own sums, kind by kind."""
    import numpy as np

    activity, totals = result["activity"], result["threads"]
    codes = np.array([number_of(thread.kind) for thread in threads] + [0] * len(result["strays"]))
    own = totals["running_ns"] + (totals["runnable_ns"] if what == "active" else 0)
    collected = totals[f"other_kind_{what}_ns"]
    by_sweep = [int((activity[f"{what}_{kind}"] * activity["dur_ns"]).sum()) for kind in COUNTED]
    by_thread = [int((own - collected)[codes == code].sum()) for code in range(len(COUNTED))]
    by_thread[number_of(Kind.GC)] += int(collected.sum())
    parts = (f"{kind} {a} and {b}" for kind, a, b in zip(COUNTED, by_sweep, by_thread, strict=True))
    return Invariant(
        f"{what}-levels", by_sweep == by_thread, f"core-ns {what} by levels and by threads: {', '.join(parts)}"
    )


def _height(result: Mapping[str, Any]) -> Invariant:
    """The bottle graph's boxes stack up to the time in which at least one thread was active (Du Bois et al., 2013)."""
    activity = result["activity"]
    is_active = sum(activity[f"active_{kind}"] for kind in COUNTED) > 0
    wanted, got = int(activity["dur_ns"][is_active].sum()), float(result["threads"]["height_ns"].sum())
    message = f"the bottle graph is {got:.0f} ns high, some thread was active for {wanted} ns"
    return Invariant("bottle-height", abs(got - wanted) <= 1e-9 * wanted + 1, message)


def _one_per_cpu(result: Mapping[str, Any]) -> Invariant:
    count, share = result["overlaps"], result["overlaps"] / max(1, result["switches"])
    message = (
        f"{count} times a record of a switch was missing that took a thread off a CPU ({share:.4%} of the switches)"
    )
    return Invariant("one-thread-per-cpu", count == 0, message)


def _consistent(result: Mapping[str, Any]) -> Invariant:
    """A record that contradicts the one before: one of a switch is missing.

    Kernels do keep some from every tracer: on one virtual machine (6.18) about one in 300, always one away from a task of the
    guest's agent. The eBPF collector tells them by the scheduler's own account (`decoder.unreported` in the manifest).
    """
    resyncs, gaps, share = result["resyncs"], result["gaps"], result["resyncs"] / max(1, result["switches"])
    message = (
        f"{resyncs} states that a record contradicted ({share:.4%} of the switches, {result['unseen_ns']} ns of running "
        f"unseen), {gaps} gaps between a thread's states"
    )
    return Invariant("states", resyncs == 0 and gaps == 0, message)


def _blocks(result: Mapping[str, Any]) -> Invariant:
    """Every block is closed by a record or marked open: the machine has no other way to write one, so this is a count."""
    message = f"{result['unknown_wakers']} blocks ended without a waking, {result['open_blocks']} are open at the end"
    return Invariant("blocks", result["gaps"] == 0, message)


def _clocks(result: Mapping[str, Any], threads: Sequence[RecordedThread], window: tuple[int, int]) -> list[Invariant]:
    """Compare each thread's executed time with its CPU clock, for threads whose whole life was recorded.

    The kernel's count at an exit is as old as the kernel's last update of it, which is at a switch or at a tick (4 ms on many
    machines), and the thread runs on after its exit (since Linux 6.16 the last one of a process gives back all memory then).
    Both lie in the slices from that of the exit on: the count is no less than what was executed before these, and no more
    than what was executed in all.
    """
    totals = {name: result["threads"][name].tolist() for name in ("exec_ns", "exec_before_exit_ns", "off_ns")}
    exec_ns = totals["exec_ns"]
    whole = [i for i, thread in enumerate(threads) if _is_whole(thread, window) and exec_ns[i] >= 0]
    by_agent = [
        (exec_ns[i], clock, _ran_on_ns(threads[i], totals["off_ns"][i]))
        for i in whole
        if (clock := _agent_clock(threads[i])) is not None
    ]
    by_kernel = [
        (exec_ns[i], clock, exec_ns[i] - before_ns)
        for i in whole
        if (clock := threads[i].exit_exec_ns) is not None and (before_ns := totals["exec_before_exit_ns"][i]) >= 0
    ]
    found = [_clock("exec-cpu-clock", "the CPU clocks read in the JVM", by_agent)]
    found.append(_clock("exec-at-exit", "the kernel's counts at exit", by_kernel))
    return [each for each in found if each is not None]


def _is_whole(thread: RecordedThread, window: tuple[int, int]) -> bool:
    starts_inside = not thread.from_snapshot and thread.start_ns >= window[0]
    return (
        starts_inside
        and thread.end_ns is not None
        and thread.end_ns <= window[1]
        and number_of(thread.kind) != NOT_COUNTED
    )


def _agent_clock(thread: RecordedThread) -> int | None:
    is_read = thread.java is not None and thread.java.cpu_ns >= 0 and thread.java.end_ns >= 0
    return thread.java.cpu_ns if thread.java is not None and is_read else None


def _ran_on_ns(thread: RecordedThread, off_ns: int) -> int:
    """Return how long a thread may have run after its clock was read: no longer than until it was off the CPU for good.

    How long that is differs: its end is announced before it gives back its stack and its memory, and others may have the CPU.
    """
    assert thread.java is not None
    assert thread.end_ns is not None
    return _READING_NS + max(0, thread.end_ns - thread.java.end_ns, off_ns - thread.java.end_ns)


def _clock(name: str, whose: str, rows: list[tuple[int, int, int]]) -> Invariant | None:
    """Compare what threads executed with a clock of theirs; the third is what each may have executed since then at most."""
    rows = [row for row in rows if row[1] >= _LEAST_NS]
    if not rows:
        return None
    worst = max(
        max(0, executed - clock - ran_on_ns, clock - executed - _READING_NS) / clock
        for executed, clock, ran_on_ns in rows
    )
    total, clocks = sum(executed for executed, _, _ in rows), sum(clock for _, clock, _ in rows)
    message = (
        f"executed by {len(rows)} threads {total} ns, by {whose} {clocks} ns ({total / clocks - 1:+.3%}); "
        f"beyond what it may have run after the reading, the worst thread is off by {worst:.3%}"
    )
    return Invariant(name, worst <= _TOLERANCE, message)
