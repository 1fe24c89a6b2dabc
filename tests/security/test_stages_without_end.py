"""Stages of recordings that are made for them: threads without number that are called alike cost their own stages alone."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from headway.analyses.whatif import balanced, pools
from headway.analyses.whatif.balanced import Stage
from headway.analyses.whatif.pools import Pool
from headway.errors import HeadwayError
from headway.model.kinds import Kind

THREADS = 100_000


def threads(lives: list[tuple[int, int]], names: list[str] | None = None) -> Any:
    """Return a table of threads of one process, by birth and end."""
    found = np.array(lives, np.int64).reshape(-1, 2)
    count = len(lives)
    return SimpleNamespace(
        pid=np.full(count, 7),
        kinds=[Kind.APP.value] * count,
        names=names or [f"part-{i}" for i in range(count)],
        birth_ns=found[:, 0],
        end_ns=found[:, 1],
    )


def test_the_parts_of_a_stage_are_those_that_lived_in_it() -> None:
    chance = random.Random(5)
    for _ in range(200):
        births = [chance.randrange(30) for _ in range(chance.randrange(1, 12))]
        lives = [(birth, birth + chance.randrange(20)) for birth in births]
        names = [f"{chance.choice('ab')}-{i}" for i in range(len(lives))]
        groups = balanced._Groups(threads(lives, names))
        begin = chance.randrange(40)
        end = begin + chance.randrange(20)
        like = {chance.randrange(len(lives)) for _ in range(2)}
        expected = {
            i
            for i, (birth, death) in enumerate(lives)
            if names[i][0] in {names[each][0] for each in like} and birth < end and death > begin
        }
        assert groups.alive(like, begin, end) == expected


def test_a_program_that_starts_a_thread_for_each_stage_has_each_looked_at_once() -> None:
    """As many stages of as many threads each were ten billion parts, in memory, before they were counted."""
    groups = balanced._Groups(threads([(10 * i, 10 * i + 10) for i in range(THREADS)]))
    for i in range(0, THREADS, 7):
        assert groups.alive({i}, 10 * i, 10 * i + 10) == {i}
    assert groups._looks == len(range(0, THREADS, 7))


def test_threads_that_are_made_to_be_looked_through_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one lives on, so that all after it may."""
    monkeypatch.setattr(balanced, "_MOST_LOOKS", 10 * THREADS)
    groups = balanced._Groups(threads([(0, 1 << 60), *[(1, 2)] * (THREADS - 1)]))
    for _ in range(10):
        assert groups.alive({0}, 5, 10) == {0}
    with pytest.raises(balanced._TooManyParts):
        groups.alive({0}, 5, 10)


def test_threads_that_live_on_in_every_stage_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them ran in any, so that no stage had parts to count: a billion looks at one after the other took half an hour."""
    monkeypatch.setattr(balanced, "_MOST_ALIVE", 10 * 50)
    groups = balanced._Groups(threads([(0, 1 << 60)] * 50))
    count = 20
    times = 10_000_000 * np.arange(count)
    none = np.zeros(count, np.int64)
    joins = balanced._Joins(none + 49, times, times + 10, none, none.astype(bool), none)
    data = cast("Any", SimpleNamespace(frames=lambda _: []))
    found = balanced._join_stages(data, joins, groups, 0, ({}, {}))
    with pytest.raises(balanced._TooManyParts):
        list(found)
    assert groups._alive == 11 * 50


def test_stages_that_all_overlap_the_same_steps_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there may be parts, each as long as the run, computed with each step of it: for days."""
    count = 1000
    at = np.arange(count)
    none = np.zeros(count, np.int64)
    column = dict.fromkeys(("begin_ns", "start_ns", "woken_ns", "step"), at)
    steps = {**column, "end_ns": at + 1, "work_ns": none + 1, "is_by_thread": none, "thread": at % 2}
    stages = [Stage(0, count + i, (0, 1)) for i in range(6)]
    monkeypatch.setattr(balanced, "_MOST_OVERLAPS", 6 * count)
    assert balanced.balanced_steps(steps, stages).parts == 12
    monkeypatch.setattr(balanced, "_MOST_OVERLAPS", 6 * count - 1)
    with pytest.raises(balanced._TooManyParts):
        balanced.balanced_steps(steps, stages)


def test_stages_that_take_too_long_are_refused_with_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise balanced._TooManyParts

    monkeypatch.setattr(balanced, "balanced_steps", fails)
    monkeypatch.setattr(balanced, "_WaitsForParts", lambda *_: SimpleNamespace(stages_at=lambda _: iter(())))
    recording = cast("Any", SimpleNamespace(path="a.headway"))
    with pytest.raises(HeadwayError, match=r"HW889.*overlap"):
        balanced.changed_stages(recording, threads([(0, 1)]), {}, ["A.b:1"])


def test_stages_are_counted_as_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = 0

    def stages(*_: object) -> Any:
        nonlocal found
        for number in range(1000):
            found += 1
            yield Stage(number, number + 1, tuple(range(balanced.MOST_PARTS // 2)))

    monkeypatch.setattr(balanced, "_WaitsForParts", lambda *_: SimpleNamespace(stages_at=stages))
    recording = cast("Any", SimpleNamespace(path="a.headway"))
    with pytest.raises(HeadwayError, match="HW889"):
        balanced.changed_stages(recording, threads([(0, 1)]), {}, ["A.b:1"])
    assert found == 3


def test_as_many_pools_as_threads_take_each_name_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each pool the names of all threads were looked at: a hundred thousand pools of one thread took days."""
    looks = 0
    real = pools.stem

    def counted(name: str) -> str:
        nonlocal looks
        looks += 1
        return real(name)

    monkeypatch.setattr(pools, "stem", counted)
    its = threads([(0, 1)] * 3000, [f"pool-{i}-thread-1" for i in range(3000)])
    alike = pools.called_alike(its, {Kind.APP.value})
    for i in range(3000):
        pool = Pool(f"pool-{i}-thread", "", i, (i,), True)
        assert pools._with_busy(pool, its, alike).workers == (i,)
    assert looks == 3000


def test_as_many_pools_as_threads_at_one_stack_look_at_its_classes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pool looked at all of them anew: a class with a long name, or a deep stack, times a hundred thousand pools."""
    looks: list[str] = []

    def search(name: str) -> bool | None:
        looks.append(name)
        return True if "DelayedWorkQueue" in name else None

    monkeypatch.setattr(pools, "_NO_FIXED_POOL", SimpleNamespace(search=search))
    stacks = {7: ["a.Work", "a.Worker"], 8: ["a.Work", "x.DelayedWorkQueue"], 9: ["a.Work"]}
    data = cast("Any", SimpleNamespace(frames=lambda stack: [(name, "run", 1) for name in stacks[stack]]))
    assert pools._stacks_of_others(data, stacks) == {8}
    assert sorted(looks) == ["a.Work", "a.Worker", "x.DelayedWorkQueue"]
