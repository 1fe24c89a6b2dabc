"""Every figure of `locks` against the slow, obvious way to get it: random small recordings, counted moment by moment."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.locks.analysis import locks
from headway.analyses.locks.metrics import grouped_sums, metrics, nearest_rank
from headway.analyses.locks.types import Lock
from headway.analyses.waits.classification.sites import fill_stacks
from headway.analyses.waits.threads.thread_states import DOING, Scale
from headway.model.lock_sums import LockSums
from headway.report.json.locks import locks_json
from headway.store import Recording, open_recording, writer
from support.builders.lock_builder import LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

WALL = 60
SLOW = settings(max_examples=25)


@st.composite
def recordings(draw: st.DrawFn, locks: int = 3) -> LockRecording:
    """Random threads, waits, holds and pauses: a thread waits for one thing at a time, a lock has one holder at a time."""
    threads = [FakeThread("app", 0, draw(_cycles()), f"t{i}") for i in range(4)]
    waits = [wait for thread in (*range(4), -1) for wait in draw(_waits(thread, locks))]
    holds = [hold for lock in range(locks) for hold in draw(_holds(lock))]
    pauses = draw(st.lists(st.tuples(st.integers(0, WALL - 1), st.integers(1, 9)), max_size=2))
    return LockRecording(
        threads,
        waits,
        holds,
        WALL,
        [(start, min(start + length, WALL)) for start, length in pauses],
        facts={"other_ns": {"0": draw(st.sampled_from([0, 30]))}, "jvms": [{"pid": 100, "version": "25.0.1"}]},
    )


@st.composite
def _cycles(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Cycles of a thread as the kernel sees them: blocked, then runnable, then running; the last may be cut off."""
    lengths = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(1, 9)), max_size=3))
    states = [
        part for blocked, runnable, running in lengths for part in (("B", blocked), ("W", runnable), ("R", running))
    ]
    states += [("B", draw(st.integers(0, 30))), ("W", draw(st.integers(0, 9)))]
    return [part for part in states if part[1]]


@st.composite
def _waits(draw: st.DrawFn, thread: int, locks: int) -> list[Wait]:
    edges = sorted(draw(st.sets(st.integers(0, WALL), max_size=6)))
    found = []
    someone = st.one_of(st.none(), st.integers(0, 3), st.just(-2))
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        waker = draw(someone)
        waking = None if waker is None else draw(st.integers(start, end))
        is_open = end == WALL and waker is None
        found.append(
            Wait(thread, draw(st.integers(0, locks - 1)), start, end, draw(someone), waker, waking, None, is_open)
        )
    return found


@st.composite
def _holds(draw: st.DrawFn, lock: int) -> list[LockHold]:
    edges = sorted(draw(st.sets(st.integers(0, WALL), max_size=6)))
    return [
        LockHold(lock, draw(st.sampled_from([0, 1, 2, 3, -2])), start, end)
        for start, end in zip(edges[::2], edges[1::2], strict=False)
    ]


@contextmanager
def opened(lock_recording: LockRecording) -> Iterator[Recording]:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_recording(lock_recording.write(Path(folder) / "a.headway"))) as it,
    ):
        yield it


# --- the slow way ------------------------------------------------------------------------------------------------------


RELEASED, WOKE, GONE, OWNED, ACQUIRED = range(5)
"""What counts first of several things that are seen at one moment."""


def sightings(lock_recording: LockRecording, lock: int) -> list[tuple[int, int, int]]:
    """Everything that tells of the holder of a lock: (time, what, thread). Inside a hold single sightings tell nothing."""
    holds = [hold for hold in lock_recording.holds if hold.lock == lock]
    points = [(hold.start, ACQUIRED, hold.thread) for hold in holds] + [(h.end, RELEASED, h.thread) for h in holds]
    seen = []
    # Of what is seen at one moment, that counts first which tells of the wait that began first.
    for wait in sorted(lock_recording.waits, key=lambda each: each.start):
        if wait.lock == lock and wait.owner is not None:
            seen.append((wait.start, OWNED, wait.owner))
        if wait.lock == lock and wait.waker is not None and wait.waking is not None:
            seen += [(wait.waking, WOKE, wait.waker), (wait.end, GONE, wait.thread)]
    return points + [point for point in seen if not any(hold.start < point[0] < hold.end for hold in holds)]


