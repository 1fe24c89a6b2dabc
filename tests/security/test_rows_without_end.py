"""Recordings with more threads or locks than an answer lists: the first are given out, sums are of all, the rest is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway.analyses.common import limits, memory
from headway.analyses.locks.analysis import locks
from headway.analyses.locks.groups import make_groups
from headway.analyses.locks.lazy_rows import LazyRows
from headway.analyses.scheduling import threads as threads_module
from headway.analyses.scheduling.lanes import lanes
from headway.analyses.scheduling.threads import threads
from headway.analyses.waits.classification.sites import line_of, sites_of
from headway.analyses.waits.tables import blocks
from headway.report.json import locks as json_of_locks
from headway.report.terminal import locks as locks_on_terminal
from headway.report.terminal import threads as threads_on_terminal
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.recording_builder import Shape, make
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
MOST, LOCKS = 7, 40


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for listing in (limits, threads_module, json_of_locks):
        monkeypatch.setattr(listing, "MOST_ROWS", MOST)
    for printed in (threads_on_terminal, locks_on_terminal):
        monkeypatch.setattr(printed, "MOST_PRINTED", MOST)


@pytest.fixture(scope="module")
def many_threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("threads") / "t.headway", Shape(threads=40, slices=2000))


@pytest.fixture(scope="module")
def many_locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One thread waits for each lock once at a line of its own, each time 1 ns longer."""
    waits, at = [], 0
    for number in range(LOCKS):
        waits.append(Wait(0, number, at, at + number + 1, stack=number))
        at += number + 2
    stacks = [(*LOCK_FRAMES, (f"com.acme.C{number}", "get")) for number in range(LOCKS)]
    lock_recording = LockRecording([FakeThread("app", 0, [("B", at)])], waits, [], wall=at, stacks=stacks)
    return lock_recording.write(tmp_path_factory.mktemp("locks") / "l.headway")


@pytest.mark.usefixtures("few_rows")
def test_the_threads_that_ran_longest_are_listed_and_the_others_counted(run: Run, many_threads: Path) -> None:
    recording = open_recording(many_threads)
    all_ns = sorted((ns for (ns,) in recording.query("SELECT running_ns FROM thread").fetchall()), reverse=True)
    found = threads(recording)
    assert [row.running_ns for row in found.rows] == all_ns[:MOST]
    assert (found.left_out, found.count) == (40 - MOST, 40)
    assert sum(row.share or 0 for row in found.rows) == pytest.approx(sum(all_ns[:MOST]) / sum(all_ns))
    code, out, err = run("threads", many_threads, "--json")
    assert (code, len(json.loads(out))) == (0, MOST)
    assert err.startswith(f"HW329: of threads the {MOST} first are listed and {40 - MOST} more are left out")
    assert f"{40 - MOST} more that ran less: --json, or headway query" in run("threads", many_threads, "--all")[1]


@pytest.mark.usefixtures("few_rows")
def test_the_sum_of_threads_without_a_lane_has_those_that_are_not_listed(many_threads: Path) -> None:
    recording = open_recording(many_threads)
    rest = lanes(recording, threads(recording).rows, limit=3).rest
    assert rest is not None
    text = """SELECT count(*), sum(running_ns), sum(runnable_ns), sum(blocked_ns), sum(switches)
      FROM (SELECT * FROM thread ORDER BY running_ns DESC, thread_id OFFSET 3)"""
    sums = (rest.threads, rest.running_ns, rest.runnable_ns, rest.blocked_ns, rest.switches)
    assert sums == recording.query(text).fetchone()
    assert sum(rest.by_kind.values()) == rest.threads


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("by", ["place", "lock", "site"])
def test_the_dearest_locks_are_listed_and_the_others_counted(run: Run, many_locks: Path, by: str) -> None:
    code, out, err = run("locks", many_locks, "--by", by, "--sort", "thread-time", "--json")
    waited = [row["parking_thread_time_ns"] for row in json.loads(out)]
    assert (code, waited) == (0, [*range(LOCKS, LOCKS - MOST, -1)])
    assert f"HW329: of locks the {MOST} first are listed and {LOCKS - MOST} more are left out" in err
    shown = run("locks", many_locks, "--by", by, "--all")[1]
    assert f"{LOCKS - MOST} more: --json" in shown
    assert f"{LOCKS} waits" in shown or f"{LOCKS - 1} more" in shown


def test_rows_of_a_slice_are_those_one_by_one(many_locks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LazyRows, "_KEPT", 5)
    rows = locks(open_recording(many_locks)).rows
    assert len(rows) == LOCKS
    assert rows[:LOCKS] == [rows[place] for place in range(LOCKS)]


def test_each_site_is_its_own_line_however_many_there_are(many_locks: Path) -> None:
    """Lines were looked for in a list of all lines: a million took hours."""
    data = blocks.load(open_recording(many_locks), None)
    sites = sites_of(data)
    found = make_groups(data, sites, "site")
    lines = [line_of(data, int(stack)) for stack in sites.stack]
    assert [found.label[group] for group in found.group] == lines
    assert found.count == len(set(lines)) == LOCKS


def test_a_recording_that_takes_much_memory_says_so_first(
    run: Run, many_threads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("threads", many_threads)[2] == ""
    monkeypatch.setattr(memory, "LIMIT", memory.expected(open_recording(many_threads)) - 1)
    for command in (["threads"], ["notes"], ["report", "-o", tmp_path / "r.html"]):
        code, _, err = run(command[0], many_threads, *command[1:])
        assert (code, err[:6]) == (0, "HW330:")


@pytest.mark.parametrize("table", ["thread", "frame", "jvm_phase"])
def test_a_million_rows_of_what_is_kept_in_memory_are_more_than_a_gibibyte(table: str) -> None:
    def of(**rows: int) -> Any:
        tables = {name: SimpleNamespace(rows=count) for name, count in rows.items()}
        return SimpleNamespace(manifest=SimpleNamespace(tables=tables))

    assert memory.expected(of(**{table: 1_000_000})) > memory.LIMIT
    # Locks of few places share rows; switches and samples are read in parts.
    assert memory.expected(of(thread=10_000, frame=50_000, blocker=10_000_000, slice=100_000_000)) < memory.LIMIT


def test_stacks_in_columns_are_those_of_the_tables(many_locks: Path) -> None:
    recording = open_recording(many_locks)
    stacks = blocks.load(recording, None).stacks
    rows = recording.query(
        "SELECT stack_id, class_name, method, line FROM stack JOIN frame USING (frame_id) ORDER BY stack_id, depth"
    ).fetchall()
    found: dict[int, list[tuple[str, str, int | None]]] = {}
    for stack, *frame in rows:
        found.setdefault(stack, []).append((frame[0], frame[1], frame[2]))
    assert len(found) == LOCKS
    assert {stack: list(stacks.frames(stack)) for stack in found} == found
    assert (stacks.frames(-1), stacks.frames(LOCKS)) == ((), ())


def test_fewer_waits_are_read_where_a_million_objects_have_a_place_each() -> None:
    """They can't share rows, so that they take the memory that waits would have."""

    def most(frames: int) -> int:
        tables = {name: SimpleNamespace(rows=rows) for name, rows in (("blocker", 1_000_000), ("frame", frames))}
        recording: Any = SimpleNamespace(manifest=SimpleNamespace(tables=tables))
        return memory.most_waits(recording)

    assert most(1_000_000) == memory.LEAST < most(1000)
