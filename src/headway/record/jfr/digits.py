"""Counts in text files, which may have any number of digits."""

from __future__ import annotations


def number_below(digits: str, limit: int) -> int | None:
    """Return the number that decimal digits stand for, None if it is not below a limit; `int` raises for thousands of digits."""
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(limit)):
        return None
    number = int(significant)
    return number if number < limit else None
