"""`headway place` on a machine of two memory nodes, emulated: threads are where it puts them, and memory where it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.drivers import numa_guest
from support.drivers.workloads import compile_java

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(bool(numa_guest.missing()), reason=numa_guest.missing() or "-")
PAGE_BYTES = 4096
ON_NODE_1 = 256 << 10
"""Bytes that tests/programs/memory_of_two_nodes.py has there."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("numa")
    compile_java(folder, HERE.parent / "programs" / "NodeWork.java")
    python = numa_guest.REPOSITORY / ".venv" / "bin" / "python"
    done = numa_guest.run_in_guest(folder, [python, "-B", HERE / "placing_in_guest.py", folder])
    assert done.code == 0, done.lines
    answer: dict[str, Any] = json.loads(done.lines[-1])
    return answer


def test_a_jvm_is_kept_on_the_node_that_has_its_memory(found: dict[str, Any]) -> None:
    placed = found["placed"]
    assert placed["before"] == [[0, 1]]
    assert [*placed["pages"]] == ["1"]
    for way in ("ended", "killed"):
        start, decision = placed[way]["records"][:2]
        assert (start["nodes"], start["nodes_declared"], start["home"], start["home_cpus"]) == (2, False, 1, [1])
        assert start["remote_share_at_home"] == 0
        assert (decision["event"], decision["placement"]) == ("decision", "one")
        assert placed[way]["meanwhile"] == [[1]]
        assert placed[way]["cpus"] == [1]


def test_threads_run_on_both_nodes_again_after_a_signal_and_after_kill_9(found: dict[str, Any]) -> None:
    """The script in the guest waits for that, and fails where it does not come."""
    ended, killed = (found["placed"][way]["records"][-1]["event"] for way in ("ended", "killed"))
    assert (ended, killed) == ("end", "decision")
    assert found["placed"]["exit"] == 0


def test_memory_is_counted_on_its_nodes_to_the_page(found: dict[str, Any]) -> None:
    pages, start = found["looked_at"]["pages"], found["looked_at"]["records"][0]
    assert start["memory_by_node"] == {node: PAGE_BYTES * count for node, count in sorted(pages.items())}
    share = 1 - pages[str(start["home"])] / sum(pages.values())
    assert start["remote_share_at_home"] == pytest.approx(share, abs=1e-12)
    assert 0.2 < share <= 0.5


def test_a_recording_knows_the_nodes_of_its_machine(found: dict[str, Any]) -> None:
    assert found["recorded"]["exit"] == 0
    numa = found["recorded"]["numa"]
    cores = next(each["message"] for each in numa["warnings"] if each["id"] == "HW712")
    assert cores == "a memory node is taken to have 1 core, as the largest of the machine of the recording has"
    assert len(numa["programs"]) == 1


def test_memory_follows_threads_that_stay_and_is_back_after_a_signal_and_after_kill_9(found: dict[str, Any]) -> None:
    """That pages are back where they were is what the script in the guest waits for."""
    memory = found["memory"]
    assert memory["exit"] == 0  # nothing of it was lost
    there = PAGE_BYTES * memory["before"]["1"]
    assert there >= ON_NODE_1
    for way in ("ended", "killed"):
        assert memory[way]["meanwhile"].get("1", 0) == 0
        assert memory[way]["records"][0]["home"] == 0
        (moved,) = [each for each in memory[way]["records"] if each["event"] == "memory"]
        assert moved["placement"] == "one"
        assert moved["memory_moved_bytes"] == moved["memory_away_bytes"] >= there
        assert moved["memory_refused_bytes"] == 0
    end = memory["ended"]["records"][-1]
    assert end["event"] == "end"
    assert end["memory_put_back_bytes"] + end["memory_left_bytes"] >= there
