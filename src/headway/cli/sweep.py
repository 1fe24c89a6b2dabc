"""`headway sweep`: run a sequential and a parallel program at several numbers of threads, recorded and plain."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import out
from headway.cli.options import keep_arguments_option
from headway.cli.recording import Progress, say, tell
from headway.errors import HeadwayError, Notice
from headway.errors.plurals import counted
from headway.record.counters.groups import OF_SWEEPS
from headway.report.parameter_types import CoresType

if TYPE_CHECKING:
    from headway.record.series.sweep_plan import SweepOptions
    from headway.store.sweep import SweepRegion, SweepRun

_NEW = ("parallel", "threads", "output")


@click.command(
    short_help="Run a program at several numbers of threads.",
    epilog="""\b
Examples:
  headway sweep --sequential 'java -jar seq.jar' \\
      --parallel 'java -jar par.jar {threads}' --threads 1,2,4 \\
      --region 'kmeans=KMeans\\.(assign|tally)' -o kmeans.sweep
  headway sweep --resume kmeans.sweep
""",
)
@click.option("--sequential", metavar="CMD", help="The sequential program. Without it, one thread of the parallel one.")
@click.option("--parallel", metavar="CMD", help="The parallel program; {threads} in it is replaced.")
@click.option("--threads", type=CoresType(), metavar="LIST", help="Numbers of threads, as in 1,2,4.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=5, metavar="N", help="Recorded runs of each. [5]")
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="NAME=REGEX",
    help="A parallel region: stacks with a frame that REGEX is found in. Any number; none: found by themselves.",
)
@click.option(
    "--sequential-region",
    "sequential_regions",
    multiple=True,
    metavar="NAME=REGEX",
    help="The part of that name in the sequential program, where its methods are called otherwise. For the other regions REGEX "
    "of --region holds there, too.",
)
@click.option(
    "--from-marker", metavar="REGEX", help="Leave out all before the first line of output that REGEX is found in."
)
@click.option(
    "--keep-warmup",
    is_flag=True,
    help="Leave nothing out. Without it and --from-marker the first iterations are left out while they are slower and the JIT "
    "compiler works; lines that every run prints equally often mark the iterations.",
)
@click.option(
    "--input",
    "input_",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Standard input of every run; else it is empty.",
)
@click.option(
    "--sample",
    metavar="EVENT[:INTERVAL],...",
    help="Stack samples of the recorded runs, as for record. Of several of cpu, cycles and instructions, runs sample one "
    "each, in turn. [cpu:2ms; cpu:2ms,cycles:5m,instructions:5m where the processor's counters can be read, from --repeat 3 on]",
)
@click.option(
    "--counters",
    metavar="[GROUPS]",
    is_flag=False,
    flag_value=OF_SWEEPS,
    help="Count events at every switch in recorded runs, as record does: cycles and instructions in one group tell more "
    f"instructions from slower ones. Without GROUPS: {OF_SWEEPS}, as far as they count here.",
)
@click.option("--cpus", metavar="LIST", help="Bind the programs to these CPUs (0-3,8).")
@click.option(
    "--retries",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Start a failed run again, up to N times. [0]",
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Shuffles the runs as another sweep did (sweep.json has its seed). [by the clock]",
)
@click.option("--force", is_flag=True, help="Replace a sweep that is there already.")
@keep_arguments_option
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="NAME.sweep",
    help="Run what is missing of a sweep, as planned; --region and --sequential-region replace its own ones.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="NAME.sweep", help="The sweep to make.")
@click.pass_context
def command(ctx: click.Context, /, resume: Path | None, force: bool, **options: Any) -> int:
    """Run a sequential and a parallel program at several numbers of threads.

    Every configuration is run N times recorded (with locks and CPU samples) and N times plain, in shuffled blocks. What the
    programs print goes to files, runs/RUN.out and runs/RUN.err of the sweep, one pair per run: nothing of it appears here.
    headway's progress goes to standard error. No shell starts the commands (for one: sh -c '...'); {{name}} stands for {name}.

    A run whose exit code is not 0 is reported; the sweep goes on with the other numbers of threads. Ctrl-C ends the run at work
    and keeps all that is complete; --resume runs what is missing. The exit code is 0 once every run is complete, else 1.
    """
    from headway.record.series.sweep import SweepListener, resume_sweep, run_sweep

    output = _ProgressOutput()
    listener = SweepListener(say=output.say, begin=output.begin, end=output.end, progress=output.progress)
    if resume is not None:
        given = {name for name in ctx.params if ctx.get_parameter_source(name) is _FROM_PERSON}
        if given - {"resume", "regions", "sequential_regions"}:
            raise click.UsageError(
                "with --resume only --region and --sequential-region: the sweep is run as it was planned"
            )
        path = resume.absolute()  # the sweep goes on where it began
        done = resume_sweep(resume, listener, _regions(options))
    else:
        missing = [f"--{name}" for name in _NEW if not options[name]]
        if missing:
            raise click.UsageError(f"{', '.join(missing)}: missing (or --resume NAME.sweep)")
        from headway.record.series.sweep_plan import plan_sweep

        path = options["output"]
        done = run_sweep(plan_sweep(_sweep_options(options)), force, listener)
    _note_regions(path)
    if done:
        tell(f"headway: sweep {path} is complete")
        tell(f"  next: headway speedups {path}")
    return 0 if done else 1


_FROM_PERSON = click.core.ParameterSource.COMMANDLINE


def _sweep_options(options: dict[str, Any]) -> SweepOptions:
    """Return what the options ask for. Raises HeadwayError HW007, or click.UsageError."""
    from headway.record.series.sweep_plan import SweepOptions
    from headway.record.session.plan import usable_cpus

    if options["sequential"] is None and 1 not in options["threads"]:
        raise click.UsageError("without --sequential, --threads needs 1: something must be the baseline")
    options["sample"] = _sample(options["sample"], options["repeat"], are_counted=options["counters"] is not None)
    options["input"] = options.pop("input_")
    options["cpus"] = usable_cpus(options["cpus"]) if options["cpus"] is not None else None
    return SweepOptions(**options)


def _regions(options: dict[str, Any]) -> tuple[tuple[SweepRegion, ...], tuple[SweepRegion, ...]]:
    """Return the regions that are given, of the parallel and the sequential program. Raises HeadwayError HW082."""
    from headway.record.series.sweep_plan import parse_regions

    given = parse_regions(options["regions"], "--region")
    return given, parse_regions(options["sequential_regions"], "--sequential-region")


def _note_regions(path: Path) -> None:
    """Where no regions were given note those that the recordings show, look whether they fit, and tell both."""
    from headway.analyses.regions.search import with_checks, with_regions
    from headway.store.sweep import read_sweep, write_sweep

    try:
        found = with_checks(with_regions(read_sweep(path)))
    except HeadwayError as error:  # a recording that this machine can't take apart: the sweep itself is whole
        say(error.notice)
        return
    write_sweep(found)
    for notice in found.notices:
        if notice.id in _OF_REGIONS:
            say(Notice(notice.id, notice.message, notice.remedy))


_OF_REGIONS = ("HW490", "HW491", "HW492", "HW493", "HW496")


def _sample(text: str | None, repeat: int, *, are_counted: bool) -> str:
    """Return what is to be sampled, by what this machine counts if nobody says it; CPU time alone where the rest is counted.

    Raises click.UsageError for what is no list of events, for an event of the CPU that does not tell where its time went, or for
    more of them than there are runs to take them in turn.
    """
    from headway.analyses.stacks.labels import EVENTS
    from headway.record.request.sampling import BY_TIME, is_counted
    from headway.record.series.sweep_turns import default_sample, turns

    if text is None:
        return default_sample(repeat, is_counted=not are_counted and is_counted())
    try:
        of_cpu = [each.of_cpu for each in turns(text)]
    except ValueError as error:
        raise click.UsageError(f"--sample {error}") from None
    for event in of_cpu:
        if event is None:
            raise click.UsageError(f"--sample {text}: regions are found by samples of the CPU, add cpu")
        if event.name not in (*EVENTS, *BY_TIME):
            known = f"take {', '.join(EVENTS[:-1])} or {EVENTS[-1]}"
            counted = ", and import counts of them into the sweep" if event.name == "cache-misses" else ""
            raise click.UsageError(
                f"--sample {text}: no region is found by samples of {event.name}, as one may have none: {known}{counted}"
            )
    if repeat < len(of_cpu):
        why = f"recorded runs take its {len(of_cpu)} events of the CPU in turn"
        raise click.UsageError(f"--sample {text}: {why}, so --repeat {len(of_cpu)} at least, not {repeat}")
    return text


class _ProgressOutput:
    """The sweep's progress on standard error: a line per run, and on a terminal what is under way."""

    def __init__(self) -> None:
        self.say = self._say
        self._began = time.monotonic()
        self._runs_done = 0
        self._first: int | None = None
        self.progress = Progress()
        self._is_terminal = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()

    def begin(self, run: SweepRun, place: int, count: int) -> None:
        """Show what is under way."""
        self._first = self._first or place
        if self._is_terminal:
            with contextlib.suppress(OSError, ValueError):
                out.echo(f"headway: [{place}/{count}] {_label(run)} ...", err=True, nl=False)

    def end(self, run: SweepRun, place: int, count: int) -> None:
        """Print how a run ended, and about how long the rest takes."""
        self._wipe()
        self._runs_done += 1
        took = f"{run.wall_ns / 1e9:.3f} s" if run.wall_ns is not None else "no time"
        ended = took if run.state == "complete" else f"failed after {took}"
        spent = time.monotonic() - self._began
        left = f", about {_duration(spent / self._runs_done * (count - place))} left" if place < count else ""
        tell(f"headway: [{place}/{count}] {_label(run)}: {ended}{left}")

    def _say(self, notice: Notice) -> None:
        self._wipe()
        say(notice)

    def _wipe(self) -> None:
        if self._is_terminal:
            with contextlib.suppress(OSError, ValueError):
                out.control(out.WIPE_LINE, err=True)


def _label(run: SweepRun) -> str:
    how = "recorded" if run.recorded else "plain"
    if run.program == "sequential":
        return f"sequential, {how}"
    return f"parallel, {counted(run.threads, 'thread')}, {how}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
