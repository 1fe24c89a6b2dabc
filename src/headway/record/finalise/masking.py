"""Masks secrets in the JVM arguments that agents report, before they are written to a table or the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway.model.names import text
from headway.model.secrets import masked_text, masked_value
from headway.store.shared_texts import shortened

_OPTIONS = "flags"
"""The fact of a JVM that is options of `java`, and nothing else."""
_MOST_BYTES, _LEAST_BYTES = 8 << 20, 128 << 10
"""So much of what all JVMs, and what one of them, says of itself is looked through: each word takes microseconds."""
_LEAST_SHOWN_BYTES = 64


def with_masked_facts(agents: Sequence[dict[str, Any]], draft: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return agents' records with secrets in their JVMs' facts masked, unless the recording keeps arguments."""
    if draft.get("arguments_kept"):
        return list(agents)
    most_bytes = max(_LEAST_BYTES, _MOST_BYTES // max(1, len(agents)))
    return [{**agent, "facts": _masked_facts(agent["facts"], most_bytes)} for agent in agents]


def _masked_facts(facts: Iterable[tuple[bytes, bytes]], most_bytes: int) -> list[tuple[bytes, bytes]]:
    """Return one JVM's facts masked; those beyond `most_bytes` in all are cut short."""
    found = []
    for key, value in facts:
        whole = text(value)
        shown = shortened(whole, max(most_bytes, _LEAST_SHOWN_BYTES))
        if shown is not whole:  # the half of a word is none that can be told to be a secret
            shown = shown.removesuffix("...").rpartition(" ")[0] + "..."
        most_bytes -= len(shown)
        found.append((key, _masked(text(key), shown)))
    return found


def _masked(key: str, shown: str) -> bytes:
    return (masked_text(shown, options_only=True) if key == _OPTIONS else masked_value(key, shown)).encode()
