"""Detects JVMs that run Kotlin coroutines, whose waits are invisible because they are no threads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.model.names import text
from headway.store.shared_texts import shortened

if TYPE_CHECKING:
    from headway.record.finalise.threads.thread_table import RecordedThreads

_WORKER = re.compile(r"(DefaultDispatcher-worker-\d+|kotlinx\.coroutines\.DefaultExecutor)")
"""Threads that coroutines run on where the program chooses no others."""
_LONGEST_JAR_BYTES = 1024


def coroutine_notices(agents: Sequence[Mapping[str, Any]], threads: RecordedThreads) -> list[Notice]:
    """Return a notice for each JVM whose coroutines ran, or could have run: their library is on its class path."""
    found = []
    for number, agent in enumerate(agents):
        pid = threads.pid_of_agent[number]
        workers = sum(_WORKER.match(threads.rows[i].name) is not None for i in threads.of_process(pid))
        jar = next((text(value) for key, value in agent["facts"] if text(key) == "coroutines"), "")
        if workers:
            found.append(Notice.of("HW230", pid=pid, count=workers))
        elif jar:
            found.append(Notice.of("HW231", pid=pid, jar=shortened(jar, _LONGEST_JAR_BYTES)))
    return found
