"""What `run` and `record` share: their options, and how they talk.

headway speaks on standard error only, since standard output is the program's; a progress line appears only on a
terminal. Nothing that goes wrong with our own messages (a closed terminal, a reader that left) may disturb a
recording.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from headway.cli.options import TimePoint, TimeType
from headway.errors import Notice
from headway.record.jvm_options import LockOptions
from headway.record.plan import Plan, usable_cpus
from headway.record.sampling import SampleOptions, parse

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--cpus", metavar="LIST", help="Bind the program to these CPUs (0-3,8); headway keeps off them."),
    click.option(
        "--jvm-processors",
        type=click.IntRange(1, 8192),
        metavar="N",
        help="What the JVM takes for the number of processors (-XX:ActiveProcessorCount).",
    ),
    click.option(
        "--duration",
        type=TimeType(),
        metavar="TIME",
        help="End the recording after this time (30s, 2m, 500ms). A program that headway started runs on, and headway "
        "waits for it.",
    ),
    click.option("--repeat", type=click.IntRange(1, 1000), default=1, metavar="N", help="Record the command N times."),
    click.option("--force", is_flag=True, help="Replace a recording that is there already."),
    click.option("--virtual-threads", is_flag=True, help="Record the start and end of virtual threads, too."),
    click.option(
        "--locks/--no-locks",
        default=None,
        help="Record who waits for which lock, for how long, and who held it. Off unless asked for.",
    ),
    click.option(
        "--park-threshold",
        type=click.IntRange(1, 2**31 - 1),
        metavar="N",
        help="Locks: only count a lock's first N parks; take times of those that follow.",
    ),
    click.option(
        "--forget-dead",
        is_flag=True,
        help="Locks: merge the sums of collected locks by class, so that millions of short-lived ones take no room.",
    ),
    click.option(
        "--sample",
        metavar="EVENT[:INTERVAL],...",
        help="Take stack samples: cpu, alloc, wall; where the machine counts them cycles, instructions, cache-misses or another "
        "event of perf. cpu:10ms,alloc:512k,wall:50ms are the intervals by default.",
    ),
    click.option("--no-agent", is_flag=True, help="Leave the JVM untouched: kernel names only, no GC pauses."),
    click.option(
        "--mode",
        type=click.Choice(["ebpf", "perf-switch", "agent"]),
        help="Where switches come from; by default the best this machine allows (headway doctor).",
    ),
)

SETTINGS = {"allow_interspersed_args": False}
"""For a command that ends in another command: the first word that is no option of ours begins it."""


def recording_options(function: F) -> F:
    """Add the options that `run` and `record` share."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def make_plan(
    output: Path, command: tuple[str, ...], pid: int | None, options: dict[str, Any], *, locks_by_default: bool = False
) -> Plan:
    """Return the plan that the options describe.

    Raises HeadwayError HW007, or click.UsageError for a combination that makes no sense.
    """
    duration: TimePoint | None = options["duration"]
    if duration is not None and not duration.ns:
        raise click.UsageError(f"--duration {duration.text}: give a time above zero, such as 30s")
    return Plan(
        output=output,
        command=command,
        pid=pid,
        cpus=usable_cpus(options["cpus"]) if options["cpus"] is not None else None,
        jvm_processors=options["jvm_processors"],
        duration_s=duration.ns / 1e9 if duration is not None and duration.ns else None,
        repeat=options["repeat"],
        force=options["force"],
        virtual_threads=options["virtual_threads"],
        with_agent=not options["no_agent"],
        mode=options["mode"],
        locks=_locks(options, locks_by_default),
        sample=_sample(options),
    )


def _sample(options: dict[str, Any]) -> SampleOptions | None:
    """Return what is to be sampled, None for nothing. Raises click.UsageError."""
    text = options["sample"]
    if text is None:
        return None
    if options["no_agent"]:
        raise click.UsageError("--sample needs the agent: leave out --no-agent")
    try:
        return parse(text)
    except ValueError as error:
        raise click.UsageError(f"--sample {error}") from None


def _locks(options: dict[str, Any], by_default: bool) -> LockOptions | None:
    """Return how locks are to be recorded, None for not at all. Raises click.UsageError."""
    wanted, threshold, forget = options["locks"], options["park_threshold"], options["forget_dead"]
    if wanted and options["no_agent"]:
        raise click.UsageError("--locks needs the agent: leave out --no-agent")
    if wanted is None:
        wanted = by_default and not options["no_agent"]
    if not wanted:
        if threshold is not None or forget:
            raise click.UsageError("--park-threshold and --forget-dead are about locks: add --locks")
        return None
    return LockOptions(threshold or 0, forget)


def tell(line: str = "") -> None:
    """Write a line to standard error, come what may."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(line, err=True)


def say(notice: Notice) -> None:
    """Tell a notice and what to do about it."""
    tell(f"headway: {notice.id}: {notice.message}")
    if notice.remedy:
        tell(f"  next: {notice.remedy}")


class Progress:
    """A line on the terminal while finalising takes long; nothing elsewhere, nothing for the first second."""

    def __init__(self) -> None:
        """Begin; nothing is shown yet."""
        self._began = time.monotonic()
        self._shown = -1
        with contextlib.suppress(ValueError):
            self._is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, share: float) -> None:
        """Show the share done, 0 to 1; 1 wipes the line."""
        percent = int(share * 100)
        if not self._is_terminal or percent == self._shown or time.monotonic() - self._began < 1:
            return
        if share < 1 or self._shown >= 0:
            text = f"\rheadway: finalising {percent} %" if share < 1 else "\r\x1b[K"
            with contextlib.suppress(OSError, ValueError):
                click.echo(text, err=True, nl=False)
        self._shown = percent if share < 1 else -1
