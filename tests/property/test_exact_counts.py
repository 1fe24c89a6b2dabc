"""Counts of regions against the events themselves: each falls on a ns, and the bounds hold whatever ns it fell on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.common.intervals import Spans
from headway.analyses.counters.layout import Layout
from headway.analyses.counters.parts.slices import Slices
from headway.analyses.counters.types import CountedGroup, Row
from headway.analyses.regions.exact_counts import ExactCounts

EVENTS = ("cycles", "instructions")
MOST = (6, 60)
"""Of each event in a ns; real processors stay below."""
BEGIN = 5_000_000
WALL = 120
THREADS = 3


@dataclass(frozen=True)
class Ran:
    """A slice, with what happened in each ns of it: (cycles, instructions); nobody counted that of one that is not known."""

    thread: int
    start: int
    events: tuple[tuple[int, int], ...]
    is_known: bool = True

    @property
    def end(self) -> int:
        return self.start + len(self.events)


@st.composite
def slices_of_threads(draw: st.DrawFn) -> list[Ran]:
    found = []
    for thread in range(THREADS):
        at = draw(st.integers(0, 20))
        while at < WALL and draw(st.integers(0, 4)):
            length = draw(st.integers(1, min(40, WALL - at)))
            rates = st.tuples(*(st.integers(0, most) for most in MOST))
            first, second = draw(rates), draw(rates)
            change = draw(st.integers(0, length))
            events = (first,) * change + (second,) * (length - change)
            found.append(Ran(thread, at, events, draw(st.integers(0, 9)) > 0))
            at += length + draw(st.integers(0, 10))
    return found


def kept(slices: list[Ran]) -> ExactCounts:
    start, ran = (np.array([getattr(each, name) for each in slices], np.int64) for name in ("start", "end"))
    counts = np.array([np.sum(np.array(each.events, np.int64), axis=0) for each in slices], np.int64).reshape(-1, 2)
    thread = np.array([each.thread for each in slices], np.int64)
    known = np.array([each.is_known for each in slices], bool)
    counts[~known] = -1
    uncounted = np.where(known, 0, -1)[:, None]
    batch = Slices(thread, thread, start + BEGIN, ran - start, counts, uncounted, known)
    there = Layout("CPI", (CountedGroup(EVENTS, 1, 1),), ())
    return ExactCounts(there, [batch], BEGIN, BEGIN + WALL)


def compare(row: Row, slices: list[Ran], moments: dict[int, set[int]]) -> None:
    """Compare with the events that fell on these ns of each thread."""
    inside = [
        (each, [ns for ns in range(each.start, each.end) if ns in moments.get(each.thread, ())]) for each in slices
    ]
    assert row.cpu_ns == sum(len(there) for _, there in inside)
    assert row.counted_ns == sum(len(there) for each, there in inside if each.is_known)
    if row.cpu_ns and not row.counted_ns:
        assert {figure.value for figure in row.counts.values()} == {0.0}  # at least none, at most what a CPU can do
        return
    for place, event in enumerate(EVENTS):
        figure = row.counts[event]
        truth = sum(each.events[ns - each.start][place] for each, there in inside for ns in there)
        share = sum(
            sum(events[place] for events in each.events) * len(there) / len(each.events)
            for each, there in inside
            if each.is_known
        )
        assert figure.value == pytest.approx(share)
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low - 1e-6 <= truth <= figure.high + 1e-6
        if all(len(there) in (0, len(each.events) * each.is_known) for each, there in inside):
            assert (figure.low, figure.high) == (truth, truth)


@settings(max_examples=60)
@given(
    slices=slices_of_threads(),
    edges=st.lists(st.integers(0, WALL), min_size=2, max_size=8, unique=True),
    threads=st.sets(st.integers(0, THREADS - 1)),
    data=st.data(),
)
def test_bounds_hold_the_events_of_all_threads_and_of_the_busiest(
    slices: list[Ran], edges: list[int], threads: set[int], data: st.DataObject
) -> None:
    if not slices:
        return
    ends = sorted(edges)[: len(edges) // 2 * 2]
    spans = Spans.of(np.array(ends[::2], np.int64), np.array(ends[1::2], np.int64))
    busiest = [data.draw(st.sampled_from([-1, *threads])) for _ in range(len(spans))]
    instances = [set(range(a, b)) for a, b in zip(spans.start.tolist(), spans.end.tolist(), strict=True)]
    everywhere = set().union(*instances)
    every, most = kept(slices).rows(spans, sorted(threads), np.array(busiest, np.int64))
    compare(every, slices, dict.fromkeys(threads, everywhere))
    of_busiest: dict[int, set[int]] = {}
    for thread, moments in zip(busiest, instances, strict=True):
        of_busiest.setdefault(thread, set()).update(moments)
    compare(most, slices, of_busiest)


def test_groups_that_took_turns_are_scaled_and_the_bounds_cover_the_truth() -> None:
    """Each group has the counters for 4 ms in turn, of a program whose rate varies; 95 % intervals, 40 runs."""
    random = np.random.default_rng(28)
    covered, errors = 0, []
    for _ in range(40):
        slices, truth = in_turn(random)
        there = Layout("CPI", (CountedGroup(EVENTS, 2, 1),), ())
        exact = ExactCounts(there, [slices], BEGIN, BEGIN + 2_000_000_000)
        inside = Spans.single(500_000_000, 1_500_000_000)
        figure = exact.rows(inside, [0], np.zeros(1, np.int64))[0].counts["cycles"]
        assert figure.value is not None
        assert figure.low is not None
        assert figure.high is not None
        covered += figure.low <= truth <= figure.high
        errors.append(abs(figure.value / truth - 1))
        numbers = exact.of(inside, [0], np.zeros(1, np.int64)).numbers
        assert numbers["cycles"] == round(figure.value)
        assert numbers["busiest_cycles"] == numbers["cycles"]
        low, high = numbers["cycles_low"], numbers["cycles_high"]
        assert low is not None
        assert high is not None
        assert low < figure.value < high
    assert covered >= 36
    assert np.mean(errors) <= 0.03


def in_turn(random: np.random.Generator) -> tuple[Slices, float]:
    """Return 2 s of one thread's slices, and what it counted from 0.5 s to 1.5 s: none of them reaches over these moments."""
    start, ran, counts, missed, truth = [], [], [], [], 0.0
    at, rate, phase = 0, 1.0, float(random.uniform(0, 8))
    for border in (500_000_000, 1_500_000_000, 2_000_000_000):
        while at < border:
            length = min(border - at, int(random.exponential(1.5e6)) + 1000)
            rate = rate * 0.5 + 0.5 * float(random.uniform(0.8, 3.2))  # cycles a ns
            began = at / 1e6 + phase
            spells = range(int(began // 8), int((began + length / 1e6) // 8) + 1)
            on = sum(max(0.0, min(began + length / 1e6, s * 8 + 4) - max(began, s * 8)) for s in spells)
            on_ns = min(length, round(on * 1e6))
            start.append(at)
            ran.append(length)
            counts.append((round(rate * on_ns), round(2 * rate * on_ns)))
            missed.append((length - on_ns,))
            truth += rate * length if 500_000_000 <= at < 1_500_000_000 else 0.0
            at += length
    nobody = np.zeros(len(start), np.int64)
    columns = (np.array(start, np.int64) + BEGIN, np.array(ran, np.int64), np.array(counts, np.int64))
    known = np.ones(len(start), bool)
    return Slices(nobody, nobody, *columns, np.array(missed, np.int64), known), truth
