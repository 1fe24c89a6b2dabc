"""The side cost of delays: CPU time that a program loses after each stop (cold caches), and its removal from results.

Question   delays stop threads for some milliseconds at a time. Others take their caches meanwhile (other programs, other virtual
           machines of the host), and what comes after each stop is slower. A line that is really faster stops nobody.
Method     in experiments without any speedup (`is_control`) all threads stand still together, again and again. They are
           compared with the experiments at 0 % beside them: the CPU time that a visit takes more, by how long threads stood
           still per CPU time (`stood_ns`: each stop for `kMostStoodNs` at most, ledger.h), is the cost, and less so where the
           next stop comes before all of it is lost. As much is taken off the time of experiments with a speedup, for what
           threads stood still in those; a sleep that is made shorter counts as a stop of the sleeper, which a faster program
           would not have either. CPU time, as how long threads sleep and wait differs for other reasons.
           The cost is shrunk by its own noise (1 - variance / square, none if that is negative; after James and Stein,
           Estimation with quadratic loss, 1961): what is not there must not be found.
Assumes    stops cost all threads alike, in proportion to their length up to that limit; the CPU time lost is on the way of
           what the program waits for, spread over the threads that run at the same time.
Wrong when threads that nobody waits for stand still most: then too much is taken off. Where the cores are taken (`is_spin`)
           nothing is known of it, and nothing taken off; nor for latency pairs and whole runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.analyses.causal import pairs as causal_pairs
from headway.analyses.causal.data import END_TO_END
from headway.analyses.causal.text import target_name
from headway.analyses.common.units import percent
from headway.errors import Notice
from headway.model.causal.noise import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.causal.data import Data
    from headway.model.causal.comparisons import Floats, Measured, Pairs
    from headway.model.causal.curves import Fit

_LEAST = 6
"""Control experiments that say anything."""
_MOST = 0.5
"""Of an experiment's time without delays, at most so much is taken off."""
_BENDS = tuple(0.05 * at for at in range(21))
_SEED = 19610620
_NOTABLE = 0.02
"""Of the time at one line's speedup: what is taken off is told from there on."""
_LONG = 0.1
"""Time stood still per CPU time, at one line's speedup, and the share of delays of which nothing is known: told from there on."""
_MOSTLY = 0.5
"""Of the delays spun: then so are the controls, and it is no wonder that too few count."""


@dataclass(frozen=True, slots=True)
class StopCost:
    """Fitted cost: of the CPU time, rise x / (1 + bend x) is lost where threads stop for x times as long as they run.

    First the estimate, then those with each control experiment left out. `trust` is what shrinking leaves of the first.
    """

    rise: Floats
    bend: Floats
    trust: float

    def share(self, density: Floats) -> tuple[Floats, Floats]:
        """Return the lost share of the CPU time and its standard error (jackknife, and shrinkage)."""
        import numpy as np

        found = np.clip(self.rise[:, None] * density / (1 + self.bend[:, None] * density), -_MOST, _MOST)
        left_out = found[1:]
        variance = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0) * (len(left_out) - 1) / len(left_out)
        return np.maximum(self.trust * found[0], 0), np.hypot(np.sqrt(variance), (1 - self.trust) * found[0])


def without_cost(data: Data, use: NDArray[np.bool_]) -> Data:
    """Return the tables with the cost of stops subtracted from the times of throughput measures."""
    return replace(
        data, measures=tuple(_taken_off(data, each, cost_of(data, each, use), use) for each in data.measures)
    )


def cost_of(data: Data, measured: Measured, use: NDArray[np.bool_]) -> StopCost | None:
    """Estimate the cost of stops from a recording's control experiments; None when it can't be estimated.

    `use`: the other experiments that count.
    """
    import numpy as np

    columns = data.columns
    controls = columns["is_control"] & columns["is_complete"] & ~columns["is_spin"] & (columns["effective_ns"] > 0)
    if measured.measure != "throughput" or controls.sum() < _LEAST:
        return None
    pairs = causal_pairs.beside_controls(data, use, controls)
    each = terms(pairs, measured.visits, columns["ran_ns"].astype(float))
    density = columns["stood_ns"][pairs.treated] / np.maximum(each.treated_ns, 1)
    known = (each.over + each.under > 0) & (each.treated_ns > 0) & (density > 0)
    over, under, density = each.over[known], each.under[known], density[known]
    if (over > 0).sum() < _LEAST:
        return None
    every = np.ones((len(over) + 1, len(over)))
    every[1:] -= np.eye(len(over))
    lost = 1 - (every @ under) / (every @ over)
    variance = float(((lost[1:] - lost[1:].mean()) ** 2).sum() * (len(over) - 1) / len(over))
    trust = max(1 - variance / float(lost[0]) ** 2, 0.0) if lost[0] > 0 else 0.0
    return StopCost(*_curves(every, over, under, density), trust=trust)


