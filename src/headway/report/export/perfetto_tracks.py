"""Tracks of a Perfetto trace, with spans and values of counters on them: packets as bytes.

Each function takes `packet(payload, ns=...)`, which makes a packet of the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from headway.report.export import protobuf as pb

_TRACK_EVENT, _TRACK_DESCRIPTOR = 11, 60
_SLICE_BEGIN, _SLICE_END, _COUNTER = 1, 2, 4

Packet = Callable[..., bytes]


def process_track(track: int, pid: int, packet: Packet) -> bytes:
    """Describe the track of a process, by its number among tracks."""
    return packet(pb.message(_TRACK_DESCRIPTOR, pb.integer(1, track) + pb.message(3, pb.integer(1, pid))))


def thread_track(track: int, pid: int, tid: int, packet: Packet, name: str = "") -> bytes:
    """Describe the track of a thread, with its name if nothing else in the trace has it."""
    thread = pb.integer(1, pid) + pb.integer(2, tid) + (pb.name(5, name) if name else b"")
    return packet(pb.message(_TRACK_DESCRIPTOR, pb.integer(1, track) + pb.message(4, thread)))


def named_track(track: int, name: str, packet: Packet, parent: int | None = None, unit: str = "") -> bytes:
    """Describe a track, below another one if `parent` is given; one with a unit is a counter."""
    below = b"" if parent is None else pb.integer(5, parent)
    counter = pb.message(8, pb.text(6, unit)) if unit else b""
    return packet(pb.message(_TRACK_DESCRIPTOR, pb.integer(1, track) + below + pb.name(2, name) + counter))


def span(
    track: int,
    category: str,
    name: str,
    times_ns: tuple[int, int],
    packet: Packet,
    notes: Mapping[str, str | None] | None = None,
) -> Iterator[bytes]:
    """Yield a span from a begin until an end; it has those of the notes that have a text."""
    of = pb.integer(11, track)
    annotations = b"".join(
        pb.message(4, pb.text(10, key) + pb.name(6, value)) for key, value in (notes or {}).items() if value
    )
    begin = pb.integer(9, _SLICE_BEGIN) + of + pb.text(22, category) + pb.name(23, name) + annotations
    yield packet(pb.message(_TRACK_EVENT, begin), ns=times_ns[0])
    yield packet(pb.message(_TRACK_EVENT, pb.integer(9, _SLICE_END) + of), ns=times_ns[1])


def counter_value(track: int, value: float, ns: int, packet: Packet) -> bytes:
    """Return what a counter has from a moment on; it keeps that until the next value."""
    event = pb.integer(9, _COUNTER) + pb.integer(11, track) + pb.double(44, value)
    return packet(pb.message(_TRACK_EVENT, event), ns=ns)
