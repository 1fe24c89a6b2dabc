"""Waits in little memory: read in batches, joined in stretches, no more of them than memory is for, and that is told."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.common import memory
from headway.analyses.locks.analysis import locks
from headway.analyses.locks.answer import Locks
from headway.analyses.lost_cores.analysis import why
from headway.analyses.scheduling import slice_chunks
from headway.analyses.waits import wait_causes
from headway.analyses.waits.object_names import MANY_CLASSES
from headway.analyses.waits.tables import block_rows, blocks, object_rows
from headway.analyses.waits.threads import holders
from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.reader import Recording
from support.builders.lock_builder import LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

THREADS = 6


def busy(seed: int) -> LockRecording:
    """Return threads that wait for two locks and run in between, each wait with a waker or an owner."""
    chance = random.Random(seed)
    waits, held, threads = [], [], []
    for thread in range(THREADS):
        states, now = [], 0
        while now < 380:
            ran, waited = chance.randint(3, 15), chance.randint(4, 30)
            start, end = now + ran, now + ran + waited
            other = chance.choice([each for each in range(THREADS) if each != thread])
            waking = chance.randint(start + 1, end)
            owner = other if chance.random() < 0.5 else None
            waits.append(Wait(thread, chance.randrange(2), start, end, owner=owner, waker=other, waking=waking))
            states += [("R", ran), ("B", waking - start), *([("W", end - waking)] if end > waking else [])]
            now = end
        threads.append(FakeThread("app", 0, [*states, ("R", 440 - now)], f"t{thread}"))
    for lock in range(2):
        held += [LockHold(lock, chance.randrange(THREADS), at, at + 7) for at in range(5, 400, 40)]
    return LockRecording(threads, waits, held, wall=450)


def figures(result: Locks) -> list[Any]:
    """Return all that an answer holds, but for what is computed when it is asked for."""
    return [(row, row.sums, row.holders, row.sites, row.wakers, row.chain) for row in result.rows]


@pytest.mark.parametrize("seed", range(3))
def test_small_steps_give_the_answers_of_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    path = busy(seed).write(tmp_path / "a.headway")
    whole, account = figures(locks(open_recording(path))), why(open_recording(path)).account
    for module, name, value in (
        (block_rows, "_BATCH", 3),
        (holders, "_CHUNK", 2),
        (holders, "_BATCH", 1),
        (slice_chunks, "_MOST", 4),
        (wait_causes, "_PART", 2),
    ):
        assert getattr(module, name) > 1000
        monkeypatch.setattr(module, name, value)
    assert figures(locks(open_recording(path))) == whole
    assert why(open_recording(path)).account == account


def test_more_waits_than_memory_is_for_are_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock_recording = busy(7)
    path = lock_recording.write(tmp_path / "a.headway")
    everything = locks(open_recording(path), by="lock")
    monkeypatch.setattr(memory, "LEAST", 10)
    monkeypatch.setenv(memory.VARIABLE, "1M")
    recording = open_recording(path)
    found = locks(recording, by="lock")
    starts = sorted(wait.start for wait in lock_recording.waits)
    data = blocks.load(recording, None)
    assert (len(data.blocks), data.not_read, data.until_ns) == (10, len(starts) - 10, starts[10])
    assert sum(row.sums.thread_time_ns for row in found.rows) == sum(
        wait.end - wait.start for wait in lock_recording.waits
    )
    assert {row.blocker_id: row.sums for row in found.rows} == {row.blocker_id: row.sums for row in everything.rows}
    (notice,) = [each for each in found.notices if each.id == "HW435"]
    assert f"only 10 of {len(starts)} single waits were read, those before 0.000s" in notice.message
    assert "HW431" not in {each.id for each in found.notices}
    assert "HW435" in {each.id for each in why(recording).notices}
    assert "HW435" not in {each.id for each in everything.notices}


def of_a_server(monkeypatch: pytest.MonkeyPatch, path: Path) -> tuple[LockRecording, Recording]:
    """Return a recording of many objects of two classes, of which memory is for eight, and what it was made of."""
    waits, classes = [], ["Lock", *(f"Request{number % 2}" for number in range(30))]
    for number in range(1, 31):
        waits.append(Wait(number % 3, number, 10 * number, 10 * number + 1 + number // 6, stack=number % 2))
    waits += [Wait(3, 0, 0, 90), Wait(4, 0, 25, 190, owner=3)]
    threads = [FakeThread("app", 0, [("B", 400)], f"t{thread}") for thread in range(5)]
    stacks = [[("Server", "reply")], [("Server", "ask")]]
    lock_recording = LockRecording(
        threads, sorted(waits, key=lambda wait: wait.start), wall=400, classes=classes, stacks=stacks
    )
    monkeypatch.setattr(memory, "LEAST_OBJECTS", 8)
    monkeypatch.setenv(memory.VARIABLE, "1M")
    return lock_recording, open_recording(lock_recording.write(path))


def test_more_objects_than_memory_is_for_share_rows_and_sums_stay_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_recording, recording = of_a_server(monkeypatch, tmp_path / "a.headway")
    data = blocks.load(recording, None)
    own = data.blockers.table["blocker_id"][data.blockers.objects == 1].tolist()
    waited = {
        lock: sum(wait.end - wait.start for wait in lock_recording.waits if wait.lock == lock)
        for lock in range(lock_recording.locks)
    }
    cut = sorted(waited.values(), reverse=True)[8]
    assert own == [lock for lock, ns in waited.items() if ns > cut]
    assert len(own) <= 8
    assert data.blockers.objects.sum() == lock_recording.locks == 31
    shared = {
        (lock_recording.class_name(wait.lock), wait.stack) for wait in lock_recording.waits if wait.lock not in own
    }
    assert len(data.blockers) == len(own) + len(shared)
    # Each block is of the row of its object, or of one of its class.
    by_start = {wait.start: wait for wait in lock_recording.waits}
    for start, row in zip(data.blocks.start.tolist(), data.blocks.blocker.tolist(), strict=True):
        lock = by_start[start].lock
        assert data.blockers.class_name(row) == lock_recording.class_name(lock)
        assert (data.blockers.blocker_id(row) == lock) == (lock in own) or data.blockers.objects[row] > 1
    (notice,) = [each for each in locks(recording).notices if each.id == "HW437"]
    assert f"31 objects: the {len(own)} with the most waiting" in notice.message
    assert "HW437" in {each.id for each in why(recording).notices}


@pytest.mark.parametrize("by", ["lock", "class", "place"])
def test_rows_of_shared_objects_have_the_figures_of_their_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    lock_recording, recording = of_a_server(monkeypatch, tmp_path / "a.headway")
    found = locks(recording, by=by)
    assert sum(row.sums.thread_time_ns for row in found.rows) == sum(
        wait.end - wait.start for wait in lock_recording.waits
    )
    assert sum(row.sums.times_parked for row in found.rows) == len(lock_recording.waits)
    assert sum(row.objects for row in found.rows) == lock_recording.locks
    monkeypatch.delenv(memory.VARIABLE)
    whole = locks(open_recording(tmp_path / "a.headway"), by=by)
    if by != "lock":  # each class and place is what it is when all objects have their rows
        figures = [[(row.name, row.objects, row.sums, row.metrics) for row in each.rows] for each in (found, whole)]
        assert sorted(map(repr, figures[0])) == sorted(map(repr, figures[1]))


@pytest.mark.parametrize("by", ["lock", "class", "place"])
@pytest.mark.parametrize("most", [1, 0])
def test_of_more_places_than_memory_is_for_the_dearest_have_rows_and_sums_stay_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, most: int
) -> None:
    """Of 900,000 locks at a place each, half shared no row with others. Without room for any place all others are one row."""
    lock_recording, recording = of_a_server(monkeypatch, tmp_path / "a.headway")
    everything = locks(recording, by=by)
    assert "HW438" not in {each.id for each in everything.notices}
    monkeypatch.setattr(object_rows, "MOST_SHARED", most)
    recording = open_recording(tmp_path / "a.headway")
    found = locks(recording, by=by)
    blockers = blocks.load(recording, None).blockers
    for total in ("thread_time_ns", "times_parked", "times_measured", "parked_now"):
        assert sum(getattr(row.sums, total) for row in found.rows) == sum(
            getattr(row.sums, total) for row in everything.rows
        )
    assert sum(row.objects for row in found.rows) == lock_recording.locks
    assert (found.contended_ns, found.idle_ns) == (everything.contended_ns, everything.idle_ns)
    shared = blockers.table["class_name"][blockers.objects > 1].tolist()
    assert len(shared) == most + 1
    assert (MANY_CLASSES in shared) == (most == 0)
    assert blockers.is_of_places.sum() == 1
    if by == "place":
        rest = [row for row in found.rows if row.place is None and row.objects > 1]
        assert [row.objects for row in rest] == blockers.objects[blockers.is_of_places].tolist()
    (notice,) = [each for each in found.notices if each.id == "HW438"]
    assert (
        f"one for each of the {most} classes and places with the most waiting, and, of {2 - most} more"
        in notice.message
    )


def test_the_limit_that_is_told_gives_each_object_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock_recording, recording = of_a_server(monkeypatch, tmp_path / "a.headway")
    needed = memory.needed_for_objects(1_000_000)
    monkeypatch.setenv(memory.VARIABLE, memory.text(needed))
    assert memory.most_objects(1_000_000) == 1_000_000
    assert len(blocks.load(recording, None).blockers) == lock_recording.locks
    monkeypatch.delenv(memory.VARIABLE)
    for count in (100_000, 1_000_000, 8_000_000):
        taken = memory.BASE + memory.PER_OBJECT * memory.most_objects(count) + memory.PER_WAIT * memory.LEAST
        assert taken + (memory.PER_FOLDED * count if memory.most_objects(count) < count else 0) < memory.LIMIT


def test_a_window_with_fewer_waits_is_whole_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = busy(7).write(tmp_path / "a.headway")
    window = (200, 230)
    everything = figures(locks(open_recording(path), window))
    monkeypatch.setattr(memory, "LEAST", 20)
    monkeypatch.setenv(memory.VARIABLE, "1M")
    recording = open_recording(path)
    assert "HW435" in {each.id for each in locks(recording).notices}
    found = locks(recording, window)
    assert "HW435" not in {each.id for each in found.notices}
    assert figures(found) == everything


def test_the_analyses_of_a_recording_read_its_waits_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_recording(busy(1).write(tmp_path / "a.headway"))
    asked: list[str] = []
    batches = Recording.batches

    def counted(self: Recording, text: str, *rows: int) -> Any:
        asked.append(text)
        return batches(self, text, *rows)

    monkeypatch.setattr(Recording, "batches", counted)
    locks(recording)
    locks(recording, by="site")
    assert sum("FROM block" in text and "FROM blocker" not in text for text in asked) == 1
    recording.close()
    assert not recording.kept


@pytest.mark.parametrize(
    ("text", "size"),
    [("512M", 512 << 20), ("8G", 8 << 30), (" 1.5 gib ", 3 << 29), ("1048576", 1 << 20), ("much", None), ("", None)],
)
def test_the_limit_is_a_size_as_people_write_it(text: str, size: int | None) -> None:
    assert memory.parsed(text) == size


@pytest.mark.parametrize("value", ["much", "0", "-1G", "9" * 400])
def test_a_limit_that_is_no_size_is_told_rather_than_passed_over(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, value)
    with pytest.raises(HeadwayError, match="HW436"):
        memory.limit()


def test_the_limit_that_is_told_is_enough_for_all_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_recording(busy(1).write(tmp_path / "a.headway"))
    monkeypatch.setattr(memory, "LEAST", 0)
    for waits in (1, 1000, 29_000_000):
        monkeypatch.setenv(memory.VARIABLE, memory.text(memory.needed(recording, waits)))
        assert memory.most_waits(recording) >= waits
    monkeypatch.delenv(memory.VARIABLE)
    assert memory.needed(recording, memory.most_waits(recording)) <= memory.LIMIT == 1 << 30