def _curves(every: Floats, over: Floats, under: Floats, density: Floats) -> tuple[Floats, Floats]:
    """Return rise and bend per row of `every` (which comparisons count): weighted least squares of under = over (1 - share)."""
    import numpy as np

    bends, missing = np.array(_BENDS), over - under
    forms = density / (1 + bends[:, None] * density)
    rise = (every @ (missing * forms).T) / np.maximum(every @ (over * forms**2).T, 1e-12)
    # Sum of (missing - over rise form)^2 / over, multiplied out: its part without rise is the same for all bends.
    misfit = rise**2 * (every @ (over * forms**2).T) - 2 * rise * (every @ (missing * forms).T)
    best = np.argmin(misfit, axis=1)
    return rise[np.arange(len(every)), best], bends[best]


def _taken_off(data: Data, measured: Measured, cost: StopCost | None, use: NDArray[np.bool_]) -> Measured:
    """Return a measure without the time lost: the CPU time lost, by as many threads as ran at once, one at least.

    All experiments on one line at one speedup together: one by itself has few samples.
    """
    import numpy as np

    if cost is None:
        return measured
    columns = data.columns
    faster = use & (columns["speedup_pct"] > 0) & ~columns["is_spin"] & (columns["ran_ns"] > 0)
    group = np.unique(columns["line"] * 1000 + columns["speedup_pct"], return_inverse=True)[1]
    stood_ns, ran_ns, time_ns = (
        np.bincount(group, weights=np.where(faster, values, 0))
        for values in (columns["stood_ns"], columns["ran_ns"], measured.time_ns)
    )
    of_time = ran_ns / np.maximum(np.maximum(ran_ns, time_ns), 1)
    lost, unsure = (each * of_time for each in cost.share(stood_ns / np.maximum(ran_ns, 1)))
    lost_ns, unsure_ns = (np.where(faster, each[group], 0) * measured.time_ns for each in (lost, unsure))
    return replace(measured, time_ns=measured.time_ns - lost_ns, unsure_ns=unsure_ns)


def with_cost_uncertainty(fit: Fit, pairs: Pairs, measured: Measured, speedup_pct: NDArray[np.int64]) -> Fit:
    """Return a fit whose resamples include the uncertainty of the cost of stops, the same for all lines and speedups."""
    import numpy as np

    if measured.unsure_ns is None or fit.drawn is None:
        return fit
    shift = np.empty(len(fit.speedups))
    for column, speedup in enumerate((fit.speedups * 100).round().astype(int).tolist()):
        rows = pairs.treated[speedup_pct[pairs.treated] == speedup]
        shift[column] = measured.unsure_ns[rows].sum() / max(float(measured.time_ns[rows].sum()), 1.0)
    normal = np.random.default_rng(_SEED).standard_normal(len(fit.drawn))
    return replace(fit, drawn=fit.drawn + (1 - fit.gains) * shift * normal[:, None])


def notices(data: Data, use: NDArray[np.bool_], path: str) -> list[Notice]:
    """Return notices about the cost of stops: how much was subtracted, or why nothing was."""
    return [*_effect_notices(data), *_unknown(data, use, path)]


def _unknown(data: Data, use: NDArray[np.bool_], path: str) -> list[Notice]:
    """Return notices of what is not known of the cost of stops, for lines for which threads stood still for long."""
    stopped = _stopped(data, use)
    if not stopped.any():
        return []
    if data.mode == END_TO_END:
        return [Notice.of("HW648", what="whole runs")]
    visited = [each for each in data.measures if each.visits[use].any()]
    latencies = ", ".join(each.name for each in visited if each.measure == "latency")
    points = [each for each in visited if each.measure == "throughput"]
    notices = _of_points(data, points, stopped, path) if points else []
    return [*notices, Notice.of("HW648", what=f"the latency of {latencies}")] if latencies else notices


