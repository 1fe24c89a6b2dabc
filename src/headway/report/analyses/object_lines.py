"""The table and the sentences of cache lines that threads write in turn, for `headway objects` and the report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headway.analyses.common.units import percent
from headway.analyses.objects.matrix import name_of_no_thread
from headway.errors.plurals import counted
from headway.report.analysis import Table

if TYPE_CHECKING:
    from headway.analyses.objects.line_types import LineAnswer, SharedPlaces

_HEAD = ("field", "and", "same place", "64 bytes", "128 bytes", "of writes", "threads")
_NAMES = 2
"""First columns of the table, which are names."""
_LINE_BYTES, _PAIR_BYTES = 64, 128
_ELEMENTS = "["
"""In the names of arrays' elements alone: long[] in com.acme.Work.run."""
_LEAST_SHARE = 0.01
"""What padding would separate is told where this part of the writes or more came after another thread's: a line that another
core has written takes tens of nanoseconds to come, a write to one's own a few tenths of one."""
_MOST_ADVICE = 3
_MOST_THREADS = 4


def line_sentences(found: LineAnswer | None) -> list[str]:
    """Return how many writes met another thread's, and what keeps the fields with the most of them apart."""
    if found is None:
        return []
    sentences = [
        f"Of {found.writes:,} writes to fields and array elements {found.same:,} came after another thread's to the "
        f"very same place, {found.line:,} after another thread's elsewhere within the same 64 bytes (false sharing), "
        f"and {found.pair:,} elsewhere within the same 128 bytes. Not among them: reads, static fields, and what the JDK's own "
        "code writes (AtomicLong, VarHandle, collections); lines may be shared there as well."
    ]
    false_rows = [row for row in found.rows if row.line + row.pair]
    often = [row for row in false_rows if row.line + row.pair >= _LEAST_SHARE * row.writes]
    if len(often) < len(false_rows):
        sentences.append(
            f"In {counted(len(false_rows) - len(often), 'row')} less than {_LEAST_SHARE:.0%} of the writes came after another "
            "thread's near by: too few to cost time in this run. On cores that are free there may be more."
        )
    return [*sentences, *(_advice(row) for row in often[:_MOST_ADVICE])]


def line_table(found: LineAnswer, top: int | None) -> Table:
    """Return the fields that threads write in turn, false sharing first."""
    rows = tuple(
        (
            row.fields[0],
            row.fields[1] if row.fields[0] != row.fields[1] else _of_one_name(row),
            row.same,
            row.line,
            row.pair,
            percent(row.together / row.writes) if row.writes else None,
            len(_threads(row)),
        )
        for row in found.rows[:top]
    )
    more = f" ({len(rows)} of {len(found.rows)}: --all)" if len(found.rows) > len(rows) else ""
    return Table(f"Writes after another thread's, by fields on one cache line{more}", _HEAD, rows)


def line_names(table: Table) -> int:
    """Return how many first columns of a table are names, 0 for one that is not of cache lines."""
    return _NAMES if table.columns == _HEAD else 0


def _of_one_name(row: SharedPlaces) -> str:
    if row.line + row.pair == 0:
        return "(itself)"
    return "(others of one array)" if row.same_object else "(that of another object)"


def _advice(row: SharedPlaces) -> str:
    """Return which threads write to both, and what padding keeps them on lines of their own."""
    names = _threads(row)
    shown = ", ".join(names[:_MOST_THREADS]) + (
        f" and {len(names) - _MOST_THREADS} more" if len(names) > _MOST_THREADS else ""
    )
    first, second = row.fields
    apart = row.bytes_apart
    if apart is not None:
        wanted = [
            f"{bytes_ - apart} bytes more for lines of {bytes_}"
            for bytes_ in (_LINE_BYTES, _PAIR_BYTES)
            if apart < bytes_
        ]
        return (
            f"{first} and {second} are {apart} bytes apart in one object, and written in turn by {shown}. Fields between them "
            f"keep them on different lines: {', '.join(wanted)}."
        )
    both = first if first == second else f"{first} and {second}"
    if row.same_object and _ELEMENTS in first and _ELEMENTS in second:
        return (
            f"{both}: elements of one array are written in turn by {shown}. Elements of different threads that are "
            f"{_LINE_BYTES} bytes apart ({_PAIR_BYTES} where CPUs fetch lines in pairs) are on different lines."
        )
    if row.same_object:
        return (
            f"{both} are in one object, and written in turn by {shown}. {_LINE_BYTES} bytes of fields between them "
            f"({_PAIR_BYTES} where CPUs fetch lines in pairs) keep them on different lines."
        )
    return (
        f"{both}: objects beside each other on the heap are written in turn by {shown}. Objects with {_LINE_BYTES} bytes of "
        f"unused fields ({_PAIR_BYTES} where CPUs fetch lines in pairs) are on different lines."
    )


def _threads(row: SharedPlaces) -> list[str]:
    """Return the threads that write there, those with the most meetings first; of one name with their ids."""
    ids: dict[int, str | None] = {}
    for meeting in row.meetings:
        ids.setdefault(meeting.java_id, meeting.thread)
        ids.setdefault(meeting.other_java_id, meeting.other_thread)
    names = [name or name_of_no_thread(java_id) for java_id, name in ids.items()]
    times = Counter(names)
    return [f"{name} #{java_id}" if times[name] > 1 else name for java_id, name in zip(ids, names, strict=True)]
