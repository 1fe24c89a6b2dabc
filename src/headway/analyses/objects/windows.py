"""Who reads and writes, from windows: estimates by class or thread, and exactly what windows counted.

Question   how often does the code of each class read and write, by thread, where counting all of it would cost too much.
Method     tables `access_window` and `access_window_work`; window_estimates.py tells how totals follow from them. Threads that
           were there in too few windows are taken together.
Bounded    the MOST_GROUPS groups with the most accesses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from headway.analyses.common.short_names import short_name
from headway.analyses.common.units import percent
from headway.analyses.objects.owners import name_of
from headway.analyses.objects.types import MOST_GROUPS, UNNAMED, Grouping
from headway.analyses.objects.window_estimates import GROUPS, LEAST_CORE, LEAST_GROUPS, ROWS, Part, Work, estimates
from headway.analyses.objects.window_types import WHY_UNKNOWN, WhyUnknown, WindowAnswer, WindowFigures, WindowGroup
from headway.errors import Notice
from headway.model.object_owners import ACCESS_KINDS, OBJECT_KINDS

if TYPE_CHECKING:
    from headway.store import Recording

_SUMS = (
    "cpu_between_ns",
    "cpu_in_ns",
    "cpu_own_ns",
    "cpu_unseen_ns",
    "marks",
    "marks_in",
    "marks_wrong",
    "marks_largest",
)
_MANY = -1
_MOST_ROWS = 1 << 18
"""More than the agents of a few JVMs write."""
_FEW_OF_CPU = 0.01
"""Threads of a smaller share of the CPU time that are unknown are no reason to say so."""
Unit: TypeAlias = tuple[int, int | None, int | None]
"""A thread: its JVM, `thread_id`, and where that is not known the Java id."""


def windowed_accesses(recording: Recording, by: Grouping) -> WindowAnswer | None:
    """Return the accesses that were counted in windows, in groups; None where none were."""
    if not recording.has("access_window"):
        return None
    jvms = [jvm for jvm in _jvms(recording) if jvm.get("window_ms")]
    counts, is_cut = _counts(recording)
    works = _works(recording, {jvm["pid"]: _least(jvm, is_cut) for jvm in jvms})
    works, counts = _short_ones_together(works, counts)
    groups, left_out = _groups(recording, by, works, counts)
    cpu_ns = sum(work.cpu_ns for work in works.values())
    unknown = _unknown_ns(works.values())
    unknown_ns = sum(each for _, each in unknown)
    in_ns, own_ns = (sum(getattr(work, name) for work in works.values()) for name in ("in_ns", "own_ns"))
    return WindowAnswer(
        max((jvm["window_ms"] for jvm in jvms), default=0),
        max((jvm.get("window_period_ms") or 0 for jvm in jvms), default=0),
        sum(jvm.get("windows") or 0 for jvm in jvms),
        _figures([(works.get(unit, _nothing()), cells) for (unit, _), cells in counts.items()]),
        tuple(groups),
        unknown_ns / cpu_ns if cpu_ns else None,
        in_ns / own_ns if own_ns else None,
        cpu_ns / (cpu_ns - max(0, in_ns - own_ns)) if cpu_ns else None,
        left_out,
        tuple((why, each / cpu_ns) for why, each in unknown if cpu_ns),
    )


def _unknown_ns(works: Iterable[Work]) -> list[tuple[WhyUnknown, float]]:
    """Return the CPU time of threads of which nothing is known, by why that is so, the most first."""
    found: dict[WhyUnknown, float] = defaultdict(float)
    for work in works:
        if (why := work.why_unknown) is not None:
            found[why] += work.cpu_ns
    return sorted(found.items(), key=lambda each: -each[1])


def window_notices(found: WindowAnswer) -> list[Notice]:
    """Return how estimates are to be read, and what is not known."""
    notices = []
    facts = {"window": _time(found.window_ms), "period": _time(found.period_ms), "windows": found.windows}
    if found.unknown_share is None or found.unknown_share > _FEW_OF_CPU:
        share = 100 if found.unknown_share is None else round(100 * found.unknown_share)
        why = ", ".join(f"{WHY_UNKNOWN[why]} ({percent(part)})" for why, part in found.unknown_because)
        notices.append(Notice.of("HW896", share=share, why=why or "no thread was seen", **facts))
    if found.left_out:
        notices.append(Notice.of("HW849", count=found.left_out, what="accesses", shown=MOST_GROUPS))
    cost = "not known" if found.overhead is None else f"{found.overhead:.2f} times, or more"
    return [*notices, Notice.of("HW897", cost=cost, **facts)]


def _time(ms: int) -> str:
    return f"{ms / 1000:g} s" if ms >= 1000 else f"{ms} ms"


def _jvms(recording: Recording) -> Sequence[Mapping[str, Any]]:
    return (recording.manifest.extra.get("accesses") or {}).get("jvms") or ()


def _least(jvm: Mapping[str, Any], is_cut: bool) -> float | None:
    """Return the CPU time, ns, that threads of a JVM have to have; None: not all that its agent counted is on record."""
    if is_cut or not jvm.get("is_complete") or jvm.get("windows_incomplete"):
        return None
    return LEAST_CORE * 1e6 * float(jvm.get("windows") or 0) * float(jvm.get("window_period_ms") or 0)


def _nothing() -> Work:
    """Return the work of a thread of which there is none on record: nothing of it is known."""
    import numpy as np

    return Work(np.zeros(GROUPS), between_ns=1, is_whole=False)


def _works(recording: Recording, least: Mapping[int, float | None]) -> dict[Unit, Work]:
    """Return what each thread did; `least`: of each JVM, as `_least` has it."""
    import numpy as np

    sums = ", ".join(f"sum(a.{name})::DOUBLE" for name in ("cpu_before_ns", *_SUMS))
    text = f"""SELECT a.pid, a.thread_id, {UNNAMED}, a.window_group, {sums} FROM access_window_work a
      GROUP BY 1, 2, 3, 4 LIMIT {_MOST_ROWS}"""
    found: dict[Unit, Work] = {}
    rows = recording.query(text).fetchall()
    is_cut = len(rows) == _MOST_ROWS
    for pid, thread_id, unnamed, group, before_ns, *values in rows:
        spells = np.zeros(GROUPS)
        if 0 < group <= GROUPS:
            spells[group - 1] = before_ns
        least_ns = None if is_cut else least.get(pid)
        work = replace(Work(spells, *values), is_whole=least_ns is not None, least_ns=least_ns or 0)
        unit = (pid, thread_id, unnamed)
        found[unit] = found[unit] + work if unit in found else work
    return found


Counts: TypeAlias = dict[tuple[Unit, str], Any]
"""Of each thread and class: an array of a row for each group of windows and a column for each kind."""


def _counts(recording: Recording) -> tuple[Counts, bool]:
    """Return what threads counted, and whether there was more than so many rows."""
    import numpy as np

    sums = ", ".join(f"sum(a.{kind})::DOUBLE" for kind in ACCESS_KINDS)
    text = f"""SELECT a.pid, a.thread_id, {UNNAMED}, a.class_name, a.window_group, {sums} FROM access_window a
      GROUP BY 1, 2, 3, 4, 5 LIMIT {_MOST_ROWS}"""
    found: Counts = defaultdict(lambda: np.zeros((ROWS, len(ACCESS_KINDS))))
    rows = recording.query(text).fetchall()
    for pid, thread_id, unnamed, class_name, group, *values in rows:
        if 0 <= group < ROWS:
            found[(pid, thread_id, unnamed), class_name][group] += values
    return found, len(rows) == _MOST_ROWS


def _short_ones_together(works: dict[Unit, Work], counts: Counts) -> tuple[dict[Unit, Work], Counts]:
    """Return the threads of each JVM that were there in too few windows as one, if more is known of them together."""
    short: dict[int, list[Unit]] = defaultdict(list)
    for unit, work in works.items():
        if not work.is_known and work.groups < LEAST_GROUPS:
            short[unit[0]].append(unit)
    place = {unit: unit for unit in works}
    for pid, units in short.items():
        together = works[units[0]]
        for unit in units[1:]:
            together = together + works[unit]
        if together.is_known:
            place |= dict.fromkeys(units, (pid, None, _MANY))
    joined: dict[Unit, Work] = {}
    for unit, work in works.items():
        at = place[unit]
        joined[at] = joined[at] + work if at in joined else work
    cells: Counts = {}
    for (unit, class_name), each in counts.items():
        key = (place.get(unit, unit), class_name)
        cells[key] = cells[key] + each if key in cells else each
    return joined, cells


def _figures(parts: Iterable[Part]) -> WindowFigures:
    """Return estimates of each kind, and of all accesses to objects."""
    import numpy as np

    of_unit: dict[int, Part] = {}
    for work, cells in parts:  # a thread has many classes, and is one sample
        of_unit[id(work)] = (work, of_unit[id(work)][1] + cells if id(work) in of_unit else cells)
    wide = [
        (work, np.column_stack((cells, cells[:, : len(OBJECT_KINDS)].sum(axis=1)))) for work, cells in of_unit.values()
    ]
    if not wide:
        wide = [(_nothing(), np.zeros((ROWS, len(ACCESS_KINDS) + 1)))]
    return WindowFigures(*estimates(wide))


def _groups(
    recording: Recording, by: Grouping, works: Mapping[Unit, Work], counts: Counts
) -> tuple[list[WindowGroup], int]:
    """Return the groups with the most accesses, and how many with fewer are left out."""
    if by not in ("class", "thread", "thread-class"):
        return [], 0
    grouped: dict[tuple[Any, ...], list[Part]] = defaultdict(list)
    for (unit, class_name), cells in counts.items():
        of_thread = unit if by != "class" else (unit[0], None, None)
        key = (*of_thread, None if by == "thread" else class_name)
        grouped[key].append((works.get(unit, _nothing()), cells))
    names = {
        thread_id: (name, java_id)
        for thread_id, name, java_id in recording.query(
            f"SELECT t.thread_id, {short_name('t.name')}, t.java_id FROM thread t"
        ).fetchall()
    }
    found = []
    for (pid, thread_id, unnamed, class_name), parts in grouped.items():
        name, known_id = names.get(thread_id, (None, None))
        java_id = known_id if known_id is not None else unnamed
        work = max((work for work, _ in parts), key=lambda each: (each.is_known, each.cpu_ns))
        shown = name or name_of(java_id)
        found.append(
            WindowGroup(pid, shown, java_id, thread_id, class_name, _figures(parts), work.is_known, work.why_unknown)
        )
    found.sort(key=_most_first)
    return found[:MOST_GROUPS], max(0, len(found) - MOST_GROUPS)


def _most_first(group: WindowGroup) -> tuple[Any, ...]:
    figure = group.figures.of_objects
    return (
        -(figure.value or 0),
        -figure.counted,
        group.pid,
        group.thread_id or 0,
        group.java_id or 0,
        group.class_name or "",
    )
