"""What `run` and `record` share: their options, and how they talk.

headway speaks on standard error only, since standard output is the program's; a progress line appears only on a
terminal. Nothing that goes wrong with our own messages (a closed terminal, a reader that left) may disturb a
recording.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from headway.cli import out
from headway.cli.options import ALLOW_BREAKPOINTS, TimePoint, TimeType, keep_arguments_option
from headway.errors import Notice
from headway.model.iterations import GC, MARKER, METHOD, IterationMarks
from headway.record.counters.groups import DEFAULT, SCOPES, CounterOptions
from headway.record.counters.groups import parse as parse_counters
from headway.record.request.jvm_options import LockOptions
from headway.record.request.objects import ObjectOptions, with_windows
from headway.record.request.objects import parse as parse_objects
from headway.record.request.sampling import SampleOptions, parse
from headway.record.session.plan import Plan, usable_cpus
from headway.report.parameter_types import IterationsType
from headway.report.terminal.printing.text import printable

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
    click.option("--virtual-threads", is_flag=True, help="Record the start, end and mounts of virtual threads, too."),
    click.option(
        "--locks/--no-locks",
        default=None,
        help="Record who waits for which lock, for how long, and who held it. `run` does, `record` only with --locks.",
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
        "event of perf. cpu:10ms,alloc:512k,wall:50ms are the intervals by default. `run` samples cpu; none: nothing.",
    ),
    click.option(
        "--objects",
        metavar="WHAT",
        help="Count what is really allocated, by thread and class: allocations (every object: a program that does little but "
        "allocate takes many times as long), allocations,sites (by method and line, too: more than twice that), or "
        "allocations=512k (a sample, in the mean one in so many bytes, with sites: next to no cost). Or count how often its "
        "code reads and writes fields and array elements: accesses (several times as long), accesses,owners (also by the "
        "thread that allocated the object: longer again; --owner has more rules), accesses,lines (also which threads write in "
        "turn to one cache line: false sharing), or accesses,nodes (also to which memory node they go, by samples).",
    ),
    click.option(
        "--owner",
        metavar="RULES",
        help="With --objects accesses: also by whose the object is: allocator (the thread that allocated it), last-writer (the "
        "one that wrote to it last; before, the one that allocated it), or both with a comma between them. Beside "
        "accesses,owners, which is the allocator.",
    ),
    click.option(
        "--object-scope",
        multiple=True,
        metavar="CLASSES",
        help="With --objects accesses: only those by code of these classes, such as 'com.acme.*'. May be given several times; "
        "by default those of the program and its libraries.",
    ),
    click.option(
        "--windows",
        metavar="TIME/PERIOD",
        help="With --objects accesses: count for TIME once in each PERIOD, such as 300ms/60s, and estimate the rest: between "
        "windows the program runs at its own speed. PERIOD is 10s or longer.",
    ),
    click.option(
        "--counters",
        metavar="[GROUPS]",
        is_flag=False,
        flag_value=DEFAULT,
        help="Count events of the CPU and the kernel for each thread at every switch: groups by ';', their events by ','. "
        "Without GROUPS those of a list that count here; -- must follow then.",
    ),
    click.option(
        "--counter-scope",
        type=click.Choice(SCOPES),
        default="thread",
        show_default=True,
        help="With --counters: at each switch for the program's threads, on each CPU as a whole whatever runs there, or both.",
    ),
    click.option("--allow-breakpoints", is_flag=True, help=ALLOW_BREAKPOINTS),
    click.option(
        "--counters-by-runs",
        is_flag=True,
        help="With --counters: run the command once for each group, so that none takes turns on the CPU's counters, and once "
        "with all of them to compare; 'headway counters' joins the runs.",
    ),
    click.option(
        "--iterations",
        type=IterationsType(),
        metavar="MARKS",
        help="With --counters or --objects: what begins each iteration, for 'headway counters --by iteration' and the CSV of "
        "objects: gc (a System.gc()), "
        "method=REGEX (stretches in it, by samples), marker=TEXT (a line that the program prints: its output is a pipe then).",
    ),
    click.option(
        "--numa-map",
        type=TimeType(),
        metavar="T",
        help="Ask on which memory nodes the pages of the heap are, with pauses of T (such as 1s) or longer where looks take "
        "long, for 'headway numa-map'.",
    ),
    click.option("--no-agent", is_flag=True, help="Leave the JVM untouched: kernel names only, no GC pauses."),
    keep_arguments_option,
    click.option(
        "--mode",
        type=click.Choice(["ebpf", "perf-switch", "agent"]),
        help="Where switches come from; by default the best this machine allows (headway doctor).",
    ),
)

SAMPLED_BY_DEFAULT = "cpu"
LEAST_HEAP_INTERVAL_NS = 100_000_000
SETTINGS = {"allow_interspersed_args": False}
"""For a command that ends in another command: the first word that is no option of ours begins it."""


def recording_options(function: F) -> F:
    """Add the options that `run` and `record` share."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def make_plan(
    output: Path, command: tuple[str, ...], pid: int | None, options: dict[str, Any], *, by_default: bool = False
) -> Plan:
    """Return the plan that the options describe. `by_default`: locks and CPU samples, too, unless they say otherwise.

    Raises HeadwayError HW007, HW103, HW105, HW106, HW124, or click.UsageError for a combination that makes no sense.
    """
    duration: TimePoint | None = options["duration"]
    if duration is not None and not duration.ns:
        raise click.UsageError(f"--duration {duration.text}: give a time above zero, such as 30s")
    sample = _sample(options, by_default)
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
        keep_arguments=options["keep_arguments"],
        locks=_locks(options, by_default),
        sample=sample,
        counters=_counters(options),
        counters_by_runs=_by_runs(options, pid),
        iterations=_iterations(options, sample, pid),
        objects=_objects(options, pid),
        heap_interval_ns=_heap_interval(options["numa_map"]),
    )