def holder_at(lock_recording: LockRecording, lock: int, t: int) -> int | str:
    """Who has the lock during [t, t + 1): a thread, 'nobody' (handed over) or 'dark' (not known)."""
    holding = [hold for hold in lock_recording.holds if hold.lock == lock and hold.start <= t < hold.end]
    if holding:
        return holding[0].thread
    points = sorted(sightings(lock_recording, lock), key=lambda point: point[:2])
    last = next((point for point in reversed(points) if point[0] <= t), None)
    following = next((point for point in points if point[0] > t and point[1] in (WOKE, OWNED, ACQUIRED)), None)
    if last is not None and last[1] == OWNED:
        return last[2]
    if following is not None and following[1] != ACQUIRED:
        return following[2]
    handed_over = last is not None and (last[1] == WOKE or following is not None)
    return "nobody" if handed_over else "dark"


def state_of(lock_recording: LockRecording, thread: int, lock: int, t: int) -> tuple[str, int]:
    """What a thread does during [t, t + 1), and the lock it is blocked on (-1)."""
    state = lock_recording.threads[thread].at(t) if thread >= 0 else None
    own = [wait.lock for wait in lock_recording.waits if wait.thread == thread and wait.start <= t < wait.end]
    if state == "R":
        return "running", -1
    if state == "W":
        return "runnable", -1
    if own:
        return "blocked", own[0]
    return ("sleeping", -1) if state == "B" else ("unknown", -1)


def doing_at(lock_recording: LockRecording, lock: int, t: int) -> tuple[int | None, str, int]:
    """Who has the lock, what that one does, and on which other lock it is blocked."""
    holder = holder_at(lock_recording, lock, t)
    if holder == "nobody":
        who, state, other = None, "handoff", -1
    elif holder == "dark":
        who, state, other = None, "unknown", -1
    else:
        assert isinstance(holder, int)
        who = holder
        state, other = state_of(lock_recording, holder, lock, t)
        if state == "blocked" and other == lock:
            who, state, other = None, "handoff", -1
    return (who, "gc_pause", -1) if lock_recording.paused(t) else (who, state, other)


# --- the metrics -------------------------------------------------------------------------------------------------------


@SLOW
@given(recordings())
def test_every_figure_of_a_row_is_that_of_the_moments(lock_recording: LockRecording) -> None:
    """One recording for all figures: to write and to read it takes much longer than to count."""
    with opened(lock_recording) as recording:
        rows = list(locks(recording).rows)
    for row in rows:
        assert row.blocker_id is not None
        sums_and_metrics_are_those_of_the_moments(lock_recording, row)
        what_holders_did_is_counted_for_each_moment_of_each_waiter(lock_recording, row)
        lost_cores_are_shared_among_those_who_wait(lock_recording, row)
        the_bound_of_the_speedup_is_what_its_formula_says(lock_recording, row)


def sums_and_metrics_are_those_of_the_moments(lock_recording: LockRecording, row: Lock) -> None:
    mine = [wait for wait in lock_recording.waits if wait.lock == row.blocker_id]
    levels = [lock_recording.parked(number_of(row), t) for t in range(WALL)]
    assert row.sums.thread_time_ns == sum(levels)
    assert row.metrics.thread_time_util_pct == pytest.approx(100 * sum(levels) / WALL)
    assert row.metrics.real_time_util_pct == pytest.approx(100 * sum(map(bool, levels)) / WALL)
    if mine:
        assert row.metrics.average_parking_time_ns == pytest.approx(sum(levels) / len(mine))
    done = [wait for wait in mine if not wait.is_open]
    if done:
        assert row.metrics.average_hold_time_ns == pytest.approx(sum(map(bool, levels)) / len(done))


