"""Threads that each wait for, or start, the next one: however long such a chain is, each is looked at once."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from headway.analyses.lost_cores.account.work_roles import _find_needed, _spans

MOST_S = 20
"""CPU time; each chain took a minute, or days, when all threads were looked at for each of its links."""


def needed_round_by_round(background: list[bool], least: list[int], pairs: dict[tuple[int, int], int]) -> list[bool]:
    found = [*background]
    while True:
        sums = [0] * len(found)
        for (thread, target), waited in pairs.items():
            sums[target] += 0 if found[thread] else waited
        new = [at for at, each in enumerate(found) if each and sums[at] > least[at]]
        if not new:
            return found
        for at in new:
            found[at] = False


@pytest.mark.parametrize("seed", range(20))
def test_who_is_needed_is_found_as_round_by_round(seed: int) -> None:
    rng, threads = random.Random(seed), 12
    background = [rng.random() < 0.8 for _ in range(threads)]
    least = [rng.choice([0, 3, 6]) for _ in range(threads)]
    pairs = {(rng.randrange(threads), rng.randrange(threads)): rng.randrange(6) for _ in range(25)}
    found = np.array(background)
    ordered = sorted(pairs)
    thread, target = (np.array(column, np.int64) for column in zip(*ordered, strict=True))
    _find_needed(found, np.array(least, float), thread, target, np.array([float(pairs[each]) for each in ordered]))
    assert found.tolist() == needed_round_by_round(background, least, pairs)


@pytest.mark.parametrize("seed", range(20))
def test_who_is_below_whom_is_found_as_step_by_step(seed: int) -> None:
    rng, threads = random.Random(seed), [*range(30)]
    rng.shuffle(threads)
    parent = {each: rng.choice(threads[:at]) for at, each in enumerate(threads) if at and rng.random() < 0.9}
    spans = _spans(threads, parent)

    def is_below(thread: int, above: int) -> bool:
        up = parent.get(thread)
        while up is not None and up != above:
            up = parent.get(up)
        return up == above

    for thread in threads:
        for above in threads:
            assert (spans[above][0] < spans[thread][0] < spans[above][1]) == is_below(thread, above)


def test_a_chain_of_waits_is_walked_once() -> None:
    threads = 100_000
    found, number = np.ones(threads, bool), np.arange(threads - 1)
    found[0] = False
    began_s = time.process_time()
    _find_needed(found, np.zeros(threads), number, number + 1, np.ones(threads - 1))
    assert not found.any()
    assert time.process_time() - began_s < MOST_S


def test_a_chain_of_births_is_walked_once() -> None:
    threads = 100_000
    began_s = time.process_time()
    spans = _spans(range(threads), {each: each - 1 for each in range(1, threads)})
    assert all(spans[0][0] < spans[each][0] < spans[0][1] for each in range(1, threads))
    assert time.process_time() - began_s < MOST_S
