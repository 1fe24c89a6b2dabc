"""Recordings with very many processes: what is looked for in each is looked for among its own threads, pauses and waits alone."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from headway.analyses.critical_path import stopped, timed_senders, walk
from headway.analyses.critical_path.path_threads import PathThreadTable
from headway.analyses.scheduling.other_processes import _alive
from headway.analyses.scheduling.threads import threads
from headway.analyses.waits.threads import process_exit
from headway.analyses.waits.threads.process_exit import NEVER, Exit
from headway.analyses.waits.wait_causes import _ends_of_threads, _nearest_end
from headway.store import Recording, open_recording
from support.builders import synthetic
from support.builders.extreme_recordings import write_rows
from support.builders.synthetic import ORIGIN, FakeThread


class CountedColumn(np.ndarray[Any, np.dtype[np.int64]]):
    """A column that counts how many of its values are compared."""

    compared = 0

    def __eq__(self, other: object) -> Any:
        CountedColumn.compared += len(self)
        return np.asarray(self) == other

    __hash__ = None


def table(processes: int, each: int) -> PathThreadTable:
    """So many processes of so many threads each, whose numbers lie side by side; all died at 1 s but the first of each."""
    size = processes * each
    first = np.arange(size) // each * each
    end = np.where(np.arange(size) == first, 1_000_000_100, 1_000_000_000)
    birth, parent, tid = np.arange(size), np.full(size, -1), np.arange(size)
    names = ["SIGTERM handler" if tid % each == 1 else "worker" for tid in range(size)]
    return PathThreadTable(first.view(CountedColumn), tid, birth, end, parent, names, ["app"] * size)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> PathThreadTable:
    monkeypatch.setattr(walk, "exits", lambda _: ())
    monkeypatch.setattr(walk, "stops", lambda *_: ())
    CountedColumn.compared = 0
    return table(processes=500, each=3)


def test_who_ended_processes_is_looked_for_among_the_threads_of_each(many: PathThreadTable) -> None:
    """20,000 processes and a million threads were compared with each other: minutes in each `report`."""
    found = walk._ended_by(cast("Recording", None), many)
    assert found.tolist() == [-1 if tid == first else first for tid, first in enumerate(np.asarray(many.pid).tolist())]
    assert CountedColumn.compared <= len(many)


def test_handlers_and_births_are_those_of_each_process(many: PathThreadTable) -> None:
    pids = range(0, 1500, 3)
    assert [stopped._handler(many, Exit(pid, -1, 0)) for pid in pids] == [pid + 1 for pid in pids]
    assert [timed_senders._born_ns(many, pid) for pid in pids] == [*pids]
    assert CountedColumn.compared <= len(many)


def test_jvms_that_live_at_a_time_are_counted_without_a_look_at_each() -> None:
    """The answer is that of a comparison of each with each, which were 400 million of them for 20,000 JVMs that paused once."""
    draw = random.Random(5)
    lives = {pid: (draw.randrange(100), draw.choice([draw.randrange(100), NEVER])) for pid in range(60)}
    asked = [(draw.randrange(70), draw.randrange(-5, 110)) for _ in range(500)]
    expected = [
        max(1, sum(start <= ns < end or pid == each for each, (start, end) in lives.items())) for pid, ns in asked
    ]
    assert _alive(lives, [pid for pid, _ in asked], [ns for _, ns in asked]) == expected
    assert _alive({}, [1], [5]) == [1]
    assert _alive(lives, [], []) == []


def test_threads_that_a_join_may_have_waited_for_are_those_of_its_own_process() -> None:
    """Of threads that ended equally near, the one with the lowest number counts; each join was compared with each thread."""
    draw = random.Random(7)
    ends = sorted((draw.randrange(40), thread, draw.randrange(4)) for thread in range(90))
    rows = {
        "thread_id": np.array([thread for _, thread, _ in ends]),
        "pid": np.array([pid for *_, pid in ends]),
        "end_ns": np.array([end + 1000 for end, *_ in ends]),
    }
    recording = SimpleNamespace(query=lambda _: SimpleNamespace(fetchnumpy=lambda: rows), window_ns=(1000, 2000))
    found = _ends_of_threads(cast(Any, SimpleNamespace(recording=recording)))
    for pid in range(5):
        for when in range(-5, 50):
            near = [(abs(end - when), thread) for end, thread, of in ends if of == pid]
            assert _nearest_end(found, pid, when) == (min(near) if near else None)


def test_a_threads_figures_are_what_its_row_says(tmp_path: Path) -> None:
    made = [FakeThread("app", n, [("R", 100 * (n + 1)), ("W", 50)], f"t{n}", stolen=[10 * n]) for n in range(3)]
    recording = open_recording(synthetic.write(tmp_path / "r.headway", made, 1000))
    names = ("thread_id", "start_ns", "end_ns", "running_ns", "exec_ns")
    rows = {row[0]: row[1:] for row in recording.query(f"SELECT {', '.join(names)} FROM thread").fetchall()}
    found = threads(recording).rows
    assert [row.thread_id for row in found] == [2, 1, 0]
    for row in found:
        start, end, running, execution = rows[row.thread_id]
        assert (row.start_ns, row.end_ns) == (start - ORIGIN, None if end is None else end - ORIGIN)
        assert (row.running_ns, row.exec_ns) == (running, execution)
        assert row.stolen_ns == (None if execution is None else max(0, running - execution))
        assert row.share == running / 600


def test_the_last_wakings_of_each_jvm_are_found_whatever_others_there_are(tmp_path: Path) -> None:
    """Each batch of slices was gone through once for each JVM in it."""
    draw = random.Random(3)
    made = [FakeThread("vm", n, [("R", 100), ("B", 200 + n), ("R", 100)], f"t{n}") for n in range(40)]
    rows = [synthetic.thread_row(n, thread, 1000) | {"pid": n // 2} for n, thread in enumerate(made)]
    slices = [
        row | {"waker_id": draw.randrange(40)} for n, one in enumerate(made) for row in synthetic.slices_of(n, one)
    ]
    slices.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    recording = open_recording(write_rows(tmp_path / "r.headway", {"thread": rows, "slice": slices}))
    of_all = process_exit._last_wakings(recording, range(20))
    for pid, found in enumerate(of_all):
        alone = process_exit._last_wakings(recording, [pid])[0]
        assert len(found.ns) == 2
        assert (found.ns.tolist(), found.waker.tolist()) == (alone.ns.tolist(), alone.waker.tolist())
