"""What a causal recording holds, as arrays: one row per experiment, in order of run and time.

Progress points are merged over runs by their names, in the order in which they were given. A *measure* turns experiments into
(visits, time): a progress point's visits and the effective time; a latency pair's visits and the time that they spent between
begin and end (Little's law: their quotient is the mean latency); whole runs, one visit each. So the same estimator serves all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.analyses.causal_types import Measure, ProgressPoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

NO_LINE = -1
END_TO_END = "end-to-end"
WHOLE_RUN = "whole run"
# A run that failed did not do the work whose time is compared end to end.
_EXPERIMENTS = """
    SELECT run, experiment, coalesce(line, -1) AS line, speedup_pct, start_ns, dur_ns, delay_ns, gc_ns, gcs, hits_ns, hits,
           samples, sampled_ns, waited_ns, is_spin, is_complete
    FROM experiment
    WHERE run NOT IN (SELECT run FROM causal_run WHERE mode = 'end-to-end' AND coalesce(exit_code, 0) <> 0)
    ORDER BY run, start_ns, experiment
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """One progress point's (or pair's, or the run's) figures: `visits` and `time_ns` per experiment of `Data`.

    `spread`: how many times as noisy an experiment is for the delays in it, as a factor on the variance (`causal_noise`).
    """

    name: str
    measure: Measure
    visits: Floats
    time_ns: Floats
    spread: Floats | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """The tables. `columns` are those of `experiment`, with `effective_ns` = dur_ns - delay_ns."""

    mode: str
    runs: Ints
    recorded_ns: int
    cores: int
    columns: Mapping[str, Any]
    lines: Mapping[int, Mapping[str, Any]]
    points: tuple[ProgressPoint, ...]
    measures: tuple[Measured, ...]
    health: Mapping[str, int]

    @property
    def count(self) -> int:
        """Return the number of experiments."""
        return len(self.columns["run"])


def read(recording: Recording) -> Data:
    """Read the tables of a causal recording."""
    import numpy as np

    columns: dict[str, Any] = {
        name: np.asarray(values) for name, values in recording.query(_EXPERIMENTS).fetchnumpy().items()
    }
    columns["effective_ns"] = columns["dur_ns"] - columns["delay_ns"]
    runs = recording.query("SELECT run, dur_ns, mode, cores FROM causal_run ORDER BY run").fetchall()
    mode = str(runs[0][2]) if runs else "experiments"
    recorded_ns = sum(int(row[1]) for row in runs)
    points, measures = _measures(recording, mode, columns, recorded_ns)
    health = recording.query("SELECT key, sum(value)::BIGINT FROM causal_health GROUP BY key ORDER BY key").fetchall()
    return Data(
        mode=mode,
        runs=np.array([row[0] for row in runs], dtype=np.int64),
        recorded_ns=recorded_ns,
        cores=max((int(row[3]) for row in runs), default=1),
        columns=columns,
        lines=_lines(recording),
        points=points,
        measures=measures,
        health={str(key): int(value) for key, value in health},
    )


def _lines(recording: Recording) -> dict[int, dict[str, Any]]:
    names = ("line", "kind", "class_name", "method", "file", "line_number", "cpu_ns", "blocked_ns", "samples")
    rows = recording.query(f"SELECT {', '.join(names)} FROM causal_line ORDER BY line").fetchall()
    return {int(row[0]): dict(zip(names, row, strict=True)) for row in rows}


def _measures(
    recording: Recording, mode: str, columns: Mapping[str, Any], recorded_ns: int
) -> tuple[tuple[ProgressPoint, ...], tuple[Measured, ...]]:
    """Return the progress points, and what experiments measured of them."""
    import numpy as np

    seconds = max(recorded_ns - int(columns["delay_ns"].sum()), 1) / 1e9
    rows = recording.query(_POINTS).fetchall()
    order = {
        key: row for row, key in enumerate(zip(columns["run"].tolist(), columns["experiment"].tolist(), strict=True))
    }
    points: list[ProgressPoint] = []
    measures: list[Measured] = []
    for name, kind, where, hits, is_pair in rows:
        if is_pair:
            visits, time_ns = _scattered(recording.query(_LATENCY, [name]).fetchall(), order)
            measured = Measured(name, "latency", visits, time_ns)
        else:
            visits, _ = _scattered(recording.query(_VISITS, [name]).fetchall(), order)
            measured = Measured(name, "throughput", visits, columns["effective_ns"].astype(float))
        base = columns["speedup_pct"] == 0
        ended = measured.visits[base].sum()
        points.append(
            ProgressPoint(
                name=name,
                measure=measured.measure,
                kind="latency" if is_pair else kind,
                where=where,
                hits=int(hits),
                hits_per_s=int(hits) / seconds,
                latency_ns=float(measured.time_ns[base].sum() / ended) if is_pair and ended else None,
            )
        )
        if kind != "candidate":
            measures.append(measured)
    if mode == END_TO_END:
        ones = np.ones(len(columns["run"]))
        measures.insert(0, Measured(WHOLE_RUN, "run", ones, columns["effective_ns"].astype(float)))
        whole = ProgressPoint(
            name=WHOLE_RUN, measure="run", kind="run", where="", hits=len(ones), hits_per_s=len(ones) / seconds
        )
        points.insert(0, whole)
    return tuple(points), tuple(measures)


# Progress points by name; the two ends of a pair are one, under the begin's name.
_POINTS = """
    SELECT any_value(name ORDER BY run, point) AS name, any_value(kind ORDER BY run, point),
           string_agg(DISTINCT "where", ' .. ' ORDER BY "where"),
           sum(CASE WHEN kind <> 'latency_begin' THEN hits ELSE 0 END)::BIGINT, bool_or(coalesce(pair, -1) >= 0)
    FROM causal_point
    GROUP BY CASE WHEN coalesce(pair, -1) >= 0 THEN 'pair ' || pair ELSE 'point ' || name END
    ORDER BY bool_and(kind = 'candidate'), min(run), min(point)
"""
_VISITS = """
    SELECT v.run, v.experiment, sum(v.visits)::BIGINT, 0
    FROM experiment_visit v JOIN causal_point p ON p.run = v.run AND p.point = v.point
    WHERE p.name = $1 AND coalesce(p.pair, -1) < 0 GROUP BY v.run, v.experiment
"""
# Begins and ends together: what is in flight at either end of an experiment counts half.
_LATENCY = """
    SELECT l.run, l.experiment, sum(l.begun + l.ended) / 2.0, sum(l.in_flight_ns)::BIGINT
    FROM experiment_latency l
    WHERE (l.run, l.pair) IN (SELECT (run, pair) FROM causal_point WHERE name = $1 AND coalesce(pair, -1) >= 0)
    GROUP BY l.run, l.experiment
"""


def _scattered(rows: list[tuple[Any, ...]], order: Mapping[tuple[int, int], int]) -> tuple[Floats, Floats]:
    """Return (visits, time) per experiment; one without a row had none."""
    import numpy as np

    visits, time_ns = np.zeros(len(order)), np.zeros(len(order))
    for run, experiment, count, time in rows:
        at = order.get((int(run), int(experiment)))
        if at is not None:
            visits[at], time_ns[at] = float(count), float(time)
    return visits, time_ns
