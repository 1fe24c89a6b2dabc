"""Regions of runs made by hand, whose figures follow from how they are made. Times are ns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses.regions.analysis import Regions, regions_of
from headway.analyses.regions.primitives import PARALLEL, REST, RegionPrimitives
from headway.analyses.regions.search import with_checks, with_regions
from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.sweep import Sweep, SweepRegion, SweepRun
from support.builders.lock_builder import Wait
from support.builders.region_builder import JOIN_STACK, LOCK_STACK, MAIN, STACKS, WORK, ParallelRun
from support.builders.sample_builder import Sample
from support.builders.synthetic import FakeThread

IN_WORK = SweepRegion("work", r"App\.work")


def every(thread: int, start: int, end: int, stack: tuple[str, ...], step: int = 10) -> list[Sample]:
    """Return a sample for each `step` ns of a stretch."""
    return [(thread, at + step // 2, step, stack) for at in range(start, end, step)]


def forked(second: int = 100) -> ParallelRun:
    """Main runs 100, waits 200 for two workers that run 200 and `second`, runs 100 again; a compiler beside it is not counted."""
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 200), ("R", 100)], "main"),
        FakeThread("app", 100, [("R", 200)], "worker-1"),
        FakeThread("app", 100, [("R", second)], "worker-2"),
        FakeThread("jit", 0, [("R", 50)], "C2"),
    ]
    samples = every(0, 0, 100, MAIN) + every(0, 300, 400, MAIN)
    samples += every(1, 100, 300, WORK) + every(2, 100, 100 + second, WORK)
    waits = [Wait(0, 0, 100, 300, stack=JOIN_STACK)]
    kinds, classes = ["wait"], ["java.lang.Thread"]
    return ParallelRun(threads, waits, wall=400, kinds=kinds, classes=classes, stacks=STACKS, samples={"cpu": samples})


def taken_apart(run: ParallelRun, path: Path, *regions: SweepRegion, window: tuple[int, int] | None = None) -> Regions:
    return regions_of(open_recording(run.write(path / "a.headway")), regions, window)


def parts(run: ParallelRun, path: Path, *regions: SweepRegion) -> dict[str, RegionPrimitives]:
    return {each.name: each for each in taken_apart(run, path, *regions).primitives}


def test_a_region_lasts_from_the_first_worker_that_comes_to_the_last_that_goes(tmp_path: Path) -> None:
    found = parts(forked(), tmp_path, IN_WORK)
    work, rest = found["work"], found[REST]
    assert (work.instances, work.wall_ns, work.cpu_ns, work.threads) == (1, 200, 300, 2)
    assert (work.busiest_busy_ns, work.overall_busiest_busy_ns, work.busiest_cpu_ns) == (200, 200, 200)
    assert (rest.instances, rest.wall_ns, rest.cpu_ns, rest.threads) == (2, 200, 200, 1)
    assert work.thread_cpu_ns == {"worker-1": 200, "worker-2": 100}
    assert work.io_ns == work.lock_wait_ns == work.gc_ns == work.spin_ns == 0
    assert list(found) == ["work", REST]


def test_who_was_sampled_in_a_region_is_known_for_threads_may_be_too_short_for_a_sample(tmp_path: Path) -> None:
    def sampled(run: ParallelRun) -> dict[str, list[str] | None]:
        found = parts(run, tmp_path, IN_WORK).items()
        return {name: None if part.sampled is None else sorted(part.sampled) for name, part in found}

    run = forked()
    assert sampled(run) == {"work": ["worker-1", "worker-2"], REST: ["main"]}
    first = [each for each in run.samples["cpu"] if each[0] != 2]
    assert sampled(replace(run, samples={"cpu": first})) == {"work": ["worker-1"], REST: ["main"]}
    elsewhere = [(*each[:3], MAIN) if each[0] == 1 and each[1] < 120 else each for each in run.samples["cpu"]]
    assert sampled(replace(run, samples={"cpu": elsewhere}))["work"] == ["worker-1", "worker-2"]
    assert sampled(replace(run, samples={})) == {"work": None, REST: None}


def test_a_window_cuts_regions_and_their_sums(tmp_path: Path) -> None:
    result = taken_apart(forked(), tmp_path, IN_WORK, window=(150, 350))
    work, rest = result.primitives
    assert (work.wall_ns, work.cpu_ns, rest.wall_ns, rest.cpu_ns) == (150, 200, 50, 50)
    assert result.busiest_cpu_ns == 150
    with pytest.raises(HeadwayError, match="HW401"):
        taken_apart(forked(), tmp_path, IN_WORK, window=(0, 401))


def test_the_busiest_thread_is_that_of_each_instance(tmp_path: Path) -> None:
    # Two instances of 100: in the first worker-1 is the busier one, in the second worker-2.
    threads = [
        FakeThread("app", 0, [("R", 20), ("B", 100), ("R", 30), ("B", 100), ("R", 20)], "main"),
        FakeThread("app", 20, [("R", 100), ("B", 30), ("R", 40)], "worker-1"),
        FakeThread("app", 20, [("R", 60), ("B", 70), ("R", 100)], "worker-2"),
    ]
    joins = [Wait(0, 0, 20, 120, stack=JOIN_STACK), Wait(0, 0, 150, 250, stack=JOIN_STACK)]
    idle = [Wait(1, 0, 120, 150, stack=JOIN_STACK), Wait(2, 0, 80, 150, stack=JOIN_STACK)]
    samples = every(0, 0, 20, MAIN) + every(0, 120, 150, MAIN) + every(0, 250, 270, MAIN)
    samples += every(1, 20, 120, WORK) + every(1, 150, 190, WORK) + every(2, 20, 80, WORK) + every(2, 150, 250, WORK)
    run = ParallelRun(
        threads, [*joins, *idle], wall=270, kinds=["wait"], classes=["java.lang.Thread"], stacks=STACKS,
        samples={"cpu": samples},
    )  # fmt: skip
    work = parts(run, tmp_path, IN_WORK)["work"]
    assert (work.instances, work.wall_ns, work.cpu_ns) == (2, 200, 300)
    assert work.busiest_busy_ns == work.busiest_cpu_ns == work.busiest_unhindered_ns == 200
    assert work.overall_busiest_busy_ns == 160


def test_a_worker_that_is_last_because_others_had_its_cpu_has_no_more_to_do(tmp_path: Path) -> None:
    """Both run 100; the first waits 50 for a CPU meanwhile, and the host takes 30 of the second's time on one."""
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 150), ("R", 10)], "main"),
        FakeThread("app", 10, [("R", 50), ("W", 50), ("R", 50)], "worker-1"),
        FakeThread("app", 10, [("R", 130)], "worker-2", stolen=[30]),
    ]
    samples = every(0, 0, 10, MAIN) + every(0, 160, 170, MAIN)
    samples += every(1, 10, 60, WORK) + every(1, 110, 160, WORK) + every(2, 10, 140, WORK)
    joins = [Wait(0, 0, 10, 160, stack=JOIN_STACK)]
    run = ParallelRun(
        threads, joins, wall=170, kinds=["wait"], classes=["java.lang.Thread"], stacks=STACKS, samples={"cpu": samples}
    )
    work = parts(run, tmp_path, IN_WORK)["work"]
    assert (work.cpu_ns, work.runnable_ns, work.steal_ns) == (200, 50, 30)
    assert (work.busiest_busy_ns, work.busiest_unhindered_ns) == (150, 100)


