"""`headway query`: SQL on a recording's tables. It can only read them: no other file, no network, no change."""

from __future__ import annotations

import contextlib
import csv
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import options, out

if TYPE_CHECKING:
    import duckdb

    from headway.store import Recording

SHOWN_ROWS = 100
MIN_COLUMN = 4
_BATCH = 10_000


def run(recording: Recording, text: str) -> duckdb.DuckDBPyConnection:
    """Run one SELECT as `store.sandbox.run` does; Ctrl-C ends it."""
    from headway.store import sandbox

    with _interrupted_at_once():
        return sandbox.run(recording, text)


@contextlib.contextmanager
def _interrupted_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process: DuckDB heeds Python's handler late or never, and reading leaves nothing to tidy up."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not in the main thread: none of our business
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _batches(cursor: duckdb.DuckDBPyConnection) -> Iterator[list[tuple[Any, ...]]]:
    while batch := cursor.fetchmany(_BATCH):
        yield batch


def _print_schema(as_json: bool) -> None:
    """List every table and column with its meaning."""
    from headway.store import TABLES

    if as_json:
        options.print_json(
            {
                name: {
                    "meaning": table.meaning,
                    "columns": [
                        {"name": c.name, "type": c.type, "meaning": c.meaning, "nullable": c.nullable}
                        for c in table.columns
                    ],
                }
                for name, table in TABLES.items()
            }
        )
        return
    for name, table in TABLES.items():
        out.echo(name)
        out.echo(click.wrap_text(table.meaning, 78, "  ", "  "))
        width = max(len(column.name) for column in table.columns)
        for column in table.columns:
            lead = f"    {column.name:{width}} {column.type:9} "
            out.echo(click.wrap_text(column.meaning, 80, lead, " " * len(lead)))
        out.echo()


def _print_table(cursor: duckdb.DuckDBPyConnection, names: list[str]) -> None:
    """Print at most SHOWN_ROWS rows; a person reads no more, and --csv gives all."""
    from rich.table import Table
    from rich.text import Text

    from headway.report.terminal import make_console
    from headway.report.terminal.printing.text import printable

    rows = cursor.fetchmany(SHOWN_ROWS + 1)
    heads = [printable(name) for name in names]
    cells = [["" if value is None else printable(str(value)) for value in row] for row in rows[:SHOWN_ROWS]]
    console = make_console()
    # Columns that share too little room would be a letter wide: then each row is a block of its own.
    least = sum(max(MIN_COLUMN, len(head)) + 2 for head in heads)
    if least > console.width and len(heads) > 1:
        width = max(map(len, heads))
        for row in cells:
            for head, cell in zip(heads, row, strict=True):
                console.print(Text(f"{head:{width}}  {cell}"))
            console.print()
    else:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for i, head in enumerate(heads):
            is_number = any(isinstance(row[i], (int, float)) for row in rows)
            table.add_column(Text(head), justify="right" if is_number else "left", overflow="fold")
        for row in cells:
            table.add_row(*map(Text, row))
        console.print(table)
    if len(rows) > SHOWN_ROWS:
        out.echo(f"only the first {SHOWN_ROWS} rows: --csv or --json gives all", err=True)


def _print_csv(cursor: duckdb.DuckDBPyConnection, names: list[str], raw_text: bool) -> None:
    """Write all rows as CSV: exact for a program, plainly visible on a terminal."""
    from headway.report.export.cells import safe_cell
    from headway.report.terminal.printing.text import printable

    is_terminal = sys.stdout.isatty()

    def cell(value: Any) -> Any:
        value = value if raw_text else safe_cell(value)
        return printable(str(value)) if is_terminal and value is not None else value

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(cell, names))
    for batch in _batches(cursor):
        writer.writerows(map(cell, row) for row in batch)


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it; what it does not know becomes text."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


@click.command(
    epilog="""\b
Examples:
  headway query --schema
  headway query app.headway "SELECT kind, count(*) FROM thread GROUP BY kind"
  headway query app.headway "FROM slice LIMIT 5" --csv > slices.csv
"""
)
@click.argument("recording_path", metavar="NAME.headway", required=False, type=click.Path(path_type=Path))
@click.argument("sql", metavar="SQL", required=False)
@click.option("--schema", is_flag=True, help="List the tables and what their columns mean.")
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV, all rows.")
@click.option(
    "--raw-text",
    is_flag=True,
    help="With --csv: leave text as it is that begins with = + - or @; else it gets a ' before it, as spreadsheets would run it.",
)
@options.json_option
def command(
    recording_path: Path | None, sql: str | None, schema: bool, as_csv: bool, raw_text: bool, as_json: bool
) -> None:
    """Run a SELECT (DuckDB's SQL) on the tables of a recording.

    Queries only read the recording: no other files, no network, no changes.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv or --json, not both")
    if raw_text and not as_csv:
        raise click.UsageError("--raw-text goes with --csv")
    if schema:
        _print_schema(as_json)
        return
    if recording_path is None or sql is None:
        raise click.UsageError('give NAME.headway and "SELECT ...", or --schema')
    from headway.store import open_recording

    cursor = run(open_recording(recording_path), sql)
    names = [str(column[0]) for column in cursor.description or ()]
    if as_csv:
        _print_csv(cursor, names, raw_text)
    elif as_json:
        options.print_json(
            [dict(zip(names, map(_plain, row), strict=True)) for batch in _batches(cursor) for row in batch]
        )
    else:
        _print_table(cursor, names)
