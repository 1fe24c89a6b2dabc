"""Finds who ended waits for I/O inside of the program: its clients and servers that talk by sockets or pipes.

Question   whom did a thread wait for that read from a socket: somebody outside, or another thread of the program?
Method     the kernel's waker. A write to a pipe or a local socket wakes the reader itself. A packet over the loopback interface
           does so in an interrupt, which runs on the CPU, and in the name, of the thread that sends it. A packet from outside
           comes in the name of whichever thread has that CPU, or of none: so such wakers count where nearly all of a
           thread's waits for I/O were ended by threads of the program. Who is woken to die is no part of that.
Assumes    who talks with the program's own threads over the loopback interface mostly talks with them alone.
Wrong when threads of the program have all CPUs all of the time, and packets come from outside: they are then taken for senders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.waits.tables.blocks import whole
from headway.analyses.waits.threads.process_exit import woken_to_die
from headway.analyses.waits.threads.thread_states import Scale
from headway.store.sql import woken_ns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Spans = tuple[Ints, Ints, Ints]

_NEARLY_ALL = 0.9
_MOST = 500_000
"""Of more waits for I/O than so many nothing is looked for: they would take too much memory."""
_TALKS = "s.blocked_in IN (4, 5, 6) AND s.blocked_ns > 0"
"""Polls, reads and socket calls."""
_AMONG = "(SELECT UNNEST($1::BIGINT[]))"
_NONE = np.zeros(0, np.int64)


def io_waits(
    recording: Recording, program: Collection[int], span: tuple[int, int], most: int = _MOST
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return waits for I/O that threads of the program ended: thread, start, end (from the recording's start), waker.

    They are those of the program's threads, and over within a span; none where there are more than `most` waits for I/O.
    """
    if not recording.has("slice"):
        return _NONE, _NONE, _NONE, _NONE
    woken = f"{woken_ns('s.')} - {recording.window_ns[0]}"
    of_program = f"{_TALKS} AND {woken} > {span[0]} AND {woken} <= {span[1]} AND s.thread_id IN {_AMONG}"
    of_program += f" AND NOT {woken_to_die(recording)}"
    among = sorted(program)
    counted = recording.query(f"SELECT COUNT(*) FROM slice s WHERE {of_program}", (among,)).fetchone()
    if counted is None or not 0 < counted[0] <= most:
        return _NONE, _NONE, _NONE, _NONE
    rows = recording.query(
        "WITH io AS (SELECT s.thread_id::BIGINT AS thread, s.waker_id::BIGINT AS waker, s.waker_irq AS irq,"
        f" {woken} AS until, s.blocked_ns AS ns, s.waker_id != s.thread_id AND s.waker_id IN {_AMONG} AS own"
        f" FROM slice s WHERE {of_program}),"
        " talks AS (SELECT thread, SUM(CASE WHEN own AND irq THEN ns ELSE 0 END) AS own_ns,"
        " SUM(CASE WHEN irq OR NOT own THEN ns ELSE 0 END) AS all_ns FROM io GROUP BY thread)"
        " SELECT thread, until - ns AS start, until, waker FROM io JOIN talks USING (thread)"
        f" WHERE own AND (NOT irq OR own_ns >= {_NEARLY_ALL} * all_ns) ORDER BY until",
        (among,),
    ).fetchnumpy()
    thread, start, until, waker = (whole(rows[name]) for name in ("thread", "start", "until", "waker"))
    return thread, start, until, waker


def with_wakers(
    groups: Mapping[int, Spans], ended: tuple[Ints, Ints, Ints, Ints]
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Put waits of groups (thread, start, end) together with those `ended` by a thread: group, thread, start, end, waker.

    What is in both is one wait, with a group and a waker; else the group is -1, or the waker.
    """
    parts = [(np.full(len(spans[0]), group), *spans) for group, spans in groups.items()]
    group, thread, start, end = (
        np.concatenate([np.asarray(part[i], np.int64) for part in parts]) if parts else _NONE for i in range(4)
    )
    if not len(ended[0]):
        return group, thread, start, end, np.full(len(group), -1)
    threads = int(max(thread.max(initial=0), ended[0].max(initial=0))) + 1
    scale = Scale.of(np.concatenate([end, ended[2]]), threads)
    its, key = scale.place(ended[0], ended[2]), scale.place(thread, end)
    order = np.argsort(its, kind="stable")
    at = order[np.minimum(np.searchsorted(its[order], key), len(order) - 1)]
    is_both = its[at] == key
    waker = np.where(is_both, ended[3][at], -1)
    rest = np.setdiff1d(np.arange(len(its)), at[is_both])
    of_both = (group, thread, start, end, waker)
    of_rest = (np.full(len(rest), -1), *(column[rest] for column in ended))
    joined = [np.concatenate([one, other]) for one, other in zip(of_both, of_rest, strict=True)]
    return joined[0], joined[1], joined[2], joined[3], joined[4]
