"""How much of an answer is given out: a recording may have a million threads or locks."""

from __future__ import annotations

from headway.errors import Notice

MOST_ROWS = 65_536
"""Rows of a list in JSON: the first ones in its order. Sums are of all."""


def rows_left_out(what: str, count: int) -> tuple[Notice, ...]:
    """Return what a list of so many rows lacks in JSON (HW329); nothing where all are in it."""
    return (Notice.of("HW329", what=what, shown=MOST_ROWS, count=count - MOST_ROWS),) if count > MOST_ROWS else ()
