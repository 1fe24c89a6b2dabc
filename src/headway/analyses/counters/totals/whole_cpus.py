"""What was counted on each CPU as a whole, whatever ran there: totals read when the recording began and ended.

Question   how many events each CPU counted, with all that ran there: the program, other processes, the kernel, nobody.
Method     differences of two readings of each CPU's counters; scaled where groups took turns (estimate.py), ratios inside one
           group.
Assumes    nothing of when: a part of the recording has no totals.
Wrong when a CPU went offline in between: of the time since then nothing is known, and its counts are the least that there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.notices import recorded_notices
from headway.analyses.counters.layout import BY_CPU, BY_SOCKET, BY_THREAD, BY_THREADS_WHOLE, Layout, layout
from headway.analyses.counters.parts.slices import Slices
from headway.analyses.counters.rows import Columns
from headway.analyses.counters.sums import Sums
from headway.analyses.counters.types import Counters, Row, WholeCpus
from headway.errors import HeadwayError
from headway.model.counter_ladder import NONE

if TYPE_CHECKING:
    from headway.store import Recording

_LEAST_MISSING = 0.001
"""By a smaller part the two clocks differ; a CPU that went offline misses more. The readings lie around the time."""
_MOST_CPUS = 8192
_Totals = tuple[int, int, int]


def whole_cpus(recording: Recording, of_set: str | None = None) -> WholeCpus | None:
    """Return the counts of each CPU, of all programs that ran on it; None where the recording has none (`--counter-scope cpu`).

    Raises HeadwayError HW109 where they were asked for and could not be counted.
    """
    found = recording.manifest.extra.get(BY_CPU)
    if not isinstance(found, Mapping):
        return None
    try:
        recorded = layout(recording, BY_CPU)
    except HeadwayError:
        if not {BY_THREAD, BY_SOCKET} & {*recording.manifest.extra}:
            raise
        return None  # HW107 told why when the recording was made, and its threads, or units of sockets, have an answer
    return read_totals(recording, found, recorded, of_set)


def read_totals(
    recording: Recording, found: Mapping[str, Any], recorded: Layout, of_set: str | None = None
) -> WholeCpus:
    """Return what a part of the manifest (`found`) tells of the counts of each CPU, whose counters are `recorded`.

    Raises HeadwayError HW109 where none could be read.
    """
    begin, end = (_number(found.get(key)) for key in ("from_ns", "to_ns"))
    cpus = _by_cpu(found, len(recorded.events))
    length = max(0, end - begin)
    if not cpus or not length:
        raise HeadwayError("HW109", path=recording.path, why=": no CPU's counters could be read")
    recorded = replace(recorded, groups=tuple(_timed(recorded, group, cpus) for group in range(len(recorded.groups))))
    sums = Sums(len(cpus), 1, recorded)
    for place, totals in enumerate(cpus.values()):
        _add(sums, recorded, place, totals, length)
    columns = Columns(sums, recorded, of_set, np.zeros(len(cpus)))
    rows = tuple(columns.row(place, {"cpu": cpu}) for place, cpu in enumerate(cpus))
    total = Columns(sums.whole(), recorded, of_set, np.zeros(1)).row(0, {})
    origin = recording.window_ns[0]
    return WholeCpus(recorded.step, (begin - origin, end - origin), recorded.groups, total, rows, recorded.absent)


def only_whole_cpus(
    recording: Recording, whole: WholeCpus | None, by: str, window: tuple[int, int] | None
) -> Counters | None:
    """Return the answer for a recording of nothing else; None for one whose threads are counted as well.

    `whole` None: not even CPUs are counted as a whole, but units of sockets.

    Raises HeadwayError HW116 where more is asked than a total of each CPU.
    """
    if BY_THREAD in recording.manifest.extra and BY_THREADS_WHOLE not in recording.manifest.extra:
        return None
    if by != "cpu":
        raise HeadwayError("HW116", path=recording.path, why=f"not by {by}")
    if window is not None:
        raise HeadwayError("HW116", path=recording.path, why="not of a part of the recording")
    nothing = Row({}, 0, 0, {}, {})
    end = (0, recording.wall_ns)
    step = NONE if whole is None else whole.step
    return Counters(step, by, end, (), nothing, (), {}, (), recorded_notices(recording), whole=whole)


def _by_cpu(found: Mapping[str, Any], counters: int) -> dict[int, list[_Totals | None]]:
    """Return value, enabled and running time of each counter on each CPU, in the order of their numbers."""
    listed, rows = found.get("cpus"), found.get("rows")
    named = (
        [cpu for cpu in listed if isinstance(cpu, int) and 0 <= cpu < _MOST_CPUS] if isinstance(listed, list) else []
    )
    cpus: dict[int, list[_Totals | None]] = {cpu: [None] * counters for cpu in named}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, Mapping):
            continue
        cpu, counter = (row.get(key) for key in ("cpu", "counter"))
        if not isinstance(cpu, int) or not isinstance(counter, int) or not 0 <= cpu < _MOST_CPUS:
            continue
        if 0 <= counter < counters:
            value, enabled, running = (_number(row.get(key)) for key in ("value", "enabled_ns", "running_ns"))
            cpus.setdefault(cpu, [None] * counters)[counter] = value, enabled, min(running, enabled)
    return dict(sorted(cpus.items()))


def _timed(recorded: Layout, group: int, cpus: Mapping[int, list[_Totals | None]]) -> Any:
    """Return a group with the time of all CPUs in which it could count, and did."""
    first = recorded.group_of.index(group)
    known = [totals[first] for totals in cpus.values()]
    enabled, running = (sum(each[place] for each in known if each is not None) for place in (1, 2))
    return replace(recorded.groups[group], enabled_ns=enabled, running_ns=running)


def _add(sums: Sums, recorded: Layout, place: int, totals: list[_Totals | None], length: int) -> None:
    """Add what a CPU counted, as long as its counters were enabled, and that nothing is known of the rest of the time."""
    known = [each for each in totals if each is not None]
    is_known = len(known) == len(totals)
    enabled = min([length, *(each[1] for each in known)]) if is_known else 0
    if length - enabled <= _LEAST_MISSING * length:
        enabled = length
    counts = [each[0] if each is not None else -1 for each in totals]
    missed = [_missed(totals[recorded.group_of.index(group)]) for group in range(len(recorded.groups))]
    for spent, is_counted in ((enabled, True), (length - enabled, False)):
        one = np.array([place], np.int64)
        each = Slices(
            one,
            one,
            np.zeros(1, np.int64),
            np.array([spent], np.int64),
            np.array([counts], np.int64),
            np.array([missed], np.int64),
            np.array([is_counted]),
        )
        sums.add(each, one, each.running_ns, np.zeros(1, np.int64))


def _missed(totals: _Totals | None) -> int:
    """Return for how long a counter was enabled and did not count, ns: not what is rounded off, but turns of others."""
    return 0 if totals is None else totals[1] - totals[2]


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else 0
