"""Which event of the CPU a recorded run of a sweep samples: of several that --sample names, runs take one each, in turn.

async-profiler samples one event of the CPU at a time, so what one run can't tell, another one of the same program and number of
threads does. Turns go by block: all runs of a block are sampled alike, so recording costs both programs the same.
"""

from __future__ import annotations

from headway.record.sampling import SampleOptions, parse

PLAIN, COUNTED = "cpu:2ms", "cpu:2ms,cycles:5m,instructions:5m"
"""What is sampled if nobody says what: without a PMU, and with one; 5 million are about 2 ms there, too."""


def turns(sample: str) -> tuple[SampleOptions, ...]:
    """Return what is sampled in each turn: one event of the CPU, beside all others. Raises as `parse`."""
    wanted = parse(sample)
    beside = tuple(event for event in wanted.events if not event.is_of_cpu)
    of_cpu = [event for event in wanted.events if event.is_of_cpu]
    return tuple(SampleOptions((event, *beside)) for event in of_cpu) or (wanted,)


def sampled_in(sample: str, number: int) -> SampleOptions:
    """Return what the recorded runs with a number, from 1, sample. Raises as `parse`."""
    found = turns(sample)
    return found[(number - 1) % len(found)]


def default_sample(repeat: int, *, is_counted: bool) -> str:
    """Return what is sampled if nobody says what; `is_counted`: this machine counts cycles and instructions."""
    return COUNTED if is_counted and repeat >= len(turns(COUNTED)) else PLAIN
