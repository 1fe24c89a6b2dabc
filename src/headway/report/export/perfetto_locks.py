"""Waits for locks in a Perfetto trace: under each thread a track that says what it waits for, and who ends the wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.analyses.waits.object_names import display
from headway.report.export.perfetto_tracks import Packet, named_track, span, thread_track

if TYPE_CHECKING:
    from headway.store import Recording

_THREAD_TRACK, _WAIT_TRACK = 2 * 10**9, 3 * 10**9
_ROWS = """
SELECT b.thread_id, t.pid, t.tid, LEFT(t.name, 256), b.kind, b.start_ns, b.dur_ns, LEFT(k.class_name, 4096),
    k.identity_hash, LEFT(w.name, 256)
FROM block b JOIN thread t ON t.thread_id = b.thread_id LEFT JOIN blocker k ON k.blocker_id = b.blocker_id
LEFT JOIN thread w ON w.thread_id = b.waker_thread_id
ORDER BY b.thread_id, b.start_ns
"""


def lock_packets(recording: Recording, packet: Packet) -> Iterator[bytes]:
    """Yield the waits of platform threads as slices; `packet(payload, ns=...)` wraps them.

    A wait names its object (ReentrantLock@1f2e3d) and, as an annotation, the thread that ended it. Waits nest only where
    a thread that was notified blocks again to get its monitor back.
    """
    if not recording.has("block"):
        return
    known: set[int] = set()
    for batch in recording.batches(_ROWS):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            thread, pid, tid, thread_name, kind, start, dur, class_name, identity, waker = row
            if thread not in known:
                known.add(thread)
                yield thread_track(_THREAD_TRACK + thread, pid, tid, packet, thread_name)
                yield named_track(_WAIT_TRACK + thread, "waits for", packet, _THREAD_TRACK + thread)
            name = f"{kind} {display(class_name or '', identity or 0)}"
            yield from span(_WAIT_TRACK + thread, "lock", name, (start, start + dur), packet, {"ended by": waker})
