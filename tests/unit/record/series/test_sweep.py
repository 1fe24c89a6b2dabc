"""What a sweep is to do, checked before anything starts, and sweep.json as it is read and written."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.record.series.sweep_plan import SweepOptions, check_counted, order, plan_sweep, split_command
from headway.store.sweep import RUNS_FILE, Sweep, SweepRegion, SweepRun, append_run, is_sweep, read_sweep, write_sweep

Run = Callable[..., tuple[int, str, str]]
ONE_RUN = ("--parallel", "true {threads}", "--threads", "1", "-o", "a.sweep")


def wishes(path: Path, **other: Any) -> SweepOptions:
    return SweepOptions(
        **{"output": path / "a.sweep", "sequential": "true", "parallel": "true {threads}", "threads": (1, 2), **other}
    )


def refused(path: Path, **other: Any) -> HeadwayError:
    with pytest.raises(HeadwayError) as caught:
        plan_sweep(wishes(path, **other))
    return caught.value


# --- commands ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("java -jar 'my app.jar' {threads}", ["java", "-jar", "my app.jar", "4"]),
        ("env THREADS={threads} a --n={threads}", ["env", "THREADS=4", "a", "--n=4"]),
        ("a '{\"x\": 1}' {{threads}} {{other}} {} {1}", ["a", '{"x": 1}', "{threads}", "{other}", "{}", "{1}"]),
    ],
)
def test_the_number_of_threads_is_put_into_each_word(command: str, words: list[str]) -> None:
    assert split_command(command, 4) == words


@pytest.mark.parametrize(
    ("command", "why"), [("a {thread}", "{thread} is no placeholder"), ("a 'b", "no closing quotation"), (" ", "empty")]
)
def test_a_command_that_makes_no_sense_is_refused(tmp_path: Path, command: str, why: str) -> None:
    error = refused(tmp_path, parallel=command, threads=(2, 4))
    assert error.notice.id == "HW080"
    assert why in error.notice.message
    assert not (tmp_path / "a.sweep").exists()


def test_a_parallel_command_without_its_number_of_threads_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, parallel="true").notice.id == "HW081"
    assert len(plan_sweep(wishes(tmp_path, parallel="true", threads=(2,))).runs) == 20


def test_a_program_that_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    assert refused(tmp_path, sequential="headway-no-such-program").notice.id == "HW001"
    assert refused(tmp_path, parallel="headway-no-such-program {threads}").notice.id == "HW001"


def test_a_marker_that_is_no_regular_expression_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, from_marker="*").notice.id == "HW082"


# --- the plan ------------------------------------------------------------------------------------------------------------


def test_each_block_holds_every_configuration_once_recorded_and_once_plain() -> None:
    runs = order(True, (1, 2, 4), repeat=5, seed=7)
    assert len(runs) == 5 * 4 * 2
    assert max(Counter((run.program, run.threads, run.number, run.recorded) for run in runs).values()) == 1
    for block in range(5):
        part = runs[block * 8 : block * 8 + 8]
        assert {run.number for run in part} == {block + 1}
    blocks = [[(run.program, run.threads, run.recorded) for run in runs[i : i + 8]] for i in range(0, 40, 8)]
    assert any(block != blocks[0] for block in blocks)
    assert runs == order(True, (1, 2, 4), repeat=5, seed=7) != order(True, (1, 2, 4), repeat=5, seed=8)
    assert all(run.program == "parallel" for run in order(False, (1, 2), 2, 1))


def test_the_recorded_and_the_plain_run_that_are_compared_come_after_each_other() -> None:
    runs = order(True, (1, 2, 4), repeat=20, seed=7)
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    assert all(first.recorded != second.recorded for first, second in pairs)
    assert all((a.program, a.threads, a.number) == (b.program, b.threads, b.number) for a, b in pairs)
    assert {first.recorded for first, _ in pairs} == {True, False}


def test_threads_above_the_cores_are_told(tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    sweep = plan_sweep(wishes(tmp_path, threads=(1, cores + 1, 1)))
    assert sweep.threads == (1, cores + 1)
    assert [notice.id for notice in sweep.notices] == ["HW083"]
    assert not plan_sweep(wishes(tmp_path, threads=(cores,))).notices


# --- sweep.json ----------------------------------------------------------------------------------------------------------


def test_a_sweep_is_read_as_it_was_written_with_keys_of_later_versions(tmp_path: Path) -> None:
    (tmp_path / "a.sweep").mkdir()
    sweep = plan_sweep(wishes(tmp_path, regions=("a=b",), from_marker="warm", threads=(1, 2, 99999)))
    done = replace(sweep.runs[0], state="complete", exit_code=0, wall_ns=10, cpu_ns=5, warmup_excluded_ns=3)
    sweep = replace(sweep, runs=(done, *sweep.runs[1:]))
    write_sweep(sweep)
    assert read_sweep(sweep.path) == sweep
    assert is_sweep(sweep.path)
    assert not is_sweep(tmp_path)
    assert done.measured_ns == 7
    data = json.loads((sweep.path / "sweep.json").read_text())
    data["novel"], data["runs"][0]["novel"] = [1], {"x": 2}
    (sweep.path / "sweep.json").write_text(json.dumps(data))
    write_sweep(read_sweep(sweep.path))
    assert json.loads((sweep.path / "sweep.json").read_text()) == data
    assert os.listdir(sweep.path) == ["sweep.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "HW321"),
        ({"version": True}, "HW320"),
        ({"format": "other"}, "HW320"),
        ({"parallel": None}, "HW322"),
        ({"threads": "many"}, "HW322"),
        ({"runs": [{"program": "both", "threads": 1, "number": 1, "recorded": True}]}, "HW322"),
        (
            {"runs": [{"program": "parallel", "threads": 1, "number": 1, "recorded": True, "state": "complete"}]},
            "HW322",
        ),
        ({"runs": [{"program": "parallel", "threads": True, "number": 1, "recorded": True}]}, "HW322"),
        ({"regions": [{"name": "a"}]}, "HW322"),
        ("", "HW322"),
        ("[]", "HW322"),
        (None, "HW320"),
    ],
)
def test_what_is_no_sweep_or_a_damaged_one_is_told(tmp_path: Path, change: Any, message: str) -> None:
    sweep = plan_sweep(wishes(tmp_path))
    sweep.path.mkdir()
    write_sweep(sweep)
    file = sweep.path / "sweep.json"
    if isinstance(change, dict):
        file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    elif change is None:
        file.unlink()
    else:
        file.write_text(change)
    with pytest.raises(HeadwayError) as caught:
        read_sweep(sweep.path)
    assert caught.value.notice.id == message


def test_runs_are_selected_by_program_threads_kind_and_state(tmp_path: Path) -> None:
    sweep = plan_sweep(wishes(tmp_path, repeat=2))
    assert not sweep.select("parallel")
    assert len(sweep.select("parallel", state=None)) == 8
    assert len(sweep.select("parallel", 2, recorded=True, state="planned")) == 2
    assert {run.name for run in sweep.select("sequential", state=None)} == {
        *("sequential-1-1", "sequential-1-2", "sequential-1-1-plain", "sequential-1-2-plain")
    }
    regions = (SweepRegion("a", "b"),)
    assert replace(sweep, regions=regions).regions_of("sequential") == regions
    other = replace(sweep, regions=regions, sequential_regions=(SweepRegion("a", "c"),))
    assert other.regions_of("sequential")[0].pattern == "c"
    assert SweepRun("parallel", 1, 1, True).measured_ns is None


# --- the command ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--threads", "1", "-o", "a.sweep"], "--parallel: missing"),
        (["--parallel", "true {threads}", "--threads", "2", "-o", "a.sweep"], "--threads needs 1"),
        (["--resume", "a.sweep", "--repeat", "3"], "with --resume only"),
        ([*ONE_RUN, "--sample", "alloc"], "add cpu"),
        ([*ONE_RUN, "--sample", "cache-misses"], "no region is found by samples of cache-misses"),
        ([*ONE_RUN, "--sample", "page-faults:100,alloc"], "no region is found by samples of page-faults"),
        ([*ONE_RUN, "--sample", "branch-misses,cpu"], "no region is found by samples of branch-misses"),
        ([*ONE_RUN, "--sample", "cpu,page-faults"], "no region is found by samples of page-faults"),
        ([*ONE_RUN, "--sample", "cpu,cycles,cache-misses"], "and import counts of them into the sweep"),
        ([*ONE_RUN, "--sample", "cpu,alloc,cpu-clock", "--repeat", "1"], "--repeat 2 at least, not 1"),
        ([*ONE_RUN, "--sample", "cpu,cycles,instructions", "--repeat", "2"], "its 3 events of the CPU in turn"),
        (["--resume", "a.sweep"], "HW320"),
    ],
)
def test_wrong_usage_is_told_before_anything_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run("sweep", *words)
    assert code in (1, 2)
    assert said in err
    assert not out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "events",
    ["cpu:1ms", "cpu-clock:1ms", "cycles,alloc", "instructions:1m,wall", "cpu,cpu-clock:1ms", "cpu,cycles,wall"],
)
def test_events_by_which_regions_are_found_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, events: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--parallel", "no-such-program {threads}", "--threads", "1", "--sample", events, "-o", "a.sweep"]
    _, _, err = run("sweep", *words)
    assert "no-such-program" in err, "it is the next thing that is looked at"
    assert "--sample" not in err


# --- what the machine counts ---------------------------------------------------------------------------------------------


@pytest.fixture
def without_counters() -> None:
    from headway import _native

    if not _native.probe_hardware_counter()["errno"]:
        pytest.skip("this machine has a PMU")


@pytest.mark.usefixtures("without_counters")
@pytest.mark.parametrize(
    ("events", "lacking"),
    [
        ("cycles", "cycles"),
        ("instructions:1m,alloc", "instructions"),
        ("cpu,instructions", "instructions"),
        ("cycles,cpu:1ms", "cycles"),
    ],
)
def test_an_event_that_this_machine_does_not_count_is_refused_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, events: str, lacking: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--parallel", "touch started {threads}", "--threads", "1", "-o", "a.sweep")
    code, out, err = run("sweep", *words, "--sample", events)
    assert (code, out) == (1, "")
    assert err.startswith(f"HW093: --sample {lacking}: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("without_counters")
@pytest.mark.parametrize("events", ["cpu", "cpu-clock", "cpu:1ms,cpu-clock,alloc"])
def test_events_that_need_no_counters_are_planned_without_any(tmp_path: Path, events: str) -> None:
    assert plan_sweep(wishes(tmp_path, sample=events)).sample == events


@pytest.mark.usefixtures("without_counters")
def test_only_the_events_of_the_runs_that_are_left_must_be_counted() -> None:
    for left in ([], [1], [1, 3], range(1, 100, 2)):
        check_counted("cpu,cycles", left)
    for left in ([2], [1, 2], range(1, 3)):
        with pytest.raises(HeadwayError, match="HW093"):
            check_counted("cpu,cycles", left)


@pytest.mark.usefixtures("without_counters")
@pytest.mark.parametrize("left", ["recorded", "plain", "none"])
def test_a_sweep_of_another_machine_is_resumed_only_where_what_is_left_needs_no_counters(
    tmp_path: Path, run: Run, left: str
) -> None:
    sweep = replace(plan_sweep(wishes(tmp_path, threads=(1,), repeat=1, sequential=None)), sample="cycles")
    (sweep.path / "runs").mkdir(parents=True)
    runs = (each if left == ("recorded" if each.recorded else "plain") else ended(each) for each in sweep.runs)
    write_sweep(replace(sweep, runs=tuple(runs)))
    _, _, err = run("sweep", "--resume", sweep.path)
    assert err.startswith("HW093: ") == (left == "recorded")
    states = {each.recorded: each.state for each in read_sweep(sweep.path).runs}
    assert states == {True: "planned" if left == "recorded" else "complete", False: "complete"}


# --- runs as they end ----------------------------------------------------------------------------------------------------


def ended(run: SweepRun, **other: Any) -> SweepRun:
    return replace(run, **{"state": "complete", "exit_code": 0, "wall_ns": 10, "cpu_ns": 5, "attempts": 1, **other})


@pytest.fixture
def planned(tmp_path: Path) -> Sweep:
    """Return a sweep of 120 runs that has just begun."""
    (tmp_path / "a.sweep").mkdir()
    sweep = plan_sweep(wishes(tmp_path, threads=(1,), repeat=30))
    write_sweep(sweep)
    return sweep


def test_noting_a_run_costs_the_same_however_many_there_are(planned: Sweep) -> None:
    before = (planned.path / "sweep.json").stat()
    sizes = []
    for place, run in enumerate(planned.runs):
        append_run(planned.path, place, ended(run))
        sizes.append((planned.path / RUNS_FILE).stat().st_size)
    after = (planned.path / "sweep.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    steps = [later - earlier for earlier, later in zip([0, *sizes], sizes, strict=False)]
    assert max(steps) - min(steps) < 40  # names and places of a few digits more
    assert read_sweep(planned.path).runs == tuple(map(ended, planned.runs))


def test_a_crash_amid_a_note_costs_that_run_only(planned: Sweep) -> None:
    append_run(planned.path, 0, ended(planned.runs[0]))
    first = (planned.path / RUNS_FILE).read_bytes()
    append_run(planned.path, 1, ended(planned.runs[1], reason="\u00fc"))
    both = (planned.path / RUNS_FILE).read_bytes()
    for size in range(len(first), len(both) + 1):
        (planned.path / RUNS_FILE).write_bytes(both[:size])
        states = [run.state for run in read_sweep(planned.path).runs[:3]]
        assert states == ["complete", "complete" if size >= len(both) - 1 else "planned", "planned"]
    (planned.path / RUNS_FILE).write_bytes(both[: len(first) + 30])
    append_run(planned.path, 2, ended(planned.runs[2]))
    states = [run.state for run in read_sweep(planned.path).runs[:3]]
    assert states == ["complete", "planned", "complete"]


def test_the_last_attempt_of_a_run_counts_and_what_sweep_json_knows_better(planned: Sweep) -> None:
    failed = replace(planned.runs[0], state="failed", exit_code=1, attempts=1)
    append_run(planned.path, 0, failed)
    append_run(planned.path, 0, ended(failed, attempts=2))
    sweep = read_sweep(planned.path)
    assert (sweep.runs[0].state, sweep.runs[0].attempts) == ("complete", 2)
    stale = (planned.path / RUNS_FILE).read_bytes()
    known = replace(sweep, runs=(replace(sweep.runs[0], warmup_excluded_ns=3), *sweep.runs[1:]))
    write_sweep(known)
    assert not (planned.path / RUNS_FILE).exists()
    (planned.path / RUNS_FILE).write_bytes(stale)  # as after a crash between the two steps
    assert read_sweep(planned.path) == known


def test_lines_that_are_no_runs_of_the_sweep_are_passed_over(planned: Sweep) -> None:
    other = ended(replace(planned.runs[0], threads=77))
    append_run(planned.path, 0, other)
    append_run(planned.path, 10_000, ended(planned.runs[1]))
    with open(planned.path / RUNS_FILE, "ab") as file:
        file.write(b"[]\nnull\n{}\n\xff\n")
    assert read_sweep(planned.path) == planned
