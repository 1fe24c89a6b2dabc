"""The tables of a causal recording as arrays, with one row per experiment in order of run and time.

Progress points are merged over runs by their names, in the order in which they were given. A *measure* turns experiments into
(visits, time): a progress point's visits and the effective time; a latency pair's visits and the time that they spent between
begin and end (Little's law: their quotient is the mean latency); whole runs, one visit each. So the same estimator serves all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.analyses.causal.types import ProgressPoint
from headway.errors import HeadwayError
from headway.model.causal.comparisons import Measured
from headway.model.causal.latency import in_flight

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

END_TO_END = "end-to-end"
WHOLE_RUN = "whole run"
_SAMPLES = 100
"""From so many on their mean is known well enough."""
# A run that failed did not do the work whose time is compared end to end.
_EXPERIMENTS = """
    SELECT * REPLACE (coalesce(line, -1) AS line, coalesce(all_hits_ns, hits_ns) AS all_hits_ns,
                      coalesce(ran_ns, 0) AS ran_ns, coalesce(stood_ns, 0) AS stood_ns, coalesce(is_control, false) AS is_control)
    FROM experiment
    WHERE run NOT IN (SELECT run FROM causal_run WHERE mode = 'end-to-end' AND coalesce(exit_code, 0) <> 0)
    ORDER BY run, start_ns, experiment
"""


@dataclass(frozen=True, slots=True)
class Data:
    """The tables of a causal recording. `columns` are those of `experiment`, with `effective_ns` = dur_ns - delay_ns added."""

    mode: str
    runs: Ints
    recorded_ns: int
    cores: int
    period_ns: int
    """CPU time of a thread between two samples, as it really was (`sampling_period_ns`)."""
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
    runs = recording.query("SELECT run, dur_ns, mode, cores, period_ns FROM causal_run ORDER BY run").fetchall()
    mode = str(runs[0][2]) if runs else "experiments"
    recorded_ns = sum(int(row[1]) for row in runs)
    points, measures = _measures(recording, mode, columns, recorded_ns)
    lines = _lines(recording)
    health = recording.query("SELECT key, sum(value)::BIGINT FROM causal_health GROUP BY key ORDER BY key").fetchall()
    return Data(
        mode=mode,
        runs=np.array([row[0] for row in runs], dtype=np.int64),
        recorded_ns=recorded_ns,
        cores=max((int(row[3]) for row in runs), default=1),
        period_ns=sampling_period_ns(max((int(row[4]) for row in runs), default=0), lines),
        columns=columns,
        lines=lines,
        points=points,
        measures=measures,
        health={str(key): int(value) for key, value in health},
    )


def sampling_period_ns(asked_ns: int, lines: Mapping[int, Mapping[str, Any]]) -> int:
    """Return the CPU time in ns between two samples: the longest period asked for, or the mean time that a sample stands for.

    Without perf events the kernel looks at timers of CPU time only when its clock ticks, every 4 ms at CONFIG_HZ=250
    (posix-cpu-timers.c); and of deep stacks the agent takes fewer samples. Sleeps are samples of any length: lines that slept are
    left out.
    """
    ran = [facts for facts in lines.values() if facts["kind"] == "line" and facts["blocked_ns"] == 0]
    samples = sum(int(facts["samples"]) for facts in ran)
    if samples < _SAMPLES:
        return asked_ns
    return max(asked_ns, sum(int(facts["cpu_ns"]) for facts in ran) // samples)


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
    nothing = np.zeros(len(order))
    points: list[ProgressPoint] = []
    measures: list[Measured] = []
    compared = [name for name, kind, _, _, is_pair in rows if kind != "candidate" or is_pair]
    if len(compared) > MOST_POINTS:
        what = f"{len(compared)} progress points, where a program has {MOST_POINTS} at most"
        raise HeadwayError("HW323", path=recording.path, table="causal_point", column="name", what=what)
    visits_of = _visits(recording, [name for name, kind, *_, is_pair in rows if kind != "candidate" and not is_pair])
    for name, kind, where, hits, is_pair in rows:
        if is_pair:
            found = recording.query(_LATENCY, [name]).fetchnumpy()
            measured = latency(name, {key: np.asarray(values) for key, values in found.items()}, order, columns)
        else:
            visits = _scattered(visits_of.get(name, []), order) if kind != "candidate" else nothing
            measured = Measured(name, "throughput", visits, columns["effective_ns"].astype(float))
        points.append(
            ProgressPoint(
                name=name,
                measure=measured.measure,
                kind="latency" if is_pair else kind,
                where=where,
                hits=int(hits),
                hits_per_s=int(hits) / seconds,
                latency_ns=_mean_latency_ns(measured, columns) if is_pair else None,
            )
        )
        if kind != "candidate":
            measures.append(measured)
    if mode == END_TO_END:
        runs = len(columns["run"])
        measures.insert(0, Measured(WHOLE_RUN, "run", np.ones(runs), columns["effective_ns"].astype(float)))
        whole = ProgressPoint(name=WHOLE_RUN, measure="run", kind="run", where="", hits=runs, hits_per_s=runs / seconds)
        points.insert(0, whole)
    return tuple(points), tuple(measures)


def _mean_latency_ns(measured: Measured, columns: Mapping[str, Any]) -> float | None:
    """Return the mean latency of a pair in experiments that made nothing faster; None where no latency ended in them."""
    base = (columns["speedup_pct"] == 0) & ~columns["is_control"]
    ended = measured.visits[base].sum()
    return float(measured.time_ns[base].sum() / ended) if ended else None


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
    SELECT p.name, v.run, v.experiment, sum(v.visits)::BIGINT
    FROM (SELECT run, experiment, point, sum(visits) AS visits FROM experiment_visit GROUP BY ALL) v
    JOIN (SELECT DISTINCT run, point, name FROM causal_point WHERE coalesce(pair, -1) < 0 AND list_contains($1, name)) p
    ON p.run = v.run AND p.point = v.point GROUP BY p.name, v.run, v.experiment
"""
MOST_POINTS = 200
"""Each has a figure for each experiment: a command line names some."""
_LATENCY = """
    SELECT run, experiment, begun, ended, in_flight_begin, in_flight_ns
    FROM experiment_latency
    WHERE (run, pair) IN (SELECT (run, pair) FROM causal_point WHERE name = $1 AND coalesce(pair, -1) >= 0)
    ORDER BY run, experiment
"""
_ODD = 0.02
"""A reading in the middle of a visit is rare, and costs an experiment: not worth a word."""
_MANY = 20
"""Fewer requests that seem never to end may be those that are long."""


