"""A program that a signal ended, however it was sent: its path and its gains are those of one that ended by itself."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.real_servers import OwnClocks
from support.drivers.recording_cli import HEADWAY, JAVA_17, headway, manifest, wait_for

pytestmark = [pytest.mark.alone, pytest.mark.root]
PROGRAM = Path(__file__).parents[2] / "programs" / "OneConnection.java"
MS, WORKERS, SLEEP_NS = 1500, 6, 5_000_000
MOST = 0.8


@dataclass(frozen=True)
class Noted:
    """What the program measured itself: when its workers were at work, how often they slept since, and when they did so last."""

    begin_ns: int
    sleeps: int
    last_ns: int


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("signals")
    subprocess.run([Path(JAVA_17).with_name("javac"), "-d", made, PROGRAM], check=True)
    return made


def command(recording: Path, ms: int) -> list[str]:
    return [JAVA_17, "-cp", str(recording.parent), "OneConnection", str(ms), str(notes_of(recording))]


def notes_of(recording: Path) -> Path:
    return recording.with_suffix(".notes")


def noted(recording: Path) -> Noted:
    return Noted(*struct.unpack(">3q", notes_of(recording).read_bytes().ljust(24, b"\0")))


def program_of(recorder: int) -> int:
    """Return the process that headway started."""
    children = Path(f"/proc/{recorder}/task/{recorder}/children").read_text().split()
    return next(int(each) for each in children if Path(f"/proc/{each}/comm").read_text() == "java\n")


def send(to: str, recorder: int, number: int) -> None:
    if to == "group":
        os.killpg(recorder, number)
    else:
        os.kill(recorder if to == "headway" else program_of(recorder), number)


def since_begin(recording: Path) -> list[str]:
    """Return the options for the part of the recording in which the workers were at work, until its end."""
    return ["--from", f"{(noted(recording).begin_ns - manifest(recording)['window']['start_ns']) / 1e9:.6f}s"]


def of_program(recording: Path) -> tuple[float, float]:
    """Return what the path has in workers, of the time that they were at work, and in sleep, of what they slept at least."""
    path = json.loads(headway("critical-path", recording, *since_begin(recording), "--json").stdout)
    workers = sum(row["ns"] for row in path["by_thread"] if row["name"].startswith("worker-"))
    asleep = sum(row["ns"] for row in path["by_state"] if row["state"] == "sleep")
    measured = noted(recording)
    return workers / (measured.last_ns - measured.begin_ns), asleep / (measured.sleeps * SLEEP_NS)


def check(recording: Path) -> None:
    """Check the path and the likely gain without the wait for the connection, by what the program measured in this run."""
    assert min(of_program(recording)) > MOST
    found: dict[str, Any] = json.loads(headway("why", recording, *since_begin(recording), "--json").stdout)
    likely = max(float(row["likely_speedup"] or 1) for row in found["lost"] if row["cause"] == "lock_contention")
    measured = noted(recording)
    part_ns = measured.last_ns - measured.begin_ns
    # All workers are alike. One of them has the connection at a time: of the others each waits, but for moments.
    own = OwnClocks(part_ns, part_ns * (WORKERS - 1) / WORKERS, measured.sleeps * SLEEP_NS / WORKERS)
    own.check_gain(likely, found)


def test_the_path_of_a_program_that_ends_by_itself_goes_through_its_workers(folder: Path) -> None:
    recording = folder / "itself"
    done = headway("record", "--locks", "-o", recording, "--", *command(recording, MS))
    assert done.returncode == 0, done.stderr
    check(recording)


@pytest.mark.parametrize(
    ("to", "number"),
    [
        ("headway", signal.SIGINT),
        ("group", signal.SIGINT),
        ("program", signal.SIGTERM),
        ("program", signal.SIGKILL),
    ],
    ids=["INT", "INT to the group", "TERM to the program", "KILL"],
)
def test_a_path_that_a_signal_cut_off_goes_through_the_workers_all_the_same(folder: Path, to: str, number: int) -> None:
    recording = folder / f"{to}-{number}"
    words = [*HEADWAY, "record", "--locks", "-o", str(recording), "--", *command(recording, 600_000)]
    recorder = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: noted(recording).last_ns > noted(recording).begin_ns + MS * 1_000_000)
        send(to, recorder.pid, number)
        assert recorder.wait(60) == 128 + number
    finally:
        if recorder.poll() is None:
            os.killpg(recorder.pid, signal.SIGKILL)
    check(recording)
