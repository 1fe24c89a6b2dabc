"""Threads of one name among those that hold a lock or end its waits: one line for people, a row each in JSON."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from headway.analyses.locks.analysis import locks
from headway.report.html import build_payload
from headway.report.json.locks import locks_json
from headway.report.terminal import make_console
from headway.report.terminal.locks import render_locks
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import FakeThread

STACKS = [(*LOCK_FRAMES, ("org.example.A", "put")), (*LOCK_FRAMES, ("org.example.A", "get"))]


def shown(tmp_path: Path, names: list[str], waits: list[Wait]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return what the terminal, JSON and the page say of the one row."""
    threads = [FakeThread("app", 0, [("R", 500)], name=name) for name in names]
    path = LockRecording(threads, waits, stacks=STACKS).write(tmp_path / "a.headway")
    recording = open_recording(path)
    found, out = locks(recording), io.StringIO()
    console = make_console(out)
    console.width = 120
    render_locks(found, console)
    return out.getvalue(), next(iter(locks_json(found))), build_payload(recording)["locks"]["rows"][0]


def test_threads_of_one_name_are_one_line_with_their_number(tmp_path: Path) -> None:
    waits = [Wait(0, 0, 10 * i, 10 * i + 8, owner=i, waker=i, waking=10 * i + 8, waker_stack=0) for i in range(1, 8)]
    text, plain, page = shown(tmp_path, ["t", *["worker"] * 6, "other"], waits)
    lines = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if line.startswith("up ")] == [
        "up 86% woken by worker (6 threads) at org.example.A.put:4",
        "up 14% woken by other at org.example.A.put:4",
    ]
    assert sum(line.startswith("by ") for line in lines) == 2
    assert any(line.startswith("by 86% worker (6 threads): ") for line in lines)
    assert "worker (6 threads) and 1 other held it meanwhile" in text.replace("\n", " ")
    assert len(plain["wakers"]) == len(plain["holders"]) == 7, "JSON has them by id"
    assert [(each["thread"], each["times"]) for each in page["wakers"]] == [("worker (6 threads)", 6), ("other", 1)]
    assert [(each["thread"], each["wait_ns"]) for each in page["holders"]] == [("worker (6 threads)", 48), ("other", 8)]
    assert sum(page["holders"][0]["doing"].values()) == 48


def test_a_thread_that_wakes_others_from_two_places_is_one_thread_at_each(tmp_path: Path) -> None:
    waits = [Wait(0, 0, 10 * i, 10 * i + 8, waker=1, waking=10 * i + 8, waker_stack=i % 2) for i in range(4)]
    text, _, _ = shown(tmp_path, ["t", "worker"], waits)
    assert text.count("woken by worker at org.example.A.") == 2


def test_of_more_than_are_kept_the_number_is_said_to_be_the_least(tmp_path: Path) -> None:
    waits = [Wait(0, 0, 10 * i, 10 * i + 8, waker=i, waking=10 * i + 8, waker_stack=0) for i in range(1, 30)]
    text, _, page = shown(tmp_path, ["t", *["worker"] * 29], waits)
    assert "woken by worker (20 or more threads) at" in text
    assert page["more_wakers"] == 9


def test_the_others_are_those_that_are_not_of_the_name_that_is_shown(tmp_path: Path) -> None:
    """The name with the most time need not be that of the thread with the most."""
    spans = [(1, 0, 20), (2, 30, 42), (3, 50, 62)]
    waits = [Wait(0, 0, start, end, owner=i, waker=i, waking=end, waker_stack=0) for i, start, end in spans]
    text, _, _ = shown(tmp_path, ["t", "A", "B", "B"], waits)
    assert "B (2 threads) and 1 other held it meanwhile" in text.replace("\n", " ")


def test_the_page_counts_threads_that_it_leaves_out_and_not_their_names(tmp_path: Path) -> None:
    longer = {i: 15 if i <= 12 else 1 for i in range(1, 19)}
    waits = [
        Wait(0, 0, 20 * i, 20 * i + ns, owner=i, waker=i, waking=20 * i + ns, waker_stack=0) for i, ns in longer.items()
    ]
    _, plain, page = shown(tmp_path, ["t", *(f"n{i}" for i in range(12)), *["w"] * 6], waits)
    assert len(plain["holders"]) + plain["more_holders"] == 18
    assert (len(page["holders"]), page["more_holders"]) == (8, 10)
    shown_wakers = sum(6 if each["thread"].startswith("w (") else 1 for each in page["wakers"])
    assert shown_wakers + page["more_wakers"] == 18
