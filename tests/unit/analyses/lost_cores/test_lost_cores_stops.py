"""What a program gains without the pauses of its JVM, and where that rests on little: programs whose time without them follows
from their text.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from headway.analyses.common.intervals import Spans
from headway.analyses.lost_cores.account.course import Course
from headway.analyses.lost_cores.crowded import doubts_of_gain
from headway.analyses.lost_cores.gains.bounds import BoundInputs
from headway.analyses.lost_cores.gains.stops import gained_ns

WINDOW = 100


def inputs(kept: list[float], cores: float = 2) -> BoundInputs:
    """Return the inputs of a window of 100 ns, with what others kept from the program in each of its bins of equal length."""
    edges = np.linspace(0, WINDOW, len(kept) + 1).astype(np.int64)
    zero = np.zeros(len(kept) + 1)
    course = Course(edges, zero, np.concatenate([[0.0], np.cumsum(kept)]), zero)
    return BoundInputs(WINDOW, cores, work_ns=50, others_ns=round(sum(kept)), course=course)


def pauses(*spans: tuple[int, int]) -> Spans:
    return Spans.of(*(np.array(side, np.int64) for side in zip(*spans, strict=True)))


def test_on_a_machine_of_its_own_a_program_gains_its_pauses() -> None:
    assert gained_ns(pauses((10, 40), (60, 70)), inputs([0.0] * 10)) == 40
    assert gained_ns(pauses((10, 40)), BoundInputs(WINDOW, 2, work_ns=50)) == 30, "nothing is known of others"


def test_where_others_always_had_one_of_two_cores_a_pause_is_gained_as_long_as_it_was() -> None:
    assert gained_ns(pauses((10, 40)), inputs([10.0] * 10)) == pytest.approx(30)


def test_a_pause_that_lasted_because_others_had_the_cores_gains_what_the_collector_had_of_them() -> None:
    # Work of 45 on one core, a collection of 5 after 20 of it. Another process takes the core for 50 when that begins:
    # it would have taken it from the program, too, which without the collection ends 5 sooner, and not 55.
    kept = [0.0, 0, 10, 10, 10, 10, 10, 0, 0, 0]
    gained = gained_ns(pauses((20, 75)), inputs(kept, cores=1))
    assert gained == pytest.approx(5 / (50 / WINDOW)), "5 at the rate at which the program got the core"
    assert gained_ns(pauses((20, 70)), inputs(kept, cores=1)) == 0, "the collector never ran in it"


@pytest.mark.parametrize("seed", range(20))
def test_no_pause_gains_more_than_it_lasted_or_than_the_program_does_with_what_it_had_in_it(seed: int) -> None:
    dice = random.Random(seed)
    cores, bins = dice.randint(1, 8), 10
    kept = [cores * WINDOW / bins * dice.random() for _ in range(bins)]
    start = dice.randrange(0, 90)
    spans = pauses((start, dice.randrange(start + 1, WINDOW + 1)))
    gained = gained_ns(spans, inputs(kept, cores))
    # By hand, ns by ns: what the program had of the cores in the pause, and on average.
    had = [cores - kept[at * bins // WINDOW] / (WINDOW / bins) for at in range(WINDOW)]
    within = sum(had[int(spans.start[0]) : int(spans.end[0])])
    assert gained == pytest.approx(min(spans.total, within / (sum(had) / WINDOW)))


@pytest.mark.parametrize(
    ("kept", "likely", "is_marked"), [(450, 1.3, True), (450, 1.01, False), (450, None, False), (150, 1.3, False)]
)
def test_the_gain_of_a_program_that_seldom_got_a_core_is_marked(
    kept: int, likely: float | None, is_marked: bool
) -> None:
    busy = BoundInputs(WINDOW, 8, work_ns=50, others_ns=kept)
    assert (doubts_of_gain(likely, busy) == ("HW452",)) == is_marked
