"""Decides whether a recording is complete or partial. Nothing else does.

Partial: a part of what was to be recorded or imported is missing, and nobody knows what was in it. What a recorder counted as
lost while it went on (records that did not fit, threads not seen) is no such part: it is in the notices, with its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["complete", "partial"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What is missing of a recording; of one that ended as it should, nothing."""

    recorder_died: bool = False
    """The end: it was finalised by `headway recover`, and ends with the last record in its spool."""
    file_is_cut_off: bool = False
    """The end of an imported file that was compressed, or what comes after damage in it."""
    unread: int = 0
    """Parts of an imported file that could not be read."""
    unwritten_events: int = 0
    """Events of an imported file of which no table was made."""

    @property
    def state(self) -> State:
        """Return the state of the recording, as its manifest has it."""
        is_partial = self.recorder_died or self.file_is_cut_off or self.unread > 0 or self.unwritten_events > 0
        return "partial" if is_partial else "complete"
