"""Texts of a bounded length, and notices as a page has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headway.errors import Notice


def cut(text: str, chars: int) -> str:
    """Return a text of at most `chars` characters; a cut one ends in an ellipsis."""
    return text if len(text) <= chars else text[: chars - 1] + "…"


def with_levels(notices: Iterable[Notice]) -> list[dict[str, str]]:
    """Return notices with how much each matters: a page folds those that are no warnings, as the terminal does."""
    return [{**notice.as_json(), "level": notice.level} for notice in notices]
