"""The report's view of counters: the figures of `headway counters`, rates that add up to the counts, and its limits."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.counters.course.kinds_over_time import rates_of_kinds
from headway.report.html import build_payload
from headway.report.html.counters import COUNTERS_BYTES, counters_view
from headway.report.html.flame_pack import json_bytes
from headway.report.html.page import script_safe_json
from headway.report.html.payloads.recording import Payload
from headway.store import open_recording
from support.builders import recording_builder
from support.builders.counted_builder import CountedSlice, counted_recording
from support.builders.counted_slices import add_counts
from support.oracles.typed_json import differences

Run = Callable[..., tuple[int, str, str]]
MS = 1_000_000
GROUPS = (("cycles", "instructions"), ("page-faults",))
KINDS = ("app", "gc", "headway", "carrier")


def write_recording(path: Path) -> Path:
    slices = [
        CountedSlice(0, 0, 0, 40 * MS, (80 * MS, 40 * MS, 7), (0, 0)),
        CountedSlice(1, 1, 20 * MS, 20 * MS, (10 * MS, 20 * MS, 0), (0, 0)),
        CountedSlice(2, 1, 40 * MS, 10 * MS, (MS, MS, MS), (0, 0)),
        CountedSlice(3, 1, 50 * MS, 30 * MS, None, (0, 0)),
    ]
    return counted_recording(path, slices, 100 * MS, GROUPS, KINDS)


def test_the_view_has_the_figures_of_the_command(run: Run, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.headway")
    code, out, err = run("counters", path, "--json")
    assert code == 0, err
    said = json.loads(out)
    view = counters_view(open_recording(path)).values
    assert view is not None
    assert (view["step"], view["left_out"], view["absent"]) == ("CPI", 0, [])
    assert [row["tid"] for row in view["rows"]] == [row["tid"] for row in said["threads"]]
    for row, truth in zip(view["rows"], said["threads"], strict=True):
        assert (row["name"], row["kind"], row["running_ns"]) == (truth["name"], truth["kind"], truth["cpu_ns"])
        for names, mine, theirs in (("events", "counts", "counts"), ("metrics", "metrics", "metrics")):
            for name, figure in zip(view[names], row[mine], strict=True):
                assert figure == {end: truth[theirs][name][end] for end in ("value", "low", "high")}


def test_rates_are_of_kinds_and_say_where_nothing_is_known(tmp_path: Path) -> None:
    edges, found = rates_of_kinds(open_recording(write_recording(tmp_path / "a.headway")), 10)
    assert edges == tuple(range(0, 101 * MS, 10 * MS))
    rates = {(each.event, each.kind): each.rates for each in found}
    assert set(rates) == {
        (event, kind) for event in ("cycles", "instructions", "page-faults") for kind in ("app", "gc")
    }
    # 2 cycles a ns for 40 ms; nobody knows what the carrier counted from 50 to 80 ms; then nobody ran.
    assert list(rates["cycles", "app"][:5]) == pytest.approx([2e9] * 4 + [0.0])
    assert rates["cycles", "app"][5:] == (None, None, None, 0.0, 0.0)
    assert list(rates["cycles", "gc"]) == pytest.approx([0.0, 0.0, 0.5e9, 0.5e9, *[0.0] * 6])


@settings(max_examples=15)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60), st.integers(0, 10**9)), min_size=1, max_size=8),
    bins=st.integers(1, 40),
)
def test_rates_times_their_bins_are_the_counts(lengths: list[tuple[int, int, int]], bins: int) -> None:
    slices, at = [], 0
    for pause, length, count in lengths:
        slices.append(CountedSlice(0, 0, at + pause, length, (count,)))
        at += pause + length
    with tempfile.TemporaryDirectory() as folder:
        path = counted_recording(Path(folder) / "a.headway", slices, at, (("page-faults",),))
        edges, found = rates_of_kinds(open_recording(path), bins)
    total = sum(
        (rate or 0.0) * (end - start) / 1e9
        for each in found
        for rate, start, end in zip(each.rates, edges[:-1], edges[1:], strict=True)
    )
    assert total == pytest.approx(sum(count for *_, count in lengths))


def test_a_page_has_the_view_and_one_without_counters_has_none(tmp_path: Path) -> None:
    path = recording_builder.make(tmp_path / "a.headway", recording_builder.Shape())
    plain = build_payload(open_recording(path))
    assert (plain["counters"], plain["missing"]["counters"]) == (None, None)
    add_counts(path, GROUPS, lambda ran: (2 * ran.running_ns, ran.running_ns, 1))
    counted: dict[str, Any] = json.loads(script_safe_json(build_payload(open_recording(path))))
    assert counted["counters"]["rows"]
    assert counted["counters"]["rates"]
    assert differences(counted, Payload, {}) == []


def test_counters_that_were_asked_for_and_did_not_count_say_why(tmp_path: Path) -> None:
    absent = [{"event": "cycles", "reason": "no counter of the processor is there"}]
    path = counted_recording(
        tmp_path / "a.headway",
        [CountedSlice(0, 0, 0, 10, None, (0, 0))],
        20,
        GROUPS,
        step="none",
        groups=[],
        absent=absent,
    )
    view = counters_view(open_recording(path))
    assert view.values is None
    assert "no counter of the processor is there" in (view.missing or "")


def test_many_threads_with_long_names_of_markup_stay_in_their_room(tmp_path: Path) -> None:
    events = [f"r{number:x}" for number in range(16)]
    slices = [CountedSlice(n, 0, n * 1000, 1000, tuple(range(16)), (0,)) for n in range(600)]
    kinds = ["app"] * 600
    path = counted_recording(tmp_path / "a.headway", slices, 600_000, (events,), kinds)
    view = counters_view(open_recording(path)).values
    assert view is not None
    assert json_bytes(view) <= COUNTERS_BYTES
    assert len(view["rows"]) + view["left_out"] == 600
    assert view["rows"]
