"""Computes causal profiles: for each line, the program's speedup when that line is faster, with confidence intervals.

Question   per line (method, lock, GC pauses) the program speedup at each virtual speedup, ranked, with what is not known said.
Method     causal profiling (Curtsinger and Berger, Coz, SOSP 2015; blocked samples: Ahn and others, OSDI 2024): experiments of
           the recording are compared with their neighbours at 0 % (`causal.pairs`), pooled per line and virtual speedup
           (`causal.curves`), scaled to the whole run (`causal.phases`); noise from `causal.noise`; what delays cost the
           program beyond their time is taken off (`causal.stops`). A line is a finding if its slope differs from zero, held
           against what it can gain at most (`causal.limits`), counted against all lines tried (Benjamini and Hochberg).
           docs/explanation/causal.md.
Assumes    a virtual speedup does to the program what a real one would: cores enough for the threads that run, or delays that
           keep the core; nothing waits for times of day; progress points stand for what matters.
Wrong when the line's work can't be made faster without changing other lines, or caches and memory gain as well; and for results
           marked by a notice.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headway.analyses.causal import health, limits, pairs, phases, stops, text
from headway.analyses.causal.data import read
from headway.analyses.causal.types import FINDING_EXPERIMENTS, RELEVANT_PCT, Causal, Curve, CurvePoint, Line, Shape
from headway.errors import HeadwayError, Notice
from headway.model.causal import curves as causal_curves
from headway.model.causal import noise as causal_noise
from headway.model.causal.lines import fit_line, with_spread
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.causal.data import Data
    from headway.analyses.causal.phases import Share
    from headway.model.causal.comparisons import Floats, Measured, Pairs
    from headway.model.causal.curves import Fit, Slope
    from headway.store import Recording

RELEVANT = RELEVANT_PCT / 100
_FLAT_PCT = 1.0
"""Lines without experiments are told of from this share of the flat profile on."""
_SAFE = 0.7
"""An interval of so much of the slope's size either way finds it in four of five recordings."""
_LEAST_EXPERIMENTS = 8
"""So many are worth an interval, where there is none yet."""
_FOUND = 2.8
"""Standard errors: a true slope of so many is found in four of five recordings, counted among some lines."""
_Z = 1.96
_NEAR = 8
_RANK: dict[Shape, int] = {"gain": 0, "flattens": 0, "slower": 1, "unknown": 2, "none": 3, "untested": 4}


def causal(recording: Recording, *, line: str | None = None) -> Causal:
    """Return the results of a causal recording, of one line only if `line` names it (FILE:LINE, CLASS:LINE, CLASS.METHOD).

    Raises HeadwayError HW635 for another recording, HW620 for a line that has none.
    """
    if not recording.manifest.is_causal:
        raise HeadwayError("HW635", path=recording.path)
    return analyse(read(recording), str(recording.path), line)


def analyse(data: Data, path: str, line: str | None = None) -> Causal:
    """Compute the results from a recording's tables; `path` names it in messages and commands."""
    use = pairs.usable(data)
    dropped = pairs.warm_up(data, data.measures[0], use) if data.measures else use & False
    use &= ~dropped
    idle, beside_idle = pairs.idle(data, use)
    use &= ~idle
    data = stops.without_cost(data, use)
    lines = _lines(data, use, use & ~beside_idle)
    if line is not None:
        lines = _chosen(lines, line, path)
    return Causal(
        mode=data.mode,
        runs=len(data.runs),
        recorded_ns=data.recorded_ns,
        delay_ns=int(data.columns["delay_ns"].sum()),
        experiments=int(use.sum()),
        warm_up_experiments=int(dropped.sum()),
        gc_experiments=int((use & (data.columns["gcs"] > 0)).sum()),
        progress_points=data.points,
        lines=lines,
        verdict=text.verdict(
            lines,
            data.mode,
            unread=health.unread_share(data) if health.is_blind(data) else None,
            is_crowded=health.is_crowded(data),
        ),
        next=_next(lines, data.mode, path),
        health=data.health,
        notices=(*stops.notices(data, use, path), *_notices(data, use, dropped, lines, path)),
    )


