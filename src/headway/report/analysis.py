"""The seam for analyses: what a question gives to be a command, JSON, a part of what `run` prints and of the report.

An analysis is an object with the members of `Analysis`; most are an instance of a class derived from `BaseAnalysis`, which
has a default for all but `name`, `summary`, `help`, `run` and `to_json`. Those of headway are named in registry.py, one module
each in analyses/; a package of anybody else's adds its own by an entry point of the group `headway.analyses`
(docs/how-to/add-an-analysis.md).

Who asks for what: the command line makes a command (cli/analysis.py) of `name` to `check`, calls `run`, and prints by `render`,
or by `to_json` with --json; `headway run` calls `print_in_overview` (terminal/overview.py); the HTML report shows `view` of
headway's own, and `section` of those that packages add (html/payload.py).

A new one of headway's own: a module in report/analyses with `run` calling its package in headway/analyses, a line in registry.py
and one in commands.py, report/json/TOPIC.py for `to_json`, report/terminal/TOPIC.py for `render`, and a golden test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from headway.report.section import HeatMap as HeatMap
from headway.report.section import HeatRow as HeatRow
from headway.report.section import Scatter as Scatter
from headway.report.section import Section as Section
from headway.report.section import Table as Table

if TYPE_CHECKING:
    from pathlib import Path

    import click
    from rich.console import Console

    from headway.analyses.overview import Overview
    from headway.errors import Notice
    from headway.store import Recording

Window: TypeAlias = "tuple[int, int] | None"
"""A part of a recording: ns from its start, None for all of it."""
WindowOfRun: TypeAlias = "Callable[[int], Window] | None"
"""The same of every run of a sweep: a function of the run's length in ns, None for all of it."""
Subject: TypeAlias = Literal["recording", "sweep"]
Result = TypeVar("Result")


class View(NamedTuple):
    """What a view of the HTML report shows, under `name` in its payload: values, or the reason why there are none."""

    name: str
    values: dict[str, Any] | None
    missing: str | None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown(Generic[Result]):
    """An answer, and how much of it is asked for: all rows (--all) instead of the first, its tree as well (--tree)."""

    answer: Result
    show_all: bool = False
    show_tree: bool = False


class Analysis(Protocol[Result]):
    """A question that one asks a recording. All members may be asked for in any order; only `run` and `view` may take long."""

    @property
    def name(self) -> str:
        """Return what the command is called: lower case letters and dashes."""

    @property
    def summary(self) -> str:
        """Return the line of `headway --help`: at most 60 characters."""

    @property
    def help(self) -> str:
        """Return what `headway NAME --help` says: a sentence, and what else one must know to read the answer."""

    @property
    def examples(self) -> tuple[str, ...]:
        """Return command lines to try."""

    @property
    def subject(self) -> Subject:
        """Return what is asked: a recording, or a sweep, which `run` then gets with a WindowOfRun."""

    @property
    def has_window(self) -> bool:
        """Return whether --from and --to select a part."""

    @property
    def needs_subject(self) -> bool:
        """Return False where options may name something else to ask; `run` then gets None."""

    def parameters(self) -> Sequence[click.Parameter]:
        """Return options beyond NAME.headway, --from, --to and --json; their values are passed to `run` by name."""

    def check(self, path: Path | None, **options: Any) -> None:
        """Raise click.UsageError for options that don't go together; called before anything is opened."""

    def run(self, recording: Any, window: Any, **options: Any) -> Result:
        """Return the answer of a Recording and a Window (a Sweep, a WindowOfRun). Raises HeadwayError where it can't tell."""

    def to_json(self, result: Result) -> Any:
        """Return the answer as JSON values, times in ns, notices under `warnings`. Keys may be added, never changed."""

    def json_items(self, result: Result) -> Iterable[str] | None:
        """Return the JSON text of each item of an answer that is a list too long to be made at once; None for others."""

    def notices_beside_json(self, result: Result) -> Sequence[Notice]:
        """Return what --json puts on standard error: the notices of an answer that is a list, without a place for them."""

    def render(self, result: Result, console: Console, name: str) -> None:
        """Print the answer: what it comes to first, then tables. `name`: the recording as it was asked for."""

    def print_in_overview(self, found: Overview, console: Console) -> None:
        """Print the tables that `headway run` shows when the program has ended, from results that are there already."""

    @property
    def section_needs(self) -> tuple[str, ...]:
        """Return tables: the report shows the section of one of headway's own for recordings with any of them; (): never."""

    def has_section(self, recording: Recording) -> bool:
        """Return whether the report shows the section of one of headway's own for a recording."""

    def section(self, result: Result) -> Section | None:
        """Return the answer for the HTML report; None where the report has a view of its own for it."""

    def view(self, recording: Recording, found: Overview) -> View | None:
        """Return the values of the view that the report has for it, from results that are there already where they are."""


class BaseAnalysis:
    """What most analyses have in common: one recording, windows, no options of their own, a section that is printed as it is."""

    examples: tuple[str, ...] = ()
    subject: Subject = "recording"
    has_window = True
    needs_subject = True
    section_needs: tuple[str, ...] = ()

    def parameters(self) -> Sequence[click.Parameter]:
        """Return no options."""
        return ()

    def has_section(self, recording: Recording) -> bool:
        """Return whether the recording has any of the tables that the section needs."""
        return any(map(recording.has, self.section_needs))

    def check(self, path: Path | None, **options: Any) -> None:
        """Take all options."""

    def json_items(self, result: Any) -> Iterable[str] | None:
        """Return None: `to_json` gives all."""
        return None

    def notices_beside_json(self, result: Any) -> Sequence[Notice]:
        """Return none: JSON has them."""
        return ()

    def print_in_overview(self, found: Overview, console: Console) -> None:
        """Print nothing."""

    def section(self, result: Any) -> Section | None:
        """Return None: the report has a view of its own, or nothing."""
        return None

    def view(self, recording: Recording, found: Overview) -> View | None:
        """Return None: the report has no view of its own."""
        return None

    def render(self, result: Any, console: Console, name: str) -> None:
        """Print the section."""
        from headway.report.terminal.printing.sections import print_section

        section = self.section(result)
        if section is not None:
            print_section(section, console)
