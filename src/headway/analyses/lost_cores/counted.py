"""Cycles per instruction beside the account of `why`: in each phase, and of whoever holds a lock.

Question   is a phase, or the code in a lock, slow for each instruction (memory), or does it only execute many?
Method     as `headway counters`: sums of the counts of slices of the program's own threads (counters.sums), in each phase; those
           of holders from each contended acquire to the release (counters.parts.lock_holds). One group has both events.
Assumes    of a slice that reaches over the border of a phase or a hold, the counts are spread evenly over its time; the interval
           has room for all of it or none.
Withheld   as there: what is not known has no figure, and a recording without cycles and instructions has none anywhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.counters.analysis import counters
from headway.analyses.counters.estimate import BLOCKS
from headway.analyses.counters.layout import Layout, layout
from headway.analyses.counters.metrics import METRICS, metrics_of
from headway.analyses.counters.parts.slices import Slices, slices
from headway.analyses.counters.rows import Columns
from headway.analyses.counters.sums import Sums, blocks_of
from headway.analyses.lost_cores.text import holders_cpi_sentence
from headway.analyses.waits.tables.blocks import has_locks
from headway.errors import HeadwayError
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.counters.types import Figure, Row
    from headway.analyses.lost_cores.types import Account, Loss
    from headway.store import Recording

    Ints = NDArray[np.int64]

CPI = METRICS[0].name
Window = tuple[int, int]


def _counted(recording: Recording) -> Layout | None:
    """Return the counters of a recording; None where cycles per instruction are none of their ratios."""
    try:
        there = layout(recording)
    except HeadwayError:  # HW109: nothing was counted
        return None
    names = {metric.name for group in there.groups for metric in metrics_of(group.events)}
    return there if CPI in names else None


def of_windows(recording: Recording, windows: Sequence[Window]) -> list[Figure | None]:
    """Return the cycles per instruction of the program's threads in windows (ns from the start) that follow each other.

    None where they were not counted at all; figures without a value are withheld.
    """
    there = _counted(recording)
    if there is None or not windows:
        return [None] * len(windows)
    blocks = BLOCKS if there.is_multiplexed else 1
    sums = Sums(len(windows), blocks, there)
    origin = recording.window_ns[0]
    for each in slices(recording, there, origin + windows[0][0], origin + windows[-1][1], _program(recording)):
        first, last = int(each.start_ns.min(initial=0)), int((each.start_ns + each.running_ns).max(initial=0))
        for number, (begin, end) in enumerate(windows):
            if origin + end <= first or origin + begin >= last:
                continue  # none of these slices
            _add(sums, each, number, (origin + begin, origin + end), blocks)
    columns = Columns(sums, there, None, np.zeros(len(windows)))
    return [columns.row(number, {}).metrics[CPI] for number in range(len(windows))]


def _program(recording: Recording) -> list[int]:
    """Return the threads that run the program's own code; -1, which is nobody, where there are none."""
    kinds = ", ".join(f"'{kind}'" for kind in PROGRAM)
    rows = recording.query(f"SELECT thread_id FROM thread WHERE kind IN ({kinds})").fetchall()
    return [thread for (thread,) in rows] or [-1]


def _add(sums: Sums, each: Slices, number: int, window: Window, blocks: int) -> None:
    """Add the parts of slices that lie in a window."""
    begin, end = window
    inside = np.minimum(each.start_ns + each.running_ns, end) - np.maximum(each.start_ns, begin)
    sums.add(each, np.full(len(inside), number, np.int64), inside, blocks_of(each, begin, end, blocks))


def with_holders(recording: Recording, account: Account) -> Account:
    """Return an account whose lost locks say how many cycles an instruction took their holders, where that is known."""
    if not any(_is_of_lock(loss) for loss in account.lost) or not has_locks(recording) or _counted(recording) is None:
        return account
    found = counters(recording, (account.start_ns, account.end_ns), by="lock")
    rows = {(str(row.key["name"]), int(row.key["pid"])): row for row in found.rows}
    return dataclasses.replace(account, lost=tuple(_with_holder(loss, rows) for loss in account.lost))


def _is_of_lock(loss: Loss) -> bool:
    return loss.cause == causes.LOCK and loss.place.lock is not None


def _with_holder(loss: Loss, rows: dict[tuple[str, int], Row]) -> Loss:
    if not _is_of_lock(loss):
        return loss
    row = next(
        (row for (name, pid), row in rows.items() if name == loss.place.lock and loss.place.pid in (None, pid)), None
    )
    if row is None or CPI not in row.metrics:
        return loss
    cpi = row.metrics[CPI]
    figures = {**(loss.figures or {}), "held_cpi": cpi.value, "held_cpi_low": cpi.low, "held_cpi_high": cpi.high}
    sentence = holders_cpi_sentence(figures)
    return dataclasses.replace(loss, figures=figures, evidence=(*loss.evidence, *([sentence] if sentence else [])))
