"""Plans a sweep and checks it before anything starts: commands, placeholders, regular expressions, and the order of runs.

Runs come in blocks. Each block holds every configuration (a program with a number of threads) once recorded and once plain, one
after the other, in an order of its own that a seed fixes: what changes slowly on the machine (heat, other guests) then falls on
all of them alike, and most alike on the two runs that are to differ by the recording alone.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from headway import __version__
from headway.errors import HeadwayError, Notice
from headway.record.counters.usable import usable
from headway.record.program import launch
from headway.record.request.sampling import why_not
from headway.record.series.sweep_turns import PLAIN, counted_by, sampled_in
from headway.store.manifest import StoredNotice
from headway.store.sweep import Program, Sweep, SweepRegion, SweepRun

_PLACEHOLDER = re.compile(r"\{\{[A-Za-z_]\w*\}\}|\{([A-Za-z_]\w*)\}")
_NAMED = re.compile(r"([\w.@()-]+(?: [\w.@()-]+)*)=(.+)", re.DOTALL)
REST, PARALLEL = "(rest)", "(parallel)"
"""What results call all that lies in no region, and the region that stands for those that nobody gave: none may be called so."""


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """The command line's options for a sweep, as they were written."""

    output: Path
    sequential: str | None
    parallel: str
    threads: tuple[int, ...]
    repeat: int = 5
    regions: tuple[str, ...] = ()
    sequential_regions: tuple[str, ...] = ()
    from_marker: str | None = None
    cpus: tuple[int, ...] | None = None
    input: Path | None = None
    seed: int | None = None
    retries: int = 0
    sample: str | None = PLAIN
    counters: str | None = None
    keep_warmup: bool = False
    keep_arguments: bool = False


def plan_sweep(sweep_options: SweepOptions) -> Sweep:
    """Return a sweep with all its runs planned, and the warnings that can be given before it starts.

    Raises HeadwayError HW001 to HW003 (a program that can't be started), HW080 to HW083 (placeholders, regions, marker),
    HW006 (the input can't be read), HW093 (an event to be sampled is not counted here), or HW103 to HW106 (events to be counted).
    """
    threads = tuple(dict.fromkeys(sweep_options.threads))
    _check(sweep_options, threads)
    regions = parse_regions(sweep_options.regions, "--region")
    cores = len(sweep_options.cpus or os.sched_getaffinity(0))
    seed = sweep_options.seed if sweep_options.seed is not None else time.time_ns() % 1_000_000
    return Sweep(
        path=Path(os.path.abspath(sweep_options.output)),
        sequential=sweep_options.sequential,
        parallel=sweep_options.parallel,
        threads=threads,
        repeat=sweep_options.repeat,
        regions=regions,
        sequential_regions=_named(parse_regions(sweep_options.sequential_regions, "--sequential-region"), regions),
        from_marker=sweep_options.from_marker,
        auto_warmup=sweep_options.from_marker is None and not sweep_options.keep_warmup,
        runs=order(sweep_options.sequential is not None, threads, sweep_options.repeat, seed),
        notices=_above_the_cores(threads, cores),
        created_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        headway_version=__version__,
        cwd=os.getcwd(),
        cores=cores,
        cpus=sweep_options.cpus,
        input=None if sweep_options.input is None else os.path.abspath(sweep_options.input),
        seed=seed,
        retries=sweep_options.retries,
        sample=sweep_options.sample,
        counters=sweep_options.counters,
        arguments_kept=sweep_options.keep_arguments,
    )


def _check(sweep_options: SweepOptions, threads: Sequence[int]) -> None:
    """Raise as `plan_sweep` for what can't be started, read or counted here."""
    given = ((sweep_options.sequential, "--sequential"), (sweep_options.parallel, "--parallel"))
    programs = [split_command(command, 1, option)[0] for command, option in given if command is not None]
    if "{threads}" not in sweep_options.parallel and len(threads) > 1:
        raise HeadwayError("HW081", command=sweep_options.parallel)
    for program in programs:
        launch.find_program(program, os.environ)
    if sweep_options.from_marker is not None:
        _compiled("--from-marker", sweep_options.from_marker)
    if sweep_options.input is not None and not os.access(sweep_options.input, os.R_OK):
        raise HeadwayError("HW006", path=sweep_options.input, reason="the input is not there or can't be read")
    check_counted(sweep_options.sample, range(1, sweep_options.repeat + 1))
    if (counters := counted_by(sweep_options.counters)) is not None:
        usable(counters.groups, is_default=counters.is_default)


