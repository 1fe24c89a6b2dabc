"""What several commands share: the RECORDING argument, --json, times, lists of numbers, and how JSON is written."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import click

from headway.analyses.common.units import duration
from headway.cli import out
from headway.report import selection
from headway.report.selection import selection_parameters

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Profile
    from headway.store import Recording

Command = TypeVar("Command", bound=Callable[..., Any])

_ITEMS_AT_ONCE = 256

_UNITS_NS = {"": 1_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1, "m": 60_000_000_000}
_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+) ?(ns|us|ms|s|m|%)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A point of a recording as a person writes it: ns from its start, or a percentage of its length."""

    text: str
    ns: int | None
    percent: Decimal | None

    def resolve(self, wall_ns: int) -> int:
        """Return the point in ns from the start of a recording that lasts wall_ns."""
        return self.ns if self.ns is not None else int(wall_ns * (self.percent or Decimal(0)) / 100)


class TimeType(click.ParamType[TimePoint]):
    """`1.5s`, `200ms`, `30us`, `5ns`, `2m` or plain seconds; of a recording `25%`, too."""

    name = "time"

    def __init__(self, *, of_recording: bool = False) -> None:
        """`of_recording`: a point of one, which may be a part of its length."""
        self._of_recording = of_recording

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TimePoint:
        """Parse a time; a usage error says what is accepted."""
        if isinstance(value, TimePoint):
            return value
        match = _TIME.fullmatch(str(value).strip())
        if match is None or (match[2] == "%" and not self._of_recording):
            known = "2m, 1.5 (seconds) or 25%" if self._of_recording else "2m or 1.5 (seconds)"
            self.fail(f"{value!r} is no time: write 1.5s, 200ms, 30us, {known}", param, ctx)
        number, unit = Decimal(match[1]), match[2] or ""
        if unit == "%":
            if number > 100:
                self.fail(f"{value!r} is more than 100%", param, ctx)
            return TimePoint(str(value), None, number)
        return TimePoint(str(value), int(number * _UNITS_NS[unit]), None)


def resolve_window(start: TimePoint | None, end: TimePoint | None, wall_ns: int) -> tuple[int, int] | None:
    """Turn --from and --to into (from, to) ns of a recording that lasts wall_ns; None when neither was given.

    Raises click.UsageError when the window is empty, reversed, or outside the recording.
    """
    if start is None and end is None:
        return None
    first = 0 if start is None else start.resolve(wall_ns)
    last = wall_ns if end is None else end.resolve(wall_ns)
    length = f"the recording lasts {_lasts(wall_ns, first, last)}"
    if start is not None and first >= wall_ns:
        raise click.UsageError(f"--from {start.text} is outside: {length}")
    if end is not None and last > wall_ns:
        raise click.UsageError(f"--to {end.text} is outside: {length} (leave --to out for its end)")
    if first >= last:
        raise click.UsageError(f"--from must be before --to: {first / 1e9:g}s to {last / 1e9:g}s; {length}")
    return first, last


def _lasts(wall_ns: int, *points: int) -> str:
    """Return a recording's length for people; in full where a point in time is closer to its end than rounding goes."""
    is_close = any(0 < abs(point - wall_ns) < wall_ns / 100 for point in points)
    return f"{Decimal(wall_ns) / 10**9:f} s" if is_close else duration(wall_ns)


def print_written(path: Path) -> None:
    """Say which file was written; nothing where that was the standard output."""
    if str(path) != "-":
        from headway.report.terminal.printing.text import printable

        out.echo(printable(str(path)))


def print_json(value: Any) -> None:
    """Write a value as JSON on standard output, keys in the order given; infinities and NaN are refused."""
    from headway.report.json.text import json_text

    text = json_text(value)  # ASCII: it may be cut anywhere, so that there are no copies of all of it
    for at in range(0, len(text), _CHARACTERS_AT_ONCE):
        out.echo(text[at : at + _CHARACTERS_AT_ONCE], nl=False)
    out.echo()


def print_json_list(texts: Iterable[str]) -> None:
    """Write a list as `print_json` does, of items' texts in it, some hundred at a time: there may be a million."""
    items = iter(texts)
    begin = "["
    while some := list(itertools.islice(items, _ITEMS_AT_ONCE)):
        out.echo(begin + "\n " + ",\n ".join(some), nl=False)
        begin = ","
    out.echo("[]" if begin == "[" else "\n]")


