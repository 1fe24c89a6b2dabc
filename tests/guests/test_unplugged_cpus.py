"""Recordings with counters while a CPU goes offline, and while one comes online, on an emulated machine of two CPUs.

Counts are the program's own (counting_in_guest.py), or said to be the least that there were.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.drivers.numa_guest import NumaGuest

pytestmark = pytest.mark.timeout(1800)
FEW = 50
"""Faults of the program beside those of the pages that it touches, in the slice in which it does."""
NS = 100_000_000
"""What a thread may run after it has told for how long it ran, and its process before it begins."""


@pytest.fixture(scope="module")
def unplugged(two_nodes: NumaGuest) -> dict[str, Any]:
    return two_nodes.ask("unplugged")


@pytest.fixture(scope="module")
def plugged_in(two_nodes: NumaGuest) -> dict[str, Any]:
    return two_nodes.ask("plugged_in")


def ids(warnings: list[dict[str, str]]) -> set[str]:
    return {each["id"] for each in warnings}


def holds(window: dict[str, Any]) -> bool:
    """Return whether the interval has room for what was touched, and for hardly more."""
    counted, touched = window["counted"], window["touched"]
    return bool(counted["low"] <= touched + FEW and touched <= counted["high"] <= touched + FEW)


def is_the_least(window: dict[str, Any]) -> bool:
    counted = window["counted"]
    return counted["high"] is None and (counted["low"] or 0) <= window["touched"] + FEW


def test_counts_are_those_of_the_program_until_a_cpu_goes_offline_and_on_the_other_one(
    unplugged: dict[str, Any],
) -> None:
    windows = unplugged["ebpf"]["windows"]
    assert unplugged["ebpf"]["exit"] == 0
    assert holds(windows["before"])
    assert holds(windows["without"])


@pytest.mark.parametrize("again", ["back", "back again"])
def test_counts_on_a_cpu_that_is_back_are_not_known(unplugged: dict[str, Any], again: str) -> None:
    window = unplugged["ebpf"]["windows"][again]
    assert is_the_least(window)
    assert "HW110" in ids(window["warnings"])


def test_of_each_thread_the_least_is_never_more_than_it_did(unplugged: dict[str, Any]) -> None:
    found = unplugged["ebpf"]
    spinner, main = found["counters"]["threads"]
    assert main["counts"]["page-faults"]["high"] is None
    assert main["counts"]["page-faults"]["low"] <= found["faults"]
    clock = spinner["counts"]["task-clock"]
    assert clock["low"] <= found["spun_ns"] + NS
    assert clock["high"] is None or clock["high"] >= found["spun_ns"]


def test_a_cpu_as_a_whole_that_was_offline_has_the_least(unplugged: dict[str, Any]) -> None:
    first, second = unplugged["ebpf"]["by_cpu"]["whole_cpus"]["cpus"]
    assert (first["cpu"], first["counts"]["task-clock"]["high"] is None) == (0, False)
    assert (second["cpu"], second["counts"]["task-clock"]["high"]) == (1, None)
    assert second["counted_ns"] < second["cpu_ns"]


@pytest.mark.parametrize("mode", ["ebpf", "perf-switch"])
def test_for_how_long_threads_ran_is_known_across_a_cpu_that_goes_offline(unplugged: dict[str, Any], mode: str) -> None:
    ran = [each["running_ns"] for each in unplugged[mode]["threads"]]
    assert max(ran) == pytest.approx(unplugged[mode]["spun_ns"], rel=0.05)
    assert not {"HW200", "HW201"} & ids(unplugged[mode]["counters"]["warnings"])


def test_a_threads_own_counters_go_on_wherever_it_runs(unplugged: dict[str, Any], plugged_in: dict[str, Any]) -> None:
    """In mode perf-switch the recorder has counters of each thread; the program's first one is counted from its begin."""
    for found in (unplugged["perf-switch"], plugged_in["perf-switch"]):
        assert found["exit"] == 0
        counts = [each["counts"]["page-faults"] for each in found["counters"]["threads"]]
        (faults,) = (each for each in counts if (each["low"] or 0) >= found["touched"])
        assert faults["low"] <= found["faults"] + FEW


def test_what_runs_on_a_cpu_that_came_online_later_is_never_an_exact_zero(plugged_in: dict[str, Any]) -> None:
    found = plugged_in["ebpf"]
    assert found["exit"] == 0
    assert holds(found["windows"]["before"])
    assert is_the_least(found["windows"]["on the new one"])
    assert found["counters"]["total"]["page-faults"]["high"] is None
    assert found["counters"]["total"]["page-faults"]["low"] <= found["faults"] + FEW


@pytest.mark.parametrize("mode", ["ebpf", "perf-switch"])
def test_a_cpu_that_came_online_later_is_said_to_be_missing_from_the_recording(
    plugged_in: dict[str, Any], mode: str
) -> None:
    assert "HW200" in ids(plugged_in[mode]["counters"]["warnings"])
