"""Finds idle waits that only the kernel recorded: for work from outside, for a time, or for a child process.

Question   an event loop in epoll_wait, an accept loop, a timer that waited before headway attached: who of them waits for work?
Method     the agent took the stack of each thread that stood still (table `waiting_stack`); its rule tells the thread's
           role (waits.classification.roles). The stretches in which it is blocked in calls of that kind are `idle`, or
           too_few_tasks where tasks come from inside the program (a pool's worker), as waits.pieces gives to blocks of the same
           rules. Who
           waits for a process that is recorded, or reads what it writes, waits for the threads of that process, which are
           accounted for themselves: a piece of too_few_tasks, too.
Assumes    as waits.classification.roles does: one stack of a thread tells of all its waits of that kind. No waits that the
           agent recorded are touched.
Wrong when a thread does two things in native calls of one kind, and was seen in one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import CAUSES, FEW, IDLE
from headway.analyses.waits.classification.periodic_threads import in_pool, unneeded_loops
from headway.analyses.waits.classification.roles import (
    ACCEPTOR,
    CONNECTION,
    HELPER,
    NATIVE_STATE,
    OUTSIDE,
    PARK_STATE,
    POOL_WORKER,
    ROLES,
    SELECTOR,
    SLEEP_STATE,
    TIMER,
    WAIT_STATE,
    native_rule,
)
from headway.analyses.waits.rules import RULES, WORK, Wait, classify
from headway.analyses.waits.tables.blocks import whole
from headway.analyses.waits.threads.process_exit import parents
from headway.analyses.waits.threads.thread_states import Scale
from headway.store.sql import woken_ns

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]

_CODES = tuple(CAUSES)
_FUTEX, _TIMED_FUTEX, _NANOSLEEP = 1, 2, 3
_CHILD_CALL = 7
_INPUT = (4, 5, 6)
_CALLS: Mapping[str, tuple[int, ...]] = {
    NATIVE_STATE: (*_INPUT, _CHILD_CALL),
    WAIT_STATE: (_FUTEX, _TIMED_FUTEX),
    PARK_STATE: (_FUTEX, _TIMED_FUTEX),
    SLEEP_STATE: (_TIMED_FUTEX, _NANOSLEEP),
}
"""Values of slice.blocked_in of a thread that stands in something."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One observation of a thread that waits for work, from its stack: time, method, and role (waits.classification.roles)."""

    thread: int
    state: str
    ns: int
    role: str
    method: str | None


@dataclass(frozen=True, eq=False)
class IdlePieces:
    """Times in which threads wait for work, ns from the recording's start; `cause` indexes CAUSES."""

    thread: Ints
    start: Ints
    end: Ints
    cause: Ints

    def where(self, keep: NDArray[np.bool_]) -> IdlePieces:
        """Return some of them."""
        return IdlePieces(self.thread[keep], self.start[keep], self.end[keep], self.cause[keep])


_NOTHING = IdlePieces(*(np.zeros(0, np.int64),) * 4)


def standing(recording: Recording, waits: Waits) -> tuple[Standing, ...]:
    """Return the threads observed waiting for work or their time, by the stacks that the agent took."""
    if not recording.has("waiting_stack"):
        return ()
    rows = recording.query(
        "SELECT w.thread_id, w.state, w.ns, t.pid, w.stack_id FROM waiting_stack w JOIN thread t USING (thread_id)"
        " WHERE t.kind = 'app' ORDER BY w.ns"
    ).fetchall()
    seen = _waits_at(recording, {(row[4], row[1]) for row in rows})
    still = {row[0]: seen[row[4], row[1]] for row in rows if _may_be_idle(seen.get((row[4], row[1])))}
    locks = (waits.data, waits.sites.rule) if waits.data is not None and waits.sites is not None else None
    timers = {each.thread for each in recorded_timers(waits)}
    unneeded = unneeded_loops(recording, still, seen.values(), locks)
    found: list[tuple[int, Standing]] = []
    for thread, state, ns, pid, stack in rows:
        wait = seen.get((stack, state))
        role = _role(wait) if wait is not None else None
        if role is None and thread in unneeded and wait is still[thread]:
            role = TIMER if state == SLEEP_STATE or thread in timers else POOL_WORKER
        if wait is not None and role is not None:
            found.append((pid, Standing(thread, state, max(0, ns - recording.window_ns[0]), role, _method(wait))))
    accepts = {pid for pid, each in found if each.role in (ACCEPTOR, SELECTOR)}
    return tuple(each for pid, each in found if each.role != CONNECTION or pid in accepts)


