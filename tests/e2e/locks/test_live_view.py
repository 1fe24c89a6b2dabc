"""The live view of a JVM that is recorded, or attached to just for it: nothing stops, nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.drivers.recording_cli import HEADWAY, JAVA_17, headway, javas, wait_for
from support.drivers.workloads import workloads_jar
from support.oracles.lock_oracle import OPEN_LOCKS

pytestmark = pytest.mark.root
LOCK = "java.util.concurrent.locks.ReentrantLock"
PAPER = (
    *("first thread", "first stack", "class", "hash code", "times parked", "parked now", "peak parked"),
    *("parking thread-time", "parking real-time", "average parking time", "average hold time", "real-time utilisation"),
    *("thread-time utilisation", "real-life-time utilisation", "thread-life-time utilisation"),
)
"""The fifteen of Patros (2014), as a dump calls them."""
SECONDS = 600  # far longer than a test takes: it is ended by a signal


@pytest.fixture(params=javas(), ids=["jdk17", "jdk25"])
def java(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def running(
    java: str, *before: str | Path, kind: str = "juc", options: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Give a process that runs the program, and the pid of its JVM; the JVM is ended in the end, if it was not before."""
    jvm = [java, OPEN_LOCKS, *options, "-cp", workloads_jar(), "headway.workloads.LargeCriticalSection"]
    words = [str(word) for word in (*before, *jvm, kind, SECONDS, 1, 1, 1, 8)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.pid if not before else child_of(process.pid)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)  # which headway passes on


def end(process: subprocess.Popen[str], jvm: int) -> tuple[str, str]:
    """End the JVM as a user would, and return what was printed."""
    os.kill(jvm, signal.SIGTERM)
    return process.communicate(timeout=120)


def child_of(pid: int) -> int:
    """Return the child that has become a JVM; others of headway's children may come and go meanwhile."""

    def look_for_it() -> int | None:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if "libjvm.so" in Path(f"/proc/{child}/maps").read_text():
                    return int(child)
        return None

    return wait_for(look_for_it)