def number_of(row: Lock) -> int:
    assert row.blocker_id is not None
    return row.blocker_id


@SLOW
@given(recordings(), st.integers(0, WALL - 1), st.integers(1, WALL))
def test_a_window_counts_what_lies_in_it(lock_recording: LockRecording, low: int, length: int) -> None:
    high = min(low + length, WALL)
    with opened(lock_recording) as recording:
        rows = {row.blocker_id: row for row in locks(recording, (low, high)).rows}
    for lock in range(lock_recording.locks):
        levels = [lock_recording.parked(lock, t) for t in range(low, high)]
        if lock not in rows:
            assert not any(levels)
            continue
        sums = rows[lock].sums
        assert sums.thread_time_ns == sum(levels)
        assert sums.real_time_ns == sum(map(bool, levels))
        assert sums.peak_parked == max(levels)
        if (low, high) != (0, WALL):
            assert sums.times_parked == sum(w.lock == lock and low <= w.start < high for w in lock_recording.waits)
            assert sums.parked_now == sum(w.lock == lock and w.start < high < w.end for w in lock_recording.waits)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 9)), max_size=30),
)
def test_grouped_sums_agree_with_counting(blocks: list[tuple[int, int, int]]) -> None:
    group, start, length = (np.array([b[i] for b in blocks], dtype=np.int64) for i in range(3))
    found = grouped_sums(group, start, start + length, 4)
    for g in range(4):
        mine = [(s, s + n) for each, s, n in blocks if each == g]
        levels = [sum(a <= t < b for a, b in mine) for t in range(30)]
        assert found.thread_time_ns[g] == sum(levels)
        assert found.real_time_ns[g] == sum(map(bool, levels))
        assert found.crowded_ns[g] == sum(level > 1 for level in levels)
        assert found.times_parked[g] == len(mine)
        # A block of no length blocks for an instant: it has company of those that are open then.
        peak = max((sum(c <= a < d or (c == a == d) for c, d in mine) for a, _ in mine), default=0)
        assert found.peak_parked[g] == peak
        spans = [
            (a, b)
            for each, a, b in zip(found.span_group, found.span_start_ns, found.span_end_ns, strict=True)
            if each == g
        ]
        assert sum(b - a for a, b in spans) == sum(map(bool, levels))
        assert all(x[1] <= y[0] for x, y in pairwise(spans))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50)), max_size=40), st.integers(1, 100))
def test_percentiles_are_the_smallest_value_with_so_many_at_or_below_it(values: list[tuple[int, int]], p: int) -> None:
    group, value = (np.array([v[i] for v in values], dtype=np.int64) for i in range(2))
    found = nearest_rank(group, value, 3, (p,))
    for g in range(3):
        mine = sorted(v for each, v in values if each == g)
        wanted = next((v for v in mine if sum(w <= v for w in mine) * 100 >= p * len(mine)), -1)
        assert found[g, 0] == wanted


@given(
    st.tuples(*[st.integers(0, 10**6) for _ in range(6)]),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.integers(1, 10**9),
)
def test_the_paper_s_formulas_hold_between_the_columns(
    counts: tuple[int, ...], thread_time: int, life: int, total: int
) -> None:
    times, now, peak, real, first, _ = counts
    now = min(now, times)
    sums = LockSums(times, times, now, peak, thread_time, real, first, first + life, first + life)
    found = metrics(sums, total)
    assert found.average_parking_time_ns == (thread_time / times if times else None)
    assert found.average_hold_time_ns == (real / (times - now) if times > now else None)
    assert found.real_time_util_pct == 100 * real / total
    assert found.thread_time_util_pct == 100 * thread_time / total
    assert found.real_life_time_util_pct == (100 * real / life if life else None)
    assert found.thread_life_time_util_pct == (100 * thread_time / life if life else None)


