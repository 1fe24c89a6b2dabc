"""The text that `headway dump` writes: every object with every metric of the paper, one block of lines each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent
from headway.report.terminal.lock_names import live_place_and_object
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.locks.live import LiveRow
    from headway.model.live_lock import LiveLock, LiveTable


def live_text(table: LiveTable, rows: Sequence[LiveRow]) -> str:
    """Return a snapshot as text for people."""
    head = f"Locks of JVM {table.pid}, recorded for {duration(table.now_ns - table.since_ns)}: {len(rows)} objects\n"
    if table.dropped:
        head += f"{table.dropped} parks found no room in the table\n"
    return head + "".join(map(_one, rows))


def _one(row: LiveRow) -> str:
    lock, sums, found = row.lock, row.lock.sums, row.metrics
    facts = (
        ("class", printable(lock.class_name) or "(parks without a blocker)"),
        ("hash code", f"{lock.identity_hash & 0xFFFFFFFF:x}"),
        ("kind", f"{lock.kind}{', dead' if lock.is_dead else ''}{f', {row.waiting}' if row.waiting else ''}"),
        ("first thread", _first_thread(lock)),
        ("first stack", f"\n  {'':<30}".join(map(printable, row.first_stack)) or "-"),
        ("times parked", str(sums.times_parked)),
        ("parked now", str(sums.parked_now)),
        ("peak parked", str(sums.peak_parked)),
        ("parking thread-time", duration(sums.thread_time_ns)),
        ("parking real-time", duration(sums.real_time_ns)),
        ("average parking time", _time(found.average_parking_time_ns)),
        ("average hold time", _average_hold(row)),
        ("true hold time", f"{_time(row.mean_hold_ns)} (mean of {lock.holds})"),
        ("real-time utilisation", _share(found.real_time_util_pct)),
        ("thread-time utilisation", _share(found.thread_time_util_pct)),
        ("real-life-time utilisation", _share(found.real_life_time_util_pct)),
        ("thread-life-time utilisation", _share(found.thread_life_time_util_pct)),
    )
    place, name = live_place_and_object(row)
    head = f"{printable(place)}  {printable(name)}".rstrip()
    return f"\n{head}\n" + "".join(f"  {name:<30}{value}\n" for name, value in facts)


def _average_hold(row: LiveRow) -> str:
    why = "several may hold it at once" if row.several_holders else "estimate"
    return f"{_time(row.metrics.average_hold_time_ns)} ({why})"


def _first_thread(lock: LiveLock) -> str:
    name = "-" if lock.first_thread is None else printable(lock.first_thread)
    return f"{name} (Java id {lock.first_java_id})" if lock.first_java_id else name


def _time(ns: float | None) -> str:
    return "-" if ns is None else duration(ns)


def _share(pct: float | None) -> str:
    return "-" if pct is None else percent(pct / 100)
