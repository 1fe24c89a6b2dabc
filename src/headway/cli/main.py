"""The command line: finds the command, runs it, and turns what went wrong into an exit code.

A command lives in `headway/cli/NAME.py` as a click command named `command`, but for analyses, whose commands are made of what
the registry has of them. Only the one that runs is imported: report/commands.py carries their one-line summaries so that
`headway --help` needs none of them (analyses that other packages add are imported to be listed).

Exit codes: of the recorded program for `run`, `record` and `causal`; otherwise 0 fine, 1 a headway error, 2 wrong usage, and as
shells have it 127 a program that is not there, 126 one that can't be executed, 130 an interrupt.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import io
import keyword
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from headway.cli import out
from headway.cli.missing_values import refuse_missing_values
from headway.errors import MESSAGES, HeadwayError
from headway.model.interruptible import end_process
from headway.report import commands
from headway.report.registry import Plugin, added_analyses, analysis, own_analyses
from headway.report.terminal.printing.text import printable


@dataclass(frozen=True, slots=True)
class Entry:
    """A command's place in `headway --help`: that of an analysis, or `headway.cli.<module>:command`."""

    name: str
    section: str
    summary: str
    analysis: Plugin | None = None

    @property
    def module(self) -> str:
        """Return the module that holds the command."""
        name = self.name.replace("-", "_")
        return f"headway.cli.{name}_" if keyword.iskeyword(name) else f"headway.cli.{name}"

    def command(self) -> click.Command:
        """Import the command. Raises HeadwayError HW510 for one of another package that fails."""
        if self.analysis is not None:
            from headway.cli.analysis import make_command

            return make_command(self.analysis)
        command = importlib.import_module(self.module).command
        assert isinstance(command, click.Command)
        return command


_OWN_ANALYSES = {each.name: each for each in own_analyses()}

COMMANDS = tuple(Entry(*each, _OWN_ANALYSES.get(each.name)) for each in commands.COMMANDS)


ADDED = "Added by packages"


def added_entries() -> list[Entry]:
    """Return the analyses that installed packages add, without a summary: nothing is imported."""
    return [Entry(each.name, ADDED, "", each) for each in added_analyses()]


def entries() -> list[Entry]:
    """Return every command."""
    return [*COMMANDS, *added_entries()]


def _summary(entry: Entry) -> str:
    """Return the line of an analysis of another package, or why there is none."""
    assert entry.analysis is not None
    try:
        with entry.analysis.named():
            return f"{printable(analysis(entry.analysis).summary)} ({printable(entry.analysis.package)})"
    except HeadwayError as error:
        return f"{error.notice.id}: {printable(error.notice.message)}"


class LazyGroup(click.Group):
    """A group that imports a command when it is used, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`, then those that packages add."""
        return [entry.name for entry in entries()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, None if there is no such one."""
        entry = next((entry for entry in COMMANDS if entry.name == cmd_name), None)
        entry = entry or next((entry for entry in added_entries() if entry.name == cmd_name), None)
        return None if entry is None else entry.command()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and name the closest one when there is none."""
        wanted = args[0] if args else ""
        is_own = any(entry.name == wanted for entry in COMMANDS)  # what packages add takes time to find
        if wanted and not is_own and not wanted.startswith("-") and wanted not in self.list_commands(ctx):
            close = difflib.get_close_matches(wanted.lower(), self.list_commands(ctx), n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"No such command '{wanted}'.{hint}", ctx)
        name, command, words = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            refuse_missing_values(command, ctx, words)
        return name, command, words

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, from the list alone."""
        every = entries()
        for section in dict.fromkeys(entry.section for entry in every):
            with formatter.section(section):
                formatter.write_dl(
                    [(printable(e.name), e.summary or _summary(e)) for e in every if e.section == section]
                )


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from headway import __version__

        out.echo(f"headway {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Start with:  headway run -- java -jar app.jar",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """Tell where the cores of a JVM program went, what would bring them back,
    and how long it would take on another number of cores.
    """


def _report(error: HeadwayError) -> None:
    """Say what happened, why, and what to run next, on standard error."""
    notice = error.notice
    out.echo_notice(notice)
    why = MESSAGES[notice.id].why
    if why:
        out.echo(f"  why:  {why}", err=True)
    if notice.remedy:
        out.echo(f"  next: {printable(notice.remedy)}", err=True)


TRACEBACK = "HEADWAY_TRACEBACK"
"""Set in the environment, it has exceptions that nobody expected shown with their traceback."""


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; prints errors, and raises none unless HEADWAY_TRACEBACK is set.

    A recording of somebody else's may hold any values, and what another process says of itself may be anything: whatever
    comes of it ends in a message.
    """
    try:
        return _invoke_expecting(arguments)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARACTERS]
        _report(_unexpected(reason, _same_command(arguments)))
        return 1


def _unexpected(reason: str, command: str) -> HeadwayError:
    """Return what is said of an exception that nobody expected."""
    from headway.model.native_part import newer_native_source

    source = newer_native_source()
    if source is not None:
        return HeadwayError("HW094", reason=reason, source=source, command=command)
    return HeadwayError("HW319", reason=reason, command=command)


_REASON_CHARACTERS = 300
_NOT_STARTED = {"HW001": 127, "HW002": 126, "HW003": 126}
"""The exit codes that shells give for a command that is not there, or can't be executed."""


def _same_command(arguments: Sequence[str] | None) -> str:
    return shlex.join(["headway", *(sys.argv[1:] if arguments is None else arguments)])


def _invoke_expecting(arguments: Sequence[str] | None) -> int:
    """Run one command and return the exit code; prints the errors that are known, and raises the others."""
    try:
        code = _invoke(sys.argv[1:] if arguments is None else list(arguments))
        if sys.stdout is not None:  # closed before we began: nobody wants to know
            sys.stdout.flush()
        return code
    except HeadwayError as error:
        _report(error)
        return _NOT_STARTED.get(error.notice.id, 1)
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)  # it may quote a word of the command line, which may be the name of a file
        out.echo(words.getvalue().expandtabs(4), err=True, nl=False)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # DuckDB's word for Ctrl-C
            raise
        return 130
    except BrokenPipeError:
        # The reader of our output has enough (`headway threads ... | head`): that is no error.
        _silence_stdout()
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        _silence_stdout()
        _report(_full(error))
        return 1


def _invoke(arguments: list[str]) -> int:
    """Do what click's own main does, but for its handling of broken pipes, which exits with 1."""
    if "_HEADWAY_COMPLETE" in os.environ:
        cli.main(arguments, prog_name="headway")
    try:
        with cli.make_context("headway", arguments) as context:
            result = cli.invoke(context)
    except click.exceptions.Exit as request:
        return request.exit_code
    return result if isinstance(result, int) else 0


def _full(error: OSError) -> HeadwayError:
    """Return the message of a full disk: of the file that was written, or of the standard output, which has no name."""
    if error.filename is None:
        return HeadwayError("HW408", reason=error.strerror)
    return HeadwayError("HW318", path=error.filename, reason=error.strerror)


def _silence_stdout() -> None:
    """Give Python somewhere to flush to when it exits: it would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not so if it was closed before we began
            # Names of threads hold anything, and the locale may know little of it.
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = out.show_traceback
    code = invoke()
    # A Ctrl-C that came while Python ran a text as code (as dataclasses do when they are imported) and that we caught
    # would still end a `python -m` by the signal: CPython forgets it with the next such text.
    exec("")
    end_process(code)
    sys.exit(code)
