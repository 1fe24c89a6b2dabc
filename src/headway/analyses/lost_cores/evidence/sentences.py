"""The evidence for a loss: sentences with figures, most important first, and the same figures as numbers.

Question   of one loss: how often and how long was waited, for whom, and what did that thread do meanwhile?
Method     waits come from waits.pieces, what holders of locks did from waits.threads.holders, meetings at barriers and latches
           from evidence.arrivals, everything else from the tables (evidence.kernel_figures). Asked for the largest losses only.
Assumes    and errs as these modules do. A figure that a recording can't tell is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.causes import CAUSES
from headway.analyses.common.columns import numbered
from headway.analyses.common.units import duration, percent, significant
from headway.analyses.lost_cores.evidence import stragglers
from headway.analyses.lost_cores.evidence.arrivals import meetings
from headway.analyses.lost_cores.evidence.at_once import limit_evidence
from headway.analyses.lost_cores.evidence.kernel_figures import LONG_NS, KernelFigures
from headway.analyses.lost_cores.evidence.seen_at import seen_at
from headway.analyses.lost_cores.places import MOST_NAMESAKES
from headway.analyses.waits.rules import PUT_BACK, RULES
from headway.analyses.waits.threads.holders import holder_states
from headway.analyses.waits.threads.thread_states import DOING
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.places import Places

    Ints = NDArray[np.int64]
    Window = tuple[int, int]
    Figures = dict[str, float | int | str | None]
    Explanation = tuple[list[str], Figures]

_CODES = {cause: code for code, cause in enumerate(CAUSES)}
_DOES = {
    "running": "running",
    "runnable": "ready to run",
    "blocked": "blocked on another lock",
    "gc_pause": "stopped by the collector",
    "sleeping": "asleep or in I/O",
    "handoff": "being woken up",
    "unknown": "doing what is not known",
}
_MOSTLY = 0.5
"""Of the time in which others wait for it, a holder that is off its core for longer needs no faster code, but no such wait."""
_MOST_NAMES = 3
_PUT_BACK = [rule.id for rule in RULES].index(PUT_BACK)
_WORKERS = [
    i for i, rule in enumerate(RULES) if rule.id in ("pool-worker", "fork-join-worker", "library-worker", "worker")
]


class Evidence:
    """Explains the losses of one recording; loads data on first use."""

    def __init__(self, places: Places) -> None:
        """Take what names places, and with it the recording and its waits."""
        self.places = places
        self.waits = places.waits
        self.kernel = KernelFigures(places.recording)
        self._by_cause: Mapping[str, Callable[[str, int, int, Window], Explanation]] = {
            causes.LOCK: self._lock,
            causes.IMBALANCE: self._imbalance_of,
            causes.STARVED: self._queue,
            causes.FULL: self._queue,
            causes.CONDITION: self._condition,
            causes.SLEEP: self._still,
            causes.IO: self._still,
            causes.FEW: self._few,
            causes.SCHEDULER: self._ready,
            causes.QUOTA: self._ready,
            causes.CARRIERS: self._carriers,
        }

    def of(self, cause: str, key: int, threads: Sequence[int], window: Window) -> tuple[tuple[str, ...], Figures]:
        """Return the sentences and figures of a loss in a window; none where nothing more is known.

        `threads`: those that it is about, the one with most of it first.
        """
        thread = threads[0] if threads else -1
        if cause == causes.SERIAL:
            found = self._serial(thread, threads[:MOST_NAMESAKES], window)
        elif cause in (causes.GC, causes.SAFEPOINT, causes.START, causes.END):
            found = self._phases(cause, window)
        elif cause in self._by_cause:
            found = self._by_cause[cause](cause, key, thread, window)
        else:
            found = [], {}
        return tuple(text.removesuffix(".") for text in found[0]), found[1]

    # --- waits ---------------------------------------------------------------------------------------------------------

    def _rows(self, cause: str, key: int, window: Window) -> Ints:
        return self.places.pieces(cause, key, window) if key >= 0 else np.zeros(0, np.int64)

    def _lengths(self, rows: Ints, window: Window) -> Ints:
        waits = self.waits
        return np.asarray(np.minimum(waits.end[rows], window[1]) - np.maximum(waits.start[rows], window[0]))

    def _waited(self, rows: Ints, window: Window) -> Explanation:
        """Tell how many waits there were."""
        if not len(rows):
            return [], {}
        count = len(np.unique(self.waits.block[rows]))
        threads = len(np.unique(self.waits.thread[rows]))
        total = int(self._lengths(rows, window).sum())
        who = f"{_many(count, 'wait')} of {_many(threads, 'thread')}"
        text = f"{who}, {duration(total)} in all, {duration(total / count)} on average."
        return [text], {"waits": count, "threads": threads, "wait_ns": total, "mean_wait_ns": round(total / count)}

    def _targets(self, rows: Ints, window: Window) -> list[tuple[int, float]]:
        """Return for whom was waited, and for what part of the time each, most first; nobody is left out."""
        length, target = self._lengths(rows, window), self.waits.target[rows]
        total = max(int(length.sum()), 1)
        threads, at = np.unique(target, return_inverse=True)
        sums = np.bincount(at.reshape(-1), weights=length)
        found = [(int(one), float(ns) / total) for one, ns in zip(threads, sums, strict=True) if one >= 0]
        return sorted(found, key=lambda row: -row[1])

    def _names(self, shares: list[tuple[int, float]]) -> str:
        """Name threads with their shares; those of one name, which programs start again and again, are one."""
        sums: dict[str | None, float] = {}
        for one, share in shares:
            name = self.places.thread(one)[0]
            sums[name] = sums.get(name, 0.0) + share
        most = sorted(sums, key=lambda name: -sums[name])[:_MOST_NAMES]
        shown = [f"'{name}' ({percent(sums[name])})" for name in most]
        rest = len(sums) - len(shown)
        return ", ".join(shown) + (f" and {_many(rest, 'other')}" if rest > 0 else "")

    def _lock(self, cause: str, key: int, _: int, window: Window) -> Explanation:
        rows = self._rows(cause, key, window)
        text, figures = self._waited(rows, window)
        text += self._either(rows)
        holders = self._targets(rows, window)
        if holders:
            text.insert(0, f"Meanwhile held by, or handed over to, {self._names(holders)}.")
            figures |= {"holders": len(holders), "main_holder_share": holders[0][1]}
        did = self._holding(rows)
        if did:
            parts = [f"{_DOES[state]} {percent(share)}" for state, share in did.items() if share >= 0.005]
            cure = ": what it waits for there is what to remove" if did.get("sleeping", 0.0) > _MOSTLY else ""
            text.insert(1, f"While others waited, its holder was {', '.join(parts)} of the time{cure}.")
            figures |= {f"holder_{state}_share": share for state, share in did.items()}
        if rows.size and self.waits.is_cycle[rows].any():
            ring = int(self._lengths(rows[self.waits.is_cycle[rows]], window).sum())
            text.append(
                f"For {duration(ring)} of it threads waited for each other in a ring: a deadlock, while it lasts."
            )
            figures["ring_ns"] = ring
        return text, figures

    def holder_asleep(self, key: int, window: Window) -> float:
        """Return in which part of the waits for a lock its holder was asleep or in I/O; 0 where that is not known."""
        return self._holding(self._rows(causes.LOCK, key, window)).get("sleeping", 0.0)

    def _either(self, rows: Ints) -> list[str]:
        """Tell of a queue whose elements may be a pool's things or tasks: who puts back does not say which."""
        sites = self.waits.sites
        if sites is None or not len(rows) or not (sites.rule[self.waits.block[rows]] == _PUT_BACK).any():
            return []
        return [
            "Its takers put one back for each that they took: things of a pool, or tasks that each add one; more of them"
            " at once would end the waits either way."
        ]

    def _holding(self, rows: Ints) -> dict[str, float]:
        """Return what holders did, as parts of the waiters' time, most first."""
        waits = self.waits
        if waits.data is None or waits.sites is None or not len(rows):
            return {}
        blocks = np.unique(waits.block[rows])
        objects, at = numbered(waits.data.blocks.blocker[blocks])
        unit = np.full(len(waits.data.blocks), -1, dtype=np.int64)
        unit[blocks] = at
        found = holder_states(waits.data, waits.sites.contended, unit, objects)
        sums = np.bincount(found.state, weights=found.ns, minlength=len(DOING))
        total = float(sums.sum())
        order = np.argsort(-sums, kind="stable").tolist()
        return {DOING[i]: float(sums[i]) / total for i in order if sums[i] > 0} if total else {}

    def _imbalance(self, cause: str, key: int, thread: int, window: Window) -> Explanation:
        rows = self._rows(cause, key, window)
        text, figures = self._waited(rows, window)
        met = meetings(self.waits, self.kernel, rows, window) if len(rows) else None
        if met is None or not met.last:
            return text, figures
        by_name: Counter[str | None] = Counter()
        for one, count in met.last.items():
            by_name[self.places.thread(one)[0]] += count
        wanted = self.places.thread(thread)[0]
        name, times = max(by_name.items(), key=lambda row: (row[1], row[0] == wanted))
        text.insert(0, f"The last to come was '{name}' in {times} of {_many(met.count, 'meeting')}.")
        figures |= {"meetings": met.count, "last_thread": name, "last_times": times}
        if met.others_mean_ns is not None and met.last_ns is not None:
            ratio = f", {significant(met.last_ns / met.others_mean_ns)} times as long" if met.others_mean_ns else ""
            text.insert(
                1,
                f"Before {'it' if met.looked_at == 1 else 'each'} the last one ran {duration(met.last_ns)} on average,"
                f" the others {duration(met.others_mean_ns)}{ratio}.",
            )
            figures |= {"last_mean_run_ns": round(met.last_ns), "others_mean_run_ns": round(met.others_mean_ns)}
        return text, figures

    def _imbalance_of(self, cause: str, key: int, thread: int, window: Window) -> Explanation:
        """Tell of a straggler first, then of the meetings."""
        text, figures = stragglers.straggler_evidence(self.places, thread, window)
        more, others = self._imbalance(cause, key, thread, window)
        return [*text, *more], {**figures, **others}

    def _queue(self, cause: str, key: int, _: int, window: Window) -> Explanation:
        rows = self._rows(cause, key, window)
        text, figures = self._waited(rows, window)
        slow = self._targets(rows, window)
        if not slow:
            return text, figures
        stage = "producer" if cause == causes.STARVED else "consumer"
        threads, ran = self.kernel.ran(np.array([window[0]]), np.array([window[1]]))
        name = self.places.thread(slow[0][0])[0]
        same = {one for one, _share in slow if self.places.thread(one)[0] == name}
        busy = [int(ns[0]) for one, ns in zip(threads, ran, strict=True) if int(one) in same]
        share = sum(busy) / (window[1] - window[0]) / len(busy) if busy else None
        said = ""
        if share is not None and len(busy) == 1:
            said = f"; '{name}' was running for {percent(share)} of the time"
        elif share is not None:
            said = f"; the {len(busy)} threads '{name}' were running for {percent(share)} of the time each"
        text.insert(0, f"The slow side is the {stage}: {self._names(slow)} ended the waits{said}.")
        figures |= {"slow_stage": stage, "slow_threads": len(slow), "slow_busy_share": share}
        return text, figures

    def _condition(self, cause: str, key: int, _: int, window: Window) -> Explanation:
        rows = self._rows(cause, key, window)
        text, figures = self._waited(rows, window)
        wakers = self._targets(rows, window)
        if wakers:
            text.append(f"Woken by {self._names(wakers)}.")
            figures |= {"wakers": len(wakers), "main_waker_share": wakers[0][1]}
        return text, figures

    def _still(self, cause: str, key: int, thread: int, window: Window) -> Explanation:
        text, figures = self._waited(self._rows(cause, key, window), window)
        if text:
            return text, figures
        equals = self.places.namesakes(thread)
        found = self.places.code.asleep(equals, cause, window, self.waits)
        count = sum(len(start) for _, start, _ in found)
        total = sum(int((end - start).sum()) for _, start, end in found)
        if not count:
            return [], {}
        names = {self.places.thread(one)[0] for one, _, _ in found}
        name = names.pop() if len(names) == 1 else self.places.crowd(thread)[0]
        what = "slept" if cause == causes.SLEEP else "waited for files, the network or another process"
        who = f"'{name}'" if name is not None else "The program's threads"
        said = f"{who} {what} {_many(count, 'time')}, {duration(total)} in all, {duration(total / count)} on average"
        said = "; ".join([said, *seen_at(self.places.recording, equals, cause)]) + "."
        limit, figures = limit_evidence(self.places, equals, window)
        return [*limit, said], {"times": count, "blocked_ns": total, "mean_ns": round(total / count), **figures}

    def _carriers(self, cause: str, _: int, __: int, window: Window) -> Explanation:
        waits = self.waits
        rows = np.flatnonzero((waits.cause == _CODES[cause]) & (waits.end > window[0]) & (waits.start < window[1]))
        text, figures = self._waited(rows, window)
        carriers, pinned = self.kernel.carriers()
        text.append(f"There were {_many(carriers, 'carrier')}; {_many(pinned, 'park')} kept one.")
        figures |= {"carriers": carriers, "pinned_parks": pinned}
        return text, figures

    # --- no waits ------------------------------------------------------------------------------------------------------

    def _serial(self, thread: int, threads: Sequence[int], window: Window) -> Explanation:
        text, figures = stragglers.straggler_evidence(self.places, thread, window)
        name = self.places.thread(thread)[0]
        longest = self.kernel.longest_alone(thread, window) if thread >= 0 else None
        spot = self.places.code.alone(threads, window)
        if longest is not None:
            text.append(f"'{name}' worked alone for up to {duration(longest)} at a stretch.")
            figures["longest_alone_ns"] = longest
        if spot.method is not None:
            whole = "" if spot.is_innermost else " and what it calls"
            whose = "its" if len(threads) == 1 else f"the {_many(len(threads), 'thread')}'"
            text.append(f"{spot.share:.0%} of {whose} samples then are in {spot.method}{whole}.")
            figures["place_share"] = spot.share
        active = self.kernel.active(window)
        if active is not None:
            wall = window[1] - window[0]
            text.append(f"Exactly one thread was active for {percent(min(active[1] / wall, 1))} of the wall time.")
            figures["one_active_ns"] = active[1]
        return text, figures

    def _few(self, cause: str, key: int, _: int, window: Window) -> Explanation:
        joins = self._rows(cause, key, window)
        text, figures = self._waited(joins, window)
        alone = self._targets(joins, window)
        if alone:
            text.insert(0, f"Joined, while nobody else had finished work beside it: {self._names(alone)}.")
        active = self.kernel.active(window)
        if active is not None:
            text.append(f"On average {significant(active[0])} threads were active.")
            figures["mean_active"] = active[0]
        waits = self.waits
        inside = (waits.end > window[0]) & (waits.start < window[1])
        idle = np.flatnonzero((waits.cause == _CODES[cause]) & (waits.target < 0) & inside)
        if waits.sites is not None:
            idle = idle[np.isin(waits.sites.rule[waits.block[idle]], _WORKERS)]
        if len(idle):
            threads = len(np.unique(waits.thread[idle]))
            length = int(self._lengths(idle, window).sum())
            text.append(
                f"{_many(threads, 'thread')} waited for work {_many(len(idle), 'time')}, {duration(length)} in all:"
                " there were fewer or coarser tasks than threads."
            )
            figures |= {"idle_threads": threads, "idle_times": len(idle), "idle_ns": length}
        elif active is not None and waits.sites is not None:
            text.append("No thread of a pool waited for work: there were not more threads.")
        return text, figures

    def _ready(self, _: str, __: int, ___: int, window: Window) -> Explanation:
        if not self.places.recording.has("slice"):
            return [], {}
        found = self.kernel.ready(window)
        text = [
            f"Threads waited {duration(found['ready_ns'])} for a core in all, the VM's too, whether one was free or not."
        ]
        if found["long_waits"]:
            text.append(
                f"{_many(found['long_waits'], 'wait')} for a core took more than {duration(LONG_NS)}, the longest"
                f" {duration(found['longest_ns'])}."
            )
        if "migrations" in found:
            text.append(f"Threads changed their CPU {_many(found['migrations'], 'time')}.")
        return text, dict(found)

    def _phases(self, cause: str, window: Window) -> Explanation:
        kind = {causes.GC: "gc_pause", causes.SAFEPOINT: "safepoint", causes.START: "startup", causes.END: "shutdown"}[
            cause
        ]
        found = self.kernel.phases(kind, window)
        if not found:
            return [], {}
        total, longest = sum(ns for ns, _ in found), found[0][0]
        if cause in (causes.START, causes.END):
            return [f"It took {duration(total)}."], {"phase_ns": total}
        sums: dict[str, int] = {}
        for ns, why in found:
            sums[why or "not told"] = sums.get(why or "not told", 0) + ns
        most = sorted(sums, key=lambda each: -sums[each])[:_MOST_NAMES]
        named = ", ".join(f"{each} ({duration(sums[each])})" for each in most)
        text = [
            f"{_many(len(found), 'pause')}, {duration(total)} in all, the longest {duration(longest)}.",
            f"Causes: {named}.",
        ]
        return text, {"pauses": len(found), "pause_ns": total, "longest_ns": longest, "main_cause": most[0]}


def _many(count: int, what: str) -> str:
    return counted(count, what, grouped=True)