def _notices(
    data: Data, use: NDArray[np.bool_], dropped: NDArray[np.bool_], lines: Sequence[Line], path: str
) -> list[Notice]:
    notices = [*health.health_notices(data, path), *health.experiment_notices(data, use, dropped)]
    if data.mode != "suggest" and not any(each.curves for each in lines):
        base = int((use & (data.columns["speedup_pct"] == 0)).sum())
        whole = int(use.sum())
        reason = "the program was too short" if whole < 3 else f"{base} at 0 %, {whole - base} with a virtual speedup"
        if data.measures and whole and not any(each.visits[use].any() for each in data.measures):
            reason = "no progress point was visited in them"
        experiment_count = int((~data.columns["is_control"].astype(bool)).sum())
        notices.append(Notice.of("HW621", path=path, experiments=experiment_count, reason=reason))
    return [*notices, *health.line_notices(lines, path)]


def _next(lines: Sequence[Line], mode: str, path: str) -> str:
    if mode == "suggest":
        return "headway causal --progress CLASS.METHOD -- CMD"
    best = next((each for each in lines if each.significant), None)
    if best is not None:
        return f"headway causal {shlex.quote(path)} --line {shlex.quote(best.line)}"
    return f"headway causal ... -o {shlex.quote(path)}   (runs of the same command add up)"


def _chosen(lines: tuple[Line, ...], wanted: str, path: str) -> tuple[Line, ...]:
    """Return the lines that go by a name."""
    found = tuple(each for each in lines if wanted in _names(each))
    if not found:
        near = ", ".join(nearest_first(wanted, (each.line for each in lines), _NEAR)) or "none"
        raise HeadwayError("HW620", path=path, line=wanted, near=near)
    return found


def _names(line: Line) -> set[str]:
    short = line.class_name.rsplit(".", 1)[-1]
    names = {line.line}
    for name in (line.class_name, short):
        names |= {f"{name}:{line.line_number}", f"{name}.{line.method}"} if line.kind == "line" else set()
        names |= {f"{name}.{line.method}"} if line.kind == "method" else set()
        names |= {name, f"lock {name}"} if line.kind == "lock" else set()
    return names | ({"gc"} if line.kind == "gc" else set())


# --- curves ------------------------------------------------------------------------------------------------------------


def _lines(data: Data, use: NDArray[np.bool_], running: NDArray[np.bool_]) -> tuple[Line, ...]:
    """Return every line with experiments, and those that a flat profile would show, ranked.

    `running`: experiments during which their line ran, of `use`.
    """
    compared, known = pairs.pairs(data, use)
    tried = sorted(set(data.columns["line"][compared.treated].tolist()) & set(data.lines))
    fits: dict[tuple[int, int], tuple[Fit, Pairs]] = {}
    groups = pairs.neighbourhoods(data)
    measures = tuple(_with_spread(data, measured, compared, known) for measured in data.measures)
    for number, measured in enumerate(measures):
        rates = causal_noise.local_rates(measured, compared, known, groups)
        quiet = causal_noise.residuals(known, measured, rates, 1.0)
        for line in tried:
            of_line = compared.of(data.columns["line"][compared.treated] == line)
            fits[line, number] = _fit(data, measured, of_line, rates, quiet, line), of_line
    shares = _shares(data, running, {line: fits[line, 0][0] for line in tried} if data.measures else {})
    curves: dict[int, list[tuple[Curve, float]]] = {line: [] for line in tried}
    for (line, number), (fit, of_line) in fits.items():
        measured = data.measures[number]
        share = shares[line] if measured.measure == "throughput" else phases.Share()
        whole = causal_curves.scaled(fit, share.value, share.relative_error, line)
        if len(whole.speedups):
            curves[line].append((_curve(data, measured, of_line, whole), whole.degrees))
    return _ranked(data, use, _judged(data, curves), shares)


def _with_spread(data: Data, measured: Measured, compared: Pairs, known: Pairs) -> Measured:
    import numpy as np

    columns = data.columns
    return with_spread(
        measured,
        compared,
        known,
        groups=pairs.neighbourhoods(data),
        line=columns["line"],
        speedup_pct=columns["speedup_pct"],
        longer=columns["dur_ns"] / np.maximum(columns["effective_ns"], 1),
    )