def test_instances_that_only_a_lack_of_cpus_parted_are_one_for_the_balance(tmp_path: Path) -> None:
    """One worker after the other on a CPU, others have it in between, and main, which started them, has not yet come to wait."""
    threads = [
        FakeThread("app", 0, [("R", 20), ("W", 110), ("R", 10), ("B", 20), ("R", 10)], "main"),
        FakeThread("app", 20, [("R", 40)], "worker-1"),
        FakeThread("app", 20, [("W", 60), ("R", 40)], "worker-2"),
    ]
    samples = every(0, 0, 20, MAIN) + every(1, 20, 60, WORK) + every(2, 80, 120, WORK)
    run = ParallelRun(threads, [], wall=170, kinds=["wait"], stacks=STACKS, samples={"cpu": samples})
    work = parts(run, tmp_path, IN_WORK)["work"]
    assert (work.instances, work.cpu_ns) == (2, 80)
    assert work.busiest_unhindered_ns == 40


def test_every_ns_of_a_thread_has_one_part(tmp_path: Path) -> None:
    # worker-1: runs 100 (of it 20 stolen), waits 60 for a lock (20 of it in a pause), ready 40 (10 beside the compiler), runs 20.
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 230), ("R", 10)], "main"),
        FakeThread("app", 10, [("R", 100), ("B", 60), ("W", 40), ("R", 20)], "worker-1", stolen=[20]),
        FakeThread("app", 10, [("R", 230)], "worker-2"),
        FakeThread("jit", 200, [("R", 60)], "C2"),
    ]
    waits = [Wait(0, 0, 10, 240, stack=JOIN_STACK), Wait(1, 1, 110, 170, owner=2, waker=2, stack=LOCK_STACK)]
    samples = every(0, 0, 10, MAIN) + every(1, 10, 110, WORK) + every(1, 210, 230, WORK) + every(2, 10, 240, WORK)
    run = ParallelRun(
        threads, waits, wall=250, pauses=[(130, 150)], kinds=["wait", "park"],
        classes=["java.lang.Thread", "java.util.concurrent.locks.ReentrantLock$NonfairSync"], stacks=STACKS,
        samples={"cpu": samples},
    )  # fmt: skip
    work = parts(run, tmp_path, IN_WORK)["work"]
    assert (work.cpu_ns, work.steal_ns, work.lock_wait_ns) == (100 + 230, 20, 40)
    assert (work.gc_ns, work.runnable_ns, work.jit_ns, work.io_ns) == (20, 30, 10, 0)
    assert work.busiest_busy_ns == 230
    assert work.locks == {"ReentrantLock@1001": 40}
    assert work.lock_sites == {"org.example.App.work:4": 40}


