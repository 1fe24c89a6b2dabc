"""Types of values on the command line that analyses take: kinds of threads, regular expressions, numbers of cores."""

from __future__ import annotations

import re
from typing import Any

import click

from headway.model.iterations import IterationMarks, parse_marks

MAX_CORES = 8192
"""The largest number of CPUs a Linux kernel can be built for (CONFIG_NR_CPUS on x86-64): more cores are no question."""


class KindsType(click.ParamType[tuple[str, ...]]):
    """A comma-separated list of thread kinds."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Parse the list; a usage error names the unknown kind."""
        from headway.analyses.scheduling.parallelism import KINDS

        if isinstance(value, tuple):
            return value
        wanted = [part.strip() for part in str(value).split(",")]
        for kind in wanted:
            if kind not in KINDS:
                self.fail(f"{kind!r} is no kind of thread: choose of {', '.join(KINDS)}", param, ctx)
        return tuple(kind for kind in KINDS if kind in wanted)


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


class RegexType(click.ParamType[re.Pattern[str]]):
    """A regular expression."""

    name = "regex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> re.Pattern[str]:
        """Compile it; a usage error says what is wrong with it, and where."""
        if isinstance(value, re.Pattern):
            return value
        return compiled(str(value))


class IterationsType(click.ParamType[IterationMarks]):
    """What tells iterations apart: gc, method=REGEX or marker=TEXT."""

    name = "marks"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> IterationMarks:
        """Parse it; a usage error says what is wrong."""
        if isinstance(value, IterationMarks):
            return value
        try:
            return parse_marks(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def compiled(text: str, option: str | None = None) -> re.Pattern[str]:
    """Compile a regular expression. Raises click.BadParameter, which names the option where that is given here."""
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise click.BadParameter(f"{text!r} is no regular expression: {error}", param_hint=option) from error
