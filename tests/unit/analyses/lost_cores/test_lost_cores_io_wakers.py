"""A client and a server of one program: what the server waits for delays the client, which waits for the server's answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.lost_cores.account.io_wakers import io_waits, with_wakers
from headway.analyses.lost_cores.analysis import why
from headway.analyses.waits.threads import process_exit
from headway.analyses.waits.threads.process_exit import Exit
from headway.store import Recording, open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

JAVA, CLIENT, SERVER, HOLDER = range(4)
OUTSIDE = -2
FUTEX, SOCKET = 1, 6


class OverLoopback(LockRecording):
    """Packets that wake come in an interrupt."""

    def _slices(self) -> list[dict[str, Any]]:
        return [row | {"waker_irq": row["blocked_in"] == SOCKET} for row in super()._slices()]


def talking(path: Path, way: type[LockRecording]) -> Recording:
    """Write a client that asks at 10, and a server that waits for a lock from 20 to 70 and answers at 90."""
    threads = [
        FakeThread("app", 0, [("B", 99), ("R", 1)], "java"),
        FakeThread("app", 0, [("R", 10), ("B", 80), ("R", 9)], "main"),
        FakeThread("app", 0, [("B", 10), ("R", 10), ("B", 50), ("R", 20), ("B", 9), ("R", 1)], "server"),
        FakeThread("app", 0, [("R", 70), ("B", 29), ("R", 1)], "holder"),
    ]
    wakers = {
        JAVA: [(CLIENT, FUTEX)],
        CLIENT: [(SERVER, SOCKET)],
        SERVER: [(CLIENT, SOCKET), (HOLDER, FUTEX), (OUTSIDE, SOCKET)],
        HOLDER: [(OUTSIDE, FUTEX)],
    }
    wait = Wait(SERVER, 0, 20, 70, owner=HOLDER, waker=HOLDER, waking=70)
    return open_recording(way(threads, [wait], wakers=wakers).write(path))


def test_without_the_servers_lock_the_client_is_done_as_much_earlier(tmp_path: Path) -> None:
    account = why(talking(tmp_path / "r", LockRecording), cores=8).account
    (lock,) = (loss for loss in account.lost if loss.cause == "lock_contention")
    assert lock.likely_speedup == lock.bound_speedup == pytest.approx(100 / 50, rel=0.02)


@pytest.mark.parametrize("way", [LockRecording, OverLoopback], ids=["at once", "over loopback"])
def test_the_thread_that_answers_ended_the_wait(tmp_path: Path, way: type[LockRecording]) -> None:
    found = io_waits(talking(tmp_path / "r", way), [CLIENT, SERVER, HOLDER], (0, 100))
    rows = [tuple(int(column[at]) for column in found) for at in range(len(found[0]))]
    # The server's last wait was ended by somebody outside: so packets that came in an interrupt tell nothing of it.
    at_once = [(SERVER, 0, 10, CLIENT)] if way is LockRecording else []
    assert rows == [*at_once, (CLIENT, 10, 90, SERVER)]


@pytest.mark.parametrize("others", [0, 1000], ids=["one ended", "a thousand ended"])
def test_who_is_woken_to_die_says_nothing_of_whom_it_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """The server's last wait, for the next request, lasts until its process ends: no packet came from outside.

    As each ended JVM was a part of the query, that of hundreds took DuckDB minutes to plan.
    """
    found = talking(tmp_path / "r", OverLoopback)
    begin = found.window_ns[0]
    ended = (Exit(100, OUTSIDE, begin + 95), *(Exit(5000 + n, n, begin) for n in range(others)))
    monkeypatch.setattr(process_exit, "exits", lambda _: ended)
    rows = io_waits(found, [CLIENT, SERVER, HOLDER], (0, 100))
    assert [(int(a), int(b)) for a, b in zip(rows[0], rows[3], strict=True)] == [(SERVER, CLIENT), (CLIENT, SERVER)]


def test_waits_of_a_group_and_those_that_a_thread_ended_are_one_where_they_are_the_same() -> None:
    column = np.array
    group = {3: (column([1, 2]), column([0, 5]), column([10, 20]))}
    ended = (column([2, 1, 1]), column([5, 12, 30]), column([20, 20, 40]), column([7, 8, 9]))
    found = with_wakers(group, ended)
    rows = sorted(tuple(int(each[at]) for each in found) for at in range(len(found[0])))
    assert rows == [(-1, 1, 12, 20, 8), (-1, 1, 30, 40, 9), (3, 1, 0, 10, -1), (3, 2, 5, 20, 7)]
    assert not len(with_wakers({}, (column([]), column([]), column([]), column([])))[0])
