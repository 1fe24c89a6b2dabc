"""Waits for locks in a Perfetto trace: under each thread a track that says what it waits for, and who ends the wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from headway.analyses.lock_rules import display
from headway.report.export import protobuf as pb

if TYPE_CHECKING:
    from headway.store import Recording

_TRACK_EVENT, _TRACK_DESCRIPTOR = 11, 60
_SLICE_BEGIN, _SLICE_END = 1, 2
_THREAD_TRACK, _WAIT_TRACK = 2 * 10**9, 3 * 10**9
_ROWS = """
SELECT b.thread_id, t.pid, t.tid, t.name, b.kind, b.start_ns, b.dur_ns, k.class_name, k.identity_hash, w.name
FROM block b JOIN thread t ON t.thread_id = b.thread_id LEFT JOIN blocker k ON k.blocker_id = b.blocker_id
LEFT JOIN thread w ON w.thread_id = b.waker_thread_id
ORDER BY b.thread_id, b.start_ns
"""

Packet = Callable[..., bytes]


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
                yield packet(_thread_track(thread, pid, tid, thread_name))
                yield packet(_wait_track(thread))
            track = pb.integer(11, _WAIT_TRACK + thread)
            name = f"{kind} {display(class_name or '', identity or 0)}"
            annotation = pb.message(4, pb.text(10, "ended by") + pb.text(6, waker)) if waker else b""
            begin = pb.integer(9, _SLICE_BEGIN) + track + pb.text(22, "lock") + pb.text(23, name) + annotation
            yield packet(pb.message(_TRACK_EVENT, begin), ns=start)
            yield packet(pb.message(_TRACK_EVENT, pb.integer(9, _SLICE_END) + track), ns=start + dur)


def _thread_track(thread: int, pid: int, tid: int, name: str) -> bytes:
    described = pb.message(4, pb.integer(1, pid) + pb.integer(2, tid) + pb.text(5, name))
    return pb.message(_TRACK_DESCRIPTOR, pb.integer(1, _THREAD_TRACK + thread) + described)


def _wait_track(thread: int) -> bytes:
    ids = pb.integer(1, _WAIT_TRACK + thread) + pb.integer(5, _THREAD_TRACK + thread)
    return pb.message(_TRACK_DESCRIPTOR, ids + pb.text(2, "waits for"))
