"""`headway record`: record a command, or a process that runs already, into NAME.headway."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from headway.cli.recording import SETTINGS, Progress, StatusLine, make_plan, recording_options, say, tell


@click.command(
    context_settings=SETTINGS,
    short_help="Record a command or a running process.",
    epilog="""\b
Examples:
  headway record -o app.headway -- java -jar app.jar
  headway record -o a.headway --cpus 0 --jvm-processors 4 -- java -jar app.jar
  headway record -o app.headway --pid 4711 --duration 30s
""",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="NAME.headway",
    type=click.Path(path_type=Path),
    help="The recording to make.",
)
@click.option("--pid", type=int, metavar="PID", help="Attach to this process and all below it, instead of a command.")
@recording_options
@click.argument("words", metavar="[-- CMD...]", nargs=-1, type=click.UNPROCESSED)
def command(output: Path, pid: int | None, words: tuple[str, ...], **options: Any) -> int:
    """Record a command, or a process that runs already.

    The command keeps its terminal, its standard streams, its signals and its exit code, which is headway's as well.
    Ctrl-C reaches the command as ever; when it has ended, the recording is finalised. A second Ctrl-C stops
    finalising, and `headway recover` makes up for it.

    With --pid, the recording ends after --duration, at Ctrl-C, or when the process ends; the process is left as it was.
    """
    if (pid is None) == (not words):
        raise click.UsageError("give either a command after --, or --pid PID")
    if pid is not None and (options["cpus"] or options["jvm_processors"] or options["repeat"] > 1):
        raise click.UsageError("--cpus, --jvm-processors and --repeat are for commands, not for --pid")
    plan = make_plan(output, words, pid, options)

    from headway.record.collect.listener import Listener
    from headway.record.session.session import record

    line = StatusLine()
    listener = Listener(
        say=line.before(say),
        failed=line.before(say),
        complete=announce,
        progress=Progress(),
        status=line,
        tell=lambda text: tell(f"headway: {text}"),
    )
    return record(plan, listener)


def announce(directory: Path, done: str = "recorded") -> None:
    """Say that a recording is there, whether a part of it is missing, how long it is, and what to do with it."""
    from headway.report.terminal.recorded import commands_for, cut_short
    from headway.store.manifest import read_manifest

    manifest = read_manifest(directory)
    length = f"{manifest.window.dur_ns / 1e9:.1f} s" if manifest.window else "of unknown length"
    if manifest.state == "partial":
        length = f"partial: a part is missing; {length}"
    if manifest.is_causal:
        tell(f"headway: {done} {directory} ({'partial, ' * (manifest.state == 'partial')}causal)")
        tell(f"  next: headway causal {shlex.quote(str(directory))}")
        return
    cut = cut_short(manifest)
    length += f", {cut}" if cut else ""
    switches = f", {manifest.switches:,} switches" if manifest.switches is not None else ""
    tell(f"headway: {done} {directory} ({length}{switches}, mode {manifest.mode})")
    for each in (*commands_for(manifest, directory), f"headway why {shlex.quote(str(directory))}"):
        tell(f"  next: {each}")