def test_waiting_at_a_barrier_is_no_lock_wait_and_sleeping_is_io(tmp_path: Path) -> None:
    barrier = (
        ("java.util.concurrent.locks.LockSupport", "park"),
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
        ("java.util.concurrent.CyclicBarrier", "dowait"),
        ("java.util.concurrent.CyclicBarrier", "await"),
        ("org.example.App", "work"),
    )
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 80), ("R", 10)], "main"),
        FakeThread("app", 0, [("R", 20), ("B", 30), ("R", 10), ("B", 30), ("R", 10)], "worker-1"),
        FakeThread("app", 0, [("R", 5), ("B", 90), ("R", 5)], "ticker"),
    ]
    samples = every(0, 0, 10, MAIN) + every(1, 0, 20, WORK) + every(1, 50, 60, WORK) + every(1, 90, 100, WORK)
    samples += [(2, 1, 5, ("java.lang.Thread.run", "org.example.Ticker.tick"))]
    run = ParallelRun(
        threads, [Wait(1, 0, 20, 50, stack=2), Wait(0, 1, 10, 90, stack=JOIN_STACK)], wall=100, kinds=["park", "wait"],
        classes=["java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "java.lang.Thread"],
        stacks=(*STACKS, barrier), samples={"cpu": samples},
    )  # fmt: skip
    work = parts(run, tmp_path, IN_WORK)["work"]
    assert work.lock_wait_ns == 0
    assert work.io_ns == 30  # of worker-1; the ticker works in no region, and its sleeping keeps nobody up
    assert (work.instances, work.wall_ns) == (2, 70)


def test_a_worker_that_still_waits_for_a_cpu_while_main_goes_on_keeps_no_region_up(tmp_path: Path) -> None:
    # The worker's last 60: woken for nothing, and ready while main does what is sequential on the only CPU.
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 50), ("R", 90)], "main"),
        FakeThread("app", 10, [("W", 10), ("R", 40), ("B", 5), ("W", 60), ("R", 2)], "worker"),
    ]
    waits = [Wait(0, 0, 10, 60, stack=JOIN_STACK), Wait(1, 0, 60, 65, stack=JOIN_STACK)]
    samples = every(0, 0, 10, MAIN) + every(0, 60, 150, MAIN) + every(1, 20, 60, WORK)
    run = ParallelRun(
        threads, waits, wall=150, kinds=["wait"], classes=["java.lang.Thread"], stacks=STACKS, samples={"cpu": samples}
    )
    work = parts(run, tmp_path, IN_WORK)["work"]
    assert (work.wall_ns, work.runnable_ns) == (52, 10)


