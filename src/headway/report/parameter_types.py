"""Types of values on the command line that analyses take: kinds of threads, regular expressions, numbers of cores, factors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from headway.model.iterations import IterationMarks, parse_marks
from headway.model.machine_limits import MAX_CORES

if TYPE_CHECKING:
    from headway.analyses.numa.nodes import Nodes
    from headway.analyses.whatif.types import Smt


MOST_SECONDS = 1_000_000
"""That a sleep lasts: eleven days."""

MOST_WORKERS = 10_000
"""That a pool may have."""
MOST_ROOM = 1_000_000_000
"""That a queue may have."""


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


class FactorType(click.ParamType[float]):
    """How many times as fast, from 0.01 to 100: 2, 0.8 or 2x."""

    name = "factor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse the number; a usage error says what is expected."""
        text = str(value).strip().removesuffix("x")
        try:
            found = float(text)
        except ValueError:
            found = 0.0
        if not 0.01 <= found <= 100:
            self.fail(f"{value!r} is no factor: write a number from 0.01 to 100, e.g. 2 or 0.8", param, ctx)
        return found


class OfLockType(click.ParamType[tuple[str, float]]):
    """A lock, or `what` else, and a number: LOCK=50%, or LOCK=4. `is_part`: a part of 1; else a number of parts, 2 to 1000."""

    name = "lock"

    def __init__(self, *, is_part: bool, what: str = "LOCK") -> None:
        """Take parts of 1, or numbers of parts."""
        self._what = what
        self._is_part = is_part

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Split the text at its last =; a usage error says what is expected."""
        if isinstance(value, tuple):
            return value
        lock, _, text = str(value).rpartition("=")
        try:
            found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            found = -1.0
        if not lock.strip():
            self.fail(
                f"{value!r} names no {self._what.lower()}: write {self._what}={'50%' if self._is_part else '4'}",
                param,
                ctx,
            )
        if self._is_part and not 0 <= found < 1:
            self.fail(f"{value!r} has no part of what it is now: write {self._what}=50%", param, ctx)
        if not self._is_part and not (found in range(2, 1001) and not text.endswith("%")):
            self.fail(f"{value!r} has no number of locks from 2 to 1000: write LOCK=4", param, ctx)
        return lock.strip(), found


class _CountedType(click.ParamType[tuple[str, int]]):
    """A name and a number: pool-1=16."""

    what, counted, example = "", "", ""
    most = 0

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Split the text at its last =; a usage error says what is expected."""
        if isinstance(value, tuple):
            return value
        name, _, text = str(value).rpartition("=")
        if not name.strip():
            self.fail(f"{value!r} names no {self.what}: write {self.example}", param, ctx)
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(self.most))
        if not is_number or not 1 <= int(text) <= self.most:
            reason = f"has no number of {self.counted} from 1 to {self.most}"
            self.fail(f"{value!r} {reason}: write {self.example}", param, ctx)
        return name.strip(), int(text)


class PoolType(_CountedType):
    """Type of an option that gives a thread pool another number of workers: pool-1=16."""

    name = "pool"
    what, counted, example = "pool", "workers", "pool-1=16"
    most = MOST_WORKERS


class QueueType(_CountedType):
    """Type of an option that gives a bounded queue another capacity, in elements: com.acme.Reader.run:12=1000."""

    name = "queue"
    what, counted, example = "queue", "elements", "com.acme.Reader.run:12=1000"
    most = MOST_ROOM


class SmtType(click.ParamType["Smt"]):
    """Logical CPUs of a core, and what it does with all of them busy: 2=1.25."""

    name = "smt"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Smt:
        """Return the name and the value of text such as NAME=VALUE; a usage error says what is expected."""
        from headway.analyses.whatif.types import Smt

        if isinstance(value, Smt):
            return value
        count, _, text = str(value).partition("=")
        try:
            factor = float(text)
        except ValueError:
            factor = 0.0
        if not re.fullmatch("[2-8]", count) or not 1 <= factor <= int(count):
            self.fail(
                f"{value!r} has no 2 to 8 CPUs a core that do 1 to as many times as much: write 2=1.25", param, ctx
            )
        return Smt(int(count), factor)


class SleepType(click.ParamType[tuple[re.Pattern[str], float]]):
    """Places of sleeps, and how many seconds those last: REGEX=0.001."""

    name = "sleep"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[re.Pattern[str], float]:
        """Split the text at its last =; a usage error says what is expected."""
        if isinstance(value, tuple):
            return value
        place, _, text = str(value).rpartition("=")
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not place:
            self.fail(f"{value!r} names no place: write REGEX=SECONDS", param, ctx)
        if not 0 <= seconds <= MOST_SECONDS:
            self.fail(f"{value!r} has no number of seconds from 0 to {MOST_SECONDS:,}: write REGEX=0.001", param, ctx)
        return compiled(place), seconds


class NodesType(click.ParamType["Nodes"]):
    """A number of memory nodes, or sets of CPUs that are declared as nodes: 2, or 0-7/8-15."""

    name = "nodes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Nodes:
        """Parse the number, or the sets, none of which may be empty or share a CPU with another."""
        from headway.analyses.numa.nodes import Nodes

        if isinstance(value, Nodes):
            return value
        text = str(value).strip()
        if text.isascii() and text.isdigit() and len(text) < 5 and int(text) >= 1:
            return Nodes(int(text))
        sets: list[frozenset[int]] = []
        for part in text.split("/"):
            cpus: set[int] = set()
            for each in part.split(","):
                found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", each.strip(), re.ASCII)
                if found is None or not int(found[1]) <= int(found[2] or found[1]) < MAX_CORES:
                    self.fail(f"{value!r} is no number of nodes, and no sets of CPUs such as 0-7/8-15", param, ctx)
                cpus |= {*range(int(found[1]), int(found[2] or found[1]) + 1)}
            if any(cpus & other for other in sets):
                self.fail(f"{value!r} has a CPU in two nodes", param, ctx)
            sets.append(frozenset(cpus))
        if len(sets) < 2:
            self.fail(f"{value!r} is one set of CPUs: nodes are separated by /, as in 0-7/8-15", param, ctx)
        return Nodes(len(sets), tuple(sets))


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
