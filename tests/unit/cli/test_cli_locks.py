"""`headway locks` and `headway dump` as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.analyses.locks import analysis as locks
from headway.analyses.locks import live
from headway.cli import live_locks
from headway.report.analyses import locks as asked
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread, write

Run = Callable[..., tuple[int, str, str]]
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
GET_TASK = ((CONDITION, "await"), ("java.util.concurrent.ThreadPoolExecutor", "getTask"), ("java.lang.Thread", "run"))
EVIL = "[red]x[/red]\x1b]0;title\x07\u202e"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stacks = [(*LOCK_FRAMES, ("org.example.Store", "put")), GET_TASK, (*LOCK_FRAMES, (EVIL, "get"))]
    lock_recording = LockRecording(
        [FakeThread("app", 0, [("B", 100)], f"t{i}") for i in range(3)] + [FakeThread("app", 0, [("B", 100)], EVIL)],
        [
            Wait(0, 0, 10, 90, owner=3, waker=3, waking=90, stack=0, waker_stack=2),
            Wait(1, 0, 20, 60, owner=3, stack=2),
            Wait(2, 1, 0, 100, stack=1),
            Wait(3, 2, 5, 85, owner=1, waker=1, waking=85, stack=0),
        ],
        [LockHold(0, 3, 0, 90)],
        classes=[LOCK_CLASS, CONDITION, EVIL],
        stacks=stacks,
        facts={"notices": [{"id": "HW100", "message": "long " * 60, "remedy": "sudo " * 40}]},
    )
    return lock_recording.write(tmp_path_factory.mktemp("locks") / "a.headway")


def test_the_verdict_comes_first_then_tables_then_warnings(run: Run, recording: Path) -> None:
    code, out, err = run("locks", recording)
    assert (code, err) == (0, "")
    flat = " ".join(out.split())
    places = [
        flat.index(part)
        for part in (
            "org.example.Store.put:4 (ReentrantLock@1000) made threads wait for 120 ns in all",
            "held it meanwhile",
            "Chain: ReentrantLock@1000, held by",
            "Contention, by place",
            "woken by",
            "Idle waiting (no contention)",
            "pool-worker",
            "Warnings",
        )
    ]
    assert places == sorted(places)


def test_it_fits_80_columns_and_holds_nothing_that_a_terminal_obeys(run: Run, recording: Path) -> None:
    for options in ([], ["--by", "lock"], ["--by", "class"], ["--by", "site"], ["--all"]):
        _, out, _ = run("locks", recording, *options)
        assert max(map(len, out.splitlines())) <= 80
        assert all(char.isprintable() or char == "\n" for char in out)


def test_json_is_a_list_with_the_promised_keys(run: Run, recording: Path) -> None:
    code, out, err = run("locks", recording, "--json")
    rows = json.loads(out)
    assert (code, err.split(":")[0]) == (0, "HW100")
    assert {
        "blocker_id", "class_name", "identity_hash", "kind", "contention", "first_thread", "first_stack", "times_parked",
        "parked_now", "peak_parked", "parking_thread_time_ns", "parking_real_time_ns", "average_parking_time_ns",
        "average_hold_time_ns", "true_hold_time_ns", "real_time_util_pct", "thread_time_util_pct",
        "real_life_time_util_pct", "thread_life_time_util_pct", "lost_core_ns", "sites", "holders", "wakers", "dead",
    } <= set(rows[0])  # fmt: skip
    first = rows[0]
    assert (first["blocker_id"], first["times_parked"], first["parking_thread_time_ns"]) == (0, 2, 120)
    assert set(first["true_hold_time_ns"]) >= {"p50", "p99", "max"}
    assert sum(first["holders"][0]["doing"].values()) == first["holders"][0]["wait_ns"]
    assert sum(first["holding"].values()) == 120
    assert [(each["thread"], each["line"], each["share"]) for each in first["wakers"]] == [(EVIL, f"{EVIL}.get:4", 1.0)]
    assert [row["contention"] for row in rows] == [True, True, False]


def test_rows_may_be_grouped_sorted_and_left_out(run: Run, recording: Path) -> None:
    by_class = json.loads(run("locks", recording, "--json", "--by", "class")[1])
    assert sorted(row["class_name"] for row in by_class) == sorted([LOCK_CLASS, CONDITION, EVIL])
    by_site = json.loads(run("locks", recording, "--json", "--by", "site")[1])
    assert {row["site"] for row in by_site} >= {"org.example.Store.put:4"}
    often = json.loads(run("locks", recording, "--json", "--min-parks", "2")[1])
    assert [row["blocker_id"] for row in often] == [0]
    longest = json.loads(run("locks", recording, "--json", "--sort", "average")[1])
    assert [row["blocker_id"] for row in longest] == [1, 2, 0]


def test_a_window_clips_what_it_cuts(run: Run, recording: Path) -> None:
    rows = json.loads(run("locks", recording, "--json", "--from", "50ns", "--to", "70ns")[1])
    assert {row["blocker_id"]: row["parking_thread_time_ns"] for row in rows} == {0: 30, 1: 20, 2: 20}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["REC", "--pid", "1"],
        ["REC", "--watch"],
        ["REC", "--interval", "1s"],
        ["REC", "--sort", "nonsense"],
        ["REC", "--by", "thread"],
        ["REC", "--min-parks", "-1"],
        ["REC", "--from", "200ns"],
        ["--pid", "1", "--by", "site"],
        ["--pid", "1", "--from", "1s"],
        ["--pid", "1", "--interval", "0"],
        ["--pid", "1", "--interval", "10%"],
        ["--pid", "x"],
    ],
    ids=" ".join,
)
def test_nonsense_is_wrong_usage(run: Run, recording: Path, arguments: list[str]) -> None:
    code, out, err = run("locks", *[recording if word == "REC" else word for word in arguments])
    assert (code, out) == (2, "")
    assert "Traceback" not in err


@pytest.mark.parametrize("command", [["locks"], ["dump"]])
def test_a_process_that_is_not_there_or_no_jvm_is_an_error_with_the_next_command(run: Run, command: list[str]) -> None:
    code, out, err = run(*command, "--pid", 2**22 + 1)
    assert (code, out, err.split(":")[0]) == (1, "", "HW004")
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            code, out, err = run(*command, "--pid", sleeper.pid)
        finally:
            sleeper.kill()
    assert (code, out, err.split(":")[0]) == (1, "", "HW022")
    assert "next:" in err


def test_a_recording_without_locks_is_an_error_that_says_how_to_record_them(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 100)])], 100)
    code, out, err = run("locks", path)
    assert (code, out) == (1, "")
    assert err.startswith("HW430: ")
    assert "--locks" in err


def test_nobody_waited_is_said(run: Run, tmp_path: Path) -> None:
    path = LockRecording([FakeThread("app", 0, [("R", 100)])], []).write(tmp_path / "a.headway")
    assert "No thread waited for a lock or a condition." in run("locks", path)[1]
    assert run("locks", path, "--json")[1].strip() == "[]"


def test_a_deadlock_is_the_first_thing_said(run: Run, tmp_path: Path) -> None:
    waits = [Wait(0, 0, 10, 100, owner=1, is_open=True), Wait(1, 1, 12, 100, owner=0, is_open=True)]
    path = LockRecording([FakeThread("app", 0, [("B", 100)], f"t{i}") for i in range(2)], waits).write(
        tmp_path / "a.headway"
    )
    out = run("locks", path)[1]
    assert out.startswith("* Deadlock at the end: t")
    assert all(row["deadlocked"] for row in json.loads(run("locks", path, "--json")[1]))


def test_tables_that_nobody_reads_any_more_are_no_error(recording: Path) -> None:
    script = f'"{sys.executable}" -m headway locks "{recording}" --all'
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; (sleep 0.2; {script}) | true"], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_help_offers_is_what_the_analyses_take() -> None:
    assert (asked.BY, asked.SORT, live_locks.SORT) == (locks.BY, locks.SORT, live.SORT)