def _heap_interval(given: TimePoint | None) -> int | None:
    """Return how often to ask on which memory nodes heaps are, ns; None for never. Raises click.UsageError."""
    if given is None:
        return None
    if not given.ns or given.ns < LEAST_HEAP_INTERVAL_NS:
        raise click.UsageError(f"--numa-map {given.text}: give 100ms or more, such as 1s")
    return given.ns


def _sample(options: dict[str, Any], by_default: bool) -> SampleOptions | None:
    """Return what is to be sampled, None for nothing. Raises click.UsageError."""
    text = options["sample"]
    if text is None and by_default and not options["no_agent"]:
        text = SAMPLED_BY_DEFAULT
    if text is None or text.strip() == "none":
        return None
    if options["no_agent"]:
        raise click.UsageError("--sample needs the agent: leave out --no-agent")
    try:
        return parse(text, allow_breakpoints=options["allow_breakpoints"])
    except ValueError as error:
        raise click.UsageError(f"--sample {error}") from None


def _objects(options: dict[str, Any], pid: int | None) -> ObjectOptions | None:
    """Return how allocations or accesses are to be counted, None for not at all. Raises click.UsageError."""
    scope, owner, windows = options["object_scope"], options["owner"], options["windows"]
    for name, value in (("--object-scope", scope), ("--owner", owner), ("--windows", windows)):
        if options["objects"] is None and value not in (None, ()):
            raise click.UsageError(f"{name} is about accesses: add --objects accesses")
    if options["objects"] is None:
        return None
    if options["no_agent"]:
        raise click.UsageError("--objects needs the agent: leave out --no-agent")
    try:
        found = parse_objects(options["objects"], scope, owner)
    except ValueError as error:
        raise click.UsageError(f"--objects {error}") from None
    try:
        found = found if windows is None else with_windows(found, windows)
    except ValueError as error:  # it begins with the option
        raise click.UsageError(str(error)) from None
    if found.accesses and pid is not None:
        raise click.UsageError("--objects accesses counts from a JVM's start on: give -- CMD in place of --pid")
    return found


