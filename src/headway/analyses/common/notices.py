"""The notices that every result of a recording carries along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.errors import Notice

if TYPE_CHECKING:
    from headway.store import Recording


WAITS_LEFT = "waits that were not read"
"""Key under which `Recording.kept` has the notice that memory was not for all waits (HW435)."""
OBJECTS_LEFT = "objects that share a row"
"""Key under which `Recording.kept` has the notice that memory was not for a row of each object (HW437, HW438)."""


def recorded_notices(recording: Recording) -> tuple[Notice, ...]:
    """Return what was noted when the recording was made, invariants that do not hold included (HW201), and that memory was not
    for all of its waits and objects (HW435, HW437, HW438), where they were read.
    """
    left = (recording.kept.get(key) for key in (WAITS_LEFT, OBJECTS_LEFT))
    return (*recording.notices, *(each for each in left if isinstance(each, Notice)))