# --- holders -----------------------------------------------------------------------------------------------------------


def what_holders_did_is_counted_for_each_moment_of_each_waiter(lock_recording: LockRecording, row: Lock) -> None:
    names = {thread.name: i for i, thread in enumerate(lock_recording.threads)} | {
        "virtual thread #1001": -1,
        "virtual thread #1002": -2,
    }
    wanted: Counter[tuple[int | None, str]] = Counter()
    others: Counter[tuple[int | None, int]] = Counter()
    for t in range(WALL):
        waiting = lock_recording.parked(number_of(row), t)
        who, state, other = doing_at(lock_recording, number_of(row), t)
        wanted[who, state] += waiting
        if other >= 0:
            others[who, other] += waiting
    holding = row.holding or dict.fromkeys(DOING, 0)
    for state in DOING:
        assert holding[state] == sum(ns for (_, each), ns in wanted.items() if each == state), state
    assert sum(holding.values()) == row.sums.thread_time_ns
    seen = {names[holder.thread]: holder for holder in row.holders}
    for (who, state), ns in wanted.items():
        if who is not None and ns:
            assert seen[who].doing[state] == ns
    for holder in row.holders:
        blocked = {each.blocker_id: each.wait_ns for each in holder.blocked_on}
        assert blocked == {o: ns for (w, o), ns in others.items() if w == names[holder.thread] and ns}


@settings(max_examples=10)  # each writes two recordings, for a name
@given(recordings())
def test_the_jvm_changes_what_threads_known_by_their_ids_are_called_and_no_figure(
    lock_recording: LockRecording,
) -> None:
    lock_recording = replace(
        lock_recording, waits=[wait for wait in lock_recording.waits if wait.thread >= 0]
    )  # virtual ones can't wait in a JDK 17
    rows_of_versions = []
    for version in ("17.0.12", "25.0.1"):
        with opened(
            replace(lock_recording, facts=lock_recording.facts | {"jvms": [{"pid": 100, "version": version}]})
        ) as recording:
            rows_of_versions.append(list(locks(recording).rows))
    for old, new in zip(*rows_of_versions, strict=True):
        for name, row in (("thread #1002", old), ("virtual thread #1002", new)):
            assert {who.thread for who in row.holders if who.tid is None} <= {name}
            assert {who.thread for who in row.wakers if who.tid is None} <= {name}
        assert repr(new).replace("virtual thread #", "thread #") == repr(old)


# --- costs -------------------------------------------------------------------------------------------------------------


def idle_at(lock_recording: LockRecording, t: int) -> float:
    if lock_recording.paused(t):
        return 0.0
    active = sum(
        thread.at(t) in ("R", "W") for thread in lock_recording.threads
    )  # who is ready wants a core, and no lock
    others = sum(lock_recording.facts["other_ns"].values()) / WALL
    return max(0.0, 2 - active - float(others))


def lost_cores_are_shared_among_those_who_wait(lock_recording: LockRecording, row: Lock) -> None:
    wanted = 0.0
    for t in range(WALL):
        everyone = sum(lock_recording.parked(lock, t) for lock in range(lock_recording.locks))
        if everyone:
            wanted += lock_recording.parked(number_of(row), t) * min(1.0, idle_at(lock_recording, t) / everyone)
    assert row.lost_core_ns is not None
    assert abs(row.lost_core_ns - wanted) <= 0.5 + 1e-6


