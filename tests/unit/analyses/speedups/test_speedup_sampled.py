"""Counts of a sweep whose runs sampled events of the CPU in turn. Times are ns."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headway.analyses.regions.analysis import Regions, regions_of
from headway.analyses.regions.primitives import REST, RegionPrimitives, RunPrimitives
from headway.analyses.regions.search import with_checks, with_regions
from headway.analyses.speedups.next_commands import next_command
from headway.analyses.speedups.parts import ABSENT, without_spinning
from headway.analyses.speedups.runs import SweepRuns, read_runs
from headway.analyses.speedups.sampled import that_show_regions, with_sampled, with_time
from headway.analyses.speedups.types import Block
from headway.analyses.stacks.sources import recorded_events
from headway.errors import Notice
from headway.report.html.sweep_flames import sweep_flames
from headway.store import Recording, open_recording
from headway.store.manifest import StoredNotice, read_manifest, write_manifest
from headway.store.sweep import Sweep, SweepRegion, SweepRun
from headway.store.tables import TABLES
from headway.store.writer import TableWriter
from support.builders import primitives_builder as build
from support.builders import sweep_builder
from support.builders.region_builder import MAIN, STACKS, WORK, ParallelRun
from support.builders.sample_builder import Sample
from support.builders.sweep_builder import EVERY, Shape
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
IN_TURN = Shape(work=7200, events=("cpu", "cycles", "instructions"), in_turn=True)


@pytest.fixture(scope="module")
def sweep_in_turn(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Four threads, three runs of each program, which sampled an event each."""
    return sweep_builder.make(tmp_path_factory.mktemp("turns") / "a.sweep", (4,), 3, IN_TURN)


@pytest.fixture(scope="module")
def runs_in_turn(sweep_in_turn: Sweep) -> SweepRuns:
    return read_runs(sweep_in_turn)


def answer(run: Run, *words: object) -> Any:
    code, out, err = run("speedups", *words, "--json")
    assert code == 0, err
    return json.loads(out)


# --- what one run tells another -----------------------------------------------------------------------------------------


def work(cpu_ns: int, **others: Any) -> RunPrimitives:
    return build.run(4, (build.region("work", wall_ns=cpu_ns, cpu_ns=cpu_ns, **others),))


def test_instructions_are_means_and_cycles_those_per_ns_of_the_runs_that_sampled_them() -> None:
    runs = (
        work(100, spin_ns=10),
        work(200, spin_ns=20, cycles=500, spin_cycles=50, busiest_cycles=300),
        work(400, spin_ns=20, cycles=1300, spin_cycles=130, busiest_cycles=600),
        work(300, spin_ns=20, instructions=700, spin_instructions=30, busiest_instructions=200),
        work(100, spin_ns=20, instructions=900, spin_instructions=50, busiest_instructions=None),
    )
    filled, notices = with_sampled({("parallel", 4): runs}, "a.sweep")
    assert not notices
    found = [run.regions[0] for run in filled["parallel", 4]]
    assert [part.cycles for part in found] == [300, 500, 1300, 900, 300]
    assert [part.spin_cycles for part in found] == [30, 50, 130, 90, 30]
    assert [part.busiest_cycles for part in found] == [150, 300, 600, 450, 150]
    assert [part.instructions for part in found] == [800, 800, 800, 700, 900]
    assert [part.spin_instructions for part in found] == [40, 40, 40, 30, 50]
    assert [part.busiest_instructions for part in found] == [None, None, None, 200, None]
    assert [(part.cpu_ns, part.spin_ns) for part in found] == [(run.wall_ns, run.regions[0].spin_ns) for run in runs]


