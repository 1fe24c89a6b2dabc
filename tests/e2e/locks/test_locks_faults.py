"""What goes wrong in programs while locks are recorded: the program never notices, and the numbers are right to the last.

The programs count their own parks in a mapped file, before and after each, which is there however the JVM ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.builders.lock_faults import (
    JAVAS,
    PROGRAM,
    Counts,
    Locks,
    Park,
    command,
    fed,
    only_line,
    own_lines,
    read_counts,
    read_log,
    whole_lines,
)
from support.drivers.recording_cli import HEADWAY, attached, headway, start_headway, wait_for
from support.oracles.lock_oracle import Span, peak

pytestmark = pytest.mark.root
MORE_PARKS = 1000
MANY = 10_000


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> str:
    return JAVAS[request.param]


# --- a JVM that ends in the middle of parks --------------------------------------------------------------------------


def assert_sums(path: Path, said: dict[str, Any], at_least: list[int], counts: Counts) -> Locks:
    """Check a recording of ParkFaults: the busy threads' parks, and those that were parked when all ended."""
    locks = Locks(path)
    locks.assert_nothing_lost()
    busy = said["busy"]
    row = locks.blocker(said["busy_hash"])
    assert row["class_name"] == f"{PROGRAM}.ParkFaults$Busy"
    assert sum(at_least[:busy]) <= row["times_parked"] <= sum(counts.begun[:busy])
    closed = locks.blocks(row["blocker_id"])
    for java_id, least, most in zip(said["java_ids"][:busy], at_least, counts.begun, strict=False):
        assert least <= len(closed[java_id]) <= most
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(closed[java_id]))
    assert row["times_parked"] >= sum(map(len, closed.values()))
    row = locks.blocker(said["for_ever_hash"])
    assert counts.begun[busy:] == [1] * said["for_ever"]
    assert (row["times_parked"], row["peak_parked"], row["parked_now"]) == (said["for_ever"],) * 3
    return locks


def assert_open_blocks(locks: Locks, said: dict[str, Any]) -> None:
    """Check that who was parked at the end has an open block: a JVM that was told of its end writes them."""
    row = locks.blocker(said["for_ever_hash"])
    still = locks.blocks(row["blocker_id"], "is_open AND NOT is_attached AND NOT is_end_guessed")
    assert sorted(still) == sorted(said["java_ids"][said["busy"] :])
    end_ns = locks.recording.window_ns[1]
    for ((begin, end),) in still.values():
        assert begin <= said["now_ns"] <= end <= end_ns


@pytest.mark.parametrize(("how", "code"), [("return", 0), ("exit", 7), ("halt", 9)])
def test_a_jvm_that_ends_in_the_middle_of_parks_has_its_own_exit_code_and_the_right_sums(
    tmp_path: Path, java: str, how: str, code: int
) -> None:
    words = command(java, "ParkFaults", how, code, tmp_path / "counts")
    done = headway("record", "--locks", "-o", tmp_path / "r.headway", "--", *words)
    assert (done.returncode, own_lines(done.stderr)) == (code, [])
    said = only_line(done.stdout)
    # Its threads go on a little while the JVM dies: those parks may or may not be in the recording.
    locks = assert_sums(tmp_path / "r.headway", said, said["ended"], read_counts(tmp_path / "counts"))
    assert_open_blocks(locks, said)


