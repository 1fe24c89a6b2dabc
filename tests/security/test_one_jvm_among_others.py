"""What the agent of one JVM says costs the figures of that JVM, never those of the others in the same recording."""

from __future__ import annotations

import os
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headway.record.agent.fetching import fetch
from headway.record.finalise.recover import recover
from headway.record.finalise.samples.sample_files import FileStacks
from headway.record.finalise.samples.stack_tables import _FrameIds
from headway.record.target_process.agent_file import HOST_PID, read_word, write_word
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.directory import TargetDirectory
from headway.record.target_process.rights import Rights
from headway.store import TABLES, open_recording
from headway.store.checks.ranges import LARGEST, YEAR_NS
from headway.store.manifest import write_manifest
from headway.store.possible import ImpossibleValueFilter
from headway.store.reader import Recording
from headway.store.writer import conform
from support.builders.spool_builder import Agent, Spool, record

NOW = 1_000_000_000
HOSTILE, HONEST = 10, 20
MANY = 200
GC = 1


def numbers_of_records() -> dict[str, int]:
    text = (Path(__file__).parents[2] / "native/wire/records.h").read_text()
    words = text[text.index("enum hw_type") :].replace(",", " ").split()
    return {
        word: int(words[at + 2])
        for at, word in enumerate(words[:-2])
        if word.startswith("HW_") and words[at + 1] == "="
    }


