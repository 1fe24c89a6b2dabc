"""Builds causal recordings from a model whose exact results are known, with noise of a known kind.

A program has one progress point. At 0 % a visit takes `visit_ns`; a line made faster by s takes `effect(s)` of that off. Visits
in an experiment are drawn about time / visit_ns with variance `dispersion` times the mean: 1 is Poisson, below is steadier.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.analyses.causal.data import Data
from headway.analyses.causal.types import Causal, ProgressPoint
from headway.model.causal.comparisons import Measured
from headway.report.terminal import make_console
from headway.report.terminal.causal import render_causal

Effect = Callable[[float], float]
"""Virtual speedup (fraction) to program speedup (fraction)."""


def serial(share: float) -> Effect:
    """Return the effect of a line that is `share` of a serial program."""
    return lambda speedup: share * speedup


def parallel(share: float, most: float) -> Effect:
    """Return the effect of a line beside another one, which takes over after a gain of `most`."""
    return lambda speedup: min(share * speedup, most)


def harmful(loss: float) -> Effect:
    """Return the effect of a line that makes contention worse."""
    return lambda speedup: -loss * speedup


@dataclass(frozen=True)
class CausalModel:
    """A program and a recording of it. `phase`: line -> (begin, end), the share of the run in which it runs alone."""

    effects: dict[str, Effect]
    pairs: int = 200
    experiment_ns: int = 250_000_000
    visit_ns: float = 1_000_000.0
    dispersion: float = 1.0
    drift: float = 0.0
    """Logarithm of how much slower visits become from the begin to the end."""
    wobble: float = 0.0
    """Amplitude of a slow wave in the logarithm of the visits' time."""
    warm_up: int = 0
    """So many experiments at the begin are slower, 3 times at first."""
    speedups: Sequence[int] = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    seed: int = 1
    phase: dict[str, tuple[float, float]] = field(default_factory=dict)
    cpu_share: float = 0.3
    wall_noise: float = 0.0
    """Standard deviation of what others take from the program, as a share of an experiment's length with its delays."""
    period_ns: int = 100_000
    """CPU time between two samples of a thread."""
    is_fixed_visits: bool = False
    """Visits are the mean, rounded no further: no noise at all."""


def columns(model: CausalModel) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Return the columns of `experiment` and the visits."""
    random = np.random.default_rng(model.seed)
    names = list(model.effects)
    count = 2 * model.pairs + 1
    line, speedup = _targets(model, random, count)
    effect = np.array([model.effects[names[line[at]]](speedup[at] / 100) for at in range(count)])
    effective_ns = np.full(count, float(model.experiment_ns))
    slower = model.drift * np.arange(count) / count + model.wobble * np.sin(np.arange(count) / 40)
    slower[: model.warm_up] += np.log(3) * np.exp(-np.arange(model.warm_up) / max(model.warm_up / 3, 1))
    mean = effective_ns / (model.visit_ns * np.exp(slower) * (1 - effect))
    visits = mean if model.is_fixed_visits else _drawn(random, mean, model.dispersion)
    # The line's samples: `cpu_share` of the time at 0 %, met more often per effective time where the program is faster.
    cpu = model.cpu_share * effective_ns / (1 - effect)
    delay = (speedup / 100 * cpu).astype(np.int64)
    taken = model.wall_noise * random.standard_normal(count) * (effective_ns + delay)
    dur = np.maximum(effective_ns + taken, model.experiment_ns / 20).astype(np.int64) + delay
    made_columns: dict[str, NDArray[Any]] = {
        "run": np.zeros(count, dtype=np.int64),
        "experiment": np.arange(count),
        "line": line,
        "speedup_pct": speedup,
        "start_ns": 1_000_000_000 + np.concatenate([[0], np.cumsum(dur)[:-1]]),
        "dur_ns": dur,
        "delay_ns": delay,
        "gc_ns": np.zeros(count, dtype=np.int64),
        "gcs": np.zeros(count, dtype=np.int64),
        "hits_ns": cpu.astype(np.int64),
        "all_hits_ns": cpu.astype(np.int64),
        "hits": (cpu / model.period_ns).astype(np.int64),
        "samples": (effective_ns / model.period_ns).astype(np.int64),
        "sampled_ns": effective_ns.astype(np.int64),
        "waited_ns": np.zeros(count, dtype=np.int64),
        "is_spin": np.zeros(count, dtype=bool),
        "is_complete": np.ones(count, dtype=bool),
        "ran_ns": effective_ns.astype(np.int64),
        "stood_ns": delay,
        "is_control": np.zeros(count, dtype=bool),
    }
    made_columns["effective_ns"] = dur - delay
    return made_columns, np.asarray(visits, dtype=np.float64)


def _targets(
    model: CausalModel, random: np.random.Generator, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the line and the speedup in per cent of each experiment; every other one is at 0 %."""
    names = list(model.effects)
    line, speedup = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for at in range(count):
        runs = [name for name in names if _runs(model, name, at / count)]
        chosen = runs[int(random.integers(len(runs)))] if runs else names[0]
        line[at] = names.index(chosen)
        speedup[at] = int(random.choice(model.speedups)) if at % 2 else 0
    return line, speedup


