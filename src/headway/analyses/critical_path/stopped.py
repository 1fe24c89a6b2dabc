"""Finds JVMs that somebody outside told to end by a signal, and what they did before: nobody in them waited for the signal.

Question   whom does the end of a program wait for that Ctrl-C, TERM or KILL ended? The thread that acts for the signal waits for
           the signal alone, which the JVM's first thread takes: so the path would go through a thread that did nothing.
Method     a JVM starts a thread for each signal that it gets, `SIGTERM handler`. If that one is there when the process
           ends, the path goes from its start to that thread of the program that was active last before. A JVM that is
           killed at once has no such thread; its threads were woken to die by somebody outside of it. Who sent the signal because
           a time was over (`timeout 5 java`) counts as outside, too (critical_path.timed_senders). Who was active and
           who woke whom is asked for all such JVMs at once: a build has hundreds of them, and a recording millions of slices.
Assumes    a handler that lives until the process ends did end it, as those of the JVM do.
Wrong when the signal came from a thread on record, and took a thread of the JVM while that was on a CPU: then the sender is not
           known, and the program counts as ended from outside. And when the program ends itself by another signal (USR2):
           a handler of its own that lives until the end need not have brought it about, so it does not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from headway.analyses.critical_path.timed_senders import timers
from headway.analyses.waits.threads.process_exit import NEVER, exits
from headway.model.kinds import PROGRAM
from headway.store.sql import woken_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.waits.threads.process_exit import Exit
    from headway.store import Recording

SIGNAL_HANDLER = re.compile(r"^SIG(\S+) handler$")
"""Threads that a JVM starts when a signal came, whoever sent it; the group is the signal."""
_ENDS_A_JVM = ("HUP", "INT", "TERM")
"""Signals by which a JVM ends; at others it does what the program has it do, and goes on."""
_NEAR_NS = 1_000_000_000
"""A process that ends so shortly before the recording may have ended it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """How a JVM was told to end; thread_ids, and CLOCK_MONOTONIC ns.

    `handler` is the thread that acts for the signal, which `sender` started (both None: killed at once). `active` is
    that thread of the program that was active last before `start_ns`, when the signal came; `exit_ns`: the threads were woken
    to die from then on. `timer`: the thread of another process that waited for
    the time at which it sent the signal (None: the signal came from outside).
    """

    pid: int
    handler: int | None
    sender: int | None
    active: int
    start_ns: int
    exit_ns: int
    timer: int | None = None


_found: WeakKeyDictionary[Recording, tuple[Stop, ...]] = WeakKeyDictionary()
"""What was found in the recordings that are in use."""


def stops(recording: Recording, threads: PathThreadTable) -> tuple[Stop, ...]:
    """Return the JVMs of a recording that somebody outside told to end; looked for once, as many parts ask."""
    if recording not in _found:
        _found[recording] = tuple(_look(recording, threads))
    return _found[recording]


def stop_of_program(recording: Recording, threads: PathThreadTable) -> Stop | None:
    """Return how the program was told to end: its own process, or the only JVM that it still ran then. None: it was not."""
    found = stops(recording, threads)
    of_program = [each for each in found if each.pid == recording.manifest.pid]
    near = [each for each in found if each.exit_ns > recording.window_ns[1] - _NEAR_NS]
    return of_program[0] if of_program else near[0] if len(near) == 1 else None


def handlers(recording: Recording, threads: PathThreadTable) -> frozenset[int]:
    """Return the threads that acted for the signals that JVMs were told to end by."""
    return frozenset(each.handler for each in stops(recording, threads) if each.handler is not None)


_Signal = tuple["Exit", int | None, int | None]
"""How a JVM ended, the handler of the signal, and who started that one."""


def _look(recording: Recording, threads: PathThreadTable) -> Iterable[Stop]:
    acting = [(each, _handler(threads, each)) for each in exits(recording)]
    known = ((each, i, int(threads.parent[i]) if i is not None else None) for each, i in acting)
    signals = [(each, i, sender) for each, i, sender in known if sender is None or sender >= 0]
    from_within, timer = _sent_from_within(recording, threads, signals)
    outside = [each for each in signals if each[0].pid not in from_within]
    start_ns = {each.pid: int(threads.birth_ns[i]) if i is not None else each.start_ns for each, i, _ in outside}
    active = _active_before(recording, threads, start_ns)
    for each, i, sender in outside:
        if each.pid in active:
            of = active[each.pid]
            yield Stop(each.pid, i, sender, of, start_ns[each.pid], each.start_ns, timer.get(each.pid))


def _handler(threads: PathThreadTable, its_exit: Exit) -> int | None:
    """Return the first thread of a JVM that acts for a signal which ends it, and that lived until it ended."""
    of_process = threads.by_process[its_exit.pid]
    there = of_process[threads.end_ns[of_process] >= its_exit.start_ns].tolist()
    named = ((i, SIGNAL_HANDLER.match(threads.names[i])) for i in there)
    acting = (i for i, found in named if found is not None and found[1] in _ENDS_A_JVM)
    return min(acting, key=lambda i: int(threads.birth_ns[i]), default=None)


