"""What a replay without a lock promises, against the same program played without it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway import _native

WOKEN, ENDED, BORN = range(3)
MAIN = 0
# What a thread does: ("alone", ns), ("locked", ns).
PARTS = st.lists(st.tuples(st.sampled_from(["alone", "locked"]), st.integers(1, 50)), min_size=1, max_size=6)
ROUNDS = st.lists(st.lists(PARTS, min_size=1, max_size=4), min_size=1, max_size=3)


@dataclass
class Played:
    """A program's events as the replay wants them, its length, and whether main waited for each thread it joined."""

    length: int = 0
    waited_for_all: bool = True
    events: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    """(time, what, thread, other, length, group)"""


def play(rounds: list[list[list[tuple[str, int]]]], *, locked: bool = True) -> Played:
    """Main starts the threads of a round at once, on as many cores, and joins them in order; then the next round."""
    played, now, first = Played(), 0, 1
    for parts in rounds:
        threads = range(first, first + len(parts))
        first += len(parts)
        played.events += [(now, BORN, thread, MAIN, 0, -1) for thread in threads]
        ends = _round(dict(zip(threads, parts, strict=True)), now, locked, played)
        for thread in threads:
            if ends[thread] > now:
                played.events += [(ends[thread], WOKEN, MAIN, thread, 0, -1)]
                played.events += [(ends[thread], ENDED, MAIN, thread, ends[thread] - now, -1)]
                now = ends[thread]
            else:
                played.waited_for_all = False
    played.length = now
    played.events.sort(key=lambda event: event[:2])
    return played


def _round(left: dict[int, list[tuple[str, int]]], begin: int, locked: bool, played: Played) -> dict[int, int]:
    """Play one round; who has wanted the lock longest gets it. Return when each thread ends."""
    at = dict.fromkeys(left, begin)
    left = {thread: list(parts) for thread, parts in left.items()}
    free_ns, holder = begin, -1
    while any(left.values()):
        thread = min((each for each in left if left[each]), key=lambda each: (at[each], each))
        what, ns = left[thread].pop(0)
        if what == "locked" and locked:
            if free_ns > at[thread]:
                played.events.append((free_ns, WOKEN, thread, holder, 0, -1))
                played.events.append((free_ns, ENDED, thread, holder, free_ns - at[thread], 0))
                at[thread] = free_ns
            holder, free_ns = thread, at[thread] + ns
        at[thread] += ns
    return at


def ahead(played: Played) -> int:
    """Return how far main would be ahead without the lock."""
    columns = np.array(played.events, dtype=np.int64).T
    (found,) = _native.replayed(
        what=columns[1].astype(np.uint8),
        thread=columns[2].astype(np.int32),
        other=columns[3].astype(np.int32),
        length_ns=np.ascontiguousarray(columns[4]),
        group=columns[5].astype(np.int32),
        threads=int(columns[2].max()) + 1,
        groups=1,
        last=[MAIN],
    )
    return int(found)


@given(ROUNDS)
def test_a_replay_without_a_lock_takes_as_long_as_the_program_without_it(
    rounds: list[list[list[tuple[str, int]]]],
) -> None:
    played, better = play(rounds), play(rounds, locked=False)
    gained = played.length - better.length
    # A join that did not have to wait is not recorded: without the lock it might have to.
    assert ahead(played) >= gained
    if played.waited_for_all:
        assert ahead(played) == gained


@given(ROUNDS)
def test_a_program_that_never_waits_for_its_lock_gains_nothing(rounds: list[list[list[tuple[str, int]]]]) -> None:
    assert ahead(play(rounds, locked=False)) == 0