def the_bound_of_the_speedup_is_what_its_formula_says(lock_recording: LockRecording, row: Lock) -> None:
    waited = ready = work = asked = 0.0
    for t in range(WALL):
        states = [thread.at(t) for thread in lock_recording.threads]
        waiting = lock_recording.parked(number_of(row), t)
        asked += waiting
        waited += waiting > 0
        ready += "W" in states
        work += states.count("R")
    assert row.lost_core_ns is not None
    together = max(row.lost_core_ns, min(asked, 2 * waited)) - waited
    least = max(WALL - waited - max(0.0, min(ready, WALL - waited, together)), min(work, 2 * WALL) / 2)
    # What was before the first wait stays as it was, being late there, too: until the time bin begins that the wait is in.
    first = next((t for t in range(WALL) if lock_recording.parked(number_of(row), t)), 0)
    if least * 1000 < WALL:
        assert row.speedup_bound is None or row.speedup_bound >= WALL / max(least, first, 1e-9) * (1 - 1e-6)
    else:
        assert row.speedup_bound is not None
        assert (
            max(1.0, WALL / max(least, first)) * (1 - 1e-6) <= row.speedup_bound <= max(1.0, WALL / least) * (1 + 1e-6)
        )


# --- sites and groups --------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([-1, -1, 3, 5])), max_size=20))
def test_a_block_without_a_stack_counts_for_the_one_its_thread_was_seen_with(rows: list[tuple[int, int, int]]) -> None:
    blocker, thread, stack = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
    found = fill_stacks(blocker, thread, stack)
    for i, row in enumerate(rows):
        mine = [(j, other[2]) for j, other in enumerate(rows) if other[:2] == row[:2] and other[2] >= 0]
        before = [s for j, s in mine if j <= i]
        after = [s for j, s in mine if j > i]
        assert found[i] == (before[-1] if before else after[0] if after else -1)


@SLOW
@given(recordings())
def test_classes_add_up_their_objects_and_windows_add_up_to_the_whole(lock_recording: LockRecording) -> None:
    with opened(lock_recording) as recording:
        single = locks(recording).rows
        grouped = locks(recording, by="class").rows
        halves = [locks(recording, window, by="class").rows for window in ((0, WALL // 2), (WALL // 2, WALL))]
        of_sites = locks(recording, by="site").rows
    total = sum(row.sums.thread_time_ns for row in single)
    assert sum(row.sums.thread_time_ns for row in grouped) == total
    assert sum(row.sums.thread_time_ns for half in halves for row in half) == total
    assert sum(row.sums.thread_time_ns for row in of_sites) == total
    levels = [any(lock_recording.parked(lock, t) for lock in range(lock_recording.locks)) for t in range(WALL)]
    assert sum(row.sums.real_time_ns for row in grouped) == sum(levels)
    lost = [sum(row.lost_core_ns or 0 for row in rows) for rows in (single, grouped, of_sites)]
    assert max(lost) - min(lost) <= 3


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.lists(st.integers(-70, 70), max_size=20))
def test_moments_keep_their_order_however_many_threads_there_are(edges: list[int], asked: list[int]) -> None:
    """Few threads are placed by ns, too many by the number of different times: the last edge at or before is the same."""
    times = np.sort(np.array(edges, dtype=np.int64))
    few, many = Scale.of(times, 1), Scale.of(times, 1 << 62)
    assert (few.moments is None, many.moments is None) == (True, False)
    for scale in (few, many):
        places = scale.until(times)
        found = np.searchsorted(places, scale.until(np.array(asked, dtype=np.int64)), side="right")
        assert found.tolist() == [sum(edge <= t for edge in edges) for t in asked]
        assert places.min() > 0
        assert places.max() < scale.size


@settings(max_examples=12)  # each writes two recordings
@given(recordings(), st.integers(1, 5), st.sampled_from([None, (7, 41)]))
def test_slices_read_in_stretches_of_time_give_what_slices_read_at_once_give(
    lock_recording: LockRecording, rows: int, window: tuple[int, int] | None
) -> None:
    with opened(lock_recording) as recording:
        at_once = list(locks_json(locks(recording, window)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "ROW_GROUP", rows)
        with opened(lock_recording) as recording:
            assert list(locks_json(locks(recording, window))) == at_once
