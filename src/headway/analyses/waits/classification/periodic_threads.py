"""Finds threads that only wait for their time to come: tickers, housekeepers, schedulers that a program wrote itself.

Question   a scheduler's clock sleeps ten milliseconds between two ticks, a cache's cleaner waits for its next round. Nothing is
           gained without such a wait: there would be more rounds, not an earlier end. Which waits with a time limit are such?
Method     by thread. It was there when the recording ended, or is a daemon and was there when the program ended, or ended
           before the main thread, as a daemon or since another thread ended its last wait: nobody waited for its end, or a wait
           for it is on record, and counts as below. Its waits are
           near its run(), not in a task that a pool gave it. It hardly ran; or its waits were mostly over because their time was,
           or it slept. Nobody else waited for long until it did something: threads that it woke after long waits for a result,
           for a condition or for room tell of work that it does. Nor did it wait for work itself: sleeping is a part of such
           work then. Threads that wait in one method are judged together. A daemon that hardly ran and waits so without a time
           limit waits for work.
Assumes    who waits for a lock that such a thread has waits for the lock, not for its time.
Wrong when a program is attached to while it waits for threads of its own that do their work in rounds with pauses between them,
           and no thread stands in join or awaits their results: these pauses count as waits for their time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered, numbered_texts
from headway.analyses.waits.classification.polls import helpers
from headway.analyses.waits.rules import PERIODIC, RULES, WORK, Wait
from headway.analyses.waits.threads.process_exit import NEVER, exits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import Blocks, LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

HARDLY = 0.05
"""A thread that ran for less of its life is no worker; a wait that is less of the recording is no long one."""
_MOSTLY = 0.5
_SELDOM = 0.1
_NUMBER = {rule.id: number for number, rule in enumerate(RULES)}
_PERIODIC = RULES.index(PERIODIC)
_PAUSES = [_NUMBER[name] for name in ("sleep", "timed-park")]
_TIMED = [*_PAUSES, *(_NUMBER[name] for name in ("condition", "own-park"))]
_UNTIMED = [_NUMBER[name] for name in ("condition", "own-park")]
_RESULTS = [_NUMBER[name] for name in ("latch", "result", "barrier")]
_NEEDED = [*_RESULTS, *(_NUMBER[name] for name in ("condition", "own-park", "queue-full", "resource-pool"))]
"""Rules of waits that tell that who ended them was waited for."""
_CONSUMERS = [_NUMBER[name] for name in ("queue-consumer", "queue-in-a-call", "worker")]
_WORK = [number for number, rule in enumerate(RULES) if rule.waiting == WORK]
POOLS = ("ThreadPoolExecutor", "ForkJoinPool", "ForkJoinTask", "ForkJoinWorkerThread", "ThreadPerTaskExecutor")
_JOINS = ("join", "awaitTermination", "awaitQuiescence")


def with_periodic(data: LockData, stack: Ints, rule: Ints) -> Ints:
    """Return the rules of all blocks, those of threads that only wait for their time, or are woken for something, as such."""
    timed = data.blocks.is_timed
    rows = np.flatnonzero((timed & np.isin(rule, _TIMED)) | (~timed & np.isin(rule, _UNTIMED)))
    rows = rows[timed[rows] | _are_idle_daemons(data.recording, data.blocks.thread[rows])]
    rows = rows[_are_loops(data, stack[rows])] if len(rows) else rows
    goes_on = _is_cut_off(data.recording)
    stays = _stay(data.recording, data.blocks.thread[rows], goes_on=goes_on, dismissed=_dismissed(data))
    rows = rows[stays] if len(rows) else rows
    if not len(rows) or (goes_on and _is_joined(data, rule)):
        return rule
    lines = numbered_texts([_line(data, int(each)) for each in stack[rows]])[1]
    rows, lines = _unneeded(data, rows, lines, rule, _NEEDED if goes_on else [*_NEEDED, *_CONSUMERS])
    is_woken = _is_ended(data, rows) & ~np.isin(rule[rows], _PAUSES)
    often = np.bincount(lines, weights=is_woken) > _SELDOM * np.bincount(lines)
    found = rule.copy()
    found[rows] = np.where(often[lines] | ~timed[rows], _NUMBER["worker"], _PERIODIC) if len(rows) else found[rows]
    return found


def unneeded_loops(
    recording: Recording, standing: Mapping[int, Wait], seen: Iterable[Wait], locks: tuple[LockData, Ints] | None
) -> set[int]:
    """Return which of some sleeping threads (`standing`) only wake up from time to time, such as clocks and cleaners.

    No wait is recorded of a platform thread's sleep, nor one that had begun before headway came. `seen`: where any thread stood
    that was in no recorded wait; `locks`: the waits and their rules, if recorded.
    """
    goes_on = _is_cut_off(recording)
    loops = {thread: wait for thread, wait in standing.items() if _is_loop(wait)}
    if not loops or (goes_on and _joins(seen)):
        return set()
    threads = np.array(sorted(loops), np.int64)
    threads = threads[_stay(recording, threads, goes_on=goes_on)]
    if locks is None:
        return set(threads[_hardly_run(recording, threads)].tolist())
    data, rule = locks
    if goes_on and _is_joined(data, rule):
        return set()
    needed = _needed_threads(data, np.isin(rule, _NEEDED if goes_on else [*_NEEDED, *_CONSUMERS]))
    works = np.union1d(needed, data.blocks.thread[np.isin(rule, _WORK)])
    asleep = {thread for thread, wait in loops.items() if _is_pause(wait)}
    lines = {loops[thread].own[0] for thread in loops if thread in (works if thread in asleep else needed)}
    is_idle = _hardly_run(recording, threads) | np.isin(threads, sorted(asleep))
    return {thread for thread in threads[is_idle].tolist() if loops[thread].own[0] not in lines}


def _unneeded(data: LockData, rows: Ints, lines: Ints, rule: Ints, needed: list[int]) -> tuple[Ints, Ints]:
    """Return those of some waits (and their lines) whose threads wait for their time alone, and nobody for them."""
    blocks = data.blocks
    threads, of = numbered(blocks.thread[rows])
    is_pause = np.isin(rule[rows], _PAUSES)
    works = np.isin(threads, blocks.thread[np.isin(rule, _WORK)]) & (np.bincount(of, weights=is_pause) > 0)
    likely = _are_likely(data, threads, of, rows, is_pause) & ~works
    while likely.any():
        others = np.isin(rule, needed)
        others[rows[likely[of]]] = False
        wakes = likely & np.isin(threads, _needed_threads(data, others))
        again = likely & ~np.isin(np.arange(len(threads)), of[np.isin(lines, lines[wakes[of]])])
        if np.array_equal(again, likely):
            break
        likely = again
    return rows[likely[of]], lines[likely[of]]


def _is_cut_off(recording: Recording) -> bool:
    """Return whether the recording ended before the program did."""
    return recording.manifest.ended_by not in (None, "exit")


def _stay(recording: Recording, threads: Ints, *, goes_on: bool, dismissed: Ints | None = None) -> Bools:
    """Return which threads, no main one, were there until the recording ended, or daemons until their program did.

    Or daemons that ended before the main thread, and other threads that were woken to end then (`dismissed`): where somebody
    waited for one, it is on record.
    """
    ends_with_main = set() if dismissed is None else set(dismissed.tolist())
    ended = {each.pid: each.start_ns for each in exits(recording)} if not goes_on and recording.has("slice") else {}
    rows = recording.query(
        "SELECT thread_id, pid, end_ns, name, COALESCE(is_daemon, FALSE) FROM thread WHERE kind = 'app'"
    ).fetchall()
    main_end = {pid: NEVER if end_ns is None else end_ns for _, pid, end_ns, name, _ in rows if name == "main"}

    def stays(thread: int, pid: int, end_ns: int | None, is_daemon: bool) -> bool:
        if goes_on or end_ns is None:
            return goes_on and end_ns is None
        is_before_main = end_ns < main_end.get(pid, 0) and (is_daemon or thread in ends_with_main)
        return is_before_main or (is_daemon and pid in ended and end_ns >= ended[pid])

    found = {
        thread
        for thread, pid, end_ns, name, is_daemon in rows
        if name != "main" and stays(thread, pid, end_ns, is_daemon)
    }
    return np.isin(threads, np.array(sorted(found), np.int64))


def _dismissed(data: LockData) -> Ints:
    """Return the threads whose last recorded wait another thread ended, as who interrupts a thread so that it ends."""
    blocks = data.blocks
    order = np.lexsort((blocks.began, blocks.thread))
    thread = blocks.thread[order]
    last = order[np.append(thread[1:] != thread[:-1], True)] if len(order) else order
    last = last[(blocks.thread[last] >= 0) & ~blocks.is_open[last]]
    found: Ints = blocks.thread[last[_is_ended(data, last)]].astype(np.int64)
    return found


def _are_loops(data: LockData, stack: Ints) -> Bools:
    """Return which stacks are those of loops that threads consist of, not of tasks that a pool runs."""
    numbers, at = numbered(stack)
    return np.array([_is_loop(_wait(data, int(each))) for each in numbers], bool)[at]


def _wait(data: LockData, stack: int) -> Wait:
    frames = tuple((name, method) for name, method, _ in data.frames(stack))
    return Wait("", "", frames, False, data.is_cut(stack))


def _is_loop(wait: Wait) -> bool:
    """Return whether a wait is near its thread's run(); a pause in a task of a pool's is a part of that task."""
    is_main = not wait.own or wait.own[-1].endswith(".main")
    return wait.is_near_run and not is_main and not (in_pool(wait) and _is_pause(wait))


def in_pool(wait: Wait) -> bool:
    """Return whether a wait is in a task that a pool of the JDK's runs."""
    return any(part in name for name, _ in wait.frames for part in POOLS)