def latency(
    name: str, rows: Mapping[str, Any], order: Mapping[tuple[int, int], int], columns: Mapping[str, Any]
) -> Measured:
    """Return what experiments measured of a latency pair, from rows of experiment_latency (`model.causal.latency`)."""
    import numpy as np

    visits, time_ns = np.zeros(len(order)), np.zeros(len(order))
    before = grown = left_out = 0
    for run in np.unique(rows["run"]).tolist():
        of_run = {key: values[rows["run"] == run] for key, values in rows.items()}
        at = np.array([order.get((run, each), -1) for each in of_run["experiment"].tolist()])
        of_run, at = {key: values[at >= 0] for key, values in of_run.items()}, at[at >= 0]
        if not len(at):
            continue
        begin = of_run["in_flight_begin"]
        effective_ns = columns["effective_ns"][at].astype(float)
        found = in_flight(of_run["begun"], of_run["ended"], begin, of_run["in_flight_ns"], effective_ns)
        visits[at], time_ns[at] = found.visits, found.time_ns
        third = max(len(at) // 3, 1)
        before, left_out = before + found.missing, left_out + int((~found.is_possible).sum())
        grown += max(0, int(begin[-third:].min() - begin[:third].max()))
    return Measured(
        name, "latency", visits, time_ns, remark=_remark(before, grown, left_out, len(rows["run"]), float(visits.sum()))
    )


def _remark(before: int, grown: int, left_out: int, experiments: int, visits: float) -> str:
    """Return what is wrong with a pair, in words; empty if nothing is."""
    remarks = [f"{before} requests had begun before the recording"] if before else []
    if grown >= max(_MANY, visits / 1000):
        remarks.append(
            f"{grown} more are in flight at the end than at the begin: some never end, or they come faster than they end"
        )
    if left_out > _ODD * experiments:
        remarks.append(f"{left_out} experiments have figures that can't be, and do not count")
    return "; ".join(remarks)


def _visits(recording: Recording, names: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    """Return by progress point its visits in each experiment that has any: run, experiment, visits."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, *row in recording.query(_VISITS, [names]).fetchall() if names else ():
        found.setdefault(name, []).append(tuple(row))
    return found


def _scattered(rows: list[tuple[Any, ...]], order: Mapping[tuple[int, int], int]) -> Floats:
    """Return the visits per experiment; one without a row had none."""
    import numpy as np

    visits = np.zeros(len(order))
    for run, experiment, count in rows:
        at = order.get((int(run), int(experiment)))
        if at is not None:
            visits[at] = float(count)
    return visits
