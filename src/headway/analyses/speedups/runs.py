"""Reads the runs of a sweep: the primitives of recorded runs, and the wall times of plain ones."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headway.analyses.common.units import duration
from headway.analyses.regions.exact_counts import step_of
from headway.analyses.regions.primitives import REST, RegionPrimitives, RunPrimitives
from headway.analyses.speedups.counters import read_counters, with_counters
from headway.analyses.speedups.sampled import Groups, that_show_regions, with_sampled, with_time
from headway.analyses.speedups.types import Block, Commands
from headway.analyses.stacks.sources import recorded_events
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from headway.store import Recording
    from headway.store.sweep import Program, Sweep, SweepRegion, SweepRun

Window = Callable[[int], tuple[int, int] | None]
"""From the length of a run in ns to the part that is looked at, None for all of it."""

_REPORTED_ONCE = ("HW490", "HW491")
"""Notices of one run about its regions: `speedup_assumptions` says the same of a program, once (HW464, HW465)."""
_OF_NO_SAMPLES = "HW492"
"""Notice of one run about what stands for its regions: nothing does where the run is left out (HW458)."""

_RunNotices = dict[tuple[str, str | None], Notice]
"""What is to be said of recordings, by the message's id and the recording."""


class RunParts(Protocol):
    """What one recording yields (`regions.Regions`)."""

    @property
    def primitives(self) -> tuple[RegionPrimitives, ...]:
        """Return the primitives of the regions, REST last."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the notices about the regions."""

    @property
    def busiest_cpu_ns(self) -> int | None:
        """Return the CPU time in ns of the thread with most of it."""


Reader = Callable[["Recording", Sequence["SweepRegion"], tuple[int, int] | None], RunParts]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRuns:
    """The input of `speedups`. Mappings are by number of threads; `*_ns` are wall times of whole runs.

    `blocks`: those of which all four runs are complete. Recorded runs that are left out (HW458) are in none of it.
    `is_part`: a window of the runs, so there are no plain wall times that would fit it.
    """

    path: str
    mode: str
    cores: int | None
    sequential: tuple[RunPrimitives, ...]
    parallel: Mapping[int, tuple[RunPrimitives, ...]]
    recorded_sequential_ns: tuple[int, ...] = ()
    plain_sequential_ns: tuple[int, ...] = ()
    recorded_ns: Mapping[int, tuple[int, ...]]
    plain_ns: Mapping[int, tuple[int, ...]]
    blocks: Mapping[int, tuple[Block, ...]] = field(default_factory=dict)
    is_part: bool = False
    commands: Commands
    warmup: Mapping[str, object] | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def regions(self) -> tuple[str, ...]:
        """Return the names of the parallel regions in order of appearance."""
        runs = (*self.sequential, *(run for group in self.parallel.values() for run in group))
        return tuple(dict.fromkeys(part.name for run in runs for part in run.regions if part.name != REST))


