"""Estimates the full counts of groups that took turns on the counters, each with an interval.

Question   how many events there were in the running time of a thread, when its group counted in a part of it only.
Method     value = sum(count) x sum(enabled) / sum(running), over all slices of the interval: scaling each slice by itself
           would be wrong by half and more, since the many slices without any counting drop out. The interval is that of a ratio
           estimator (Cochran, Sampling Techniques, 1977, chapter 6) over blocks of time, with Student's t and the finite
           population correction: what was counted all the time is exact. In fewer than LEAST_BLOCKS it is that of rotations.
           Running time whose counts are not known leaves a count without an upper end; its lower one stays the least there was.
Assumes    which group counts when has nothing to do with what the thread does.
Wrong when a thread's slices keep step with the rotation; withheld below LEAST_EVENTS, where the published comparison of
           multiplexed and plain counts (PerfUtil, table 4.1) falls apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headway.analyses.counters.metrics import Metric
from headway.analyses.counters.types import Figure
from headway.model.students_t import t_quantile

BLOCKS = 48
"""Into so many parts of equal length a window is divided: long against a rotation of some milliseconds, and enough of them."""
LEAST_EVENTS = 3_000_000
LEAST_BLOCKS = 6
_FULL = 1 - 1e-3
_NOTHING_KNOWN = "the counts of all its running time are not known"
_ROTATION_NS, _MEMORY_NS, _CORRELATION = 4e6, 1e6, 0.36
"""How long a group has the counters, how long a program's rate stays alike, and what that makes of the variance (simulated)."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What is known of one count. `seen`: what was counted, in `did_ns` of the `could_ns` in which it could have been.

    `blocks`: in how many blocks of time, `squares`: what the mean rate leaves over in each of them, squared and summed up.
    `less`, `more`: so much less and more it can be, since slices that reach over a border were divided by time. `unknown_ns`:
    running time beside `could_ns` of which nothing is known.
    """

    seen: float
    could_ns: float
    did_ns: float
    blocks: float = 0
    squares: float = 0.0
    less: float = 0.0
    more: float = 0.0
    unknown_ns: float = 0.0


def count(of: Counted) -> Figure:
    """Return a count with its interval. Without the counts of some of the running time nothing bounds it above: high is None."""
    if of.could_ns <= 0:
        return Figure(None, None, None, _NOTHING_KNOWN) if of.unknown_ns > 0 else Figure(0.0, 0.0, 0.0)
    if of.did_ns <= 0:
        return Figure(None, None, None, "its group never counted while this ran")
    scale = of.could_ns / of.did_ns
    is_bounded = of.unknown_ns <= 0 and math.isfinite(of.more)
    if of.did_ns >= of.could_ns * _FULL:
        return Figure(
            of.seen, max(0.0, of.seen - of.less), (of.seen + of.more) * max(1.0, scale) if is_bounded else None
        )
    value = of.seen * scale
    if value < LEAST_EVENTS:
        return Figure(
            None, None, None, f"fewer than {LEAST_EVENTS / 1e6:.0f} million events, of a group that took turns"
        )
    wide = _half_width(of) * scale
    if wide > value:
        return Figure(None, None, None, "it ran too briefly for a group that took turns")
    high = value + wide + of.more * scale if is_bounded else None
    return Figure(value, max(of.seen - of.less, value - wide - of.less * scale), high)


def _half_width(of: Counted) -> float:
    """Return half the interval of what was counted: from the blocks, or, where there are few, from how rotations vary."""
    if of.blocks < LEAST_BLOCKS:
        turns = of.did_ns / _ROTATION_NS
        relative = (of.could_ns / of.did_ns - 1) * (1 / max(turns, 1e-9) + _CORRELATION * _MEMORY_NS / of.could_ns)
        return t_quantile(max(1, int(of.blocks))) * of.seen * math.sqrt(relative)
    variance = of.blocks / (of.blocks - 1) * of.squares * max(0.0, 1 - of.did_ns / of.could_ns)
    return t_quantile(int(of.blocks) - 1) * math.sqrt(variance)


def ratio(metric: Metric, seen: Mapping[str, float], figures: Mapping[str, Figure]) -> Figure:
    """Return a ratio of counts of one group: what the group missed it missed of all of them.

    Its interval has room for all the counts that it is made of, each anywhere in its own. It has none where the counts of some of
    the running time are not known: then it is the ratio of the rest.
    """
    of = [figures[name] for name in metric.events]
    withheld = next((each.withheld for each in of if each.withheld), "")
    if withheld:
        return Figure(None, None, None, withheld)
    value = metric.value(seen)
    if value is None:
        return Figure(None, None, None, "nothing was counted of what it is divided by")
    if any(each.high is None for each in of):
        return Figure(value, None, None)
    if all(each.low == each.high for each in of):
        return Figure(value, value, value)
    low, high = ({name: _number(getattr(figures[name], end)) for name in metric.events} for end in ("low", "high"))
    return Figure(value, metric.bound(low, high), metric.bound(high, low))


def _number(of: float | None) -> float:
    return of or 0.0
