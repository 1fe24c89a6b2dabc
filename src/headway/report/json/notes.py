"""The messages of a recording as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.errors import Notice


def notes_json(found: Sequence[Notice]) -> list[dict[str, str]]:
    """Return every message with its severity."""
    return [{**notice.as_json(), "severity": notice.level} for notice in found]
