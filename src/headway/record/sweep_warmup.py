"""Question   after how many iterations is the program warm, in the runs of a sweep?
Method     iterations are told apart by lines that the program prints: one kind of line, as often in every run, so that the same
           work lies before its k-th line everywhere. The times between lines, the lower median over the runs of a configuration
           (a slow host only makes them longer), are cut at change points of the mean of their logarithm (binary segmentation, as
           in Truong et al., Signal Processing 167, 2020), each a drop; the last of them ends the warm-up (Barrett et al., OOPSLA
           2017, classify runs so). The configuration that takes longest decides for all. The JIT compiler must have been at work
           before, and less so after: else the program's own first iterations are larger, which is no warm-up.
Assumes    that the k-th line comes after the same work in all programs.
Wrong when the program prints its lines in batches, or its iterations are no work that repeats: then it mostly finds nothing.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError, Notice
from headway.record.sweep_lines import LEAST, read_lines
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
_JIT_AT_WORK = 0.01
"""Cores that the JIT compiler must have kept busy before."""

Warmup = dict[str, Any]
"""What sweep.json says: iterations (0: nothing is left out), of, line, jit_before, jit_after (cores), reason."""


def iterations_before(durations_ns: Sequence[float]) -> int | None:
    """Return how many leading iterations are slower than the rest, 0 where none are; None: they do not settle by the half."""
    import numpy as np

    count = len(durations_ns)
    if count < LEAST:
        return 0
    logs = _smooth(np.log(np.maximum(np.asarray(durations_ns, dtype=float), 1.0)))
    steps = np.abs(np.diff(np.log(np.maximum(np.asarray(durations_ns, dtype=float), 1.0))[count // 2 :]))
    noise = max(_LEAST_NOISE, 1.4826 * float(np.median(steps)) / 2**0.5)
    begin = 0
    while count - begin >= LEAST // 2:
        cut, explained, drop = _best_cut(logs[begin:])
        if explained < (_PENALTY + 2 * np.log(count)) * noise**2 or drop < np.log1p(SMALLEST_DROP):
            break
        begin += cut
        if begin > count // 2:
            return None
    return begin


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the running median of five: outliers of up to two go, steps stay where they are."""
    import numpy as np

    padded = np.pad(values, 2, mode="reflect")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1))


def _best_cut(logs: NDArray[np.float64]) -> tuple[int, float, float]:
    """Return where two means fit best, what that explains of the sum of squares, and by how much the second is smaller."""
    import numpy as np

    count = len(logs)
    cuts = np.arange(1, count)
    sums = np.cumsum(logs)[:-1]
    drops = sums / cuts - (logs.sum() - sums) / (count - cuts)
    explained = cuts * (count - cuts) / count * drops**2
    best = int(np.argmax(explained))
    return best + 1, float(explained[best]), float(drops[best])


# --- the runs of a sweep -------------------------------------------------------------------------------------------------


def with_warmup(sweep: Sweep) -> tuple[Sweep, list[Notice]]:
    """Return the sweep with what every complete run leaves out, and what is to be said of it; as it is where nobody asked."""
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
    count = len(times[complete[0].name])
    found: Warmup = {"iterations": 0, "of": count, "line": kind}
    configurations: dict[tuple[str, int], list[list[int]]] = {}
    for run in complete:
        own = times[run.name]
        steps = [after - before for before, after in zip([0, *own], own, strict=False)]
        configurations.setdefault((run.program, run.threads), []).append(steps)
    warm: list[int | None] = []
    for runs in configurations.values():
        # The first iteration holds the start of the JVM as well: it is judged by the second.
        usual = [statistics.median_low(each) for each in zip(*(steps[1:] for steps in runs), strict=True)]
        if statistics.median(usual) < _SHORTEST_NS:
            return found | {"reason": "its iterations are too short to be told by when their lines come"}
        warm.append(iterations_before(usual))
    if any(each is None for each in warm):
        return found | {"reason": "its iterations get faster beyond the half of the run", "never_settles": True}
    longest = max(each for each in warm if each is not None)
    if not longest:
        return found | {"reason": "no iterations at the begin are slower"}
    longest += 1  # the first one, which was not judged
    cores = _jit_cores(sweep, [run for run in complete if run.recorded], times, longest)
    if cores is None:
        return found | {
            "reason": "the first iterations are slower; whether the JIT compiler was at work then is not known"
        }
    before, after = cores
    found |= {"jit_before": before, "jit_after": after}
    if before < _JIT_AT_WORK or before < _JIT_FALLS * after:
        return found | {"reason": "the first iterations are slower, but the JIT compiler was no more at work in them"}
    return found | {
        "iterations": longest,
        "reason": "the first iterations are slower, and the JIT compiler was at work in them",
    }


def _jit_cores(
    sweep: Sweep, recorded: Sequence[SweepRun], times: Mapping[str, list[int]], iterations: int
) -> tuple[float, float] | None:
    """Return how many cores the JIT compiler kept busy in and after so many iterations, the mean over the recorded runs."""
    sums = [[0.0, 0.0], [0.0, 0.0]]
    for run in recorded:
        cut = times[run.name][iterations - 1]
        with contextlib.suppress(HeadwayError), contextlib.closing(sweep.open(run)) as recording:
            if not recording.has("activity"):
                continue
            begin = recording.window_ns[0]
            rows = recording.query(
                "SELECT bin_start_ns >= $1 AS late, sum(running_jit * dur_ns), sum(dur_ns) FROM activity GROUP BY late",
                (begin + cut,),
            ).fetchall()
            for late, busy, length in rows:
                sums[int(late)][0] += float(busy)
                sums[int(late)][1] += float(length)
    (before, early), (after, late_ns) = sums
    return (round(before / early, 4), round(after / late_ns, 4)) if early and late_ns else None
