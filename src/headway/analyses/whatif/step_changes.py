"""Plans a run whose single steps are changed: other sleeps, faster methods, no waits for room in a queue, equal parts.

Question   which steps of a run wait or compute otherwise after a change, and how far is that known?
Method     whatif.sleeps says which sleeps are changed, whatif.methods what is computed in a method, whatif.queues who waited for
           room, whatif.shared_waits who waited for a connection or permit, whatif.balanced which steps are parts of parallel
           stages. A replay gets what each step is then (native/replay/step_changes.h): as likely, with the least that may be
           changed, or the most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct
from headway.analyses.whatif import balanced, methods, queues, shared_waits, sleeps
from headway.analyses.whatif.sleeps import SLACK_NS
from headway.errors import HeadwayError
from headway.model.interruptible import interruptible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.whatif.balanced import BalancedSteps
    from headway.analyses.whatif.methods import ChangedMethods
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.sleeps import ChangedSleeps
    from headway.analyses.whatif.types import Change, Extent
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChangedSteps:
    """What is changed of a run's steps. `room`: those that wait for room in a queue; `waits`: those whose waits take no time."""

    run: RecordedRun
    sleeps: ChangedSleeps | None = None
    methods: ChangedMethods | None = None
    room: Ints | None = None
    balanced: BalancedSteps | None = None
    waits: Ints | None = None

    def native(self, extent: Extent) -> _native.StepChanges:
        """Return the steps after the change."""
        from headway import _native

        asleep, asleep_ns = self._waits(extent)
        room = np.zeros(0, np.int64) if self.room is None or extent == "least" else self.room
        skipped = np.zeros(0, np.int64) if self.waits is None else self.waits
        changed = [asleep, room, skipped, *(each.step for each in (self.methods, self.balanced) if each is not None)]
        step = distinct(np.concatenate(changed))
        factor, wait_ns = np.ones(len(step)), np.full(len(step), -1.0)
        if self.methods is not None:
            factor[np.searchsorted(step, self.methods.step)] = self.methods.factor(extent)
        if self.balanced is not None:
            at = np.searchsorted(step, self.balanced.step)
            factor[at] *= self.balanced.work_factor
            wait_ns[at] = self.balanced.wait_ns
        wait_ns[np.searchsorted(step, asleep)] = asleep_ns
        wait_ns[np.searchsorted(step, room)] = 0.0
        wait_ns[np.searchsorted(step, skipped)] = 0.0
        return interruptible(
            _native.StepChanges,
            steps=self.run.steps,
            step=step.astype(np.uint32),
            wait_ns=wait_ns,
            work_factor=factor,
        )

    def _waits(self, extent: Extent) -> tuple[Ints, Floats]:
        """Return steps and the lengths of their sleeps; at most those without a place are changed, too.

        Unsure ones: at most they take no time, as the next one is the rest of them; at least they are as long as they were.
        """
        its = self.sleeps
        if its is None:
            return np.zeros(0, np.int64), np.zeros(0)
        late = np.where(its.asked_ns > 0, 0 if extent == "most" else SLACK_NS, 0)
        ns = its.asked_ns + late
        if extent != "middle":
            ns = np.where(its.is_unsure, 0 if extent == "most" else np.maximum(ns, its.recorded_ns), ns)
        if extent != "most":
            return its.step, ns.astype(np.float64)
        unknown = np.full(len(its.unknown_step), its.unknown_ns, np.float64)
        step = np.concatenate([its.step, its.unknown_step])
        order = np.argsort(step)
        return step[order], np.concatenate([ns, unknown])[order]


def program_steps(run: RecordedRun) -> dict[str, Ints]:
    """Return what each thread of a recorded run does, step by step, as columns (RunSteps.program_steps)."""
    return {name: np.asarray(column, np.int64) for name, column in interruptible(run.steps.program_steps).items()}


def changed_steps(recording: Recording, run: RecordedRun, change: Change) -> ChangedSteps | None:
    """Find the sleeps and the computing of a run that a change alters; None where it alters neither.

    Raises HeadwayError as `changed_sleeps`, `changed_methods`, `changed_queues`, `changed_stages` and `changed_waits`; HW886
    (equal parts, and other sleeps or methods).
    """
    if not change.reaches_steps:
        return None
    if change.balanced and (change.sleeps or change.methods):
        raise HeadwayError("HW886", path=recording.path)
    steps = program_steps(run)
    places = [each.place for each in change.balanced]
    return ChangedSteps(
        run,
        sleeps.changed_sleeps(recording, steps, change.sleeps) if change.sleeps else None,
        methods.changed_methods(recording, steps, change.methods) if change.methods else None,
        queues.changed_queues(recording, steps, change.queues) if change.queues else None,
        balanced.changed_stages(recording, run.threads, steps, places) if places else None,
        shared_waits.changed_waits(recording, steps, change.waits) if change.waits else None,
    )
