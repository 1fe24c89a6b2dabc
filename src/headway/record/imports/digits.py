"""Parses counts in text files, whose numbers may have any length."""

from __future__ import annotations


def number_below(digits: str, limit: int) -> int | None:
    """Parse decimal digits; None if the number is not below a limit (`int` raises for thousands of digits)."""
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(limit)):
        return None
    number = int(significant)
    return number if number < limit else None
