"""`headway causal`: experiments that show which line, made faster, would make the program faster; and their results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import options
from headway.cli.options import TimePoint, TimeType
from headway.cli.recording import SETTINGS, tell
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from headway.record.request.causal_spec import CausalOptions
    from headway.record.session.plan import Plan

END_TO_END_RUNS = 20


@click.command(
    context_settings=SETTINGS,
    short_help="Try out which line, made faster, would help.",
    epilog="""\b
Examples:
  headway causal --suggest -- java -jar app.jar
  headway causal --progress 'com.acme.Server.handle' -- java -jar app.jar
  headway causal --progress Orders=com.acme.Order:42 --time 120s \\
      --latency com.acme.Req.begin,com.acme.Req.end \\
      --scope 'com.acme.*' -o app.headway -- java -jar app.jar
  headway causal --end-to-end --repeat 20 -- java -jar app.jar
  headway causal --pid 4711 --progress com.acme.Server.handle --time 60s
  headway causal app.headway --line Order.java:42
""",
)
@click.option(
    "--progress",
    multiple=True,
    metavar="[NAME=]PLACE",
    help="A progress point: CLASS.METHOD or CLASS:LINE that runs once per unit of work, or the name of a "
    "headway.api.Progress in the program. Any number.",
)
@click.option(
    "--latency",
    multiple=True,
    metavar="[NAME=]BEGIN,END",
    help="Two such places: the time between them is to get shorter. Any number.",
)
@click.option(
    "--scope",
    multiple=True,
    metavar="GLOB",
    help="Classes whose lines may be made faster, as in com.acme.*; library code counts for the line in scope that calls it. "
    "Any number. [all but the JDK, Kotlin and Scala]",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="WHAT",
    help="Make only this faster: line:CLASS:LINE, method:CLASS.METHOD, lock:CLASS (critical sections: of a class that takes "
    "locks, or of a lock's class), or gc (pauses). Several: a run each. [lines chosen by samples]",
)
@click.option("--end-to-end", is_flag=True, help="No progress point: the time of whole runs, each run an experiment.")
@click.option(
    "--suggest", is_flag=True, help="No experiments: methods worth using as progress points, with their rates."
)
@click.option(
    "--time",
    "duration",
    type=TimeType(),
    metavar="TIME",
    help="End the experiments after this time (30s, 2m). A program that headway started runs on without.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    metavar="N",
    help=f"Run the command N times; with --end-to-end that is all runs together. [1; {END_TO_END_RUNS} end-to-end]",
)
@click.option("--pid", type=int, metavar="PID", help="Attach to this JVM, and those below it, instead of a command.")
@click.option(
    "--period",
    type=TimeType(),
    metavar="TIME",
    help="CPU time of a thread between two samples; shorter costs more. [1.4 to 4 ms, by what a sample costs]",
)
@click.option("--warmup", type=TimeType(), metavar="TIME", help="Begin with experiments after this time. [0]")
@click.option(
    "--sources",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Where source files are, for the report. Any number.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.headway",
    help="Default: APP-TIME.headway, here. Runs of the same command, points and scope add up in one that is there.",
)
@click.option("--force", is_flag=True, help="Replace a recording that is there already.")
@options.keep_arguments_option
@options.json_option
@click.argument("words", metavar="[-- CMD... | NAME.headway]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Try out which line, made faster, would make the program faster.

    A line can't be made faster on the fly, but all others slower: whenever a thread runs the chosen line, all other threads
    are delayed a little. How that changes the rate of a progress point is what making the line faster would give.

    The command keeps its terminal, its standard streams, its signals and its exit code, which is headway's as well. Results
    go to standard error when it has ended (with --json to standard output). Ctrl-C reaches the command; what was tried so
    far counts.

    headway causal NAME.headway [--line LINE] [--json] shows the results of a recording.
    """
    if is_reading(words, ctx, given):
        with results.make_context(ctx.command_path, [*(["--json"] if as_json else []), *words], parent=ctx) as context:
            shown: int = results.invoke(context) or 0
            return shown
    causal = asked(given)
    plan = make_plan(words, given, causal)
    if not (causal.progress or causal.latency or causal.mode != "experiments"):
        return _no_progress_point(f"--pid {plan.pid}" if plan.pid is not None else "-- CMD")

    from headway.cli.causal_listener import CausalListener
    from headway.record.series.causal_runs import record_causal

    output = CausalListener(as_json)
    return record_causal(plan, output.callbacks) or output.code