@pytest.mark.parametrize("lacking", ["cycles", "instructions"])
def test_a_region_without_any_sample_of_an_event_has_no_known_count(lacking: str) -> None:
    def runs(last: int | None) -> tuple[RunPrimitives, ...]:
        counts = {"cycles": (None, 300, None), "instructions": (None, None, 200)}
        there = [{count: values[i] for count, values in counts.items()} for i in range(3)]
        rest = [{**each, lacking: each[lacking] and last} for each in there]
        return tuple(
            build.run(2, (build.region("work", wall_ns=9, cpu_ns=9, **a), build.region(REST, wall_ns=1, cpu_ns=1, **b)))
            for a, b in zip(there, rest, strict=True)
        )

    groups = {("sequential", 1): runs(7), ("parallel", 2): runs(0)}
    found, (notice,) = with_sampled(groups, "a.sweep")
    assert notice.id == "HW459"
    assert f"in (rest): there are no samples of {lacking} of (rest) at 2 threads, parallel program" in notice.message
    assert not with_sampled({**groups, ("parallel", 2): runs(7)}, "a.sweep")[1]
    for group in found.values():
        for run in group:
            work, rest = run.regions
            assert (work.cycles, work.instructions) == (300, 200)
            assert (rest.cycles, rest.instructions) == (None, None)


@pytest.mark.parametrize("lacking", ["cycles", "instructions"])
def test_a_region_without_cpu_time_in_a_group_that_sampled_nothing_of_an_event_is_counted_in_the_others(
    lacking: str,
) -> None:
    """The runs of that group and event failed, or were left out (HW458)."""

    def runs(threads: int, cpu_ns: int, counts: tuple[str, ...]) -> tuple[RunPrimitives, ...]:
        def parts(count: str) -> tuple[RegionPrimitives, ...]:
            idle = build.region("work", wall_ns=1, cpu_ns=cpu_ns, **{count: 70})
            return idle, build.region(REST, wall_ns=9, cpu_ns=9, **{count: 50})

        return tuple(build.run(threads, parts(count)) for count in counts)

    both = ("cycles", "instructions")
    few = tuple(count for count in both if count != lacking)
    groups = {("parallel", n): runs(n, cpu_ns, counts) for n, cpu_ns, counts in ((1, 0, few), (2, 5, both))}
    found, (notice,) = with_sampled(groups, "a.sweep")
    assert notice.id == "HW459"
    assert f"there are no samples of {lacking} of (rest) at 1 thread, parallel program" in notice.message
    work = {n: [run.regions[0] for run in found["parallel", n]] for n in (1, 2)}
    assert [(part.cycles, part.instructions) for part in work[2]] == [(70, 70)] * 2
    (part,) = work[1]
    assert [getattr(part, field) for field in (lacking, f"spin_{lacking}", f"busiest_{lacking}")] == [None] * 3
    assert [getattr(part, count) for count in few] == [70]


def test_a_rest_too_short_for_a_sample_leaves_the_counts_of_the_regions(run: Run, tmp_path: Path) -> None:
    """The main thread of the parallel program, which alone is in the rest, has no sample of instructions."""
    path = sweep_builder.make(tmp_path / "a.sweep", (2,), 3, IN_TURN).path
    before = answer(run, path)
    recording = path / "runs" / "parallel-2-3.headway"
    rows = pq.read_table(recording / "sample.parquet")
    with TableWriter(recording, TABLES["sample"]) as writer:
        writer.write(rows.filter(pc.not_equal(rows["thread_id"], 0)))
    manifest = read_manifest(recording)
    write_manifest(recording, replace(manifest, tables={**manifest.tables, "sample": writer.info}))
    after = answer(run, path)
    assert after["counters"] is True
    assert [warning["id"] for warning in after["warnings"] if warning["id"] in ("HW459", "HW466")] == ["HW459"]
    was, found = before["threads"][0], after["threads"][0]
    for limit in ("parallel_instruction_overhead", "parallel_cpi_overhead", "load_balance"):
        assert found["efficiencies"][limit] == pytest.approx(was["efficiencies"][limit]), limit
    assert found["efficiencies"]["sequential_instruction_overhead"] is None
    assert found["efficiencies"]["work_inflation"] == pytest.approx(1, abs=0.01)
    assert found["computed_speedup"] == pytest.approx(was["computed_speedup"])
    assert sum(found["stack"].values()) == pytest.approx(2)
    assert after["verdict"]["limit"] == before["verdict"]["limit"]


def test_where_one_of_both_was_never_sampled_nothing_is_said_twice() -> None:
    groups = {("parallel", 4): (work(100), work(100, cycles=200))}
    assert with_sampled(groups, "a.sweep") == (groups, [])