def _runs(model: CausalModel, name: str, at: float) -> bool:
    begin, end = model.phase.get(name, (0.0, 1.0))
    return begin <= at < end


def _drawn(random: np.random.Generator, mean: NDArray[np.float64], dispersion: float) -> NDArray[np.float64]:
    """Return whole visits with the given mean and variance dispersion * mean."""
    if dispersion > 1:
        return random.poisson(random.gamma(mean / (dispersion - 1), dispersion - 1)).astype(float)
    if dispersion == 1:
        return random.poisson(mean).astype(float)
    steady = random.binomial(np.maximum(np.round(mean / (1 - dispersion)), 1).astype(int), 1 - dispersion)
    return np.asarray(steady, dtype=np.float64)


def data_of(model: CausalModel) -> Data:
    """Return the tables as `causal_data.read` would."""
    table, visits = columns(model)
    return assembled(model, table, visits)


def assembled(model: CausalModel, table: dict[str, NDArray[Any]], visits: NDArray[np.float64]) -> Data:
    """Return tables of these experiments."""
    recorded_ns = int(table["dur_ns"].sum())
    plain = table["effective_ns"] / (1 - _effects(model, table))
    lines = {}
    for at, name in enumerate(model.effects):
        inside = sum(
            time for time, where in zip(plain.tolist(), _places(table), strict=True) if _runs(model, name, where)
        )
        lines[at] = {
            "kind": "line",
            "class_name": "com.acme.App",
            "method": name,
            "file": "App.java",
            "line_number": 10 + at,
            "cpu_ns": int(model.cpu_share * inside),
            "blocked_ns": 0,
            "samples": int(model.cpu_share * inside / model.period_ns),
        }
    measured = Measured("done", "throughput", visits, table["effective_ns"].astype(float))
    hits = int(visits.sum())
    point = ProgressPoint(
        name="done",
        measure="throughput",
        kind="method",
        where="com.acme.App.done",
        hits=hits,
        hits_per_s=hits / recorded_ns * 1e9,
    )
    return Data(
        mode="experiments",
        runs=np.unique(table["run"]),
        recorded_ns=recorded_ns,
        cores=2,
        period_ns=model.period_ns,
        columns=table,
        lines=lines,
        points=(point,),
        measures=(measured,),
        health={},
    )


def _places(table: dict[str, NDArray[Any]]) -> list[float]:
    count = len(table["run"])
    return [at / count for at in range(count)]


