"""The benchmarks' own arithmetic, on figures whose answer is known."""

from __future__ import annotations

import math
import random
import time

import pytest

from lib import harness


def harness_run(wall_ns: int, steal_ns: int, busy_ns: int) -> harness.Run:
    return harness.Run(wall_ns=wall_ns, cpu_ns=busy_ns, steal_ns=steal_ns, busy_ns=busy_ns, span_ns=wall_ns)


def test_a_serial_program_is_delayed_by_all_that_was_stolen() -> None:
    assert harness_run(wall_ns=10_000, steal_ns=2_000, busy_ns=8_000).corrected_wall_ns == 8_000


def test_a_program_on_two_busy_cores_is_delayed_by_half_of_what_was_stolen() -> None:
    assert harness_run(wall_ns=10_000, steal_ns=4_000, busy_ns=16_000).corrected_wall_ns == 8_000


def test_without_theft_nothing_is_corrected() -> None:
    assert harness_run(wall_ns=10_000, steal_ns=0, busy_ns=15_000).corrected_wall_ns == 10_000


def test_every_treated_run_is_compared_with_the_mean_of_its_two_neighbours() -> None:
    ratios, same = harness.pair_ratios([100, 110, 100], [210, 105])
    assert ratios == [2.0, 1.0]
    assert same == pytest.approx([1.1]), "the baselines are compared in the same way"


def test_a_drift_of_the_machine_cancels_out_of_interleaved_ratios() -> None:
    baseline = [100 * 1.02**i for i in range(0, 22, 2)]  # the machine gets slower all the time
    treated = [103 * 1.02**i for i in range(1, 21, 2)]
    assert harness.ratio(baseline, treated).median == pytest.approx(1.03, abs=0.001)


def test_the_interval_holds_the_true_effect_and_shrinks_with_more_pairs() -> None:
    generator = random.Random(7)

    def compare(pairs: int) -> harness.Ratio:
        baseline = [generator.gauss(100, 2) for _ in range(pairs + 1)]
        return harness.ratio(baseline, [generator.gauss(105, 2) for _ in range(pairs)])

    few, many = compare(8), compare(200)
    assert many.low < 1.05 < many.high
    assert many.high - many.low < few.high - few.low
    assert many.aa_low < 1 < many.aa_high


def test_the_mean_over_programs_is_of_their_medians_and_its_interval_shrinks_with_more_programs() -> None:
    generator = random.Random(3)
    programs = {str(i): [generator.gauss(1.01, 0.02) for _ in range(30)] for i in range(20)}
    mean, low, high = harness.mean_over_programs(programs)
    assert low < 1.01 < high
    assert low < mean < high
    _, first_low, first_high = harness.mean_over_programs({"0": programs["0"]})
    assert high - low < (first_high - first_low) / 2
    assert harness.mean_over_programs({"a": [1, 1, 7], "b": [2, 2, 2]})[0] == 1.5


def test_a_target_is_reached_only_when_the_whole_interval_is_within_it() -> None:
    assert harness.against("a", figure=1.0, high=1.01, target=1.02) == ("a", True)
    assert harness.against("a", figure=1.03, high=1.04, target=1.02) == ("a", False)
    text, reached = harness.against("a", figure=1.0, high=1.03, target=1.02)
    assert not reached
    assert "undecided" in text


def test_without_a_second_pair_the_noise_is_unknown() -> None:
    assert math.isnan(harness.ratio([100, 100], [105]).aa_median)


def test_the_last_line_of_json_is_what_a_program_said() -> None:
    assert harness.last_json('{"a": 1}\nnoise\n{"a": 2}\nheadway: done\n') == {"a": 2}
    assert harness.last_json("nothing\n") == {}


def test_busy_time_of_the_cpus_grows_with_what_runs_on_them() -> None:
    before, _ = harness.cpu_times(harness.machine()["cpus"])
    ran_ns, last_ns = 0, time.process_time_ns()
    while ran_ns < 300_000_000:
        now_ns = time.process_time_ns()
        # The host may stop the machine without saying so: the clock goes on, the kernel's ticks do not.
        ran_ns += now_ns - last_ns if now_ns - last_ns < 1_000_000 else 0
        last_ns = now_ns
    after, _ = harness.cpu_times(harness.machine()["cpus"])
    assert after - before >= 300_000_000 - 4 * harness.TICK_NS


def test_a_failing_program_is_an_error_with_its_output() -> None:
    with pytest.raises(RuntimeError, match="no such luck"):
        harness.run(["bash", "-c", "echo no such luck; exit 3"])


def test_a_table_fits_its_widest_cells() -> None:
    assert harness.table(["a", "b"], [["long name", "1"]]).splitlines() == [
        "a          b",
        "---------  -",
        "long name  1",
    ]