def pausing(recording: Recording, waits: Waits) -> set[int]:
    """Return the threads that were seen asleep in a call, and else wait for work: the sleep is a part of that work."""
    if not recording.has("waiting_stack"):
        return set()
    rows = recording.query(
        "SELECT w.thread_id, w.state, w.stack_id FROM waiting_stack w JOIN thread t USING (thread_id) WHERE t.kind = 'app'"
    ).fetchall()
    seen = _waits_at(recording, {(stack, state) for _, state, stack in rows})
    known = [(thread, state, seen[stack, state]) for thread, state, stack in rows if (stack, state) in seen]
    asleep = {thread: wait for thread, state, wait in known if state == SLEEP_STATE and _is_in_call(wait)}
    serving = {thread for thread, _, wait in known if _role(wait) not in (None, TIMER, HELPER)}
    if waits.data is not None and waits.sites is not None:
        works = np.array([rule.waiting == WORK for rule in RULES])[waits.sites.rule]
        serving |= set(np.unique(waits.data.blocks.thread[works]).tolist())
    return {thread for thread, wait in asleep.items() if thread in serving or in_pool(wait)}


def _is_in_call(wait: Wait) -> bool:
    return bool(wait.own) and not wait.is_near_run and not wait.own[-1].endswith(".main")


def _may_be_idle(wait: Wait | None) -> bool:
    """Return whether what a thread does and others do tells if it is idle: its stack alone does not."""
    return (
        wait is not None
        and wait.kind != NATIVE_STATE
        and classify(wait).id in ("sleep", "timed-park", "own-park", "condition")
    )


def recorded_timers(waits: Waits) -> tuple[Standing, ...]:
    """Return the threads that waited for their time for most of the recording, by the waits that the agent recorded."""
    data, sites = waits.data, waits.sites
    if data is None or sites is None or not len(data.blocks):
        return ()
    blocks = data.blocks
    is_timer = np.array([ROLES.get(rule.id) == TIMER for rule in RULES])[sites.rule] & (blocks.thread >= 0)
    length = np.bincount(blocks.thread[is_timer], weights=(blocks.end - blocks.start)[is_timer])
    threads = np.flatnonzero(length > (data.window[1] - data.window[0]) / 2)
    threads = threads[threads < data.platform_threads]
    last = {int(blocks.thread[row]): row for row in np.flatnonzero(is_timer & np.isin(blocks.thread, threads))}
    found = []
    for thread, row in sorted(last.items()):
        stack = int(sites.stack[row])
        wait = Wait("", "", tuple((name, method) for name, method, _ in data.frames(stack)), True)
        found.append(Standing(thread, WAIT_STATE, int(blocks.start[row]), TIMER, _method(wait)))
    return tuple(found)


def _role(wait: Wait) -> str | None:
    """Return the role of who waits so; None where it waits for somebody inside, or where nothing is known."""
    if wait.kind == NATIVE_STATE:
        rule = native_rule(wait)
        return rule.role if rule is not None else None
    return ROLES.get(classify(wait).id)


def _method(wait: Wait) -> str | None:
    return next(iter(wait.own), None) or (wait.callers[0] if wait.callers else None)


def _waits_at(recording: Recording, stacks: Collection[tuple[int, str]]) -> dict[tuple[int, str], Wait]:
    """Return the waits as rules look at them, by stack and state; the object that is waited for is not known."""
    rows = recording.query(
        "SELECT s.stack_id, f.class_name, f.method, s.is_cut FROM stack s JOIN frame f USING (frame_id)"
        " WHERE s.stack_id IN (SELECT stack_id FROM waiting_stack) ORDER BY s.stack_id, s.depth"
    ).fetchall()
    frames: dict[int, list[tuple[str, str]]] = {}
    cut: set[int] = set()
    for stack, class_name, method, is_cut in rows:
        frames.setdefault(stack, []).append((class_name, method))
        if is_cut:
            cut.add(stack)
    kinds = {NATIVE_STATE: NATIVE_STATE, WAIT_STATE: "wait", PARK_STATE: "park", SLEEP_STATE: "sleep"}
    return {
        (stack, state): Wait(kinds[state], "", frames[stack], False, stack in cut)
        for stack, state in stacks
        if state in kinds and stack in frames
    }


def idle_pieces(recording: Recording, waits: Waits, window: tuple[int, int]) -> IdlePieces:
    """Return the idle times in a window that no wait of `waits` covers, per thread disjoint and in order."""
    if not recording.has("slice"):
        return _NOTHING
    parts = [_of_standing(recording, waits, window), _of_parents(recording, window)]
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in IdlePieces.__dataclass_fields__)
    found = IdlePieces(*columns)
    found = found.where(found.end > found.start)
    order = np.lexsort((-found.cause, found.start, found.thread))
    found = IdlePieces(*(getattr(found, name)[order] for name in IdlePieces.__dataclass_fields__))
    twice = (np.diff(found.thread, prepend=-1) == 0) & (np.diff(found.start, prepend=-1) == 0)
    found = found.where(~twice)
    return found.where(~_overlap_with_waits(waits, found))


