"""Texts of a bounded length."""

from __future__ import annotations


def cut(text: str, chars: int) -> str:
    """Return a text of at most `chars` characters; a cut one ends in an ellipsis."""
    return text if len(text) <= chars else text[: chars - 1] + "…"
