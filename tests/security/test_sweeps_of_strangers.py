"""Sweeps that a stranger made: their runs are looked through once, however many numbers of threads there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

from headway.store.sweep import Sweep, SweepRun


class CountingRuns(tuple[SweepRun, ...]):
    """Runs that count how often they are gone through."""

    times = 0

    def __iter__(self) -> Iterator[SweepRun]:
        type(self).times += 1
        return super().__iter__()


def test_runs_are_gone_through_once_for_all_numbers_of_threads() -> None:
    """A sweep.json of 64 MB has 400,000 runs, each with a number of threads of its own: half a day."""
    runs = [SweepRun("parallel", number % 50, 1 + number // 50, number % 3 == 0) for number in range(200)]
    sweep = Sweep(Path("x.sweep"), "java A", runs=cast("tuple[SweepRun, ...]", CountingRuns(runs)))
    CountingRuns.times = 0
    for threads in range(60):
        for recorded in (True, False, None):
            found = sweep.select("parallel", threads, recorded=recorded, state=None)
            assert found == tuple(run for run in runs if run.threads == threads and recorded in (None, run.recorded))
    assert sweep.select("sequential", 1, state=None) == ()
    assert CountingRuns.times == 1
    changed = replace(sweep, runs=tuple(runs[:1]))
    assert changed.select("parallel", 0, state=None) == (runs[0],)
    assert "_by_threads" not in sweep.to_json()
