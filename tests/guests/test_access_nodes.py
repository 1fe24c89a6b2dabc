"""`headway objects` in an emulated machine of two memory nodes: local and remote accesses, by where the kernel puts memory."""

from __future__ import annotations

from typing import Any

import pytest

from support.drivers.numa_guest import NumaGuest

pytestmark = pytest.mark.timeout(1800)
POINTS = 0.02
"""Five standard errors of the share of half of the samples that there are."""


@pytest.fixture(scope="module")
def accessed(two_nodes: NumaGuest) -> dict[str, Any]:
    return two_nodes.ask("accessed")


@pytest.mark.parametrize(("way", "share"), [("local", 0.0), ("remote", 1.0), ("interleaved", 0.5)])
def test_the_remote_share_is_that_of_the_pages(accessed: dict[str, Any], way: str, share: float) -> None:
    nodes = accessed[way]["accesses"]["nodes"]
    assert nodes["remote_share"] == pytest.approx(share, abs=POINTS)
    assert nodes["remote_share_high"] - nodes["remote_share_low"] < POINTS
    assert nodes["samples_unknown"] <= POINTS * nodes["samples"]
    assert {each["cpu_node"] for each in accessed[way]["nodes"]} == {0}


@pytest.mark.parametrize("way", ["local", "remote", "interleaved"])
def test_each_access_is_counted_once_and_nearly_all_have_a_node(accessed: dict[str, Any], way: str) -> None:
    accesses = accessed[way]["accesses"]
    elements = accesses["array"]["read"]
    assert elements["local"] + elements["remote"] + elements["unknown"] == elements["count"]
    assert elements["count"] >= int(accessed[way]["said"])
    assert elements["unknown"] <= POINTS * elements["count"]


def test_a_thread_that_uses_another_one_s_objects_has_their_nodes_as_a_pair(accessed: dict[str, Any]) -> None:
    for way, share in (("local", 0.0), ("remote", 1.0)):
        pairs = {(each["accessor"], each["owner"]): each["nodes"] for each in accessed[way]["pairs"]}
        assert pairs["other", "main"]["remote_share"] == pytest.approx(share, abs=POINTS)
        assert pairs["main", "main"]["remote_share"] == pytest.approx(share, abs=POINTS)
