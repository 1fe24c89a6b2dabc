"""Memory that follows threads to a node: which mappings, in what portions, and what is noted to put it back.

That pages really are where they were moved is seen in a guest of two nodes (tests/guests/test_numa_placement.py).
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import platform
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.placement.types import ALL, ONE
from headway.placement.daemon import Daemon, Ended, _Spell
from headway.placement.memory_follower import MemoryFollower, end_of_memory
from headway.placement.moved_memory import MemoryMoved, MovedMemory, _runs
from headway.placement.mover import MEMORY_BACK, MEMORY_HOME
from headway.placement.nodes import MemoryNode, machine_nodes
from headway.placement.pages import mappings_elsewhere, memory_by_node
from headway.record.target_process.move_pages import PAGE
from headway.record.target_process.processes import Process

LIBC = ctypes.CDLL(None, use_errno=True)
MBIND = {"x86_64": 237, "aarch64": 235}[platform.machine()]
BIND = 2
SIZE = 8 << 20
A_WHILE_S = 60.0
"""No call takes that long; a short one on a busy machine may end before anything is done."""
NOWHERE = 1000
"""The number of no node: all memory is elsewhere."""

knows_nodes = pytest.mark.skipif(
    memory_by_node([(os.getpid(), 1)]) is None, reason="the kernel does not say on which nodes memory is"
)


@pytest.fixture
def memory() -> Iterator[tuple[int, mmap.mmap]]:
    """Give touched memory of this process, and its address."""
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as found:
        for at in range(0, SIZE, PAGE):
            found[at] = 1
        byte = ctypes.c_char.from_buffer(found)
        address = ctypes.addressof(byte)
        del byte
        yield address, found


def myself() -> Process:
    found = Process.of(os.getpid())
    assert found is not None
    return found


def covers(address: int) -> bool:
    return any(each.start <= address < each.end for each in mappings_elsewhere(os.getpid(), NOWHERE))


@knows_nodes
def test_memory_for_which_somebody_chose_a_node_is_left_alone(memory: tuple[int, mmap.mmap]) -> None:
    address, _ = memory
    assert covers(address)
    first = machine_nodes()[0].number
    mask = ctypes.c_ulong(1 << first)
    assert LIBC.syscall(MBIND, ctypes.c_void_p(address), ctypes.c_ulong(SIZE), BIND, ctypes.byref(mask), 64, 0) == 0
    assert not covers(address)


@knows_nodes
def test_nothing_is_moved_that_is_there_already(memory: tuple[int, mmap.mmap]) -> None:
    nodes = machine_nodes()
    if len(nodes) != 1:
        pytest.skip("this machine has several nodes")
    assert mappings_elsewhere(os.getpid(), nodes[0].number) == []
    mine = MovedMemory(nodes[0].number, lambda: [myself()])
    assert mine.to_home(A_WHILE_S) == MemoryMoved(0, 0, 0, is_done=True)
    assert mine.back(A_WHILE_S) == MemoryMoved(0, 0, 0, is_done=True)


@knows_nodes
def test_a_node_without_room_gets_nothing_and_that_is_said() -> None:
    found = MovedMemory(NOWHERE, lambda: [myself()]).to_home(A_WHILE_S)
    assert (found.moved_bytes, found.is_done) == (0, True)
    assert found.reason == f"node {NOWHERE} has too little free memory"


@knows_nodes
@pytest.mark.parametrize(("free", "has_room"), [(100, False), (101, True)])
def test_a_tenth_of_the_memory_of_a_node_stays_free(free: int, has_room: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room the kernel is asked, and says that there is no such node."""
    node = MemoryNode(NOWHERE, frozenset({0}), 1000, free)
    monkeypatch.setattr("headway.placement.moved_memory.machine_nodes", lambda: [node])
    found = MovedMemory(NOWHERE, lambda: [myself()]).to_home(A_WHILE_S)
    assert (found.moved_bytes, found.is_done) == (0, True)
    assert (found.reason != f"node {NOWHERE} has too little free memory") == has_room


