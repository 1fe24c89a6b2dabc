"""Plans a run whose single steps are changed: sleeps that last otherwise.

Question   which steps of a run wait or compute otherwise after a change, and how far is that known?
Method     whatif.sleeps says which sleeps are changed. A replay gets each step's new length (native/replay/step_changes.h): as
           likely, the least that may be changed, or the most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.whatif import sleeps
from headway.analyses.whatif.sleeps import SLACK_NS
from headway.model.interruptible import interruptible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.sleeps import ChangedSleeps
    from headway.analyses.whatif.types import Change, Extent
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChangedSteps:
    """What is changed of a run's steps."""

    run: RecordedRun
    sleeps: ChangedSleeps | None

    def native(self, extent: Extent) -> _native.StepChanges:
        """Return the steps after the change."""
        from headway import _native

        step, wait_ns = self._waits(extent)
        return interruptible(
            _native.StepChanges,
            steps=self.run.steps,
            step=step.astype(np.uint32),
            wait_ns=wait_ns,
            work_factor=np.ones(len(step)),
        )

    def _waits(self, extent: Extent) -> tuple[Ints, Floats]:
        """Return steps and the lengths of their sleeps; at most those without a place are changed, too."""
        its = self.sleeps
        if its is None:
            return np.zeros(0, np.int64), np.zeros(0)
        late = np.where(its.asked_ns > 0, 0 if extent == "most" else SLACK_NS, 0)
        if extent != "most":
            return its.step, (its.asked_ns + late).astype(np.float64)
        unknown = np.full(len(its.unknown_step), its.unknown_ns, np.float64)
        return np.concatenate([its.step, its.unknown_step]), np.concatenate([its.asked_ns + late, unknown])


def changed_steps(recording: Recording, run: RecordedRun, change: Change) -> ChangedSteps | None:
    """Find the steps that a change of sleeps reaches, None without one. Raises HeadwayError as `sleeps.changed_sleeps`."""
    if not change.sleeps:
        return None
    steps = interruptible(run.steps.program_steps)
    return ChangedSteps(run, sleeps.changed_sleeps(recording, steps, change.sleeps))
