"""The form of one row of the table of messages."""

from __future__ import annotations

from dataclasses import dataclass

WARNING = "warning"
"""It changes what to believe of the figures, or what to do: always shown."""
ONCE = "once"
"""It belongs to the recording: shown when that is made, and by `headway notes`; other commands fold it into one line."""
NOTE = "note"
"""What the figures say already, or a circumstance that is as a rule so: folded into one line."""


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that can go wrong or weaken a result. `text` and `remedy` are str.format templates over the facts.

    `severity`: how much a notice of it matters beside a result; as an error any of them stops the command.
    """

    id: str
    title: str
    text: str
    why: str
    remedy: str
    severity: str = WARNING
