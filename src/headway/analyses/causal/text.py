"""Texts of causal results, the same in the terminal, the report and the JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.analyses.causal.types import RELEVANT_PCT
from headway.analyses.common.units import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.analyses.causal.types import Curve, Line

HOT_PCT = 10.0
"""Lines of at least so much of the flat profile look worth optimising."""
_DAY_S = 86400.0


def target_name(facts: Mapping[str, Any]) -> str:
    """Return a line's name for people (a row of causal_line): Order.java:42, Order.total, lock Order, GC pauses."""
    short = str(facts["class_name"]).rsplit(".", 1)[-1]
    kind = facts["kind"]
    if kind == "gc":
        return "GC pauses"
    if kind == "lock":
        return lock_name(str(facts["class_name"]), facts["line_number"])
    if kind == "method":
        return f"{short}.{facts['method']}"
    file = str(facts["file"] or "") or short.split("$")[0]
    return f"{file}:{facts['line_number']}" if facts["line_number"] else f"{short}.{facts['method']}"


def lock_name(asked: str, line: int | None) -> str:
    """Return the name of critical sections: lock Store, lock Store.put, lock Store:42. `asked` may end in a method."""
    *outer, last = asked.split(".")
    short = f"{outer[-1]}.{last}" if outer and last[:1].islower() else last
    return f"lock {short}:{line}" if line is not None and line > 0 else f"lock {short}"


def looks_hot(line: Line) -> bool:
    """Return whether a flat profile would suggest this line although it gains nothing."""
    return line.shape == "none" and max(line.samples_pct, line.blocked_pct) >= HOT_PCT


def percent_text(value: float) -> str:
    """Format a percentage with its sign and only meaningful digits."""
    return f"{value:+.0f} %" if abs(value) >= 9.95 else f"{value:+.1f} %"


def range_text(low: float | None, high: float | None) -> str:
    """Format an interval."""
    return "interval unknown" if low is None or high is None else f"{percent_text(low)} to {percent_text(high)}"


def seconds_text(seconds: float) -> str:
    """Format a waiting time: 40 s, 12 min, 3 h, more than a day."""
    if seconds >= _DAY_S:
        return "more than a day"
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{max(seconds, 1):.0f} s"


def curve_text(line: Line, curve: Curve) -> str:
    """Describe a curve in one sentence."""
    what = f"{line.line} ({line.method})" if line.kind == "line" and line.method else line.line
    if curve.shape == "unknown":
        return f"{what}: not known yet"
    if curve.shape == "none":
        return f"{what}: gives less than {RELEVANT_PCT:.0f} %, however fast it gets"
    if curve.maximum_pct is None or curve.maximum_at_pct is None:
        return what
    cut = "made free" if curve.maximum_at_pct == 100 else f"made {curve.maximum_at_pct} % faster"
    gained = {"latency": f"latency of {curve.progress_point}", "run": "the run"}.get(
        curve.measure, f"a visit of {curve.progress_point}"
    )
    interval = range_text(curve.maximum_low_pct, curve.maximum_high_pct)
    if curve.shape == "slower":
        return f"{what}: {cut}, {gained} takes {-curve.maximum_pct:.0f} % longer ({interval} of program speedup)"
    beyond = "; still faster brings no more" if curve.flat_from_pct else ""
    return f"{what}: {cut}, {gained} takes {curve.maximum_pct:.0f} % less time ({interval}){beyond}"


def verdict(lines: Sequence[Line], mode: str, *, unread: float | None = None, is_crowded: bool = False) -> str:
    """Return the one sentence to read first. `unread`: the share of CPU time without stacks, if that is too large.

    `is_crowded`: other programs had the cores, so that gains come out too small.
    """
    if mode == "suggest":
        return "Progress points that could be used: pick one that is visited steadily, hundreds of times a second."
    if not any(line.curves for line in lines):
        return "No line has a result: no experiment was made that can be compared."
    if unread is not None:
        return f"Nothing can be said of any line: {percent(unread)} of the CPU time has stacks that could not be read."
    best = next((line for line in lines if line.significant and line.shape in ("gain", "flattens")), None)
    if best is not None and best.curve is not None:
        more = "; likely more: other programs had the cores (HW636)" if is_crowded else ""
        return f"Work on {curve_text(best, best.curve)}{more}."
    slower = next((line for line in lines if line.shape == "slower"), None)
    if slower is not None and slower.curve is not None:
        return f"No line is known to gain anything. {curve_text(slower, slower.curve)}."
    weak = [line for line in lines if line.shape == "unknown"]
    if weak and all(line.is_beyond_delays for line in weak):
        return f"No line is known to gain anything; what {weak[0].line} seems to gain is more than its delays allow."
    if weak:
        return "No line is known to gain anything yet: the recording is too short for what it measures."
    return (
        f"No line gives {RELEVANT_PCT:.0f} % of program speedup: nothing measured here is worth optimising by itself."
    )
