"""The command line: finds the command, runs it, and turns what went wrong into an exit code.

A command lives in `headway/cli/NAME.py` as a click command named `command`. Only the one that runs is imported: the
list below carries their one-line summaries so that `headway --help` needs none of them.

Exit codes: of the recorded program for `run` and `record`; otherwise 0 fine, 1 a headway error, 2 wrong usage.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import io
import keyword
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from headway.errors import MESSAGES, HeadwayError


@dataclass(frozen=True, slots=True)
class Entry:
    """A command's place in `headway --help`; the command itself is `headway.cli.<module>:command`."""

    name: str
    section: str
    summary: str

    @property
    def module(self) -> str:
        """Return the module that holds the command."""
        name = self.name.replace("-", "_")
        return f"headway.cli.{name}_" if keyword.iskeyword(name) else f"headway.cli.{name}"


COMMANDS: tuple[Entry, ...] = (
    Entry("run", "Record", "Record a command, print the findings, write a report."),
    Entry("record", "Record", "Record a command or a running process."),
    Entry("import", "Record", "Make a recording of a JFR file, or of other tools' files."),
    Entry("recover", "Record", "Finalise a recording whose recorder died."),
    Entry("sweep", "Record", "Run a program at several numbers of threads."),
    Entry("causal", "Record", "Try out by experiments which line, made faster, would help."),
    Entry("why", "Understand", "Where the cores went: every lost core has a cause."),
    Entry("parallelism", "Understand", "How many threads were active, and for how long."),
    Entry("walltime", "Understand", "How long it would take on another number of cores."),
    Entry("speedups", "Understand", "What limits the speedup, what removing it would give."),
    Entry("critical-path", "Understand", "What the end of the program waited for."),
    Entry("threads", "Understand", "What every thread spent its time on."),
    Entry("locks", "Understand", "Who waits for which lock, and who holds it."),
    Entry("top", "Understand", "Which methods use the CPU, allocate, block or wait for locks."),
    Entry("flame", "Understand", "The same as a flame graph."),
    Entry("dump", "Understand", "The locks of a running JVM, into a file."),
    Entry("query", "Understand", "Ask a recording's tables in SQL."),
    Entry("report", "Pass on", "Write the findings as one HTML file."),
    Entry("export", "Pass on", "Write a recording for other tools."),
    Entry("doctor", "Help", "What this machine allows, and how to allow more."),
    Entry("explain", "Help", "What a message such as HW301 means."),
)


class LazyGroup(click.Group):
    """A group that imports a command when it is used, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, None if there is no such one."""
        entry = next((entry for entry in COMMANDS if entry.name == cmd_name), None)
        if entry is None:
            return None
        command = importlib.import_module(entry.module).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and name the closest one when there is none."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.list_commands(ctx):
            close = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"No such command '{name}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, from the list alone."""
        for section in dict.fromkeys(entry.section for entry in COMMANDS):
            with formatter.section(section):
                formatter.write_dl([(e.name, e.summary) for e in COMMANDS if e.section == section])


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from headway import __version__

        click.echo(f"headway {__version__}")
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
    """Tell how parallel a JVM program really is, and how long it would take on
    another number of cores.
    """


def _report(error: HeadwayError) -> None:
    """Say what happened, why, and what to run next, on standard error."""
    notice = error.notice
    click.echo(f"{notice.id}: {notice.message}", err=True)
    why = MESSAGES[notice.id].why
    if why:
        click.echo(f"  why:  {why}", err=True)
    if notice.remedy:
        click.echo(f"  next: {notice.remedy}", err=True)


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; prints errors, raises none of the expected ones."""
    try:
        code = _invoke(sys.argv[1:] if arguments is None else list(arguments))
        if sys.stdout is not None:  # closed before we began: nobody wants to know
            sys.stdout.flush()
        return code
    except HeadwayError as error:
        _report(error)
        return 1
    except click.ClickException as error:
        error.show()
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
        _report(HeadwayError("HW408", reason=error.strerror))
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


def _silence_stdout() -> None:
    """Give Python somewhere to flush to when it exits: it would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not so if it was closed before we began
            # Names of threads hold anything, and the locale may know little of it.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(invoke())