def is_reading(words: tuple[str, ...], ctx: click.Context, given: dict[str, Any]) -> bool:
    """Return whether a recording is to be shown: the first word is one, and nothing is asked for that makes one.

    A command may have the name of a folder that lies here: `java`.
    """
    if not words or not (words[0].endswith(".headway") or (Path(words[0]) / "manifest.json").is_file()):
        return False
    named = [name for name in given if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if named:
        option = next(each for each in ctx.command.params if each.name == named[0]).opts[-1]
        raise click.UsageError(f"{option} makes a recording: give it a command after --, not {words[0]}")
    return True


def asked(given: dict[str, Any]) -> CausalOptions:
    """Return what the options ask of the agent. Raises click.UsageError."""
    from headway.record.request import causal_spec

    if given["suggest"] and given["end_to_end"]:
        raise click.UsageError("--suggest or --end-to-end, not both")
    mode: causal_spec.Mode = "suggest" if given["suggest"] else "end-to-end" if given["end_to_end"] else "experiments"
    repeat = given["repeat"] or (END_TO_END_RUNS if mode == "end-to-end" else 1)
    if mode == "end-to-end" and repeat < 2:
        raise click.UsageError("--end-to-end compares runs: --repeat 2 is the least, 20 are better")
    try:
        return causal_spec.CausalOptions(
            mode=mode,
            progress=tuple(map(causal_spec.parse_point, given["progress"])),
            latency=tuple(map(causal_spec.parse_latency, given["latency"])),
            scope=tuple(map(causal_spec.parse_scope, given["scope"])),
            targets=tuple(map(causal_spec.parse_target, given["targets"])),
            period_us=_whole(given["period"], "--period", 1_000, "100us"),
            warmup_ms=_whole(given["warmup"], "--warmup", 1_000_000, "1ms"),
            repeat=max(repeat, len(given["targets"])) if mode == "experiments" else repeat,
            sources=tuple(str(each.resolve()) for each in given["sources"]),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _whole(time: TimePoint | None, option: str, unit_ns: int, least: str) -> int | None:
    """Return a time in whole units; None where it was not given. Raises click.UsageError."""
    if time is None:
        return None
    if time.ns is None or time.ns < unit_ns:
        raise click.UsageError(f"{option} {time.text}: give a time, at least {least}")
    return time.ns // unit_ns


def make_plan(words: tuple[str, ...], given: dict[str, Any], causal: CausalOptions) -> Plan:
    """Return what is to be recorded. Raises click.UsageError for a combination that makes no sense."""
    from headway.record.session.plan import Plan, default_output
    from headway.record.target_process import processes

    pid, duration = given["pid"], given["duration"]
    if (pid is None) == (not words):
        raise click.UsageError("give a command after --, or --pid PID, or a recording, NAME.headway")
    if pid is not None and (given["repeat"] or given["end_to_end"] or len(causal.targets) > 1):
        raise click.UsageError("--end-to-end, --repeat and several --target are for commands, not for --pid")
    if duration is not None and not duration.ns:
        raise click.UsageError(f"--time {duration.text}: give a time above zero, such as 60s")
    if duration is not None and causal.mode == "end-to-end":
        raise click.UsageError("--time ends experiments; with --end-to-end a run is one: leave it out")
    name = words or tuple(processes.command_line(pid) or [f"process-{pid}"])
    return Plan(
        output=given["output"] or default_output(name, Path.cwd()),
        command=words,
        pid=pid,
        duration_s=duration.ns / 1e9 if duration is not None else None,
        force=given["force"],
        causal=causal,
        keep_arguments=given["keep_arguments"],
    )


def _no_progress_point(target: str) -> int:
    """Tell HW600; the exit code is that of wrong usage."""
    from headway.errors import MESSAGES

    notice = Notice.of("HW600", target=target)
    tell(f"{notice.id}: {notice.message}")
    tell(f"  why:  {MESSAGES[notice.id].why}")
    tell(f"  next: {notice.remedy}")
    return 2


@click.command(name="causal")
@options.any_recording_argument
@click.option("--line", metavar="LINE", help="One line in full: Order.java:42, or Order.price for a method.")
@options.json_option
def results(recording_path: Path, line: str | None, as_json: bool) -> int:
    """Show the results of a causal recording."""
    import contextlib

    from headway.cli.causal_listener import show_results
    from headway.store import open_recording

    with contextlib.closing(open_recording(recording_path)) as recording:
        if not recording.manifest.is_causal:
            raise HeadwayError("HW635", path=recording_path)
        show_results(recording, line=line, as_json=as_json)
    return 0
