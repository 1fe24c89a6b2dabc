"""Where a program is placed of which nothing tells how fast it is: by its workers and the nodes that its memory is on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses.placement.few_workers import FewWorkers, remote_share_of_all
from headway.analyses.placement.types import Observation, Placement
from headway.errors import HeadwayError
from headway.placement import place
from headway.placement.nodes import MemoryNode
from headway.placement.place import Request
from headway.placement.progress import CpuTime, progress_of
from headway.placement.types import NodeChoice
from headway.record.target_process.processes import Process

FEW = Observation("all", 1.0, 1.0, 1.0, 2.0, 0.0, 0.5)
MANY = replace(FEW, workers=16.0)
CORES = 8


def decided(policy: FewWorkers, *readings: Observation) -> list[Placement]:
    return [policy.decide(each).placement for each in readings]


def test_memory_is_remote_to_a_thread_on_any_cpu_as_far_as_it_is_not_on_that_cpus_node() -> None:
    """Counted out: each CPU alike, each byte alike."""
    for cpus, memory in (
        ({0: 8, 1: 8}, {0: 3, 1: 1}),
        ({0: 8, 1: 2}, {0: 10}),
        ({0: 1, 1: 1, 2: 2}, {0: 1, 1: 2, 2: 5}),
    ):
        pairs = [
            cpu_node != byte_node
            for cpu_node, count in cpus.items()
            for _ in range(count)
            for byte_node, size in memory.items()
            for _ in range(size)
        ]
        assert remote_share_of_all(cpus, memory) == pytest.approx(sum(pairs) / len(pairs))
    assert remote_share_of_all({0: 1}, {}) is None


def test_few_workers_go_to_the_node_of_their_memory_once_that_lasts() -> None:
    assert decided(FewWorkers(CORES, 0.1, 0.5), *[FEW] * 6) == ["all"] * 4 + ["one"] * 2


def test_they_stay_where_as_much_of_their_memory_would_be_remote_on_the_node() -> None:
    assert decided(FewWorkers(CORES, 0.45, 0.5), *[FEW] * 20) == ["all"] * 20


def test_a_program_with_more_workers_is_never_moved_and_one_that_gets_more_is_let_go() -> None:
    assert decided(FewWorkers(CORES, 0.0, 0.5), *[MANY] * 20) == ["all"] * 20
    policy = FewWorkers(CORES, 0.0, 0.5)
    assert decided(policy, *[FEW] * 5)[-1] == "one"
    assert decided(policy, *[MANY] * 6) == ["one"] * 4 + ["all"] * 2


def test_a_short_time_of_few_workers_moves_nothing() -> None:
    assert decided(FewWorkers(CORES, 0.0, 0.5), *[FEW, FEW, FEW, MANY] * 5) == ["all"] * 20


def refused() -> CpuTime:
    raise HeadwayError("HW723", reason="none")


def choice(memory: dict[int, int] | None) -> NodeChoice:
    cpus = frozenset({0, 1})
    return NodeChoice(cpus, MemoryNode(0, frozenset({0})), 2, cpus, memory is None, memory)


def test_only_the_default_policy_does_without_progress_and_only_where_nodes_of_memory_are_known() -> None:
    known = choice({0: 3 << 20, 1: 1 << 20})
    assert isinstance(place._progress(Request(), known, refused), CpuTime)
    for request, places in ((Request("paper"), known), (Request(), choice(None))):
        with pytest.raises(HeadwayError) as found:
            place._progress(request, places, refused)
        assert found.value.notice.id == "HW723"


def test_a_file_that_does_not_tell_is_an_error_however_much_else_is_known(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError) as found:
        place._progress(Request(), choice({0: 1 << 20}), lambda: progress_of(tmp_path / "none", None))
    assert found.value.notice.id == "HW724"


def test_its_readings_end_by_cpu_time_as_the_kernel_accounts_it_and_never_run_backwards() -> None:
    progress, myself = CpuTime(), Process.of(os.getpid())
    assert myself is not None
    first, before_s = progress.done([myself]), sum(os.times()[:2])
    while sum(os.times()[:2]) < before_s + 0.2:
        pass
    second = progress.done([myself])
    assert first is not None
    assert second is not None
    assert 190 <= second.units - first.units <= 1e3 * (sum(os.times()[:2]) - before_s) + 20
    assert progress.done([]) == second


def test_what_goes_on_counts_at_once_after_another_process_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu_s = {1: 3600.0, 2: 1.0}
    monkeypatch.setattr("headway.placement.progress._cpu_s", cpu_s.get)
    progress, long, other = CpuTime(), Process(1, 0), Process(2, 0)
    before = progress.done([long, other])
    del cpu_s[1]
    cpu_s[2] = 1.5
    after = progress.done([long, other])
    assert before is not None
    assert after is not None
    assert after.units - before.units == pytest.approx(500)
