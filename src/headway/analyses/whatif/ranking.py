"""Ranks the changes that may be worth making: predicts the wall time after each, alone and the best in pairs.

Question   which change, or pair of changes, shortens the run most?
Method     candidates are a lock less (the places that threads waited at longest), enough of what several threads may have at
           once, as connections or permits (likewise), no collections, I/O twice as fast, twice the cores, no sleep (the places
           of the longest sleeps, or the threads where places are not known), and a method that takes half of its CPU time (those
           in which most samples are). Each is replayed once; those that shorten the run most get intervals and an account of
           what limits them next, and so do pairs of the best of them, where the second one gains something.
Bounded    MOST_LOCKS, MOST_SHARED, MOST_SLEEPS and MOST_METHODS candidates of a kind; MOST_RANKED get intervals.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from headway.analyses.common.notices import recorded_notices
from headway.analyses.common.units import duration
from headway.analyses.waits.tables.blocks import has_locks
from headway.analyses.whatif import lock_changes, methods, shared_waits, sleeps
from headway.analyses.whatif.predicted_run import PredictedRuns
from headway.analyses.whatif.predictions import Runs, predict, unexplained
from headway.analyses.whatif.step_changes import changed_steps
from headway.analyses.whatif.types import Change, Further, LockChange, MethodChange, SleepChange, WaitChange, WhatIf
from headway.analyses.whatif.unchanged import LOCKS_TELL, loaded, notices_of, reordered, replayed, starved
from headway.errors import HeadwayError, Notice
from headway.model.interruptible import interruptible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.step_changes import ChangedSteps
    from headway.analyses.whatif.types import Predicted, UnchangedRun
    from headway.store import Recording

MOST_LOCKS = 5
MOST_SHARED = 3
MOST_SLEEPS = 3
MOST_METHODS = 3
"""Candidates of a kind that a ranking tries."""
MOST_RANKED = 8
"""So many of the best single changes get intervals."""
MOST_IN_PAIRS = 3
"""So many of the best single changes are tried in pairs, two at a time."""
PAIR_GAINS = 0.01
"""A pair of changes is listed if it shortens the run by more than this part beyond the better one of the two alone."""
MOST_EXPLAINED = 4
"""Predictions for which further changes are tried."""
MOST_FURTHER = 3
"""So many changes are tried after one, one after the other."""
_MOST_LEFT_OUT = 3
"""Places of locks without a candidate that are named."""
_MOST_KEPT = 1_000_000
"""Slices of a run whose changed steps are kept between replays: of a longer one they take more memory than the time is worth."""
_FASTER = 0.5
"""What is left of a method's CPU time."""


