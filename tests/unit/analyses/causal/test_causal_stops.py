"""What delays cost a program beyond their time, and whether results are freed of it.

Programs of two threads, made up: whenever both have stood still, part of the CPU time after that is lost. What a line is worth
is known, and so is what is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headway.analyses.causal import limits, phases, stops
from headway.analyses.causal import pairs as causal_pairs
from headway.analyses.causal.analysis import analyse
from headway.analyses.causal.data import Data, read
from headway.store import open_recording
from support.builders.causal_builder import CausalModel, data_of, notice_ids, serial, whole_runs, with_columns, write

GAIN = 0.4
CONTROL_EVERY = 4
THREADS = 2
"""Both run all the time, and both stand still for each delay."""


def lost_share(cost: float, bend: float, stood_ns: NDArray[Any], ran_ns: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of the CPU time that stops cost."""
    density = stood_ns / ran_ns
    return np.asarray(cost * density / (1 + bend * density))


def cold(cost: float, *, bend: float = 0.0, seed: int = 1, pairs: int = 400, gain: float = GAIN) -> Data:
    """Return a recording of a program whose stops cost so much, with control experiments between some pairs."""
    data = data_of(
        CausalModel({"line": serial(gain)}, pairs=pairs, seed=seed, dispersion=0.5, speedups=(25, 50, 75, 100))
    )
    at = np.arange(CONTROL_EVERY, data.count, CONTROL_EVERY)
    random = np.random.default_rng((seed, 1))
    columns = {name: np.insert(values, at, values[at - 2]) for name, values in data.columns.items()}
    is_control = np.insert(np.zeros(data.count, dtype=bool), at, True)
    assert (columns["speedup_pct"][is_control] == 0).all()
    columns["experiment"] = np.arange(len(is_control))
    columns["start_ns"] = np.concatenate([[0], np.cumsum(columns["dur_ns"])[:-1]])
    # Controls: as long as the others, and between a half and three quarters of that delays.
    share = random.choice([0.5, 0.75], len(is_control))
    stopped_ns = (share * columns["dur_ns"]).astype(np.int64)
    columns["delay_ns"] = np.where(is_control, stopped_ns, columns["delay_ns"])
    columns["effective_ns"] = columns["dur_ns"] - columns["delay_ns"]
    columns["ran_ns"] = THREADS * columns["effective_ns"]
    columns["stood_ns"] = THREADS * columns["delay_ns"]
    columns["is_control"] = is_control
    sampled = columns["all_hits_ns"] * columns["effective_ns"] / columns["dur_ns"]
    columns["all_hits_ns"] = np.where(is_control, sampled, columns["all_hits_ns"]).astype(np.int64)
    kept = 1 - lost_share(cost, bend, columns["stood_ns"], columns["ran_ns"])
    plain = np.insert(data.measures[0].visits, at, data.measures[0].visits[at - 2])
    undisturbed = np.where(is_control, plain * columns["effective_ns"] / columns["dur_ns"], plain)
    visits = random.poisson(undisturbed * kept).astype(float)
    measured = replace(data.measures[0], visits=visits, time_ns=columns["effective_ns"].astype(float))
    sampled_ns = int(columns["all_hits_ns"][is_control].sum())
    lines = {0: {**data.lines[0], "cpu_ns": data.lines[0]["cpu_ns"] + sampled_ns}}
    return replace(data, columns=columns, measures=(measured,), lines=lines)


def at_all(data: Data) -> tuple[float, float, float]:
    """Return the gain of the line made free, and its interval."""
    (line,) = analyse(data, "a.headway").lines
    (point,) = [each for each in line.points if each.virtual_speedup_pct == 100]
    assert point.low_pct is not None
    assert point.high_pct is not None
    return point.program_speedup_pct / 100, point.low_pct / 100, point.high_pct / 100


