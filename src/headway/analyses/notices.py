"""The notices that every result of a recording carries along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.errors import Notice

if TYPE_CHECKING:
    from headway.store import Recording


def recorded_notices(recording: Recording) -> tuple[Notice, ...]:
    """Return what was noted when the recording was made, invariants that do not hold included (HW201)."""
    return recording.notices
