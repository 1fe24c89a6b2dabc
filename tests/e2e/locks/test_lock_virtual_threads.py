"""Locks of virtual threads: parks that are one wait, counted by the program, and holders that sleep, timed by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.store import Recording, open_recording
from support.drivers.recording_cli import headway, javas
from support.drivers.workloads import compile_java

pytestmark = pytest.mark.root
PROGRAMS = Path(__file__).parents[2] / "programs"


def record(folder: Path, java: str | Path, program: str, *args: str) -> tuple[list[list[str]], Path]:
    """Record a program with its locks; return the words of its lines, and the recording."""
    compile_java(folder, PROGRAMS / f"{program}.java")
    path = folder / "r.headway"
    done = headway("record", "--locks", "-o", path, "--", java, "-cp", folder, program, *args)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()], path


def answer(path: Path) -> list[dict[str, Any]]:
    done = headway("locks", "--json", "--by", "lock", "--all", path)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def blocks(recording: Recording, class_name: str) -> list[tuple[bool, bool]]:
    """Return of each block of objects of a class whether it is a virtual thread's, and whether it goes on with a wait."""
    return recording.query(
        "SELECT is_virtual, is_repark FROM block JOIN blocker USING (blocker_id) WHERE class_name = $1", [class_name]
    ).fetchall()


@pytest.mark.parametrize(("java", "threads"), [(javas()[0], ["platform"]), (javas()[1], ["virtual", "platform"])])
def test_a_waiter_that_is_woken_in_vain_waits_once_as_the_program_counts(
    java: str | Path, threads: list[str], tmp_path: Path
) -> None:
    said, path = record(tmp_path, java, "Barging", *threads)
    recording, rows = open_recording(path), answer(path)
    assert sum(int(in_vain) for _, _, in_vain in said) > 5
    for class_name, waits, in_vain in said:
        single = blocks(recording, class_name)
        assert sum(not is_repark for _, is_repark in single) == int(waits), class_name
        assert len(single) >= int(waits) + int(in_vain) / 2, class_name  # so many parks they were
        assert {is_virtual for is_virtual, _ in single} == {thread == "virtual" for thread in threads}
        mine = [row for row in rows if row["class_name"] == class_name]
        assert sum(row["times_parked"] for row in mine) == int(waits), class_name


def test_a_virtual_holder_that_sleeps_is_seen_to_sleep(tmp_path: Path) -> None:
    said, path = record(tmp_path, javas()[1], "SleepingHolders")
    rows = answer(path)
    names = {"lock": "ReentrantLock$FairSync", "semaphore": "Semaphore$FairSync", "monitor": "Object"}
    for way, slept_ns, held_ns, waited_ns, first_ns in said:
        mine = [row for row in rows if row["class_name"].endswith(names[way])]
        row = max(mine, key=lambda row: row["parking_thread_time_ns"])
        shares = {state: ns / sum(row["holding"].values()) for state, ns in row["holding"].items()}
        known = 1.0
        if (
            way == "monitor"
        ):  # since JDK 24 nobody tells who has it that never waited for it: it is not known, and said so
            known -= int(first_ns) / int(waited_ns)
            assert shares["unknown_ns"] + shares["sleeping_ns"] + shares["handoff_ns"] > 0.9, shares
        assert shares["sleeping_ns"] > 0.9 * known * int(slept_ns) / int(held_ns), (way, shares)
    asleep = next(row for row in rows if row["name"] == "Thread.sleep")
    assert (asleep["times_parked"], asleep["contention"]) == (3 * 6 * 5, False)