def without_controls(data: Data) -> Data:
    kept = ~data.columns["is_control"]
    measured = data.measures[0]
    mine = replace(measured, visits=measured.visits[kept], time_ns=measured.time_ns[kept])
    columns: Mapping[str, Any] = {name: values[kept] for name, values in data.columns.items()}
    begins = np.concatenate([[0], np.cumsum(columns["dur_ns"])[:-1]])
    cpu_ns = data.lines[0]["cpu_ns"] - int(data.columns["all_hits_ns"][~kept].sum())
    lines = {0: {**data.lines[0], "cpu_ns": cpu_ns}}
    return replace(data, columns={**columns, "start_ns": begins}, measures=(mine,), lines=lines)


@pytest.mark.parametrize("bend", [0.0, 0.3])
def test_what_stops_cost_is_taken_off_what_a_line_gains(bend: float) -> None:
    found = [at_all(cold(0.2, bend=bend, seed=seed)) for seed in range(8)]
    assert np.mean([gain for gain, _, _ in found]) == pytest.approx(GAIN, abs=0.02)
    blind, _, high = at_all(without_controls(cold(0.2, bend=bend)))
    assert blind < high < GAIN - 0.02, "without them the gain is too low, and surely so"


def test_intervals_know_how_well_the_cost_is_known() -> None:
    found = [at_all(cold(0.2, bend=0.15, seed=seed, pairs=120)) for seed in range(30)]
    inside = sum(low <= GAIN <= high for _, low, high in found)
    assert inside >= 26, "95 % of 30 are 28.5; fewer than 26 come about once in a hundred times"


def test_where_stops_cost_nothing_hardly_anything_is_taken_off() -> None:
    found = np.array([at_all(cold(0.0, seed=seed))[0] for seed in range(12)])
    plain = np.array([at_all(without_controls(cold(0.0, seed=seed)))[0] for seed in range(12)])
    assert (found >= plain - 1e-9).all(), "nothing is ever added"
    assert (found - plain).mean() < 0.01


def test_a_line_without_effect_stays_one_where_stops_cost_much() -> None:
    # Its delays cost the program as much as those of any other line.
    (line,) = analyse(cold(0.15, gain=0.0), "a.headway").lines
    assert line.shape in ("none", "unknown")
    (line,) = analyse(without_controls(cold(0.15, gain=0.0)), "a.headway").lines
    assert line.shape == "slower", "what delays did to the caches was taken for the line's"


def test_control_experiments_are_no_experiments_of_a_line() -> None:
    data = cold(0.0)
    controls = int(data.columns["is_control"].sum())
    result = analyse(data, "a.headway")
    assert result.experiments == data.count - controls
    assert sum(point.experiments for point in result.lines[0].points) == int((data.columns["speedup_pct"] > 0).sum())


def test_controls_before_the_first_baseline_that_counts_are_not_compared_with_later_ones() -> None:
    data = cold(0.2)
    use = causal_pairs.usable(data)
    use[:20] = False  # the warm-up
    early = data.columns["is_control"] & (np.arange(data.count) < 20)
    assert early.any()
    interpreted = with_columns(data, ran_ns=np.where(early, 100, 1) * data.columns["ran_ns"])
    density = np.array([0.5])
    found, plain = (stops.cost_of(each, each.measures[0], use) for each in (interpreted, data))
    assert found is not None
    assert plain is not None
    assert found.share(density) == plain.share(density)


def test_experiments_that_do_not_count_have_no_part_in_what_is_taken_off_the_others() -> None:
    data = cold(0.2)
    use = causal_pairs.usable(data)
    at = np.flatnonzero(data.columns["speedup_pct"] > 0)[::2]
    use[at] = False
    idle = with_columns(data, stood_ns=np.where(use | data.columns["is_control"], data.columns["stood_ns"], 0))
    (found,), (plain,) = (stops.without_cost(each, use).measures for each in (idle, data))
    assert (found.time_ns[at] == data.measures[0].time_ns[at]).all()
    others = np.setdiff1d(np.arange(data.count), at)
    assert (found.time_ns[others] == plain.time_ns[others]).all()
    assert (found.time_ns[others] < data.measures[0].time_ns[others]).any()


