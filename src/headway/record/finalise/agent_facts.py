"""Facts that an agent states of its JVM, by their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.model.names import text
from headway.store.shared_texts import shortened

_LONGEST_FACT_BYTES = 1024


def agent_fact(agent: Mapping[str, Any], wanted: str) -> str:
    """Return what a JVM said under a key, '' for nothing."""
    found = next((text(value) for key, value in agent["facts"] if text(key) == wanted), "")
    return shortened(found, _LONGEST_FACT_BYTES)
