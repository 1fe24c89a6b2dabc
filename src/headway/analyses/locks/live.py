"""Rows of the live table of a running JVM: metrics from the sums so far, without single waits or scheduling.

Whether it is contention is told by the stack of the first wait; where none was taken, by kind and class alone, and left open
(None) where these don't tell (conditions, Object.wait). Objects of one class that were first waited for at one line are one row
for people, as in the table of a recording.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headway.analyses.locks.metrics import Metrics, metrics
from headway.analyses.waits.object_names import TOGETHER, display
from headway.analyses.waits.rules import OTHER, Rule, Wait, classify, may_have_several_holders
from headway.analyses.waits.tables.wait_stacks import frame_text, line_of_frames
from headway.model.lock_sums import LockSums

if TYPE_CHECKING:
    from headway.model.live_lock import LiveFrame, LiveLock, LiveTable


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One object in a running JVM; `parks_per_s` and `waiters` are since the previous snapshot (None in the first).

    `first_line` is the place of the first wait, `first_stack` its stack, innermost frame first (empty: not taken). `rule` is the
    id of the rule that decided on `contention`. `objects` > 1: so many of one place, of which the one with most waiting is shown;
    then peak and real time are those of one object: all of them together have at least as much. `several_holders`: several
    threads may have it at once.
    """

    name: str
    lock: LiveLock
    metrics: Metrics
    mean_hold_ns: float | None
    contention: bool | None
    waiting: str | None
    parks_per_s: float | None
    waiters: float | None
    first_line: str | None
    first_stack: tuple[str, ...]
    rule: str | None = None
    objects: int = 1
    several_holders: bool = False


_TIMED = frozenset({"parkNanos", "parkUntil", "awaitNanos", "awaitUntil"})
"""Methods that wait with a time limit."""
_CUT_AT = 64
"""Frames that the agent keeps of a stack."""
SORT = ("thread-time", "now", "times", "real-time", "average", "peak")


def live_rows(
    table: LiveTable, before: LiveTable | None = None, sort: str = "thread-time", min_parks: int = 0
) -> list[LiveRow]:
    """Return a row per object that threads waited for; contention and unknown cases come first.

    `before`: an earlier snapshot, for rates since then.
    """
    earlier = {_key(lock): lock for lock in before.rows} if before is not None else {}
    span_ns = table.now_ns - before.now_ns if before is not None else 0
    rows = [_row(table, lock, earlier.get(_key(lock)), span_ns) for lock in table.rows]
    kept = [row for row in rows if row.lock.sums.times_parked >= max(min_parks, 1)]  # an unused row is none
    return _in_order(kept, sort)


def by_place(table: LiveTable, rows: Iterable[LiveRow], sort: str = "thread-time") -> list[LiveRow]:
    """Merge objects of one class and kind whose first waits were at one line, under the same rule."""
    groups: dict[tuple[object, ...], list[LiveRow]] = {}
    for row in rows:
        lock = row.lock
        key = (lock.kind, lock.class_name, row.first_line, row.rule) if row.first_line is not None else _key(lock)
        groups.setdefault(key, []).append(row)
    found = [_together(table, members) if len(members) > 1 else members[0] for members in groups.values()]
    return _in_order(found, sort)


def _together(table: LiveTable, rows: list[LiveRow]) -> LiveRow:
    """Return the row of several objects of one place."""
    most = max(rows, key=lambda row: row.lock.sums.thread_time_ns)
    first = min(rows, key=lambda row: row.lock.sums.first_ns)
    each = [row.lock.sums for row in rows]
    sums = LockSums(
        times_parked=sum(of.times_parked for of in each),
        times_measured=sum(of.times_measured for of in each),
        parked_now=sum(of.parked_now for of in each),
        peak_parked=max(of.peak_parked for of in each),
        thread_time_ns=sum(of.thread_time_ns for of in each),
        real_time_ns=max(of.real_time_ns for of in each),
        first_ns=min(of.first_ns for of in each),
        last_ns=max(of.last_ns for of in each),
        end_ns=most.lock.sums.end_ns,
    )
    holds, hold_ns = sum(row.lock.holds for row in rows), sum(row.lock.hold_ns for row in rows)
    return dataclasses.replace(
        most,
        name=f"{len(rows)} objects ({display(most.lock.class_name, 0).removesuffix(TOGETHER)})",
        lock=dataclasses.replace(
            most.lock,
            sums=sums,
            holds=holds,
            hold_ns=hold_ns,
            first_java_id=first.lock.first_java_id,
            first_thread=first.lock.first_thread,
        ),
        metrics=metrics(sums, table.now_ns - table.since_ns, several_holders=most.several_holders),
        mean_hold_ns=hold_ns / holds if holds else None,
        parks_per_s=_sum(row.parks_per_s for row in rows),
        waiters=_sum(row.waiters for row in rows),
        objects=len(rows),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _in_order(rows: Iterable[LiveRow], sort: str) -> list[LiveRow]:
    return sorted(rows, key=lambda row: (row.contention is False, -_value(row, sort), row.lock.sums.first_ns))


def _key(lock: LiveLock) -> tuple[object, ...]:
    return lock.blocker_id, lock.kind, lock.class_name, lock.identity_hash, lock.sums.first_ns


def _row(table: LiveTable, lock: LiveLock, earlier: LiveLock | None, span_ns: int) -> LiveRow:
    rule = _rule(lock.kind, lock.class_name, lock.first_stack)
    is_known = rule is not OTHER or bool(lock.first_stack)
    several = may_have_several_holders(rule.id, lock.class_name)
    sums, past = lock.sums, earlier.sums if earlier is not None else None
    return LiveRow(
        name=display(lock.class_name, lock.identity_hash, lock.forgotten > 0),
        lock=lock,
        metrics=metrics(sums, table.now_ns - table.since_ns, several_holders=several),
        mean_hold_ns=lock.hold_ns / lock.holds if lock.holds else None,
        contention=rule.contention if is_known else None,
        waiting=rule.waiting if is_known else None,
        parks_per_s=(sums.times_parked - (past.times_parked if past else 0)) * 1e9 / span_ns if span_ns else None,
        waiters=(sums.thread_time_ns - (past.thread_time_ns if past else 0)) / span_ns if span_ns else None,
        first_line=_texts(lock.first_stack)[0] if lock.first_stack else None,
        first_stack=_texts(lock.first_stack)[1],
        rule=rule.id if is_known else None,
        several_holders=several,
    )


@lru_cache(maxsize=4096)
def _rule(kind: str, class_name: str, stack: tuple[LiveFrame, ...]) -> Rule:
    frames = tuple((name, method) for name, method, _ in stack)
    is_timed = any(method in _TIMED for _, method in frames)
    return classify(Wait(kind, class_name, frames, is_timed, len(frames) >= _CUT_AT))


@lru_cache(maxsize=4096)
def _texts(stack: tuple[LiveFrame, ...]) -> tuple[str, tuple[str, ...]]:
    """Return a stack's place and its frames as people read them; thousands of locks share one."""
    return line_of_frames(stack), tuple(map(frame_text, stack))


def _value(row: LiveRow, sort: str) -> float:
    sums = row.lock.sums
    values = {
        "thread-time": sums.thread_time_ns,
        "now": sums.parked_now,
        "times": sums.times_parked,
        "real-time": sums.real_time_ns,
        "average": row.metrics.average_parking_time_ns or 0,
        "peak": sums.peak_parked,
    }
    return float(values[sort])
