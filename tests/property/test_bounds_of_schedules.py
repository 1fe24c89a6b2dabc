"""Bounds of causes against what programs gain without them: random programs of phases, played with and without each cause."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.common import causes
from headway.analyses.lost_cores.gains.bounds import BoundInputs, WaitTotals, bound
from support.builders.schedules import CAUSES, Phase, Played, play

PHASES = st.builds(
    Phase,
    cause=st.sampled_from(CAUSES),
    threads=st.integers(1, 6),
    pieces=st.integers(1, 3),
    work=st.integers(5, 40),
    size=st.integers(1, 40),
    late=st.sampled_from([0, 0, 10, 30]),
)
PROGRAMS = st.lists(PHASES, min_size=1, max_size=4)
SLACK = 2
"""Ticks per phase: threads that take turns on cores do not all end in the same one."""


def limit(played: Played, cause: str, cores: int) -> float | None:
    """Return what `why` says of a cause, from what the program did."""
    there = played.causes[cause]
    ground = BoundInputs(
        wall_ns=played.wall,
        cores=cores,
        work_ns=played.work,
        room_ns=round(played.room),
        idle_ns=played.nobody,
        ready_ns=played.ready,
    )
    of_room = ground.share_of_room(round(there.core), round(played.lost))
    return bound(cause, WaitTotals(round(there.core), there.wall, there.threads, 0, 0, of_room), ground)


@settings(max_examples=100)
@given(PROGRAMS, st.integers(1, 4))
def test_no_program_gains_more_by_the_end_of_a_cause_than_its_bound(phases: list[Phase], cores: int) -> None:
    played = play(phases, cores)
    for cause in {phase.cause for phase in phases}:
        better = play(phases, cores, without=cause)
        top = limit(played, cause, cores)
        # A tick per phase: what is left when work is dealt out to cores in whole ticks.
        assert top is None or played.wall / top <= better.wall + len(phases), (cause, top, played, better.wall)


@settings(max_examples=100)
@given(PROGRAMS, st.integers(1, 4))
def test_a_program_gains_the_lost_core_time_of_a_cause_at_least_where_its_work_can_use_all_cores(
    phases: list[Phase], cores: int
) -> None:
    # The likely gain lies between this and the bound: what is gained at least, and at most.
    phases = [dataclasses.replace(each, threads=max(each.threads, cores), late=0) for each in phases]
    played = play(phases, cores)
    for cause in {phase.cause for phase in phases} - {
        causes.IMBALANCE
    }:  # what else a join waits for counts as such, too
        better = play(phases, cores, without=cause)
        lost = played.causes[cause].core / cores
        assert played.wall - better.wall >= lost - SLACK * len(phases), (cause, played, better.wall)
