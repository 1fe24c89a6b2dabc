"""Profiles against the slow, obvious way: dictionaries of whole stacks, and blocked time counted moment by moment."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.locks.analysis import locks
from headway.analyses.profile.analysis import profile
from headway.analyses.profile.diff import diff
from headway.analyses.stacks.tree import StackColumns, build_tree, flat_rows, heaviest
from headway.analyses.stacks.types import KINDS, CallTree, Frame, Profile, ThreadWeight
from headway.analyses.waits.nesting import flattened
from headway.store import Recording, open_recording
from support.builders import synthetic
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

Path_ = tuple[str, ...]
WALL = 60
METHODS = ("a.A.x", "a.A.y", "b.B.x", "x", "c.C$D.<init>")
KIND_OF = {"x": "native"}


def paths_of(tree: CallTree, frames: tuple[Frame, ...]) -> dict[Path_, tuple[int, int]]:
    """Spell a tree out as {path from the root: (self, total)}, and check that its columns agree with each other."""
    found: dict[Path_, tuple[int, int]] = {}
    paths: list[Path_] = []
    for n in range(len(tree)):
        parent = int(tree.parent[n])
        assert parent < n
        assert parent == -1 or n < parent + tree.size[parent]
        assert tree.depth[n] == (0 if parent == -1 else tree.depth[parent] + 1)
        path = (*(paths[parent] if parent >= 0 else ()), frames[tree.frame[n]].text)
        assert path not in found
        paths.append(path)
        found[path] = int(tree.self_weight[n]), int(tree.total_weight[n])
    for n in range(len(tree)):  # children follow their parent, heavier ones first
        children = np.flatnonzero(tree.parent == n)
        assert tree.size[n] == 1 + tree.size[children].sum()
        assert (np.diff(tree.total_weight[children]) <= 0).all()
    return found


def slow_tree(stacks: Counter[Path_]) -> dict[Path_, tuple[int, int]]:
    """Merge {path from the root: weight} with dictionaries."""
    own, total = Counter[Path_](), Counter[Path_]()
    for path, weight in stacks.items():
        own[path] += weight
        for depth in range(1, len(path) + 1):
            total[path[:depth]] += weight
    return {path: (own[path], total[path]) for path in total}


def slow_flat(stacks: Counter[Path_]) -> dict[str, tuple[int, int]]:
    own, total = Counter[str](), Counter[str]()
    for path, weight in stacks.items():
        own[path[-1]] += weight
        for name in set(path):
            total[name] += weight
    return {name: (own[name], total[name]) for name in total}


def check(found: Profile, stacks: Counter[Path_]) -> None:
    stacks = Counter({path: weight for path, weight in stacks.items() if weight})
    assert paths_of(found.tree, found.frames) == slow_tree(stacks)
    rows = flat_rows(found.tree, found.frames)
    assert {row.frame.text: (row.self_weight, row.total_weight) for row in rows} == slow_flat(stacks)
    assert found.total == stacks.total() == sum(each.weight for each in found.threads)


def frame_rows(extra: int) -> list[dict[str, Any]]:
    rows = []
    for number, name in enumerate(METHODS):
        class_name, _, method = name.rpartition(".")
        rows += [
            {"frame_id": number + len(METHODS) * i, "class_name": class_name, "method": method, "line": i}
            | {"kind": KIND_OF.get(name, "java")}
            for i in range(extra)
        ]
    return rows


Taken = list[tuple[int | None, int, int, int | None]]
StackList = list[tuple[list[str], bool]]


def sampled_recording(path: Path, stacks: StackList, taken: Taken) -> Recording:
    """Write samples; stacks are lists of methods, innermost first, and whether they are cut. Lines alternate."""
    tables = {
        "frame": frame_rows(2),
        "stack": [
            {"stack_id": i, "depth": depth, "frame_id": METHODS.index(name) + len(METHODS) * (depth % 2), "is_cut": cut}
            for i, (names, cut) in enumerate(stacks)
            for depth, name in enumerate(names)
        ],
        "sample": [
            {"thread_id": thread, "ns": ORIGIN + ns, "event": event, "weight": weight, "stack_id": stack, "state": None}
            for thread, ns, weight, stack in sorted(taken, key=lambda each: each[1])
            for event in ("cpu", "alloc")
        ],
    }
    threads = [FakeThread(states=[("R", WALL)], name=f"worker-{i}") for i in range(3)]
    return open_recording(synthetic.write(path, threads, WALL, tables=tables))


def slow_path(stacks: StackList, stack: int | None) -> Path_:
    if stack is None:
        return ("(the stack could not be walked)",)
    names, cut = stacks[stack]
    return (*(("(deeper than what is stored)",) if cut else ()), *reversed(names))


def thread_name(number: int | None) -> str:
    return "(virtual threads)" if number is None else f"worker-{number}"


@dataclass
class Sampled:
    stacks: StackList
    taken: Taken
    recording: Recording

    def expected(self, window: tuple[int, int] = (0, WALL), thread: str = "", region: str = "") -> Counter[Path_]:
        found = Counter[Path_]()
        for number, ns, weight, stack in self.taken:
            frames = self.stacks[stack][0] if stack is not None else []
            fits = not region or any(re.search(region, frame) for frame in frames)
            if window[0] <= ns < window[1] and re.search(thread, thread_name(number)) and fits:
                found[slow_path(self.stacks, stack)] += weight
        return found


@pytest.fixture(scope="module", params=[1, 2])
def sampled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sampled:
    rng = random.Random(request.param)
    stacks = [(rng.choices(METHODS, k=rng.randint(1, 8)), rng.random() < 0.2) for _ in range(40)]
    taken: Taken = [
        (rng.choice([0, 1, 2, None]), rng.randrange(WALL), rng.randrange(1, 2**55), rng.choice([None, *range(40)]))
        for _ in range(80)
    ]
    return Sampled(stacks, taken, sampled_recording(tmp_path_factory.mktemp("p") / "a.headway", stacks, taken))


@pytest.mark.parametrize("window", [None, (0, WALL), (10, 40), (WALL - 30, WALL)])
def test_samples_merge_into_the_tree_that_dictionaries_give(sampled: Sampled, window: tuple[int, int] | None) -> None:
    low, high = window or (0, WALL)
    inside = [each for each in sampled.taken if low <= each[1] < high]
    found = profile(sampled.recording, "cpu", window=window)
    check(found, sampled.expected((low, high)))
    assert found.samples == len(inside)
    assert found.unwalked == sum(weight for _, _, weight, stack in inside if stack is None)
    by_thread = Counter[str]()
    split = Counter[Path_]()
    for thread, _, weight, stack in inside:
        by_thread[thread_name(thread)] += weight
        split[thread_name(thread), *slow_path(sampled.stacks, stack)] += weight
    assert {each.name: each.weight for each in found.threads} == by_thread
    parted = profile(sampled.recording, "alloc", window=window, by_thread=True)
    assert paths_of(parted.tree, parted.frames) == slow_tree(split)
    assert {KINDS[kind] for kind in parted.tree.kind[parted.tree.depth == 0]} == {"thread"}
    assert (found.unit, parted.unit) == ("ns", "bytes")


@pytest.mark.parametrize("paths", [1, 5, 30])
def test_a_bound_puts_the_lighter_stacks_of_a_thread_together(sampled: Sampled, paths: int) -> None:
    split = Counter[Path_]()
    for number, _, weight, stack in sampled.taken:
        split[thread_name(number), *slow_path(sampled.stacks, stack)] += weight
    found = profile(sampled.recording, "cpu", by_thread=True, paths=paths)
    per_thread = {path[0]: total for path, (_, total) in slow_tree(split).items() if len(path) == 1}
    shown = paths_of(found.tree, found.frames)
    assert {path[0]: total for path, (_, total) in shown.items() if len(path) == 1} == per_thread
    rest = sum(own for path, (own, _) in shown.items() if path[1:] == ("(all lighter stacks)",))
    assert rest > 0
    assert found.total - rest == sum(own for path, (own, _) in shown.items() if "(all lighter stacks)" not in path)
    assert sum(own > 0 for own, _ in shown.values()) <= paths + len(per_thread)


@pytest.mark.parametrize("thread", ["", "worker-[01]", "virtual", "-2$"])
@pytest.mark.parametrize("region", [r"A\.", r"^b\.B\.x$", r"\$D\.<init>", "^x$"])
def test_a_filter_keeps_the_stacks_and_threads_that_match(sampled: Sampled, thread: str, region: str) -> None:
    found = profile(sampled.recording, "cpu", thread=re.compile(thread), region=re.compile(region))
    check(found, sampled.expected(thread=thread, region=region))


# --- trees -------------------------------------------------------------------------------------------------------------

weighted = st.lists(
    st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(1, 2**55)), min_size=1, max_size=30
)
FRAMES = tuple(Frame(*name.rpartition(".")[::2]) for name in METHODS)


def merged(paths: list[tuple[list[int], int]]) -> tuple[Profile, Counter[Path_]]:
    """Merge paths, outermost first, and count them with dictionaries."""
    begin = np.cumsum([0, *(len(path) for path, _ in paths)])
    frames = np.array([frame for path, _ in paths for frame in reversed(path)], dtype=np.int32)
    stacks = StackColumns(begin, frames, np.zeros(len(frames), np.int8))
    weight = np.array([weight for _, weight in paths])
    tree = build_tree(stacks, np.arange(len(paths)), weight)
    expected = Counter[Path_]()
    for path, each in paths:
        expected[tuple(METHODS[frame] for frame in path)] += each
    total = expected.total()
    thread = ThreadWeight(0, 1, "main", "app", total, len(paths))
    return Profile("cpu", "ns", total, len(paths), 0, "ebpf", (0, 1), FRAMES, tree, (thread,), ()), expected


@given(weighted, st.integers(1, 30))
def test_a_tree_is_what_dictionaries_make_of_its_paths(paths: list[tuple[list[int], int]], limit: int) -> None:
    found, expected = merged(paths)
    check(found, expected)
    kept = heaviest(found.tree, limit)
    assert len(kept) == min(limit, len(found.tree))
    assert set(found.tree.parent[kept].tolist()) <= {-1, *kept.tolist()}
    left = np.setdiff1d(np.arange(len(found.tree)), kept)
    assert not len(left) or found.tree.total_weight[left].max() <= found.tree.total_weight[kept].min()


@given(weighted, weighted)
def test_a_difference_has_both_weights_at_every_path(
    before: list[tuple[list[int], int]], after: list[tuple[list[int], int]]
) -> None:
    (first, old), (second, new) = merged(before), merged(after)
    found = diff(first, replace(second, frames=(*FRAMES, Frame("never", "used"))))
    paths: list[Path_] = []
    for n in range(len(found.parent)):
        parent = int(found.parent[n])
        paths.append((*(paths[parent] if parent >= 0 else ()), found.frames[found.frame[n]].text))
    assert len(set(paths)) == len(paths)
    for expected, own, total in (
        (slow_tree(old), found.before_self, found.before_total),
        (slow_tree(new), found.after_self, found.after_total),
    ):
        seen = {path: (int(own[n]), int(total[n])) for n, path in enumerate(paths) if total[n]}
        assert seen == expected
    assert (found.total_before, found.total_after) == (first.total, second.total)


# --- blocks and blocked time -------------------------------------------------------------------------------------------

intervals = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(1, 20)), max_size=12)


@given(intervals)
def test_overlapping_waits_are_laid_out_so_that_the_last_begun_counts(spans: list[tuple[int, int, int]]) -> None:
    rows = sorted((thread, start, start + length, number) for number, (thread, start, length) in enumerate(spans))
    columns = [np.array([row[k] for row in rows], dtype=np.int64) for k in range(4)]
    found = flattened(*columns)
    seen: dict[tuple[int, int], int] = {}
    for thread, start, end, stack in zip(
        found.thread.tolist(), found.start.tolist(), found.end.tolist(), found.stack.tolist(), strict=True
    ):
        for t in range(start, end):
            assert (thread, t) not in seen
            seen[thread, t] = stack
    order = {row[3]: place for place, row in enumerate(rows)}
    expected: dict[tuple[int, int], int] = {}
    for thread, start, end, number in sorted(rows, key=lambda row: order[row[3]]):
        expected |= {(thread, t): number for t in range(start, end)}
    assert seen == expected
    assert list(zip(found.thread.tolist(), found.start.tolist(), strict=True)) == sorted(
        zip(found.thread.tolist(), found.start.tolist(), strict=True)
    )


STACKS = ((*LOCK_FRAMES, ("a.A", "put")), (("java.lang.Object", "wait"), ("b.B", "take"), ("java.lang.Thread", "run")))
CLASSES = ("java.util.concurrent.locks.ReentrantLock$NonfairSync", "java.util.ArrayDeque")


@dataclass
class Blocked:
    lock_recording: LockRecording
    recording: Recording


@pytest.fixture(scope="module", params=[1, 2, 3])
def blocked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Blocked:
    """Threads that block now and then, and waits that begin and end where they like, one inside the other, too.

    Waits on object 0 are contention, those on object 1 are a worker's.
    """
    rng = random.Random(request.param)
    threads = []
    for i in range(6):
        cycles = [
            (state, rng.randint(1, 20)) for _ in range(20) for state in "BWR" if state == "R" or rng.random() < 0.8
        ]
        cycles.append(("B", rng.randint(1, 20)))  # still blocked at the end
        threads.append(FakeThread("gc" if i == 5 else "app", 0, cycles, f"worker-{i}"))
    wall = max(thread.end for thread in threads)
    starts = [(thread, start) for thread in range(5) for start in sorted(rng.sample(range(wall - 1), 25))]
    waits = []
    for thread, start in starts:
        lock = rng.randrange(2)
        waits.append(Wait(thread, lock, start, min(wall, start + rng.randint(1, 30)), stack=lock))
    lock_recording = LockRecording(threads, waits, wall=wall, kinds=["park", "wait"], classes=CLASSES, stacks=STACKS)
    return Blocked(lock_recording, open_recording(lock_recording.write(tmp_path_factory.mktemp("p") / "a.headway")))


@pytest.mark.parametrize("tenths", [None, (0, 10), (2, 5), (7, 10)])
def test_blocked_time_is_under_the_stack_of_the_wait_that_covers_it(
    blocked: Blocked, tenths: tuple[int, int] | None
) -> None:
    lock_recording = blocked.lock_recording
    low, high = (lock_recording.wall * each // 10 for each in tenths or (0, 10))
    expected = Counter[Path_]()
    for number, thread in enumerate(lock_recording.threads[:5]):
        for t in range(low, high):
            if thread.at(t) == "B":
                over = [wait for wait in lock_recording.waits if wait.thread == number and wait.start <= t < wait.end]
                expected[path_of(max(over, key=lambda wait: wait.start).lock if over else None)] += 1
    assert len(expected) == 3
    found = profile(blocked.recording, "off-cpu", window=None if tenths is None else (low, high))
    check(found, expected)
    if tenths is None:
        text = "SELECT name, blocked_ns FROM thread WHERE kind = 'app'"
        assert {each.name: each.weight for each in found.threads} == dict(blocked.recording.query(text).fetchall())


def path_of(stack: int | None) -> Path_:
    if stack is None:
        return ("(asleep, not in a lock: a sleep or I/O)",)
    return tuple(f"{class_name}.{method}" for class_name, method in reversed(STACKS[stack]))


@pytest.mark.parametrize("tenths", [None, (2, 5), (7, 10)])
def test_lock_is_what_the_analysis_of_locks_calls_contended(blocked: Blocked, tenths: tuple[int, int] | None) -> None:
    low, high = (blocked.lock_recording.wall * each // 10 for each in tenths or (0, 10))
    window = None if tenths is None else (low, high)
    waited = (
        max(0, min(each.end, high) - max(each.start, low)) for each in blocked.lock_recording.waits if each.lock == 0
    )
    found = profile(blocked.recording, "lock", window=window)
    check(found, Counter({path_of(0): sum(waited)}))
    assert found.total == locks(blocked.recording, window).contended_ns
