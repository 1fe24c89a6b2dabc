"""Profiles of a real program against what the kernel and the agent count apart from them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.analyses.profile.analysis import profile
from headway.analyses.stacks.tree import flat_rows
from headway.store import Recording, open_recording
from headway.store.packing import TICK_NS
from support.drivers.recording_cli import headway

pytestmark = pytest.mark.root


@dataclass(frozen=True)
class Zoo:
    """Every synchroniser of java.util.concurrent, each waited for by a thread of its own that is called like it."""

    recording: Recording
    objects: dict[str, list[int]]  # their identity hashes, as the program says


@pytest.fixture(scope="module")
def zoo(workloads: Path, tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    target = tmp_path_factory.mktemp("profiles") / "a.headway"
    done = headway("record", "--locks", "-o", target, "--", "java", "-cp", workloads, "headway.workloads.JucZoo")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[0])
    return Zoo(open_recording(target), {each["name"]: each["identity_hashes"] for each in said["stations"]})


def test_blocked_time_adds_up_to_what_the_kernel_counted_for_each_thread(zoo: Zoo) -> None:
    found = {each.thread_id: each.weight for each in profile(zoo.recording, "off-cpu").threads}
    rows = zoo.recording.query(
        "SELECT t.thread_id, COALESCE(t.blocked_ns, 0), COUNT(s.thread_id) FROM thread t LEFT JOIN slice s USING (thread_id)"
        " WHERE t.kind IN ('app', 'carrier') GROUP BY ALL"
    ).fetchall()
    assert len(rows) > 20
    for thread, blocked, slices in rows:  # both borders of an interval are rounded to a tick
        assert abs(found.get(thread, 0) - blocked) <= slices * TICK_NS


def test_contention_is_what_the_agent_summed_per_object(zoo: Zoo) -> None:
    classes = {
        "ReentrantLock": r"\.ReentrantLock\.lock$",
        "ReentrantReadWriteLock": r"\.ReentrantReadWriteLock\$ReadLock\.lock$",
        "StampedLock": r"\.StampedLock\.readLock$",
        "Semaphore": r"\.Semaphore\.acquire\w*$",
        "Exchanger": r"\.Exchanger\.exchange$",
    }
    for thread, frame in classes.items():
        hashes = ", ".join(map(str, zoo.objects[thread]))
        summed = zoo.recording.query(
            f"SELECT SUM(thread_time_ns), SUM(times_measured) FROM blocker WHERE identity_hash IN ({hashes})"
        ).fetchone()
        found = profile(zoo.recording, "lock", thread=re.compile(f"^{thread}$"), region=re.compile(frame))
        assert (found.total, found.samples) == summed
        rows = {row.frame.text: row for row in flat_rows(found.tree, found.frames)}
        assert rows["java.lang.Thread.run"].total_weight == found.total
        assert max(rows.values(), key=lambda row: row.self_weight).frame.method.startswith("park")


def test_waits_in_a_lock_are_off_the_cpu_in_its_stack(zoo: Zoo) -> None:
    for thread in ("ReentrantLock", "Semaphore", "CyclicBarrier"):
        chosen = re.compile(f"^{thread}$")
        waited = profile(zoo.recording, "lock", thread=chosen).total
        blocked = profile(zoo.recording, "off-cpu", thread=chosen, region=re.compile(r"LockSupport\.park")).total
        assert 0 < blocked <= waited  # what lies outside the waits has no stack
