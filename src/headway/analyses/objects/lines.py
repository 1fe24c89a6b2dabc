"""Which threads write in turn to one cache line: true and false sharing, by the fields concerned.

Question   which fields, or array elements, do different threads write in turn, and which only share a cache line.
Method     sums of what the agent counted at each write, by where the object was at that moment (tables `line_write` and
           `line_share`; docs/decisions/0020-cache-lines.md). Same place: another thread had written to this very field or element
           since this one did. Line, pair: not there, but elsewhere within the same 64, or 128, bytes.
Assumes    a place is known by its first byte: nobody writes to parts of a field.
Wrong when writes are not seen: those of the JDK's own code (atomics, VarHandle, collections), of native code, of classes out of
           scope, and static fields. Counts are the least that happened, then. A collection moves objects: lines begin anew.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from headway.analyses.common.short_names import short_name
from headway.analyses.objects.line_types import LineAnswer, Meeting, SharedPlaces
from headway.analyses.objects.owners import name_of
from headway.analyses.objects.types import MOST_GROUPS
from headway.model.line_distances import LINE_DISTANCES

if TYPE_CHECKING:
    from headway.store import Recording

MOST_MEETINGS = 1 << 18
"""At most so many rows of table line_share are read, those with the most writes; one JVM's agent writes fewer."""


def cache_lines(recording: Recording) -> LineAnswer | None:
    """Return which threads write in turn to one cache line; None where that was not recorded."""
    jvms = (recording.manifest.extra.get("accesses") or {}).get("jvms") or ()
    if not recording.has("line_write") and not any(jvm.get("lines_are") == "on" for jvm in jvms):
        return None
    writes_of, offset_of = _fields(recording)
    groups: dict[tuple[int, tuple[str, str], bool], list[Meeting]] = defaultdict(list)
    for pid, same_object, meeting in _meetings(recording):
        first, second = sorted((meeting.field, meeting.other_field))
        groups[pid, (first, second), same_object].append(meeting)
    rows = []
    for (pid, fields, same_object), meetings in groups.items():
        sums = dict.fromkeys(LINE_DISTANCES, 0)
        for each in meetings:
            sums[each.distance] += each.writes
        offsets = (offset_of.get((pid, fields[0])), offset_of.get((pid, fields[1])))
        writes = sum(writes_of.get((pid, name), 0) for name in {*fields})
        rows.append(SharedPlaces(pid, fields, offsets, same_object, **sums, writes=writes, meetings=tuple(meetings)))
    rows.sort(key=lambda row: (-(row.line + row.pair), -row.same, row.pid, row.fields))
    totals = {distance: sum(getattr(row, distance) for row in rows) for distance in LINE_DISTANCES}
    return LineAnswer(sum(writes_of.values()), tuple(rows[:MOST_GROUPS]), max(0, len(rows) - MOST_GROUPS), **totals)


def _fields(recording: Recording) -> tuple[dict[tuple[int, str], int], dict[tuple[int, str], int]]:
    """Return the writes of each field, and its offset where all classes of its name have the same."""
    text = """SELECT pid, field, sum(writes)::BIGINT, min(field_offset), max(field_offset), count(*) = count(field_offset)
      FROM line_write GROUP BY pid, field ORDER BY 3 DESC LIMIT $most"""
    writes, offsets = {}, {}
    for pid, field, count, least, most, is_known in recording.query(
        text.replace("$most", str(MOST_MEETINGS))
    ).fetchall():
        writes[pid, field] = count
        if is_known and least == most:
            offsets[pid, field] = least
    return writes, offsets


def _meetings(recording: Recording) -> list[tuple[int, bool, Meeting]]:
    """Return who met whom where, the most writes first: process, whether it was in one object, the meeting."""
    text = f"""SELECT s.pid, s.same_object, any_value({short_name("t.name")}), s.java_id, s.thread_id, s.field,
        any_value({short_name("o.name")}), s.other_java_id, s.other_thread_id, s.other_field, s.distance, sum(s.writes)::BIGINT
      FROM line_share s LEFT JOIN thread t USING (thread_id) LEFT JOIN thread o ON o.thread_id = s.other_thread_id
      GROUP BY s.pid, s.same_object, s.java_id, s.thread_id, s.field, s.other_java_id, s.other_thread_id, s.other_field,
        s.distance
      ORDER BY 12 DESC, 1, 2, 4, 6, 8, 10, 11 LIMIT {MOST_MEETINGS}"""
    found = []
    for pid, same_object, name, java_id, thread_id, field, other, *more in recording.query(text).fetchall():
        other_id, other_thread_id, other_field, distance, writes = more
        meeting = Meeting(
            *(name or name_of(java_id), java_id, thread_id, field),
            *(other or name_of(other_id), other_id, other_thread_id, other_field),
            distance,
            writes,
        )
        found.append((pid, same_object, meeting))
    return found
