"""The native walk along the critical path agrees with the definition, on small graphs of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway import _native
from support.oracles.path_oracle import Cycle, FakeLife, JvmWait, Moment, Oracle

END = 60
_IRQ = 4


@st.composite
def lives(draw: st.DrawFn) -> list[FakeLife]:
    """Threads whose cycles follow each other, with gaps now and then; who woke whom is anybody's guess."""
    count = draw(st.integers(1, 5))
    small = st.integers(0, 6)
    found = []
    for thread in range(count):
        birth = draw(st.sampled_from([0, 0, 5, 20])) if thread else 0
        now = birth + draw(st.sampled_from([0, 0, 2]))
        cycles: list[Cycle] = []
        while now < END and len(cycles) < 12 and draw(st.integers(0, 9)):
            now += draw(st.sampled_from([0, 0, 0, 0, 3]))
            begin = now
            woken = begin + (draw(small) if cycles else 0)
            start = woken + draw(st.sampled_from([0, 0, 1, 2]))
            end = start + draw(small)
            waker = draw(st.sampled_from([-2, -1, *range(count), *range(count)]))
            cycles.append(Cycle(begin, woken, start, end, waker, draw(st.integers(0, 5)) == 0))
            now = end
        waits = draw(jvm_waits(count))
        found.append(FakeLife(birth, draw(st.integers(-1, count - 1)), cycles, waits))
    return found


@st.composite
def jvm_waits(draw: st.DrawFn, count: int) -> list[JvmWait]:
    now = 0
    waits: list[JvmWait] = []
    while now < END and draw(st.booleans()):
        start = now + draw(st.integers(0, 10))
        now = start + draw(st.integers(1, 15))
        waking = draw(st.one_of(st.none(), st.integers(start, now + 2)))
        waits.append(JvmWait(start, now, draw(st.integers(-1, count - 1)), waking))
    return waits


def packed(found: Sequence[FakeLife]) -> dict[str, Any]:
    """The columns of slice.parquet."""
    rows = sorted(
        ((cycle.end, thread, i, cycle) for thread, life in enumerate(found) for i, cycle in enumerate(life.cycles)),
        key=lambda row: row[:3],
    )
    cycles = [row[3] for row in rows]
    return {
        "tick_ns": np.ones(len(rows), np.int16),
        "end_ticks": np.array([each.end for each in cycles], np.int64),
        "running_ticks": np.array([each.end - each.start for each in cycles], np.int64),
        "runnable_ticks": np.array([each.start - each.woken for each in cycles], np.int64),
        "blocked_ticks": np.array([each.woken - each.begin for each in cycles], np.int64),
        "stolen_ticks": np.zeros(len(rows), np.int64),
        "thread_id": np.array([row[1] for row in rows], np.int32),
        "waker_id": np.array([each.waker for each in cycles], np.int32),
        "flags": np.array([_IRQ * each.irq for each in cycles], np.uint8),
    }


def native_path(
    found: Sequence[FakeLife], samplers: set[int], roles: list[int], thread: int, low: int, high: int, batch: int
) -> list[Moment]:
    """The walk's path, spelled out ns by ns from the end; fails unless its pieces lie end to end."""
    waits = [wait for life in found for wait in life.waits]
    walk = _native.CriticalPath(
        birth_ns=np.array([life.birth for life in found], np.int64),
        parent=np.array([life.parent for life in found], np.int32),
        is_sampler=np.array([each in samplers for each in range(len(found))], np.uint8),
        role=np.array(roles, np.uint8),
        first=np.cumsum([0] + [len(life.waits) for life in found]).astype(np.int64),
        start_ns=np.array([wait.start for wait in waits], np.int64),
        end_ns=np.array([wait.end for wait in waits], np.int64),
        waker=np.array([wait.waker for wait in waits], np.int32),
        waking_ns=np.array([-2 if wait.waking is None else wait.waking for wait in waits], np.int64),
        thread=thread,
        from_ns=low,
        to_ns=high,
    )
    columns = packed(found)
    for last in range(len(columns["tick_ns"]), 0, -batch):
        part = slice(max(0, last - batch), last)
        walk.batch(**{name: values[part] for name, values in columns.items()}, blocked_in=np.zeros(0, np.uint8))
    walk.finish()
    pieces = walk.take()
    moments: list[Moment] = []
    for start, end, which, state in zip(
        pieces["start_ns"].tolist(),
        pieces["end_ns"].tolist(),
        pieces["thread"].tolist(),
        pieces["state"].tolist(),
        strict=True,
    ):
        assert end == high - len(moments)
        assert start < end
        moments += [(which, state)] * (end - start)
    return moments


@given(lives(), st.data())
def test_the_walk_finds_the_path_that_the_definition_has(found: list[FakeLife], data: st.DataObject) -> None:
    thread = data.draw(st.integers(0, len(found) - 1))
    low = data.draw(st.integers(0, END - 1))
    high = data.draw(st.integers(low + 1, END))
    batch = data.draw(st.integers(1, 70))
    samplers = data.draw(st.sets(st.integers(0, len(found) - 1), max_size=2))
    roles = data.draw(st.lists(st.integers(0, 2), min_size=len(found), max_size=len(found)))
    got = native_path(found, samplers, roles, thread, low, high, batch)
    assert len(got) == high - low
    assert got == Oracle(found, samplers, roles).path(thread, low, high)
