"""What the benchmarks compute from the runs of a warm program, on figures whose answer is known; and the files they add to."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import pytest

import overhead
import pingpong
import recorded_speedup
import walltime_error
from lib import driven, results


def block(recorded: bool, *cpu_ns: int, recorder_ns: int = 0) -> driven.Block:
    run = {"jit_ns": 0, "wall_ns": 1, "corrected_wall_ns": 1, "recorder_ns": recorder_ns}
    return {"recorded": recorded, "runs": [{**run, "cpu_ns": each} for each in cpu_ns]}


def session(*blocks: driven.Block, lost: int = 0) -> results.Session:
    return {"blocks": list(blocks), "switches": 1000, "lost": lost, "kernel": None}


def test_the_cpu_clock_of_a_process_is_the_one_it_reads_itself() -> None:
    before = time.process_time_ns()
    read = driven.process_cpu_ns(os.getpid())
    assert before <= read <= time.process_time_ns()


def test_a_program_is_warm_when_its_last_runs_hardly_differ() -> None:
    assert not driven.is_settled([100] * 5), "too few"
    assert driven.is_settled([900, 500, 101, 100, 102, 100])
    assert not driven.is_settled([900, 500, 110, 100, 102, 100])


def test_a_block_counts_by_its_least_disturbed_run() -> None:
    assert driven.undisturbed(block(False, 130, 100, 250), lambda run: run["cpu_ns"]) == 100


def test_pairs_are_made_within_a_session_and_pooled_over_sessions() -> None:
    first = session(block(False, 100), block(True, 110), block(False, 100))
    slower = session(*(block(each, *cpu) for each, cpu in ((False, [200]), (True, [210]), (False, [200]))))
    ratios, same = driven.pairs_of([first, slower], lambda run: run["cpu_ns"])
    assert ratios == pytest.approx([1.1, 1.05])
    assert same == [], "a baseline needs one before and one after it in the same session"


def test_what_the_recorder_used_beside_the_program_is_added_to_every_pair() -> None:
    measured = session(
        block(False, 1000), block(True, 1010, recorder_ns=5), block(False, 1000), block(True, 990, recorder_ns=15)
    )
    measured["blocks"].append(block(False, 1000))
    assert driven.recorder_share([measured]) == pytest.approx(20 / 2000)
    found = overhead.of_program([measured])
    assert found["cpu"].median == pytest.approx(1.0)
    assert found["cpu_with_recorder"].median == pytest.approx(1.01)
    assert found["cpu"].aa_median == 1


def test_what_the_compilers_took_is_not_the_programs() -> None:
    assert overhead.work_ns({"cpu_ns": 100, "jit_ns": 30}) == 70


def test_lost_records_miss_the_target_however_low_the_cost(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = (block(False, 100), block(True, 100), block(False, 100))
    figures, verdicts = pingpong.summarise({"flat-out": [session(*blocks), session(*blocks, lost=2)]})
    assert figures["flat-out"]["lost"] == 2
    assert [reached for text, reached in verdicts if "lost" in text] == [False]
    assert "flat-out" in capsys.readouterr().out


# --- wall-time error ---------------------------------------------------------------------------------------------------


def a_round(
    predicted: dict[int, int], took: dict[int, int], cpu: dict[int, int], starved_ns: int = 0
) -> list[dict[str, int]]:
    """A round in which runs on k cores predict `predicted[k]` for the other number, and `took[k]` is measured."""
    return [
        {"k": k, "cpu_ns": cpu[k], "starved_ns": starved_ns, "wanted_ns": 100}
        | {"raw": took[k], "corrected": took[k], "predicted_raw": predicted[k], "predicted_corrected": predicted[k]}
        for k in walltime_error.ORDER
    ]


def test_an_error_compares_what_one_number_of_cores_predicts_with_what_the_other_took() -> None:
    measured = {"rounds": [a_round({1: 110, 2: 180}, {1: 200, 2: 100}, {1: 200, 2: 210})] * 3}
    assert walltime_error.errors([measured], 1, "raw") == pytest.approx([0.1] * 3)
    assert walltime_error.errors([measured], 2, "corrected") == pytest.approx([-0.1] * 3)
    assert walltime_error.work_growth([measured]) == pytest.approx(0.05)


def test_a_prediction_for_the_work_that_was_really_done_is_right_where_only_the_work_grew() -> None:
    # 200 on one core are 100 on two; there they take 30 % more CPU time, and so 130.
    measured = {"rounds": [a_round({1: 100, 2: 260}, {1: 200, 2: 130}, {1: 200, 2: 260})]}
    assert walltime_error.errors([measured], 1, "corrected") == pytest.approx([100 / 130 - 1])
    assert walltime_error.errors([measured], 1, "same work") == pytest.approx([0])
    assert walltime_error.errors([measured], 2, "same work") == pytest.approx([0])


def test_runs_without_free_cpus_are_left_out_and_counted() -> None:
    good = a_round({1: 110, 2: 180}, {1: 200, 2: 100}, {1: 200, 2: 210})
    disturbed = a_round({1: 500, 2: 500}, {1: 200, 2: 100}, {1: 200, 2: 210}, starved_ns=50)
    measured = {"rounds": [[*good, *disturbed], disturbed]}
    assert walltime_error.errors([measured], 1, "raw") == pytest.approx([0.1])
    assert walltime_error.left_out([measured]) == "16 of 24"
    figures, verdicts = walltime_error.summarise({"h2": [{"rounds": [disturbed]}]})
    assert not figures
    assert verdicts == [("no runs on free CPUs", False)]


def test_errors_of_opposite_sign_do_not_cancel_out() -> None:
    mean, low, high = walltime_error.mean_absolute([[0.1] * 5, [-0.2] * 5])
    assert (mean, low, high) == pytest.approx((0.15, 0.15, 0.15))


# --- measured in pieces --------------------------------------------------------------------------------------------------


def options(path: Path | None, **given: bool | str) -> argparse.Namespace:
    return argparse.Namespace(**{"json": path, "add": False, "summary": False, "only": ""} | given)


def test_later_calls_add_to_what_earlier_ones_measured(tmp_path: Path) -> None:
    path = tmp_path / "new" / "overhead.json"
    results.Results("overhead", options(path, add=True)).add("h2", {"lost": 1})
    again = results.Results("overhead", options(path, add=True))
    again.add("h2", {"lost": 2})
    again.add("fop", {"lost": 3})
    found = results.Results("overhead", options(path, summary=True)).sessions
    assert {name: [each["lost"] for each in sessions] for name, sessions in found.items()} == {"h2": [1, 2], "fop": [3]}
    assert all("taken_utc" in each for each in found["h2"])


def test_without_add_a_measurement_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "overhead.json"
    results.Results("overhead", options(path, add=True)).add("h2", {"lost": 1})
    fresh = results.Results("overhead", options(path))
    fresh.add("fop", {"lost": 3})
    assert list(json.loads(path.read_text())["sessions"]) == ["fop"]


@pytest.mark.parametrize("content", ['{"benchmark": "pingpong", "sessions": {}}', '{"benchmark": "overhead"}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(SystemExit, match="holds no sessions"):
        results.Results("overhead", options(path, add=True))
    assert path.read_text() == content


def test_adding_needs_a_file_and_a_summary_needs_what_is_in_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--json"):
        results.Results("overhead", options(None, add=True))
    with pytest.raises(SystemExit, match="no such file"):
        results.Results("overhead", options(tmp_path / "none.json", summary=True))


def test_only_programs_that_there_are_can_be_chosen() -> None:
    there = ("fop", "h2")
    assert results.chosen(options(None), there) == there
    assert results.chosen(options(None, only="h2"), there) == ("h2",)
    assert results.chosen(options(None, only="h2", summary=True), there) == ()
    with pytest.raises(SystemExit, match="no program xalan"):
        results.chosen(options(None, only="h2,xalan"), there)


def test_a_speedup_s_error_is_that_of_the_recorded_runs_times_what_recording_does_to_both_programs() -> None:
    def error(alone: list[float], beside: list[float], locks: tuple[float, ...] = (1.0,)) -> tuple[float, float, float]:
        changes = recorded_speedup.Change(alone), recorded_speedup.Change(beside, locks)
        return recorded_speedup.product(recorded_speedup.Parts([1.02] * 8, *changes))

    assert error([1.1] * 8, [1.1] * 8) == pytest.approx((0.02, 0.02, 0.02))
    # Recording slows the sequential program alone: its speedup is too large.
    assert error([1.1] * 8, [1.0] * 8)[0] == pytest.approx(1.02 * 1.1 - 1)
    # Its locks besides slow the parallel one: too small.
    assert error([1.1] * 8, [1.1] * 8, (1.05,) * 8)[0] == pytest.approx(1.02 / 1.05 - 1)
    # Few values that differ are worth little.
    _, low, high = error([1.1, 1.11, 1.12], [1.1] * 8)
    assert high - low > 0.04
    found, low, high = error([1.0, 1.2] * 4, [1.1] * 8)
    assert low < found < high
    assert high - low > 0.1


def test_each_block_s_computed_speedup_is_held_against_its_own_runs(tmp_path: Path) -> None:
    runs = []
    for program, threads, block, length in (
        ("sequential", 1, 1, 100),
        ("parallel", 2, 1, 50),
        ("sequential", 1, 2, 300),
        ("parallel", 2, 2, 100),
        ("parallel", 2, 3, 7),
    ):
        name = f"{program}-{threads}-{block}.out"
        (tmp_path / name).write_text(f'{{"begin_ns": 1000, "end_ns": {1000 + length}}}\n')
        run = {"program": program, "threads": threads, "number": block, "output": name}
        runs.append({**run, "recorded": True, "state": "complete"})
    (tmp_path / "sweep.json").write_text(json.dumps({"runs": runs}))
    found = recorded_speedup.own_ratios(tmp_path, {2: {1: 2.0, 2: 2.7, 3: 5.0}})
    assert found == {2: pytest.approx([1.0, 0.9])}
