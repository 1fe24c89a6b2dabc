"""What a JVM's agent says of its JVM is text of any length and kind: it costs no recording, and fills no manifest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.scheduling.recording_cost import recording_cost
from headway.model.names import may_have_virtual_threads
from headway.record.finalise import finalise as finalising
from headway.record.finalise import masking
from headway.record.finalise.finalise import finalise
from headway.record.finalise.recover import recover
from headway.record.machine import host
from headway.record.machine.counters import CounterLog
from headway.store import files, manifest, open_recording
from support.builders import causal_notes_builder as build
from support.builders.hostile_spool import agent_with_facts
from support.builders.spool_builder import Spool

Run = Callable[..., tuple[int, str, str]]
MS = 1_000_000


def left_by_its_recorder(directory: Path, *facts: tuple[bytes, bytes], jvms: int = 1) -> Path:
    spool = directory / "spool"
    spool.mkdir(parents=True)
    of_kernel = Spool()
    of_kernel.snapshot(0, 10, "S", pid=10)
    of_kernel.write(spool)
    for pid in range(1000, 1000 + jvms):
        (spool / f"agent-{pid}.spool").write_bytes(agent_with_facts(facts, pid, 2 * MS))
    base = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": 10}
    window = {"start_ns": 0, "end_ns": 100 * MS}
    rest = {"attached": True, "ended_by": "exit", "window": window, "notices": []}
    (directory / "manifest.json").write_text(json.dumps({**base, **rest}))
    return directory


@pytest.mark.parametrize("number", ["²", "9" * 4000, "9" * 30_000, "-5", "1e9", "٣"])
@pytest.mark.parametrize("key", [b"locks_gap", b"locks_lost", b"locks.hooks_ns", b"locks.hooks_timed"])
def test_what_is_no_number_of_an_agents_is_none(tmp_path: Path, key: bytes, number: str) -> None:
    """One of eleven bytes ended the recording of all JVMs in a defect's message."""
    value = f"{number} {number}" if key.startswith(b"locks_") else number
    directory = left_by_its_recorder(tmp_path / "a.headway", (b"locks", b"on"), (key, value.encode()))
    finalise(directory)
    recording = open_recording(directory)
    assert not {"HW209", "HW210"} & {each.id for each in recording.notices}
    assert recording_cost(recording).hooks_ns is None


@pytest.mark.parametrize("version", ["9" * 5000, "1." + "9" * 5000, "\u0662\u0665"])
def test_a_version_of_java_that_is_none_ends_no_analysis(tmp_path: Path, run: Run, version: str) -> None:
    """One of 5,000 digits ended `why`, `locks` and `whatif` of the recording in a defect's message, and its report."""
    directory = left_by_its_recorder(tmp_path / "a.headway", (b"locks", b"on"), (b"java.version", version.encode()))
    finalise(directory)
    assert open_recording(directory).manifest.jvms[0]["version"] == version
    assert not may_have_virtual_threads(version)
    for command in ("why", "locks", "notes"):
        code, _, err = run(command, directory)
        assert code == 0 or err.startswith("HW4"), (command, err)


@pytest.mark.parametrize("key", ["flags", "java.version", "locks_problem", "parked_before", "coroutines"])
def test_long_facts_of_many_jvms_share_the_room_of_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """The options of one JVM, 15 MB of them, made a manifest that could not be read again; its records were removed by then."""
    monkeypatch.setattr(finalising, "_MOST_FACTS_BYTES", 1 << 16)
    facts = ((b"locks", b"on"), (key.encode(), b"\x01" * 30_000))
    directory = left_by_its_recorder(tmp_path / "a.headway", *facts, jvms=8)
    finalise(directory)
    assert (directory / "manifest.json").stat().st_size < (1 << 16) + 8 * 3 * 6 * 1024
    recording = open_recording(directory)
    (longest,) = recording.query("SELECT max(length(value)) FROM jvm").fetchall()
    assert longest == (30_000,), "the table has it whole"