def read_runs(sweep: Sweep, window: Window | None = None, reader: Reader | None = None) -> SweepRuns:
    """Read every complete run of a sweep.

    Raises HeadwayError HW469 (no recorded run of one of the programs), HW476 (counters.headway has no counters), and what
    `open_recording` raises.
    """
    if reader is None:
        from headway.analyses.regions.analysis import regions_of

        reader = regions_of
    baseline: Program = "sequential" if sweep.sequential is not None else "parallel"
    at = None if sweep.sequential is not None else 1
    threads = sorted({run.threads for run in sweep.select("parallel", state=None)})
    done = {n: sweep.select("parallel", n, recorded=True) for n in threads}
    first = sweep.select(baseline, at, recorded=True)
    for program, runs in (("sequential", first), ("parallel", [run for group in done.values() for run in group])):
        if not runs:
            raise HeadwayError("HW469", path=sweep.path, program=program)
    run_notices: _RunNotices = {}
    read = {
        n: tuple(_run(sweep, run, window, reader, run_notices) for run in group) for n, group in done.items() if group
    }
    alone = read[1] if at else tuple(_run(sweep, run, window, reader, run_notices) for run in first)
    alone, read, of_counters = _with_counters(sweep, alone, read, is_part=window is not None)
    first, done = _runs_read(first, alone), {n: _runs_read(group, read.get(n, ())) for n, group in done.items()}
    of_runs = _distinct_notices(run_notices, [*alone, *(run for group in read.values() for run in group)])
    without = [n for n, group in done.items() if not group]
    plain = sweep.select(baseline, at, recorded=False)
    plain_at = {n: sweep.select("parallel", n, recorded=False) for n in threads}
    return SweepRuns(
        path=str(sweep.path),
        mode=sweep.open(first[0]).manifest.mode,
        cores=sweep.cores,
        sequential=alone,
        parallel=read,
        recorded_sequential_ns=_times(first),
        plain_sequential_ns=_times(plain),
        recorded_ns={n: _times(group) for n, group in done.items()},
        plain_ns={n: _times(group) for n, group in plain_at.items()},
        blocks={} if window is not None else {n: _blocks(first, done[n], plain, plain_at[n]) for n in threads},
        is_part=window is not None,
        commands=Commands(f"headway report {shlex.quote(str(sweep.path))} -o report.html", lambda n: rerun(sweep, n)),
        warmup=sweep.warmup,
        notices=_notices(sweep, of_runs, of_counters, without, is_part=window is not None),
    )


def _notices(
    sweep: Sweep, of_runs: Sequence[Notice], of_counters: Sequence[Notice], without: Sequence[int], *, is_part: bool
) -> tuple[Notice, ...]:
    """Return what to say of a sweep and of its runs, each id of the sweep's own once; `without`: threads that no run could be
    read of.
    """
    of_sweep = [Notice(each.id, each.message, each.remedy) for each in sweep.notices]
    ids = {notice.id for notice in of_sweep}
    return (
        *of_sweep,
        *(each for each in of_runs if each.id not in ids),
        *of_counters,
        *(Notice.of("HW471", threads=n, path=sweep.path) for n in without),
        *([Notice.of("HW473")] if sweep.sequential is None else []),
        *([Notice.of("HW474", path=sweep.path)] if is_part else []),
    )


def _with_counters(
    sweep: Sweep, alone: tuple[RunPrimitives, ...], read: dict[int, tuple[RunPrimitives, ...]], *, is_part: bool
) -> tuple[tuple[RunPrimitives, ...], dict[int, tuple[RunPrimitives, ...]], list[Notice]]:
    """Put counts in the place of those that runs lack: imported ones, which are of whole runs, else what other runs sampled."""
    counters = read_counters(sweep.path)
    baseline = ("parallel", 1) if sweep.sequential is None else ("sequential", 1)
    groups = {baseline: alone, **{("parallel", n): group for n, group in read.items()}}
    shown, left_out = that_show_regions(groups) if sweep.regions else (groups, [])
    filled: Groups = {key: with_time(runs) for key, runs in shown.items()}
    if counters is None:
        filled, notices = with_sampled(filled, sweep.path)
    elif is_part:
        notices = [Notice.of("HW478", path=sweep.path)]
    else:
        filled, notices = with_counters(filled, counters)
        warmup = max((run.warmup_excluded_ns or 0 for run in sweep.runs if run.recorded), default=0)
        if warmup and not notices:
            notices.append(Notice.of("HW479", warmup=duration(warmup)))
    return filled[baseline], {n: filled["parallel", n] for n in read}, left_out + notices


def _times(runs: Sequence[SweepRun]) -> tuple[int, ...]:
    return tuple(run.measured_ns for run in runs if run.measured_ns is not None)


def _runs_read(runs: Sequence[SweepRun], read: Sequence[RunPrimitives]) -> tuple[SweepRun, ...]:
    """Return the runs of a group without those that were left out of what was read."""
    numbers = {run.number for run in read}
    return tuple(run for run in runs if run.number in numbers)


