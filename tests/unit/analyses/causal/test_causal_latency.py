"""Latency pairs by Little's law: what is in flight before the recording, what never ends, what was read half."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headway.analyses.causal.analysis import analyse
from headway.analyses.causal.data import Data, latency
from headway.model.causal.comparisons import Measured
from headway.report.json.causal import causal_json
from support.builders.causal_builder import CausalModel, data_of, serial

EFFECTS = {"half": serial(0.5), "nothing": serial(0.0)}


def _requests(data: Data, **more: Any) -> Measured:
    """Return a latency pair as measured: 100 requests in flight, 10 ms each, in every experiment."""
    effective_ns = data.columns["effective_ns"]
    begun = (effective_ns / 1e5).astype(np.int64)
    rows = {
        "run": data.columns["run"],
        "experiment": data.columns["experiment"],
        "begun": begun,
        "ended": begun,
        "in_flight_begin": np.full(data.count, 100),
        "in_flight_ns": 100 * effective_ns,
        **more,
    }
    order = {(0, at): at for at in data.columns["experiment"].tolist()}
    return latency("request", rows, order, data.columns)


def _mean_ns(measured: Measured) -> float:
    return float(measured.time_ns.sum() / measured.visits.sum())


def test_requests_that_had_begun_before_the_recording_are_in_flight_all_the_same() -> None:
    data = data_of(CausalModel(EFFECTS, pairs=20, is_fixed_visits=True))
    plain = _requests(data)
    assert _mean_ns(plain) == pytest.approx(1e7, rel=1e-3)
    assert not plain.remark
    in_flight = np.full(data.count, 100)
    in_flight[7] = 0  # once nobody is: from then on it is known how many are missing
    spent_ns = in_flight * data.columns["effective_ns"]
    idle = _requests(data, in_flight_begin=in_flight, in_flight_ns=spent_ns)
    attached = _requests(
        data, in_flight_begin=in_flight - 60, in_flight_ns=spent_ns - 60 * data.columns["effective_ns"]
    )
    assert attached.time_ns == pytest.approx(idle.time_ns)
    assert "60 requests had begun before" in attached.remark


def test_visits_read_in_the_middle_of_one_spoil_no_latency() -> None:
    data = data_of(CausalModel(EFFECTS, pairs=20, is_fixed_visits=True))
    torn = 100 * data.columns["effective_ns"]
    torn[5] -= 1 << 50
    torn[8] += 1 << 50
    measured = _requests(data, in_flight_ns=torn)
    assert (measured.visits[[5, 8]] == 0).all()
    assert (measured.visits > 0).sum() == data.count - 2
    assert _mean_ns(measured) == pytest.approx(1e7, rel=1e-3)
    assert "can't be" in measured.remark
    result = analyse(replace(data, measures=(measured,)), "a.headway")
    assert "HW637" in {notice.id for notice in result.notices}
    json.dumps(causal_json(result), allow_nan=False)


def test_requests_that_never_end_are_said() -> None:
    data = data_of(CausalModel(EFFECTS, pairs=20, is_fixed_visits=True))
    growing = _requests(
        data,
        in_flight_begin=100 + 1000 * np.arange(data.count),
        in_flight_ns=(100 + 1000 * np.arange(data.count)) * data.columns["effective_ns"],
    )
    assert "some never end" in growing.remark
    swinging = 100 + 90 * (np.arange(data.count) % 2)
    steady = _requests(data, in_flight_begin=swinging, in_flight_ns=swinging * data.columns["effective_ns"])
    assert not steady.remark
