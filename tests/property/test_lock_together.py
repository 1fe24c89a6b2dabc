"""Objects of short-lived kind have the sums of all their waits, whichever of these the agent put into their class's row.

Threads wait for a few objects at random. Each wait is told of by the object's own slot, or by that of its class and names the
object by its identity hash; some slots were folded into the class's. What the decoder makes of it is what a slow look gives.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import _native
from support.builders.lock_spool_builder import OPEN, PARK, TOGETHER, LockAgent, LockTable, Slot
from support.builders.spool_builder import Spool

PID, THREADS, END_NS, REST = 100, 4, 10_000, 90
CLASS = b"app.Future"


class Block(NamedTuple):
    thread: int
    object: int
    start: int
    end: int
    is_together: bool
    is_open: bool


class Sums(NamedTuple):
    times: int
    peak: int
    thread_time_ns: int
    real_time_ns: int


def sums(blocks: Sequence[Block]) -> Sums:
    edges = sorted({ns for each in blocks for ns in (each.start, each.end)})
    levels = [(b - a, sum(each.start <= a < each.end for each in blocks)) for a, b in itertools.pairwise(edges)]
    busy = sum(length for length, level in levels if level)
    peak = max((level for _, level in levels), default=0)
    return Sums(len(blocks), peak, sum(length * level for length, level in levels), busy)


def slot(blocker_id: int, identity_hash: int, own: Sequence[Block], folded: Sequence[Sums] = ()) -> Slot:
    own_sums = sums(own)
    return Slot(
        blocker_id,
        PARK,
        identity_hash=identity_hash,
        first_java_id=70 + own[0].thread if own and identity_hash else 0,
        parked_now=sum(each.is_open for each in own),
        peak_parked=max([own_sums.peak, *(each.peak for each in folded)]),
        times=own_sums.times + sum(each.times for each in folded),
        measured=own_sums.times + sum(each.times for each in folded),
        first_ns=min((each.start for each in own), default=0),
        last_ns=max((each.end for each in own), default=0),
        thread_time_ns=own_sums.thread_time_ns + sum(each.thread_time_ns for each in folded),
        real_time_ns=own_sums.real_time_ns + sum(each.real_time_ns for each in folded),
    )


@st.composite
def waits(draw: st.DrawFn) -> list[Block]:
    found = []  # no two begin at once
    for thread in range(THREADS):
        at = 1 + thread
        for gap, length, thing, is_together in draw(
            st.lists(st.tuples(st.integers(1, 40), st.integers(1, 90), st.integers(0, 3), st.booleans()), max_size=9)
        ):
            start, at = at + gap * THREADS, at + (gap + length) * THREADS
            found.append(Block(thread, thing, start, at, is_together, False))
        if draw(st.booleans()):
            found.append(Block(thread, draw(st.integers(0, 3)), at + THREADS, END_NS, draw(st.booleans()), True))
    return sorted(found, key=lambda each: each.start)


def decoded(blocks: Sequence[Block], folded: set[int], has_table: bool, folder: Path) -> list[tuple[int, ...]]:
    """Return (hash, java id of the first thread, first_ns, parked now, times, peak, thread time, real time) of each row."""
    agent, spool, table = LockAgent(PID, created_ns=1), Spool(), LockTable(PID, [CLASS])
    spool.snapshot(0, PID, "S", start_ns=1, pid=PID)
    agent.blocker(1, REST, PARK, CLASS, 0)
    for each in blocks:
        ids = {"owner": 500 + each.object} if each.is_together else {}
        flags = TOGETHER * each.is_together | OPEN * each.is_open
        agent.block(
            PID,
            70 + each.thread,
            each.start,
            each.end,
            REST if each.is_together else 1 + each.object,
            flags=flags,
            **ids,
        )
    dead = []
    for thing in range(4):
        own = [each for each in blocks if each.object == thing and not each.is_together]
        if not own:
            continue
        agent.blocker(own[0].start, 1 + thing, PARK, CLASS, 500 + thing, 70 + own[0].thread)
        if thing in folded and not any(each.is_open for each in own):
            agent.dead(END_NS - 1, 1 + thing, folded_into=REST)
            dead.append(sums(own))
        else:
            table.slots.append(slot(1 + thing, 500 + thing, own))
    table.slots.append(slot(REST, 0, [each for each in blocks if each.is_together], dead))
    spool.write(folder)
    agent.write(folder)
    if has_table:
        table.write(folder)
    decoder = _native.Decoder(str(folder))
    tids = decoder.lifecycle()["tid"]
    count = len(tids)
    nobody = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int32)
    jvm = (PID, END_NS, tids, np.zeros(count, dtype=np.int64), np.arange(count, dtype=np.int32), *nobody)
    locks = decoder.locks()
    locks.begin([jvm], np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.uint8), 0)
    while locks.next_blocks(3) is not None:
        pass
    rows = locks.blockers()
    names = ("identity_hash", "first_java_id", "first_ns", "parked_now", "times_parked", "peak_parked")
    return list(zip(*(rows[name].tolist() for name in (*names, "thread_time_ns", "real_time_ns")), strict=True))


@settings(max_examples=300)
@given(waits(), st.sets(st.integers(0, 3)), st.booleans())
def test_an_object_has_the_sums_of_all_its_waits_and_its_class_has_nothing_left(
    blocks: list[Block], folded: set[int], has_table: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        got = decoded(blocks, folded, has_table, Path(folder))
    wanted = []
    for thing in {each.object for each in blocks}:
        mine = [each for each in blocks if each.object == thing]
        first, now = mine[0], sum(each.is_open for each in mine)
        wanted.append((500 + thing, 70 + first.thread, first.start, now, *sums(mine)))
    assert sorted(row for row in got if row[0]) == sorted(wanted)
    assert [(*row[3:5], *row[6:]) for row in got if not row[0]] == [(0, 0, 0, 0)]
