"""Columns of names that many rows share: each name is kept once, until a table spells it out in every row.

A table's texts have limits, too (checks/ranges.py): a name of 16 MiB takes no room in a file, and minutes in what prints it.
A few bytes of a file name a text of 64 KiB, so that spelling out multiplies: what a stranger wrote is spelled out within limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.store.checks.ranges import LONG_BYTES, MOST_LONG_BYTES, RangeFacts, range_of
from headway.store.table_types import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headway.store.manifest import TableInfo

MOST_BYTES = 256 << 20
"""Of a column: a million frames whose names have 250 characters each take that."""
_LIMITS = (1 << 16, 256, 64)
_CUT = "..."
_BATCH = 1 << 20


def spelled_out(
    texts: Sequence[str], numbers: NDArray[Any], most_bytes: int = MOST_BYTES
) -> tuple[pa.ChunkedArray, int]:
    """Return the text of each row by its number among `texts`, and of how many rows the text is cut short.

    Where the rows take more than `most_bytes`, texts of more than 256 characters end in "..."; then those of more than 64.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    shown = list(texts)
    lengths = pc.binary_length(pa.array(shown, pa.large_string())).to_numpy(zero_copy_only=False)
    uses = np.bincount(numbers, minlength=len(shown))
    cut = np.zeros(len(shown), dtype=np.bool_)
    for limit in _LIMITS:
        if int((np.minimum(lengths, limit) * uses).sum()) <= most_bytes or limit == _LIMITS[-1]:
            cut = lengths > limit
            break
    for number in np.flatnonzero(cut & (uses > 0)).tolist():
        shown[number] = shortened(shown[number], limit)
    spelled = pa.array([text if use else "" for text, use in zip(shown, uses.tolist(), strict=True)], pa.string())
    parts = [spelled.take(pa.array(numbers[at : at + _BATCH])) for at in range(0, len(numbers), _BATCH)]
    return pa.chunked_array(parts, pa.string()), int(uses[cut].sum())


def shortened(text: str, most_bytes: int = LONG_BYTES) -> str:
    """Return a text that ends in "..." where it has more than so many bytes."""
    if len(text) * 4 <= most_bytes or len(raw := text.encode("utf-8", "backslashreplace")) <= most_bytes:
        return text
    return raw[: most_bytes - len(_CUT)].decode(errors="ignore") + _CUT


def long_bytes(lengths: Any) -> int:
    """Return how many bytes texts of these lengths have beyond LONG_BYTES each, in all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(lengths) or (pc.max(lengths).as_py() or 0) <= LONG_BYTES:
        return 0
    beyond = pc.max_element_wise(pc.subtract(lengths.cast(pa.int64()), LONG_BYTES), 0, skip_nulls=False)
    return int(pc.sum(beyond).as_py() or 0)


def notices_of_cut_texts(tables: Mapping[str, TableInfo]) -> list[Notice]:
    """Return a notice about texts that were cut short when tables were written, if there were any."""
    cut = {name: info.cut_texts for name, info in sorted(tables.items()) if info.cut_texts}
    if not cut:
        return []
    return [Notice.of("HW326", counts=", ".join(f"{count} of table {name}" for name, count in cut.items()))]


class TextLimits:
    """Keeps what is written of a table's texts within the limits that readers set: longer ones end in "..."."""

    def __init__(self, table: TableSchema) -> None:
        """Begin with no rows written."""
        facts = RangeFacts(None, {})
        self._longest = {c.name: range_of(table, c, facts).longest_bytes for c in table.columns if c.type == "VARCHAR"}
        self._long_bytes = dict.fromkeys(self._longest, 0)
        self.cut = 0
        """How many texts are cut short."""

    def rows(self, rows: pa.Table) -> pa.Table:
        """Cut the texts of a table's next rows short where they are longer than readers take, and return the rows."""
        import pyarrow.compute as pc

        for name, longest in self._longest.items():
            column = given = rows.column(name)
            if (pc.max(pc.binary_length(column)).as_py() or 0) > longest:
                column = self._cut(column, longest)
            more = long_bytes(pc.binary_length(column))
            if more and self._long_bytes[name] + more > MOST_LONG_BYTES:
                column, more = self._cut(column, LONG_BYTES), 0
            self._long_bytes[name] += more
            if column is not given:
                rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), column)
        return rows

    def _cut(self, column: pa.ChunkedArray, most_bytes: int) -> pa.ChunkedArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.cut += int(pc.sum(pc.greater(pc.binary_length(column), most_bytes)).as_py() or 0)
        parts = [
            pa.array([None if each is None else shortened(each, most_bytes) for each in chunk.to_pylist()], column.type)
            for chunk in column.chunks
        ]
        return pa.chunked_array(parts, column.type)
