"""A program that starts, renames or replaces threads without end: its recording is bounded, and says what it lacks."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway import _native
from headway.errors import HeadwayError
from headway.record.collect import thread_counters
from headway.record.collect.thread_counters import ThreadWatch, countable
from headway.record.counters.groups import parse
from headway.record.finalise.finalise import finalise
from headway.record.finalise.threads.thread_table import RecordedThread, RecordedThreads, _name_java_threads
from headway.record.target_process.deadline import Interrupted
from headway.store import open_recording
from support.builders.spool_builder import DEAD, SLEEP, Spool

MS = 1_000_000
HONEST, WORKER, BOMB = 10, 11, 20
FIRST_BORN = 100


def bombed(births: int) -> Spool:
    """Two processes run when the recording begins. At 10 ms one starts threads, 1 ms each, of numbers that come again; at 50 ms
    the other starts its worker, which is woken by one of these. All are there for 0.5 ms.
    """
    spool = Spool()
    spool.snapshot(0, HONEST, "S")
    spool.snapshot(0, BOMB, "S")
    for number in range(births):
        at, tid = 10 * MS + number * MS, FIRST_BORN + number % 3
        spool.fork(at, tid, pid=BOMB, parent=BOMB)
        spool.waking(at, 0, tid, by=BOMB, new=True)
        spool.switch(at + 1000, 0, None, tid)
        if number == 45:
            spool.fork(at + 2000, WORKER, pid=HONEST, parent=HONEST)
            spool.waking(at + 3000, 0, WORKER, by=tid, new=True)
            spool.switch(at + 4000, 1, None, WORKER)
        spool.exit(at + MS // 2, tid, exec_ns=499_000)
        spool.switch(at + MS // 2, 0, tid, None, DEAD, exec_ns=499_000)
    spool.switch(90 * MS, 1, WORKER, None, SLEEP, exec_ns=35 * MS - 4000)
    return spool


def test_a_thread_whose_birth_and_snapshot_are_both_on_record_counts_once(tmp_path: Path) -> None:
    """Threads are born while the snapshot is made: counted twice, they would take the room of another process's threads."""
    spool = Spool()
    spool.snapshot(0, HONEST, "S")
    spool.snapshot(0, BOMB, "S")
    for number in range(4):
        spool.fork(1 * MS, WORKER + number, pid=HONEST, parent=HONEST)
        spool.snapshot(2 * MS, WORKER + number, "S", pid=HONEST)
    for number in range(5):
        spool.fork(3 * MS, FIRST_BORN + number, pid=BOMB, parent=BOMB)
    path = str(spool.write(tmp_path / "spool"))
    everybody = sorted([HONEST, BOMB, *range(WORKER, WORKER + 4), *range(FIRST_BORN, FIRST_BORN + 5)])
    for most in (len(everybody), len(everybody) + 1, 1 << 20):
        assert sorted(_native.Decoder(path, most_threads=most).lifecycle()["tid"].tolist()) == everybody
    assert len(_native.Decoder(path, most_threads=len(everybody) - 1).lifecycle()["tid"]) == len(everybody) - 1


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording that may have 12 threads of the 63 that there were."""
    monkeypatch.setattr(_native, "Decoder", functools.partial(_native.Decoder, most_threads=12))
    directory = tmp_path / "a.headway"
    bombed(60).write(directory / "spool")
    window = {"start_ns": 5 * MS, "end_ns": 100 * MS}
    draft = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": HONEST}
    draft |= {"attached": True, "ended_by": "duration", "window": window, "notices": []}
    (directory / "manifest.json").write_text(json.dumps(draft))
    finalise(directory)
    return directory


def test_of_threads_without_end_the_first_of_each_process_are_kept(recording: Path) -> None:
    """The bomb has what the other process does not need of the twelve: itself and nine."""
    found = (
        open_recording(recording).query("SELECT tid, running_ns, switches FROM thread ORDER BY thread_id").fetchall()
    )
    born = [(FIRST_BORN + number % 3, 499_000, 1) for number in range(9)]
    assert found == [(HONEST, 0, 0), (BOMB, 0, 0), *born, (WORKER, 35 * MS - 4000, 1)]


def test_threads_that_are_left_out_run_as_nobody(recording: Path) -> None:
    """Their numbers were those of others before, which neither run then nor wake anybody."""
    got = open_recording(recording)
    late = got.query(
        "SELECT DISTINCT tid FROM thread_state WHERE state = 'running' AND start_ns >= 19000000"
    ).fetchall()
    assert late == [(WORKER,)]
    wakers = got.query("SELECT DISTINCT waker_id FROM slice JOIN thread USING (thread_id) WHERE tid = 11").fetchall()
    assert wakers == [(-1,)]
    assert [each.id for each in got.manifest.invariants if not each.ok] == []


def test_a_recording_says_which_threads_it_lacks(recording: Path) -> None:
    got = open_recording(recording)
    assert [each.id for each in got.manifest.notices] == ["HW235"]
    assert got.manifest.notices[0].message.startswith(
        "51 threads that began 0.0 s after the recording or later are left"
    )
    spans = got.query("SELECT source, cpu, start_ns, dur_ns, events FROM loss").fetchall()
    assert spans == [("births", -1, 19 * MS, 50 * MS + MS // 2, 51)]
    assert got.manifest.losses.events == 51


@pytest.mark.parametrize("most", [63, 1 << 20])
def test_nothing_is_left_out_where_all_fit(tmp_path: Path, most: int) -> None:
    decoder = _native.Decoder(str(bombed(60).write(tmp_path / "spool")), most_threads=most)
    assert len(decoder.lifecycle()["tid"]) == 63
    decoder.begin(0, 100 * MS, np.zeros(63, np.uint8), 1 << 40, 1)
    assert decoder.next() is not None
    assert decoder.result()["losses"] == []


def test_a_thread_whose_end_was_lost_ends_where_its_number_is_given_to_one_that_is_left_out(tmp_path: Path) -> None:
    spool = Spool()
    spool.snapshot(0, BOMB, "S")
    spool.fork(10 * MS, 30, pid=BOMB, parent=BOMB)
    spool.fork(20 * MS, 30, pid=BOMB, parent=BOMB)
    spool.rename(21 * MS, 30, b"later")
    lives = _native.Decoder(str(spool.write(tmp_path / "spool")), most_threads=2).lifecycle()
    assert [*zip(lives["tid"].tolist(), lives["end_ns"].tolist(), lives["comm"], strict=True)] == [
        (BOMB, -1, b"old"),
        (30, 20 * MS, b"t"),
    ]


def test_names_execs_and_totals_without_end_are_as_many_as_threads(tmp_path: Path) -> None:
    """The last name counts, the first exec, and of the kernel's totals the first and the last."""
    spool = Spool()
    spool.snapshot(0, 1, "S", exec_ns=5)
    for number in range(1000):
        at = 10 + 10 * number
        spool.exec(at, 1, 1, b"exec%d" % number)
        spool.rename(at + 1, 1, b"name%d" % number)
        spool.totals(at + 2, 1, exec_ns=5 + number, waited_ns=100 + number)
    spool.switch(1, 0, None, 1)
    spool.switch(20_000, 0, 1, None, exec_ns=20_000)
    decoder = _native.Decoder(str(spool.write(tmp_path / "spool")))
    lives = decoder.lifecycle()
    assert (lives["comm"], lives["first_exec_at_ns"].tolist()) == ([b"name999"], [10])
    decoder.begin(0, 20_000, np.zeros(1, np.uint8), 1 << 40, 1)
    while decoder.next() is not None:
        pass
    assert decoder.result()["threads"]["total_wait_ns"].tolist() == [999]