def _fit(data: Data, measured: Measured, of_line: Pairs, rates: Floats, quiet: Floats, line: int) -> Fit:
    speedup_pct = data.columns["speedup_pct"]
    fit = fit_line(measured, of_line, rates=rates, quiet=quiet, speedup_pct=speedup_pct, seed=line)
    fit = replace(
        fit, most=limits.possible_gains(data, of_line, measured, (fit.speedups * 100).round().astype(int).tolist())
    )
    return stops.with_cost_uncertainty(fit, of_line, measured, speedup_pct)


def _shares(data: Data, use: NDArray[np.bool_], fits: dict[int, Fit]) -> dict[int, Share]:
    """Return the share of time in which each line runs; experiments' plain times come from the slopes that are there."""
    import numpy as np

    ratio = np.ones(data.count)
    for line, fit in fits.items():
        slope = causal_curves.slope(fit)
        if slope is not None and slope.p_value is not None and slope.p_value < 0.05:
            is_of_line = data.columns["line"] == line
            for speedup, gain in zip(
                (fit.speedups * 100).round().astype(int).tolist(), fit.gains.tolist(), strict=True
            ):
                ratio[is_of_line & (data.columns["speedup_pct"] == speedup)] = max(1 - gain, 0.05)
    plain, whole = phases.plain_times(data, ratio)
    return {line: phases.share(data, line, use, plain, whole) for line in fits}


def _curve(data: Data, measured: Measured, of_line: Pairs, fit: Fit) -> Curve:
    """Return a curve; whether it is a finding is decided over all of them (`_judged`)."""
    slope, knee = causal_curves.slope(fit), causal_curves.knee(fit)
    assert slope is not None
    assert knee is not None
    return Curve(
        progress_point=measured.name,
        measure=measured.measure,
        shape="unknown",
        significant=False,
        slope=slope.value,
        slope_low=slope.low,
        slope_high=slope.high,
        slope_most=slope.most,
        p_value=slope.p_value,
        maximum_pct=knee.value * 100,
        maximum_low_pct=None if knee.low is None else knee.low * 100,
        maximum_high_pct=None if knee.high is None else knee.high * 100,
        maximum_at_pct=round(knee.at * 100),
        flat_from_pct=round(knee.at * 100) if knee.is_bent else None,
        needs_s=_needs(data, slope, len(of_line.treated)),
        points=_points(data, measured, of_line, fit),
    )


def _points(data: Data, measured: Measured, of_line: Pairs, fit: Fit) -> tuple[CurvePoint, ...]:
    points = []
    for column, (speedup, gain) in enumerate(zip(fit.speedups.tolist(), fit.gains.tolist(), strict=True)):
        rows = of_line.treated[data.columns["speedup_pct"][of_line.treated] == round(speedup * 100)]
        ends = None if fit.drawn is None else causal_curves.bounds(gain, fit.drawn[:, column], fit.stretch)
        points.append(
            CurvePoint(
                virtual_speedup_pct=round(speedup * 100),
                program_speedup_pct=gain * 100,
                low_pct=None if ends is None else ends[0] * 100,
                high_pct=None if ends is None else ends[1] * 100,
                visits=round(float(measured.visits[rows].sum())),
                experiments=len(rows),
                gc_experiments=int((data.columns["gcs"][rows] > 0).sum()),
            )
        )
    return tuple(points)


def _needs(data: Data, slope: Slope, experiments: int) -> float | None:
    """Return how many seconds more of such recording would make a finding of a slope, or of its absence.

    Intervals shrink with the square root of the time. It is enough if the half width is `_SAFE` of the slope, or if the
    interval is inside what counts as no effect. A slope beyond what delays allow is taken to be as large as they do; if it stays
    where it is, it needs as much evidence as a finding does. None: it would never be one.
    """
    recorded_s = data.recorded_ns / 1e9
    if slope.low is None or slope.high is None:
        return recorded_s * max(_LEAST_EXPERIMENTS / max(experiments, 1) - 1, 0.5)
    most = slope.value if slope.most is None else min(slope.value, slope.most)
    size = abs(most)
    enough = max(_SAFE * size, RELEVANT - size)
    half = (slope.high - slope.low) / 2
    longer = max((half / enough) ** 2, FINDING_EXPERIMENTS / max(experiments, 1), 1.1)
    if slope.low > most:
        found = causal_curves.evidence(slope.value, half / _Z, slope.most)
        if found <= 0:
            return None
        longer = max(longer, (_FOUND / found) ** 2)
    return recorded_s * (longer - 1)


