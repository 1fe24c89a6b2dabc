"""What the agent's file of a process that means harm says never costs the recording: finalising it gives every table."""

from __future__ import annotations

import fcntl
import os
import secrets
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.record.finalise.recover import recover
from headway.store import TABLES, open_recording
from headway.store.manifest import write_manifest
from support.builders.spool_builder import Agent, Spool, record

NOW = 1_000_000_000
RAN_NS = [(10, 8000)]
"""What the kernel's records in `draft` say: thread 10 ran from 1 us to 9 us."""


def types_of_records() -> dict[str, int]:
    """The numbers of the kinds of records, by their names in wire/records.h."""
    text = (Path(__file__).parents[2] / "native/wire/records.h").read_text()
    words = text[text.index("enum hw_type") :].replace(",", " ").split()
    return {
        name: int(words[at + 2]) for at, name in enumerate(words) if name.startswith("HW_") and words[at + 1] == "="
    }


def draft(directory: Path, agent: Agent, *, with_kernel: bool, **facts: Any) -> Path:
    """A recording whose recorder died: one process, and the file of an agent."""
    recording = directory / "r.headway"
    spool = recording / "spool"
    spool.mkdir(parents=True, mode=0o700)
    recording.chmod(0o700)
    if with_kernel:
        builder = Spool()
        builder.fork(NOW, 10, comm=b"java")
        builder.switch(NOW + 1000, 0, None, 10)
        builder.switch(NOW + 9000, 0, 10, None)
        builder.exit(NOW + 20_000, 10)
        builder.write(spool)
    agent.write(spool)
    window = {"start_ns": NOW, "end_ns": NOW + 30_000}
    plain = {"format": "headway-recording", "version": 1, "state": "recording", "pid": 10, "window": window}
    write_manifest(recording, {**plain, "command": ["java"], "mode": "ebpf", "locks": {}, **facts})
    return recording


def recovered(recording: Path) -> dict[str, int]:
    """Rows of every table of what recover makes."""
    recover(recording)
    opened = open_recording(recording)
    found = {}
    for name in TABLES:
        (rows,) = opened.query(f'SELECT count(*) FROM "{name}"').fetchone() or (0,)
        found[name] = rows
    return found


def running_ns(recording: Path) -> list[tuple[int, int]]:
    """How long each thread ran, by number."""
    rows = open_recording(recording).query("SELECT tid, running_ns FROM thread ORDER BY tid").fetchall()
    return [(int(tid), int(ran)) for tid, ran in rows]


def locks(agent: Agent, number: int) -> None:
    """Records of locks with this number for every id, and times that are as far apart as they can be."""
    types = types_of_records()

    def add(kind: str, ns: int, body: bytes) -> None:
        agent.records.append(record(ns, types[kind], 10, body))

    most = (1 << 32) - 1
    agent.thread(NOW, 10, 5, b"x")
    add("HW_METHOD", NOW, struct.pack("<IHH", number, 3, 3) + b"a.Bfoo")
    add("HW_STACK", NOW, struct.pack("<IHHIi", number, 1, 0, number, -(1 << 31)))
    add("HW_BLOCKER", NOW, struct.pack("<IIIIIHH", number, most, 1, 5, number, 3, 3) + b"a.Bfoo")
    for kind in (1, 2, 3):
        for waking in (0, -(1 << 63), (1 << 63) - 1):
            ids = (number, number, 5, most, number, most)
            add("HW_BLOCK", 1 << 61, struct.pack("<qqIIIIIIHHI", 0, waking, *ids, kind, 65535 & ~2, most))
    add("HW_HOLD", 1 << 61, struct.pack("<qII", 0, number, 5))
    add("HW_BLOCKER_DEAD", NOW, struct.pack("<II", number, number))
    add("HW_WAITING_STACK", NOW, struct.pack("<IIII", number, most, 2, 0))