def check_counted(sample: str | None, numbers: Iterable[int]) -> None:
    """Raise HeadwayError HW093 if a CPU event of one of these recorded runs is not available here.

    A recording goes on without such an event; a sweep would end with runs without regions.
    """
    for options in dict.fromkeys(sampled_in(sample, number) for number in numbers) if sample else ():
        event = options.of_cpu
        if event is not None and (reason := why_not(event)):
            raise HeadwayError("HW093", event=event.name, reason=reason)


def order(with_sequential: bool, threads: Sequence[int], repeat: int, seed: int) -> tuple[SweepRun, ...]:
    """Return the runs in execution order: `repeat` shuffled blocks of pairs, recorded and plain."""
    kinds: list[tuple[Program, int]] = [("sequential", 1)] if with_sequential else []
    kinds += [("parallel", count) for count in threads]
    chance = random.Random(seed)
    runs: list[SweepRun] = []
    for number in range(1, repeat + 1):
        for program, count in chance.sample(kinds, len(kinds)):
            for recorded in chance.sample((True, False), 2):
                runs.append(SweepRun(program, count, number, recorded))
    return tuple(runs)


def split_command(command: str, threads: int, option: str = "--parallel") -> list[str]:
    """Split a command as a shell does, then replace `{threads}` in each word.

    No shell is started: for one, give `sh -c '...'`. A name in double braces stands for itself in single ones.
    Raises HeadwayError HW080 (an unknown placeholder, a quote that is not closed, an empty command).
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise HeadwayError("HW080", option=option, command=command, reason=str(error).lower()) from None
    if not words:
        raise HeadwayError("HW080", option=option, command=command, reason="it is empty")

    def filled(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][1:-1]
        if match[1] != "threads":
            raise HeadwayError("HW080", option=option, command=command, reason=f"{match[0]} is no placeholder")
        return str(threads)

    return [_PLACEHOLDER.sub(filled, word) for word in words]


def parse_regions(texts: Sequence[str], option: str) -> tuple[SweepRegion, ...]:
    """Parse regions NAME=REGEX; a text without a name is its own name.

    Raises HeadwayError HW082 for what is no regular expression, or a name that is used twice or is taken.
    """
    found: dict[str, SweepRegion] = {}
    for text in texts:
        named = _NAMED.fullmatch(text)
        name, pattern = (named[1], named[2]) if named else (text, text)
        _compiled(f"{option} {name}", pattern)
        if name in found or name in (REST, PARALLEL):
            taken = f"results call so what {'lies in no' if name == REST else 'they take for a'} region"
            why = "this name is given twice" if name in found else taken
            raise HeadwayError("HW082", option=f"{option} {name}", pattern=pattern, reason=why)
        found[name] = SweepRegion(name, pattern)
    return tuple(found.values())


def with_regions(sweep: Sweep, regions: tuple[SweepRegion, ...], sequential: tuple[SweepRegion, ...]) -> Sweep:
    """Return a sweep with other regions; a program for which none are given keeps its own.

    Of its own ones of the sequential program those that the given regions leave without a name, or that were found together with
    the replaced ones, are none any more. Raises HeadwayError HW082 for one that has no region of its name.
    """
    if not regions and not sequential:
        return sweep
    if not sequential and not sweep.regions_found:
        names = {region.name for region in regions}
        sequential = tuple(region for region in sweep.sequential_regions if region.name in names)
    regions = regions or sweep.regions
    return replace(
        sweep,
        regions=regions,
        sequential_regions=_named(sequential, regions),
        regions_found=False,
        notices=tuple(notice for notice in sweep.notices if notice.id != "HW493"),
    )


def _named(sequential: tuple[SweepRegion, ...], regions: Sequence[SweepRegion]) -> tuple[SweepRegion, ...]:
    """Return regions of the sequential program. Raises HeadwayError HW082 for one that has no region of its name."""
    names = [region.name for region in regions]
    for region in sequential:
        if region.name not in names:
            there = f" (there are: {', '.join(names)})" if names else ""
            option = f"--sequential-region {region.name}"
            raise HeadwayError(
                "HW082", option=option, pattern=region.pattern, reason=f"no --region has this name{there}"
            )
    return sequential


def _compiled(option: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        where = f" at character {error.pos + 1}" if error.pos is not None else ""
        raise HeadwayError("HW082", option=option, pattern=pattern, reason=f"{error.msg}{where}") from None
    if not pattern:
        raise HeadwayError("HW082", option=option, pattern=pattern, reason="it is empty")


def _above_the_cores(threads: Sequence[int], cores: int) -> tuple[StoredNotice, ...]:
    above = [str(count) for count in threads if count > cores]
    if not above:
        return ()
    notice = Notice.of("HW083", threads=", ".join(above), cores=cores)
    return (StoredNotice(notice.id, notice.message, notice.remedy),)