def test_options_without_end_are_not_looked_through_for_secrets_for_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """15 MB of them took 15 s, and a minute and more as words of two letters; the kernel takes 6 MiB of an exec at most."""
    monkeypatch.setattr(masking, "_MOST_BYTES", 1 << 18)
    monkeypatch.setattr(masking, "_LEAST_BYTES", 1 << 12)
    urls = b"https://user:secret@host " * 2000
    agents = [{"facts": [(b"flags", b"-Dapp.token=1234"), *((b"key", urls) for _ in range(10))]}] * 64
    for agent in masking.with_masked_facts(agents, {}):
        assert agent["facts"][0] == (b"flags", b"-Dapp.token=***")
        assert len(agent["facts"]) == 11
        assert sum(len(value) for _, value in agent["facts"]) < 6000
        assert agent["facts"][-1][1].endswith(b"...")
        assert all(b"secret" not in value for _, value in agent["facts"]), "nor a part of one, where a text is cut"


def test_a_samplers_long_reason_is_cut_short(tmp_path: Path) -> None:
    directory = left_by_its_recorder(tmp_path / "a.headway", (b"locks", b"off"))
    (directory / "spool" / "sample-1000.txt").write_text(f"problem {'x' * 500_000}\nevent_problem {'y' * 500_000}\n")
    draft = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**draft, "sampling": {"events": ["cpu"]}}))
    finalise(directory)
    assert {"HW211", "HW216"} <= {each.id for each in open_recording(directory).notices}
    assert (directory / "manifest.json").stat().st_size < 10_000


def test_a_thousand_cgroups_within_each_other_take_no_thousand_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = [tmp_path / "/".join(["g"] * depth) for depth in range(200, 0, -1)]
    nested[0].mkdir(parents=True)
    for group in nested:
        (group / "cpu.max").write_text("50000 100000\n")
        (group / "cpu.stat").write_text("throttled_usec 7\n")
    monkeypatch.setattr(host, "cgroups", lambda pid: iter(nested))
    log = CounterLog(tmp_path, os.getpid())
    before = len(os.listdir("/proc/self/fd"))
    log.open()
    try:
        assert len(os.listdir("/proc/self/fd")) - before <= 40
        assert log.throttled_last_ns == 7000
    finally:
        log.close()


@pytest.mark.parametrize(("depth", "looked_at"), [(20, 21), (31, 32), (1500, 32)])
def test_of_cgroups_without_end_the_innermost_and_the_outermost_are_looked_at(
    tmp_path: Path, depth: int, looked_at: int
) -> None:
    """A look at a thousand levels takes ten seconds: each is found by a name of that many parts."""
    (tmp_path / "self").mkdir()
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(f"0::{'/g' * depth}\n")
    (tmp_path / "self" / "mountinfo").write_text("31 23 0:28 / /mounted rw - cgroup2 cgroup2 rw\n")
    found = [*host.cgroups(7, proc=tmp_path)]
    assert len(found) == looked_at
    levels = [len(each.parts) - 2 for each in found]
    assert levels[0] == depth
    assert levels[-1] == 0
    assert levels == sorted(levels, reverse=True)


def test_a_manifest_that_could_not_be_read_again_is_not_written_and_the_records_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = left_by_its_recorder(tmp_path / "a.headway", (b"flags", b"x" * 20_000))
    for module in (files, manifest):
        monkeypatch.setattr(module, "MOST_JSON_BYTES", 10_000)
    with pytest.raises(OSError, match="File too large"):
        finalise(directory)
    assert (directory / "spool" / "agent-1000.spool").exists()
    monkeypatch.undo()
    finalise(directory)
    assert open_recording(directory).query("SELECT count(*) FROM jvm").fetchall() == [(1,)]


ODD: tuple[dict[str, Any], ...] = (
    {"causal_run": -1},
    {"causal": {"progress": [1, {}, {"name": 1}, {"name": "work"}], "scope": 5, "target": [], "warmup_ms": "x"}},
    {"exit_code": 1 << 40},
)


@pytest.mark.parametrize("odd", ODD, ids=map(str, ODD))
def test_a_strangers_causal_recording_is_recovered_whatever_its_request_says(
    tmp_path: Path, odd: dict[str, Any]
) -> None:
    directory = tmp_path / "a.headway"
    build.recording(directory, {77: build.text(build.a_run())})
    (directory / "runs" / "²").mkdir(parents=True)
    written = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**written, **odd}))
    recover(directory)
    assert open_recording(directory).query("SELECT sum(visits) FROM experiment_visit").fetchall() == [(515,)]
