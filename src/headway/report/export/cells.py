"""Text cells of CSV files: a spreadsheet takes one that begins with = + - @ for a formula and runs it.

Names of threads and classes, commands and imported texts come from others, so such a cell gets an apostrophe before it, which
spreadsheets take for "this is text" and don't show. Numbers are never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA = "=+-@\t\r\n"
"""What a cell of text may not begin with: spreadsheets skip a tab or a line break that comes before a formula."""


def safe_cell(value: Any) -> Any:
    """Return a cell's value; text that begins as a formula does with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] and value[0] in FORMULA else value


def safe_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose columns of text are as `safe_cell` makes them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in batch.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            begins = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), value_set=pa.array(list(FORMULA), column.type))
            quoted = pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type))
            column = pc.if_else(begins, quoted, column)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