def _judged(data: Data, curves: dict[int, list[tuple[Curve, float]]]) -> dict[int, tuple[Curve, ...]]:
    """Return the curves with their shapes and what is a finding, counted over all curves.

    None is where too many stacks are unread: a line that runs in them is made less fast than the experiment says, and neither
    its gain nor the lack of one means anything.
    """
    blind = health.is_blind(data)
    every = [(line, curve) for line, of_line in curves.items() for curve, _ in of_line]
    are_significant = causal_curves.significant([curve.p_value for _, curve in every])
    judged: dict[int, list[Curve]] = {line: [] for line in curves}
    for (line, curve), is_significant in zip(every, are_significant, strict=True):
        low, high = curve.slope_low, curve.slope_high
        is_finding = is_significant and low is not None and high is not None and (low > 0 or high < 0)
        is_finding = is_finding and sum(point.experiments for point in curve.points) >= FINDING_EXPERIMENTS
        is_finding = is_finding and not blind
        shape: Shape = "unknown" if blind else _shape(curve, is_finding)
        known = shape != "unknown"
        judged[line].append(
            replace(curve, shape=shape, significant=is_finding, needs_s=None if known or blind else curve.needs_s)
        )
    return {line: tuple(of_line) for line, of_line in judged.items()}


def _shape(curve: Curve, is_finding: bool) -> Shape:
    if curve.slope is None or curve.slope_low is None or curve.slope_high is None:
        return "unknown"
    if is_finding:
        if curve.slope < 0:
            return "slower"
        return "gain" if curve.flat_from_pct is None else "flattens"
    return "none" if curve.slope_low >= -RELEVANT and curve.slope_high <= RELEVANT else "unknown"


# --- lines -------------------------------------------------------------------------------------------------------------


def _ranked(
    data: Data, use: NDArray[np.bool_], curves: dict[int, tuple[Curve, ...]], shares: dict[int, Share]
) -> tuple[Line, ...]:
    cpu_ns = health.ran_ns(data)
    lines = []
    for number, facts in data.lines.items():
        cpu_pct = 100 * facts["cpu_ns"] / max(cpu_ns, 1)
        blocked_pct = 100 * facts["blocked_ns"] / max(data.recorded_ns, 1)
        of_line = curves.get(number, ())
        if of_line or max(cpu_pct, blocked_pct) >= _FLAT_PCT:
            experiments = int((use & (data.columns["line"] == number)).sum())
            share = shares.get(number, phases.Share()).value
            lines.append(_line(facts, cpu_pct, blocked_pct, of_line, experiments, share))
    return tuple(sorted(lines, key=_rank))


def _line(
    facts: Any, cpu_pct: float, blocked_pct: float, curves: tuple[Curve, ...], experiments: int, share: float
) -> Line:
    return Line(
        line=text.target_name(facts),
        kind=facts["kind"],
        class_name=facts["class_name"],
        method=facts["method"],
        source_file=facts["file"] or "",
        line_number=facts["line_number"] or None,
        samples_pct=cpu_pct,
        blocked_pct=blocked_pct,
        samples=int(facts["samples"]),
        phase_share=share,
        experiments=experiments,
        curves=curves,
    )


def _rank(line: Line) -> tuple[float, float, str]:
    """Return what to sort by: findings by what they give at least, then what is not known, then the flat profile."""
    curve = line.curve
    size = -max(line.samples_pct, line.blocked_pct)
    if curve is not None and line.shape in ("gain", "flattens"):
        size = -(curve.slope_low or 0.0)
    elif curve is not None and line.shape == "slower":
        size = curve.slope_high or 0.0
    return (_RANK[line.shape], size, line.line)