def test_a_cost_that_is_hardly_known_widens_intervals_and_is_not_taken_off() -> None:
    data = cold(0.02, pairs=60, seed=3)
    (found,) = stops.without_cost(data, causal_pairs.usable(data)).measures
    assert found.unsure_ns is not None
    treated = data.columns["speedup_pct"] == 100
    taken = data.measures[0].time_ns[treated] - found.time_ns[treated]
    assert (found.unsure_ns[treated] > taken).all()


def test_delays_that_were_spun_have_no_known_cost() -> None:
    data = cold(0.2)
    spun = with_columns(data, is_spin=np.ones(data.count, dtype=bool))
    assert at_all(spun)[0] == pytest.approx(at_all(without_controls(data))[0], abs=1e-9)


def test_what_is_taken_off_is_told_of_with_the_line_that_has_most_of_it() -> None:
    (notice,) = [each for each in analyse(cold(0.2), "a.headway").notices if each.id == "HW645"]
    assert "App.java:10 100 % faster" in str(notice)
    assert "HW645" not in notice_ids(analyse(without_controls(cold(0.2)), "a.headway"))


UNKNOWN = {"HW646", "HW647", "HW648", "HW650"}


def unknown(data: Data) -> dict[str, str]:
    """Return what is said of a cost that is not known, by the message's id."""
    return {each.id: str(each) for each in analyse(data, "a.headway").notices if each.id in UNKNOWN}


def spun(data: Data, share: float) -> Data:
    """Return the recording with so much of the delays spun."""
    treated = np.flatnonzero(data.columns["speedup_pct"] > 0)
    total = np.cumsum(data.columns["delay_ns"][treated])
    is_spin = np.zeros(data.count, dtype=bool)
    is_spin[treated[total <= share * total[-1]]] = True
    return with_columns(data, is_spin=is_spin | (data.columns["is_control"] & (share > 0.5)))


def standing(data: Data, density: float) -> Data:
    """Return the recording with threads that stand still for so much of their CPU time where a line is free."""
    columns = data.columns
    treated = (columns["speedup_pct"] > 0) & ~columns["is_control"]
    stood_ns = (density * columns["speedup_pct"] / 100 * columns["ran_ns"]).astype(np.int64)
    return with_columns(data, stood_ns=np.where(treated, stood_ns, columns["stood_ns"]))


def test_a_cost_that_is_known_is_not_said_to_be_unknown() -> None:
    assert unknown(cold(0.2)) == {}


def test_too_few_controls_are_told_with_how_many_there_were() -> None:
    assert "for done: of 0 control experiments fewer than 6 count" in unknown(without_controls(cold(0.2)))["HW646"]
    data = cold(0.2)
    some = np.cumsum(data.columns["is_control"]) > 4
    few = with_columns(data, is_complete=~(some & data.columns["is_control"]))
    notice = unknown(few)["HW646"]
    assert f"of {int(data.columns['is_control'].sum())} control experiments" in notice


def test_a_progress_point_without_visits_is_not_said_to_need_controls() -> None:
    data = cold(0.2)
    dead = replace(data.measures[0], name="dead", visits=np.zeros(data.count))
    assert unknown(replace(data, measures=(*data.measures, dead))) == {}


def test_of_two_progress_points_the_one_whose_cost_is_not_known_is_named() -> None:
    data = cold(0.2)
    rare = np.zeros(data.count)
    rare[np.flatnonzero(~data.columns["is_control"])[::200]] = 1
    both = replace(data, measures=(*data.measures, replace(data.measures[0], name="rare", visits=rare)))
    notices = unknown(both)
    assert list(notices) == ["HW646"]
    assert "not known for rare:" in notices["HW646"]


def test_delays_of_runs_that_an_earlier_headway_recorded_are_told_from_a_tenth_of_them_on() -> None:
    data = cold(0.2)
    treated = np.flatnonzero(data.columns["speedup_pct"] > 0)
    for share, expected in ((0.08, set()), (0.12, {"HW650"}), (0.5, {"HW650"})):
        old = np.arange(data.count) < treated[round(share * len(treated))]
        columns = {name: np.where(old, 0, data.columns[name]) for name in ("ran_ns", "stood_ns")}
        use = ~(old & data.columns["is_control"])
        found = unknown(with_columns(data, **columns, is_complete=use))
        assert set(found) == expected, share


