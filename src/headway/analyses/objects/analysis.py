"""Who allocates what, and who reads and writes: objects, bytes, arrays and their lengths, by class, thread or site.

Question   how many objects were really allocated, of which classes, by which threads, where.
Method     sums that the agent kept of what the JVM told it, of every object or of a sample (table `allocation`); `bounds` gives
           samples their intervals. headway's own threads are left out.
Bounded    the largest MOST_GROUPS groups are told apart; sums are of all.
Assumes    the JVM tells of every allocation, or of each with the chance that it promises (JEP 331).
Wrong when many threads and classes share a row (HW803). Objects that the JIT compiler removed were never allocated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headway.analyses.common.notices import recorded_notices
from headway.analyses.common.short_names import short_name
from headway.analyses.objects.accesses import access_notices, accesses
from headway.analyses.objects.bounds import none_sampled, quantity
from headway.analyses.objects.lines import cache_lines
from headway.analyses.objects.owners import name_of
from headway.analyses.objects.types import (
    MOST_GROUPS,
    UNNAMED,
    Allocated,
    AllocationGroup,
    Grouping,
    Measure,
    ObjectsAnswer,
)
from headway.analyses.objects.windows import windowed_accesses
from headway.errors import HeadwayError, Notice
from headway.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from headway.analyses.objects.line_types import LineAnswer
    from headway.model.object_owners import OwnerRule
    from headway.store import Recording

_SITE = """CASE WHEN a.site_class = '' THEN '' ELSE a.site_class || '.' || a.site_method
  || COALESCE(':' || a.site_line, '') END"""
_KEYS = {
    "class": ("a.pid", "a.class_name"),
    "thread": ("a.pid", "a.thread_id", "a.unnamed_id"),
    "site": ("a.pid", "site"),
    "thread-class": ("a.pid", "a.thread_id", "a.unnamed_id", "a.class_name"),
    "pair": ("a.pid", "a.thread_id", "a.unnamed_id"),
}
_ORDER = {"bytes": "sum(a.bytes)", "objects": "sum(a.objects)", "array-length": "sum(a.array_length)"}
_SUMS = """
  sum(a.objects)::BIGINT, sum(a.bytes)::BIGINT,
  COALESCE(sum(a.objects) FILTER (a.class_name LIKE '%[]'), 0)::BIGINT, sum(a.array_length)::BIGINT,
  sqrt(sum(pow(a.objects_error, 2))), sqrt(sum(pow(a.bytes_error, 2))),
  sqrt(sum(pow(a.objects_error, 2)) FILTER (a.class_name LIKE '%[]')), sqrt(sum(pow(a.array_length_error, 2))),
  sum(a.samples)::BIGINT"""
_OWN = f"FROM allocation a LEFT JOIN thread t USING (thread_id) WHERE COALESCE(t.kind, '') != '{Kind.HEADWAY.value}'"


def objects(
    recording: Recording, by: Grouping = "class", sort: Measure = "bytes", rule: OwnerRule | None = None
) -> ObjectsAnswer:
    """Return what was allocated, read and written, in groups; owners by `rule`, None: by the first one that was recorded.

    Raises HeadwayError HW800 for a recording without objects, HW801, HW840 where the JVM refused, HW815 for a rule of owners
    that was not recorded.
    """
    asked: dict[str, Any] = recording.manifest.extra.get("objects") or {}
    jvms = asked.get("jvms") or ()
    intervals = {each for jvm in jvms if isinstance(each := jvm.get("interval_bytes"), int)}
    accessed = accesses(recording, by, rule)
    lines, windows = cache_lines(recording), windowed_accesses(recording, by)
    about = (*access_notices(recording, accessed, windows), *_line_notices(lines, by))
    if not recording.has("allocation") and not intervals:
        if accessed is None and windows is None:
            raise _nothing(recording, jvms)
        notices = (*recorded_notices(recording), *about)
        return ObjectsAnswer(by, None, (), None, False, {}, notices, accessed, lines, windows)
    unseen = none_sampled(max(intervals, default=0))
    total = _allocated(recording.query(f"SELECT {_SUMS} {_OWN}").fetchall()[0], unseen)
    groups, left_out = _groups(recording, by, sort, unseen)
    interval = intervals.pop() if len(intervals) == 1 else None
    unknown = _unknown(recording, total.objects.value, has_sites=bool(asked.get("sites")))
    return ObjectsAnswer(
        by,
        total,
        tuple(groups),
        interval,
        bool(asked.get("sites")),
        unknown,
        (
            *recorded_notices(recording),
            *_notices(recording, interval, left_out),
            *about,
        ),
        accessed,
        lines,
        windows,
    )


def _line_notices(found: LineAnswer | None, by: Grouping) -> list[Notice]:
    """Return how to record cache lines where they are asked for, else what is not known of them."""
    if found is None:
        return [Notice.of("HW819")] if by == "field" else []
    what = "pairs of fields on one cache line"
    few = [Notice.of("HW849", count=found.left_out, what=what, shown=MOST_GROUPS)] if found.left_out else []
    return [*few, Notice.of("HW864")]


def _nothing(recording: Recording, jvms: Iterable[Mapping[str, Any]]) -> HeadwayError:
    """Return why a recording has nothing of objects: a JVM refused, or nobody asked."""
    for jvm in jvms:
        if jvm.get("problem") is not None:
            return HeadwayError("HW801", pid=jvm.get("pid"), reason=jvm["problem"])
    for jvm in (recording.manifest.extra.get("accesses") or {}).get("jvms") or ():
        if jvm.get("problem") is not None:
            return HeadwayError("HW840", pid=jvm.get("pid"), reason=jvm["problem"])
    return HeadwayError("HW800", path=recording.path)


def objects_of_threads(recording: Recording, threads: Collection[int]) -> dict[int | None, tuple[int, int]]:
    """Return objects and bytes that each of some threads allocated; of None: threads that are not known."""
    wanted = ", ".join(map(str, threads)) or "NULL"
    text = f"""SELECT thread_id, sum(a.objects)::BIGINT, sum(a.bytes)::BIGINT {_OWN}
      AND (thread_id IS NULL OR thread_id IN ({wanted})) GROUP BY thread_id"""
    return {thread: (objects or 0, size or 0) for thread, objects, size in recording.query(text).fetchall()}


def _groups(recording: Recording, by: Grouping, sort: Measure, unseen: Allocated) -> tuple[list[AllocationGroup], int]:
    """Return the groups that allocated most, by what is sorted by, and how many smaller groups are left out."""
    if by not in _KEYS:
        return [], 0
    keys = [key.removeprefix("a.") for key in _KEYS[by]]
    of_thread = f"any_value({short_name('t.name')}), any_value(t.java_id)" if "thread_id" in keys else "NULL, NULL"
    rows = f"""FROM (SELECT *, {_SITE} AS site, {UNNAMED} AS unnamed_id FROM allocation a) a LEFT JOIN thread t USING (thread_id)
      WHERE COALESCE(t.kind, '') != '{Kind.HEADWAY.value}' GROUP BY {", ".join(_KEYS[by])}"""
    order = ", ".join([f"{_ORDER[sort]} DESC NULLS LAST", *map(str, range(1, len(keys) + 1))])
    text = f"""SELECT {", ".join(_KEYS[by])}, {of_thread}, {_SUMS} {rows} ORDER BY {order} LIMIT {MOST_GROUPS}"""
    found = []
    for row in recording.query(text).fetchall():
        facts = dict(zip(keys, row, strict=False))
        name, known_id = row[len(keys) : len(keys) + 2]
        java_id = known_id if known_id is not None else facts.get("unnamed_id")
        found.append(
            AllocationGroup(
                facts["pid"],
                name or name_of(java_id),
                java_id,
                facts.get("thread_id"),
                facts.get("class_name"),
                facts.get("site"),
                _allocated(row[len(keys) + 2 :], None if "class_name" in keys else unseen),
            )
        )
    if len(found) < MOST_GROUPS:
        return found, 0
    (count,) = recording.query(f"SELECT count(*) FROM (SELECT 1 {rows})").fetchone() or (0,)
    return found, count - len(found)


def _allocated(row: tuple[Any, ...], unseen: Allocated | None) -> Allocated:
    """Return sums with their intervals. `unseen`: what there may be of that of which there is no sample; None: nothing."""
    values, errors, samples = [each or 0 for each in row[:4]], row[4:8], row[8] or 0
    found = [
        quantity(value, error, least) for value, error, least in zip(values, errors, (samples, 0, 0, 0), strict=True)
    ]
    if unseen is not None:
        at_most = (unseen.objects, unseen.bytes, unseen.arrays, unseen.array_length)
        found = [each if each.value else most for each, most in zip(found, at_most, strict=True)]
    return Allocated(*found)


def _unknown(recording: Recording, objects: int, *, has_sites: bool) -> dict[str, float | None]:
    """Return of which share of the objects the class, the thread, the site is not known; None for what was not asked."""
    text = f"""SELECT sum(a.objects) FILTER (a.class_name = ''), sum(a.objects) FILTER (a.java_id <= 0),
      sum(a.objects) FILTER (a.site_class = '') {_OWN}"""
    counts = recording.query(text).fetchall()[0]
    shares = [(count or 0) / objects if objects else math.nan for count in counts]
    known = [None if math.isnan(share) else share for share in shares]
    return {"class": known[0], "thread": known[1], "site": known[2] if has_sites else None}


def _notices(recording: Recording, interval: int | None, left_out: int) -> list[Notice]:
    together = recording.query(f"SELECT sum(a.objects)::BIGINT {_OWN} AND a.java_id = -1").fetchall()[0][0]
    found = [Notice.of("HW803", objects=together)] if together else []
    if left_out:
        found.append(Notice.of("HW849", count=left_out, what="allocations", shown=MOST_GROUPS))
    if interval:
        found.append(Notice.of("HW807", interval=interval))
    return [*found, Notice.of("HW805")]