def agent_of(pid: int, longest_ns: int, times: int) -> Agent:
    """An agent that says so often that something took so long: a pause, a wait, a hold; and that it lost records."""
    types = numbers_of_records()
    agent = Agent(pid, created_ns=NOW, lost=longest_ns)
    agent.fact(b"locks", b"on")
    agent.thread(NOW, pid, 5, b"x")
    agent.records.append(record(NOW, types["HW_METHOD"], pid, struct.pack("<IHH", 1, 3, 3) + b"a.Bfoo"))
    agent.records.append(record(NOW, types["HW_STACK"], pid, struct.pack("<IHHIi", 1, 1, 0, 1, 7)))
    blocker = struct.pack("<IIIIIHH", 1, 77, 1, 5, 1, 3, 3) + b"a.Bfoo"
    agent.records.append(record(NOW, types["HW_BLOCKER"], pid, blocker))
    for at in range(times):
        begin = NOW + 10 + at
        agent.phase(begin, begin + longest_ns, GC, b"x")
        hold = struct.pack("<qII", begin, 1, 5)
        agent.records.append(record(begin + longest_ns, types["HW_HOLD"], pid, hold))
    return agent


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A recording of two JVMs, one of whose agents says that all took as long as can be, and more often than fits 64 bits."""
    directory = tmp_path_factory.mktemp("made")
    recording = directory / "r.headway"
    spool = recording / "spool"
    spool.mkdir(parents=True, mode=0o700)
    recording.chmod(0o700)
    kernel = Spool()
    for pid in (HOSTILE, HONEST):
        kernel.fork(NOW, pid, comm=b"java")
    for pid in (HOSTILE, HONEST):
        kernel.exit(NOW + YEAR_NS - 1, pid)
    kernel.write(spool)
    agent_of(HOSTILE, YEAR_NS // 2, MANY).write(spool)
    agent_of(HONEST, 1000, 3).write(spool)
    window = {"start_ns": NOW, "end_ns": NOW + YEAR_NS}
    plain = {"format": "headway-recording", "version": 1, "state": "recording", "pid": HOSTILE, "window": window}
    write_manifest(recording, {**plain, "command": ["java"], "mode": "ebpf", "locks": {}})
    recover(recording)
    return open_recording(recording)


@pytest.mark.parametrize(("table", "of_jvm"), [("jvm_phase", "pid"), ("hold", "blocker_id")])
def test_rows_of_other_jvms_are_kept_whatever_one_says(made: Recording, table: str, of_jvm: str) -> None:
    rows = made.query(f"SELECT {of_jvm}, dur_ns FROM {table} WHERE dur_ns < 2000").fetchall()
    assert [dur_ns for _, dur_ns in rows] == [1000] * 3
    if table == "jvm_phase":
        assert {pid for pid, _ in rows} == {HONEST}
    ((kept,),) = made.query(f"SELECT count(*) FROM {table}").fetchall()
    assert 3 < kept < MANY, "those of the other one end where its share does"


def test_lost_records_of_other_jvms_are_told_whatever_one_says(made: Recording) -> None:
    events = [each for (each,) in made.query("SELECT events FROM loss WHERE source = 'agent' ORDER BY 1").fetchall()]
    assert events[0] == 1000


def test_agents_of_two_containers_are_of_the_jvms_that_were_attached_to(tmp_path: Path) -> None:
    """Both JVMs are process 1 of their containers, and the recorder knows which of them wrote which file."""
    recording = tmp_path / "r.headway"
    spool = recording / "spool"
    spool.mkdir(parents=True, mode=0o700)
    recording.chmod(0o700)
    kernel = Spool()
    pids = (100, 200)
    for pid in pids:
        kernel._life(NOW, 16, pid, struct.pack("<IIIIq16s", pid, 1, 1, 1, NOW, b"java"))
    for pid in pids:
        kernel.exit(NOW + 20_000, pid)
    kernel.write(spool)
    for pid, name in zip(pids, ("agent-1.spool", "agent-1.2.spool"), strict=True):
        agent = Agent(1, created_ns=NOW)
        agent.fact(b"command", b"of %d" % pid)
        agent.write(tmp_path)
        (tmp_path / "agent-1.spool").rename(spool / name)
        write_word(spool / name, HOST_PID, pid, os.geteuid())
    window = {"start_ns": NOW, "end_ns": NOW + 30_000}
    plain = {"format": "headway-recording", "version": 1, "state": "recording", "pid": 50, "window": window}
    write_manifest(recording, {**plain, "command": ["java"], "mode": "ebpf"})
    recover(recording)
    rows = open_recording(recording).query("SELECT pid, value FROM jvm ORDER BY pid").fetchall()
    assert rows == [(100, "of 100"), (200, "of 200")]


@pytest.mark.root
def test_an_agent_outside_the_recording_can_not_say_that_it_is_another_jvms(tmp_path: Path) -> None:
    stranger = Rights(65534, 65534, (), is_ours=False)
    soon = Deadline.after(20)
    private = TargetDirectory.create(os.open("/tmp", os.O_PATH | os.O_DIRECTORY), stranger, soon)
    try:
        agent = Agent(1, created_ns=NOW)
        agent.write(tmp_path)
        write_word(tmp_path / "agent-1.spool", HOST_PID, 4242, 0)
        forged = (tmp_path / "agent-1.spool").read_bytes()
        os.close(private.create_file("agent-1.spool", soon))
        private.with_file("agent-1.spool", soon, lambda fd: os.write(fd, forged), flags=os.O_RDWR)
        into = tmp_path / "spool"
        into.mkdir()
        copy, problems = fetch(private, "agent-1.spool", "agent-1.spool", 77, into, soon)
    finally:
        private.remove(Deadline.after(10))
    assert problems == []
    assert read_word(copy, HOST_PID, 0) == 77


def test_methods_whose_names_are_shown_alike_cost_no_frame_of_another_jvm() -> None:
    """The agent of one JVM names two methods b"\\xff" and b"\\\\xff": both are shown as the latter."""
    columns = {"class_name": "a", "method": "m", "kind": "java"}

    def frames(*classes: str) -> pa.Table:
        rows = [{**columns, "class_name": each, "line": 7} for each in classes]
        return pa.Table.from_pylist(
            rows,
            pa.schema(
                [("class_name", pa.string()), ("method", pa.string()), ("line", pa.int32()), ("kind", pa.string())]
            ),
        )

    ids = _FrameIds(frames("\\xff", "\\xff", "b"))
    none = np.zeros(0, dtype=np.int64)
    sampled = FileStacks(0, 1, none, none, np.array([0, 1, 3]), none.astype(np.bool_), frames("b", "c", "unused", "d"))
    assert ids.of_stacks(sampled).tolist() == [2, 3, -1, 4]
    new = ids.new_rows()
    assert new is not None
    assert new.select(["frame_id", "class_name"]).to_pylist() == [
        {"frame_id": 3, "class_name": "c"},
        {"frame_id": 4, "class_name": "d"},
    ]
    assert ids.new_rows() is None


def phases(*rows: tuple[int, int]) -> pa.Table:
    pids, lengths = zip(*rows, strict=True)
    columns = {"pid": pids, "start_ns": [5] * len(rows), "dur_ns": lengths, "kind": ["gc_pause"] * len(rows)}
    return conform(TABLES["jvm_phase"], pa.table(columns))


def test_all_jvms_together_stay_below_what_readers_take() -> None:
    pids = range(100, 140)
    possible = ImpossibleValueFilter((0, LARGEST // 4), pids)
    kept: Counter[int] = Counter()
    for _ in range(3):
        rows = phases(*((pid, LARGEST // 100) for pid in (*pids, 7) for _ in range(2)))
        for row in possible.rows(TABLES["jvm_phase"], rows).to_pylist():
            kept[row["pid"]] += row["dur_ns"]
    assert set(kept) == {*pids, 7}, "each has its share, those that are no JVM, too"
    assert sum(kept.values()) < LARGEST
