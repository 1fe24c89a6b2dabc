"""What each thread counted as a whole, in a recording that was made without eBPF.

Question   how many events each thread of a program, or each kind of threads, counted.
Method     totals of each thread's own counters, which the recorder opened from outside when it first saw the thread; figures and
           intervals are made of them as of slices (thread_parts.py). Names and kinds are those of the table of threads.
Assumes    a group's events are read at one moment, groups some microseconds apart.
Wrong when threads begin and end between two looks: what a thread ran before it was seen has no counts, and a thread that was
           never seen has no row. What the program used beside is a row, where the recording saw its end and it is more than
           a fifth. Totals and kinds are exact only where the CPU time of the whole program is that of its threads, but for a
           hundredth or 10 ms; else they are the least that there was. When something was counted is not known: not in which
           phase, region, iteration or part of the time, nor on which CPU or under which lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeGuard

from headway.analyses.common.notices import recorded_notices
from headway.analyses.counters.layout import BY_THREADS_WHOLE, layout_of
from headway.analyses.counters.totals.thread_parts import UNSEEN, Key, ThreadParts, are_all, figures, unseen_ns
from headway.analyses.counters.types import Counters
from headway.errors import HeadwayError, Notice
from headway.model.kinds import Kind

if TYPE_CHECKING:
    from headway.model.thread_counts import Totals
    from headway.store import Recording

_MOST_UNKNOWN = 0.001
_MOST_THREADS = 10_000
_MOST = 1 << 62
"""Counts and times above are none."""
_KINDS = frozenset(kind.value for kind in Kind)
_LONGEST_NAME = 200


def has_thread_totals(recording: Recording) -> bool:
    """Return whether threads were counted as a whole, or were to be."""
    return isinstance(recording.manifest.extra.get(BY_THREADS_WHOLE), Mapping)


def thread_totals(
    recording: Recording, by: str = "thread", window: tuple[int, int] | None = None, of_set: str | None = None
) -> Counters:
    """Return what threads counted. Raises HeadwayError HW109 where nothing did, and HW123 where more is asked than totals."""
    found = recording.manifest.extra.get(BY_THREADS_WHOLE)
    there = layout_of(recording, found)
    assert isinstance(found, Mapping)  # else HW109
    if by not in ("thread", "kind"):
        raise HeadwayError("HW123", path=recording.path, why=f"not by {by}")
    if window is not None:
        raise HeadwayError("HW123", path=recording.path, why="not of a part of the recording")
    groups = [group.events for group in there.groups]
    threads, own_ns = _threads(recording, found, len(there.events))
    used_ns, seen_ns = _used_ns(recording), threads.ran_ns
    is_whole = are_all(used_ns - own_ns, seen_ns)
    if used_ns and (beside_ns := unseen_ns(used_ns - own_ns, seen_ns)):
        key: Key = {"pid": recording.manifest.pid or -1, "tid": -1, "name": UNSEEN, "kind": "app"}
        threads.add(key, None, beside_ns, is_app=False)
    shown = figures(threads, groups, there.step, of_set, by, is_whole=is_whole)
    notices = recorded_notices(recording)
    if shown.unknown > _MOST_UNKNOWN:
        notices = (*notices, Notice.of("HW110", share=shown.unknown))
    whole = (0, recording.wall_ns)
    return Counters(
        there.step, by, whole, shown.groups, shown.total, shown.rows, shown.imbalance, there.absent, notices
    )


def _threads(recording: Recording, found: Mapping[str, Any], counters: int) -> tuple[ThreadParts, int]:
    """Return the threads that the manifest has, and what the others of each kind counted together; and for how long ours ran.

    Headway's own threads are in neither of both.
    """
    named: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for pid, tid, name, kind in recording.query("SELECT pid, tid, name, kind FROM thread").fetchall():
        named.setdefault((pid, tid), []).append((name, kind))
    threads, own = ThreadParts(), ThreadParts()
    for row in _rows(found, "threads"):
        pid, tid = _number(row.get("pid")), _number(row.get("tid"))
        of_number = named.get((pid, tid), [])
        # The number of an ended thread may be given out again: then it is not known which of them was counted.
        name, kind = of_number[0] if len(of_number) == 1 else (_text(row.get("name")), _kind(row.get("kind")))
        key: Key = {"pid": pid, "tid": tid, "name": name, "kind": kind}
        of = own if kind == "headway" else threads
        of.add(key, _totals(row, counters), _number(row.get("uncounted_ns")), is_app=kind == "app")
    for row in _rows(found, "others"):
        kind = _kind(row.get("kind"))
        key = {"pid": -1, "tid": -1, "name": f"({_number(row.get('threads'))} more, {kind})", "kind": kind}
        of = own if kind == "headway" else threads
        of.add(key, _totals(row, counters), _number(row.get("uncounted_ns")), is_app=False)
    return threads, own.ran_ns


def _used_ns(recording: Recording) -> int:
    """Return the CPU time of a program that ended while it was recorded, 0 where it is not known."""
    usage = recording.manifest.extra.get("rusage")
    if recording.manifest.attached or recording.manifest.ended_by != "exit" or not isinstance(usage, Mapping):
        return 0
    return _number(usage.get("user_ns")) + _number(usage.get("system_ns"))


def _totals(row: Mapping[str, Any], counters: int) -> Totals | None:
    totals = row.get("totals")
    if not isinstance(totals, list) or len(totals) != counters:
        return None
    if not all(isinstance(each, list) and len(each) == 3 for each in totals):
        return None
    if not all(map(_is_number, chain.from_iterable(totals))):
        return None
    return tuple((value, enabled, min(enabled, running)) for value, enabled, running in totals)


def _rows(found: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = found.get(key)
    return [row for row in rows[:_MOST_THREADS] if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _kind(of: object) -> str:
    return of if isinstance(of, str) and of in _KINDS else "app"


def _text(of: object) -> str:
    return of[:_LONGEST_NAME] if isinstance(of, str) else ""


def _number(of: object) -> int:
    return of if _is_number(of) else 0


def _is_number(of: object) -> TypeGuard[int]:
    return isinstance(of, int) and 0 <= of < _MOST
