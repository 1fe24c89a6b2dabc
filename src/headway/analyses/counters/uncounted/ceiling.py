"""Upper limits of event rates: how many events a processor counts in a nanosecond at most, to bound what was not counted."""

from __future__ import annotations

import math
import re

from headway.model.counter_ladder import plain_name

_CYCLES_A_NS, _INSTRUCTIONS_A_CYCLE = 6.5, 10
"""Above what the fastest clocks and the widest processors do."""
_OWN = re.compile(r"r[0-9a-f]+|.*[/:].*")
"""Events by a processor's own code or the name of a unit, and watched addresses: some count several times a cycle."""


def most_a_ns(event: str) -> float:
    """Return the most that an event can count in a nanosecond on one CPU: an upper bound for time in which it was not counted.

    Of events that a processor has for itself nothing is known: inf.
    """
    plain = plain_name(event)
    if _OWN.fullmatch(plain):
        return math.inf
    return _CYCLES_A_NS * (1 if plain == "cycles" else _INSTRUCTIONS_A_CYCLE)
