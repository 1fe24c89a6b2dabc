"""`headway run`: record a command, print the findings, write the report."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.place import declared, memory_of_nodes, one_progress, placing_options, record_printer
from headway.cli.recording import SETTINGS, Progress, Working, make_plan, recording_options, say, tell
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headway.analyses.numa.nodes import Nodes
    from headway.analyses.overview import Overview
    from headway.record.session.plan import Plan
    from headway.store import Manifest, Recording


@click.command(
    context_settings=SETTINGS,
    short_help="Record a command, print the findings, write a report.",
    epilog="""\b
Examples:
  headway run -- java -jar app.jar
  headway run -o first.headway --repeat 5 -- java -jar app.jar
  headway run --place --progress-file access.log -- java -jar app.jar
""",
)
@click.option(
    "-o", "--output", metavar="NAME.headway", type=click.Path(path_type=Path), help="Default: APP-TIME.headway, here."
)
@recording_options
@click.option(
    "--place",
    "is_placed",
    is_flag=True,
    help="Record nothing: keep the program on one memory node or on all, as 'headway place' does.",
)
@placing_options
@click.argument("words", metavar="[--] CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    /,
    output: Path | None,
    words: tuple[str, ...],
    is_placed: bool,
    nodes: Nodes | None,
    file: Path | None,
    event: str | None,
    moves_memory: bool,
    **options: Any,
) -> int:
    """Record a command, print the findings, write a report.

    Writes APP-TIME.headway and APP-TIME.html. The findings go to standard error, because standard output is the
    command's own; the exit code is the command's, too. When the command failed, its exit code is printed instead of the
    findings. Locks and CPU samples are recorded unless --no-locks and --sample none say otherwise. Ctrl-C while the findings
    are looked for leaves the recording complete, and the exit code the command's. For everything else see
    `headway record --help`.

    With --place nothing is recorded or written: the program is placed, and decisions are lines on standard error.
    """
    if is_placed:
        return _placed(context, words, nodes, file, event, moves_memory)
    if nodes is not None or file is not None or event is not None or moves_memory:
        raise click.UsageError("--nodes, --progress-file, --progress-event and --move-pages go with --place")
    from headway.record.session.plan import default_output

    plan = make_plan(output or default_output(words, Path.cwd()), words, None, options, by_default=True)

    from headway.report.output import refuse_taken

    refuse_taken(_page(plan.output), overwrite=plan.force)  # now, not when the program has run for an hour
    return _record_and_show(plan)


def _record_and_show(plan: Plan) -> int:
    """Record, print the findings and write the report; return the program's exit code."""
    from headway.record.collect.listener import Listener
    from headway.record.session.session import record

    # One recording's messages come with its findings: printed here as well, each would be on the screen twice.
    postponed: list[Notice] = []

    def say_all(*others: Notice) -> None:
        for each in (*postponed, *others):
            say(each)
        postponed.clear()

    def complete(directory: Path) -> None:
        if not plan.is_series:
            show(directory, plan.force)

    listener = Listener(
        say=say if plan.is_series else postponed.append,
        failed=say_all,
        complete=complete,
        progress=Progress(),
        tell=lambda text: tell(f"headway: {text}"),
    )
    try:
        code = record(plan, listener)
    except BaseException:
        say_all()
        raise
    if plan.is_series:
        show(plan.output, plan.force)
    return code


def _placed(
    context: click.Context,
    words: tuple[str, ...],
    nodes: Nodes | None,
    file: Path | None,
    event: str | None,
    moves_memory: bool,
) -> int:
    """Run a command, and place it while it runs."""
    from headway.placement.launched import run_placed
    from headway.placement.place import Request
    from headway.placement.progress import progress_of

    of_placement = {"is_placed", "nodes", "file", "event", "moves_memory", "words"}
    given = [
        each.opts[0]
        for each in context.command.params
        if each.name is not None
        and each.name not in of_placement
        and context.get_parameter_source(each.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: with --place nothing is recorded")
    one_progress(file, event)
    sets = declared(nodes)
    memory_of_nodes(sets, moves_memory)
    return run_placed(
        words,
        Request(nodes=sets, moves_memory=moves_memory),
        lambda: progress_of(file, event, may_appear=True),
        record_printer(as_json=False, err=True),
        say,
    )


def _page(directory: Path) -> Path:
    """Return where the report of a recording goes: beside it."""
    return directory.with_suffix(".html")


def show(directory: Path, overwrite: bool = False) -> None:
    """Print the findings of a recording on standard error and write its HTML report beside it.

    What goes wrong here, Ctrl-C and SIGTERM are told, not raised: the recording is complete, and the exit code is the program's.
    """
    with _sigterm_as_ctrl_c():
        _show(directory, overwrite)


def _show(directory: Path, overwrite: bool) -> None:
    page, failed, last, more, found = None, "", [], [], None
    try:
        from headway.analyses.overview import overview
        from headway.report.html import render_html
        from headway.report.terminal.recorded import commands_for
        from headway.store import open_recording

        with contextlib.closing(open_recording(directory)) as recording:
            failed = _failed(recording.manifest)
            more = commands_for(recording.manifest, directory)
            # Whoever read our messages may have left; the report is written all the same.
            if not failed:
                with Working("looking for where the cores went"):
                    found = overview(recording)
                with contextlib.suppress(BrokenPipeError):
                    last = _findings(recording, found, directory)
            with Working("writing the report"):
                page = render_html(recording, _page(directory), overwrite=overwrite, found=found)
    except HeadwayError as error:
        say(error.notice)
    except (Exception, KeyboardInterrupt) as error:
        is_asked = isinstance(error, KeyboardInterrupt)
        reason = (str(error) or "you interrupted") if is_asked else f"{type(error).__name__}: {error}"
        say(Notice.of("HW508", path=directory, reason=reason))
    if failed:
        written = "" if page is None else f"; report: {page}"
        tell(f"headway: {failed} (recorded all the same: headway why {shlex.quote(str(directory))}{written})")
        return
    tell()
    for sentence in last:
        tell(sentence)
    tell(f"headway: recording {directory}")
    if page is not None:
        tell(f"headway: report    {page}")
    for each in more:
        tell(f"headway: see also  {each}")


@contextlib.contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt at a SIGTERM meanwhile, which would end headway without a word about the recording."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt("SIGTERM came")

    before = signal.getsignal(signal.SIGTERM)
    is_main = threading.current_thread() is threading.main_thread()  # Python hears signals there alone
    if before != signal.SIG_DFL or not is_main:  # who started us may have it ignored
        yield
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _findings(recording: Recording, found: Overview, directory: Path) -> list[str]:
    """Print all tables, and return the lines that are to stand below them."""
    from headway.analyses.scheduling.recording_cost import recording_cost
    from headway.report.terminal import make_console, render_overview
    from headway.report.terminal.closing import closing, cost_line
    from headway.report.terminal.recorded import cut_short

    tell()
    render_overview(recording, make_console(sys.stderr), found)
    cost = cost_line(recording_cost(recording))
    cut = cut_short(recording.manifest)
    return [*closing(found, str(directory), cut), "", *([f"headway: {cost}"] if cost else [])]


def _failed(manifest: Manifest) -> str:
    """Return how a program ended that failed, '' for others: servers are stopped by Ctrl-C or a signal that asks for it."""
    from headway.report.terminal.recorded import stopping_signal

    if stopping_signal(manifest):
        return ""
    if manifest.signal:
        return f"the program was ended by signal {manifest.signal}"
    if not manifest.exit_code:
        return ""
    return f"the program ended with exit code {manifest.exit_code}"