class Candidates:
    """The changes of a recorded run that are tried, and the replays that tell what they bring.

    With locks the replay decides anew who gets them; where that can't be done, changes of locks are not among the candidates.
    """

    def __init__(self, recording: Recording, run: RecordedRun, window: tuple[int, int] | None = None) -> None:
        """Replay the unchanged run, with its locks decided anew and as recorded. `window`: which part of the recording it is."""
        self.recording = recording
        self.run = run
        self.notices: list[Notice] = []
        self._changed: dict[tuple[object, ...], ChangedSteps | None] = {}
        self.plain = Runs((run,), (None,), (None,))
        self.replay = replayed(recording, self.plain)
        self.decided: Runs | None = None
        self.decided_replay: UnchangedRun | None = None
        if not has_locks(recording):
            self.notices.append(Notice.of("HW836", path=recording.path))
            return
        try:
            decided = Runs((run,), (lock_changes.locks_of(recording, window),), (None,))
        except HeadwayError as error:
            self.notices.append(Notice.of("HW837", path=recording.path, reason=error.notice.message))
            return
        replay = replayed(recording, decided)
        if replay.refused is not None:
            self.notices.append(Notice.of("HW837", path=recording.path, reason=replay.refused.message))
            return
        self.decided, self.decided_replay = decided, replay

    @property
    def unchanged(self) -> UnchangedRun:
        """Return the replay of the unchanged run that predictions stand on."""
        if self.replay.refused is not None and self.decided_replay is not None:
            return self.decided_replay
        return self.replay

    @cached_property
    def singles(self) -> tuple[Change, ...]:
        """The single changes that are tried."""
        return (*self._locks(), *self._shared(), *self._others(), *self._sleeps(), *self._methods())

    def runs(self, change: Change) -> tuple[Runs, UnchangedRun]:
        """Return the runs that a change is made in, and their unchanged replay. Raises HeadwayError as `changed_steps`."""
        is_decided = change.locks or self.replay.refused is not None
        base, replay = self.plain, self.replay
        if is_decided and self.decided is not None and self.decided_replay is not None:
            base, replay = self.decided, self.decided_replay
        return Runs(base.runs, base.locks, (self._changed_steps(change),)), replay

    def _changed_steps(self, change: Change) -> ChangedSteps | None:
        """Return the steps that a change alters; those of one change are found once, as many are tried."""
        key = (change.sleeps, change.methods, change.queues, change.balanced, change.waits)
        if key in self._changed:
            return self._changed[key]
        found = changed_steps(self.recording, self.run, change)
        if int(self.run.steps.figures()["slices"]) <= _MOST_KEPT:
            self._changed[key] = found
        return found

    def wall_ns(self, change: Change) -> float | None:
        """Return the wall time after a change; None where the change can't be made."""
        try:
            runs, _ = self.runs(change)
        except HeadwayError:
            return None
        ns = runs.replay(change)[0].ns
        return ns if ns >= 0 else None

    def both(self, one: Change, other: Change) -> Change | None:
        """Return two changes made together; None where they change the same, or the second one nothing."""
        if self._is_same(one, other):
            return None
        return replace(
            one,
            cores=max(one.cores, other.cores),
            clock=one.clock if one.clock != 1 else other.clock,
            io=max(one.io, other.io),
            has_gc=one.has_gc and other.has_gc,
            locks=(*one.locks, *other.locks),
            sleeps=(*one.sleeps, *other.sleeps),
            methods=(*one.methods, *other.methods),
            queues=(*one.queues, *other.queues),
            balanced=(*one.balanced, *other.balanced),
            waits=(*one.waits, *other.waits),
        )

    def _is_same(self, one: Change, other: Change) -> bool:
        locks = self.decided.locks[0] if self.decided is not None else None
        if one.locks and other.locks and locks is not None:
            numbers = [{n for each in change.locks for n in locks.numbers(each.lock)} for change in (one, other)]
            if numbers[0] & numbers[1]:
                return True
        is_faster_io = other.io > 1 and one.io > 1
        is_without_gc = not other.has_gc and not one.has_gc
        is_asleep = {each.place.pattern for each in one.sleeps} & {each.place.pattern for each in other.sleeps}
        is_method = {each.method for each in one.methods} & {each.method for each in other.methods}
        is_waiting = {each.place for each in one.waits} & {each.place for each in other.waits}
        return is_faster_io or is_without_gc or bool(is_asleep or is_method or is_waiting)

    def _locks(self) -> list[Change]:
        """Return the losses of the places that threads waited at longest."""
        locks = self.decided.locks[0] if self.decided is not None else None
        if locks is None:
            return []
        by_place: dict[str, int] = {}
        for i, ns in enumerate(locks.waited_ns.tolist()):
            is_mostly_other = locks.others_ns.get(locks.place[i], 0) > ns  # the line would be taken for what stays
            text = locks.name[i] if is_mostly_other else locks.place[i] or locks.name[i]
            by_place[text] = by_place.get(text, 0) + ns
        longest = sorted(by_place, key=lambda text: -by_place[text])[:MOST_LOCKS]
        return [Change(self.run.recorded_cores, locks=(LockChange(text, is_removed=True),)) for text in longest]

    def _shared(self) -> list[Change]:
        """Return enough of what threads waited for longest of those things that several may have at once."""
        places = shared_waits.longest(self.recording, MOST_SHARED)
        return [Change(self.run.recorded_cores, waits=(WaitChange(place),)) for place in places]

    def locks_left_out(self) -> list[Notice]:
        """Return the notice that threads waited long for locks whose holders are not recorded, if they did."""
        locks = self.decided.locks[0] if self.decided is not None else None
        tried = {wait.place for each in self.singles for wait in each.waits}
        others_ns = {} if locks is None else {place: ns for place, ns in locks.others_ns.items() if place not in tried}
        waited_ns = sum(others_ns.values())
        if locks is None or waited_ns <= LOCKS_TELL * self.run.wall_ns:
            return []
        shown = list(others_ns)[:_MOST_LEFT_OUT]
        more = f" and {len(others_ns) - len(shown)} more places" if len(others_ns) > len(shown) else ""
        facts = {"time": duration(waited_ns), "places": f"{', '.join(shown)}{more}"}
        return [Notice.of("HW873", path=self.recording.path, **facts)]

    def _others(self) -> list[Change]:
        found = [Change(2 * self.run.recorded_cores)]
        if self.run.has_collections:
            found.append(Change(self.run.recorded_cores, has_gc=False))
        if self.run.waited_ns["io"] > 0:
            found.append(Change(self.run.recorded_cores, io=2.0))
        return found

    def _sleeps(self) -> list[Change]:
        steps = interruptible(self.run.steps.program_steps)
        patterns = sleeps.longest(self.recording, steps, MOST_SLEEPS)
        return [Change(self.run.recorded_cores, sleeps=(SleepChange(re.compile(each), 0.0),)) for each in patterns]

    def _methods(self) -> list[Change]:
        found = methods.hottest(self.recording, MOST_METHODS)
        return [Change(self.run.recorded_cores, methods=(MethodChange(method, _FASTER),)) for method in found]


