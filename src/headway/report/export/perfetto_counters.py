"""What the counters counted, in a Perfetto trace: a counter for each thread and event, events a second of its running time.

A counter keeps its value until the next. Where a thread ran and nothing is known of what it counted, that is the last value that
is known, and a span on a track of its own says so; before the first value that is known there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from headway.report.export.perfetto_tracks import Packet, counter_value, named_track, span, thread_track

if TYPE_CHECKING:
    from headway.analyses.counters.course.over_time import ThreadRates
    from headway.store import Recording

_THREAD_TRACK, _COUNTER_TRACK, _UNKNOWN_TRACK = 5 * 10**9, 6 * 10**9, 7 * 10**9


def counter_packets(recording: Recording, packet: Packet) -> Iterator[bytes]:
    """Yield the counters of a recording that has any; nothing of others. `packet(payload, ns=...)` wraps them."""
    if "counters" not in recording.manifest.extra or recording.wall_ns <= 0 or not recording.has("slice"):
        return
    from headway.analyses.counters.course.over_time import rates
    from headway.errors import HeadwayError

    try:
        yield from _packets(recording, packet, rates)
    except HeadwayError as error:
        if error.notice.id != "HW109":  # asked for, and nothing of it counted
            raise


def _packets(
    recording: Recording, packet: Packet, rates: Callable[[Recording], Iterator[ThreadRates]]
) -> Iterator[bytes]:
    origin_ns = recording.window_ns[0]
    tracks: dict[tuple[int, int], int] = {}
    counters = 0
    for number, each in enumerate(rates(recording)):
        ids = int(each.key["pid"]), int(each.key["tid"])
        if ids not in tracks:
            tracks[ids] = _THREAD_TRACK + len(tracks)
            yield thread_track(tracks[ids], *ids, packet)
        for event, points in each.points.items():
            if points:
                track = _COUNTER_TRACK + counters
                counters += 1
                yield named_track(track, f"{event} per second of running", packet, tracks[ids], "1/s")
                for ns, rate in points:
                    yield counter_value(track, rate, origin_ns + ns, packet)
        if each.unknown_ns:
            track = _UNKNOWN_TRACK + number
            yield named_track(track, f"not known: {', '.join(each.points)}", packet, tracks[ids])
            for begin, end in each.unknown_ns:
                times_ns = origin_ns + begin, origin_ns + end
                yield from span(track, "counters", "counts not known", times_ns, packet)