def objects(agent: Agent, number: int, windows: str = "") -> None:
    """Records of objects, their owners, cache lines, memory nodes and windows with this number for every id, count and place."""
    types = types_of_records()

    def add(kind: str, form: str, *values: int, text: bytes = b"") -> None:
        words = [
            min(each, (1 << 8 * struct.calcsize(f"<{letter}")) - 1) for each, letter in zip(values, form, strict=True)
        ]
        agent.records.append(record(NOW, types[kind], 10, struct.pack(f"<{form}", *words) + text))

    facts = {"objects_interval": "0", "accesses": "on", "access_lines": "on", "access_nodes": "on"}
    for key, value in {**facts, "access_owners": "allocator,last-writer"}.items():
        agent.fact(key.encode(), value.encode())
    if windows:
        agent.fact(b"access_windows", windows.encode())
    agent.thread(NOW, 10, 5, b"x")
    for java_id in (5, number):
        add("HW_ACCESS_WINDOW", "QIIQQQQQQQQQ", java_id, *[number] * 11)
        add("HW_JAVA_CLASS", "II", number, number, text=b"a.B")
        add("HW_ALLOCATION", "QIIQQQQQQQQQ", java_id, *[number] * 11)
        add("HW_ACCESS", "QIIQQQQQQ", java_id, *[number] * 8)
        for kind in ("HW_ACCESS_OWNERS", "HW_ACCESS_WRITERS"):
            add(kind, "QIIQQQQQQQQ", java_id, *[number] * 10)
        for kind in ("HW_ACCESS_PAIR", "HW_ACCESS_WRITER_PAIR"):
            add(kind, "QQIIQQQQ", java_id, *[number] * 7)
        add("HW_LINE_PLACE", "IIII", *[number] * 4)
        add("HW_LINE_WRITES", "QIIQ", java_id, *[number] * 3)
        for line in (0, number):
            add("HW_LINE_SHARE", "QQIIHHIQ", java_id, number, number, number, line, 1, 0, number)
        for kind in ("HW_ACCESS_NODES", "HW_ACCESS_NODE_PAIR", "HW_ACCESS_NODE_WRITER_PAIR"):
            for node in (0, number):
                add(kind, "QQHHHHQQ", java_id, number, min(number, 3), node, node, 0, number, number)


def mounts(agent: Agent, java_id: int) -> None:
    """Mounts of a virtual thread that overlap, never end, end before they begin, and are of carriers that are none."""
    types = types_of_records()
    for ns in (0, NOW, NOW, NOW - 1000, 1 << 61):
        for kind in ("HW_VTHREAD_MOUNT", "HW_VTHREAD_MOUNT", "HW_VTHREAD_UNMOUNT"):
            agent.records += [record(ns, types[kind], tid, struct.pack("<Q", java_id)) for tid in (10, 11, 99)]
    agent.records.append(record(NOW, types["HW_VTHREAD_MOUNT"], 10, b""))


def named(name: str, value: int) -> Callable[[Agent], None]:
    return lambda agent: setattr(agent, name, value)


SAYS: dict[str, Callable[[Agent], None]] = {
    **{
        f"processors {value[:4]!a}": lambda agent, value=value: agent.fact(b"available_processors", value.encode())  # type: ignore[misc]
        for value in ("\u00b2", "9" * 5000, "99999999999999999999", "-1")
    },
    "a huge id of a thread": lambda agent: agent.thread(NOW, 10, (1 << 64) - 1, b"x"),
    "the largest id of a thread": lambda agent: agent.thread(NOW, 10, (1 << 63) - 1, b"x"),
    "a huge tid": lambda agent: agent.thread(NOW, (1 << 32) - 1, 5, b"x"),
    "an endless time of a thread": lambda agent: (agent.thread(NOW, 10, 5, b"x"), agent.end(NOW, 10, 5, (1 << 64) - 1)),  # type: ignore[dict-item,func-returns-value]
    "all records lost": named("lost", (1 << 64) - 1),
    "born before time": lambda agent: (named("created_ns", -(1 << 63))(agent), agent.thread(NOW, 10, 5, b"x")),  # type: ignore[dict-item,func-returns-value]
    "never born": lambda agent: (named("created_ns", (1 << 63) - 1)(agent), named("lost", 3)(agent)),  # type: ignore[dict-item]
    "nobody's pid": lambda agent: (named("pid", 77)(agent), agent.thread(NOW, 78, 5, b"x")),  # type: ignore[dict-item,func-returns-value]
    "an impossible pid": lambda agent: (named("pid", (1 << 32) - 1)(agent), agent.thread(NOW, 10, 5, b"x")),  # type: ignore[dict-item,func-returns-value]
    "an endless phase": lambda agent: agent.phase(0, 1 << 61, 1, b"\xff\x1b[31m"),
    "locks": lambda agent: locks(agent, 1),
    "locks with huge numbers": lambda agent: locks(agent, (1 << 32) - 1),
    "locks with half of huge numbers": lambda agent: locks(agent, 1 << 31),
    **{
        f"objects{where}, all numbers {name}": lambda agent, number=number, windows=windows: objects(  # type: ignore[misc]
            agent, number, windows
        )
        for where, windows in {"": "", " in windows": "300:60000", " in windows of no length": "0:0"}.items()
        for name, number in {
            "1": 1,
            "0": 0,
            "of 16 bits": (1 << 16) - 1,
            "of 32 bits": (1 << 32) - 1,
            "of the largest sum": 1 << 58,
            "of 63 bits": (1 << 63) - 1,
            "of 64 bits": (1 << 64) - 1,
        }.items()
    },
    "mounts": lambda agent: mounts(agent, 50),
    "mounts of huge ids": lambda agent: mounts(agent, (1 << 64) - 1),
    "mounts of the largest ids": lambda agent: mounts(agent, (1 << 63) - 1),
    "no text": lambda agent: agent.thread(NOW, 10, 5, b"\0\x1b\xff\xed\xa0\x80"),
}