def with_a_collector(data: Data, spun_of_line: float, spun_of_gc: float) -> Data:
    """Return the recording with every other experiment one on the collector's pauses, and so much of either's delays spun."""
    columns = data.columns
    treated = np.flatnonzero((columns["speedup_pct"] > 0) & ~columns["is_control"])
    line = columns["line"].copy()
    line[treated[::2]] = 1
    is_spin = np.zeros(data.count, dtype=bool)
    for rows, share in ((treated[1::2], spun_of_line), (treated[::2], spun_of_gc)):
        total = np.cumsum(columns["delay_ns"][rows])
        is_spin[rows[total <= share * total[-1]]] = True
    lines = {0: data.lines[0], 1: {**data.lines[0], "kind": "gc", "cpu_ns": 0, "samples": 0}}
    return replace(with_columns(data, line=line, is_spin=is_spin), lines=lines)


@pytest.mark.parametrize(("line", "gc", "expected"), [(0.0, 0.9, set()), (0.14, 0.0, {"HW647"})])
def test_delays_of_the_collector_are_not_counted_among_those_that_were_spun(
    line: float, gc: float, expected: set[str]
) -> None:
    assert set(unknown(with_a_collector(cold(0.2), line, gc))) == expected


def test_a_line_whose_delays_were_all_spun_is_named_even_if_they_are_few() -> None:
    data = cold(0.2)
    columns = data.columns
    treated = np.flatnonzero((columns["speedup_pct"] > 0) & ~columns["is_control"])
    line = columns["line"].copy()
    line[treated[::20]] = 1
    lines = {0: data.lines[0], 1: {**data.lines[0], "line_number": 77}}
    rare = replace(with_columns(data, line=line, is_spin=line == 1), lines=lines)
    assert "100% of the delays for App.java:77 were spun" in unknown(rare)["HW647"]


def test_where_only_a_latency_is_measured_cores_are_not_asked_for() -> None:
    data = spun(cold(0.2), 0.6)
    assert list(unknown(replace(data, measures=(replace(data.measures[0], measure="latency"),)))) == ["HW648"]
    assert unknown(replace(data, measures=())) == {}


def test_whole_runs_are_told_alone_with_a_progress_point_or_without() -> None:
    data = whole_runs(0.3, 40, 1)
    point = replace(data.measures[0], name="done", measure="throughput")
    for each in (data, replace(data, measures=(*data.measures, point))):
        assert list(unknown(each)) == ["HW648"]
        assert "not taken off whole runs" in unknown(each)["HW648"]
    assert list(unknown(spun(data, 1.0))) == ["HW648"]


def test_a_latency_beside_a_progress_point_is_told_by_its_name_and_the_progress_point_is_not() -> None:
    data = cold(0.2)
    latency = replace(data, measures=(*data.measures, replace(data.measures[0], name="request", measure="latency")))
    assert list(unknown(latency)) == ["HW648"]
    assert "the latency of request:" in unknown(latency)["HW648"]
    two = replace(latency, measures=(*latency.measures, replace(latency.measures[1], name="order")))
    assert "the latency of request, order:" in unknown(two)["HW648"]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.095, set()), (0.105, {"HW647"}), (0.4, {"HW647"}), (0.6, {"HW647"})]
)
def test_delays_without_a_core_are_told_from_a_tenth_of_them_on(share: float, expected: set[str]) -> None:
    found = unknown(spun(cold(0.2), share))
    assert set(found) == expected
    assert share < 0.2 or all(f"{100 * share:.0f}% of the delays" in text for text in found.values())


@pytest.mark.parametrize(("share", "expected"), [(0.4, {"HW646", "HW647"}), (0.6, {"HW647"})])
def test_controls_that_do_not_count_as_most_delays_are_spun_are_not_told_twice(
    share: float, expected: set[str]
) -> None:
    assert set(unknown(spun(without_controls(cold(0.2)), share))) == expected


