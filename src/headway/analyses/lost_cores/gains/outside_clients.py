"""Finds the waits of a server whose threads serve requests from outside of the recording.

Question   how much faster would a server be whose end is nobody's? Clients that wait for an answer before they ask again send
           more when answers come sooner; others send what they send. The recording of the server alone does not tell which.
Method     a JVM that has event loops, accept loops or threads of connections is a server. A thread of it serves requests if it
           is a virtual one, waits for work, or does I/O; one that does none of these works for itself.
Assumes    a thread that never waited for work in the recording never does.
Wrong when a thread of a server waits for work from inside only: its likely gain could be told, and is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.lost_cores.account.idle import standing
from headway.analyses.waits.classification.roles import ACCEPTOR, CONNECTION, SELECTOR
from headway.analyses.waits.wait_causes import CODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]

UNKNOWN_GAIN = (
    "How much faster it would be is not known: that hangs on how soon clients outside of the recording would ask again"
)
_OF_A_SERVER = (SELECTOR, ACCEPTOR, CONNECTION)
_WORK = (causes.IDLE, causes.FEW)


class OutsideClients:
    """Finds the threads of a server that handle requests of clients that are not recorded; reads what it needs when asked."""

    def __init__(self, recording: Recording, waits: Waits, times: KernelTimes) -> None:
        """Take the recording, its waits, and the times that threads were in system calls."""
        self._recording = recording
        self._waits = waits
        self._times = times
        self._servers: frozenset[int] | None = None

    def are_served_by(self, threads: Iterable[int], pid: int | None, window: tuple[int, int]) -> bool:
        """Return whether one of these threads handles requests of clients outside. `pid`: their JVM's, None where not known."""
        servers = self._of_recording()
        if not servers or (pid is not None and pid not in servers):
            return False
        asked = set(threads)
        platform = {thread for thread in asked if 0 <= thread < self._waits.platform_threads}
        if asked - platform or not asked:
            return True
        waits = self._waits
        of_work = np.isin(waits.cause, [CODE[each] for each in _WORK]) & (waits.target < 0)
        if np.isin(waits.thread[of_work], sorted(platform)).any():
            return True
        return bool(self._times.in_calls(causes.IO, tuple(sorted(platform)), window))

    def _of_recording(self) -> frozenset[int]:
        """Return the processes that are servers."""
        if self._servers is None:
            seen = {each.thread for each in standing(self._recording, self._waits) if each.role in _OF_A_SERVER}
            rows = self._recording.query("SELECT thread_id, pid FROM thread").fetchall()
            self._servers = frozenset(pid for thread, pid in rows if thread in seen)
        return self._servers
