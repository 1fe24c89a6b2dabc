"""Pieces of waiting against the slow, obvious way to tell them: random small recordings, looked at moment by moment."""

from __future__ import annotations

import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.waits import lock_pieces, pieces
from headway.analyses.waits.pieces import Waits
from headway.analyses.waits.threads.timelines import timeline
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

WALL = 50
THREADS = 4
SLOW = settings(max_examples=12)


@st.composite
def recordings(draw: st.DrawFn, locks: int = 3) -> LockRecording:
    """Random waits, which may overlap within a thread, and holds; a lock has one holder at a time. Nobody is seen waking."""
    threads = [FakeThread("app", 0, [("R", WALL)], f"t{i}") for i in range(THREADS)]
    # Each lock at a line of its own: locks of one line are one place.
    waits = [
        Wait(thread, lock := draw(st.integers(0, locks - 1)), start, end, stack=lock)
        for thread in (*range(THREADS), -1)
        for start, end in draw(st.lists(_spans(), max_size=4))
    ]
    holds = [
        LockHold(lock, draw(st.sampled_from([0, 1, 2, 3, -2])), start, end)
        for lock in range(locks)
        for start, end in draw(_apart())
    ]
    return LockRecording(
        threads, waits, holds, WALL, stacks=[(*LOCK_FRAMES, ("app.Shop", f"buy{lock}")) for lock in range(locks)]
    )


def _spans() -> st.SearchStrategy[tuple[int, int]]:
    moments = st.tuples(st.integers(0, WALL), st.integers(0, WALL))
    return moments.map(lambda both: (min(both), max(both))).filter(lambda span: span[0] < span[1])


@st.composite
def _apart(draw: st.DrawFn) -> list[tuple[int, int]]:
    edges = sorted(draw(st.sets(st.integers(0, WALL), max_size=6)))
    return list(zip(edges[::2], edges[1::2], strict=False))


def _load(lock_recording: LockRecording, window: tuple[int, int] | None = None) -> Waits:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_recording(lock_recording.write(Path(folder) / "r"))) as recording,
    ):
        return pieces.load(recording, window)


def _rows(waits: Waits) -> list[tuple[int, int, int, int, int]]:
    """Return (thread as in `LockRecording`, start, end, lock, target as in `LockRecording`)."""
    assert waits.data is not None
    ids = waits.data.java_ids

    def back(thread: int) -> int:
        return thread if thread < waits.platform_threads else 1000 - int(ids[thread] or 0)

    return [
        (
            back(int(waits.thread[i])),
            int(waits.start[i]),
            int(waits.end[i]),
            waits.places[waits.key[i]].row,
            -99 if waits.target[i] < 0 else back(int(waits.target[i])),
        )
        for i in range(len(waits))
    ]


def _waits_for(lock_recording: LockRecording, thread: int, t: int) -> int | None:
    """Return the lock that a thread waits for during [t, t + 1): of several waits the one that began last."""
    mine = [
        (wait.start, i)
        for i, wait in enumerate(_in_order(lock_recording))
        if wait.thread == thread and wait.start <= t < wait.end
    ]
    return _in_order(lock_recording)[max(mine)[1]].lock if mine else None


def _in_order(lock_recording: LockRecording) -> list[Wait]:
    return sorted(lock_recording.waits, key=lambda wait: wait.start)


def _holder(lock_recording: LockRecording, lock: int, t: int) -> int | None:
    return next(
        (hold.thread for hold in lock_recording.holds if hold.lock == lock and hold.start <= t < hold.end), None
    )


def _other_holder(lock_recording: LockRecording, lock: int, t: int, waiter: int) -> int | None:
    """Return who has a lock that `waiter` waits for: not itself, whatever the recording says."""
    holder = _holder(lock_recording, lock, t)
    return None if holder == waiter else holder


@given(recordings(), st.tuples(st.integers(0, WALL - 1), st.integers(1, WALL)))
@SLOW
def test_pieces_of_a_thread_do_not_overlap_and_cover_its_waits_in_the_window(
    lock_recording: LockRecording, cut: tuple[int, int]
) -> None:
    window = cut[0], min(cut[0] + cut[1], WALL)
    rows = _rows(_load(lock_recording, window))
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)
    for thread in (*range(THREADS), -1):
        mine = sorted(row[1:3] for row in rows if row[0] == thread)
        assert all(first[1] <= second[0] for first, second in pairwise(mine))
        covered = {t for start, end in mine for t in range(start, end)}
        assert covered == {t for t in range(*window) if _waits_for(lock_recording, thread, t) is not None}


@given(recordings())
@SLOW
def test_a_piece_names_the_lock_at_the_end_of_the_chain_and_who_holds_it(lock_recording: LockRecording) -> None:
    for thread, start, end, lock, target in _rows(_load(lock_recording)):
        for t in range(start, end):
            first = _waits_for(lock_recording, thread, t)
            assert first is not None
            met, at, holder = [thread], first, _other_holder(lock_recording, first, t, thread)
            while holder is not None and holder not in met:
                onward = _waits_for(lock_recording, holder, t)
                if onward is None or onward == at:
                    break
                met.append(holder)
                at, holder = onward, _other_holder(lock_recording, onward, t, holder)
            if holder is None:
                continue  # nobody has it: who has it next is waited for, or nobody is known
            if holder in met:
                assert lock == first  # a ring has no end: it stays with the lock that it began with
            else:
                assert (lock, target) == (at, holder)


@given(recordings())
@SLOW
def test_with_a_tight_bound_pieces_are_fewer_and_still_cover_the_same(lock_recording: LockRecording) -> None:
    exact = _rows(_load(lock_recording))
    before = lock_pieces.LEAST_BOUND, lock_pieces.PIECES_PER_SPAN
    lock_pieces.LEAST_BOUND, lock_pieces.PIECES_PER_SPAN = 1, 1
    try:
        coarse = _rows(_load(lock_recording))
    finally:
        lock_pieces.LEAST_BOUND, lock_pieces.PIECES_PER_SPAN = before
    assert _moments(coarse) == _moments(exact)


def _moments(rows: list[tuple[int, int, int, int, int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for thread, start, end, *_ in rows:
        found.setdefault(thread, set()).update(range(start, end))
    return found


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 5)), max_size=30),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 10)), min_size=1, max_size=5),
    st.integers(1, 10),
)
def test_a_timeline_says_what_its_last_point_before_each_moment_says(
    points: list[tuple[int, int, int]], spans: list[tuple[int, int, int]], least_ns: int
) -> None:
    columns = [np.array([point[i] for point in points], dtype=np.int64) for i in range(3)]
    lock_recording = timeline(3, *columns)
    group, start, length = (np.array([span[i] for span in spans], dtype=np.int64) for i in range(3))
    for line in (lock_recording, lock_recording.thinned(least_ns)):
        index, begin, until, value = line.over(group, start, start + length)
        moments = [(int(i), t) for i, a, b in zip(index, begin, until, strict=True) for t in range(a, b)]
        assert moments == [(i, t) for i in range(len(spans)) for t in range(start[i], start[i] + length[i])]
        if line is lock_recording:
            for i, a, b, said in zip(index, begin, until, value, strict=True):
                for t in range(a, b):
                    known = [(p[1], at) for at, p in enumerate(points) if p[0] == group[i] and p[1] <= t]
                    assert said == (points[max(known)[1]][2] if known else -1)
