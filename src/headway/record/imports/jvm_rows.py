"""Collects the rows of a file that are about the JVM as a whole: collector pauses, safepoints, CPU loads.

They are kept as columns of numbers, and no more than MOST_ROWS of a kind: a file of some megabytes may have millions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.record.jfr.reader import NONE, EventBatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MOST_ROWS = 1 << 21
"""Of each kind: readings of the CPU load, one a second, for three weeks."""
MILLIONTHS = 1_000_000
_LOADS = {"jvmUser": "cpu_load_jvm_user", "jvmSystem": "cpu_load_jvm_system", "machineTotal": "cpu_load_machine"}
_OF_THE_JVM = 2
"""So many of `_LOADS` add up to what the JVM used."""


class BoundedRows:
    """Rows of whole numbers; those beyond MOST_ROWS are only counted."""

    def __init__(self, width: int) -> None:
        """Start without rows of `width` columns."""
        self._width = width
        self._parts: list[tuple[Ints, ...]] = []
        self._rows = self.left_out = 0

    def add(self, *columns: Ints) -> None:
        """Add rows, by their columns."""
        kept = min(len(columns[0]), MOST_ROWS - self._rows)
        self.left_out += len(columns[0]) - kept
        self._rows += kept
        self._parts.append(tuple(column[:kept].copy() for column in columns))

    def columns(self) -> list[Ints]:
        """Return the columns of all rows."""
        import numpy as np

        none = tuple(np.zeros(0, np.int64) for _ in range(self._width))
        return [np.concatenate(parts) for parts in zip(none, *self._parts, strict=True)]


class PhaseRows:
    """Pauses of the collector, collections, and operations at a safepoint."""

    def __init__(self) -> None:
        """Start without any."""
        self._pauses, self._collections, self._operations = BoundedRows(3), BoundedRows(4), BoundedRows(3)
        self._causes: dict[str | None, int] = {None: 0}

    @property
    def left_out(self) -> int:
        """Return how many are not kept."""
        return self._pauses.left_out + self._collections.left_out + self._operations.left_out

    def add_pauses(self, batch: EventBatch) -> None:
        """Add rows of jdk.GCPhasePause."""
        self._pauses.add(*(batch.ints(name, 0) for name in ("startTime", "duration", "gcId")))

    def add_collections(self, batch: EventBatch) -> None:
        """Add rows of jdk.GarbageCollection; of their length only the pauses: a concurrent one goes on beside the program."""
        import numpy as np

        pauses = batch.ints("sumOfPauses")
        lengths = np.where(pauses == NONE, batch.ints("duration", 0), pauses)
        self._collections.add(
            batch.ints("gcId", 0), batch.ints("startTime", 0), lengths, self._numbered(batch.text_list("cause"))
        )

    def add_operations(self, batch: EventBatch) -> None:
        """Add rows of jdk.ExecuteVMOperation, those at a safepoint."""
        is_stopped = batch.ints("safepoint", 0) != 0
        columns = batch.ints("startTime", 0), batch.ints("duration", 0), self._numbered(batch.text_list("operation"))
        self._operations.add(*(column[is_stopped] for column in columns))

    def _numbered(self, causes: list[str | None]) -> Ints:
        import numpy as np

        return np.array([self._causes.setdefault(each, len(self._causes)) for each in causes], np.int64)

    def table(self, pid: int) -> pa.Table:
        """Return the rows of `jvm_phase`: pauses and safepoints.

        Where single pauses are not told, those of a collection are one at its begin.
        """
        import numpy as np
        import pyarrow as pa

        start, length, number = self._pauses.columns()
        ids, begin, pauses, cause = _last_of_each(self._collections.columns())
        if len(start):
            at = np.minimum(np.searchsorted(ids, number), max(0, len(ids) - 1))
            causes = np.where(ids[at] == number, cause[at], 0) if len(ids) else np.zeros(len(number), np.int64)
        else:
            start, length, causes = begin, pauses, cause
        begin, lasts, operation = self._operations.columns()
        kind = np.repeat([0, 1], [len(start), len(begin)])
        start, length, causes = (
            np.concatenate(each) for each in ((start, begin), (length, lasts), (causes, operation))
        )
        order = np.lexsort((kind, length, start))
        return pa.table(
            {
                "pid": pa.array(np.full(len(order), pid, np.int32)),
                "start_ns": pa.array(start[order]),
                "dur_ns": pa.array(np.maximum(length[order], 0)),
                "kind": pa.array(["gc_pause", "safepoint"], pa.string()).take(pa.array(kind[order])),
                "cause": pa.array(list(self._causes), pa.string()).take(pa.array(causes[order])),
            }
        )


def _last_of_each(columns: list[Ints]) -> list[Ints]:
    """Return the rows in order of their first column, of equal ones the last."""
    import numpy as np

    order = np.argsort(columns[0], kind="stable")
    ids = columns[0][order]
    return [column[order][np.append(ids[1:] != ids[:-1], True)] for column in columns] if len(ids) else columns


class LoadRows:
    """Readings of the CPU load, in millionths; NONE where a reading has no such number."""

    def __init__(self) -> None:
        """Start without readings."""
        self._rows = BoundedRows(1 + len(_LOADS))

    @property
    def left_out(self) -> int:
        """Return how many are not kept."""
        return self._rows.left_out

    def add(self, batch: EventBatch) -> None:
        """Add rows of jdk.CPULoad."""
        self._rows.add(batch.ints("startTime"), *(_millionths(batch, name) for name in _LOADS))

    def _columns(self) -> tuple[Ints, list[Ints]]:
        """Return the times of the readings that have one, and their loads."""
        ns, *loads = self._rows.columns()
        has_time = ns != NONE
        return ns[has_time], [each[has_time] for each in loads]

    def table(self) -> pa.Table:
        """Return the rows of `counter`."""
        import numpy as np
        import pyarrow as pa

        events = sorted(_LOADS.values())
        ns, loads = self._columns()
        of_event = dict(zip(_LOADS.values(), loads, strict=True))
        event = np.repeat(np.arange(len(events)), len(ns))
        value = np.concatenate([of_event[name] for name in events])
        times = np.tile(ns, len(events))
        is_known = value != NONE
        times, event, value = times[is_known], event[is_known], value[is_known]
        order = np.lexsort((value, event, times))
        return pa.table(
            {
                "ns": pa.array(times[order]),
                "event": pa.array(events, pa.string()).take(pa.array(event[order])),
                "cpu": pa.array(np.full(len(order), -1, np.int16)),
                "value": pa.array(value[order]),
            }
        )

    def cores_used(self, cores: int) -> dict[str, Any] | None:
        """Return how many of so many cores the JVM used, mean and peak of the readings; None without readings."""
        import numpy as np

        ns, loads = self._columns()
        known = [each != NONE for each in loads[:_OF_THE_JVM]]
        has_reading = np.logical_or.reduce(known)
        shares = sum(np.where(is_known, each, 0) for is_known, each in zip(known, loads, strict=False))
        times, place = np.unique(ns[has_reading], return_inverse=True)
        if not len(times):
            return None
        used = np.bincount(place, np.asarray(shares)[has_reading]) * (cores / MILLIONTHS)
        return {"mean": float(used.mean()), "peak": float(used.max()), "readings": len(times), "cores": cores}


def _millionths(batch: EventBatch, name: str) -> Ints:
    """Return a column of shares as millionths; NONE for those that are no number."""
    import numpy as np

    column = batch.columns.get(name)
    if column is None or column.kind != "real":
        return np.full(batch.rows, NONE, np.int64)
    shares = np.clip(np.nan_to_num(column.values), 0.0, 1.0)
    return np.where(np.isnan(column.values), NONE, np.rint(shares * MILLIONTHS)).astype(np.int64)
