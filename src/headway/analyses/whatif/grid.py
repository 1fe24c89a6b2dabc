"""Predicts the wall time on several numbers of cores, unchanged and after each of the best changes: for the report.

Question   which change is worth making on how many cores?
Method     the best changes of the ranking (whatif.ranking), each on half, once, twice and four times the recorded cores. A report
           is made for many recordings, so that those of more than MOST_SLICES slices are left to the command.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.analyses.lost_cores.idleness import idleness
from headway.analyses.whatif.predicted_run import PredictedRuns
from headway.analyses.whatif.ranking import PAIR_GAINS, Candidates, predicted_after, ranked
from headway.analyses.whatif.types import Change
from headway.analyses.whatif.unchanged import loaded
from headway.errors import HeadwayError, Notice
from headway.model.machine_limits import MAX_CORES

if TYPE_CHECKING:
    from headway.analyses.common.idleness import Idleness
    from headway.analyses.whatif.types import Predicted, UnchangedRun
    from headway.store import Recording

MOST_SLICES = 200_000
"""Recordings with more slices have no grid: it takes some 200 replays of the run."""
MOST_CHANGES = 3


@dataclass(frozen=True, slots=True)
class Grid:
    """Predictions by number of cores: of the unchanged run, then after each of `changes`, as made on the recorded cores.

    `unchanged`: None where nothing was replayed; `reason`: why there are no predictions. `tried`: changes and pairs of which
    `changes` are the best.
    """

    unchanged: UnchangedRun | None
    changes: tuple[Change, ...]
    rows: tuple[tuple[int, tuple[Predicted, ...]], ...]
    tried: int
    reason: Notice | None = None
    idleness: Idleness | None = None
    """How long the program waited for work from outside; None: hardly ever."""


def grid(recording: Recording) -> Grid | None:
    """Return the grid of a recording; None where it does not know who ended whose wait, and so no replay is possible."""
    if recording.mode != "ebpf" or not recording.manifest.recorded_cores or recording.wall_ns <= 0:
        return None
    slices = recording.manifest.tables["slice"].rows if recording.has("slice") else 0
    if slices > MOST_SLICES:
        return Grid(None, (), (), 0, Notice.of("HW863", path=recording.path, slices=slices, limit=MOST_SLICES))
    try:
        return replace(_grid(recording), idleness=idleness(recording))
    except HeadwayError as error:
        return Grid(None, (), (), 0, error.notice)


def _grid(recording: Recording) -> Grid:
    run = loaded(recording)
    candidates, accounts = Candidates(recording, run), PredictedRuns(recording, run)
    found = ranked(candidates, accounts)
    if found.refused is not None:
        return Grid(candidates.unchanged, (), (), 0, found.refused)
    recorded = run.recorded_cores
    gaining = [
        each.change for each in found.predicted if each.speedup > 1 + PAIR_GAINS and each.change.cores == recorded
    ]
    changes = tuple(gaining[:MOST_CHANGES])
    rows = []
    for cores in sorted({max(recorded // 2, 1), recorded, 2 * recorded, 4 * recorded}):
        if cores <= MAX_CORES:
            wanted = [replace(each, cores=cores) for each in (Change(recorded), *changes)]
            cells = [predicted_after(candidates, each, accounts, is_explained=False)[0] for each in wanted]
            rows.append((cores, tuple(cells)))
    return Grid(candidates.unchanged, changes, tuple(rows), found.tried or 0)
