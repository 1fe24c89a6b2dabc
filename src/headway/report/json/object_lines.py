"""Which threads write in turn to one cache line, as JSON: key `lines` of objects (docs/reference/json.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.objects.line_types import LineAnswer, Meeting, SharedPlaces

MOST_MEETINGS = 50
"""Pairs of threads of one row, those with the most writes."""


def lines_json(found: LineAnswer | None) -> dict[str, Any] | None:
    """Return the fields that share a line, with the threads concerned; None: not recorded."""
    if found is None:
        return None
    totals = {"same": found.same, "line": found.line, "pair": found.pair}
    return {"writes": found.writes, **totals, "rows": [_row(each) for each in found.rows]}


def _row(row: SharedPlaces) -> dict[str, Any]:
    return {
        "pid": row.pid,
        "fields": list(row.fields),
        "offsets": list(row.offsets),
        "bytes_apart": row.bytes_apart,
        "same_object": row.same_object,
        "same": row.same,
        "line": row.line,
        "pair": row.pair,
        "writes": row.writes,
        "threads": [_meeting(each) for each in row.meetings[:MOST_MEETINGS]],
    }


def _meeting(meeting: Meeting) -> dict[str, Any]:
    return {
        "thread": meeting.thread,
        "java_id": meeting.java_id,
        "thread_id": meeting.thread_id,
        "field": meeting.field,
        "other_thread": meeting.other_thread,
        "other_java_id": meeting.other_java_id,
        "other_thread_id": meeting.other_thread_id,
        "other_field": meeting.other_field,
        "distance": meeting.distance,
        "writes": meeting.writes,
    }