def _sent_from_within(
    recording: Recording, threads: PathThreadTable, signals: Sequence[_Signal]
) -> tuple[set[int], dict[int, int]]:
    """Return the JVMs that a thread on record ended, of another process and not because a time was over: the path goes on in that
    one then. Of one that was killed at once, it may be a thread of its own, too. And by JVM who waited for that time.

    A signal with a handler wakes a thread of the JVM, which wakes `sender`, which starts the handler. Without one, whoever sent
    it woke the JVM's threads to die.
    """
    handlers = [(each.pid, i, sender) for each, i, sender in signals if i is not None and sender is not None]
    takers = _wakers(recording, [(sender, int(threads.birth_ns[i])) for _, i, sender in handlers])
    asked = [(pid, taker) for (pid, _, _), taker in zip(handlers, takers, strict=True) if _is_on_record(taker, threads)]
    sources = _wakers(recording, [taker for _, taker in asked if taker is not None])
    sent = [(pid, *source) for (pid, _), source in zip(asked, sources, strict=True) if source is not None]
    sent += [(each.pid, each.waker, each.start_ns) for each, i, _ in signals if i is None and each.waker >= 0]
    own = {pid for pid, thread, _ in sent if _is_of(pid, thread, threads)}
    killed_itself = own & {each.pid for each, i, _ in signals if i is None}
    others = [one for one in sent if _is_on_record(one[1:], threads) and one[0] not in own]
    of_time = timers(recording, threads, others)
    within = killed_itself | {pid for n, (pid, _, _) in enumerate(others) if n not in of_time}
    return within, {others[n][0]: timer for n, timer in of_time.items()}


def _is_of(pid: int, thread: int, threads: PathThreadTable) -> bool:
    return 0 <= thread < len(threads) and int(threads.pid[thread]) == pid


def _is_on_record(waker: tuple[int, int] | None, threads: PathThreadTable) -> bool:
    return waker is not None and 0 <= waker[0] < len(threads)


_WOKEN = woken_ns()
"""When the wait before a slice ended."""


def _wakers(recording: Recording, asked: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None]:
    """Return who woke each thread last before a time, and when; None where no thread did."""
    found: list[tuple[int, int] | None] = [None] * len(asked)
    if not asked:
        return found
    columns = [list(range(len(asked))), *([each[at] for each in asked] for at in (0, 1))]
    rows = recording.query(
        "WITH asked AS (SELECT unnest(?::BIGINT[]) AS n, unnest(?::BIGINT[]) AS thread_id, unnest(?::BIGINT[]) AS before_ns),"
        f" woken AS (SELECT thread_id::BIGINT AS thread_id, {_WOKEN} AS ns, waker_id, waker_irq FROM slice"
        " WHERE blocked_ns > 0 AND thread_id IN (SELECT thread_id FROM asked))"
        " SELECT n, waker_id, ns, waker_irq FROM asked ASOF JOIN woken"
        " ON asked.thread_id = woken.thread_id AND asked.before_ns >= woken.ns",
        columns,
    ).fetchall()
    for n, waker, ns, is_interrupt in rows:
        found[n] = (int(waker), int(ns)) if waker is not None and not is_interrupt else None
    return found


def _active_before(recording: Recording, threads: PathThreadTable, until_ns: dict[int, int]) -> dict[int, int]:
    """Return by pid the program's thread that was active last before a time, each process's own, its first thread apart."""
    rows = _activity(recording, until_ns, (recording.window_ns[0], recording.window_ns[0]))
    found: dict[int, int] = {}
    for thread in (int(row[0]) for row in rows):
        if not 0 <= thread < len(threads) or threads.kinds[thread] not in PROGRAM:
            continue
        pid = int(threads.pid[thread])
        if threads.tid[thread] != pid and int(threads.birth_ns[thread]) < until_ns.get(pid, -1):
            found.setdefault(pid, thread)
    return found


def last_active(recording: Recording, chosen: list[int], span: tuple[int, int]) -> int | None:
    """Return which of some threads was running or runnable last in a span; of several at its end, the one that ran longest.

    Threads that were only woken to die with their process were not active.
    """
    wanted = set(chosen)
    return next((row[0] for row in _activity(recording, {}, span) if row[0] in wanted), None)


def _activity(recording: Recording, until_ns: dict[int, int], span: tuple[int, int]) -> list[tuple[Any, ...]]:
    """Return the threads that were active in a span, the last first: thread_id, the end of its last activity, how long it ran.

    `until_ns`: where the span ends for threads of some processes, by pid.
    """
    ends = exits(recording)
    return recording.query(
        "WITH process AS (SELECT unnest($pid::BIGINT[]) AS pid, unnest($until::BIGINT[]) AS until_ns),"
        " ended AS (SELECT unnest($ended::BIGINT[]) AS pid, unnest($exit::BIGINT[]) AS exit_ns),"
        " life AS (SELECT thread_id, COALESCE(until_ns, $end) AS until_ns, COALESCE(exit_ns, $never) AS exit_ns"
        " FROM thread LEFT JOIN process USING (pid) LEFT JOIN ended USING (pid))"
        " SELECT thread_id, MAX(LEAST(start_ns + running_ns, COALESCE(until_ns, $end))) AS last,"
        " SUM(running_ns) AS running FROM slice LEFT JOIN life USING (thread_id)"
        f" WHERE {_WOKEN} < COALESCE(until_ns, $end) AND {_WOKEN} < COALESCE(exit_ns, $never)"
        f" AND start_ns + running_ns > $begin AND start_ns + running_ns > {_WOKEN}"
        " GROUP BY thread_id ORDER BY last DESC, running DESC, thread_id",
        {
            **{"pid": list(until_ns), "until": list(until_ns.values()), "begin": span[0], "end": span[1]},
            **{"ended": [each.pid for each in ends], "exit": [each.start_ns for each in ends], "never": NEVER},
        },
    ).fetchall()
