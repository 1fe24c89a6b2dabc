"""The verdict on a sweep: the limit that was put in is named first, with its place, its gain and its view."""

from __future__ import annotations

import io
import shlex
from typing import Any

import click
import pytest

from headway.analyses.regions.primitives import REST, RegionPrimitives
from headway.analyses.speedups.advice import NAMES
from headway.analyses.speedups.analysis import answer
from headway.analyses.speedups.model import LIMITS
from headway.analyses.speedups.next_commands import next_command
from headway.analyses.speedups.types import Block, Speedups
from headway.analyses.speedups.uncertainty import ratio_interval, real_interval
from headway.cli.main import cli
from headway.errors import HeadwayError
from headway.report.json.speedups import speedups_json
from headway.report.terminal import make_console
from headway.report.terminal.speedups import LABELS, render
from support.builders import primitives_builder as build

CASES = {
    "parallel_fraction": ({"rest": 1.0}, "App.read:5 in the sequential fraction", "headway top"),
    "work_inflation": ({"cpu_ns": 0.5}, "App.hot:7 in region work", "--event cpu --region work --diff"),
    "load_balance": ({"uneven": 0.5}, "thread worker-0 in region work", "--event cpu --region work -o"),
    "lock_contention": ({"lock_wait_ns": 0.5}, "java.lang.Object@1 at App.put:42 in region work", "headway locks"),
    "scheduling": ({"runnable_ns": 0.3, "steal_ns": 0.3}, "region work", "headway threads"),
    "gc": ({"gc_ns": 0.5}, "region work", "gc_pause"),
    "jit": ({"jit_ns": 0.5}, "region work", "headway threads"),
    "spinning": ({"spin_ns": 0.5}, "Barrier.spin:3 in region work", "--event cpu --region work -o"),
    "waiting": ({"io_ns": 0.5}, "region work", "--event off-cpu -o"),
}


def of(parts: dict[str, float], runs: int = 1, **others: Any) -> Speedups:
    rest = parts.get("rest", 0.1)
    return answer(
        build.sweep_runs([build.alone(rest)] * runs, {4: [build.one_second_each(**dict(parts))] * runs}, **others)
    )


@pytest.mark.parametrize("limit", CASES)
def test_the_limit_that_was_put_in_is_the_verdict(limit: str) -> None:
    parts, place, view = CASES[limit]
    verdict = of(parts).verdict
    assert verdict.limit == limit
    assert verdict.place == place
    assert view in verdict.next
    assert verdict.next.startswith("headway ")
    assert "made.sweep/runs/4-1.headway" in verdict.next
    assert verdict.evidence
    assert verdict.withheld is None


@pytest.mark.parametrize("limit", [limit for limit in CASES if limit != "parallel_fraction"])
def test_removing_what_was_put_in_gives_the_time_before(limit: str) -> None:
    """4.1 s alone; 1.1 s with four threads and nothing in the way."""
    result = of(CASES[limit][0])
    assert result.rows[0].possible[limit] == pytest.approx(4.1 / 1.1)
    assert result.verdict.gain == pytest.approx(4.1 / 1.1 / result.rows[0].computed_speedup - 1)


@pytest.mark.parametrize("limit", NAMES)
@pytest.mark.parametrize("region", ["work", "my region", REST, "(parallel)"])
def test_the_next_command_is_one_that_headway_takes(limit: str, region: str) -> None:
    runs = build.sweep_runs([build.alone()], {4: [build.one_second_each()]})
    words = shlex.split(next_command(limit, region, runs.sequential, runs.parallel[4]))
    assert words[0] == "headway"
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None
    context = command.make_context(words[1], words[2:])  # fails for what the command does not know
    assert context.params.get("region") in (None, region)