@pytest.mark.parametrize(("density", "expected"), [(0.08, set()), (0.12, {"HW646"})])
def test_an_unknown_cost_is_told_from_a_tenth_of_the_cpu_time_stood_still_on(
    density: float, expected: set[str]
) -> None:
    assert set(unknown(standing(without_controls(cold(0.2)), density))) == expected


def test_experiments_that_do_not_count_do_not_make_an_unknown_cost_worth_a_word() -> None:
    data = standing(without_controls(cold(0.2)), 0.12)
    cut = (data.columns["speedup_pct"] == 100) & (np.arange(data.count) % 40 > 0)
    base = data.columns["speedup_pct"] == 0
    data = with_columns(data, stood_ns=np.where(base, data.columns["ran_ns"], data.columns["stood_ns"]))
    assert cut.any()
    lasting = with_columns(data, stood_ns=np.where(cut, data.columns["stood_ns"], data.columns["stood_ns"] // 2))
    assert set(unknown(lasting)) == {"HW646"}
    assert unknown(with_columns(lasting, is_complete=~cut)) == {}


def test_for_the_collector_nobody_stands_still() -> None:
    data = without_controls(cold(0.2))
    earlier = with_columns(data, ran_ns=np.zeros(data.count), stood_ns=np.zeros(data.count))
    assert set(unknown(earlier)) == {"HW646"}, "recordings without these columns: by the delays"
    assert unknown(replace(earlier, lines={0: {**data.lines[0], "kind": "gc"}})) == {}


def test_what_a_line_can_gain_grows_by_what_its_delays_cost() -> None:
    data = cold(0.2)
    freed = stops.without_cost(data, causal_pairs.usable(data))
    mine, _ = causal_pairs.pairs(data, causal_pairs.usable(data))
    found, plain = (limits.possible_gains(each, mine, each.measures[0], [100]) for each in (freed, data))
    assert found is not None
    assert plain is not None
    columns = data.columns
    at_all = columns["speedup_pct"] == 100
    lost = lost_share(0.2, 0.0, columns["stood_ns"][at_all], columns["ran_ns"][at_all]).mean()
    assert lost > 0.04, "or there is nothing to tell apart"
    assert 1 - found[0] == pytest.approx((1 - plain[0]) * (1 - lost), rel=0.01)


def test_times_at_0_percent_are_those_without_delays_where_a_latency_is_measured_first() -> None:
    data = cold(0.2)
    latency = replace(data.measures[0], measure="latency", time_ns=data.measures[0].time_ns * 7)
    plain_ns, _ = phases.plain_times(replace(data, measures=(latency,)), np.ones(data.count))
    assert (plain_ns == data.columns["effective_ns"]).all()


def test_times_at_0_percent_keep_what_stops_cost_in_which_lines_are_sampled_as_well() -> None:
    data = cold(0.2)
    columns = data.columns
    freed = stops.without_cost(data, causal_pairs.usable(data))
    ratio = 1 - GAIN * columns["speedup_pct"] / 100
    plain_ns, whole_ns = phases.plain_times(freed, ratio)
    lost = np.where(columns["speedup_pct"] > 0, lost_share(0.2, 0.0, columns["stood_ns"], columns["ran_ns"]), 0)
    truth_ns = columns["effective_ns"] * ((1 - lost) / ratio + lost)
    at_all = columns["speedup_pct"] == 100
    assert lost[at_all].mean() > 0.04, "or there is nothing to tell apart"
    assert plain_ns[at_all].sum() == pytest.approx(truth_ns[at_all].sum(), rel=0.01)
    assert whole_ns == pytest.approx(truth_ns.sum(), rel=0.01)


def test_a_recording_of_an_earlier_headway_has_no_controls_and_is_read_as_before(tmp_path: Path) -> None:
    data = without_controls(cold(0.2))
    unknown = np.full(data.count, None)
    earlier = with_columns(data, ran_ns=unknown, stood_ns=unknown, is_control=unknown)
    found = read(open_recording(write(tmp_path / "a.headway", earlier)))
    assert not found.columns["is_control"].any()
    assert at_all(found)[0] == pytest.approx(at_all(data)[0], abs=0.01)
