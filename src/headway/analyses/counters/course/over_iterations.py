"""Mean and spread of counts and metrics over iterations: deviation of a sample, smallest and largest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headway.analyses.counters.types import Figure, OverIterations, Row, Spread


def over_iterations(rows: Sequence[Row]) -> OverIterations:
    """Return mean and spread of each count and each metric of some iterations."""
    counts = {name: _spread([row.counts[name] for row in rows]) for name in (rows[0].counts if rows else ())}
    metrics = {name: _spread([row.metrics[name] for row in rows]) for name in (rows[0].metrics if rows else ())}
    return OverIterations(len(rows), counts, metrics)


def _spread(figures: Sequence[Figure]) -> Spread:
    """Return mean and spread of the figures that are known; the mean's interval is that of all its parts at their ends."""
    known = [each for each in figures if each.value is not None]
    values = [each.value for each in known if each.value is not None]
    if not values:
        return Spread(Figure(None, None, None, figures[0].withheld), None, None, None, 0)
    mean = math.fsum(values) / len(values)
    lows, highs = ([getattr(each, end) for each in known] for end in ("low", "high"))
    low, high = (None if None in ends else math.fsum(ends) / len(ends) for ends in (lows, highs))
    deviation = (
        math.sqrt(math.fsum((each - mean) ** 2 for each in values) / (len(values) - 1)) if len(values) > 1 else None
    )
    return Spread(Figure(mean, low, high), deviation, min(values), max(values), len(values))
