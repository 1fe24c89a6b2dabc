"""Which counters a recording has: the manifest says what the columns count_N and uncounted_N of table slice are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.analyses.counters.types import CountedGroup
from headway.errors import HeadwayError
from headway.model.counter_ladder import STEPS
from headway.store.packing import COUNTER_GROUPS, COUNTERS

if TYPE_CHECKING:
    from headway.store import Recording

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """The counters of a recording in the order of their columns. `group_of`: of each counter."""

    step: str
    groups: tuple[CountedGroup, ...]
    absent: tuple[tuple[str, str], ...]

    @property
    def events(self) -> tuple[str, ...]:
        """Return the event of each counter."""
        return tuple(event for group in self.groups for event in group.events)

    @property
    def group_of(self) -> tuple[int, ...]:
        """Return the group of each counter."""
        return tuple(number for number, group in enumerate(self.groups) for _ in group.events)

    @property
    def is_multiplexed(self) -> bool:
        """Return whether any group took turns with others."""
        return any(group.is_multiplexed for group in self.groups)


BY_THREAD, BY_CPU, BY_SOCKET = "counters", "cpu_counters", "socket_counters"
"""The manifest's keys of three kinds of counters: per thread at each switch, per CPU, and of units that a socket shares."""
BY_THREADS_WHOLE = "thread_counters"
"""The same of totals of each thread, which recordings without eBPF have."""


def layout(recording: Recording, key: str = BY_THREAD) -> Layout:
    """Return the counters of a recording. Raises HeadwayError HW109 when it has none, with why not if that is known."""
    return layout_of(recording, recording.manifest.extra.get(key), is_by_thread=key == BY_THREAD)


def layout_of(recording: Recording, found: object, *, is_by_thread: bool = False) -> Layout:
    """Return the counters that a part of the manifest tells of. Raises HeadwayError HW109 as `layout`."""
    if not isinstance(found, Mapping):
        raise HeadwayError("HW109", path=recording.path, why="")
    absent = tuple((_text(row, "event"), _text(row, "reason")) for row in _rows(found, "absent"))
    groups_of_names = [row["events"] for row in _rows(found, "groups") if isinstance(row.get("events"), list)]
    names = [tuple(str(name)[:_LONGEST_NAME] for name in each) for each in groups_of_names]  # each row repeats them
    fits = sum(map(len, names)) <= COUNTERS and len(names) <= COUNTER_GROUPS and all(names)
    step = found.get("step")
    if not names or not fits or not isinstance(step, str) or step not in STEPS:
        why = "; ".join(f"{event}: {reason}" for event, reason in absent)
        raise HeadwayError("HW109", path=recording.path, why=f": {why}" if why else "")
    times = _times(found, len(names)) if is_by_thread else [(0, 0)] * len(names)
    groups = (CountedGroup(events, *time) for events, time in zip(names, times, strict=True))
    return Layout(step, tuple(groups), absent)


def _times(found: Mapping[str, Any], groups: int) -> list[tuple[int, int]]:
    """Return how long each group could have counted, and did, over all CPUs, ns."""
    sums = [[0, 0] for _ in range(groups)]
    for row in _rows(found, "cpus"):
        number, enabled, running = (row.get(key) for key in ("group", "enabled_ns", "running_ns"))
        if isinstance(number, int) and 0 <= number < groups and isinstance(enabled, int) and isinstance(running, int):
            sums[number][0] += enabled
            sums[number][1] += running
    return [(enabled, running) for enabled, running in sums]


def _rows(found: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = found.get(key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _text(row: Mapping[str, Any], key: str) -> str:
    return str(row.get(key, ""))[:_LONGEST_NAME]