_LARGE = (("thread", "threads"), ("blocker", "locks"), ("frame", "methods and lines"), ("jvm_phase", "pauses of JVMs"))
_MANY = 10_000
_CHARACTERS_AT_ONCE = 1 << 20


def opened(path: Path) -> Recording:
    """Open a recording to analyse it, and say on standard error if that takes much memory (HW330). Raises HeadwayError."""
    from headway.analyses.common import memory
    from headway.errors import Notice
    from headway.store import open_recording

    recording = open_recording(path)
    needed = memory.expected(recording)
    if needed > memory.LIMIT:
        rows = {name: table.rows for name, table in recording.manifest.tables.items()}
        counts = ", ".join(f"{rows.get(table, 0):,} {text}" for table, text in _LARGE if rows.get(table, 0) >= _MANY)
        out.echo_notice(Notice.of("HW330", path=path, counts=counts, needed=memory.text(needed)))
    return recording


def recorded_otherwise(ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    """Refuse a causal recording (HW601) for a command that has nothing to show of one: a callback of its argument."""
    if value is None or ctx.resilient_parsing:
        return value
    from headway.errors import HeadwayError
    from headway.store.manifest import read_manifest_json
    from headway.store.manifest_keys import CAUSAL

    try:
        is_causal = read_manifest_json(value).get("kind") == CAUSAL
    except HeadwayError:  # the command itself tells what is wrong with it
        return value
    if is_causal:
        raise HeadwayError("HW601", path=value, command=ctx.info_name)
    return value


PATH = click.Path(path_type=Path)


def window_parameters(*, of_runs: bool = False) -> tuple[click.Option, click.Option]:
    """Return --from and --to, as `start` and `end`: of a recording, or of each of several runs."""
    what, last = ("part of every run", "End of that part.") if of_runs else ("window", "End of the window.")
    begin = f"Begin of the {what}: 1.5s, 200ms, 2m, 25% ..."
    return (
        click.Option(["--from", "start"], type=TimeType(of_recording=True), metavar="T", help=begin),
        click.Option(["--to", "end"], type=TimeType(of_recording=True), metavar="T", help=last),
    )


def json_parameter() -> click.Option:
    """Return --json, as `as_json`."""
    text = "Write JSON (its keys may grow, never change)."
    return click.Option(["--json", "as_json"], is_flag=True, help=text)


recording_argument = click.argument("recording_path", metavar="NAME.headway", type=PATH, callback=recorded_otherwise)
any_recording_argument = click.argument("recording_path", metavar="NAME.headway", type=PATH)
"""Of a command that causal recordings are for as well."""
ALLOW_BREAKPOINTS = (
    "Let mem:ADDRESS be counted or sampled, although a hit of its breakpoint may end the program by SIGTRAP "
    "(headway explain HW124)."
)
"""Help of --allow-breakpoints."""
keep_arguments_option = click.option(
    "--keep-arguments",
    is_flag=True,
    help="Keep passwords, tokens and the like in arguments and properties. Else what looks like one is noted as ***.",
)


def json_option(command: Command) -> Command:
    """Add --json to a command."""
    return _adding(command, (json_parameter(),))


class Selection(TypedDict):
    """The options that `selection_options` adds, as a command gets them."""

    event: str | None
    thread: re.Pattern[str] | None
    region: str | None
    start: TimePoint | None
    end: TimePoint | None


def selection_options(command: Command) -> Command:
    """Add the options that select what a profile is of."""
    return _adding(command, (*selection_parameters(), *window_parameters()))


def _adding(command: Command, parameters: Sequence[click.Parameter]) -> Command:
    """Add parameters that are there already to a function that is to be a command."""
    for parameter in reversed(parameters):
        factory = functools.partial(_same, parameter)
        command = click.option(cls=cast("type[click.Option]", factory))(command)
    return command


def _same(parameter: click.Parameter, *_declared: Any, **_attributes: Any) -> click.Parameter:
    return parameter


def selected(recording: Recording, chosen: Selection, **how: Any) -> Profile:
    """Profile what was selected, and say once if it lacks stacks (HW453).

    Raises click.UsageError for a wrong window or pattern, and HeadwayError as `profile`.
    """
    from headway.analyses.scheduling import activity

    window = resolve_window(chosen["start"], chosen["end"], activity.wall_ns(recording))
    event, thread, region = chosen["event"], chosen["thread"], chosen["region"]
    found = selection.selected(recording, window, event=event, thread=thread, region=region, **how)
    for notice in found.notices:
        if notice.id == "HW453" and recording.kept.setdefault(notice.id, notice) is notice:
            out.echo_notice(notice)
    return found