def test_a_jvm_killed_in_the_middle_of_parks_leaves_every_park_until_then(tmp_path: Path, java: str) -> None:
    words = command(java, "ParkFaults", "killed", 0, tmp_path / "counts")
    with (tmp_path / "out").open("w") as out:
        recorder = subprocess.Popen(
            [*HEADWAY, "record", "--locks", "-o", str(tmp_path / "r.headway"), "--", *words],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = json.loads(wait_for(lambda: whole_lines(tmp_path / "out"))[0])
        before = sum(read_counts(tmp_path / "counts").ended)
        wait_for(lambda: sum(read_counts(tmp_path / "counts").ended) >= before + MORE_PARKS)
        os.kill(said["pid"], signal.SIGKILL)
        _, stderr = recorder.communicate(timeout=100)
    assert (recorder.returncode, own_lines(stderr)) == (128 + signal.SIGKILL, [])
    counts = read_counts(tmp_path / "counts")
    assert_sums(tmp_path / "r.headway", said, counts.ended, counts)


def test_a_jvm_that_crashes_in_the_middle_of_parks_crashes_by_itself_and_leaves_every_park(
    tmp_path: Path, java: str
) -> None:
    report = tmp_path / "hs_err"
    jvm = (f"-XX:ErrorFile={report}", "-XX:-CreateCoredumpOnCrash")
    plain = subprocess.run(command(java, "ParkFaults", "crash", 0, tmp_path / "plain", jvm=jvm), stdout=subprocess.PIPE)
    report.unlink()
    words = command(java, "ParkFaults", "crash", 0, tmp_path / "counts", jvm=jvm)
    done = headway("record", "--locks", "-o", tmp_path / "r.headway", "--", *words)
    assert done.returncode == plain.returncode != 0
    said = json.loads(done.stdout.splitlines()[0])
    banner = "".join(line for line in report.read_text().splitlines() if line.startswith("#"))
    assert "SIGSEGV" in banner
    assert "headway" not in banner
    counts = read_counts(tmp_path / "counts")  # its threads go on until the JVM has written its report
    assert_sums(tmp_path / "r.headway", said, counts.ended, counts)


# --- parks that end in other ways than by an unpark ------------------------------------------------------------------


def printed_rows(path: Path) -> list[dict[str, Any]]:
    """Return what `headway locks --json` says of each lock."""
    rows: list[dict[str, Any]] = json.loads(headway("locks", path, "--by", "lock", "--json").stdout)
    return rows


def test_interrupted_timed_out_and_spuriously_ending_parks_are_each_one_block_in_its_own_time(
    tmp_path: Path, java: str
) -> None:
    words = command(java, "ParkEndings", 100, tmp_path / "counts", tmp_path / "log")
    done = headway("record", "--locks", "-o", tmp_path / "r.headway", "--", *words)
    assert (done.returncode, own_lines(done.stderr)) == (0, [])
    said = only_line(done.stdout)
    locks = Locks(tmp_path / "r.headway")
    locks.assert_nothing_lost()
    row = locks.blocker(said["gate_hash"])
    assert (row["times_parked"], row["peak_parked"], row["parked_now"]) == (said["parks"], 1, 0)
    (parks,) = read_log(tmp_path / "log", said["gate_hash"]).values()
    blocks = locks.rows(
        "SELECT start_ns, dur_ns, is_timed, waker_java_id, is_kernel_waking FROM block WHERE blocker_id = $1 ORDER BY start_ns",
        row["blocker_id"],
    )
    assert len(parks) == len(blocks) == said["parks"]
    for park, (start, dur, is_timed, waker, is_kernel_waking) in zip(parks, blocks, strict=True):
        assert park.span[0] <= start <= start + dur <= park.span[1], park
        assert is_timed == (park.how in ("timeout", "interrupt"))
        # Who interrupts says so to nobody but the kernel, which wakes the thread in its name.
        assert waker == (said["main_id"] if park.how in ("unpark", "interrupt") else None), park
        assert waker is None or is_kernel_waking == (park.how == "interrupt"), park
    (row,) = [each for each in printed_rows(tmp_path / "r.headway") if each["identity_hash"] == said["gate_hash"]]
    wakers = {(each["line"] or "").partition(":")[0]: each["times"] for each in row["wakers"]}
    assert wakers == {f"{PROGRAM}.ParkEndings.wake": said["rounds"], "": said["rounds"]}
    assert len(row["wakers"]) == 2
    assert {each["java_id"] for each in row["wakers"]} == {said["main_id"]}


# --- classes that come and go ----------------------------------------------------------------------------------------


def test_classes_unloaded_while_their_objects_are_contended_keep_their_names_sums_and_stacks(
    tmp_path: Path, java: str
) -> None:
    words = command(java, "UnloadedLocks", 40)
    done = headway("record", "--locks", "-o", tmp_path / "r.headway", "--", *words)
    assert (done.returncode, own_lines(done.stderr)) == (0, [])
    said = only_line(done.stdout)
    assert said["gone"] == said["rounds"]
    locks = Locks(tmp_path / "r.headway")
    locks.assert_nothing_lost()
    for name, method, parks in (("Even", "parkEven", said["even_parks"]), ("Odd", "parkOdd", said["odd_parks"])):
        owner = f"{PROGRAM}.UnloadedLocks${name}"
        ((objects, times, hashes),) = locks.rows(
            "SELECT count(*), sum(times_parked), count(DISTINCT identity_hash) FROM blocker "
            "WHERE class_name = $1 AND kind = 'park'",
            owner,
        )
        assert (objects, hashes, times) == (said["rounds"] // 2, said["rounds"] // 2, parks)
        # Every stack of a park on it has its one method that parks, and no other class's.
        found = locks.rows(
            "SELECT f.class_name, f.method, count(DISTINCT s.stack_id), min(f.line) FROM block b JOIN blocker USING (blocker_id) "
            "JOIN stack s USING (stack_id) JOIN frame f USING (frame_id) "
            "WHERE blocker.class_name = $1 AND blocker.kind = 'park' AND f.class_name LIKE '%UnloadedLocks$%' "
            "AND f.method LIKE 'park%' GROUP BY 1, 2",
            owner,
        )
        assert [(row[0], row[1]) for row in found] == [(owner, method)]
        ((stacks,),) = locks.rows(
            "SELECT count(DISTINCT stack_id) FROM block JOIN blocker USING (blocker_id) "
            "WHERE blocker.class_name = $1 AND blocker.kind = 'park'",
            owner,
        )
        assert 0 < stacks == found[0][2] <= 4  # the same code loaded again is the same stack
    ((dead,),) = locks.rows("SELECT count(*) FROM blocker WHERE class_name LIKE '%UnloadedLocks$%' AND died_ns > 0")
    assert dead > 0


# --- many on one -----------------------------------------------------------------------------------------------------


def assert_many(tmp_path: Path, java: str, threads: str, kind: str, count: int) -> None:
    words = command(java, "ManyOnOne", threads, kind, count)
    done = headway("record", "--locks", "-o", tmp_path / "r.headway", "--", *words)
    assert (done.returncode, own_lines(done.stderr)) == (0, [])
    said = only_line(done.stdout)
    locks = Locks(tmp_path / "r.headway")
    locks.assert_nothing_lost()
    row = locks.blocker(said["hash"], {"juc": "park"}.get(kind, kind))
    assert row["class_name"] == said["class"]
    blocks = locks.blocks(
        row["blocker_id"], f"is_virtual = {threads == 'virtual'} AND NOT is_open AND NOT is_end_guessed"
    )
    assert len(blocks) == count
    assert sum(map(len, blocks.values())) == row["times_parked"]
    if kind == "juc":
        assert row["times_parked"] >= said["calls"] == count  # one that is woken may be overtaken, and parks again
    else:
        assert row["times_parked"] == said["calls"]
    # All were blocked at the same time. A thread says it is blocked on a monitor a moment before the agent is told.
    most = peak([span for spans in blocks.values() for span in spans])
    assert row["peak_parked"] == most
    assert row["parked_now"] == 0
    if kind in ("juc", "park"):
        assert most == count


@pytest.mark.parametrize("kind", ["juc", "monitor", "wait", "park"])
def test_64_threads_on_one_lock_are_all_seen_to_wait(tmp_path: Path, java: str, kind: str) -> None:
    assert_many(tmp_path, java, "platform", kind, 64)


@pytest.mark.parametrize("kind", ["juc", "monitor", "wait", "park"])
def test_10000_virtual_threads_on_one_lock_are_all_seen_to_wait(tmp_path: Path, kind: str) -> None:
    assert_many(tmp_path, JAVAS["jdk25"], "virtual", kind, MANY)


# --- attached in the middle of parks ---------------------------------------------------------------------------------


def parking(java: str, folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A program whose threads park, wake one another and want a monitor, until its standard input ends."""
    return fed(command(java, "ParkFaults", "stdin", 0, folder / "counts", folder / "log"), folder, lines=2)


def parks_go_on(folder: Path) -> None:
    """Wait until every busy thread has parked many times more."""

    def ended() -> list[int]:
        return read_counts(folder / "counts").ended[:4]

    before = ended()
    wait_for(lambda: all(new >= old + MORE_PARKS for old, new in zip(before, ended(), strict=True)))


def assert_parks_in_a_row(blocks: list[Span], parks: list[Park]) -> None:
    """Check that the blocks of a thread lie in its parks one by one, and that no park between two of them is missing."""
    assert len(blocks) >= MORE_PARKS
    first = next(at for at, park in enumerate(parks) if park.span[1] >= blocks[0][0])
    for block, park in zip(blocks, parks[first:], strict=False):
        assert park.span[0] <= block[0] <= block[1] <= park.span[1]
    assert first + len(blocks) <= len(parks)


def assert_attached(path: Path, said: dict[str, Any], log: Path, still_open: bool) -> Locks:
    locks = Locks(path)
    locks.assert_nothing_lost()
    row = locks.blocker(said["for_ever_hash"])
    assert (row["times_parked"], row["peak_parked"]) == (said["for_ever"],) * 2
    seen = locks.blocks(row["blocker_id"], f"is_attached AND is_open = {still_open}")
    assert sorted(seen) == sorted(said["java_ids"][said["busy"] :])
    row = locks.blocker(said["busy_hash"])
    closed = locks.blocks(row["blocker_id"])
    parks = read_log(log, said["busy_hash"])
    for java_id in said["java_ids"][: said["busy"]]:
        assert_parks_in_a_row(closed[java_id], parks[java_id])
    return locks


def test_attaching_and_detaching_in_the_middle_of_parks_twice_shows_all_parks_between(tmp_path: Path) -> None:
    """On the newer JDK; test_locks_hooks.py attaches and detaches twice on both."""
    first, second = tmp_path / "1.headway", tmp_path / "2.headway"
    with parking(JAVAS["jdk25"], tmp_path) as program:
        recorder = start_headway("record", "--locks", "-o", first, "--pid", program.pid)
        wait_for(lambda: attached(first))
        parks_go_on(tmp_path)
        refused = headway("record", "--locks", "-o", second, "--pid", program.pid)
        assert refused.returncode == 1, refused.stderr
        assert refused.stderr.startswith("HW")
        parks_go_on(tmp_path)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=100) == 0, recorder.communicate()
        parks_go_on(tmp_path)  # while nobody records
        recorder = start_headway("record", "--locks", "-o", second, "--pid", program.pid)
        wait_for(lambda: attached(second))
        parks_go_on(tmp_path)
        assert program.stdin is not None
        program.stdin.close()
        assert program.wait(timeout=100) == 0
        assert recorder.wait(timeout=100) == 0, recorder.communicate()
    lines = [json.loads(line) for line in whole_lines(tmp_path / "out")]
    assert [line["event"] for line in lines] == ["parked", "ready", "done"]
    assert (tmp_path / "err").read_bytes() == b""
    assert_attached(first, lines[0], tmp_path / "log", still_open=True)
    locks = assert_attached(second, lines[0], tmp_path / "log", still_open=False)
    # The thread that wanted a monitor since before the agent came is seen when it gets it.
    row = locks.blocker(lines[0]["held_hash"], "monitor")
    assert (row["times_parked"], row["parked_now"]) == (1, 0)
    assert locks.count(row["blocker_id"], "is_attached AND NOT is_open") == 1