def grown_by_renames_kib(tmp_path: Path, renames: int) -> int:
    from support.drivers.peak_memory import grown_kib

    directory = tmp_path / str(renames)
    spool = Spool()
    spool.snapshot(0, 1, "S")
    spool.rename(1, 1, b"name")
    spool.write(directory)
    with (directory / "lifecycle.spool").open("ab") as file:
        file.write(spool.life[-1] * renames)
    read = "_native.Decoder(sys.argv[1])"
    return grown_kib("from headway import _native", read, directory)[0]


def test_a_thread_that_renames_itself_without_end_takes_no_memory_for_it(tmp_path: Path) -> None:
    """400,000 records of 40 bytes took 29 MB, and those of an hour more than a machine has."""
    assert grown_by_renames_kib(tmp_path, 400_000) < 8 << 10


@pytest.fixture
def sleeper() -> Any:
    with subprocess.Popen(["sleep", "100"]) as process:
        yield process
        process.kill()


def watch(pid: int, **options: Any) -> ThreadWatch:
    return ThreadWatch(pid, countable(parse("page-faults")).groups, **options)


def test_threads_beyond_a_number_are_told_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this process: those of the number are this one, whichever others there are."""
    monkeypatch.setattr(thread_counters, "_MOST_THREADS", 1)
    with subprocess.Popen(
        [
            "python3",
            "-c",
            "import threading\nfor _ in range(3): threading.Thread(target=input).start()\nprint(flush=True)",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        watched = watch(process.pid)
        counts = watched.read()
        watched.close()
        process.kill()
    assert len(counts.threads) == 1
    assert counts.left_out == 3
    assert counts.why == "of threads that come and go, 1 between two tables are counted"


def test_a_number_that_another_thread_has_by_now_is_not_counted(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a thread and the opening of its counters it may end, and another user's get its number."""
    monkeypatch.setattr(thread_counters._ProcessFiles, "has", lambda *_: False)
    with pytest.raises(HeadwayError, match="HW004"):
        watch(sleeper.pid)


