"""Reads parallelism levels T_j from CSV files: published tables, or other profilers' results.

CSV: a head line; then per line a number of active threads (whole, from 0, in any order, absent ones are 0) and the seconds
spent at it, one column per program; an empty cell is 0. A last line that begins with `tot` may carry the sums as printed.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.store.files import read_named

MAX_THREADS = 1_000_000
_NS = 1_000_000_000
_MOST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class PublishedLevels:
    """`levels_ns[j]` is the time with j active threads, rounded to whole nanoseconds."""

    column: str
    levels_ns: tuple[int, ...]
    notices: tuple[Notice, ...]


def read_levels(path: Path | str, column: str) -> PublishedLevels:
    """Read one program's levels from a CSV file.

    Raises HeadwayError HW407 with the line and the reason when the file can't be used.
    """
    rows = _rows(Path(path))
    names = [name.strip() for name in rows[0][1]]
    if column not in names[1:]:
        raise HeadwayError("HW407", path=path, reason=f"no column {column!r}, there are {', '.join(names[1:])}")
    index = names.index(column, 1)
    found: dict[int, Decimal] = {}
    half_units, printed = Decimal(0), None
    for line, cells in rows[1:]:
        where = f"{path}, line {line}"
        if len(cells) != len(names):
            raise HeadwayError("HW407", path=where, reason=f"{len(cells)} cells, the head line has {len(names)}")
        seconds = _seconds(cells[index], where)
        if cells[0].strip().lower().startswith("tot"):
            printed = seconds
            half_units += _half_unit(cells[index])
            continue
        threads = _threads(cells[0], where)
        if threads in found:
            raise HeadwayError("HW407", path=where, reason=f"a second line for {threads} active threads")
        found[threads] = seconds
        half_units += _half_unit(cells[index])
    total = sum(found.values(), Decimal(0))
    if total <= 0:
        raise HeadwayError("HW407", path=path, reason=f"column {column!r} holds no time")
    levels = [0] * (max(found) + 1)
    for threads, seconds in found.items():
        levels[threads] = round(seconds * _NS)
    notices: tuple[Notice, ...] = ()
    if printed is not None and abs(printed - total) > half_units:
        notices = (Notice.of("HW422", column=column, total=total, printed=printed, path=path),)
    return PublishedLevels(column, tuple(levels), notices)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return (line number, cells) of every line that is not empty; at least a head line and one more."""
    try:
        text = read_named(path, _MOST_BYTES).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except OSError as error:
        raise HeadwayError("HW407", path=path, reason=error.strerror or str(error)) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise HeadwayError("HW407", path=path, reason=f"it is not CSV text ({error})") from error
    if len(rows) < 2:
        raise HeadwayError("HW407", path=path, reason="it has no lines below a head line")
    return rows


def _threads(cell: str, where: str) -> int:
    text = cell.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 7 and int(text) <= MAX_THREADS):
        raise HeadwayError("HW407", path=where, reason=f"{text!r} is no number of threads from 0 to {MAX_THREADS}")
    return int(text)


def _seconds(cell: str, where: str) -> Decimal:
    text = cell.strip()
    try:
        seconds = Decimal(text or "0")
    except InvalidOperation:
        raise HeadwayError("HW407", path=where, reason=f"{text!r} is no number of seconds") from None
    if not seconds.is_finite() or not 0 <= seconds < 10**9:
        raise HeadwayError("HW407", path=where, reason=f"{text!r} is no time from 0 to 1e9 seconds")
    return seconds


def _half_unit(cell: str) -> Decimal:
    """Return half a unit of the last digit printed: what rounding may have changed at most."""
    exponent = Decimal(cell.strip() or "0").as_tuple().exponent
    assert isinstance(exponent, int)  # finite, checked by _seconds
    return Decimal(5).scaleb(exponent - 1) if cell.strip() else Decimal(0)