def test_a_sequential_program_is_split_by_its_samples_and_no_ns_is_lost(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 1000)], "main")]
    samples = every(0, 0, 300, MAIN) + every(0, 300, 800, (*MAIN, "org.example.App.work")) + every(0, 800, 1000, MAIN)
    run = ParallelRun(threads, [], wall=1000, stacks=STACKS, samples={"cpu": samples})
    found = parts(run, tmp_path, IN_WORK)
    work, rest = found["work"], found[REST]
    assert work.cpu_ns + rest.cpu_ns == work.wall_ns + rest.wall_ns == 1000
    assert abs(work.cpu_ns - 500) <= 10  # each end is known to half a sample
    assert (work.instances, rest.instances, work.threads) == (1, 2, 1)


def test_a_stretch_too_short_for_a_sample_counts_as_such_stretches_mostly_were(tmp_path: Path) -> None:
    # Main works along in each of four instances of 50; of the stretches of 8 between them only two hold a sample.
    states: list[tuple[str, int]] = []
    samples: list[Sample] = []
    workers: list[tuple[int, int]] = []
    now = 0
    for turn in range(4):
        workers.append((now + 8, now + 58))
        samples += [(0, now + 4, 8, MAIN)] if turn % 2 else []
        samples += every(0, now + 8, now + 58, (*MAIN, *WORK[1:]))
        samples += every(1, now + 8, now + 58, WORK)
        states += [("B", 8), ("R", 50)]
        now += 58
    threads = [FakeThread("app", 0, [("R", now)], "main"), FakeThread("app", 0, states, "worker")]
    idle = [Wait(1, 0, a - 8, a, stack=JOIN_STACK) for a, _ in workers]
    run = ParallelRun(
        threads, idle, wall=now, kinds=["wait"], classes=["java.lang.Thread"], stacks=STACKS, samples={"cpu": samples}
    )
    found = parts(run, tmp_path, IN_WORK)
    assert (found["work"].instances, found["work"].wall_ns) == (4, 200)
    assert (found[REST].wall_ns, found[REST].cpu_ns) == (32, 32)


def test_of_two_regions_at_once_the_first_one_has_the_time(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 100)], "main"),
        FakeThread("app", 0, [("R", 60)], "a"),
        FakeThread("app", 0, [("B", 0), ("R", 60)], "pool-1"),
    ]
    first, second = ("java.lang.Thread.run", "org.example.A.run"), ("java.lang.Thread.run", "org.example.B.run")
    samples = every(0, 60, 100, MAIN) + every(1, 0, 60, first) + every(2, 0, 30, first) + every(2, 30, 60, second)
    run = ParallelRun(threads, [], wall=100, stacks=STACKS, samples={"cpu": samples})
    a, b = SweepRegion("a", r"\bA\.run"), SweepRegion("b", r"\bB\.run")
    found = taken_apart(run, tmp_path, a, b)
    assert sum(each.wall_ns for each in found.primitives) == 100
    assert sum(each.cpu_ns for each in found.primitives) == 220
    only_b = taken_apart(run, tmp_path, b, a).primitives[0]
    assert only_b.wall_ns > 0


@pytest.mark.parametrize(
    ("frames", "spins"),
    [
        (("org.example.SpinBarrier.await",), True),
        (("org.example.App.work", "java.lang.Thread.onSpinWait"), True),
        (("org.example.App.waitForAll", "java.util.concurrent.atomic.AtomicInteger.get"), True),
        (("java.util.concurrent.ForkJoinPool.runWorker", "java.util.concurrent.ForkJoinPool.scan"), True),
        (("org.example.App.work",), False),
        (("org.example.Option.barrierless", "org.example.Work.spin"), False),
        (("org.example.App.await", "org.example.App.compute"), False),
        (("java.util.concurrent.CyclicBarrier.await",), False),
        (("org.example.Team.barrierWait",), True),
        (("org.example.Pricer.priceBarrierOptions",), False),
    ],
)
def test_spinning_is_recognised_by_the_calls_and_names_of_waiting(
    tmp_path: Path, frames: tuple[str, ...], spins: bool
) -> None:
    threads = [FakeThread("app", 0, [("R", 100)], "main"), FakeThread("app", 0, [("R", 100)], "worker")]
    root = ("java.lang.Thread.run", "org.example.Task.run")
    samples = every(1, 0, 60, root) + every(1, 60, 100, (*root, *frames)) + every(0, 0, 100, MAIN)
    run = ParallelRun(threads, [], wall=100, stacks=STACKS, samples={"cpu": samples})
    task = parts(run, tmp_path, SweepRegion("task", r"Task\.run"))["task"]
    assert task.cpu_ns == 200
    assert task.spin_ns == (40 if spins else 0)
    assert sum(task.spin_frames.values()) == task.spin_ns


