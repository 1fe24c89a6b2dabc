"""How many threads are active and how many run over time, as columns: the input of `parallelism` and `walltime`.

Rows come from the table `activity` (the exact sweep of the whole recording, summed inside time bins) or, for a window,
from the same native sweep over the window's slices. A row says: inside this bin, exactly these counts held for dur_ns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headway.analyses.scheduling import gc_times
from headway.errors import HeadwayError
from headway.model import Kind
from headway.model.interruptible import interruptible
from headway.model.kinds import COUNTED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

KINDS: tuple[str, ...] = COUNTED
BINS = 600
SWEEP_LIMIT = 500_000
"""Windows with more slices than this take whole bins from the table and sweep over the rest only."""
_COUNTS = tuple(f"{what}_{kind}" for what in ("active", "running") for kind in KINDS)


def sum_columns(counts: Ints) -> Ints:
    """Return each row's sum over its columns; on few columns many times faster than sum(axis=1)."""
    total: Ints = counts[:, 0].copy()
    for column in range(1, counts.shape[1]):
        total += counts[:, column]
    return total


@dataclass(frozen=True, eq=False)
class Activity:
    """How many threads were active, and running, over time: n rows, each a stretch with constant counts, or a bin; times in ns.

    `active` and `running` have shape (n, 4), one column per kind in the order of KINDS. `stolen_ns` (core-ns that the
    host took from the running threads) is None where the mode can't tell.
    """

    start_ns: int
    end_ns: int
    bin_start_ns: Ints
    dur_ns: Ints
    active: Ints
    running: Ints
    stolen_ns: Ints | None

    @cached_property
    def on_cpu(self) -> Ints:
        """Return the number of running threads of all kinds, per row."""
        return sum_columns(self.running)

    @property
    def wall_ns(self) -> int:
        """Return the length of the window in ns."""
        return self.end_ns - self.start_ns


def wall_ns(recording: Recording) -> int:
    """Return the length of the recorded span in ns.

    Raises HeadwayError HW402 when the recording does not know its span (it never began).
    """
    window = recording.manifest.window
    if window is None or window.dur_ns <= 0:
        raise HeadwayError("HW402", path=recording.path)
    return window.dur_ns


def checked_window(recording: Recording, window: tuple[int, int] | None) -> tuple[int, int]:
    """Return a window (from, to) in ns from the recording's start; for None, that of all of it.

    Raises HeadwayError HW401 (empty or outside) or HW402 (no span).
    """
    length = wall_ns(recording)
    low, high = window or (0, length)
    if not 0 <= low < high <= length:
        raise HeadwayError("HW401", path=recording.path, start=low / 1e9, end=high / 1e9, length=length / 1e9)
    return low, high


def load(recording: Recording, window: tuple[int, int] | None = None) -> Activity:
    """Load the counts of the whole recording, or of a window (from, to) in ns from its start.

    Raises HeadwayError HW400 (the mode recorded no scheduling), HW401 (window empty or outside) or HW402 (no span).
    """
    window, length = checked_window(recording, window), wall_ns(recording)
    if not has_scheduling(recording):
        raise no_scheduling(recording)
    if window == (0, length):
        return _from_table(recording, length)
    slices = recording.manifest.tables["slice"].rows * (window[1] - window[0]) / length
    return _from_both(recording, window, length) if slices > SWEEP_LIMIT else _from_slices(recording, window)


def no_scheduling(recording: Recording) -> HeadwayError:
    """Return the error that says why there are no thread states, with what else is known of how many cores were used."""
    imported = recording.manifest.extra.get("import")
    if recording.manifest.mode != "import" or not isinstance(imported, Mapping):
        return HeadwayError("HW400", path=recording.path, mode=recording.manifest.mode)
    used, known = imported.get("cores_used"), ""
    if isinstance(used, Mapping):
        known = (
            f"; by {used.get('readings')} readings of its CPU load the JVM used {used.get('mean') or 0:.2g} of"
            f" {used.get('cores')} cores on average, {used.get('peak') or 0:.2g} at most"
        )
    return HeadwayError("HW450", path=recording.path, source=imported.get("source"), known=known)


def has_scheduling(recording: Recording) -> bool:
    """Return whether the recording knows when threads ran; recordings in mode agent do not."""
    return recording.manifest.mode != "agent" and "activity" in recording.manifest.tables


def _from_table(recording: Recording, length: int) -> Activity:
    columns = ("bin_start_ns", "dur_ns", *_COUNTS, "stolen_ns")
    return _activity(recording.columns("activity", *columns), recording.window_ns[0], (0, length))