@pytest.mark.parametrize("with_kernel", [True, False], ids=["with the kernel's records", "with the agent's alone"])
@pytest.mark.parametrize("what", SAYS)
def test_a_recording_is_finalised_whatever_an_agent_says(tmp_path: Path, what: str, with_kernel: bool) -> None:
    agent = Agent(10, created_ns=NOW)
    SAYS[what](agent)
    rows = recovered(draft(tmp_path, agent, with_kernel=with_kernel))
    assert open_recording(tmp_path / "r.headway").manifest.state == "partial"
    if with_kernel:
        assert rows["thread"] == 1, "an agent's word makes no threads that the kernel has not seen"
        assert rows["slice"] >= 1
        assert running_ns(tmp_path / "r.headway") == RAN_NS, "nor does it change when these ran"


def test_what_an_honest_agent_says_of_objects_has_rows_in_each_of_their_tables(tmp_path: Path) -> None:
    """So that records of objects with impossible numbers, above, are ones that would be kept."""
    agent = Agent(10, created_ns=NOW)
    objects(agent, 1)
    rows = recovered(draft(tmp_path, agent, with_kernel=True))
    tables = [name for name in TABLES if name.startswith(("access", "line_")) or name == "allocation"]
    in_windows = [name for name in tables if "window" in name]
    assert (len(tables), len(in_windows)) == (12, 2)
    assert [name for name in tables if not rows[name]] == in_windows
    agent = Agent(10, created_ns=NOW)
    objects(agent, 1, "300:60000")
    rows = recovered(draft(tmp_path / "windows", agent, with_kernel=True))
    assert [name for name in in_windows if not rows[name]] == []


@pytest.mark.parametrize(
    "name", ["agent-10.spool", "lifecycle.spool", "sched-cpu0.spool", "locks-10.table", "counters.jsonl"]
)
@pytest.mark.parametrize("place", ["a pipe", "a link", "a hole"])
def test_no_file_of_a_spool_is_waited_for_or_followed(tmp_path: Path, name: str, place: str) -> None:
    agent = Agent(10, created_ns=NOW)
    agent.thread(NOW, 10, 5, b"x")
    recording = draft(tmp_path, agent, with_kernel=True)
    file = recording / "spool" / name
    if place == "a hole":
        with file.open("ab") as there:
            if name.endswith("table"):
                there.write(
                    struct.pack("<8sIIqIIIIQQqqQ", b"HWLOCKS\0", 2, 10, 0, 128, (1 << 32) - 1, 1, 0, 0, 0, 0, 0, 0)
                )
            there.truncate(1 << 40)
    else:
        file.unlink(missing_ok=True)
        os.mkfifo(file) if place == "a pipe" else file.symlink_to("/dev/zero")
    command = [sys.executable, "-m", "headway", "recover", str(recording)]
    done = subprocess.run(["prlimit", f"--as={8 << 30}", *command], capture_output=True, text=True, timeout=100)
    assert "Traceback" not in done.stderr, done.stderr
    of_kernel = name in ("lifecycle.spool", "sched-cpu0.spool")
    if of_kernel and place != "a hole":
        assert done.returncode in (0, 1), done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert open_recording(recording).manifest.state == "partial"
    if not of_kernel:
        assert running_ns(recording) == RAN_NS, "what the other files have is not lost"