def test_the_loop_around_a_yield_spins_too(tmp_path: Path) -> None:
    loop = ("java.lang.Thread.run", "org.example.App.untilDone")
    threads = [FakeThread("app", 0, [("R", 100)], "main"), FakeThread("app", 0, [("R", 100)], "worker")]
    samples = every(1, 0, 70, loop) + every(1, 70, 100, (*loop, "java.lang.Thread.yield")) + every(0, 0, 100, MAIN)
    run = ParallelRun(threads, [], wall=100, stacks=STACKS, samples={"cpu": samples})
    assert parts(run, tmp_path, SweepRegion("loop", "untilDone"))["loop"].spin_ns == 100


def test_counters_are_summed_where_they_were_measured(tmp_path: Path) -> None:
    run = forked()
    cycles = [(thread, ns, weight * 3, stack) for thread, ns, weight, stack in run.samples["cpu"]]
    instructions = [(thread, ns, weight * 2, stack) for thread, ns, weight, stack in run.samples["cpu"]]
    run.samples = {**run.samples, "cycles": cycles, "instructions": instructions}
    found = parts(run, tmp_path, IN_WORK)
    work, rest = found["work"], found[REST]
    assert (work.cycles, work.instructions, work.cache_misses) == (900, 600, None)
    assert (work.busiest_cycles, work.busiest_instructions) == (600, 400)
    assert (rest.cycles, rest.instructions, rest.spin_cycles) == (600, 400, 0)


def test_a_lambda_goes_by_the_method_around_it(tmp_path: Path) -> None:
    run = forked()
    stack = ("java.lang.Thread.run", "org.example.App.lambda$assign$3")
    run.samples = {"cpu": [(t, ns, w, stack if s == WORK else s) for t, ns, w, s in run.samples["cpu"]]}
    assert parts(run, tmp_path, SweepRegion("assign", r"App\.assign$"))["assign"].cpu_ns == 300


def test_regions_that_match_nothing_or_everything_are_told(tmp_path: Path) -> None:
    nothing = taken_apart(forked(), tmp_path, SweepRegion("gone", r"App\.gone"))
    assert [notice.id for notice in nothing.notices] == ["HW490"]
    assert (nothing.primitives[0].wall_ns, nothing.primitives[1].wall_ns) == (0, 400)
    everything = taken_apart(forked(), tmp_path, SweepRegion("all", "App"))
    assert [notice.id for notice in everything.notices] == ["HW491"]
    assert not taken_apart(forked(), tmp_path, IN_WORK).notices


