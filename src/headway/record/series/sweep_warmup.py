"""Detects how many leading iterations of a sweep's runs are warm-up.

Question   after how many iterations is the program warm, in the runs of a sweep?
Method     iterations are told apart by lines that the program prints: one kind of line, as often in every run, so that the same
           work lies before its k-th line everywhere. The times between lines, the lower median over the runs of a configuration
           (a slow host only makes them longer), are cut at change points of the mean of their logarithm (binary segmentation, as
           in Truong et al., Signal Processing 167, 2020), each a drop; the last of them ends the warm-up (Barrett et al., OOPSLA
           2017, classify runs so). The configuration that takes longest decides for all. Drops are looked for as long as the JIT
           compiler works, until nine tenths of its CPU time are over and half as many iterations more: later ones are the host's.
           It must have been at work before and less so after: else the program's own first iterations are larger.
Assumes    that the k-th line comes after the same work in all programs.
Wrong when the program prints its lines in batches, or its iterations are no work that repeats: then it mostly finds nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError, Notice
from headway.record.series.sweep_lines import LEAST, read_lines
from headway.store.sweep import Sweep, SweepRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST_DROP = 0.05
"""Iterations before must take at least so much longer."""
_SHORTEST_NS = 200_000
"""Iterations below this are not told by lines, which come some tens of microseconds late."""
_PENALTY = 12.0
"""How much of the noise's variance a change point must explain, beside twice the logarithm of the number of iterations."""
_LEAST_NOISE = 0.01
_JIT_FALLS = 2.0
_JIT_OVER = 0.9
_JIT_AT_WORK = 0.01
"""Cores that the JIT compiler must have kept busy before."""

Warmup = dict[str, Any]
"""What sweep.json says: iterations (0: nothing is left out), of, line, jit_before, jit_after (cores), reason."""


