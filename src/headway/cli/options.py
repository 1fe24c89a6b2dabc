"""What several commands share: the RECORDING argument, --json, times, lists of numbers, and how JSON is written."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

# The largest number of CPUs a Linux kernel can be built for (CONFIG_NR_CPUS on x86-64): more cores are no question.
MAX_CORES = 8192
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
    """`1.5s`, `200ms`, `30us`, `5ns`, `2m`, plain seconds, or `25%`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TimePoint:
        """Parse a time; a usage error says what is accepted."""
        if isinstance(value, TimePoint):
            return value
        match = _TIME.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no time: write 1.5s, 200ms, 30us, 2m, 1.5 (seconds) or 25%", param, ctx)
        number, unit = Decimal(match[1]), match[2] or ""
        if unit == "%":
            if number > 100:
                self.fail(f"{value!r} is more than 100%", param, ctx)
            return TimePoint(str(value), None, number)
        return TimePoint(str(value), int(number * _UNITS_NS[unit]), None)


class CoresType(click.ParamType[tuple[int, ...]]):
    """A comma-separated list of core counts, each 1..MAX_CORES; repeated ones are dropped."""

    name = "cores"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Parse the list; a usage error names the part that is no core count."""
        if isinstance(value, tuple):
            return value
        what = "threads" if param is not None and param.name == "threads" else "cores"
        counts = []
        for part in str(value).split(","):
            text = part.strip()
            if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:9] or 0) <= MAX_CORES or len(text) > 9:
                self.fail(
                    f"{part!r} is no number of {what}: write whole numbers from 1 to {MAX_CORES}, e.g. 1,2,4,8",
                    param,
                    ctx,
                )
            counts.append(int(text))
        return tuple(dict.fromkeys(counts))


class KindsType(click.ParamType[tuple[str, ...]]):
    """A comma-separated list of thread kinds."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Parse the list; a usage error names the unknown kind."""
        from headway.analyses.parallelism import KINDS

        if isinstance(value, tuple):
            return value
        wanted = [part.strip() for part in str(value).split(",")]
        for kind in wanted:
            if kind not in KINDS:
                self.fail(f"{kind!r} is no kind of thread: choose of {', '.join(KINDS)}", param, ctx)
        return tuple(kind for kind in KINDS if kind in wanted)


def resolve_window(start: TimePoint | None, end: TimePoint | None, wall_ns: int) -> tuple[int, int] | None:
    """Turn --from and --to into (from, to) ns of a recording that lasts wall_ns; None when neither was given.

    Raises click.UsageError when the window is empty, reversed, or outside the recording.
    """
    if start is None and end is None:
        return None
    first = 0 if start is None else start.resolve(wall_ns)
    last = wall_ns if end is None else end.resolve(wall_ns)
    length = f"the recording lasts {Decimal(wall_ns) / 10**9:f}s"
    if start is not None and first >= wall_ns:
        raise click.UsageError(f"--from {start.text} is outside: {length}")
    if end is not None and last > wall_ns:
        raise click.UsageError(f"--to {end.text} is outside: {length} (leave --to out for its end)")
    if first >= last:
        raise click.UsageError(f"--from must be before --to: {first / 1e9:g}s to {last / 1e9:g}s; {length}")
    return first, last


def print_written(path: Path) -> None:
    """Say which file was written; nothing where that was the standard output."""
    if str(path) != "-":
        click.echo(path)


def print_json(value: Any) -> None:
    """Write a value as JSON on standard output, keys in the order given; infinities and NaN are refused."""
    click.echo(json.dumps(value, indent=1, allow_nan=False))


def print_json_list(texts: Iterable[str]) -> None:
    """Write a list as `print_json` does, of items' texts in it, some hundred at a time: there may be a million."""
    items = iter(texts)
    begin = "["
    while some := list(itertools.islice(items, _ITEMS_AT_ONCE)):
        click.echo(begin + "\n " + ",\n ".join(some), nl=False)
        begin = ","
    click.echo("[]" if begin == "[" else "\n]")


def recorded_otherwise(ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    """Refuse a causal recording (HW601) for a command that has nothing to show of one: a callback of its argument."""
    if value is None or ctx.resilient_parsing:
        return value
    from headway.errors import HeadwayError
    from headway.store.manifest import CAUSAL, read_manifest_json

    try:
        is_causal = read_manifest_json(value).get("kind") == CAUSAL
    except HeadwayError:  # the command itself tells what is wrong with it
        return value
    if is_causal:
        raise HeadwayError("HW601", path=value, command=ctx.info_name)
    return value


_PATH = click.Path(path_type=Path)
recording_argument = click.argument("recording_path", metavar="NAME.headway", type=_PATH, callback=recorded_otherwise)
any_recording_argument = click.argument("recording_path", metavar="NAME.headway", type=_PATH)
"""Of a command that causal recordings are for as well."""
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON (its keys may grow, never change).")
