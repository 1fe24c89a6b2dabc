"""Tables as CSV: one table to one file, or all of them to one zip.

The first line names the columns (`headway.store.tables` says what each means); null is an empty field; text is quoted where it
must be, and has an apostrophe before it where a spreadsheet would take it for a formula (`cells.py`). Times stay int64
nanoseconds, so any sum over the file is the sum over the table.
"""

from __future__ import annotations

import io
import itertools
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from headway.errors import HeadwayError
from headway.report.export.cells import safe_batch
from headway.report.output import new_file
from headway.store.sql import quote
from headway.store.tables import TABLES

if TYPE_CHECKING:
    from headway.store import Recording

ALL_TABLES = "all"
_LATEST_NS = (1 << 63) - 1

# The view's rows come state by state, so its first million may all be sleeping ones, without CPU and exec_ns, and a reader that
# guesses types from the first rows takes those columns for text. Here each slice's states follow one another, in order of time.
_THREAD_STATE = """
SELECT s.thread_id, t.tid, t.start_ns AS thread_start_ns,
       s.start_ns - CASE part WHEN 0 THEN COALESCE(s.runnable_ns, 0) + s.blocked_ns WHEN 1 THEN s.runnable_ns ELSE 0 END
           AS start_ns,
       CASE part WHEN 0 THEN s.blocked_ns WHEN 1 THEN s.runnable_ns ELSE s.running_ns END AS dur_ns,
       CASE part WHEN 2 THEN s.running_ns - s.stolen_ns END AS exec_ns,
       CASE part WHEN 2 THEN 'running' WHEN 1 THEN 'runnable'
           ELSE CASE s.blocked_state WHEN 2 THEN 'uninterruptible' WHEN 3 THEN 'stopped' ELSE 'sleeping' END END AS state,
       CASE part WHEN 2 THEN s.cpu END AS cpu,
       CASE part WHEN 0 THEN w.tid END AS waker_tid,
       CASE WHEN part = 0 AND s.waker_irq THEN 'irq' WHEN part = 0 AND s.waker_id <> -1 THEN 'thread' END AS waker_context
FROM (SELECT *, unnest([0, 1, 2]) AS part FROM slice) s
JOIN thread t ON t.thread_id = s.thread_id LEFT JOIN thread w ON w.thread_id = s.waker_id
WHERE CASE part WHEN 0 THEN s.blocked_ns WHEN 1 THEN s.runnable_ns ELSE s.running_ns END > 0
"""


_OF_THREADS = "thread_objects"
_NO_ITERATION = "SELECT *, CAST(NULL AS BIGINT) AS iteration FROM thread_objects"


def export_csv(
    recording: Recording,
    path: Path | str,
    *,
    table: str = "thread_state",
    overwrite: bool = False,
    raw_text: bool = False,
) -> Path:
    """Write a table or view of the recording as CSV; `table` "all" writes every non-empty one into a zip file.

    `raw_text` leaves text that a spreadsheet takes for a formula as it is.

    Raises HeadwayError HW500 or HW501 (see `new_file`), or HW507 (the table has no rows).
    """
    if table != ALL_TABLES and not recording.has(table):
        raise HeadwayError("HW507", path=recording.path, what=f"rows in its table {table}")
    with new_file(path, overwrite=overwrite) as out:
        if table == ALL_TABLES:
            _write_zip(recording, out, raw_text)
        else:
            _write(recording, table, out, raw_text)
    return Path(path)


def _write(recording: Recording, table: str, out: IO[bytes], raw_text: bool) -> None:
    import pyarrow.csv

    text = _THREAD_STATE if table == "thread_state" else f"SELECT * FROM {quote(table)}"
    if table == _OF_THREADS:
        text = _with_iterations(recording)
    batches = recording.batches(text)
    first = next(batches, None)
    if first is None:
        out.write((",".join(f'"{column.name}"' for column in TABLES[table].columns) + "\n").encode())
        return
    with pyarrow.csv.CSVWriter(out, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            writer.write_batch(batch if raw_text else safe_batch(batch))


def _with_iterations(recording: Recording) -> str:
    """Return the SQL of thread_objects with the iteration in which each thread lived; null: in several, in none, or not known."""
    from headway.analyses.counters.course.iterations import MOST, between_marks, marks_of
    from headway.model.iterations import METHOD

    marks = marks_of(recording, None)
    if marks.by == METHOD:  # when a method ran is known of samples alone
        return _NO_ITERATION
    try:
        found = between_marks(recording, marks)
    except HeadwayError:
        return _NO_ITERATION
    numbers, starts, ends = ([*map(int, each[-MOST:])] for each in (found.numbers, found.spans.start, found.spans.end))
    if found.has_last:
        ends[-1] = _LATEST_NS  # it lasts until the program's end
    return f"""SELECT o.*, i.iteration FROM thread_objects o LEFT JOIN (
  SELECT unnest({numbers}) AS iteration, unnest({starts}) AS start_ns, unnest({ends}) AS end_ns) i
ON o.thread_start_ns >= i.start_ns AND COALESCE(o.thread_end_ns, {_LATEST_NS}) <= i.end_ns"""


def _write_zip(recording: Recording, out: IO[bytes], raw_text: bool) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        for name in TABLES:
            if recording.has(name):
                # Without a buffer every piece of a batch becomes a deflate call of its own.
                with (
                    archive.open(f"{name}.csv", "w", force_zip64=True) as member,
                    io.BufferedWriter(cast(io.RawIOBase, member), 1 << 20) as buffered,
                ):
                    _write(recording, name, buffered, raw_text)