def iterations_before(durations_ns: Sequence[float], until: int | None = None) -> int | None:
    """Return how many leading iterations are slower than the rest, 0 for none; None when they don't settle in the first half.

    until: the last iteration that may be one of them.
    """
    import numpy as np

    count = len(durations_ns)
    if count < LEAST:
        return 0
    logs = _smooth(np.log(np.maximum(np.asarray(durations_ns, dtype=float), 1.0)))
    steps = np.abs(np.diff(np.log(np.maximum(np.asarray(durations_ns, dtype=float), 1.0))[count // 2 :]))
    noise = max(_LEAST_NOISE, 1.4826 * float(np.median(steps)) / 2**0.5)
    ends = [0, *_cuts(logs, (_PENALTY + 2 * float(np.log(count))) * noise**2), count]
    means = [float(np.mean(logs[low:high])) for low, high in itertools.pairwise(ends)]
    drops = [
        cut
        for cut, (before, after) in zip(ends[1:-1], itertools.pairwise(means), strict=True)
        if before - after > np.log1p(SMALLEST_DROP) and (until is None or cut <= until)
    ]
    found = drops[-1] if drops else 0
    return found if found <= count // 2 else None


def _cuts(logs: NDArray[np.float64], least: float) -> list[int]:
    """Return where the mean changes, each explaining at least so much of the sum of squares of its stretch."""
    if len(logs) < 2:
        return []
    cut, explained = _best_cut(logs)
    if explained < least:
        return []
    return [*_cuts(logs[:cut], least), cut, *(cut + each for each in _cuts(logs[cut:], least))]


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the running median of five: outliers of up to two go, steps stay where they are."""
    import numpy as np

    padded = np.pad(values, 2, mode="reflect")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1))


def _best_cut(logs: NDArray[np.float64]) -> tuple[int, float]:
    """Return where two means fit best, and what that explains of the sum of squares."""
    import numpy as np

    count = len(logs)
    cuts = np.arange(1, count)
    sums = np.cumsum(logs)[:-1]
    drops = sums / cuts - (logs.sum() - sums) / (count - cuts)
    explained = cuts * (count - cuts) / count * drops**2
    best = int(np.argmax(explained))
    return best + 1, float(explained[best])


# --- the runs of a sweep -------------------------------------------------------------------------------------------------


def with_warmup(sweep: Sweep) -> tuple[Sweep, list[Notice]]:
    """Return the sweep with each complete run's warm-up set, and messages about it; unchanged where it was not asked for."""
    if not sweep.auto_warmup:
        return sweep, []
    complete = [run for run in sweep.runs if run.state == "complete"]
    lines = {run.name: read_lines(sweep.path / "runs" / f"{run.name}.lines") for run in complete}
    kind = _common_kind(list(lines.values()))
    if kind is None:
        found: Warmup = {"iterations": 0, "reason": "no line that every run prints as often tells its iterations apart"}
        return _nothing(sweep, found), []
    found = _found(sweep, complete, {name: times[kind] for name, times in lines.items()}, kind)
    count = found["iterations"]
    if not count:
        notices = [Notice.of("HW092", line=kind, of=found["of"])] if found.pop("never_settles", False) else []
        return _nothing(sweep, found), notices
    left_out = {run.name: lines[run.name][kind][count - 1] for run in complete}
    runs = tuple(
        replace(run, warmup_excluded_ns=min(left_out[run.name], run.wall_ns or 0)) if run.name in left_out else run
        for run in sweep.runs
    )
    facts = {"least": min(left_out.values()) / 1e9, "most": max(left_out.values()) / 1e9}
    notice = Notice.of(
        "HW091", **{key: found[key] for key in ("iterations", "of", "line", "jit_before", "jit_after")}, **facts
    )
    return replace(sweep, runs=runs, warmup=found), [notice]


def _nothing(sweep: Sweep, found: Warmup) -> Sweep:
    runs = tuple(replace(run, warmup_excluded_ns=None) for run in sweep.runs)
    return replace(sweep, runs=runs, warmup=found)


def _common_kind(lines: Sequence[Mapping[str, list[int]]]) -> str | None:
    """Return the kind of line that all runs print equally often, the most frequent one; None where there is none."""
    if not lines:
        return None
    counts = {kind: len(times) for kind, times in lines[0].items()}
    common = [kind for kind, count in counts.items() if all(len(each.get(kind, ())) == count for each in lines)]
    return max(common, key=lambda kind: (counts[kind], kind), default=None)


def _found(sweep: Sweep, complete: Sequence[SweepRun], times: Mapping[str, list[int]], kind: str) -> Warmup:
    """Return what is known of the warm-up by the times of a kind of line in each run."""
    found: Warmup = {"iterations": 0, "of": len(times[complete[0].name]), "line": kind}
    usual = _usual(complete, times)
    if any(statistics.median(each) < _SHORTEST_NS for each in usual):
        return found | {"reason": "its iterations are too short to be told by when their lines come"}
    jit = _jit_by_iteration(sweep, [run for run in complete if run.recorded], times)
    if jit is None:
        return found | {"reason": "what the JIT compiler did is not known"}
    warm = [iterations_before(each, _until(jit[0][1:])) for each in usual]
    if any(each is None for each in warm):
        return found | {"reason": "its iterations get faster beyond the half of the run", "never_settles": True}
    longest = max(each for each in warm if each is not None)
    if not longest:
        return found | {"reason": "no iterations at the begin are slower while the JIT compiler is at work"}
    longest += 1  # the first one, which was not judged
    busy, length = jit
    before, after = (sum(busy[part]) / sum(length[part]) for part in (slice(longest), slice(longest, None)))
    found |= {"jit_before": round(before, 4), "jit_after": round(after, 4)}
    if before < _JIT_AT_WORK or before < _JIT_FALLS * after:
        return found | {"reason": "the first iterations are slower, but the JIT compiler was no more at work in them"}
    reason = "the first iterations are slower, and the JIT compiler was at work in them"
    return found | {"iterations": longest, "reason": reason}


def _usual(complete: Sequence[SweepRun], times: Mapping[str, list[int]]) -> list[list[int]]:
    """Return how long each iteration takes, per configuration; the first, which holds the start of the JVM, is left out."""
    configurations: dict[tuple[str, int], list[list[int]]] = {}
    for run in complete:
        steps = [after - before for before, after in itertools.pairwise(times[run.name])]
        configurations.setdefault((run.program, run.threads), []).append(steps)
    return [[statistics.median_low(each) for each in zip(*runs, strict=True)] for runs in configurations.values()]


def _until(jit_ns: Sequence[float]) -> int:
    """Return the last iteration that may be warm-up by what the JIT compiler did in each."""
    spent, total = list(itertools.accumulate(jit_ns)), sum(jit_ns)
    over = next((i for i, ns in enumerate(spent, 1) if ns >= _JIT_OVER * total), len(spent))
    return over + max(2, over // 2)


def _jit_by_iteration(
    sweep: Sweep, recorded: Sequence[SweepRun], times: Mapping[str, list[int]]
) -> tuple[list[float], list[float]] | None:
    """Return per iteration the JIT compiler's time on CPUs and the wall time, summed over the recorded runs; None: not known."""
    import numpy as np

    busy, length = (np.zeros(len(times[recorded[0].name])) for _ in range(2)) if recorded else (None, None)
    known = False
    for run in recorded:
        ends = np.array([0, *times[run.name]], dtype=float)
        with contextlib.suppress(HeadwayError), contextlib.closing(sweep.open(run)) as recording:
            rows = recording.query(
                "SELECT bin_start_ns - $1, sum(running_jit::HUGEINT * dur_ns), sum(dur_ns) FROM activity GROUP BY 1 ORDER BY 1",
                (recording.window_ns[0],),
            ).fetchall()
            if not rows:
                continue
            at = np.array([float(row[0]) for row in rows] + [float(rows[-1][0] + rows[-1][2])])
            spent = np.cumsum([0.0] + [float(row[1]) for row in rows])
            busy = busy + np.diff(np.interp(ends, at, spent))
            length = length + np.diff(ends)
            known = True
    return (busy.tolist(), length.tolist()) if known and busy is not None and length is not None else None