def snapshots(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def look(pid: int, *options: object) -> dict[str, Any]:
    """Look until threads wait for a lock of the program's, and return what was seen."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        done = headway("locks", "--pid", pid, "--json", *options)
        if done.returncode == 0 and waited_for(seen := json.loads(done.stdout)):
            return dict(seen)
    raise AssertionError((done.returncode, done.stdout, done.stderr))


def waited_for(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the program's own locks that somebody waits for just then; at its start the JDK's may be contended as well."""
    return [row for row in contended(snapshot) if row["parked_now"] and row["class_name"].startswith(LOCK)]


def same_lock(rows: list[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the same lock; the program has three, and which comes first changes."""
    (found,) = (each for each in rows if each["identity_hash"] == row["identity_hash"])
    return found


def contended(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in snapshot["locks"] if row["contention"]]


def test_a_recorded_jvm_is_looked_at_without_being_asked(tmp_path: Path, java: str) -> None:
    with running(java, *HEADWAY, "record", "--locks", "-o", tmp_path / "a.headway", "--") as (process, pid):
        first = look(pid)
        row = waited_for(first)[0]
        assert 1 <= row["parked_now"] <= row["peak_parked"] <= 8
        assert 0 < row["parking_real_time_ns"] <= first["recorded_ns"]
        assert row["parking_real_time_ns"] <= row["parking_thread_time_ns"] <= 8 * row["parking_real_time_ns"]
        dumped = headway("dump", "--pid", pid, "-o", tmp_path / "d.json", "--json")
        assert dumped.returncode == 0, dumped.stderr
        later = json.loads((tmp_path / "d.json").read_text())
        dumped_row = same_lock(later["locks"], row)
        assert dumped_row["times_parked"] >= row["times_parked"]
        assert headway("dump", "--pid", pid, "-o", tmp_path / "d.json").returncode == 1, (
            "no file is overwritten unasked"
        )
        out, err = end(process, pid)
    assert (process.returncode, out) == (143, ""), err
    whole = json.loads(headway("locks", tmp_path / "a.headway", "--by", "lock", "--json").stdout)
    recorded_row = same_lock(whole, row)
    assert recorded_row["times_parked"] >= dumped_row["times_parked"]
    assert recorded_row["parking_thread_time_ns"] >= dumped_row["parking_thread_time_ns"]


def test_a_jvm_that_nobody_records_is_attached_to_while_somebody_looks(tmp_path: Path, java: str) -> None:
    with running(java) as (process, pid):
        seen = waited_for(look(pid, "--interval", "300ms"))
        assert all(re.fullmatch(r"locker-\d", row["first_thread"]) for row in seen)
        assert "/locks-" not in Path(f"/proc/{pid}/maps").read_text(), "the agent has let go of its table"
        text = headway("dump", "--pid", pid, "--interval", "200ms", "-o", tmp_path / "d.txt")
        assert text.returncode == 0, text.stderr
        assert "parking thread-time" in (tmp_path / "d.txt").read_text()
        assert end(process, pid) == ("", "")
    assert process.returncode == -signal.SIGTERM or process.returncode == 143


def test_a_dump_has_every_metric_of_the_paper_for_a_lock_of_the_program(tmp_path: Path, java: str) -> None:
    with running(java, *HEADWAY, "record", "--locks", "-o", tmp_path / "a.headway", "--") as (process, pid):
        row = waited_for(look(pid))[0]
        done = headway("dump", "--pid", pid, "-o", tmp_path / "d.txt")
        assert done.returncode == 0, done.stderr
        shown = headway("locks", "--pid", pid)
        end(process, pid)
    assert re.fullmatch(r"locker-\d|warm-up", row["first_thread"])
    assert any(frame.startswith("headway.workloads.") for frame in row["first_stack"])
    # Several locks of one line are one row, and the first of them was waited for while the program warmed up.
    place, said_by = r"headway\.workloads\.\S+:\d+", r"first\s+waited\s+for\s+by\s+(locker-\d|warm-up)"
    objects = r"\((ReentrantLock\S+|\d+\s+objects\s+\(ReentrantLock\))\)"
    assert re.search(rf"\* {place}\s+{objects}:\s+{said_by}", shown.stdout), shown.stdout
    blocks = [block.splitlines() for block in (tmp_path / "d.txt").read_text().split("\n\n")[1:]]
    (lines,) = (
        lines
        for lines in blocks
        if lines[0].endswith(f"  {row['name']}") and f"  {'class':<30}{row['class_name']}" in lines
    )
    facts = {line[2:32].rstrip(): line[32:] for line in lines[1:] if line[2:3].strip()}
    assert set(PAPER) <= set(facts)
    assert not [name for name in PAPER if facts[name].startswith("-")]
    assert facts["first thread"] == f"{row['first_thread']} (Java id {row['first_java_id']})"
    at = lines.index(f"  {'first stack':<30}{facts['first stack']}")
    assert [line[32:] for line in lines[at : at + len(row["first_stack"])]] == row["first_stack"]


def test_watching_ends_with_the_jvm_and_at_ctrl_c_and_works_in_a_pipe(java: str) -> None:
    with running(java) as (process, pid):
        look(pid, "--interval", "200ms")
        command = [*HEADWAY, "locks", "--pid", str(pid), "--watch", "--json", "--interval", "200ms"]
        interrupted = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert interrupted.stdout is not None
        seen: list[dict[str, Any]] = []
        while len(seen) < 2 or not all(map(contended, seen[-2:])):  # a snapshot of the first moment may be empty
            seen.append(json.loads(interrupted.stdout.readline()))
        interrupted.send_signal(signal.SIGINT)
        rest, err = interrupted.communicate(timeout=100)
        assert (interrupted.returncode, err) == (0, "")
        first, second = seen[-2:]
        assert second["recorded_ns"] > first["recorded_ns"]
        before = {row["identity_hash"]: row["times_parked"] for row in contended(first)}
        rows = [row for row in contended(second) if row["identity_hash"] in before]
        assert rows
        for row in rows:
            parks = row["times_parked"] - before[row["identity_hash"]]
            between_s = (second["recorded_ns"] - first["recorded_ns"]) / 1e9
            assert row["parks_per_s"] == pytest.approx(parks / between_s, rel=1e-6)
        assert all(contended(each) for each in snapshots(rest))
        piped = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {' '.join(command[:-3])} --interval 100ms | head -n 1"],
            capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        assert (piped.returncode, piped.stderr) == (0, "")
        to_the_end = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert json.loads(to_the_end.stdout.readline() if to_the_end.stdout else "{}")
        end(process, pid)
        out, err = to_the_end.communicate(timeout=100)
    assert (to_the_end.returncode, err) == (0, "")
    assert all(each["pid"] for each in snapshots(out))


def test_a_jvm_that_is_recorded_without_its_locks_says_so(tmp_path: Path, java: str) -> None:
    with running(java, *HEADWAY, "record", "--no-locks", "-o", tmp_path / "a.headway", "--") as (process, pid):
        deadline = time.monotonic() + 100
        while (done := headway("locks", "--pid", pid)).stderr[:5] != "HW064" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert (done.returncode, done.stdout) == (1, "")
        assert "HW064" in done.stderr
        end(process, pid)
    assert process.returncode == 143


def test_a_monitor_is_shown_by_its_place_though_threads_waited_for_it_before_the_look(
    tmp_path: Path, java: str
) -> None:
    with running(java, kind="monitor") as (_, pid):
        wait_for(lambda: headway("locks", "--pid", pid, "--interval", "100ms").returncode == 0)  # the JVM is up
        done = headway("locks", "--pid", pid, "--interval", "700ms", "--json")
        assert done.returncode == 0, done.stderr
        shown = headway("locks", "--pid", pid, "--interval", "700ms")
    rows = [row for row in json.loads(done.stdout)["locks"] if row["kind"] == "monitor"]
    own = [row for row in rows if any(frame.startswith("headway.workloads.") for frame in row["first_stack"])]
    assert own
    assert all(re.fullmatch(r"headway\.workloads\.\S+:\d+", row["place"]) for row in own)
    assert re.search(r"^(headway\.workloads\.|…|[\w$]+\.)\S*:\d+", shown.stdout, re.MULTILINE), shown.stdout
    assert not [row["name"] for row in rows if row["place"] is None], rows


def test_a_look_at_a_jvm_that_nobody_records_asks_for_no_owners_of_monitors(tmp_path: Path) -> None:
    """The question stops a JDK 17; a recording asks it when it ends."""
    log = tmp_path / "safepoints.log"
    with running(JAVA_17, kind="monitor", options=(f"-Xlog:safepoint:file={log}",)) as (_, pid):
        wait_for(lambda: log.read_text())
        look_done = headway("locks", "--pid", pid, "--interval", "700ms")
        assert look_done.returncode == 0, look_done.stderr
        assert "RedefineClasses" in log.read_text()
        assert "GetObjectMonitorUsage" not in log.read_text()
        recorded = headway("record", "--locks", "--pid", pid, "--duration", "700ms", "-o", tmp_path / "r.headway")
        assert recorded.returncode == 0, recorded.stderr
        assert "GetObjectMonitorUsage" in log.read_text()