def _activity(table: Mapping[str, Any], origin_ns: int, window: tuple[int, int]) -> Activity:
    """Make an Activity of columns as DuckDB gives them: a column with nulls is a masked array."""
    import numpy as np

    def counts(what: str) -> Ints:
        columns = [np.asarray(table[f"{what}_{kind}"], dtype=np.int64) for kind in KINDS]
        return np.stack(columns).T  # columns stay contiguous: they are what is read

    stolen = table["stolen_ns"]
    known = not np.ma.getmaskarray(stolen).any()
    return Activity(
        window[0],
        window[1],
        np.asarray(table["bin_start_ns"], dtype=np.int64) - origin_ns,
        np.asarray(table["dur_ns"], dtype=np.int64),
        counts("active"),
        counts("running"),
        np.asarray(stolen, dtype=np.int64) if known else None,
    )


def _from_both(recording: Recording, window: tuple[int, int], length: int) -> Activity:
    """Take the bins that lie in a window from the table, and sweep over what is left at its two ends."""
    import numpy as np

    table = _from_table(recording, length)
    starts = np.unique(table.bin_start_ns)
    ends = np.append(starts[1:], length)
    inside = (starts >= window[0]) & (ends <= window[1])
    if not inside.any():
        return _from_slices(recording, window)
    first, last = int(starts[inside][0]), int(ends[inside][-1])
    rows = (table.bin_start_ns >= first) & (table.bin_start_ns < last)
    stolen = None if table.stolen_ns is None else table.stolen_ns[rows]
    columns = (table.bin_start_ns[rows], table.dur_ns[rows], table.active[rows], table.running[rows], stolen)
    edges = [_from_slices(recording, (a, b), 1) for a, b in ((window[0], first), (last, window[1])) if a < b]
    return _joined([Activity(first, last, *columns), *edges], window)


def _joined(parts: list[Activity], window: tuple[int, int]) -> Activity:
    """Put activities of stretches that make up a window together; stolen time is known if all parts know it."""
    import numpy as np

    stolen = [part.stolen_ns for part in parts if part.stolen_ns is not None]
    return Activity(
        *window,
        np.concatenate([np.maximum(part.bin_start_ns, part.start_ns) for part in parts]),
        np.concatenate([part.dur_ns for part in parts]),
        np.concatenate([part.active for part in parts]),
        np.concatenate([part.running for part in parts]),
        np.concatenate(stolen) if len(stolen) == len(parts) else None,
    )


def _from_slices(recording: Recording, window: tuple[int, int], bins: int = BINS) -> Activity:
    """Sweep over the slices that overlap a window, natively; memory is some 40 bytes per slice of the window."""
    import numpy as np

    from headway import _native

    origin = recording.window_ns[0]
    begin, end = origin + window[0], origin + window[1]
    # Rows of a table come in the file's order, which is that of their end: what the sweep needs.
    slices = recording.query(
        "SELECT thread_id, start_ns, coalesce(runnable_ns, 0) AS runnable_ns, running_ns,"
        " CASE WHEN running_ns = 0 THEN 0 ELSE stolen_ns END AS stolen_ns FROM slice"
        " WHERE start_ns + running_ns > $1 AND start_ns - coalesce(runnable_ns, 0) < $2",
        (begin, end),
    ).fetchnumpy()
    stolen = slices.pop("stolen_ns")
    known = not np.ma.getmaskarray(stolen).any()
    swept = interruptible(
        _native.integrate_parallelism,
        thread_id=np.ascontiguousarray(slices.pop("thread_id"), dtype=np.int32),
        **{name: np.ascontiguousarray(values, dtype=np.int64) for name, values in slices.items()},
        stolen_ns=np.ascontiguousarray(stolen if known else np.zeros(len(stolen)), dtype=np.int64),
        kinds=_kind_codes(recording),
        collecting=gc_times.pauses(recording),
        from_ns=begin,
        to_ns=end,
        bin_ns=-(-(end - begin) // bins),
    )["activity"]
    activity = _activity(swept, origin, window)
    return activity if known else dataclasses.replace(activity, stolen_ns=None)


def _kind_codes(recording: Recording) -> NDArray[np.uint8]:
    """Return each thread's column in KINDS by thread_id; 255 for headway's own, which are not counted."""
    import numpy as np

    counted = {kind: kind.counted_as for kind in Kind}
    codes = {kind: KINDS.index(column) if column in KINDS else 255 for kind, column in counted.items()}
    rows = recording.query("SELECT thread_id, kind FROM thread").fetchall()
    kinds = np.zeros(
        recording.places_of_threads(len(rows), max((thread for thread, _ in rows), default=-1)), dtype=np.uint8
    )
    for thread, kind in rows:
        kinds[thread] = codes[kind]
    return kinds