def _of_points(data: Data, points: list[Measured], stopped: NDArray[np.bool_], path: str) -> list[Notice]:
    """Return what is not known of the cost of stops for progress points."""
    columns, notices = data.columns, []
    is_spin = columns["is_spin"].astype(bool)
    lines = {line: stopped & (columns["line"] == line) for line in set(columns["line"][stopped].tolist())}
    spun = {line: _share(columns["delay_ns"], rows, is_spin) for line, rows in lines.items()}
    line, most = max(spun.items(), key=lambda each: each[1])
    if most >= _LONG:
        name = target_name(data.lines[line]) if line in data.lines else "some lines"
        notices.append(Notice.of("HW647", share=percent(most), name=name))
    unknown = [each.name for each in points if each.unsure_ns is None]
    if unknown and _share(columns["delay_ns"], stopped, is_spin) <= _MOSTLY:
        control_count = int(columns["is_control"].sum())
        notices.append(Notice.of("HW646", points=", ".join(unknown), made=control_count, least=_LEAST, path=path))
    earlier = _share(columns["delay_ns"], stopped, (columns["ran_ns"] <= 0) & ~is_spin)
    if len(unknown) < len(points) and earlier >= _LONG:
        notices.append(Notice.of("HW650", share=percent(earlier)))
    return notices


def _share(values: NDArray[np.int64], of: NDArray[np.bool_], rows: NDArray[np.bool_]) -> float:
    return float(values[of & rows].sum() / max(values[of].sum(), 1))


def _stopped(data: Data, use: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the experiments on lines for which threads stood still for long, as they run, at any speedup.

    For the collector nobody stands still.
    """
    import numpy as np

    columns = data.columns
    collector = [line for line, facts in data.lines.items() if facts["kind"] == "gc"]
    faster = use & (columns["speedup_pct"] > 0) & ~np.isin(columns["line"], collector)
    group = np.unique(columns["line"] * 1000 + columns["speedup_pct"], return_inverse=True)[1]
    stood_ns, ran_ns, delay_ns, lasted_ns = (
        np.bincount(group, weights=np.where(faster, columns[name], 0))
        for name in ("stood_ns", "ran_ns", "delay_ns", "effective_ns")
    )
    # Recordings of an earlier headway know neither, and have 0 for both: then as if one thread ran.
    still = np.where(ran_ns > 0, stood_ns / np.maximum(ran_ns, 1), delay_ns / np.maximum(lasted_ns, 1))
    lines = np.unique(columns["line"][faster & (still > _LONG)[group]])
    return np.asarray(faster & np.isin(columns["line"], lines))


def _effect_notices(data: Data) -> list[Notice]:
    """Return a notice if what was taken off changes the results of any line at any speedup."""
    import numpy as np

    known = [each for each in data.measures if each.unsure_ns is not None]
    columns = data.columns
    group = np.unique(columns["line"] * 1000 + columns["speedup_pct"], return_inverse=True)[1]
    lasted = np.maximum(np.bincount(group, weights=columns["effective_ns"]), 1)
    lost, unsure = (
        [np.bincount(group, weights=each) / lasted for each in values]
        for values in ([columns["effective_ns"] - each.time_ns for each in known], [each.unsure_ns for each in known])
    )
    most = max(range(len(known)), key=lambda which: float(lost[which].max()), default=None)
    if most is None or lost[most].max() < _NOTABLE:
        return []
    worst = int(np.argmax(lost[most]))
    at = int(np.flatnonzero(group == worst)[0])
    if int(columns["line"][at]) not in data.lines:
        return []
    name, speedup = target_name(data.lines[int(columns["line"][at])]), f"{columns['speedup_pct'][at]} %"
    share, error = float(lost[most][worst]), float(unsure[most][worst])
    rounded = {"share": percent(share), "error": percent(error), "name": name, "speedup": speedup}
    return [Notice.of("HW645", **rounded)]