def _effects(model: CausalModel, table: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    effects = list(model.effects.values())
    pairs = zip(table["line"].tolist(), table["speedup_pct"].tolist(), strict=True)
    return np.array([effects[line](speedup / 100) for line, speedup in pairs])


def joined(model: CausalModel, each: Sequence[Data]) -> Data:
    """Return the recordings of several runs as one: what `-o` of a recording that exists makes."""
    tables = [{**data.columns, "run": np.full(data.count, run)} for run, data in enumerate(each)]
    together = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    return assembled(model, together, np.concatenate([data.measures[0].visits for data in each]))


def whole_runs(share: float, runs: int, seed: int) -> Data:
    """Return a recording end-to-end: every other run has a line of this share made faster; times vary by 5 percent."""
    model = CausalModel({"one": serial(share)}, pairs=runs // 2, seed=seed)
    table, _ = columns(model)
    count = len(table["run"])
    speedup = np.zeros(count, dtype=np.int64)
    speedup[1::2] = [(100, 50, 75, 25)[at % 4] for at in range(runs // 2)]
    noise = np.exp(0.05 * np.random.default_rng((seed, 1)).standard_normal(count))
    effective_ns = (5e9 * (1 - share * speedup / 100) * noise).astype(np.int64)
    delay_ns = speedup * 10_000_000
    table |= {"run": np.arange(count), "experiment": np.zeros(count, dtype=np.int64), "speedup_pct": speedup}
    table |= {"effective_ns": effective_ns, "delay_ns": delay_ns, "dur_ns": effective_ns + delay_ns}
    data = assembled(model, table, np.ones(count))
    measured = Measured("whole run", "run", np.ones(count), effective_ns.astype(float))
    return replace(data, mode="end-to-end", measures=(measured,))


def write(path: Path, data: Data, **more: Mapping[str, Sequence[Any]]) -> Path:
    """Write these experiments as a causal recording; `more` holds further tables by column, or replaces those made here."""
    import pyarrow as pa

    from headway.store.writer import write_recording

    columns = {name: values.tolist() for name, values in data.columns.items() if name != "effective_ns"}
    runs = data.runs.tolist()
    durations = [int(data.columns["dur_ns"][data.columns["run"] == run].sum()) for run in runs]
    visits = data.measures[0].visits.astype(int).tolist() if data.measures else []
    tables: dict[str, Mapping[str, Sequence[Any]]] = {
        "causal_run": {
            "run": runs,
            "pid": [100 + run for run in runs],
            "start_ns": [1_000_000_000] * len(runs),
            "dur_ns": durations,
            "timer": ["perf"] * len(runs),
            "period_ns": [data.period_ns] * len(runs),
            "mode": [data.mode] * len(runs),
            "cores": [2] * len(runs),
        },
        "causal_point": {
            "run": runs,
            "point": [0] * len(runs),
            "name": ["done"] * len(runs),
            "kind": ["method"] * len(runs),
            "where": ["com.acme.App.done"] * len(runs),
            "hits": [sum(visits)] + [0] * (len(runs) - 1),
        },
        "causal_line": {
            "line": list(data.lines),
            **{name: [facts[name] for facts in data.lines.values()] for name in _LINE},
        },
        "experiment": columns,
        "experiment_visit": {
            "run": columns["run"],
            "experiment": columns["experiment"],
            "point": [0] * len(visits),
            "visits": visits,
        },
        **more,
    }
    manifest = {"kind": "causal", "command": ["java", "App"], "window": {"start_ns": 0, "end_ns": 1}}
    return write_recording(path, manifest, {name: pa.table(dict(rows)) for name, rows in tables.items()})


_LINE = ("kind", "class_name", "method", "file", "line_number", "cpu_ns", "blocked_ns", "samples")


EFFECTS = {"half": serial(0.5), "beside": parallel(0.6, 0.3), "nothing": serial(0.0), "worse": harmful(0.3)}
MADE = CausalModel(EFFECTS, pairs=300, dispersion=0.2, seed=5)


def notice_ids(result: Causal) -> set[str]:
    """Return what weakens a result, by its ids."""
    return {notice.id for notice in result.notices}


def with_columns(data: Data, **columns: Any) -> Data:
    """Return the tables with other columns of `experiment`."""
    return replace(data, columns={**data.columns, **{name: np.asarray(values) for name, values in columns.items()}})


def printed(result: Causal) -> str:
    """Return what a terminal of 80 columns shows of a result."""
    file = io.StringIO()
    console = make_console(file)
    console.width = 80
    render_causal(result, console, "app.headway")
    return file.getvalue()