@pytest.mark.parametrize(("turn", "is_told"), [(10, True), (20, True), (50, False)])
def test_a_region_that_alternates_faster_than_samples_come_is_told(tmp_path: Path, turn: int, is_told: bool) -> None:
    inside = (*MAIN, "org.example.App.work")
    samples = [each for at in range(0, 2000, turn) for each in every(0, at, at + turn, (MAIN, inside)[at // turn % 2])]
    threads = [FakeThread("app", 0, [("R", 2000)], "main")]
    run = ParallelRun(threads, [], wall=2000, stacks=STACKS, samples={"cpu": samples})
    found = taken_apart(run, tmp_path, IN_WORK)
    assert [notice.id for notice in found.notices] == (["HW496"] if is_told else [])
    assert abs(found.primitives[0].cpu_ns - 1000) <= turn


def test_a_short_region_whose_begin_and_end_workers_show_is_not_told(tmp_path: Path) -> None:
    # Forty instances of 10, a sample each: the workers' idle times between them are exact.
    work = [state for _ in range(40) for state in (("R", 10), ("B", 10))]
    main = [state for _ in range(40) for state in (("B", 10), ("R", 10))]
    samples = [
        each for at in range(0, 800, 20) for each in every(1, at, at + 10, WORK) + every(0, at + 10, at + 20, MAIN)
    ]
    threads = [FakeThread("app", 0, main, "main"), FakeThread("app", 0, work, "worker")]
    run = ParallelRun(threads, [], wall=800, stacks=STACKS, samples={"cpu": samples})
    found = taken_apart(run, tmp_path, IN_WORK)
    assert not found.notices
    assert (found.primitives[0].instances, found.primitives[0].wall_ns) == (40, 400)


def test_without_samples_the_time_with_more_than_one_active_thread_stands_for_the_region(tmp_path: Path) -> None:
    run = forked()
    run.samples = {}
    result = taken_apart(run, tmp_path, IN_WORK)
    assert [notice.id for notice in result.notices] == ["HW492"]
    assert (result.primitives[0].wall_ns, result.primitives[0].cpu_ns) == (100, 200)
    assert result.primitives[0].spin_ns is None
    assert taken_apart(forked(), tmp_path).primitives[0].name == PARALLEL


def test_without_lock_records_waiting_is_not_guessed(tmp_path: Path) -> None:
    from support.builders import sample_builder

    run = forked()
    path = sample_builder.write(tmp_path / "a.headway", run.threads, run.wall, run.samples)
    work = regions_of(open_recording(path), [IN_WORK]).primitives[0]
    assert work.lock_wait_ns is None
    assert work.io_ns is None
    assert (work.wall_ns, work.cpu_ns) == (200, 300)


# --- regions that nobody gave -------------------------------------------------------------------------------------------


def sweep_of(path: Path, parallel: ParallelRun, sequential: ParallelRun) -> Sweep:
    (path / "runs").mkdir()
    parallel.write(path / "runs" / "parallel-2-1.headway")
    sequential.write(path / "runs" / "sequential-1-1.headway")
    runs = (
        SweepRun("parallel", 2, 1, True, "complete", 0, 400, 500),
        SweepRun("sequential", 1, 1, True, "complete", 0, 600, 600),
    )
    return Sweep(path, "par {threads}", "seq", (2,), 1, runs=runs)


def test_regions_are_found_by_what_other_threads_were_given_to_do(tmp_path: Path) -> None:
    parallel = forked()
    inner = (*WORK, "org.example.App.assign")
    parallel.samples = {"cpu": [(t, ns, w, inner if s == WORK else s) for t, ns, w, s in parallel.samples["cpu"]]}
    samples = every(0, 0, 200, MAIN) + every(0, 200, 500, (*MAIN, "org.example.App.assign")) + every(0, 500, 600, MAIN)
    sequential = ParallelRun(
        [FakeThread("app", 0, [("R", 600)], "main")], [], wall=600, stacks=STACKS, samples={"cpu": samples}
    )
    found = with_regions(sweep_of(tmp_path, parallel, sequential))
    assert found.regions == (SweepRegion("App.work", r"^org\.example\.App\.work$"),)
    assert found.sequential_regions == (SweepRegion("App.work", r"^org\.example\.App\.assign$"),)
    assert found.regions_found
    assert [notice.id for notice in found.notices] == ["HW493"]
    assert "thread" in found.notices[0].message
    alone = regions_of(found.open(found.runs[1]), found.regions_of("sequential")).primitives
    assert abs(alone[0].cpu_ns - 300) <= 10
    both = regions_of(found.open(found.runs[0]), found.regions_of("parallel")).primitives
    assert (both[0].wall_ns, both[0].cpu_ns) == (200, 300)


def test_given_regions_stay_as_they_are(tmp_path: Path) -> None:
    from dataclasses import replace

    sweep = replace(sweep_of(tmp_path, forked(), forked()), regions=(IN_WORK,))
    assert with_regions(sweep) is sweep


def test_a_program_without_other_threads_has_no_regions_to_find(tmp_path: Path) -> None:
    samples = {"cpu": every(0, 0, 600, MAIN)}
    alone = ParallelRun([FakeThread("app", 0, [("R", 600)], "main")], [], wall=600, stacks=STACKS, samples=samples)
    sweep = sweep_of(tmp_path, alone, alone)
    assert with_regions(sweep) is sweep


def test_a_sweep_says_of_its_regions_what_its_runs_show(tmp_path: Path) -> None:
    from dataclasses import replace

    sweep = replace(
        sweep_of(tmp_path, forked(), forked()), regions=(IN_WORK,), sequential_regions=(SweepRegion("work", "nowhere"),)
    )
    checked = with_checks(sweep)
    assert [notice.id for notice in checked.notices] == ["HW490"]
    assert "sequential-1-1" in checked.notices[0].message
    assert not with_checks(replace(checked, sequential_regions=())).notices
