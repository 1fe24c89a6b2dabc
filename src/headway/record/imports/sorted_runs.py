"""External merge sort: sorts rows of numbers by one column, in memory while they fit, else through files.

What does not fit goes to disk in sorted runs, a file per column. Runs are merged block by block: of every run's block the rows up
to the least of the blocks' last keys come next, so one block per run is in memory. A JFR file's events are nearly in order of
time, so most blocks come from one run alone.

Checked    tests/property/test_sorted_runs.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]

BATCH = 1 << 18
"""Rows of a batch of what is given back, and of a block of a run while there are few runs."""
_BLOCKS = 4 * BATCH
"""Rows of all runs' blocks together."""
_LEAST = 1 << 10


class SortedRuns:
    """Collects rows with always the same columns, and yields them in the order of one column."""

    def __init__(self, by: str, folder: Path, in_memory: int) -> None:
        """Name the sort column; sorted runs beyond so many bytes go to `folder`, under the column's name."""
        self._by = by
        self._folder = folder / by
        self._most = in_memory
        self._parts: list[Columns] = []
        self._bytes_in_memory = 0
        self._runs: list[_SortedRun] = []
        self.rows = 0
        """How many were added."""

    def add(self, columns: Columns) -> None:
        """Add rows."""
        # The reader's own columns have room for several times the rows that they have: what is kept is a copy.
        own = {name: values if values.base is None else values.copy() for name, values in columns.items()}
        self._parts.append(own)
        self.rows += len(own[self._by])
        self._bytes_in_memory += sum(values.nbytes for values in own.values())
        if self._bytes_in_memory > self._most:
            self._to_disk()

    def sorted(self) -> Iterator[Columns]:
        """Yield all rows in order, in batches; call this once."""
        if not self._parts and not self._runs:
            return
        if not self._runs:
            columns = self._in_order()
            for begin in range(0, self.rows, BATCH):
                yield {name: values[begin : begin + BATCH] for name, values in columns.items()}
            return
        if self._parts:
            self._to_disk()
        yield from _merged(self._runs, self._by)

    def _to_disk(self) -> None:
        if not self._runs:
            self._folder.mkdir()
        self._runs.append(_SortedRun(self._folder / f"run-{len(self._runs)}", self._by, self._in_order()))

    def _in_order(self) -> Columns:
        """Return the rows in memory in order, and let go of them."""
        from headway import _native

        columns = joined(self._parts)
        self._parts, self._bytes_in_memory = [], 0
        keys = columns[self._by]
        if bool((keys[1:] >= keys[:-1]).all()):
            return columns
        order = _native.order_of(keys)
        values = dict(columns)
        del columns, keys
        return {name: values.pop(name).take(order) for name in list(values)}


def joined(parts: list[Columns]) -> Columns:
    """Concatenate parts column by column and empty the list, so that only one column is in memory twice."""
    import numpy as np

    if len(parts) == 1:
        return parts.pop()
    each = [dict(part) for part in parts]
    parts.clear()
    return {name: np.concatenate([part.pop(name) for part in each]) for name in list(each[0])}


class _SortedRun:
    """Sorted rows in a file, read block by block."""

    def __init__(self, stem: Path, by: str, columns: Columns) -> None:
        self._by = by
        self._files = {name: stem.with_name(f"{stem.name}-{name}") for name in columns}
        self._types = {name: values.dtype for name, values in columns.items()}
        self._left = len(columns[by])
        self._read = 0
        self._block: Columns = {}
        self._at = 0
        for name, values in columns.items():
            values.tofile(self._files[name])

    def has_rows(self, block: int) -> bool:
        """Return whether rows are left; if so, up to `block` of them are in memory."""
        import numpy as np

        if self._block and self._at < len(self._block[self._by]):
            return True
        count = min(block, self._left)
        self._block = {
            name: np.fromfile(self._files[name], dtype, count, offset=self._read * dtype.itemsize)
            for name, dtype in self._types.items()
        }
        self._at = 0
        self._read += count
        self._left -= count
        return count > 0

    @property
    def last(self) -> np.generic:
        """Return the last key in memory."""
        last: np.generic = self._block[self._by][-1]
        return last

    def take(self, key: np.generic) -> Columns:
        """Remove and return the rows in memory up to a key."""
        import numpy as np

        begin, self._at = self._at, int(np.searchsorted(self._block[self._by], key, "right"))
        return {name: values[begin : self._at] for name, values in self._block.items()}


def _merged(runs: list[_SortedRun], by: str) -> Iterator[Columns]:
    from headway import _native

    while True:
        block = max(_LEAST, min(BATCH, _BLOCKS // len(runs)))
        runs = [run for run in runs if run.has_rows(block)]
        if not runs:
            return
        key = min((run.last for run in runs), key=int)
        parts = [part for part in (run.take(key) for run in runs) if len(part[by])]
        columns = joined(parts)
        if bool((columns[by][1:] >= columns[by][:-1]).all()):
            yield columns
        else:
            order = _native.order_of(columns[by])
            yield {name: values.take(order) for name, values in columns.items()}