def _of_standing(recording: Recording, waits: Waits, window: tuple[int, int]) -> IdlePieces:
    """Return the stretches in which threads with a role are in calls of the kind in which they were seen."""
    parts = [_NOTHING]
    seen = standing(recording, waits)
    thread, start, end, call = _blocked(recording, {each.thread for each in seen}, window)
    first = np.searchsorted(thread, [each.thread for each in seen])
    last = np.searchsorted(thread, [each.thread for each in seen], side="right")
    for each, a, b in zip(seen, first.tolist(), last.tolist(), strict=True):
        # Who was blocked before the kernel's records begin is in a call that nobody saw.
        there = (start[a:b] <= each.ns) & (end[a:b] >= each.ns)
        unseen = (call[a:b] == 0) & there
        # Where locks are recorded so is every park: what is left beside the one seen is Thread.sleep, the same call.
        is_alike = there if waits.data is not None and each.state in (PARK_STATE, WAIT_STATE) else np.True_
        of_state = a + np.flatnonzero((np.isin(call[a:b], _CALLS[each.state]) & is_alike) | unseen)
        code = _CODES.index(IDLE if each.role in OUTSIDE else FEW)
        parts.append(IdlePieces(thread[of_state], start[of_state], end[of_state], np.full(len(of_state), code)))
    return IdlePieces(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in IdlePieces.__dataclass_fields__)
    )


def _of_parents(recording: Recording, window: tuple[int, int]) -> IdlePieces:
    """Return the stretches in which threads wait for processes of the recording, or for what these write."""
    started = parents(recording)
    if not started:
        return _NOTHING
    rows = recording.query("SELECT thread_id, pid FROM thread WHERE kind IN ('app', 'carrier')").fetchall()
    pids = dict(rows)
    threads = {thread for thread, pid in rows if pid in started}
    thread, start, end, call, waker = _blocked_by(recording, threads, window)
    other = [pids.get(int(by), -1) in started[pids[int(who)]] for who, by in zip(thread, waker, strict=True)]
    keep = (call == _CHILD_CALL) | (np.isin(call, _INPUT) & np.array(other, bool))
    count = int(keep.sum())
    return IdlePieces(thread[keep], start[keep], end[keep], np.full(count, _CODES.index(FEW)))


def _blocked(recording: Recording, threads: Collection[int], window: tuple[int, int]) -> tuple[Ints, ...]:
    return _blocked_by(recording, threads, window)[:4]


def _blocked_by(recording: Recording, threads: Collection[int], window: tuple[int, int]) -> tuple[Ints, ...]:
    """Return the blocked stretches of some threads: thread, start, end, blocked_in, waker; in order of thread and start."""
    if not threads:
        return (np.zeros(0, np.int64),) * 5
    origin = recording.window_ns[0]
    woken = f"{woken_ns('s.')} - {origin}"
    found = recording.query(
        f"SELECT CAST(s.thread_id AS BIGINT) AS thread, {woken} AS until, s.blocked_ns, COALESCE(s.blocked_in, 0) AS call,"
        f" s.waker_id FROM slice s WHERE s.thread_id IN ({', '.join(map(str, sorted(threads)))}) AND s.blocked_ns > 0"
        f" AND {woken} > {window[0]} AND {woken} - s.blocked_ns < {window[1]} ORDER BY thread, until"
    ).fetchnumpy()
    thread, until, blocked, call, waker = (
        whole(found[name]) for name in ("thread", "until", "blocked_ns", "call", "waker_id")
    )
    return thread, until - blocked, until, call, waker


def _overlap_with_waits(waits: Waits, pieces: IdlePieces) -> NDArray[np.bool_]:
    """Return which stretches overlap with a wait of the same thread that the agent recorded."""
    if not len(waits) or not len(pieces.thread):
        return np.zeros(len(pieces.thread), bool)
    order = np.lexsort((waits.start, waits.thread))
    thread, start, end = waits.thread[order].astype(np.int64), waits.start[order], waits.end[order]
    size = int(max(thread.max(), pieces.thread.max())) + 2
    scale = Scale.of(np.concatenate([start, pieces.end]), size)
    place = scale.place(thread, start)
    at = np.searchsorted(place, scale.place(pieces.thread, pieces.end), side="left") - 1
    before = np.maximum(at, 0)
    overlaps: NDArray[np.bool_] = (at >= 0) & (thread[before] == pieces.thread) & (end[before] > pieces.start)
    return overlaps