def ranking(recording: Recording, *, is_explained: bool = False) -> WhatIf:
    """Predict the wall time after each change that may be worth making, the best first. Raises HeadwayError as `whatif`."""
    run = loaded(recording)
    return ranked(Candidates(recording, run), PredictedRuns(recording, run), is_explained=is_explained)


def ranked(candidates: Candidates, accounts: PredictedRuns, *, is_explained: bool = False) -> WhatIf:
    """Return the ranking of some candidates."""
    recording = candidates.recording
    notices = [*recorded_notices(recording), *notices_of(recording, candidates.plain, ()), *candidates.notices]
    unchanged = candidates.unchanged
    if unchanged.refused is not None:
        return WhatIf((unchanged,), (), tuple(notices))
    notices += starved(unchanged)
    tried = [(ns, change) for change in candidates.singles if (ns := candidates.wall_ns(change)) is not None]
    tried.sort(key=lambda each: each[0])
    predicted: list[Predicted] = []
    for _, change in tried[:MOST_RANKED]:
        predicted += predicted_after(candidates, change, accounts, is_explained=is_explained)
    pairs = _pairs(candidates, predicted)
    for pair in pairs:
        predicted += predicted_after(candidates, pair, accounts, is_explained=is_explained)
    listed = [each for each in predicted if _is_worth_making(candidates, each, predicted)]
    best = sorted(listed, key=lambda each: each.wall_ns)
    if is_explained:
        best = with_further(candidates, best)
        notices += unexplained(best)
    notices += candidates.locks_left_out()
    count = len(candidates.singles) + len(pairs)
    return WhatIf((unchanged,), tuple(best), (*notices, *reordered(recording, best)), count)


def with_further(candidates: Candidates, predicted: Sequence[Predicted]) -> list[Predicted]:
    """Add to the first predictions, up to MOST_EXPLAINED, what further changes would gain."""
    if candidates.unchanged.refused is not None:
        return list(predicted)
    found = [replace(each, further=_further(candidates, each.change)) for each in predicted[:MOST_EXPLAINED]]
    return [*found, *predicted[MOST_EXPLAINED:]]


def _further(candidates: Candidates, change: Change) -> tuple[Further, ...]:
    """Return the best further change, and the best one after that, until one gains hardly anything or none is left."""
    wall_ns = candidates.wall_ns(change)
    if wall_ns is None:
        return ()
    found: list[Further] = []
    while len(found) < MOST_FURTHER:
        tried = []
        for each in candidates.singles:
            is_of_cores = each == Change(each.cores)
            single = replace(each, cores=change.cores * (2 if is_of_cores else 1))
            both = candidates.both(change, single)
            ns = candidates.wall_ns(both) if both is not None else None
            if both is not None and ns is not None:
                tried.append((ns, both, single))
        if not tried:
            break
        ns, change, single = min(tried, key=lambda each: each[0])
        found.append(Further(single, round(ns), wall_ns / max(ns, 1.0), len(tried)))
        if ns > (1 - PAIR_GAINS) * wall_ns:
            break
        wall_ns = ns
    return tuple(found)


def predicted_after(
    candidates: Candidates, change: Change, accounts: PredictedRuns, *, is_explained: bool
) -> list[Predicted]:
    """Return the prediction for a change, with its interval. Raises HeadwayError as `Candidates.runs`."""
    runs, replay = candidates.runs(change)
    return predict(runs, (replay,), change, together=False, accounts=accounts, is_explained=is_explained)


def _pairs(candidates: Candidates, singles: Sequence[Predicted]) -> list[Change]:
    """Return the best changes that gain something, two at a time."""
    gaining = [each.change for each in sorted(singles, key=lambda each: each.wall_ns) if each.speedup > 1 + PAIR_GAINS]
    both = [candidates.both(one, other) for one, other in combinations(gaining[:MOST_IN_PAIRS], 2)]
    return [each for each in both if each is not None and candidates.wall_ns(each) is not None]


def _is_worth_making(candidates: Candidates, asked: Predicted, predicted: Sequence[Predicted]) -> bool:
    """Return False of a pair that takes about as long as one of its changes alone."""
    parts = [
        one.wall_ns
        for pair in combinations(predicted, 2)
        if asked not in pair and candidates.both(pair[0].change, pair[1].change) == asked.change
        for one in pair
    ]
    return not parts or asked.wall_ns < (1 - PAIR_GAINS) * min(parts)
