"""Filters rows before they are written: values that no program can cause are left out, as a JVM's agent may report anything.

What is written can be read again then: readers refuse a table with such values (checks/values.py). A table's sums must fit 64
bits, and each JVM has its share of that: the rows of one whose agent means harm leave out no other's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.store.checks.ranges import IDS, LARGEST, Range, RangeFacts, range_of
from headway.store.table_types import Column, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS = frozenset(("INTEGER", "SMALLINT", "BIGINT", "DOUBLE"))
_DENSE = ("thread",)
"""Tables whose rows are numbered: none is left out, and a time that can't be becomes the nearest that can."""
NO_JVM = -1
"""In place of a JVM's pid: what the kernel's records say of all other processes."""


class ImpossibleValueFilter:
    """Filter for the rows of a recording with a given span; `left_out` counts removed values by table."""

    def __init__(self, window_ns: tuple[int, int], jvms: Collection[int] = ()) -> None:
        """Take the recorded span, CLOCK_MONOTONIC ns, and the pids of the JVMs whose agents say something."""
        self._facts = RangeFacts(window_ns, {})
        self.left_out: Counter[str] = Counter()
        self._jvms = sorted({*jvms} - {NO_JVM})
        self._most_of_one = LARGEST // 2 // (len(self._jvms) + 1)
        self._sums: Counter[tuple[str, str, int]] = Counter()

    def notices(self) -> list[Notice]:
        """Return a notice about what was left out, if anything was."""
        if not self.left_out:
            return []
        counts = ", ".join(f"{count} of table {name}" for name, count in sorted(self.left_out.items()))
        return [Notice.of("HW324", counts=counts)]

    def rows(self, table: TableSchema, rows: pa.Table, jvms: Any = None) -> pa.Table:
        """Return a table's rows without impossible values: null where allowed, else the row is left out.

        `jvms`: the pid of the JVM of each row; None: the column `pid` says it, or they are no JVM's.
        """
        import numpy as np
        import pyarrow as pa

        kept: Any = None
        for column in table.columns:
            if column.type not in _NUMBERS or column.name in IDS:
                continue
            wanted = range_of(table, column, self._facts)
            values = rows.column(column.name).combine_chunks()
            numbers = values.fill_null(0).to_numpy(zero_copy_only=False) if values.null_count else values.to_numpy()
            bad = self._bad(table, column, wanted, numbers, rows if jvms is None else jvms)
            if bad is None:
                continue
            if values.null_count:
                bad &= values.is_valid().to_numpy(zero_copy_only=False)
            self.left_out[table.name] += int(bad.sum())
            if column.nullable:
                new = pa.array(numbers, values.type, mask=bad | values.is_null().to_numpy(zero_copy_only=False))
            elif table.name in _DENSE:
                nearest = np.where(numbers < wanted.least, int(wanted.least), int(wanted.most))
                new = pa.array(np.where(bad, nearest, numbers), values.type)
            else:
                kept = ~bad if kept is None else kept & ~bad
                continue
            rows = rows.set_column(rows.column_names.index(column.name), rows.schema.field(column.name), new)
        return rows if kept is None else rows.filter(pa.array(kept))

    def _bad(self, table: TableSchema, column: Column, wanted: Range, numbers: Any, jvms: Any) -> Any:
        """Return which of some values can't be; None: all can. Those are bad, too, with which a sum would not fit 64 bits."""
        import numpy as np

        if not len(numbers):
            return None
        bad = ~((numbers >= wanted.least) & (numbers <= wanted.most))
        if wanted.sums:
            sizes = np.where(bad, 0.0, np.abs(numbers.astype(np.float64)))
            for jvm, places in self._by_jvm(jvms, len(numbers)):
                key = (table.name, column.name, jvm)
                sums = self._sums[key] + np.cumsum(sizes[places])
                is_too_much = sums > self._most_of_one
                bad[places] |= is_too_much
                self._sums[key] = int(sums[~is_too_much].max(initial=self._sums[key]))
        return bad if bad.any() else None

    def _by_jvm(self, jvms: Any, rows: int) -> Iterator[tuple[int, Any]]:
        """Yield each JVM, and the places of its rows in their order. `jvms`: as in `rows`, or the rows themselves."""
        import numpy as np
        import pyarrow as pa

        if isinstance(jvms, pa.Table):
            jvms = jvms.column("pid").to_numpy() if "pid" in jvms.column_names else np.full(rows, NO_JVM)
        pids = np.where(np.isin(jvms, self._jvms), jvms, NO_JVM)
        order = np.argsort(pids, kind="stable")
        found, first = np.unique(pids[order], return_index=True)
        yield from zip(found.tolist(), np.split(order, first[1:]), strict=True)
