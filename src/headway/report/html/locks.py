"""The locks of a recording for the page: the first rows of `headway locks`, and when each is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.analyses.locks.analysis import has_locks, locks
from headway.analyses.locks.answer import Locks
from headway.analyses.locks.namesakes import holder_groups, holders_by_name, waker_groups, wakers_by_name
from headway.analyses.locks.timeline import waiters_over_time
from headway.analyses.locks.types import Holder, Lock, Waker
from headway.analyses.overview import MOST_LOCKS
from headway.errors import Notice
from headway.report.analysis import View
from headway.report.html.text import cut
from headway.report.json.locks import holder_json, locks_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

MAX_LOCKS, MAX_SITES, MAX_HOLDERS, MAX_WAKERS, MAX_FRAMES = MOST_LOCKS, 6, 8, 6, 12
BINS = 240
_CHARS = 160
_PLAIN = (
    *("kind", "waiting", "contention", "objects", "dead", "deadlocked", "chain_is_cycle", "holding", "first_ns"),
    *("times_parked", "parked_now", "peak_parked", "parking_thread_time_ns", "parking_real_time_ns", "last_ns"),
    *("average_parking_time_ns", "average_hold_time_ns", "real_time_util_pct", "thread_time_util_pct"),
    *("real_life_time_util_pct", "thread_life_time_util_pct", "wait_time_ns", "true_hold_time_ns"),
    *("lost_core_ns", "speedup_bound", "more_sites"),
)


def locks_view(recording: Recording, found: Locks | None = None) -> View:
    """Return the view's values, or why there are none.

    `found`: the first MAX_LOCKS of the recording, by those who have asked already.
    """
    if not has_locks(recording):
        return View("locks", None, Notice.of("HW430", path=recording.path.name, reason="").message)
    if recording.wall_ns <= 0:
        return View("locks", None, Notice.of("HW505").message)
    found = locks(recording, limit=MAX_LOCKS) if found is None else found
    maker = found.rows.source
    waiters = waiters_over_time(recording, [maker.blocker_ids(of) for of in found.rows.figures()], BINS)
    plain = list(locks_json(found))
    view = {
        "bins": BINS,
        "contended_ns": found.contended_ns,
        "idle_ns": found.idle_ns,
        "hidden": found.hidden,
        "rows": [_row(*each) for each in zip(found.rows, plain, waiters, strict=True)],
        "deadlocks": [[_step(link.thread, link.name) for link in each.links] for each in found.deadlocks[:5]],
    }
    return View("locks", view, None, found.notices)


def _row(row: Lock, values: dict[str, Any], waiters: NDArray[np.float64]) -> dict[str, Any]:
    holders, wakers = holders_by_name(row), wakers_by_name(row)
    return {
        "name": cut(row.name, _CHARS),
        "place": None if row.place is None else cut(row.place, _CHARS),
        "class_name": cut(row.class_name, _CHARS),
        "rule": cut(row.rule.text, _CHARS * 2),
        "first_thread": None if row.first_thread is None else cut(row.first_thread, _CHARS),
        **{key: values[key] for key in _PLAIN},
        "sites": [_site(site) for site in values["sites"][:MAX_SITES]],
        "holders": [_holder(holder) for holder in holders[:MAX_HOLDERS]],
        "more_holders": row.more_holders + sum(map(len, holder_groups(row)[MAX_HOLDERS:])),
        "wakers": [_waker(waker) for waker in wakers[:MAX_WAKERS]],
        "more_wakers": row.more_wakers + sum(map(len, waker_groups(row)[MAX_WAKERS:])),
        "chain": [_step(link.thread, link.name) for link in row.chain],
        "patterns": [{"name": each.name, "text": cut(each.text, _CHARS * 2)} for each in row.patterns],
        "waiters": [round(float(value), 3) for value in waiters],
    }


def _step(thread: str, name: str) -> dict[str, str]:
    return {"thread": cut(thread, _CHARS), "lock": cut(name, _CHARS)}


def _site(site: dict[str, Any]) -> dict[str, Any]:
    kept = {key: site[key] for key in ("share", "wait_ns", "times", "stacks_taken", "contention")}
    frames = [cut(frame, _CHARS) for frame in site["stack"][:MAX_FRAMES]]
    is_cut = bool(site["is_cut"]) or len(site["stack"]) > MAX_FRAMES
    return {"line": cut(site["line"], _CHARS), **kept, "stack": frames, "is_cut": is_cut}


def _waker(waker: Waker) -> dict[str, Any]:
    line = None if waker.line is None else cut(waker.line, _CHARS)
    return {"thread": cut(waker.thread, _CHARS), "line": line, "share": waker.share, "times": waker.times}


def _holder(holder: Holder) -> dict[str, Any]:
    values = holder_json(holder)
    kept = {key: values[key] for key in ("share", "wait_ns", "doing", "seen_by")}
    blocked_on = [{"name": cut(each.name, _CHARS), "wait_ns": each.wait_ns} for each in holder.blocked_on[:4]]
    return {"thread": cut(holder.thread, _CHARS), **kept, "blocked_on": blocked_on}