def _counters(options: dict[str, Any]) -> CounterOptions | None:
    """Return what is to be counted, None for nothing. Raises HeadwayError HW103, HW105, HW106, HW124, or click.UsageError."""
    text, scope = options["counters"], options["counter_scope"]
    if text is None and scope != "thread":
        raise click.UsageError("--counter-scope is about counters: add --counters")
    return None if text is None else parse_counters(text, scope, allow_breakpoints=options["allow_breakpoints"])


def _by_runs(options: dict[str, Any], pid: int | None) -> bool:
    """Return whether each group of counters gets a run of its own. Raises click.UsageError where that makes no sense."""
    if not options["counters_by_runs"]:
        return False
    if options["counters"] is None or options["counter_scope"] != "thread":
        raise click.UsageError("--counters-by-runs is about counters of threads: add --counters, in scope thread")
    if pid is not None or options["repeat"] > 1:
        raise click.UsageError(
            "--counters-by-runs runs a command several times itself: give CMD, and no --pid or --repeat"
        )
    return True


def _iterations(options: dict[str, Any], sample: SampleOptions | None, pid: int | None) -> IterationMarks | None:
    """Return what tells iterations apart, None for nothing. Raises click.UsageError where that can't be recorded."""
    marks: IterationMarks | None = options["iterations"]
    if marks is None:
        return None
    counts = options["counters"] is not None and options["counter_scope"] != "cpu"
    if not counts and options["objects"] is None:
        raise click.UsageError(
            "--iterations is about what threads count in each: add --counters, and no --counter-scope cpu, or --objects"
        )
    if marks.by == GC and options["no_agent"]:
        raise click.UsageError("--iterations gc needs the agent, which tells of collections: leave out --no-agent")
    if marks.by == METHOD and sample is None:
        raise click.UsageError("--iterations method=REGEX needs stack samples: add --sample cpu")
    if marks.by == MARKER and pid is not None:
        raise click.UsageError(
            "--iterations marker=TEXT needs the program's output, which a process that runs already has elsewhere: give gc, or "
            "CMD instead of --pid"
        )
    return marks


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
        out.echo(printable(line), err=True)


def say(notice: Notice) -> None:
    """Tell a notice and what to do about it."""
    with contextlib.suppress(OSError, ValueError):
        out.echo_notice(notice, lead="headway: ")
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
            with contextlib.suppress(OSError, ValueError):
                out.control(out.LINE_START if share < 1 else out.WIPE_LINE, err=True)
                if share < 1:
                    out.echo(f"headway: finalising {percent} %", err=True, nl=False)
        self._shown = percent if share < 1 else -1


class Working:
    """Says on the terminal what takes long, and for how long by now, while a block of code runs; nothing elsewhere.

    The line says what Ctrl-C leaves: after a run the recording is complete by then.
    """

    def __init__(self, what: str, left: str = "the recording is complete without") -> None:
        """`what`: such as "writing the report"; `left`: what Ctrl-C leaves."""
        self._what, self._left = what, left
        self._line = StatusLine()
        self._over = threading.Event()
        self._printer = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Working:
        """Begin; the first second says nothing."""
        self._printer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wipe the line."""
        self._over.set()
        self._printer.join()
        self._line("")

    def _tell(self) -> None:
        began = time.monotonic()
        while not self._over.wait(1):
            seconds = int(time.monotonic() - began)
            self._line(f"{self._what}, {seconds} s (Ctrl-C: {self._left})")


class StatusLine:
    """A line on the terminal that is written over again and again; nothing elsewhere."""

    def __init__(self) -> None:
        """Begin; nothing is shown yet."""
        self._is_shown = False
        self._is_terminal = False
        with contextlib.suppress(ValueError):
            self._is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Replace the progress line on the terminal by a text; an empty text wipes it."""
        if not self._is_terminal or not (text or self._is_shown):
            return
        with contextlib.suppress(OSError, ValueError):
            out.control(out.WIPE_LINE, err=True)
            if text:
                out.echo(f"headway: {text}", err=True, nl=False)
        self._is_shown = bool(text)

    def before(self, speak: Callable[[Notice], None]) -> Callable[[Notice], None]:
        """Return what wipes the line before it tells a message."""

        def wiped_first(notice: Notice) -> None:
            self("")
            speak(notice)

        return wiped_first