def test_spinning_is_told_apart_from_more_instructions() -> None:
    """The paper counts the instructions of a spinning barrier as parallelism overhead."""
    sequential, parallel = build.alone(), build.one_second_each(spin_ns=0.5)
    counted = [
        tuple(
            build.region(
                each.name, wall_ns=each.wall_ns, cpu_ns=each.cpu_ns, spin_ns=each.spin_ns,
                busiest_busy_ns=each.busiest_busy_ns, instructions=each.cpu_ns, cycles=2 * each.cpu_ns,
            )
            for each in program
        )
        for program in (sequential, parallel)
    ]  # fmt: skip
    result = answer(build.sweep_runs([counted[0]], {4: [counted[1]]}))
    assert result.counters
    assert result.rows[0].efficiencies["parallel_instruction_overhead"] == pytest.approx(1)
    assert result.verdict.limit == "spinning"


def test_cpu_time_in_code_that_only_the_parallel_program_runs_may_be_a_loop_that_waits() -> None:
    names_busy_waiting = {}
    for before in ({}, {"App.turn:9": build.SECOND // 100}):
        alone = build.region("work", wall_ns=4 * build.SECOND, cpu_ns=4 * build.SECOND, frames=before)
        after = {"App.turn:9": 4 * build.SECOND}
        waiting = build.region("work", wall_ns=4 * build.SECOND, cpu_ns=8 * build.SECOND, frames=after)
        verdict = answer(build.sweep_runs([(alone,)], {2: [(waiting,)]})).verdict
        assert verdict.limit == "work_inflation"
        names_busy_waiting[bool(before)] = any("busy waiting" in sentence for sentence in verdict.evidence)
    assert names_busy_waiting == {False: True, True: False}


def test_imbalance_that_changes_sides_is_named() -> None:
    """Two instances, each with another busiest thread: overall both threads have done the same."""
    region = build.region(
        "work", instances=2, wall_ns=4 * build.SECOND, cpu_ns=6 * build.SECOND, busiest_busy_ns=4 * build.SECOND,
        overall_busiest_busy_ns=3 * build.SECOND, thread_cpu_ns={"a": 3 * build.SECOND, "b": 3 * build.SECOND},
    )  # fmt: skip
    alone = (
        build.region("work", wall_ns=6 * build.SECOND, cpu_ns=6 * build.SECOND),
        build.region(REST, wall_ns=1, cpu_ns=1),
    )
    result = answer(build.sweep_runs([alone], {2: [(region, build.region(REST, wall_ns=1, cpu_ns=1))]}))
    assert result.verdict.limit == "load_balance"
    assert result.rows[0].efficiencies["load_balance"] == 0.75
    assert any("not always the same one" in sentence and "75%" in sentence for sentence in result.verdict.evidence)


def test_two_locks_and_a_memory_limit_name_both_and_what_both_would_give() -> None:
    result = of({"lock_wait_ns": 1.0, "cpu_ns": 0.5})
    assert result.verdict.limit == "lock_contention"
    assert any(sentence.startswith("next largest: work inflation, ") for sentence in result.verdict.evidence)
    both = next(
        pair.speedup for pair in result.rows[0].pairs if set(pair.limits) == {"lock_contention", "work_inflation"}
    )
    assert f"without both: {both:.2f}" in result.verdict.evidence


def test_a_program_without_a_limit_is_told_so() -> None:
    result = of({"rest": 0.0001})
    assert result.verdict.limit is None
    assert result.verdict.withheld is None
    assert "No limit" in result.verdict.text
    assert result.rows[0].computed_speedup == pytest.approx(4, rel=1e-3)


def spread(factor: float, runs: int) -> Speedups:
    """Runs whose parallel walls differ by up to `factor` either way, all because of idle waiting at the end."""
    half = [1.0 + factor * (i % 2) for i in range(runs)]
    parallel = [build.one_second_each(cpu_ns=0.1, io_ns=each - 1.0) for each in half]
    return answer(build.sweep_runs([build.alone()] * runs, {4: parallel}))


def test_a_spread_larger_than_the_gain_withholds_the_verdict_and_says_how_many_repeats_would_do() -> None:
    verdict = spread(0.5, 3).verdict
    assert verdict.limit is None
    assert verdict.withheld is not None
    assert "repeats would do" in verdict.withheld
    needed = int(verdict.withheld.split(" repeats would do")[0].split()[-1])
    assert needed > 3
    assert verdict.next == f"headway sweep --repeat {needed} -o made-{needed}.sweep"


def test_so_many_repeats_do_indeed() -> None:
    assert spread(0.5, 3).verdict.withheld is not None
    assert spread(0.5, 60).verdict.withheld is None


def test_intervals_are_the_same_each_time_and_hold_their_figure() -> None:
    first, again = spread(0.2, 4).rows[0], spread(0.2, 4).rows[0]
    assert (first.low, first.high, first.possible_intervals) == (again.low, again.high, again.possible_intervals)
    assert first.low is not None
    assert first.high is not None
    assert first.low < first.computed_speedup < first.high
    for limit, (low, high) in first.possible_intervals.items():
        value = first.possible[limit]
        assert value is not None
        assert low <= value * (1 + 1e-9)
        assert value <= high * (1 + 1e-9)


def test_one_run_has_no_interval_and_says_so() -> None:
    result = of({"rest": 1.0})
    assert (result.rows[0].low, result.rows[0].high, result.rows[0].possible_intervals) == (None, None, {})
    assert "HW467" in ids(result)


def ids(result: Speedups) -> set[str]:
    return {notice.id for notice in result.notices}


def test_the_verdict_is_about_the_largest_number_of_threads_that_has_its_cores() -> None:
    runs = {n: [build.one_second_each()] for n in (2, 4, 8)}
    result = answer(build.sweep_runs([build.alone()], runs, cores=4))
    assert result.verdict.threads == 4
    assert [row.threads for row in result.rows] == [2, 4, 8]
    assert "8 threads on 4 cores" in next(notice.message for notice in result.notices if notice.id == "HW462")


def test_a_sequential_program_with_threads_is_noticed() -> None:
    busy = (
        build.region("work", wall_ns=build.SECOND, cpu_ns=3 * build.SECOND, busiest_busy_ns=build.SECOND),
        build.region(REST, wall_ns=1, cpu_ns=1),
    )
    assert "HW463" in ids(answer(build.sweep_runs([busy], {4: [build.one_second_each()]})))
    assert "HW463" not in ids(of({}))


def test_regions_that_match_nothing_or_everything_are_noticed() -> None:
    nothing = (build.region(REST, wall_ns=4 * build.SECOND, cpu_ns=4 * build.SECOND),)
    result = answer(build.sweep_runs([nothing], {4: [build.one_second_each()]}))
    assert "region work matches nothing in the sequential program" in " ".join(n.message for n in result.notices)
    assert result.rows[0].possible["parallel_fraction"] is None
    result = answer(build.sweep_runs([build.alone()], {4: [nothing]}))
    assert "region work matches nothing in the parallel program" in " ".join(n.message for n in result.notices)
    assert result.verdict.limit is None
    assert result.verdict.withheld == "region work matches nothing in the parallel program"
    assert result.verdict.next == "headway sweep --resume made.sweep --region NAME=REGEX"
    everything = tuple(each for each in build.one_second_each() if each.name != REST)
    assert "HW465" in ids(answer(build.sweep_runs([build.alone()], {4: [everything]})))
    assert not {"HW464", "HW465"} & ids(of({}))


def test_more_busy_threads_than_asked_for_are_noticed() -> None:
    result = answer(build.sweep_runs([build.alone()], {2: [build.one_second_each()]}))
    assert "HW472" in ids(result)
    assert result.rows[0].efficiencies["load_balance"] == 2


def plain(factor: float, runs: int = 4) -> dict[str, Any]:
    """Plain parallel runs that take `factor` of the recorded ones' time."""
    return {"plain_ns": {4: (round(1.1 * build.SECOND * factor),) * runs}}


def test_recording_that_slows_one_program_is_the_reason_for_another_computed_speedup() -> None:
    message = next(n.message for n in of({}, 4, **plain(0.8)).notices if n.id == "HW461")
    assert "recording slows the parallel program by +25.0% and the sequential one by +0.0%" in message
    assert "HW461" not in ids(of({}, 4, **plain(1.0)))


def drifting(recorded: float = 1.0) -> dict[str, Any]:
    """Blocks on a machine that is up to twice as slow for some of them; recorded parallel runs take `recorded` times as long."""
    speed = (1.0, 1.1, 2.0, 1.3, 1.0, 1.7)
    times = [(round(4.1 * build.SECOND * each), round(1.1 * build.SECOND * each)) for each in speed]
    return {"blocks": {4: tuple(Block(alone, round(beside * recorded), alone, beside) for alone, beside in times)}}


def test_a_slower_machine_for_some_blocks_leaves_computed_against_real_speedup_known() -> None:
    blocks = drifting()["blocks"][4]
    low, high = ratio_interval(blocks) or (0.0, 0.0)
    assert (low, high) == pytest.approx((1, 1))
    apart = real_interval([each.plain_sequential_ns for each in blocks], [each.plain_parallel_ns for each in blocks])
    assert apart is not None
    assert apart[1] / apart[0] > 1.5
    slowed = ratio_interval(drifting(1.25)["blocks"][4]) or (0.0, 0.0)
    assert slowed == pytest.approx((0.8, 0.8))
    assert ratio_interval(blocks[:1]) is None


def test_runs_of_one_block_tell_a_difference_that_all_runs_together_do_not() -> None:
    runs = {"plain_sequential_ns": tuple(round(4.1 * build.SECOND * each) for each in (0.5, 1.5, 1.0, 1.0))}
    assert "HW461" not in ids(of({}, 4, **plain(0.8), **runs))
    result = of({}, 4, **plain(0.8), **runs, **drifting(1.25))
    assert "HW461" in ids(result)
    row = speedups_json(result)["threads"][0]
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((0.8, 0.8))


def test_a_difference_of_a_percent_is_no_broken_assumption_however_well_it_is_known() -> None:
    assert "HW461" not in ids(of({}, 4, **plain(0.99), **drifting(1 / 0.99)))
    assert "HW461" in ids(of({}, 4, **plain(0.97), **drifting(1 / 0.97)))


def test_a_host_that_takes_cpu_time_is_the_reason_where_it_does() -> None:
    message = next(n.message for n in of({"steal_ns": 0.3}, 4, **plain(1.0)).notices if n.id == "HW461")
    assert "the host took 0% of the sequential CPU time and 23% of the parallel one" in message


def test_more_threads_than_cores_are_the_reason_where_they_are() -> None:
    message = next(n.message for n in of({"runnable_ns": 1.0}, 4, cores=2, **plain(1.0)).notices if n.id == "HW461")
    assert "4 threads share 2 cores" in message


def test_a_region_alone_is_as_if_it_were_the_program() -> None:
    runs = build.sweep_runs([build.alone(1.0)], {4: [build.one_second_each(rest=1.0, lock_wait_ns=0.5)]})
    result = answer(runs, "work")
    assert result.rows[0].computed_speedup == pytest.approx(4 / 1.5)
    assert result.rows[0].possible["lock_contention"] == pytest.approx(4)
    assert result.rows[0].real_speedup is None
    assert result.verdict.limit == "lock_contention"
    whole = answer(runs)
    assert whole.rows[0].regions["work"].computed_speedup == result.rows[0].computed_speedup
    with pytest.raises(HeadwayError, match="it has work"):
        answer(runs, "elsewhere")


def two_regions() -> Speedups:
    def named(regions: tuple[RegionPrimitives, ...], name: str) -> RegionPrimitives:
        return build.region(
            name, wall_ns=regions[0].wall_ns, cpu_ns=regions[0].cpu_ns, lock_wait_ns=regions[0].lock_wait_ns,
            busiest_busy_ns=regions[0].busiest_busy_ns,
        )  # fmt: skip

    locked, uneven = build.one_second_each(lock_wait_ns=0.5), build.one_second_each(uneven=0.3)
    alone = build.alone()
    return answer(
        build.sweep_runs(
            [(named(alone, "a"), named(alone, "b"), alone[1])],
            {4: [(named(locked, "a"), named(uneven, "b"), locked[1])]},
        )
    )


def test_two_regions_have_their_own_limits() -> None:
    from headway.analyses.speedups.advice import ranked

    row = two_regions().rows[0]
    assert {name: ranked(part)[0][0] for name, part in row.regions.items()} == {
        "a": "lock_contention",
        "b": "load_balance",
    }
    assert row.computed_speedup == pytest.approx(8.1 / (1.5 + 1.3 + 0.1))


def test_a_limit_that_nobody_measured_is_null_and_its_time_is_waiting() -> None:
    work, before = build.one_second_each(lock_wait_ns=0.5)
    unknown = build.region(
        "work", wall_ns=work.wall_ns, cpu_ns=work.cpu_ns, lock_wait_ns=None, busiest_busy_ns=build.SECOND
    )
    row = answer(build.sweep_runs([build.alone()], {4: [(unknown, before)]})).rows[0]
    assert row.efficiencies["lock_contention"] is None
    assert row.possible["lock_contention"] is None
    assert row.possible["waiting"] == pytest.approx(4.1 / 1.1)


def test_the_json_has_the_keys_that_are_promised() -> None:
    body = speedups_json(of(CASES["lock_contention"][0], 3))
    assert {"mode", "regions", "threads", "verdict", "warnings"} <= set(body)
    row = body["threads"][0]
    assert {"threads", "real_speedup", "computed_speedup", "low", "high", "efficiencies", "possible", "stack"} <= set(
        row
    )
    assert set(row["efficiencies"]) == set(LIMITS)
    assert {*LIMITS, "all"} <= set(row["possible"])
    assert {"limit", "gain", "place", "evidence", "next"} <= set(body["verdict"])
    assert sum(row["stack"].values()) == pytest.approx(4)


def test_the_terminal_names_every_limit_and_fits_80_columns() -> None:
    console = make_console()
    with console.capture() as captured:
        render(two_regions(), console)
    text = captured.get()
    assert "Lock contention limits most at 4 threads" in text
    for title in (
        "Speedup by number of threads",
        "Efficiencies",
        "Where the threads go",
        "POP",
        "Regions by themselves",
    ):
        assert title in text
    assert set(LABELS) >= {*LIMITS, *NAMES, "all"}
    assert max(map(len, text.splitlines())) <= 80


def test_a_machine_that_takes_as_much_from_both_programs_is_no_limit_of_the_parallel_one() -> None:
    """Half the time of either is lost to others: without that the speedup is the same."""
    alone = tuple(
        build.region(each.name, wall_ns=2 * each.wall_ns, cpu_ns=each.cpu_ns, runnable_ns=each.cpu_ns)
        for each in build.alone()
    )
    work, before = build.one_second_each(runnable_ns=1.0, lock_wait_ns=0.2)
    waiting = build.region(REST, wall_ns=2 * before.wall_ns, cpu_ns=before.cpu_ns, steal_ns=before.cpu_ns)
    result = answer(build.sweep_runs([alone] * 3, {4: [(work, waiting)] * 3}))
    assert result.rows[0].computed_speedup == pytest.approx(8.2 / 2.4)
    assert result.rows[0].possible["scheduling"] == pytest.approx(4.1 / 1.3)
    assert result.verdict.limit == "lock_contention"
    assert result.verdict.gain == pytest.approx(1.3 / 1.1 - 1)
    assert any("others had the CPUs" in sentence for sentence in result.verdict.evidence)


def test_speedups_of_a_disturbed_machine_are_counted_as_their_gains_are() -> None:
    """Without others the sequential program takes 4.1 s; the parallel one 1.5 s, with locks and balance."""
    alone = tuple(
        build.region(each.name, wall_ns=2 * each.wall_ns, cpu_ns=each.cpu_ns, runnable_ns=each.cpu_ns)
        for each in build.alone()
    )
    work, rest = build.one_second_each(runnable_ns=1.0, lock_wait_ns=0.3, uneven=0.2)
    result = answer(build.sweep_runs([alone] * 3, {4: [(work, rest)] * 3}))
    row, verdict = result.rows[0], result.verdict
    assert verdict.limit is not None
    assert verdict.gain is not None
    calm = row.possible["scheduling"]
    assert calm is not None
    assert abs(calm - row.computed_speedup) > 0.1
    without = next(pair.speedup for pair in row.pairs if set(pair.limits) == {verdict.limit, "scheduling"})
    assert without == pytest.approx(calm * (1 + verdict.gain))
    assert f"speedup {without:.2f} without it, instead of {calm:.2f}" in verdict.evidence[0]
    (counted,) = [sentence for sentence in verdict.evidence if sentence.startswith("others had the CPUs")]
    assert f"counted from {calm:.2f}" in counted
    assert f"from the computed {row.computed_speedup:.2f}" in counted
    both = [float(text.removeprefix("without both: ")) for text in verdict.evidence if text.startswith("without both")]
    assert len(both) == 1
    assert both[0] > without  # the raw figure, with the waiting for a CPU in it, is less


def test_runs_that_differ_by_what_the_machine_took_alone_do_not_withhold_the_verdict() -> None:
    taken = [0.0, 0.0, 1.6, 0.0]
    parallel = [build.one_second_each(runnable_ns=each, lock_wait_ns=0.45) for each in taken]
    result = answer(build.sweep_runs([build.alone()] * 4, {4: parallel}, others_share=0.1))
    row = result.rows[0]
    assert row.low is not None
    assert row.high is not None
    assert result.verdict.gain is not None
    assert (row.high / row.low) ** 0.5 - 1 > result.verdict.gain
    assert result.verdict.withheld is None
    assert result.verdict.limit == "lock_contention"


def test_others_on_the_machine_are_no_limit_of_the_program_but_noticed() -> None:
    """They leave the sequential program a CPU, but not the parallel one all four."""
    parallel = [build.one_second_each(runnable_ns=1.0, uneven=0.3)] * 3
    alone = [build.alone()] * 3
    runs = build.sweep_runs(alone, {4: parallel}, others_share=0.2)
    result = answer(runs)
    possible = result.rows[0].possible
    assert max(NAMES, key=lambda limit: possible[limit] or 0) == "scheduling"
    assert result.verdict.limit == "load_balance"
    # Imbalance is that of the busy times, waits included: 2.3 s against a mean of 2 s, of 1 s of work.
    assert result.verdict.gain == pytest.approx((1.15 + 0.1) / 1.1 - 1)
    assert "20% of the time of its CPUs" in next(n.message for n in result.notices if n.id == "HW475")
    calm = answer(build.sweep_runs(alone, {4: parallel}, others_share=0.01))
    assert calm.verdict.limit == "scheduling"
    assert "HW475" not in ids(calm)


def test_more_threads_than_cores_are_a_limit_of_the_program_on_any_machine() -> None:
    runs = build.sweep_runs([build.alone()], {4: [build.one_second_each(runnable_ns=1.0)]}, cores=2, others_share=0.2)
    assert answer(runs).verdict.limit == "scheduling"


def locked_and_uneven(waits: list[float]) -> Speedups:
    """Runs that wait for a lock for so many seconds each, with an imbalance of 0.45 s in all of them."""
    parallel = [build.one_second_each(lock_wait_ns=wait, uneven=0.45) for wait in waits]
    return answer(build.sweep_runs([build.alone()] * len(waits), {4: parallel}))


def test_limits_that_the_repeats_do_not_tell_apart_are_all_named_and_none_alone() -> None:
    verdict = locked_and_uneven([0.3, 0.6, 0.45]).verdict
    assert (verdict.limit, verdict.gain, verdict.place) == (None, None, None)
    assert set(verdict.undecided) == {"lock_contention", "load_balance"}
    assert "lock contention (+" in verdict.text
    assert "load imbalance (+" in verdict.text
    assert any("App.put:42 in region work" in sentence for sentence in verdict.evidence)
    assert any("thread worker-0 in region work" in sentence for sentence in verdict.evidence)
    assert verdict.withheld is not None
    needed = int(verdict.withheld.split(" repeats would do")[0].split()[-1])
    assert verdict.next == f"headway sweep --repeat {needed} -o made-{needed}.sweep"


def test_limits_that_keep_their_distance_in_every_run_are_told_apart_however_runs_differ() -> None:
    """What both gain is not the same in any two runs: their intervals overlap, that of the difference is away from 0."""
    alone = [build.alone(rest) for rest in (0.1, 1.6, 0.1, 1.6, 0.1, 1.6)]
    parallel = [build.one_second_each(lock_wait_ns=0.6, uneven=0.6)] * len(alone)
    result = answer(build.sweep_runs(alone, {4: parallel}))
    low, _ = result.rows[0].possible_intervals["lock_contention"]
    _, high = result.rows[0].possible_intervals["load_balance"]
    assert low < high
    assert result.verdict.limit == "lock_contention"
    assert result.verdict.undecided == ()


def test_so_many_repeats_as_proposed_tell_two_limits_apart() -> None:
    few = locked_and_uneven([0.5, 0.8, 0.65]).verdict
    assert few.withheld is not None
    needed = int(few.withheld.split(" repeats would do")[0].split()[-1])
    assert locked_and_uneven(([0.5, 0.8, 0.65] * needed)[:needed]).verdict.limit == "lock_contention"


def test_gains_of_one_run_must_differ_by_more_than_two_runs_of_one_program_do() -> None:
    assert set(locked_and_uneven([0.35]).verdict.undecided) == {"lock_contention", "load_balance"}
    assert locked_and_uneven([0.35]).verdict.next == "headway sweep --repeat 5 -o made-5.sweep"
    assert locked_and_uneven([0.9]).verdict.limit == "lock_contention"


def test_a_short_theft_that_explains_the_waits_for_cpus_is_no_limit_of_the_program() -> None:
    """Four percent of eight CPUs are more than a tenth of four threads' time."""
    parallel = build.one_second_each(runnable_ns=0.3, lock_wait_ns=0.15)
    runs = build.sweep_runs([build.alone()], {4: [parallel]}, others_share=0.07)
    assert answer(runs).verdict.limit != "scheduling"
    below = build.sweep_runs([build.alone()], {4: [parallel]}, others_share=0.049)
    assert "scheduling" not in (answer(below).verdict.limit, *answer(below).verdict.undecided)
    alone = build.sweep_runs([build.alone()], {4: [parallel]}, others_share=0.01)
    assert answer(alone).verdict.limit == "scheduling"


def test_a_thread_whose_cpu_others_had_is_no_imbalance_of_the_program() -> None:
    """One of four threads lost its CPU for half a second: all have the same work."""
    second = build.SECOND
    work = build.region(
        "work", wall_ns=3 * second // 2, cpu_ns=4 * second, runnable_ns=second // 2, busiest_busy_ns=3 * second // 2,
        busiest_unhindered_ns=second, threads=4,
    )  # fmt: skip
    _, before = build.one_second_each()
    result = answer(build.sweep_runs([build.alone()], {4: [(work, before)]}, others_share=0.1))
    row = result.rows[0]
    assert row.computed_speedup == pytest.approx(4.1 / 1.6)
    assert row.possible["scheduling"] == pytest.approx(4.1 / 1.1)
    assert "load_balance" not in (result.verdict.limit, *result.verdict.undecided)


def test_a_verdict_that_is_withheld_says_why_in_its_first_line_and_shows_no_table_of_intervals_that_hold_everything() -> (
    None
):
    found = spread(12.0, 2)
    row = found.rows[-1]
    assert row.low is not None
    assert row.high is not None
    assert row.computed_speedup is not None
    assert row.high - row.low > row.computed_speedup
    console = make_console(io.StringIO())
    render(found, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    first = " ".join(text.split("\n->")[0].split())
    assert first.startswith(
        "* The verdict is withheld: the 2 runs differ so much that the speedup may be anything, and the largest gain"
    )
    assert "from-to" not in text
    assert "Efficiencies" not in text
    kept = make_console(io.StringIO())
    render(spread(0.5, 60), kept)
    assert "Speedup by number of threads" in kept.file.getvalue()  # type: ignore[attr-defined]
