"""Assigns sampled CPU events to a sweep's recorded runs: of several in --sample, runs take one each, in turn.

async-profiler samples one event of the CPU at a time, so what one run can't tell, another one of the same program and number of
threads does. Turns go by block: all runs of a block are sampled alike, so recording costs both programs the same.
"""

from __future__ import annotations

from headway.record.counters.groups import OF_SWEEPS, CounterOptions
from headway.record.counters.groups import parse as parse_counters
from headway.record.request.sampling import SampleOptions, parse

PLAIN, COUNTED = "cpu:2ms", "cpu:2ms,cycles:5m,instructions:5m"
"""What is sampled if nobody says what: without a PMU, and with one; 5 million are about 2 ms there, too."""


def turns(sample: str) -> tuple[SampleOptions, ...]:
    """Return the sampled events of each turn: one CPU event, beside all other events. Raises as `parse`."""
    wanted = parse(sample)
    beside = tuple(event for event in wanted.events if not event.is_of_cpu)
    of_cpu = [event for event in wanted.events if event.is_of_cpu]
    return tuple(SampleOptions((event, *beside)) for event in of_cpu) or (wanted,)


def sampled_in(sample: str, number: int) -> SampleOptions:
    """Return the sampled events of the recorded runs with a number (from 1). Raises as `parse`."""
    found = turns(sample)
    return found[(number - 1) % len(found)]


def default_sample(repeat: int, *, is_counted: bool) -> str:
    """Return the default of --sample; `is_counted`: this machine counts cycles and instructions."""
    return COUNTED if is_counted and repeat >= len(turns(COUNTED)) else PLAIN


def counted_by(text: str | None) -> CounterOptions | None:
    """Return what recorded runs count at each switch. Raises HeadwayError HW103, HW105 or HW106."""
    if text is None:
        return None
    return CounterOptions(parse_counters(text).groups, is_default=text == OF_SWEEPS)
