"""The critical path and the causes of lost cores in a Perfetto trace.

The path is a track of its own, whose slices lie end to end: a thread's name and state, with what is waited for and by whom as
annotations. Each cause is a counter: how many cores it kept idle, on average over each bin of the account.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.analyses.common.causes import CAUSES, TITLES
from headway.report.export.perfetto_tracks import Packet, counter_value, named_track, span

if TYPE_CHECKING:
    from headway.analyses.critical_path.types import CriticalPath
    from headway.analyses.lost_cores.types import Why
    from headway.store import Recording

SEGMENTS = 20_000
"""Stretches of the path that a trace gets at most."""
_PATH_TRACK, _CAUSES_TRACK, _CAUSE_TRACK = 4 * 10**9, 4 * 10**9 + 1, 4 * 10**9 + 2


def why_packets(recording: Recording, packet: Packet) -> Iterator[bytes]:
    """Yield what a recording with scheduling knows of both; nothing of others."""
    from headway.analyses.critical_path.analysis import critical_path
    from headway.analyses.lost_cores.analysis import why

    if recording.wall_ns <= 0 or not all(recording.has(table) for table in ("slice", "thread", "activity")):
        return
    origin_ns = recording.window_ns[0]
    yield from path_packets(critical_path(recording, limit=SEGMENTS), origin_ns, packet)
    yield from cause_packets(why(recording), origin_ns, packet)


def path_packets(path: CriticalPath, origin_ns: int, packet: Packet) -> Iterator[bytes]:
    """Yield the critical path as slices; `packet(payload, ns=...)` wraps them, `origin_ns` is the recording's start."""
    yield named_track(_PATH_TRACK, f"Critical path of {path.thread.name}", packet)
    for each in path.segments:
        stretches = str(each.pieces) if each.pieces > 1 else None
        notes = {"for": each.waiter, "lock": each.lock, "at": each.place, "stretches": stretches}
        times_ns = origin_ns + each.start_ns, origin_ns + each.end_ns
        yield from span(_PATH_TRACK, "critical path", f"{each.thread}: {each.state}", times_ns, packet, notes)


def cause_packets(why: Why, origin_ns: int, packet: Packet) -> Iterator[bytes]:
    """Yield, per cause, the cores it kept idle over time, the largest cause first."""
    if why.by_cause:
        yield named_track(_CAUSES_TRACK, "Cores kept idle", packet)
    for number, (cause, _) in enumerate(each for each in why.by_cause if each[0] in CAUSES):
        values = why.bins.get(cause)
        if values is None:
            continue
        track = _CAUSE_TRACK + number
        yield named_track(track, f"Cores kept idle: {TITLES[cause]}", packet, _CAUSES_TRACK, "cores")
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
            yield counter_value(track, cores, origin_ns + ns, packet)