def _is_pause(wait: Wait) -> bool:
    is_park = "LockSupport.park" in wait.calls or "LockSupport.parkNanos" in wait.calls
    return wait.caller.startswith(("Thread.sleep", "TimeUnit.sleep")) or (is_park and wait.caller in wait.own)


def _is_joined(data: LockData, rule: Ints) -> bool:
    """Return whether a thread waits for the end of others, which may be any, when the recording ends."""
    stacks = np.unique(data.blocks.stack[data.blocks.is_open & (rule == _NUMBER["result"])])
    return _joins(_wait(data, int(each)) for each in stacks)


def _joins(waits: Iterable[Wait]) -> bool:
    return any(method in _JOINS for wait in waits for _, method in wait.frames)


def _are_likely(data: LockData, threads: Ints, of: Ints, rows: Ints, is_pause: Bools) -> Bools:
    """Return which threads hardly ran, or whose waits mostly ended by their own time limit."""
    by_time = np.bincount(of, weights=is_pause | ~_is_ended(data, rows)) >= _MOSTLY * np.bincount(of)
    return np.asarray(by_time | _hardly_run(data.recording, threads))


def _is_ended(data: LockData, rows: Ints) -> Bools:
    """Return which waits another thread ended that is no helper of the JVM's."""
    waker = data.blocks.waker[rows]
    return np.asarray((waker >= 0) & (waker != data.blocks.thread[rows]) & ~np.isin(waker, helpers(data)))