def _distinct_notices(run_notices: _RunNotices, runs: Sequence[RunPrimitives]) -> list[Notice]:
    """Return what is to be said of recordings, each message once; of runs that are left out not what stands for their regions."""
    kept = {run.recording for run in runs}
    found: dict[str, Notice] = {}
    for (key, recording), notice in run_notices.items():
        if key != _OF_NO_SAMPLES or recording in kept:
            found.setdefault(key, notice)
    return list(found.values())


def _blocks(*groups: Sequence[SweepRun]) -> tuple[Block, ...]:
    """Return the blocks of which there is a run of each group, in the order of Block's fields."""
    by_number = tuple({run.number: run.measured_ns for run in group if run.measured_ns} for group in groups)
    return tuple(
        Block(*(group[number] for group in by_number))
        for number in sorted(by_number[0])
        if all(number in group for group in by_number)
    )


def _run(sweep: Sweep, run: SweepRun, window: Window | None, reader: Reader, run_notices: _RunNotices) -> RunPrimitives:
    """Read one run; what is to be said of its recording goes into `said`."""
    recording = sweep.open(run)
    length, warmup = recording.wall_ns, run.warmup_excluded_ns or 0
    asked = window(length - warmup) if window is not None else None
    part = (warmup, length) if asked is None else (warmup + asked[0], warmup + asked[1])
    parts = reader(recording, sweep.regions_of(run.program), None if part == (0, length) else part)
    for notice in (*recording.notices, *parts.notices):
        if notice.id not in _REPORTED_ONCE:
            run_notices.setdefault((notice.id, str(recording.path)), notice)
    return RunPrimitives(
        threads=run.threads,
        number=run.number,
        wall_ns=part[1] - part[0],
        regions=tuple(parts.primitives),
        busiest_cpu_ns=parts.busiest_cpu_ns,
        cores=sweep.cores,
        others_share=_others_share(recording, part, parts.primitives),
        recording=str(recording.path),
        events=recorded_events(recording),
        step=step_of(recording),
        window_ns=None if part == (0, length) else (part[0], None if part[1] == length else part[1]),
        started_ns=recording.window_ns[0],
    )


def _others_share(recording: Recording, part: tuple[int, int], regions: Sequence[RegionPrimitives]) -> float | None:
    """Return the share of the program's CPUs that other processes and the host had in a part; None where that is not known."""
    from headway.analyses.scheduling.other_processes import others

    cpus = len(recording.manifest.affinity) or len(recording.manifest.other_ns)
    begin, end = (recording.window_ns[0] + each for each in part)
    found = others(recording, (begin, end))
    if found.known_by == "none" or not cpus or end <= begin:
        return None
    used = found.took_ns(begin, end, recorder=True)
    return (used + sum(each.steal_ns or 0 for each in regions)) / ((end - begin) * cpus)


def rerun(sweep: Sweep, repeat: int) -> str:
    """Return the command that repeats the sweep with so many repeats."""
    words = ["headway", "sweep"]
    if sweep.sequential is not None:
        words += ["--sequential", sweep.sequential]
    words += ["--parallel", sweep.parallel, "--threads", ",".join(map(str, sweep.threads)), "--repeat", str(repeat)]
    for option, regions in (("--region", sweep.regions), ("--sequential-region", sweep.sequential_regions)):
        for region in regions:
            words += [option, f"{region.name}={region.pattern}"]
    if sweep.from_marker is not None:
        words += ["--from-marker", sweep.from_marker]
    elif not sweep.auto_warmup:
        words.append("--keep-warmup")
    if sweep.input is not None:
        words += ["--input", sweep.input]
    if sweep.sample is not None:
        words += ["--sample", sweep.sample]
    if sweep.counters is not None:
        words += ["--counters", sweep.counters]
    if sweep.cpus is not None:
        words += ["--cpus", ",".join(map(str, sweep.cpus))]
    name = Path(sweep.path)
    words += ["-o", str(name.with_name(f"{name.stem}-{repeat}.sweep"))]
    return shlex.join(words)