def test_a_run_whose_jvm_could_not_sample_is_left_out_where_others_could() -> None:
    region = build.region("work", wall_ns=9, cpu_ns=9)
    sampled, bare = (build.run(2, (region,), events=events) for events in (("cycles", "lock"), ("lock",)))
    groups = {("sequential", 1): (bare, bare), ("parallel", 2): (sampled, bare, sampled)}
    found, (notice,) = that_show_regions(groups)
    assert found == {("sequential", 1): (bare, bare), ("parallel", 2): (sampled, sampled)}
    assert notice.id == "HW458"
    assert "1 of 5 recorded runs" in notice.message
    assert that_show_regions(found) == (found, [])


def test_spinning_and_frames_come_from_the_runs_by_time() -> None:
    def by(event: str, cpu_ns: int, spin_ns: int, **ns: int) -> RunPrimitives:
        region = build.region(
            "work", wall_ns=cpu_ns, cpu_ns=cpu_ns, spin_ns=spin_ns, frames=ns, busiest_frames=ns, spin_frames=ns
        )
        return build.run(4, (region,), events=(event, "lock"))

    runs = (by("cpu", 100, 30, a=60, b=10), by("instructions", 300, 3, c=9), by("cycles", 100, 10, a=20))
    first, second, third = with_time(runs)
    assert (first, third) == (runs[0], runs[2])
    (part,) = second.regions
    assert (part.cpu_ns, part.spin_ns) == (300, 60)
    assert part.frames == part.busiest_frames == part.spin_frames == {"a": 40, "b": 5}
    assert with_time(runs[1:2]) == runs[1:2], "of instructions alone they are all there is"


# --- whole sweeps -------------------------------------------------------------------------------------------------------


def test_a_compiler_s_cycles_are_none_of_the_region_s(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 100)], "main"),
        FakeThread("app", 100, [("R", 100)], "worker-1"),
        FakeThread("jit", 0, [("R", 200)], "C2"),
    ]
    cycles: list[Sample] = [
        (0, 50, 7, MAIN),
        (1, 150, 11, WORK),
        (2, 40, 1000, ("compile",)),
        (2, 160, 1000, ("compile",)),
    ]
    cycles += [(None, 60, 1000, MAIN)]
    made_run = ParallelRun(threads, [], wall=200, stacks=STACKS, samples={"cycles": cycles})
    found = regions_of(open_recording(made_run.write(tmp_path / "a.headway")), [SweepRegion("work", r"App\.work")])
    assert {part.name: part.cycles for part in found.primitives} == {"work": 11, REST: 7}