@knows_nodes
def test_memory_that_is_scattered_too_much_stays_and_that_is_said(
    memory: tuple[int, mmap.mmap], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = memory
    monkeypatch.setattr("headway.placement.moved_memory._MOST_RUNS", 2)
    monkeypatch.setattr(MovedMemory, "_has_room", lambda _: True)
    mine = MovedMemory(NOWHERE, lambda: [myself()])
    mine.note(myself(), [(address, 0), (address + 2 * PAGE, 0)])
    found = mine.to_home(A_WHILE_S)
    assert (found.moved_bytes, found.away_bytes, found.is_done) == (0, 2 * PAGE, True)
    assert found.reason == "its memory is scattered over more than 2 places"


def test_of_a_process_that_has_ended_nothing_is_moved_and_nothing_is_left() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = Process.of(child.pid)
        assert process is not None
        child.kill()
        child.wait()
        mine = MovedMemory(0, lambda: [process])
        assert mine.to_home(A_WHILE_S) == MemoryMoved(0, 0, 0, is_done=True)
        mine.note(process, [(0, 1)])
        assert end_of_memory(mine.back(A_WHILE_S)) == ("", {"memory_put_back_bytes": 0, "memory_left_bytes": 0})


@knows_nodes
def test_what_the_kernel_refuses_to_put_back_is_still_away_at_the_end(memory: tuple[int, mmap.mmap]) -> None:
    """There is no node to put it back to."""
    address, _ = memory
    nodes = machine_nodes()
    if len(nodes) != 1:
        pytest.skip("this machine has several nodes")
    mine = MovedMemory(nodes[0].number, lambda: [myself()])
    mine.note(myself(), [(address, NOWHERE), (address + PAGE, NOWHERE)])
    first = mine.back(A_WHILE_S)
    assert (first.moved_bytes, first.refused_bytes, first.away_bytes, first.is_done) == (0, 2 * PAGE, 2 * PAGE, True)
    assert end_of_memory(mine.back(A_WHILE_S))[1]["memory_left_bytes"] == 2 * PAGE


@knows_nodes
@pytest.mark.parametrize(("is_balanced", "left"), [(False, 0), (True, 2 * PAGE)])
def test_what_can_not_be_seen_while_the_kernel_balances_nodes_is_not_taken_for_given_back(
    is_balanced: bool, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel says of pages that were never touched what it says of those that it has marked."""
    monkeypatch.setattr("headway.placement.moved_memory.balances_itself", lambda: is_balanced)
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as untouched:
        byte = ctypes.c_char.from_buffer(untouched)
        address = ctypes.addressof(byte)
        del byte
        mine = MovedMemory(machine_nodes()[0].number, lambda: [myself()])
        mine.note(myself(), [(address, 0), (address + PAGE, 0)])
        assert mine.back(A_WHILE_S) == MemoryMoved(0, left, left, is_done=True)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2)), unique_by=lambda pair: pair[0]))
def test_runs_of_pages_are_the_pages_again(pairs: list[tuple[int, int]]) -> None:
    pages = sorted((PAGE * number, node) for number, node in pairs)
    runs = [*_runs(Process(1, 1), pages)]
    assert [(each.start + PAGE * number, each.node) for each in runs for number in range(each.pages)] == pages
    assert all(a.start + PAGE * a.pages < b.start or a.node != b.node for a, b in itertools.pairwise(runs))


def test_the_more_a_page_takes_the_fewer_are_moved_at_once() -> None:
    sizes = []
    for page_s in (1e-6, 1e-5, 1e-4, 1.0):
        mine = MovedMemory(0, tuple)
        mine.page_s = page_s
        sizes.append(mine._batch(0.05))
    assert sizes == [1024, 625, 62, 16]


class ScriptedMover:
    """Answers as a mover whose memory takes three calls, and notes what it is asked."""

    used_s = 0.05

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def ask_memory(self, what: bytes) -> MemoryMoved:
        self.asked.append(what)
        return MemoryMoved(PAGE, 0, PAGE * len(self.asked), is_done=len(self.asked) % 3 == 0)


def test_memory_follows_threads_that_stay_in_small_parts_and_goes_back_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr("headway.placement.memory_follower.time.monotonic", lambda: clock[0])
    mover, records = ScriptedMover(), list[dict[str, object]]()
    follower = MemoryFollower(mover, "node 1", lambda text, facts: records.append({"text": text, **facts}))  # type: ignore[arg-type]

    def seconds(count: int, placement: str, since_s: float) -> None:
        for _ in range(count):
            follower.follow(ONE if placement == "one" else ALL, since_s)
            clock[0] += 1

    seconds(30, "all", 100.0)  # as it was started: there is nothing to do
    assert mover.asked == []
    moved_s = clock[0]
    seconds(4, "one", moved_s)
    assert mover.asked == []
    seconds(10, "one", moved_s)
    assert mover.asked == [MEMORY_HOME] * 3
    (record,) = records
    assert (record["placement"], record["memory_moved_bytes"], record["memory_away_bytes"]) == (
        "one",
        3 * PAGE,
        3 * PAGE,
    )
    seconds(10, "one", moved_s)
    seconds(10, "all", clock[0])
    assert mover.asked == [MEMORY_HOME] * 3 + [MEMORY_BACK] * 3
    assert records[1]["text"].startswith("0.0 MiB of memory put back in ")  # type: ignore[attr-defined]


def test_memory_is_moved_for_a_twentieth_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call takes half a second, so that the next one is ten seconds later."""
    clock = [100.0]
    monkeypatch.setattr("headway.placement.memory_follower.time.monotonic", lambda: clock[0])
    mover, asked_s = ScriptedMover(), list[float]()
    mover.used_s = 0.5
    follower = MemoryFollower(mover, "node 1", lambda text, facts: None)  # type: ignore[arg-type]
    for _ in range(60):
        before = len(mover.asked)
        follower.follow(ONE, 100.0)
        asked_s += [clock[0]] * (len(mover.asked) - before)
        clock[0] += 0.5
    assert asked_s == [105, 115, 125]


def test_memory_on_its_way_waits_asleep_until_threads_have_stayed_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("headway.placement.memory_follower.time.monotonic", lambda: clock[0])
    mover = ScriptedMover()
    follower = MemoryFollower(mover, "node 1", lambda text, facts: None)  # type: ignore[arg-type]
    clock[0] = 106.0
    follower.follow(ONE, 100.0)
    clock[0] = 108.0
    follower.follow(ALL, 107.0)
    assert (mover.asked, follower.wait_s()) == ([MEMORY_HOME], 4.0)


@pytest.mark.parametrize(("is_trial", "is_balanced", "asked"), [(False, False, 3), (True, False, 0), (False, True, 0)])
def test_memory_follows_no_threads_that_are_compared_and_none_while_the_kernel_balances_nodes(
    is_trial: bool, is_balanced: bool, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, mover, nobody = [100.0], ScriptedMover(), cast("Any", None)
    monkeypatch.setattr("headway.placement.daemon.time.monotonic", lambda: clock[0])

    def wait(seconds: float) -> Ended:
        clock[0] += seconds
        return ""

    placing = Daemon(
        nobody, nobody, nobody, nobody, nobody, nobody, wait,
        _memory=MemoryFollower(cast("Any", mover), "node 1", lambda text, facts: None),
        _is_trial=is_trial, _is_balanced=is_balanced, _spell=_Spell(ONE, 100.0),
    )  # fmt: skip
    placing._pause(20.0)
    assert len(mover.asked) == asked
    assert clock[0] == pytest.approx(120)


def test_a_time_on_a_placement_says_how_much_faster_the_program_was_once_its_memory_was_there() -> None:
    """Readings while memory is moved are of neither: before it a unit takes 3 s on average, after it 2 s."""
    spell = _Spell(ONE, 100.0)
    assert spell.speed_after_memory() is None
    for cost, is_under_way in ((2.0, False), (4.0, False), (9.0, True), (9.0, True), (1.0, False), (3.0, False)):
        spell.see_memory(is_under_way=is_under_way)
        spell.costs.append(cost)
    assert spell.speed_after_memory() == 1.5
    records = list[tuple[str, dict[str, Any]]]()
    nobody = cast("Any", None)
    places = cast("Any", SimpleNamespace(text=lambda placement: "node 1"))
    placing = Daemon(
        places, nobody, nobody, nobody, nobody,
        lambda record: records.append((record.text, record.facts)), nobody, _spell=spell,
    )  # fmt: skip
    placing._close_spell()
    ((text, facts),) = records
    assert facts["speed_after_memory"] == 1.5
    assert "1.500 times as fast once memory was moved" in text


def test_without_readings_on_both_sides_of_the_moving_its_gain_is_not_known() -> None:
    for costs in ([(9.0, True), (1.0, False)], [(1.0, False), (9.0, True)]):
        spell = _Spell(ONE, 100.0)
        for cost, is_under_way in costs:
            spell.see_memory(is_under_way=is_under_way)
            spell.costs.append(cost)
        assert spell.speed_after_memory() is None


def test_the_end_says_what_was_put_back_and_what_stays() -> None:
    assert end_of_memory(None) == ("", {})
    assert end_of_memory(MemoryMoved(5 << 20, 1 << 20, 2 << 20, is_done=False)) == (
        "; 5.0 MiB of memory put back; 2.0 MiB of memory stay where they were moved",
        {"memory_put_back_bytes": 5 << 20, "memory_left_bytes": 2 << 20},
    )
