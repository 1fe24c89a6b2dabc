"""Pairs each experiment with the baselines (experiments at 0 %) before and after it that it is compared with.

Question   for each experiment with a virtual speedup: the experiments at 0 % beside it in time.
Method     the nearest one at 0 % before it and the nearest after it, of the same run: what drifts slowly (compilation, the heap,
           what the host takes) is the same in both, and a steady drift cancels. Whole runs (end-to-end) are compared with the
           runs beside them in the same way. As a measure of noise, every experiment at 0 % is also compared with its own two
           neighbours, as if it had a speedup: the answer there is known to be none.
Assumes    experiments at 0 % alternate with the others.
Wrong when what changes is faster than an experiment: that is noise, and widens intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.causal.data import END_TO_END
from headway.model.causal.comparisons import Pairs, compare, nearest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.causal.data import Data
    from headway.model.causal.comparisons import Floats, Measured

WARM_UP_NS = 20_000_000_000
"""Later than this into a run nothing is warm-up."""
WARM_UP_SHARE = 0.25
LEAST_TIME = 0.1
LIKELY_HITS = 5.0
"""Samples that are expected: none at all would be a chance of less than 1 %."""
_LEAST_BASELINES = 8
_CLEAR = 4.0
_NOTABLE = 0.1


def usable(data: Data) -> NDArray[np.bool_]:
    """Return which experiments count: complete ones of some length, not cut off by the end of a run.

    A line and a speedup that leave less than `LEAST_TIME` of the time without delays, all experiments together, do not count:
    nearly all is delays then, and what is left is their errors (a thread that sleeps all the time, made free).
    """
    import numpy as np

    columns = data.columns
    whole = columns["is_complete"].astype(bool) & (columns["effective_ns"] > 0) & ~columns["is_control"].astype(bool)
    group = np.unique(columns["line"] * 1000 + columns["speedup_pct"], return_inverse=True)[1]
    lasted = np.bincount(group, weights=columns["dur_ns"], minlength=1)
    left = np.bincount(group, weights=columns["effective_ns"], minlength=1)
    return np.asarray(whole & ((left > LEAST_TIME * lasted)[group] | (columns["speedup_pct"] == 0)))


def idle(data: Data, use: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which experiments tested a line that did not run meanwhile, and which baselines belong to those.

    A line may run no longer by the time that its turn comes. Then nothing was made faster: taken for an experiment, it would say
    that making the line faster has no effect. It is one if the line was sampled neither in it nor in its own baselines beside it,
    although so many samples were to be expected that this is no chance: where lines are rarely sampled, leaving out what has no
    samples would choose by chance.
    """
    import numpy as np

    columns = data.columns
    treated, beside = np.zeros(data.count, dtype=bool), np.zeros(data.count, dtype=bool)
    compared, _ = pairs(data, use)
    if data.mode == END_TO_END or not len(compared.treated):
        return treated, beside
    rows = compared.treated
    per_ns = {line: facts["samples"] / max(data.recorded_ns, 1) for line, facts in data.lines.items()}
    rate = np.array([per_ns.get(line, 0.0) for line in columns["line"][rows].tolist()])
    hits, lasted = columns["hits"][rows].astype(float), columns["effective_ns"][rows].astype(float)
    own = []  # hits in a baseline are of the line whose turn it was
    for near in (compared.before, compared.after):
        own.append((near >= 0) & (columns["line"][near] == columns["line"][rows]))
        hits += np.where(own[-1], columns["hits"][near], 0)
        lasted += np.where(own[-1], columns["effective_ns"][near], 0)
    found = (hits == 0) & (rate * lasted >= LIKELY_HITS)
    treated[rows[found]] = True
    beside[compared.before[found & own[0]]] = True
    return treated, beside


def pairs(data: Data, use: NDArray[np.bool_]) -> tuple[Pairs, Pairs]:
    """Return the comparisons of experiments with baselines, and those of baselines with each other."""
    import numpy as np

    rows = np.flatnonzero(use)
    return compare(rows, data.columns["speedup_pct"][rows] == 0, neighbourhoods(data)[rows])


def beside_controls(data: Data, use: NDArray[np.bool_], controls: NDArray[np.bool_]) -> Pairs:
    """Return the comparisons of control experiments that lie between two usable baselines.

    Not of those in the warm-up, before the first that counts: what is not compiled yet takes more CPU time for another reason.
    """
    import numpy as np

    rows = np.flatnonzero((use & (data.columns["speedup_pct"] == 0)) | controls)
    before, after = nearest(rows, ~controls[rows], neighbourhoods(data)[rows])
    return Pairs(rows, before, after).of(controls[rows] & (before >= 0) & (after >= 0))


def neighbourhoods(data: Data) -> NDArray[np.int64]:
    """Return each experiment's group for comparisons: its run, or all runs where whole runs are compared (end-to-end)."""
    import numpy as np

    runs: NDArray[np.int64] = data.columns["run"]
    return runs if data.mode != END_TO_END else np.zeros_like(runs)


def warm_up(data: Data, measured: Measured, use: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which experiments ran during warm-up, while the program was still getting faster.

    MSER (White, An Effective Truncation Heuristic for Bias Reduction in Simulation Output, 1997) on the visits per time of the
    baselines: cut where the standard error of the rest is smallest. Kept only if the head is clearly slower than the rest, early,
    and not as long as could be looked for: that would be a phase of the program.
    """
    import numpy as np

    dropped = np.zeros(data.count, dtype=bool)
    if data.mode == END_TO_END:
        return dropped
    columns = data.columns
    for run in data.runs.tolist():
        is_of_run = (columns["run"] == run) & use
        rows = np.flatnonzero(is_of_run & (columns["speedup_pct"] == 0))
        cut = _cut(measured.visits[rows], measured.time_ns[rows])
        if cut is None or not len(rows):
            continue
        begin = columns["start_ns"][np.flatnonzero(is_of_run)[0]]
        until = columns["start_ns"][rows[cut]]
        if until - begin <= WARM_UP_NS:
            dropped |= is_of_run & (columns["start_ns"] < until)
    return dropped


def _cut(visits: Floats, time_ns: Floats) -> int | None:
    """Return how many baselines at the begin are warm-up; None: none."""
    import numpy as np

    count = len(visits)
    most = int(count * WARM_UP_SHARE)
    if count < _LEAST_BASELINES or visits.sum() <= 0 or (time_ns <= 0).any():
        return None
    rate = np.log((visits + 0.5) / time_ns)
    error = [rate[cut:].var() / (count - cut) for cut in range(most + 1)]
    cut = int(np.argmin(error))
    if cut == 0 or cut == most:
        return None
    head, rest = rate[:cut], rate[cut:]
    slower = rest.mean() - head.mean()
    spread = rest.std(ddof=1) * (1 / cut + 1 / len(rest)) ** 0.5
    return cut if slower > _NOTABLE and slower > _CLEAR * spread else None
