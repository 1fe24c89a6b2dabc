"""`headway place` on a machine of two memory nodes, emulated: threads are where it puts them, and memory where it says.

Each has a stage of its own in the guest (placing_in_guest.py). How long one may take is bounded by the emulator's CPU time.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.drivers.numa_guest import NumaGuest

pytestmark = pytest.mark.timeout(1800)
PAGE_BYTES = 4096
ON_NODE_1 = 256 << 10
"""Bytes that tests/programs/memory_of_two_nodes.py has there, unless it is told otherwise."""


@pytest.fixture(scope="module")
def placed(two_nodes: NumaGuest) -> dict[str, Any]:
    return two_nodes.ask("placed")


def events(records: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [each for each in records if each["event"] == event]


def test_a_jvm_is_kept_on_the_node_that_has_its_memory(placed: dict[str, Any]) -> None:
    assert placed["before"] == [[0, 1]]
    assert [*placed["pages"]] == ["1"]
    for way in ("ended", "killed"):
        start, decision = placed[way]["records"][:2]
        assert (start["nodes"], start["nodes_declared"], start["home"], start["home_cpus"]) == (2, False, 1, [1])
        assert start["remote_share_at_home"] == 0
        assert (decision["event"], decision["placement"]) == ("decision", "one")
        assert placed[way]["meanwhile"] == [[1]]
        assert placed[way]["cpus"] == [1]


def test_threads_run_on_both_nodes_again_after_a_signal_and_after_kill_9(placed: dict[str, Any]) -> None:
    """The script in the guest waits for that, and fails where it does not come."""
    ended, killed = (placed[way]["records"][-1]["event"] for way in ("ended", "killed"))
    assert (ended, killed == "end") == ("end", False)
    assert placed["exit"] == 0


def test_memory_is_counted_on_its_nodes_to_the_page(two_nodes: NumaGuest) -> None:
    found = two_nodes.ask("looked_at")
    pages, start = found["pages"], found["records"][0]
    assert start["memory_by_node"] == {node: PAGE_BYTES * count for node, count in sorted(pages.items())}
    share = 1 - pages[str(start["home"])] / sum(pages.values())
    assert start["remote_share_at_home"] == pytest.approx(share, abs=1e-12)
    assert 0.2 < share <= 0.5


def test_a_recording_knows_the_nodes_of_its_machine(two_nodes: NumaGuest) -> None:
    found = two_nodes.ask("recorded")
    assert found["exit"] == 0
    numa = found["numa"]
    cores = next(each["message"] for each in numa["warnings"] if each["id"] == "HW712")
    assert cores == "a memory node is taken to have 1 core, as the largest of the machine of the recording has"
    assert len(numa["programs"]) == 1


def test_memory_follows_threads_that_stay_and_is_back_after_a_signal_and_after_kill_9(two_nodes: NumaGuest) -> None:
    """That pages are back where they were is what the script in the guest waits for."""
    memory = two_nodes.ask("memory")
    assert memory["exit"] == 0  # nothing of it was lost
    there = PAGE_BYTES * memory["before"]["1"]
    assert there >= ON_NODE_1
    for way in ("ended", "killed"):
        assert memory[way]["meanwhile"].get("1", 0) == 0
        assert memory[way]["records"][0]["home"] == 0
        (moved,) = events(memory[way]["records"], "memory")
        assert moved["placement"] == "one"
        assert moved["memory_moved_bytes"] == moved["memory_away_bytes"] >= there
        assert moved["memory_refused_bytes"] == 0
    end = memory["ended"]["records"][-1]
    assert end["event"] == "end"
    assert end["memory_put_back_bytes"] + end["memory_left_bytes"] >= there


def test_the_memory_of_a_jvm_is_moved_while_it_works_and_put_back(two_nodes: NumaGuest) -> None:
    found = two_nodes.ask("memory_of_a_jvm")
    assert (found["exit"], found["code"]) == (0, 0)
    home = found["records"][0]["home"]
    away = str(1 - home)
    (moved,) = events(found["records"], "memory")
    assert moved["memory_moved_bytes"] >= PAGE_BYTES * (found["before"][away] - found["meanwhile"].get(away, 0)) > 0
    end = found["records"][-1]
    assert end["memory_put_back_bytes"] > 0
    back = found["after"].get(away, 0) - found["meanwhile"].get(away, 0)
    assert end["memory_put_back_bytes"] <= PAGE_BYTES * back + end["memory_left_bytes"]


def test_memory_that_another_process_has_as_well_stays_where_it_is_and_that_is_said(two_nodes: NumaGuest) -> None:
    """Both processes are of the program, so that it is refused for each of them."""
    found = two_nodes.ask("shared")
    assert (found["exit"], found["code"]) == (0, 0)
    (moved,) = events(found["records"], "memory")
    assert moved["memory_refused_bytes"] >= 2 * ON_NODE_1
    assert found["meanwhile"]["1"] >= ON_NODE_1 // PAGE_BYTES
    assert found["records"][-1]["memory_left_bytes"] == 0


def test_memory_stays_while_the_kernel_balances_nodes_itself(two_nodes: NumaGuest) -> None:
    found = two_nodes.ask("balanced")
    assert (found["exit"], found["code"]) == (0, 0)
    assert found["records"][0]["kernel_balances"] is True
    assert events(found["records"], "memory") == []


def test_placing_ends_when_a_node_loses_its_cpu_and_says_where_memory_is(two_nodes: NumaGuest) -> None:
    """It is the node that the program is on. Memory that is marked by then, to be balanced, can't be seen, nor be put back."""
    found = two_nodes.ask("changes")
    records = found["records"]
    (moved,) = events(records, "memory")
    assert moved["memory_moved_bytes"] >= ON_NODE_1
    assert found["meanwhile"].get("0", 0) * PAGE_BYTES <= moved["memory_refused_bytes"]
    # Other notes are of memory that was left.
    notes = [each for each in events(records, "note") if "kernel_balances" in each]
    assert [each["kernel_balances"] for each in notes] == [True]
    end = records[-1]
    assert (end["event"], end["why"]) == ("end", "the CPUs that the program may use changed")
    assert end["memory_put_back_bytes"] + end["memory_left_bytes"] >= moved["memory_moved_bytes"]
    assert found["without"] == [[0]]
    assert found["exit"] == 0
