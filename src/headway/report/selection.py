"""What a profile is of: which event, threads, region and window; `top`, `flame` and `export` select it alike."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.errors import HeadwayError, Notice
from headway.model.cpu_events import stored_as
from headway.report.parameter_types import RegexType, compiled

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Profile
    from headway.report.analysis import Window
    from headway.store import Recording
    from headway.store.sweep import SweepRegion

_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w-]*(?: [\w-]+)*)=(?P<pattern>.+)", re.DOTALL)


def selection_parameters() -> tuple[click.Parameter, ...]:
    """Return the options that select stacks, but for the window."""
    event = (
        "cpu, wall, alloc, lock (contended waits), off-cpu (blocked time), blame (code that kept cores idle), cycles, "
        "instructions, cache-misses or another sampled event. Default: the first of these that was recorded."
    )
    region = "Only stacks with a frame (Class.method) that matches: NAME=RE, RE, or the name of a sweep's region."
    threads = "Only threads with names that match."
    return (
        click.Option(["--event"], metavar="EVENT", help=event),
        click.Option(["--thread"], type=RegexType(), metavar="RE", help=threads),
        click.Option(["--region"], metavar="RE", help=region),
    )


def region_pattern(text: str | None, recording: Path) -> re.Pattern[str] | None:
    """Return the pattern of --region: NAME=RE, a region of the sweep that the recording is part of, or RE itself."""
    if text is None:
        return None
    if named := _NAMED.fullmatch(text):
        return compiled(named["pattern"], "--region")
    return compiled(_sweep_region(text, recording) or text, "--region")


def named_regions(texts: Collection[str], recording: Path) -> tuple[SweepRegion, ...]:
    """Return the regions of NAME=RE, RE or a sweep's own names; without any those of the sweep that the recording is part of.

    Raises click.BadParameter for a wrong pattern, or a name that comes twice.
    """
    from headway.store.sweep import SweepRegion

    if not texts:
        found = {each.name: each for each in reversed(_sweep_regions(recording))}
        return tuple(reversed(found.values()))
    regions: dict[str, SweepRegion] = {}
    for text in texts:
        named = _NAMED.fullmatch(text)
        name = named["name"] if named else text
        if name in regions:
            raise click.BadParameter(f"{name!r} is given twice: each region needs a name of its own")
        pattern = region_pattern(text, recording)
        regions[name] = SweepRegion(name, pattern.pattern if pattern is not None else text)
    return tuple(regions.values())


def _sweep_region(name: str, recording: Path) -> str | None:
    """Return the pattern of a region of the sweep around a recording (NAME.sweep/runs/X.headway), None if there is none."""
    return next((each.pattern for each in _sweep_regions(recording) if each.name == name), None)


def _sweep_regions(recording: Path) -> tuple[SweepRegion, ...]:
    """Return the regions of the sweep around a recording, its own program's first; none where there is no sweep."""
    from headway.store.sweep import FILE, read_sweep

    directory = recording.resolve().parent.parent
    if not (directory / FILE).is_file():
        return ()
    sweep = read_sweep(directory)
    if recording.name.startswith("sequential"):
        return (*sweep.sequential_regions, *sweep.regions)
    return (*sweep.regions, *sweep.sequential_regions)


def selected(
    recording: Recording,
    window: Window,
    *,
    event: str | None,
    thread: re.Pattern[str] | None,
    region: str | None,
    busiest: bool = False,
    **how: Any,
) -> Profile:
    """Profile what was selected. Raises click.BadParameter for a wrong pattern, and HeadwayError as `profile`."""
    from headway.analyses.profile.analysis import busiest_thread, profile, recorded_events

    pattern = region_pattern(region, recording.path)
    recorded = recorded_events(recording)
    missing = _missing(recording, recorded)
    wanted = event or next(iter(recorded), "cpu")
    wanted = wanted if wanted in recorded else stored_as(wanted)
    if missing is not None and wanted in map(stored_as, missing["events"].split(",")):
        raise HeadwayError("HW447", **missing)
    only = {busiest_thread(recording, window)} if busiest else None
    found = profile(recording, wanted, thread=thread, region=pattern, window=window, only=only, **how)
    if missing is None or event:
        return found
    return replace(found, notices=(*found.notices, Notice.of("HW447", **missing)))


_OF_SAMPLERS = ("HW205", "HW211", "HW212", "HW214", "HW215", "HW216")


def _missing(recording: Recording, recorded: Collection[str]) -> dict[str, Any] | None:
    """Return what HW447 says of the events that were to be sampled and are not there; None when all are."""
    from headway.store.manifest import read_manifest_json

    asked = (read_manifest_json(recording.path).get("sampling") or {}).get("events", [])
    events = [event for event in asked if stored_as(event) not in recorded]
    if not events:
        return None
    messages = [notice.message for notice in recording.notices if notice.id in _OF_SAMPLERS]
    reason = "; ".join(messages) or "none of its JVMs took one"
    return {"path": recording.path, "events": ",".join(events), "reason": reason}
