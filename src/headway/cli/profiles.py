"""What `top`, `flame` and `export` share: which event, threads, region and window a profile is of."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from headway.cli.options import TimeType, resolve_window
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from headway.analyses.profile_types import Profile
    from headway.store import Recording

Command = TypeVar("Command", bound=Callable[..., Any])
_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w-]*(?: [\w-]+)*)=(?P<pattern>.+)", re.DOTALL)


class Selection(TypedDict):
    """The options of `selection_options`, as a command gets them."""

    event: str | None
    thread: re.Pattern[str] | None
    region: str | None
    start: Any
    end: Any


class RegexType(click.ParamType[re.Pattern[str]]):
    """A regular expression."""

    name = "regex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> re.Pattern[str]:
        """Compile it; a usage error says what is wrong with it, and where."""
        if isinstance(value, re.Pattern):
            return value
        return compiled(str(value))


def compiled(text: str) -> re.Pattern[str]:
    """Compile a regular expression. Raises click.BadParameter."""
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise click.BadParameter(f"{text!r} is no regular expression: {error}") from error


def selection_options(command: Command) -> Command:
    """Add the options that select what a profile is of."""
    for option in reversed(
        (
            click.option(
                "--event",
                metavar="EVENT",
                help="cpu, wall, alloc, lock (contended waits), off-cpu (blocked time), blame (code that kept cores idle), "
                "cycles, instructions, cache-misses or another sampled event. Default: the first of these that was recorded.",
            ),
            click.option("--thread", type=RegexType(), metavar="RE", help="Only threads with names that match."),
            click.option(
                "--region",
                metavar="RE",
                help="Only stacks with a frame (Class.method) that matches: NAME=RE, RE, or the name of a sweep's region.",
            ),
            click.option(
                "--from", "start", type=TimeType(), metavar="T", help="Begin of the window: 1.5s, 200ms, 25% ..."
            ),
            click.option("--to", "end", type=TimeType(), metavar="T", help="End of the window."),
        )
    ):
        command = option(command)
    return command


def region_pattern(text: str | None, recording: Path) -> re.Pattern[str] | None:
    """Return the pattern of --region: NAME=RE, a region of the sweep that the recording is part of, or RE itself."""
    if text is None:
        return None
    if named := _NAMED.fullmatch(text):
        return compiled(named["pattern"])
    return compiled(_sweep_region(text, recording) or text)


def _sweep_region(name: str, recording: Path) -> str | None:
    """Return the pattern of a region of the sweep around a recording (NAME.sweep/runs/X.headway), None if there is none."""
    from headway.store.sweep import FILE, read_sweep

    directory = recording.resolve().parent.parent
    if not (directory / FILE).is_file():
        return None
    sweep = read_sweep(directory)
    regions = (*sweep.regions, *sweep.sequential_regions)
    if recording.name.startswith("sequential"):
        regions = (*sweep.sequential_regions, *sweep.regions)
    return next((each.pattern for each in regions if each.name == name), None)


def selected(recording: Recording, chosen: Selection, *, busiest: bool = False, **how: Any) -> Profile:
    """Profile what was selected. Raises click.UsageError for a wrong window or pattern, and HeadwayError as `profile`."""
    from headway.analyses import activity
    from headway.analyses.profile import busiest_thread, profile, recorded_events
    from headway.record.sampling import stored_as

    window = resolve_window(chosen["start"], chosen["end"], activity.wall_ns(recording))
    region = region_pattern(chosen["region"], recording.path)
    recorded = recorded_events(recording)
    missing = _missing(recording, recorded)
    event = chosen["event"] or next(iter(recorded), "cpu")
    event = event if event in recorded else stored_as(event)
    if missing is not None and event in map(stored_as, missing["events"].split(",")):
        raise HeadwayError("HW447", **missing)
    only = {busiest_thread(recording, window)} if busiest else None
    found = profile(recording, event, thread=chosen["thread"], region=region, window=window, only=only, **how)
    if missing is None or chosen["event"]:
        return found
    return replace(found, notices=(*found.notices, Notice.of("HW447", **missing)))


_OF_SAMPLERS = ("HW205", "HW211", "HW212", "HW214", "HW215", "HW216")


def _missing(recording: Recording, recorded: Collection[str]) -> dict[str, Any] | None:
    """Return what HW447 says of the events that were to be sampled and are not there; None when all are."""
    from headway.record.sampling import stored_as
    from headway.store.manifest import read_manifest_json

    asked = (read_manifest_json(recording.path).get("sampling") or {}).get("events", [])
    events = [event for event in asked if stored_as(event) not in recorded]
    if not events:
        return None
    told = [notice.message for notice in recording.notices if notice.id in _OF_SAMPLERS]
    reason = "; ".join(told) or "none of its JVMs took one"
    return {"path": recording.path, "events": ",".join(events), "reason": reason}
