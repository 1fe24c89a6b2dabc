"""Estimates in what share of the program's time a line runs at all: the line's effect on the whole program scales with it.

Question   the share of the run in which a line runs at all, where experiments on it can take place.
Method     Coz (Curtsinger and Berger, SOSP 2015) chooses a line while it runs, so experiments on it all lie in the phases in
           which it does, and what they find holds for these. If the line is sampled at the rate h there and not elsewhere,
           and s in all, it runs for s / h of the time T: share = (s / T) / h. Speedups of the whole run are those of the
           phase times the share. h is taken from the experiments on the line, at all virtual speedups: s_obs over the time
           that they would have taken at 0 % (effective time / ratio), as a sped-up program meets the line more often per
           time.
           Both count each thread: of four that sleep in the line at once, all four (`all_hits_ns`).
Assumes    the line runs at one rate in its phases. Latency pairs and whole runs need no share.
Wrong when it runs everywhere, but at several rates. A share that is 1 but for the noise of the samples, or for a short begin and
           end, is taken as 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.causal.data import Data
    from headway.model.causal.comparisons import Floats

WHOLE = 0.95
"""A line that runs in more of the time than this is taken to run always: a begin and an end are no phases."""
_SURE = 3.0


@dataclass(frozen=True, slots=True)
class Share:
    """The share of time in which a line runs, and its relative standard error; 1 and 0 mean always."""

    value: float = 1.0
    relative_error: float = 0.0


def plain_times(data: Data, ratio: Floats) -> tuple[Floats, float]:
    """Return the length of experiments, and of the whole time with experiments, without their delays and speedups, in ns.

    With what delays cost beyond their time (`causal.stops`): lines are sampled in that as in any other.
    """
    first = data.measures[0] if data.measures else None
    is_known = first is not None and first.measure == "throughput"
    effective_ns = data.columns["effective_ns"]
    time_ns = first.time_ns if first is not None and is_known else effective_ns
    plain = time_ns / ratio + (effective_ns - time_ns)
    whole = _span_ns(data) - float(data.columns["delay_ns"].sum())
    return plain, whole + float((plain - effective_ns).sum())


def _span_ns(data: Data) -> float:
    """Return the time from the first experiment to the end of the last one, of all runs: a start-up is no phase."""
    columns = data.columns
    ends = columns["start_ns"] + columns["dur_ns"]
    rows = [columns["run"] == run for run in set(columns["run"].tolist())]
    return float(sum(int(ends[of_run].max() - columns["start_ns"][of_run].min()) for of_run in rows))


def share(data: Data, line: int, use: NDArray[np.bool_], plain_ns: Floats, whole_ns: float) -> Share:
    """Return the share for one line; `use` selects the experiments that count."""
    import numpy as np

    of_line = np.flatnonzero((data.columns["line"] == line) & use)
    hits, times = data.columns["all_hits_ns"][of_line].astype(float), plain_ns[of_line]
    facts = data.lines.get(line)
    if facts is None or facts["cpu_ns"] + facts["blocked_ns"] <= 0:  # no samples of its own: a lock, the collector
        return Share()
    if len(of_line) < 2 or hits.sum() <= 0 or whole_ns <= 0:
        return Share()
    rate = hits.sum() / times.sum()
    found = (facts["cpu_ns"] + facts["blocked_ns"]) / whole_ns / rate
    error = float(np.sqrt(((hits - rate * times) ** 2).sum() * len(of_line) / (len(of_line) - 1)) / hits.sum())
    if found * (1 + _SURE * error) >= WHOLE:
        return Share()
    return Share(float(found), error)
