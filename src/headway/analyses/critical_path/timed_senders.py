"""Recognises processes that sent a signal because a time was over, as `timeout 5 java ...` does: nobody waited for their work.

Question   a thread of another recorded process ended a JVM. Did the program's end wait for what that one did, or for a time?
Method     where the sender waited for timers for at least half of the JVM's life until then, it was the time. A shell's
           `sleep 5; kill $!` waits for a child: so whoever ended the sender's longest wait is asked the same, and so on.
Assumes    a wait that an interrupt ended and that is no I/O was for a timer.
Wrong when a sender slept for most of the time, and then decided by what it saw to end the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.store.sql import woken_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.store import Recording

_PART = 0.5
_FURTHEST = 4
"""So many threads that wait for each other are asked."""
TIMED = (1, 2, 3, 8)
"""What slice.blocked_in says of waits that a timer's interrupt may end: futex, sleep, or another call such as sigsuspend."""
_TIMED = f"waker_irq AND blocked_in IN {TIMED}"
_WOKEN = woken_ns()
_WAITED = f"LEAST({_WOKEN}, until_ns) - GREATEST({_WOKEN} - blocked_ns, since_ns)"


def timers(recording: Recording, threads: PathThreadTable, sent: Sequence[tuple[int, int, int]]) -> Mapping[int, int]:
    """Return the threads that waited for the time at which signals were sent, by place in `sent`; none for other signals.

    A signal is the JVM's pid, the sender, and when it came.
    """
    found: dict[int, int] = {}
    since = [_born_ns(threads, pid) for pid, _, _ in sent]
    asked = {n: thread for n, (_, thread, _) in enumerate(sent)}
    seen: dict[int, set[int]] = {n: {thread} for n, thread in asked.items()}
    for _ in range(_FURTHEST):
        if not asked:
            break
        spans = {n: (thread, since[n], sent[n][2]) for n, thread in asked.items()}
        asked = {}
        for n, (timed_ns, waker) in _waits(recording, spans).items():
            pid, _, until = sent[n]
            if timed_ns >= _PART * max(until - since[n], 1):
                found[n] = spans[n][0]
            elif 0 <= waker < len(threads) and int(threads.pid[waker]) != pid and waker not in seen[n]:
                asked[n] = waker
                seen[n].add(waker)
    return found


def _born_ns(threads: PathThreadTable, pid: int) -> int:
    return int(threads.birth_ns[threads.by_process[pid]].min())


def _waits(recording: Recording, spans: Mapping[int, tuple[int, int, int]]) -> Mapping[int, tuple[int, int]]:
    """Return how long threads (thread, since, until) waited for timers, and who ended their longest wait (below 0: unknown)."""
    columns = [list(spans), *([each[at] for each in spans.values()] for at in range(3))]
    names = ("n", "thread_id", "since_ns", "until_ns")
    rows = recording.query(
        f"WITH asked AS (SELECT {', '.join(f'unnest(?::BIGINT[]) AS {name}' for name in names)})"
        f" SELECT n, SUM(CASE WHEN {_TIMED} THEN {_WAITED} ELSE 0 END), ARG_MAX(COALESCE(waker_id, -1), {_WAITED})"
        f" FROM asked JOIN slice USING (thread_id) WHERE blocked_ns > 0 AND {_WAITED} > 0 GROUP BY n",
        columns,
    ).fetchall()
    return {n: (int(timed), int(waker)) for n, timed, waker in rows}