NOTE = {"pid": 1 << 22, "start_ticks": 5, "uid": 0, "gid": 0, "same_mounts": True}
MANIFESTS: list[dict[str, Any]] = [
    {"window": 5},
    {"window": {"start_ns": None, "end_ns": 1}},
    {"locks": 5},
    {"sampling": 5},
    {"notices": "x"},
    {"notices": 5},
    {"busy_ns": 5},
    {"busy_ns": [1]},
    {"busy_ns": {"a": 1}},
    {"busy_ns": {"0": "x"}},
    {"agents_elsewhere": 5},
    {"agents_elsewhere": [5, {"pid": "abc"}, {"pid": 1}, {**NOTE, "name": 5}]},
    {"agents_elsewhere": [{**NOTE, "uid": -1, "name": ".headway-0123456789abcdef"}]},
]


@pytest.mark.parametrize("facts", MANIFESTS, ids=str)
def test_a_draft_with_impossible_values_is_a_message_or_does_no_harm(tmp_path: Path, facts: dict[str, Any]) -> None:
    recording = draft(tmp_path, Agent(10, created_ns=NOW), with_kernel=True, **facts)
    said = ""
    try:
        recover(recording)
    except HeadwayError as error:
        said = str(error)
    assert str(recording) in said or running_ns(recording) == RAN_NS, (
        "a message names the recording, or nothing is lost"
    )


@pytest.mark.root
def test_a_recording_can_name_no_directory_but_headways_own_to_be_removed(tmp_path: Path) -> None:
    """Somebody hands over a recording whose recorder seems to have died, which names what root should fetch and remove."""
    with (
        tempfile.TemporaryDirectory(prefix="victim-", dir="/tmp") as victim,
        tempfile.TemporaryDirectory(prefix=".headway-", dir="/tmp") as at_work,
    ):
        moved = Path(at_work).rename(Path("/tmp") / f".headway-{secrets.token_hex(8)}")
        other = os.open(moved, os.O_RDONLY)
        fcntl.flock(other, fcntl.LOCK_SH)
        for place in (Path(victim), moved):
            (place / "libc.so").write_bytes(b"x")
            (place / "agent-1.spool").write_bytes(b"x")
        names = [Path(victim).name, f"../tmp/{Path(victim).name}", f"{Path(victim).name}/../{moved.name}", moved.name]
        notes = [{**NOTE, "name": name} for name in names]
        recover(draft(tmp_path, Agent(10, created_ns=NOW), with_kernel=True, agents_elsewhere=notes))
        for place in (Path(victim), moved):
            assert sorted(each.name for each in place.iterdir()) == ["agent-1.spool", "libc.so"]
        moved.rename(at_work)
        os.close(other)


@pytest.mark.parametrize("field", range(7))
def test_ids_that_no_process_has_are_damage_and_cost_no_table(tmp_path: Path, field: int) -> None:
    """The kernel's records of a recording that somebody handed over: one id of each kind of record is impossible."""
    most = (1 << 32) - 1
    recording = draft(tmp_path, Agent(10, created_ns=NOW), with_kernel=True)
    ids = [most if each == field else 11 for each in range(7)]
    builder = Spool()
    builder.fork(NOW, 10, comm=b"java")
    builder._life(NOW, 16, ids[0], struct.pack("<IIIIq16s", ids[1], ids[2], ids[3], ids[4], NOW, b"t"))
    builder.switch(NOW + 1000, 0, None, 10)
    builder.switch(NOW + 2000, 0, 10, ids[5])
    builder.switch(NOW + 3000, 0, ids[6], 10)
    builder.switch(NOW + 9000, 0, 10, None)
    builder.exit(NOW + 20_000, 10)
    builder.write(recording / "spool")
    assert recovered(recording)["thread"] >= 1


def test_an_agent_makes_no_threads_where_the_kernels_births_are_damaged(tmp_path: Path) -> None:
    agent = Agent(10, created_ns=NOW)
    agent.thread(NOW, 10, 5, b"x")
    recording = draft(tmp_path, agent, with_kernel=True)
    life = recording / "spool" / "lifecycle.spool"
    life.write_bytes(b"X" + life.read_bytes()[1:])
    recovered(recording)
