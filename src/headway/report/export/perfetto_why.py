"""The critical path and the causes of lost cores in a Perfetto trace.

The path is a track of its own, whose slices lie end to end: a thread's name and state, with what is waited for and by whom as
annotations. Each cause is a counter: how many cores it kept idle, on average over each bin of the account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from headway.analyses.why_types import CAUSES, TITLES
from headway.report.export import protobuf as pb

if TYPE_CHECKING:
    from headway.analyses.critical_path_types import CriticalPath
    from headway.analyses.why_types import Why
    from headway.store import Recording

SEGMENTS = 20_000
"""Stretches of the path that a trace gets at most."""
_TRACK_EVENT, _TRACK_DESCRIPTOR = 11, 60
_SLICE_BEGIN, _SLICE_END, _COUNTER = 1, 2, 4
_PATH_TRACK, _CAUSES_TRACK, _CAUSE_TRACK = 4 * 10**9, 4 * 10**9 + 1, 4 * 10**9 + 2

Packet = Callable[..., bytes]


def why_packets(recording: Recording, packet: Packet) -> Iterator[bytes]:
    """Yield what a recording with scheduling knows of both; nothing of others."""
    from headway.analyses.critical_path import critical_path
    from headway.analyses.why import why

    if recording.wall_ns <= 0 or not all(recording.has(table) for table in ("slice", "thread", "activity")):
        return
    origin_ns = recording.window_ns[0]
    yield from path_packets(critical_path(recording, limit=SEGMENTS), origin_ns, packet)
    yield from cause_packets(why(recording), origin_ns, packet)


def path_packets(path: CriticalPath, origin_ns: int, packet: Packet) -> Iterator[bytes]:
    """Yield the critical path as slices; `packet(payload, ns=...)` wraps them, `origin_ns` is the recording's start."""
    yield packet(
        pb.message(_TRACK_DESCRIPTOR, pb.integer(1, _PATH_TRACK) + pb.text(2, f"Critical path of {path.thread.name}"))
    )
    track = pb.integer(11, _PATH_TRACK)
    for each in path.segments:
        name = f"{each.thread}: {each.state}"
        notes = [
            ("for", each.waiter),
            ("lock", each.lock),
            ("stretches", str(each.pieces) if each.pieces > 1 else None),
        ]
        told = b"".join(pb.message(4, pb.text(10, key) + pb.text(6, value)) for key, value in notes if value)
        begin = pb.integer(9, _SLICE_BEGIN) + track + pb.text(22, "critical path") + pb.text(23, name) + told
        yield packet(pb.message(_TRACK_EVENT, begin), ns=origin_ns + each.start_ns)
        yield packet(pb.message(_TRACK_EVENT, pb.integer(9, _SLICE_END) + track), ns=origin_ns + each.end_ns)


def cause_packets(why: Why, origin_ns: int, packet: Packet) -> Iterator[bytes]:
    """Yield, per cause, the cores it kept idle over time, the largest cause first."""
    parent = pb.integer(1, _CAUSES_TRACK) + pb.text(2, "Cores kept idle")
    if why.by_cause:
        yield packet(pb.message(_TRACK_DESCRIPTOR, parent))
    for number, (cause, _) in enumerate(each for each in why.by_cause if each[0] in CAUSES):
        values = why.bins.get(cause)
        if values is None:
            continue
        track = _CAUSE_TRACK + number
        ids = pb.integer(1, track) + pb.integer(5, _CAUSES_TRACK)
        counter = pb.message(8, pb.text(6, "cores"))
        yield packet(pb.message(_TRACK_DESCRIPTOR, ids + pb.text(2, f"Cores kept idle: {TITLES[cause]}") + counter))
        yield from _counter(track, [float(value) for value in values], why, origin_ns, packet)


def _counter(track: int, core_ns: list[float], why: Why, origin_ns: int, packet: Packet) -> Iterator[bytes]:
    """Yield a counter's values where they change; it ends at 0. The last bin may be cut off by the end of the span."""
    start, end, last = why.account.start_ns, why.account.end_ns, None
    for i, amount in enumerate([*core_ns, 0.0]):
        ns = min(start + i * why.bin_ns, end)
        width = max(min(ns + why.bin_ns, end) - ns, 1)
        cores = amount / width
        if cores != last:  # a counter keeps its value until the next one
            last = cores
            event = pb.integer(9, _COUNTER) + pb.integer(11, track) + pb.double(44, cores)
            yield packet(pb.message(_TRACK_EVENT, event), ns=origin_ns + ns)
