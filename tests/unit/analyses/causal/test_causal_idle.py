"""Experiments on lines that no longer run: left out, unless that may be chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headway.analyses.causal import pairs
from headway.analyses.causal.analysis import analyse
from headway.analyses.causal.data import Data
from support.builders.causal_builder import CausalModel, assembled, columns, serial


def _half_idle(seed: int = 1) -> Data:
    """Return a recording of one line that takes half of the time in its first half, and does not run in the other."""
    made_ = CausalModel({"half": serial(0.5)}, pairs=200, phase={"half": (0, 0.5)}, visit_ns=1e5, seed=seed)
    table, visits = columns(made_)
    idle = np.arange(len(visits)) >= len(visits) / 2
    visits = np.where(idle, made_.experiment_ns / made_.visit_ns, visits)
    for name in ("hits", "hits_ns", "delay_ns"):
        table[name] = np.where(idle, 0, table[name])
    table["dur_ns"] = np.where(idle, table["effective_ns"], table["dur_ns"])
    table["effective_ns"] = table["dur_ns"] - table["delay_ns"]
    table["start_ns"] = 1_000_000_000 + np.concatenate([[0], np.cumsum(table["dur_ns"])[:-1]])
    return assembled(made_, table, visits)


def test_experiments_on_a_line_that_does_not_run_do_not_count() -> None:
    data = _half_idle()
    result = analyse(data, "a.headway")
    ran = data.columns["hits"] > 0
    treated = data.columns["speedup_pct"] > 0
    assert result.experiments in range(int((ran | ~treated).sum()), int((ran | ~treated).sum()) + 2)
    line = result.lines[0]
    assert line.phase_share == pytest.approx(0.5, abs=0.1)
    assert [each.remedy.split("   ")[0] for each in result.notices if each.id == "HW630"] == [
        "headway causal a.headway --json"
    ]
    assert line.curve is not None
    assert line.curve.slope == pytest.approx(0.25, abs=0.05)


def test_an_experiment_counts_if_the_line_was_sampled_in_it_or_beside_it_or_is_sampled_rarely() -> None:
    data = _half_idle()
    use = np.ones(data.count, dtype=bool)
    idle, beside = pairs.idle(data, use)
    last = int(np.flatnonzero(idle)[-1])
    assert not idle[: data.count // 2 - 1].any()
    assert beside[last - 1]
    for at in (last - 1, last, last + 1):
        hits = data.columns["hits"].copy()
        hits[at] = 1
        assert not pairs.idle(replace(data, columns={**data.columns, "hits": hits}), use)[0][last]
    rare = {key: {**facts, "samples": 100} for key, facts in data.lines.items()}
    assert not pairs.idle(replace(data, lines=rare), use)[0].any()


def test_samples_of_another_line_in_the_baseline_beside_it_do_not_make_it_run() -> None:
    data = _half_idle()
    use = np.ones(data.count, dtype=bool)
    last = int(np.flatnonzero(pairs.idle(data, use)[0])[-1])
    line, hits = data.columns["line"].copy(), data.columns["hits"].copy()
    line[last + 1], hits[last + 1] = 7, 70  # whose turn is next
    other = replace(data, columns={**data.columns, "line": line, "hits": hits})
    idle, beside = pairs.idle(other, use)
    assert idle[last]
    assert beside[last - 1]
    assert not beside[last + 1]
