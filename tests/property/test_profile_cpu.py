"""CPU profiles add up to what threads executed: against Python's fractions, slice by slice, in any window."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.profile.analysis import ALL_KINDS, profile
from headway.analyses.profile.cpu_time import pattern_of
from headway.model.kinds import PROGRAM
from headway.record.finalise.samples.sample_files import FileSamples
from headway.record.finalise.samples.sample_weights import ExecutedAt
from headway.report.export.collapsed import export_collapsed
from headway.report.json.profile import profile_json
from headway.store import Recording, open_recording
from headway.store.packing import TICK_NS
from support.builders import sample_builder, synthetic
from support.builders.synthetic import ORIGIN, FakeThread

WALL = 40_000 * TICK_NS
SAMPLING = {"events": ["cpu"], "interval": {"cpu": 500 * TICK_NS}}
NAMES = ("main", "task-1", "task-22", "pool-1-thread-3", "C2 CompilerThread0", "GC Thread#1")


def made_threads(rng: random.Random) -> list[FakeThread]:
    threads = []
    for i, name in enumerate(NAMES):
        start, states, stolen = rng.randrange(WALL // TICK_NS // 4) * TICK_NS, [], []
        left = (WALL - start) // TICK_NS
        while left > 200 and rng.random() < 0.97:
            for state in ("B", "R"):
                length = rng.randrange(1, max(2, min(left, 3000) // 2))
                states.append((state, length * TICK_NS))
                left -= length
            stolen.append(rng.choice([0, 0, rng.randrange(states[-1][1] // TICK_NS + 1) * TICK_NS]))
        kind = ("app", "app", "app", "carrier", "jit", "gc")[i]
        threads.append(FakeThread(kind, start, states, name, stolen))
    return threads


def executed(thread: FakeThread, low: int, high: int) -> int:
    """What a thread executed in [low, high), counted slice by slice: by fractions, whole ns at each border."""
    total, now, part = 0, thread.start, 0
    for state, length in thread.states:
        if state == "R":
            exec_ns = length - (thread.stolen[part] if part < len(thread.stolen) else 0)
            part += 1
            begin, end = (min(max(at, now), now + length) for at in (low, high))
            total += floor(Fraction(exec_ns * (end - now), length)) - floor(Fraction(exec_ns * (begin - now), length))
        now += length
    return total


def taken(rng: random.Random, threads: list[FakeThread]) -> tuple[list[sample_builder.Sample], int]:
    """Samples at random moments of running, weighed by the recorder's own code, in batches; the first thread has none."""
    rows = [
        (i, now + offset)
        for i, thread in enumerate(threads[1:], 1)
        for now, length in running(thread)
        for offset in sorted(rng.sample(range(1, length), min(length - 1, rng.choice([0, 0, 1, 3]))))
    ]
    thread, ns = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    zeros = np.zeros(len(rows), np.int64)
    samples = FileSamples(thread, ns + ORIGIN, zeros, zeros, zeros, zeros, ["cpu"])
    began = rng.randrange(WALL // 3)
    from_ns = np.full(len(threads), ORIGIN + began)
    weigher = ExecutedAt(samples, np.ones(len(rows), dtype=bool), ORIGIN, from_ns)
    slices = sorted(
        (row for i, each in enumerate(threads) for row in synthetic.slices_of(i, each) if row["running_ns"]),
        key=lambda row: row["start_ns"] + row["running_ns"],
    )
    for begin in range(0, len(slices), 7):
        batch = slices[begin : begin + 7]
        weigher.add(
            {
                "thread_id": np.array([row["thread_id"] for row in batch], np.int32),
                "end_ticks": np.array([(row["start_ns"] + row["running_ns"]) // TICK_NS for row in batch]),
                "running_ticks": np.array([row["running_ns"] // TICK_NS for row in batch]),
                "stolen_ticks": np.array([row["stolen_ns"] // TICK_NS for row in batch]),
            }
        )
    weights = weigher.weights(zeros).tolist()
    names = [rng.choice([("a.A.x",), ("a.A.x", "b.B.y"), ("c.C.z",)]) for _ in rows]
    recording_of = [(i, at, weight, stack) for (i, at), weight, stack in zip(rows, weights, names, strict=True)]
    return recording_of, began  # type: ignore[return-value]


def running(thread: FakeThread) -> list[tuple[int, int]]:
    found, now = [], thread.start
    for state, length in thread.states:
        if state == "R":
            found.append((now, length))
        now += length
    return found


@pytest.fixture(scope="module", params=range(6))
def recording_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    rng = random.Random(request.param)
    threads = made_threads(rng)
    samples, began = taken(rng, threads)
    path = tmp_path_factory.mktemp("cpu") / "a.headway"
    jvms = [{"pid": 100}] if request.param % 2 else []
    rows = sample_builder.tables({"cpu": samples})
    synthetic.write(path, threads, WALL, activity=[], sampling=SAMPLING, tables=rows, jvms=jvms)
    return threads, samples, began, open_recording(path), rng


def per_thread(recording: Recording, **how: Any) -> dict[str, int]:
    return {each.name: each.weight for each in profile(recording, "cpu", **how).threads}


def test_weights_of_the_whole_are_what_threads_executed(recording_of: Any) -> None:
    threads, samples, _, recording, _ = recording_of
    found = profile(recording, "cpu")
    expected = {each.name: executed(each, 0, WALL) for each in threads}
    assert {each.name: each.weight for each in found.threads} == {name: ns for name, ns in expected.items() if ns}
    assert found.total == sum(expected.values()) == int(found.tree.self_weight.sum())
    # What no sample is of is what the samples' own weights leave, but for the steps of the stored times.
    left = found.total - sum(weight for _, _, weight, _ in samples)
    assert abs(found.unsampled - max(0, left)) <= TICK_NS * (len(samples) + len(threads))
    assert found.samples == len(samples)
    by_view = recording.query("SELECT SUM(exec_ns) FROM thread_state WHERE state = 'running'").fetchone()
    assert by_view == (found.total,)


def test_weights_of_a_window_are_what_threads_executed_in_it(recording_of: Any) -> None:
    threads, _, _, recording, rng = recording_of
    for _ in range(12):
        low, high = sorted(rng.sample(range(WALL), 2))
        expected = {each.name: executed(each, low, high) for each in threads}
        if not any(expected.values()):
            continue
        found = per_thread(recording, window=(low, high))
        for name, ns in expected.items():  # floating point may round a fraction of a ns the other way
            assert abs(found.get(name, 0) - ns) <= 2 * 2, name


def test_windows_side_by_side_add_up_to_the_whole(recording_of: Any) -> None:
    threads, _, _, recording, rng = recording_of
    borders = [0, *sorted(rng.sample(range(1, WALL), 5)), WALL]
    whole = profile(recording, "cpu", kinds=ALL_KINDS)
    sums: dict[str, int] = {}
    frames: dict[str, int] = {}
    for window in itertools.pairwise(borders):
        if not any(executed(each, *window) for each in threads):
            continue
        part = profile(recording, "cpu", window=window)
        for each in part.threads:
            sums[each.name] = sums.get(each.name, 0) + each.weight
        for row in profile_json(part)["flat"]:
            frames[row["method"]] = frames.get(row["method"], 0) + row["self"]
    assert sums == {each.name: each.weight for each in whole.threads}
    for row in profile_json(whole)["flat"]:  # methods as well, but for the steps of the stored times
        assert abs(frames.get(row["method"], 0) - row["self"]) <= TICK_NS * 2 * 6 * len(threads), row


def test_a_thread_without_samples_is_named_by_its_pattern(recording_of: Any) -> None:
    threads, _, _, recording, _ = recording_of
    named = {row["method"]: row for row in profile_json(profile(recording, "cpu", kinds=PROGRAM))["flat"]}
    is_jvm = any(jvm["pid"] == 100 for jvm in recording.manifest.jvms)
    row = named["(not sampled: thread main)" if is_jvm else "(not sampled: process main)"]
    main = executed(threads[0], 0, WALL)
    assert (row["kind"], row["self"]) == ("note", main)
    assert ("(not sampled: thread pool-#-thread-#)" in named) == is_jvm
    alone = profile(recording, "cpu", only=[0])
    assert (alone.total, alone.unsampled, alone.samples) == (main, main, 0)
    assert {notice.id for notice in alone.notices} >= {"HW449"}


def test_exports_hold_the_same_total(recording_of: Any, tmp_path: Path) -> None:
    _, _, _, recording, _ = recording_of
    found = profile(recording, "cpu")
    export_collapsed(found, tmp_path / "a.collapsed")
    lines = (tmp_path / "a.collapsed").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == found.total
    assert json.dumps(profile_json(found, with_tree=True))


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("task-17", "task-#"),
        ("Thread-3", "Thread-#"),
        ("pool-1-thread-12", "pool-#-thread-#"),
        ("http-nio-8085-exec-5", "http-nio-#-exec-#"),
        ("C2 CompilerThread0", "C2 CompilerThread#"),
        ("GC Thread#1", "GC Thread#"),
        ("http2-reader", "http2-reader"),
        ("main", "main"),
        ("", ""),
    ],
)
def test_threads_of_one_kind_have_one_pattern(name: str, pattern: str) -> None:
    assert pattern_of(name) == pattern
