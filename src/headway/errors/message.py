"""The form of one row of the table of messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that can go wrong or weaken a result. `text` and `remedy` are str.format templates over the facts."""

    id: str
    title: str
    text: str
    why: str
    remedy: str
