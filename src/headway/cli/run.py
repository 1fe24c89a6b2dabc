"""`headway run`: record a command, print the findings, write the report."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.recording import SETTINGS, Progress, make_plan, recording_options, say, tell
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from headway.store import Manifest


LOCKS_BY_DEFAULT = False
"""Until what locks cost a park-heavy server is shown to be at most 1 % (docs/explanation/trust.md)."""


@click.command(
    context_settings=SETTINGS,
    short_help="Record a command, print the findings, write a report.",
    epilog="""\b
Examples:
  headway run -- java -jar app.jar
  headway run -o first.headway --repeat 5 -- java -jar app.jar
""",
)
@click.option(
    "-o", "--output", metavar="NAME.headway", type=click.Path(path_type=Path), help="Default: APP-TIME.headway, here."
)
@recording_options
@click.argument("words", metavar="[--] CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(output: Path | None, words: tuple[str, ...], **options: Any) -> int:
    """Record a command, print the findings, write a report.

    Writes APP-TIME.headway and APP-TIME.html. The findings go to standard error, because standard output is the
    command's own; the exit code is the command's, too. For everything else see `headway record --help`.
    """
    from headway.record.plan import default_output

    plan = make_plan(
        output or default_output(words, Path.cwd()), words, None, options, locks_by_default=LOCKS_BY_DEFAULT
    )

    from headway.record.listener import Listener
    from headway.record.session import record
    from headway.report.output import free_place

    free_place(_page(plan.output), overwrite=plan.force)  # now, not when the program has run for an hour

    def complete(directory: Path) -> None:
        if plan.repeat == 1:
            show(directory, plan.force)

    def failed(notice: Notice) -> None:
        for each in (*held, notice):
            say(each)
        held.clear()

    # One recording's messages come with its findings: told here as well, each would be on the screen twice.
    held: list[Notice] = []
    hold = held.append if plan.repeat == 1 else say
    try:
        code = record(plan, Listener(say=hold, failed=failed, complete=complete, progress=Progress()))
    except BaseException:
        for notice in held:
            say(notice)
        raise
    if plan.repeat > 1:
        show(plan.output, plan.force)
    return code


def _page(directory: Path) -> Path:
    """Return where the report of a recording goes: beside it."""
    return directory.with_suffix(".html")


def show(directory: Path, overwrite: bool = False) -> None:
    """Print the findings of a recording on standard error and write its HTML report beside it.

    What goes wrong here is told, not raised: the recording is complete, and the exit code is the program's.
    """
    from headway.report.html import render_html
    from headway.report.terminal import make_console, render_overview
    from headway.store import open_recording

    page, ended = None, ""
    try:
        with contextlib.closing(open_recording(directory)) as recording:
            tell()
            # Whoever read our messages may have left; the report is written all the same.
            with contextlib.suppress(BrokenPipeError):
                render_overview(recording, make_console(sys.stderr))
            ended = _ended(recording.manifest)
            page = render_html(recording, _page(directory), overwrite=overwrite)
    except HeadwayError as error:
        say(error.notice)
    except (Exception, KeyboardInterrupt) as error:
        reason = "you interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
        say(Notice.of("HW508", path=directory, reason=reason))
    tell()
    if ended:
        tell(f"headway: {ended}")
    tell(f"headway: recording {directory}   (all causes and phases: headway why {shlex.quote(str(directory))})")
    if page is not None:
        tell(f"headway: report    {page}")


def _ended(manifest: Manifest) -> str:
    """Return how the program ended if not well: a run that failed may say little of one that does not."""
    if manifest.signal:
        return f"the program was ended by signal {manifest.signal}"
    return f"the program ended with exit code {manifest.exit_code}" if manifest.exit_code else ""
