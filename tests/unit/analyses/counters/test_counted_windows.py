"""`headway counters --by region` and `--by iteration` on recordings made by hand: exact counts, mean and spread, refusals."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.common.intervals import Spans
from headway.analyses.counters.analysis import counters
from headway.analyses.counters.parts.time_windows import TimeWindows
from headway.analyses.regions.exact_counts import load_counts
from headway.store import open_recording
from headway.store.sweep import Sweep, SweepRegion, write_sweep
from support.builders.counted_builder import ORIGIN_NS, PID, CountedSlice, Phase, counted_recording
from support.builders.edited_manifest import edit
from support.builders.lock_builder import Wait
from support.builders.region_builder import JOIN_STACK, MAIN, STACKS, WORK, ParallelRun
from support.builders.sample_builder import Sample
from support.builders.synthetic import FakeThread, slices_of
from support.drivers.recording_cli import headway

MS = 1_000_000
EVENTS = ("cycles", "instructions")


def asked(*words: object) -> Any:
    done = headway("counters", *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def printed_by(*words: object) -> str:
    """Return what a command that is refused says, on one line."""
    done = headway("counters", *words)
    assert done.returncode in (1, 2), done.stdout
    assert not done.stdout
    return " ".join(done.stderr.split())


# --- regions -----------------------------------------------------------------------------------------------------------


class CountedRun(ParallelRun):
    """A run whose slices counted two instructions a ns and, of each thread, (1 + its place) cycles a ns."""

    def _stacks(self) -> dict[str, list[dict[str, Any]]]:
        rows = [row for index, thread in enumerate(self.threads) for row in slices_of(index, thread)]
        counts = [
            {"count_0": (1 + row["thread_id"]) * row["running_ns"], "count_1": 2 * row["running_ns"], "uncounted_0": 0}
            for row in rows
        ]
        both = [{**row, **counted} for row, counted in zip(rows, counts, strict=True)]
        slices = sorted(both, key=lambda row: row["start_ns"] + row["running_ns"])
        return {**super()._stacks(), "slice": slices}


def every(thread: int, start: int, end: int, stack: tuple[str, ...]) -> list[Sample]:
    return [(thread, at + 5, 10, stack) for at in range(start, end, 10)]


def forked(path: Path, *, is_sampled: bool = True) -> Path:
    """Main runs 100 and, once two workers have run 200 and 100 meanwhile, 100 again; a compiler runs 50 beside it."""
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 200), ("R", 100)], "main"),
        FakeThread("app", 100, [("R", 200)], "worker-1"),
        FakeThread("app", 100, [("R", 100)], "worker-2"),
        FakeThread("jit", 0, [("R", 50)], "C2"),
    ]
    samples = every(0, 0, 100, MAIN) + every(0, 300, 400, MAIN)
    samples += every(1, 100, 300, WORK) + every(2, 100, 200, WORK)
    cpu = {"enabled_ns": 800, "running_ns": 800, "cpu": 0, "group": 0}
    there = {"step": "CPI", "groups": [{"events": [*EVENTS]}], "absent": [], "cpus": [cpu]}
    run = CountedRun(
        threads,
        [Wait(0, 0, 100, 300, stack=JOIN_STACK)],
        wall=400,
        kinds=["wait"],
        classes=["java.lang.Thread"],
        stacks=STACKS,
        facts={"counters": there},
        samples={"cpu": samples} if is_sampled else {},
    )
    return run.write(path)


def by_region(found: Any) -> dict[str, tuple[int, int, int, float, float]]:
    return {
        row["region"]: (
            row["instances"],
            row["wall_ns"],
            row["cpu_ns"],
            row["counts"]["cycles"]["value"],
            row["metrics"]["CPI"]["value"],
        )
        for row in found["regions"]
    }


def test_a_region_has_what_its_threads_counted_in_it_and_the_jvms_own_threads_are_in_none(tmp_path: Path) -> None:
    path = forked(tmp_path / "a.headway")
    found = asked(path, "--by", "region", "--region", r"work=App\.work")
    assert by_region(found) == {
        "work": (1, 200, 300, 2 * 200 + 3 * 100, 700 / 600),
        "(rest)": (2, 200, 200, 200, 0.5),
        "(the JVM's own threads)": (1, 400, 50, 4 * 50, 2),
    }
    assert found["total"]["cycles"] == {"value": 1100, "low": 1100, "high": 1100}
    assert found["warnings"] == []
    half = asked(path, "--by", "region", "--region", r"work=App\.work", "--to", "150ns")
    work, rest, jvm = half["regions"]
    assert work["counts"]["cycles"] == {"value": 2 * 50 + 3 * 50, "low": 0, "high": 6.5 * 50 + 300}
    assert (rest["counts"]["cycles"]["value"], jvm["counts"]["cycles"]["value"]) == (100, 200)


def test_without_regions_it_is_all_time_with_several_threads_at_work(tmp_path: Path) -> None:
    path = forked(tmp_path / "a.headway", is_sampled=False)
    found = by_region(asked(path, "--by", "region"))
    assert {name: row[2] for name, row in found.items()} == {
        "(parallel)": 200, "(rest)": 300, "(the JVM's own threads)": 50,
    }  # fmt: skip
    shown = " ".join(headway("counters", path, "--by", "region").stdout.split())
    assert "Counts by region" in shown
    assert "(parallel)" in shown


def test_a_run_of_a_sweep_has_the_sweeps_regions_and_a_name_may_stand_for_one(tmp_path: Path) -> None:
    path = forked(tmp_path / "s.sweep" / "runs" / "parallel-2-1.headway")
    regions = (SweepRegion("work", r"App\.work"), SweepRegion("main", r"App\.main"))
    write_sweep(Sweep(tmp_path / "s.sweep", parallel="java App {threads}", threads=(2,), regions=regions))
    assert [*by_region(asked(path, "--by", "region"))] == ["work", "main", "(rest)", "(the JVM's own threads)"]
    assert by_region(asked(path, "--by", "region", "--region", "work"))["work"][2] == 300


def test_regions_that_match_nothing_or_cannot_be_looked_for_are_told(tmp_path: Path) -> None:
    path = forked(tmp_path / "a.headway")
    found = asked(path, "--by", "region", "--region", "gone")
    assert [each["id"] for each in found["warnings"]] == ["HW490"]
    assert by_region_or_nothing(found, "gone") == (0, 0)
    without = forked(tmp_path / "b.headway", is_sampled=False)
    assert [each["id"] for each in asked(without, "--by", "region", "--region", "x")["warnings"]] == ["HW492"]
    assert "no regular expression" in printed_by(path, "--by", "region", "--region", "x=(")
    assert "given twice" in printed_by(path, "--by", "region", "--region", "x=a", "--region", "x=b")
    assert "add --by region" in printed_by(path, "--region", "x")
    other = counted_recording(tmp_path / "c.headway", [CountedSlice(0, 0, 0, MS, (1, 1))], MS, (EVENTS,), groups=[])
    assert printed_by(other, "--by", "region").startswith("HW109")


def by_region_or_nothing(found: Any, name: str) -> tuple[int, float]:
    row = next(each for each in found["regions"] if each["region"] == name)
    return row["cpu_ns"], row["counts"]["cycles"]["value"]


# --- iterations --------------------------------------------------------------------------------------------------------

CYCLES = (500, 100, 140, 120)
"""Of the four iterations; each takes 10 ms but for the pause of 1 ms before it, and has twice the instructions less 20."""


def iterated(path: Path, more: Sequence[Phase] = (), jvms: Sequence[tuple[int, str, str]] = ()) -> Path:
    """A main thread that runs 5 ms before the first collection, and a worker in each iteration; a shutdown of 1 ms at the end."""
    slices = [CountedSlice(0, 0, 0, 5 * MS, (7, 7))]
    pauses: list[Phase] = []
    for number, cycles in enumerate(CYCLES):
        at = (10 + 10 * number) * MS
        pauses.append(("gc_pause", at, MS, "System.gc()"))
        slices += [
            CountedSlice(2, 0, at, MS, (1000, 1000)),
            CountedSlice(0, 0, at + MS, MS, (cycles // 2, cycles - 10)),
            CountedSlice(1, 1, at + 3 * MS, 6 * MS, (cycles - cycles // 2, cycles - 10)),
        ]
    slices.append(CountedSlice(0, 0, 50 * MS, MS, (3, 3)))
    pauses += [("gc_pause", 12 * MS, MS, "Allocation Failure"), ("shutdown", 50 * MS, MS, "")]
    kinds = ("app", "app", "gc")
    return counted_recording(path, slices, 51 * MS, (EVENTS,), kinds, [*pauses, *more], None, jvms)


def test_an_iteration_goes_from_one_explicit_collection_to_the_next_and_the_last_to_the_programs_end(
    tmp_path: Path,
) -> None:
    found = asked(iterated(tmp_path / "a.headway"), "--by", "iteration", "--iterations", "gc")
    rows = found["iterations"]
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    assert [(row["from_ns"], row["to_ns"]) for row in rows] == [(at * MS, (at + 9) * MS) for at in (11, 21, 31, 41)]
    assert [row["counts"]["cycles"] for row in rows] == [{"value": c, "low": c, "high": c} for c in CYCLES]
    assert [row["counts"]["instructions"]["value"] for row in rows] == [2 * cycles - 20 for cycles in CYCLES]
    assert {row["cpu_ns"] for row in rows} == {7 * MS}
    assert found["total"]["cycles"]["value"] == 7 + sum(CYCLES) + 4 * 1000 + 3
    over = found["over_iterations"]
    assert (found["iterations_by"], over["iterations"]) == ("gc", 4)
    cycles, ratio = over["counts"]["cycles"], over["metrics"]["CPI"]
    assert cycles["mean"] == {"value": statistics.mean(CYCLES), "low": 215, "high": 215}
    assert cycles["deviation"] == pytest.approx(statistics.stdev(CYCLES))
    assert (cycles["least"], cycles["most"], cycles["known"]) == (100, 500, 4)
    ratios = [cycles / (2 * cycles - 20) for cycles in CYCLES]
    assert ratio["mean"]["value"] == pytest.approx(statistics.mean(ratios))
    assert ratio["deviation"] == pytest.approx(statistics.stdev(ratios))


def test_the_last_iterations_alone_have_their_own_mean_and_spread(tmp_path: Path) -> None:
    path = iterated(tmp_path / "a.headway")
    found = asked(path, "--by", "iteration", "--last", 3)
    assert [row["iteration"] for row in found["iterations"]] == [2, 3, 4]
    cycles = found["over_iterations"]["counts"]["cycles"]
    assert (cycles["mean"]["value"], cycles["deviation"]) == (120, 20)
    assert asked(path, "--by", "iteration", "--last", 1)["over_iterations"]["counts"]["cycles"]["deviation"] is None
    assert len(asked(path, "--by", "iteration", "--last", 100)["iterations"]) == 4
    shown = headway("counters", path, "--by", "iteration", "--last", 3).stdout
    assert "Over 3 iterations by gc" in shown
    line = next(each for each in shown.splitlines() if each.startswith("cycles "))
    assert line.split() == ["cycles", "120", "20", "100", "140"]


def test_iterations_that_a_window_cuts_are_left_out(tmp_path: Path) -> None:
    path = iterated(tmp_path / "a.headway")
    found = asked(path, "--by", "iteration", "--from", "20ms", "--to", "45ms")
    assert [row["iteration"] for row in found["iterations"]] == [2, 3]
    assert "no iteration lies in the window" in printed_by(path, "--by", "iteration", "--from", "22ms", "--to", "39ms")


def test_an_iteration_whose_counts_are_not_known_is_not_one_that_counted_nothing(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 2 * MS, MS, (4, 4)), CountedSlice(0, 0, 12 * MS, MS, None)]
    pauses = [("gc_pause", 0, MS, "System.gc()"), ("gc_pause", 10 * MS, MS, "System.gc()")]
    path = counted_recording(tmp_path / "a.headway", slices, 20 * MS, (EVENTS,), ("app",), pauses)
    found = asked(path, "--by", "iteration")
    assert [row["counts"]["cycles"]["value"] for row in found["iterations"]] == [4, None]
    cycles = found["over_iterations"]["counts"]["cycles"]
    assert (cycles["mean"]["value"], cycles["known"]) == (4, 1)
    assert "cycles (of 1)" in headway("counters", path, "--by", "iteration").stdout


def test_lines_that_the_recorder_looked_for_are_marks(tmp_path: Path) -> None:
    path = iterated(tmp_path / "a.headway")
    marks = {"by": "marker=round", "marks_ns": [ORIGIN_NS + 11 * MS, ORIGIN_NS + 21 * MS]}
    edit(path, iterations=marks)
    found = asked(path, "--by", "iteration")
    assert found["iterations_by"] == "marker=round"
    assert [(row["from_ns"], row["to_ns"]) for row in found["iterations"]] == [(11 * MS, 21 * MS), (21 * MS, 50 * MS)]
    assert [row["counts"]["cycles"]["value"] for row in found["iterations"]] == [500 + 1000, 100 + 140 + 120 + 2000]
    assert asked(path, "--by", "iteration", "--iterations", "gc")["iterations_by"] == "gc"
    assert "did not look for such lines" in printed_by(path, "--by", "iteration", "--iterations", "marker=other")
    edit(path, iterations={**marks, "marks_ns": [ORIGIN_NS + at * MS for at in (11, 21, 21, 21)]})
    assert "2 of 4 lines came together with the one before" in printed_by(path, "--by", "iteration")
    edit(path, iterations={"by": "marker=round", "marks_ns": []})
    assert "printed no line with that text" in printed_by(path, "--by", "iteration")


@pytest.mark.parametrize(
    "bad", [5, "gc", {"by": 7}, {"by": "marker="}, {"by": "marker=x", "marks_ns": ["1", -5, 1 << 62]}]
)
def test_a_manifest_of_anybody_gives_iterations_or_a_message(tmp_path: Path, bad: object) -> None:
    path = iterated(tmp_path / "a.headway")
    edit(path, iterations=bad)
    done = headway("counters", path, "--by", "iteration", "--json")
    assert done.returncode == 0 or (done.returncode == 1 and done.stderr.startswith(("HW111", "HW303")))


def test_stretches_in_a_method_are_iterations_and_are_said_to_be_no_calls(tmp_path: Path) -> None:
    path = forked(tmp_path / "a.headway")
    found = asked(path, "--by", "iteration", "--iterations", r"method=App\.work")
    (row,) = found["iterations"]
    assert (row["from_ns"], row["to_ns"], row["counts"]["cycles"]["value"]) == (100, 300, 700)
    assert [each["id"] for each in found["warnings"]] == ["HW112"]
    assert "no sample has a frame" in printed_by(path, "--by", "iteration", "--iterations", "method=gone")
    without = forked(tmp_path / "b.headway", is_sampled=False)
    assert "no samples that show methods" in printed_by(without, "--by", "iteration", "--iterations", "method=gone")


def test_what_cannot_be_an_iteration_is_refused_with_its_reason(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 0, MS, (5, 5))]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,))
    refused = printed_by(path, "--by", "iteration")
    assert refused.startswith("HW111")
    assert "no JVM collected garbage because of System.gc()" in refused
    for words, message in (
        (("--by", "iteration", "--iterations", "gcs"), "'gcs' is none of gc, method=REGEX or marker=TEXT"),
        (("--by", "iteration", "--iterations", "method="), "is none of"),
        (("--by", "iteration", "--iterations", "method=("), "no regular expression"),
        (("--by", "iteration", "--last", "0"), "--last"),
        (("--last", "3"), "add --by iteration"),
        (("--iterations", "gc"), "add --by iteration"),
    ):
        assert message in printed_by(path, *words)


@pytest.mark.parametrize(
    ("more", "jvms", "why"),
    [
        ([("gc_pause", 45 * MS, MS, "System.gc()", PID + 1)], [], "2 JVMs call System.gc(), each for itself"),
        ([], [(PID, "gc", "Z")], "Z collects while the program runs"),
        ([], [(PID, "gc", "G1"), (PID, "flags", "-Xmx1g -XX:+ExplicitGCInvokesConcurrent")], "G1 collects while the"),
    ],
)
def test_collections_of_several_jvms_or_beside_the_program_are_no_marks(
    tmp_path: Path, more: list[Phase], jvms: list[tuple[int, str, str]], why: str
) -> None:
    assert why in printed_by(iterated(tmp_path / "a.headway", more, jvms), "--by", "iteration", "--iterations", "gc")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--iterations", "gc"), "add --counters"),
        (("--counters", "page-faults", "--iterations", "calls"), "'calls' is none of gc, method=REGEX or marker=TEXT"),
        (("--counters", "page-faults", "--iterations", "marker="), "is none of"),
        (("--counters", "page-faults", "--no-agent", "--iterations", "gc"), "leave out --no-agent"),
        (("--counters", "page-faults", "--iterations", "method=App"), "add --sample cpu"),
    ],
)
def test_iterations_that_cannot_be_recorded_are_refused_before_anything_starts(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = headway("record", *words, "-o", tmp_path / "a.headway", "--", "touch", tmp_path / "started")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "started").exists()


def test_lines_of_a_process_that_runs_already_are_out_of_reach(tmp_path: Path) -> None:
    words = ("--counters", "page-faults", "--iterations", "marker=x", "--pid", "1", "-o", tmp_path / "a.headway")
    done = headway("record", *words)
    assert done.returncode == 2
    assert "give gc, or CMD instead of --pid" in " ".join(done.stderr.split())


def test_counters_and_speedups_give_a_region_the_same_interval(tmp_path: Path) -> None:
    """The instance is the middle third of a slice, whose other two thirds have no more cycles than a processor has."""
    path = counted_recording(tmp_path / "a.headway", [CountedSlice(0, 0, 0, 300, (1_500, 900))], 400, (EVENTS,))
    recording = open_recording(path)
    windows = TimeWindows([{"region": "work"}], [Spans.single(ORIGIN_NS + 100, ORIGIN_NS + 200)], of_program=True)
    (row,) = counters(recording, by="region", windows=windows).rows
    exact = load_counts(recording, [0])
    assert exact is not None
    of_speedups, _ = exact.rows(Spans.single(100, 200), [0], np.array([-1], np.int64))
    assert row.counts == of_speedups.counts
    cycles = row.counts["cycles"]
    assert (cycles.value, cycles.low, cycles.high) == (500, 1_500 - 200 * 6.5, 100 * 6.5)
