"""What `--counters GROUPS` asks for: groups of events that are counted together, by ';', their events by ','."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headway.errors import HeadwayError
from headway.record.counters.events import Event, event

MOST_EVENTS, MOST_GROUPS = 16, 8
"""Of one recording: native/wire/records.h has as many places."""
BY_DEFAULT = (
    "cycles,instructions,branches,branch-misses;"
    "instructions,cache-references,cache-misses;"
    "instructions,L1-dcache-loads,L1-dcache-load-misses;"
    "instructions,dTLB-loads,dTLB-load-misses;"
    "task-clock,page-faults,context-switches"
)
"""Of each group the events that count here are taken. Every miss stands beside instructions, or what it is a share of."""
OF_SWEEPS = "cycles,instructions,cache-misses"
"""Of a sweep: one group, so that none takes turns; the first two tell more instructions from slower ones."""
DEFAULT = "default"
SCOPES = ("thread", "cpu", "thread+cpu")
"""What `--counter-scope` may ask for."""
_LONGEST_TEXT = 20_000
_WATCHED_BEGINS = re.compile(r"\s*mem:\w*")


@dataclass(frozen=True, slots=True)
class CounterOptions:
    """The groups to count. `is_default`: nobody named them, so what does not count here is no surprise.

    `by_thread`: at each switch, for the program's threads; `by_cpu`: on each CPU as a whole, whatever runs there.
    `of_units`: groups of counting units of whole sockets, each of one unit; they are in none of `groups`.
    """

    groups: tuple[tuple[Event, ...], ...]
    is_default: bool = False
    by_thread: bool = True
    by_cpu: bool = False
    of_units: tuple[tuple[Event, ...], ...] = ()


def parse(
    text: str, scope: str = "thread", *, allow_breakpoints: bool = False, option: str = "--counters"
) -> CounterOptions:
    """Return the groups that a text asks for, in one of SCOPES. `option`: by which it was given.

    Raises HeadwayError HW103 (unknown event), HW105 (no groups of events, or too many, or a group of several counting units),
    HW106 (not by thread: units of whole sockets are counted in scopes with cpu) or HW124 (a watched address, unless
    `allow_breakpoints`).
    """
    shown = text if len(text) <= 60 else text[:57] + "..."
    if len(text) > _LONGEST_TEXT:
        raise HeadwayError(
            "HW105", option=option, text=shown, reason=f"{len(text)} characters, where {_LONGEST_TEXT} are the most"
        )
    is_default = text.strip() == DEFAULT
    wanted = BY_DEFAULT if is_default else text
    parts = [[each.strip() for each in _split(part, ",")] for part in _split(wanted, ";")]
    events = sum(map(len, parts))
    if not text.strip() or any(not name for part in parts for name in part):
        raise HeadwayError("HW105", option=option, text=shown, reason="a group is empty")
    if events > MOST_EVENTS or len(parts) > MOST_GROUPS:
        many = f"{events} events in {len(parts)} groups, where {MOST_EVENTS} in {MOST_GROUPS} are the most"
        raise HeadwayError("HW105", option=option, text=shown, reason=many)
    for part in parts:
        if len({*part}) < len(part):
            raise HeadwayError("HW105", option=option, text=shown, reason="an event is twice in one group")
    by = scope.split("+")
    groups = [tuple(event(name, by_socket="cpu" in by) for name in part) for part in parts]
    for group in groups:
        if len(units := {each.unit or "each CPU" for each in group}) > 1:
            different = f"{' and '.join(sorted(units))} can't count in one group: put ; between them"
            raise HeadwayError("HW105", option=option, text=shown, reason=different)
    watched = [each.name for group in groups for each in group if each.is_breakpoint]
    if watched and not allow_breakpoints:
        raise HeadwayError("HW124", option=option, events=", ".join(dict.fromkeys(watched)))
    of_cpus, of_units = (tuple(each for each in groups if bool(each[0].unit) is is_unit) for is_unit in (False, True))
    return CounterOptions(of_cpus, is_default, by_thread="thread" in by, by_cpu="cpu" in by, of_units=of_units)


def _split(text: str, separator: str) -> list[str]:
    """Split at separators, but not inside PMU/.../; the one slash of mem:ADDRESS/BYTES begins nothing."""
    pieces, piece, event, is_inside = [], "", "", False
    for char in text:
        if char == separator and not is_inside:
            pieces.append(piece)
            piece = event = ""
            continue
        if char == "/" and not _WATCHED_BEGINS.fullmatch(event):
            is_inside = not is_inside
        piece += char
        event = "" if char in ",;" else event + char
    return [*pieces, piece]
