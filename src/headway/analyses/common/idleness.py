"""For how long a whole program waited for work from outside, and that as a sentence: what every prediction says first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Idleness:
    """Wall time of a recording in which the whole program waited for work from outside, and the sentence that says it."""

    outside_ns: int
    sentence: str
