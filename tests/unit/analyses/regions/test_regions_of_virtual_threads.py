"""What regions tell of virtual threads, which the scheduler sees the carriers of. Times are ns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses.regions.analysis import Regions, regions_of
from headway.analyses.regions.primitives import REST
from headway.analyses.regions.search import with_checks, with_regions
from headway.analyses.speedups.analysis import speedups
from headway.store import open_recording
from headway.store.sweep import Sweep, SweepRegion, SweepRun
from support.builders.lock_builder import LOCK_CLASS, Wait
from support.builders.region_builder import JOIN_STACK, LOCK_STACK, MAIN, STACKS, ParallelRun
from support.builders.sample_builder import Sample
from support.builders.synthetic import FakeThread

IN_WORK = SweepRegion("work", r"App\.work")
LOST = ("cont_returnBarrier", "org.example.App.inner")
KNOWN = ("org.example.App.work", "org.example.App.inner")
VIRTUAL = -1


def every(thread: int, start: int, end: int, stack: tuple[str, ...]) -> list[Sample]:
    return [(thread, at + 5, 10, stack) for at in range(start, end, 10)]


def carried(lost: tuple[str, ...] = LOST, *waits: Wait) -> ParallelRun:
    """Main runs 100, waits 200 for two carriers, runs 100 again; half of what the first carrier does has lost its callers."""
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 200), ("R", 100)], "main"),
        FakeThread("carrier", 100, [("R", 200)], "ForkJoinPool-1-worker-1"),
        FakeThread("carrier", 100, [("R", 100), ("B", 80), ("R", 20)], "ForkJoinPool-1-worker-2"),
    ]
    samples = every(0, 0, 100, MAIN) + every(0, 300, 400, MAIN)
    samples += every(1, 100, 200, KNOWN) + every(1, 200, 300, lost) + every(2, 100, 200, KNOWN)
    return ParallelRun(
        threads, [Wait(0, 0, 100, 300, stack=JOIN_STACK), *waits], wall=400, kinds=["wait", "park", "park"],
        classes=["java.lang.Thread", LOCK_CLASS, LOCK_CLASS], stacks=STACKS, samples={"cpu": samples},
    )  # fmt: skip


def contended(start: int = 210, end: int = 270, *, is_pinned: bool = False) -> Wait:
    return Wait(VIRTUAL, 1, start, end, stack=LOCK_STACK, is_pinned=is_pinned)


def taken_apart(run: ParallelRun, path: Path, window: tuple[int, int] | None = None) -> Regions:
    return regions_of(open_recording(run.write(path / "a.headway")), (IN_WORK,), window)


@pytest.mark.parametrize("stub", ["cont_returnBarrier", "Cont thaw return barrier", "StubRoutines::cont_returnBarrier"])
def test_a_stack_that_has_lost_its_outer_frames_tells_nothing_and_its_carrier_stays_a_worker(
    tmp_path: Path, stub: str
) -> None:
    found = taken_apart(carried((stub, LOST[1])), tmp_path)
    assert found.workers == ("ForkJoinPool-1-worker-1", "ForkJoinPool-1-worker-2")
    work, rest = found.primitives
    assert (work.wall_ns, work.cpu_ns) == (200, 320)
    assert (rest.name, rest.wall_ns, rest.cpu_ns) == (REST, 200, 200)
    whole = taken_apart(carried(LOST[1:]), tmp_path)
    assert whole.workers == ("ForkJoinPool-1-worker-2",)  # the same frames with nothing lost are outside


def test_a_region_s_frame_that_is_left_tells_the_region_all_the_same(tmp_path: Path) -> None:
    run = carried(("cont_returnBarrier", *KNOWN))
    run.samples = {"cpu": [each for each in run.samples["cpu"] if each[3] != KNOWN]}
    work = taken_apart(run, tmp_path).primitives[0]
    assert work.sampled == frozenset({"ForkJoinPool-1-worker-1"})
    assert work.wall_ns == 200


def test_lock_time_is_not_known_where_virtual_threads_waited_for_locks(tmp_path: Path) -> None:
    found = taken_apart(carried(LOST, contended()), tmp_path)
    assert [part.lock_wait_ns for part in found.primitives] == [None, None]
    assert [notice.id for notice in found.notices] == ["HW457"]
    assert found.notices[0].message.startswith(
        "lock contention is not known: virtual threads waited for locks 1 time in "
    )
    assert ", 60.0 ns in all" in found.notices[0].message
    assert found.notices[0].remedy.startswith(f"headway locks {tmp_path / 'a.headway'}")


def test_lock_time_is_known_in_a_window_in_which_no_virtual_thread_waited_for_a_lock(tmp_path: Path) -> None:
    run = carried(LOST, contended(), Wait(VIRTUAL, 0, 110, 200, stack=JOIN_STACK))
    found = taken_apart(run, tmp_path, (50, 210))
    assert [part.lock_wait_ns for part in found.primitives] == [0, 0]
    assert not found.notices
    assert taken_apart(run, tmp_path, (50, 211)).primitives[0].lock_wait_ns is None


def test_lock_time_of_platform_threads_beside_such_waits_is_no_imbalance(tmp_path: Path) -> None:
    own = Wait(2, 2, 200, 280, stack=LOCK_STACK)
    known, unknown = (
        taken_apart(carried(LOST, own, *others), tmp_path).primitives[0] for others in ((), (contended(),))
    )
    assert (known.lock_wait_ns, known.busiest_busy_ns) == (80, 200)
    assert (unknown.lock_wait_ns, unknown.busiest_busy_ns, unknown.io_ns) == (None, 200, 0)
    assert unknown.locks == {"ReentrantLock@1002": 80}  # what is known of it is shown
    alone = carried(LOST, own, contended())
    alone.threads = [alone.threads[0], FakeThread("carrier", 300, [("R", 1)], "short"), alone.threads[2]]
    alone.samples = {"cpu": [each for each in alone.samples["cpu"] if each[0] != 1]}
    assert taken_apart(alone, tmp_path).primitives[0].busiest_busy_ns == 120


@pytest.mark.parametrize(
    ("stack", "is_pinned", "io"), [(LOCK_STACK, True, 20), (JOIN_STACK, True, 20), (LOCK_STACK, False, 80)]
)
def test_what_blocks_a_carrier_while_a_pinned_virtual_thread_waits_is_no_io(
    tmp_path: Path, stack: int, is_pinned: bool, io: int
) -> None:
    wait = replace(contended(is_pinned=is_pinned), lock=1 if stack == LOCK_STACK else 0, stack=stack)
    assert taken_apart(carried(LOST, wait), tmp_path).primitives[0].io_ns == io


# --- sweeps -------------------------------------------------------------------------------------------------------------


def sweep_of(path: Path, parallel: ParallelRun, inside: tuple[str, ...] = (*MAIN, *KNOWN)) -> Sweep:
    (path / "runs").mkdir()
    parallel.write(path / "runs" / "parallel-2-1.headway")
    samples = {"cpu": every(0, 0, 200, MAIN) + every(0, 200, 500, inside) + every(0, 500, 600, MAIN)}
    alone = ParallelRun([FakeThread("app", 0, [("R", 600)], "main")], [], wall=600, stacks=STACKS, samples=samples)
    alone.write(path / "runs" / "sequential-1-1.headway")
    runs = (
        SweepRun("parallel", 2, 1, True, "complete", 0, 400, 500),
        SweepRun("sequential", 1, 1, True, "complete", 0, 600, 600),
    )
    return Sweep(path, "par {threads}", "seq", (2,), 1, runs=runs)


def test_stacks_that_have_lost_their_outer_frames_are_no_regions(tmp_path: Path) -> None:
    found = with_regions(sweep_of(tmp_path, carried()))
    assert found.regions == (SweepRegion("App.work", r"^org\.example\.App\.work$"),)
    # inner is on such a stack without work, and is work's nevertheless
    assert found.sequential_regions == (SweepRegion("App.work", r"^org\.example\.App\.work$"),)


def test_the_main_thread_of_jdk_25_is_no_worker_and_its_main_no_region(tmp_path: Path) -> None:
    run = carried()
    run.first_java_id = 3
    assert [region.name for region in with_regions(sweep_of(tmp_path, run)).regions] == ["App.work"]
    everything = SweepRegion("all", r"org\.example")
    found = regions_of(open_recording(run.write(tmp_path / "b.headway")), (everything,))
    assert "main" not in found.workers


def test_the_methods_of_such_stacks_are_not_taken_for_code_outside_of_regions(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, carried(), (*MAIN, KNOWN[1]))
    assert with_regions(sweep).sequential_regions == (SweepRegion("App.work", r"^org\.example\.App\.inner$"),)


def test_of_a_sweep_lock_contention_is_null_and_the_message_is_on_its_result(tmp_path: Path) -> None:
    sweep = replace(sweep_of(tmp_path, carried(LOST, contended())), regions=(IN_WORK,))
    checked = with_checks(sweep)
    assert "HW457" not in [notice.id for notice in checked.notices]  # of a window of the runs another may be true
    found = speedups(checked)
    row = found.rows[0]
    assert row.efficiencies["lock_contention"] is None
    assert row.possible["lock_contention"] is None
    assert "lock_contention" not in row.stack
    assert sum(row.stack.values()) == pytest.approx(2)
    assert row.regions["work"].efficiencies["lock_contention"] is None
    assert [notice.id for notice in found.notices].count("HW457") == 1
    (tmp_path / "without").mkdir()
    known = speedups(replace(sweep_of(tmp_path / "without", carried()), regions=(IN_WORK,)))
    assert known.rows[0].efficiencies["lock_contention"] == 1
    assert "HW457" not in [notice.id for notice in known.notices]