def test_a_process_that_has_ended_has_no_threads_whoever_has_its_number(sleeper: subprocess.Popen[bytes]) -> None:
    """Its directory in /proc stays its own."""
    files = thread_counters._ProcessFiles(sleeper.pid)
    assert files.tids() == [sleeper.pid]
    sleeper.kill()
    sleeper.wait()
    assert (files.tids(), files.named(sleeper.pid), files.cpu_ns()) == ([], None, None)
    files.close()


def test_going_through_threads_ends_when_somebody_interrupts(sleeper: subprocess.Popen[bytes]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Interrupted):
        watch(sleeper.pid, is_interrupted=lambda: True)
    assert len(os.listdir("/proc/self/fd")) == before


class CountedRows(list[RecordedThread]):
    """Rows of threads that count how often one is looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)

    def __iter__(self) -> Any:
        self.looks += len(self)
        return super().__iter__()


def test_one_thread_number_of_very_many_lives_is_not_compared_with_each_announced_thread() -> None:
    """A container may choose the numbers of its threads: all one. A million lives by a million announcements had no end."""
    lives, many = 1000, 1000
    rows = CountedRows(RecordedThread(7, 7, 7, at * MS * 100, at * MS * 100 + MS, "t") for at in range(lives))
    threads = RecordedThreads(rows)
    announced = [(7, at * MS * 100 + 1, -1, -1, at, 0, b"java%d" % at, b"main") for at in range(many)]
    agents = [{"pid": 7, "created_ns": 0, "threads": announced, "facts": []}]
    found = _name_java_threads(threads, 7, agents[0], True)
    assert found == {at: at for at in range(many)}
    assert [row.name for row in list.__iter__(rows)] == [f"java{at}" for at in range(lives)]
    assert rows.looks < 20 * (lives + many)


def test_the_threads_of_one_process_are_found_without_a_look_at_those_of_all_others() -> None:
    rows = CountedRows(RecordedThread(at % 100, at, at, 0, None, "t") for at in range(1000))
    threads = RecordedThreads(rows)
    assert [threads.of_process(pid) for pid in range(100)] == [[*range(pid, 1000, 100)] for pid in range(100)]
    assert rows.looks <= 1000
    rows.append(RecordedThread(5, 5, 5, 0, None, "t"))
    assert threads.of_process(5)[-1] == 1000
