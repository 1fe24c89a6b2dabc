"""Estimates from windows against programs whose accesses are known: how often intervals cover them, and what is left unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from headway.analyses.objects.window_estimates import GROUPS, ROWS, Work, estimates

SPELL_NS = 300_000_000
RUNS = 100


@dataclass
class Simulated:
    """One thread that is drawn at random, spell by spell: CPU time, marks of two kinds, and accesses of two kinds.

    What it does differs from spell to spell by `spread`, slowly by `memory` of the spell before. A window shows what the next
    spell would have been, and slows it down by a factor of its own.
    """

    random: np.random.Generator
    periods: int
    spells_per_period: int
    spread: float
    memory: float
    truth: Any = None
    work: Work = field(default_factory=lambda: Work(np.zeros(GROUPS)))
    counts: Any = None

    def run(self) -> Simulated:
        """Draw the run as the agent sees it: native/agent/objects/access_windows.cpp."""
        count = self.periods * self.spells_per_period
        noise = self.random.normal(0, self.spread, (count, 2))
        level = np.zeros((count, 2))
        for at in range(1, count):
            level[at] = self.memory * level[at - 1] + math.sqrt(1 - self.memory**2) * noise[at]
        marks = self.random.poisson(2000 * np.exp(level[:, :1]) * np.array([0.5, 0.5]))
        each = np.exp(level) * np.array([1e6, 3e5])
        before_ns, between_ns = np.zeros(GROUPS), 0.0
        cells, passed, estimated, marks_in = np.zeros((ROWS, 2)), np.zeros(2), np.zeros(2), 0
        truth = each.sum(axis=0)
        for period in range(self.periods):
            at = period * self.spells_per_period + int(self.random.integers(1, self.spells_per_period - 1))
            part = 1 / self.random.uniform(3, 8)
            in_window = self.random.binomial(marks[at + 1], part)
            counted = each[at + 1] * (in_window.sum() / marks[at + 1].sum())
            scale = marks[at].sum() / in_window.sum()
            group = period % GROUPS
            cells[group + 1] += counted * scale
            cells[[0, -1]] += counted
            marks_in += int(in_window.sum())
            truth += counted  # a window is no part of the spells: the thread does that besides
            before_ns[group] += SPELL_NS
            passed += marks[at]
            estimated += in_window * scale
        between_ns = count * SPELL_NS
        self.truth, self.counts = truth, cells
        self.work = Work(
            before_ns,
            between_ns=between_ns,
            marks=float(passed.sum()),
            marks_in=marks_in,
            marks_wrong=float(abs(passed - estimated).sum()),
            marks_largest=float(passed.max()),
        )
        return self


@pytest.mark.parametrize("periods", [10, 60])
@pytest.mark.parametrize(("spread", "memory"), [(0.05, 0.0), (0.4, 0.0), (0.8, 0.95)])
def test_intervals_cover_what_the_program_did_as_often_as_they_say(periods: int, spread: float, memory: float) -> None:
    random = np.random.default_rng(1)
    covered = np.zeros(2)
    for _ in range(RUNS):
        run = Simulated(random, periods, 40, spread, memory).run()
        assert run.work.is_known
        found = estimates([(run.work, run.counts)])
        for kind, (figure, true) in enumerate(zip(found, run.truth, strict=True)):
            assert figure.low is not None
            assert figure.value is not None
            assert figure.high is not None
            assert figure.counted <= figure.low <= figure.value <= figure.high
            covered[kind] += figure.low <= true <= figure.high
    assert (covered / RUNS >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / RUNS)).all(), covered / RUNS


HALF = 20
"""Marks that are passed where accesses of one kind are, and as many of the other kind."""
PERIODS = 50


def few_passes(random: np.random.Generator, unlike: float) -> tuple[Work, Any, Any]:
    """Return what an agent sees of a thread that passes each of 40 marks seven times in a spell, and what it did.

    `unlike`: in windows the one half of the marks is passed so much more often than in spells, the other as much less.
    """
    each = np.array([1000.0, 1000.0])
    means = 7.5 * np.exp(random.normal(0, 0.1, (PERIODS * 40, 2)))
    truth = (random.poisson(means * HALF) * each).sum(axis=0)
    cells, before_ns = np.zeros((ROWS, 2)), np.zeros(GROUPS)
    passed, estimated, chance = np.zeros(2 * HALF), np.zeros(2 * HALF), np.zeros(2 * HALF)
    marks_in = 0.0
    for period in range(PERIODS):
        at = period * 40 + int(random.integers(1, 39))
        spell = random.poisson(np.repeat(means[at], HALF))
        mix = np.repeat([1 + unlike, 1 - unlike], HALF)
        window = random.poisson(np.repeat(means[at + 1], HALF) * mix / random.uniform(3, 8))
        counted = window.reshape(2, HALF).sum(axis=1) * each
        scale = spell.sum() / window.sum()
        cells[period % GROUPS + 1] += counted * scale
        cells[[0, -1]] += counted
        truth += counted
        before_ns[period % GROUPS] += SPELL_NS
        marks_in += window.sum()
        passed += spell
        estimated += window * scale
        chance += window * scale * (1 + scale) * (1 - window / window.sum())
    differ, by_chance = abs(passed - estimated).sum(), math.sqrt(2 / math.pi) * np.sqrt(chance).sum()
    wrong = min(differ, math.sqrt(max(0, differ**2 - by_chance**2)) + by_chance / 4)
    work = Work(
        before_ns,
        between_ns=PERIODS * 40 * SPELL_NS,
        marks=float(passed.sum()),
        marks_in=marks_in,
        marks_wrong=float(wrong),
        marks_largest=float(passed.max()),
    )
    return work, cells, truth


@pytest.mark.parametrize(("unlike", "least_known"), [(0.0, 0.6), (0.1, 0.0), (0.3, 0.0)])
def test_few_passes_of_each_mark_are_enough_where_windows_are_like_spells_and_mislead_nobody_where_they_are_not(
    unlike: float, least_known: float
) -> None:
    """Chance alone puts a tenth of the passes where windows don't say: as many as make a thread unknown."""
    random = np.random.default_rng(5)
    known = [each for each in (few_passes(random, unlike) for _ in range(RUNS)) if each[0].is_known]
    assert len(known) >= least_known * RUNS
    assert unlike < 0.3 or not known
    covered = [
        figure.low is not None and figure.high is not None and figure.low <= true <= figure.high
        for work, counts, truth in known
        for figure, true in zip(estimates([(work, counts)]), truth, strict=True)
    ]
    assert sum(covered) >= 0.9 * len(covered)
