"""A Perfetto trace of a recording: open it at https://ui.perfetto.dev or with trace_processor.

Scheduling goes in as the kernel's own events (ftrace bundles per CPU: sched_switch in compact form, sched_waking), so CPU tracks,
thread states, wakers and Perfetto's SQL library work as on any trace. Beside it: JVM phases and waits for locks as slices,
counters of active and running threads by kind, events counted per thread, the critical path, and the cores that each cause kept
idle. Numbers of fields are those of protos/perfetto/trace (stable by Perfetto's rules).

What a recording does not know is not made up: between threads of the program a CPU shows as idle, though other programs may have
run there; a waking whose waker is unknown or outside the program comes from a thread that says so. Times are CLOCK_MONOTONIC
ns, which Perfetto shows as its trace clock.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.model.kinds import COUNTED
from headway.report.export import protobuf as pb
from headway.report.export.perfetto_counters import counter_packets
from headway.report.export.perfetto_locks import lock_packets
from headway.report.export.perfetto_lost_cores import why_packets
from headway.report.export.perfetto_sched import UNRECORDED_PID, sched_bundles, unrecorded_threads
from headway.report.export.perfetto_tracks import counter_value, named_track, process_track, span
from headway.report.output import new_file

if TYPE_CHECKING:
    from headway.store import Recording

SEQUENCE = 1
_PACKET, _TIMESTAMP, _SEQUENCE_ID, _SEQUENCE_FLAGS = 1, 8, 10, 13
_FTRACE_EVENTS, _PROCESS_TREE, _SYSTEM_INFO = 1, 2, 45
_CLONE_THREAD = 0x10000
_THREADS_A_PACKET = 4096
ROWS_AT_ONCE = 1 << 16
"""Rows that are Python objects at a time: a recording may have millions of threads, pauses or bins."""


def export_perfetto(recording: Recording, path: Path | str, *, overwrite: bool = False) -> Path:
    """Write the recording as a Perfetto trace.

    Raises HeadwayError HW500 or HW501 (see `new_file`), or HW507 (neither thread states nor JVM phases in it).
    """
    if not any(recording.has(table) for table in ("slice", "jvm_phase", "block")):
        raise HeadwayError("HW507", path=recording.path, what="thread states and JVM phases")
    with new_file(path, overwrite=overwrite) as out:
        _write(recording, out)
    return Path(path)


def _write(recording: Recording, out: IO[bytes]) -> None:
    out.write(_packet(pb.message(_SYSTEM_INFO, _system_info(recording)), first=True))
    for tree in _process_trees(recording):
        out.write(_packet(pb.message(_PROCESS_TREE, tree), ns=recording.window_ns[0]))
    for event in _lifes(recording):
        out.write(_packet(pb.message(_FTRACE_EVENTS, pb.integer(1, 0) + pb.message(2, event))))
    if recording.has("slice"):
        for bundle in sched_bundles(recording):
            out.write(_packet(pb.message(_FTRACE_EVENTS, bundle)))
    for packet in _phases(recording):
        out.write(packet)
    for packet in _counters(recording):
        out.write(packet)
    for packet in counter_packets(recording, _packet):
        out.write(packet)
    for packet in lock_packets(recording, _packet):
        out.write(packet)
    for packet in why_packets(recording, _packet):
        out.write(packet)


def _packet(payload: bytes, ns: int | None = None, first: bool = False) -> bytes:
    head = pb.integer(_TIMESTAMP, ns) if ns is not None else b""
    flags = pb.integer(_SEQUENCE_FLAGS, 1) if first else b""  # 1: the incremental state begins here
    return pb.message(_PACKET, head + payload + pb.integer(_SEQUENCE_ID, SEQUENCE) + flags)


def _system_info(recording: Recording) -> bytes:
    """Describe the machine: the kernel's version also tells Perfetto how to read task states."""
    host = recording.manifest.host
    utsname = pb.text(1, "Linux") + pb.text(3, host.kernel or "6.0")
    return pb.message(1, utsname) + (pb.integer(8, len(host.cpus_online)) if host.cpus_online else b"")


# --- processes and threads ------------------------------------------------------------------------------------------

_BORN_BEFORE = "(from_snapshot OR start_ns < {start})"


def _process_trees(recording: Recording) -> Iterator[bytes]:
    """Name every process, and the threads that were there when the recording began: some of them in each packet."""
    entries = itertools.chain(_processes(recording), _threads_before(recording))
    while some := b"".join(itertools.islice(entries, _THREADS_A_PACKET)):
        yield some