@pytest.mark.parametrize(("warm_up", "window"), [(0, ()), (600, ("--from", "10%", "--to", "60%"))])
def test_runs_that_took_turns_tell_what_runs_that_sampled_all_at_once_tell(
    warm_up: int, window: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    """No machine can sample all at once, but recordings can be made so by hand."""
    said = []
    for in_turn in (False, True):
        shape = Shape(work=7200, warm_up=warm_up, events=IN_TURN.events, in_turn=in_turn)
        path = sweep_builder.make(tmp_path / f"{in_turn}.sweep", (2, 4), 3, shape).path
        said.append(answer(run, path, *window))
    for each in said:
        assert each["counters"] is True
        assert not {warning["id"] for warning in each["warnings"]} & {"HW459", "HW466", "HW492"}
        for row in each["threads"]:
            del row["possible_intervals"], row["low"], row["high"]
    assert said[0]["threads"] == said[1]["threads"]
    assert said[0]["sequential"] == said[1]["sequential"]


def test_more_instructions_are_told_from_more_cycles_by_runs_that_sampled_one_of_both(run: Run, tmp_path: Path) -> None:
    """A sample of each event for each 20 ns: as many instructions as cycles as ns, twice as many in the parallel program."""
    said = answer(run, sweep_builder.make(tmp_path / "a.sweep", (2, 4), 3, IN_TURN).path)
    assert said["verdict"]["limit"] == "instruction_overhead"
    for row in said["threads"]:
        n = row["threads"]
        spent = 7200 // n * n + EVERY * sum(range(n))
        assert row["metrics"]["cycles"] == row["metrics"]["instructions"] == spent + 400
        assert row["efficiencies"]["parallel_instruction_overhead"] == pytest.approx(3600 / spent)
        assert row["efficiencies"]["parallel_cpi_overhead"] == pytest.approx(1)
        assert row["efficiencies"]["frequency"] == pytest.approx(1)
        assert row["efficiencies"]["work_inflation"] is None


def test_without_the_runs_of_one_event_cpu_time_stands_for_cycles_and_it_is_said_why(run: Run, tmp_path: Path) -> None:
    shape = Shape(work=7200, events=("cycles", "instructions"), in_turn=True)
    path = sweep_builder.make(tmp_path / "a.sweep", (2, 4), 2, shape).path
    plan = json.loads((path / "sweep.json").read_text())
    for each in plan["runs"]:
        if (each["program"], each["threads"], each["number"]) == ("parallel", 4, 2):
            each["state"] = "failed"
    (path / "sweep.json").write_text(json.dumps(plan))
    said = answer(run, path)
    assert said["counters"] is False
    (message,) = (warning["message"] for warning in said["warnings"] if warning["id"] == "HW459")
    assert "instructions of work at 4 threads, parallel program and 1 others" in message
    for row in said["threads"]:
        assert row["efficiencies"]["parallel_instruction_overhead"] is None
        assert row["efficiencies"]["work_inflation"] is not None


def test_what_a_left_out_run_took_is_in_no_figure_and_nothing_is_said_to_stand_for_its_regions(tmp_path: Path) -> None:
    """By page faults no region is found, so the runs 1 are as those of a JVM that could not sample the event of its turn."""
    shape = Shape(events=("page-faults", "cpu", "cpu"), in_turn=True)
    found = read_runs(sweep_builder.make(tmp_path / "a.sweep", (2,), 3, shape))
    (message,) = (notice.message for notice in found.notices if notice.id == "HW458")
    assert "2 of 6 recorded runs" in message
    assert "HW492" not in {notice.id for notice in found.notices}
    assert [run.number for run in (*found.sequential, *found.parallel[2])] == [2, 3, 2, 3]
    beside = 400 + 1800 + EVERY  # main, then the worker that has more; each recorded run takes 10 ns more by its number
    assert (found.recorded_sequential_ns, found.recorded_ns[2]) == ((4020, 4030), (beside + 20, beside + 30))
    assert found.plain_sequential_ns == (4000,) * 3
    assert found.blocks[2] == (Block(4020, beside + 20, 4000, beside), Block(4030, beside + 30, 4000, beside))


def test_where_no_run_of_a_group_has_samples_it_is_said_what_stands_for_its_regions(tmp_path: Path) -> None:
    shape = Shape(events=("page-faults",))
    found = read_runs(sweep_builder.make(tmp_path / "a.sweep", (2,), 2, shape))
    assert {"HW458", "HW492"} & {notice.id for notice in found.notices} == {"HW492"}
    assert len(found.blocks[2]) == 2


def test_regions_are_checked_in_the_last_run_that_has_samples_of_the_cpu(tmp_path: Path) -> None:
    sweep = sweep_builder.make(tmp_path / "a.sweep", (2,), 2, Shape(events=("cpu", "page-faults"), in_turn=True))
    assert not with_checks(sweep).notices
    elsewhere = with_checks(replace(sweep, regions=(SweepRegion("none", r"App\.nowhere"),)))
    assert [notice.id for notice in elsewhere.notices] == ["HW490", "HW490"]
    bare = sweep_builder.make(tmp_path / "b.sweep", (2,), 2, Shape(events=("page-faults",)))
    assert [notice.id for notice in with_checks(bare).notices] == ["HW492", "HW492"]


def test_a_loop_that_waits_and_executed_too_little_for_a_sample_takes_no_instructions_from_the_work() -> None:
    sums: dict[str, Any] = {**ABSENT, "cpu_ns": 100, "spin_ns": 20, "instructions": 300, "cycles": 200}
    assert without_spinning({**sums, "spin_instructions": 0, "spin_cycles": 40}) == (80, 300, 160)
    assert without_spinning({**sums, "spin_instructions": None, "spin_cycles": None}) == (80, 240, 160)


@pytest.mark.parametrize(
    "limit", ["instruction_overhead", "cpi_overhead", "work_inflation", "spinning", "parallel_fraction"]
)
def test_the_next_command_shows_runs_that_sampled_the_event(
    limit: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs_in_turn: SweepRuns
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(next_command(limit, "work", runs_in_turn.sequential, runs_in_turn.parallel[4]))
    best = {"instruction_overhead": "instructions", "cpi_overhead": "cycles"}.get(limit, "cpu")
    assert words[words.index("--event") + 1] == best
    assert ("--diff" in words) == (limit in ("instruction_overhead", "cpi_overhead", "work_inflation"))
    code, _, err = run(*words[1:])
    assert code == 0, (words, err)


def test_spinning_in_runs_by_instructions_is_that_of_the_runs_by_time_beside_them(tmp_path: Path) -> None:
    sweep = sweep_builder.make(tmp_path / "a.sweep", (2,), 2, Shape(events=("cpu", "instructions"), in_turn=True))

    def reader(recording: Recording, _: object, window: object) -> Regions:
        spin_ns = 40 if "cpu" in recorded_events(recording) else 4
        parts = (build.region("work", wall_ns=80, cpu_ns=80, spin_ns=spin_ns), build.region(REST, wall_ns=9, cpu_ns=9))
        return Regions(parts, (), (), (), None)

    found = read_runs(sweep, None, reader)
    assert [run.regions[0].spin_ns for run in (*found.sequential, *found.parallel[2])] == [40] * 4


def test_what_the_sweep_said_of_its_regions_is_not_said_again_of_each_run(tmp_path: Path) -> None:
    notice = Notice.of("HW496", name="work", samples=2.0, path="last.headway")
    sweep = sweep_builder.make(tmp_path / "a.sweep", (2,), 1, Shape())

    def reader(recording: Recording, _: object, window: object) -> Regions:
        parts = (build.region("work", wall_ns=80, cpu_ns=80), build.region(REST, wall_ns=9, cpu_ns=9))
        return Regions(parts, (Notice.of("HW496", name="work", samples=1.9, path=recording.path),), (), (), None)

    said = StoredNotice(notice.id, notice.message, notice.remedy)
    found = read_runs(replace(sweep, notices=(said,)), None, reader)
    assert [each for each in found.notices if each.id == "HW496"] == [notice]
    assert [each.id for each in read_runs(sweep, None, reader).notices].count("HW496") == 1


def test_the_page_has_flame_graphs_of_every_event_that_some_run_sampled(sweep_in_turn: Sweep) -> None:
    found = sweep_flames(sweep_in_turn, 2_000_000)
    assert found is not None
    labels = {graph["label"] for graph in found["graphs"]}
    for event in ("CPU time", "cycles", "instructions"):
        assert {f"{event}, 4 threads", f"{event}, the sequential program"} <= labels, labels
        assert f"{event}, 4 threads against the sequential program" in labels


def test_regions_are_found_by_time_and_not_by_counts_that_weigh_more(tmp_path: Path) -> None:
    """Of three runs the second sampled cycles, which weigh 100,000 times as much, in another method."""
    (tmp_path / "runs").mkdir()
    wide = ("java.lang.Thread.run", "org.example.App.vectors")
    runs = []
    for number, (event, weight, stack) in enumerate((("cpu", 10, WORK), ("cycles", 10**6, wide)), start=1):
        threads = [
            FakeThread("app", 0, [("R", 100), ("B", 100)], "main"),
            FakeThread("app", 100, [("R", 100)], "worker"),
        ]
        samples = [(1, at, weight, stack) for at in range(105, 200, 10)]
        made_run = ParallelRun(threads, [], wall=200, stacks=STACKS, samples={event: samples})
        made_run.write(tmp_path / "runs" / f"parallel-1-{number}.headway")
        runs.append(SweepRun("parallel", 1, number, True, "complete", 0, 200, 200))
    sweep = Sweep(tmp_path, "par {threads}", None, (1,), 2, runs=tuple(runs))
    assert [each.name for each in with_regions(sweep).regions] == ["App.work"]
    assert [each.name for each in with_regions(replace(sweep, runs=tuple(runs[1:]))).regions] == ["App.vectors"]
