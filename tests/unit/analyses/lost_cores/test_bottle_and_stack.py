"""The bottle graph and the speedup stack: boxes and parts that add up."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.common.causes import LOCK, SERIAL
from headway.analyses.lost_cores.speedup_stack import BASE, LEFT_OVER, OTHERS, STOLEN, speedup_stack
from headway.analyses.lost_cores.types import Account, Loss, Place
from headway.analyses.scheduling.bottle_graph import bottle_graph
from headway.errors import HeadwayError
from headway.record.finalise.finalise import finalise
from headway.store import open_recording
from headway.store.writer import write_recording
from support.builders.spool_builder import DEAD, SLEEP, Spool

MS = 1_000_000


def two_threads(tmp_path: Path) -> Path:
    """A alone for 30 ms, then A and B together for 20 ms, then nobody for 10, then B alone for 40 ms."""
    spool = Spool()
    for tid in (10, 11):
        spool.snapshot(0, tid, "S", pid=10)
    spool.switch(0, 0, None, 10)
    spool.switch(30 * MS, 1, None, 11)
    spool.switch(50 * MS, 0, 10, None, SLEEP)
    spool.switch(50 * MS, 1, 11, None, SLEEP)
    spool.switch(60 * MS, 1, None, 11)
    spool.switch(100 * MS, 1, 11, None, DEAD)
    directory = tmp_path / "a.headway"
    spool.write(directory / "spool")
    window = f'{{"start_ns": 0, "end_ns": {100 * MS}}}'
    head = '"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": 10, "notices": []'
    (directory / "manifest.json").write_text(f'{{{head}, "attached": true, "window": {window}}}')
    finalise(directory)
    return directory


def test_boxes_are_as_high_as_the_time_with_a_thread_and_the_widest_is_at_the_bottom(tmp_path: Path) -> None:
    graph = bottle_graph(open_recording(two_threads(tmp_path)))
    assert (graph.wall_ns, graph.idle_ns) == (100 * MS, 10 * MS)
    assert [(each.tid, each.height_ns, each.active_ns) for each in graph.bottles] == [
        (10, 40 * MS, 50 * MS),  # 30 alone, half of 20
        (11, 50 * MS, 60 * MS),
    ]
    assert [each.width for each in graph.bottles] == [1.25, 1.2]
    assert [each.bottom_ns for each in graph.bottles] == [0, 40 * MS]


def test_a_recording_without_thread_states_has_no_bottle_graph(tmp_path: Path) -> None:
    window = {"start_ns": 0, "end_ns": 100}
    path = write_recording(tmp_path / "b.headway", {"state": "complete", "mode": "agent", "window": window}, {})
    with pytest.raises(HeadwayError, match="HW400"):
        bottle_graph(open_recording(path))


def test_a_speedup_stack_adds_up_to_the_number_of_cores() -> None:
    used = {"app": 300, "gc": 20, "jit": 10, "vm": 0, "headway": 5}
    lost = tuple(Loss(cause, ns, 0.0, Place(), None) for cause, ns in ((SERIAL, 20), (LOCK, 15), (SERIAL, 13)))
    stack = speedup_stack(Account(100, 200, 4.0, used, 7, 8, lost, 0.005))
    names = [(part.name, part.core_ns) for part in stack.parts]
    assert names == [
        (BASE, 300),
        ("used_gc", 20),
        ("used_jit", 10),
        ("used_headway", 5),
        (STOLEN, 7),
        (OTHERS, 8),
        (SERIAL, 33),
        (LOCK, 15),
        (LEFT_OVER, 2),
    ]
    assert stack.base == 3.0
    assert sum(part.cores for part in stack.parts) == pytest.approx(4.0)
    tops = [part.bottom + part.cores for part in stack.parts]
    assert [part.bottom for part in stack.parts] == pytest.approx([0.0, *tops[:-1]])


def test_what_is_not_known_is_no_part_of_a_speedup_stack() -> None:
    stack = speedup_stack(Account(0, 100, 2.0, {"app": 200}, None, None, (), 0.0))
    assert [(part.name, part.cores) for part in stack.parts] == [(BASE, 2.0)]