def _processes(recording: Recording) -> Iterator[bytes]:
    root = recording.manifest.pid
    leaders = _rows(
        recording, "SELECT pid, MAX(CASE WHEN tid = pid THEN comm END) FROM thread GROUP BY pid ORDER BY pid"
    )
    for pid, comm in leaders:
        words = (
            recording.manifest.command if pid == root and recording.manifest.command else (comm or f"process {pid}",)
        )
        yield pb.message(1, pb.integer(1, pid) + pb.integer(2, 0) + b"".join(pb.text(3, word) for word in words))
    yield pb.message(1, pb.integer(1, UNRECORDED_PID) + pb.integer(2, 0) + pb.text(3, "not recorded"))


def _threads_before(recording: Recording) -> Iterator[bytes]:
    start = recording.window_ns[0]
    before = _rows(recording, f"SELECT tid, pid, LEFT(name, 256) FROM thread WHERE {_BORN_BEFORE.format(start=start)}")
    for tid, pid, name in itertools.chain(before, unrecorded_threads()):
        yield pb.message(2, pb.integer(1, tid) + pb.name(2, name) + pb.integer(3, pid))


def _rows(recording: Recording, text: str) -> Iterator[tuple[Any, ...]]:
    for batch in recording.batches(text, ROWS_AT_ONCE):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _lifes(recording: Recording) -> Iterator[bytes]:
    """Yield ftrace events for the threads' births and deaths: a tid may be used again, and these tell the lives apart."""
    start = recording.window_ns[0]
    born = _rows(
        recording,
        "SELECT start_ns, tid, pid, COALESCE(parent_tid, pid), LEFT(name, 256) FROM thread "
        f"WHERE NOT {_BORN_BEFORE.format(start=start)} "
        "ORDER BY start_ns",
    )
    for ns, tid, pid, parent, name in born:
        flags = _CLONE_THREAD if tid != pid else 0
        task = pb.integer(1, tid) + pb.name(2, name) + pb.integer(3, flags)
        yield pb.integer(1, ns) + pb.integer(2, parent) + pb.message(235, task)
    # The kernel frees a thread once it has been switched out for good, which is after its exit was noticed.
    died = _rows(
        recording,
        "SELECT GREATEST(t.end_ns, COALESCE(MAX(s.start_ns + s.running_ns), 0)) + 1, t.tid FROM thread t "
        "LEFT JOIN slice s ON s.thread_id = t.thread_id WHERE t.end_ns IS NOT NULL GROUP BY t.thread_id, t.end_ns, t.tid",
    )
    for ns, tid in died:
        yield pb.integer(1, ns) + pb.integer(2, 0) + pb.message(240, pb.integer(2, tid))


# --- JVM phases and counters ----------------------------------------------------------------------------------------


def _phases(recording: Recording) -> Iterator[bytes]:
    """Yield JVM phases: a track of the process for each kind, so that phases of different kinds may overlap."""
    if not recording.has("jvm_phase"):
        return
    rows = _rows(
        recording,
        "SELECT pid, LEFT(kind, 256), start_ns, dur_ns, LEFT(COALESCE(cause, ''), 256) FROM jvm_phase "
        "ORDER BY pid, kind, start_ns",
    )
    tracks: dict[tuple[int, str], int] = {}
    for pid, kind, start, dur, cause in rows:
        if (pid, kind) not in tracks:
            process = 1000 + pid
            tracks[pid, kind] = track = 10**9 + len(tracks)
            yield process_track(process, pid, _packet)
            yield named_track(track, f"JVM {kind}", _packet, process)
        name = f"{kind}: {cause}" if cause else kind
        yield from span(tracks[pid, kind], "jvm", name, (start, start + dur), _packet)


def _counters(recording: Recording) -> Iterator[bytes]:
    """Yield counters: mean active and running threads of each kind in each bin of the table `activity`."""
    if not recording.has("activity"):
        return
    names = [f"{what}_{kind}" for what in ("active", "running") for kind in COUNTED]
    for i, name in enumerate(names):
        what, kind = name.split("_")
        yield named_track(1 + i, f"{what} threads: {kind}", _packet, unit="threads")
    means = ", ".join(f"SUM({name}::HUGEINT * dur_ns) / SUM(dur_ns)" for name in names)
    text = (
        f"SELECT bin_start_ns, {means} FROM activity GROUP BY bin_start_ns HAVING SUM(dur_ns) > 0 ORDER BY bin_start_ns"
    )
    last: list[float | None] = [None] * len(names)
    for ns, *values in _rows(recording, text):
        for i, value in enumerate(values):
            if value != last[i]:  # a counter keeps its value until the next one
                last[i] = value
                yield counter_value(1 + i, float(value), ns, _packet)
