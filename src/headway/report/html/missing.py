"""Why a view of the page has nothing to show: what the recording lacks, in the words of its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.errors import MESSAGES, Notice

if TYPE_CHECKING:
    from headway.analyses.overview import Overview
    from headway.store import Recording


def no_thread_states(recording: Recording) -> str:
    """Return why nothing is known of the states of threads; "" where they are recorded."""
    if recording.mode == "agent":
        return Notice.of("HW504").message
    if recording.wall_ns <= 0:
        return Notice.of("HW505").message
    if not recording.has("slice"):
        return Notice.of("HW506").message
    return ""


def no_result(recording: Recording, found: Overview) -> str:
    """Return why an analysis of the states of threads has no result: they are not known, or what its message (HW4xx) says."""
    notice = next((each for each in found.notices if each.id.startswith("HW4")), None)
    return no_thread_states(recording) or (notice.message if notice else MESSAGES["HW506"].title)