def _hardly_run(recording: Recording, threads: Ints) -> Bools:
    """Return which threads ran for hardly any of their lives."""
    begin, end = recording.window_ns
    life = f"LEAST(COALESCE(end_ns, {end}), {end}) - GREATEST(start_ns, {begin}) - COALESCE(runnable_ns, 0)"
    rows = recording.query(f"SELECT thread_id FROM thread WHERE running_ns < {HARDLY} * GREATEST({life}, 1)").fetchall()
    return np.isin(threads, np.array([thread for (thread,) in rows], np.int64))


def _are_idle_daemons(recording: Recording, threads: Ints) -> Bools:
    """Return which threads are daemons that ran for hardly any of their lives."""
    rows = recording.query("SELECT thread_id FROM thread WHERE COALESCE(is_daemon, FALSE)").fetchall()
    is_daemon = np.isin(threads, np.array([thread for (thread,) in rows], np.int64))
    return np.asarray(is_daemon & _hardly_run(recording, threads)) if is_daemon.any() else is_daemon


def _needed_threads(data: LockData, which: Bools) -> Ints:
    """Return the threads that ended some waits which were long, all of one thread for another added up."""
    blocks: Blocks = data.blocks
    woken = np.flatnonzero(which & (blocks.waker >= 0) & (blocks.waker != blocks.thread))
    length = np.minimum(blocks.full[woken], data.window[1]) - np.maximum(blocks.began[woken], data.window[0])
    wakers, at = numbered(blocks.waker[woken])
    if not len(woken):
        return np.zeros(0, np.int64)
    return np.asarray(wakers[np.bincount(at, weights=length) >= HARDLY * (data.window[1] - data.window[0])])


def _line(data: LockData, stack: int) -> str:
    own: Sequence[tuple[str, str, int | None]] = data.frames(stack)
    return next((f"{name}.{method}" for name, method, _ in own if not name.startswith("java.")), "")
