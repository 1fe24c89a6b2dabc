"""Sources of profile weights: samples, contended waits and blocked time, summed by thread and stack.

`sample` rows are summed by DuckDB, so that ten million of them become some hundred thousand pairs before Python sees any.
Blocks come from the analysis of locks, with its stacks and its rules; blocked time is joined with them in `profile_off_cpu`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import CAUSES, FEW, SERIAL, START, TITLES
from headway.analyses.common.columns import numbered_pairs
from headway.analyses.stacks.types import BYTES, COUNT, NANOSECONDS
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.tables import blocks as lock_data
from headway.errors import HeadwayError
from headway.store.sql import literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

LOCK, OFF_CPU, BLAME = "lock", "off-cpu", "blame"
NO_THREAD, NO_BLAMED_THREAD = -1, -2
"""All virtual threads, and samples whose thread is not known; and what no thread is to blame for."""

_PLAIN_NOTES = (
    "(the stack could not be walked)",
    "(no stack was taken)",
    "(asleep, not in a lock: a sleep or I/O)",
    "(uninterruptible: disk I/O or page faults)",
    "(stopped)",
    "(all lighter stacks)",
)
_CODE_RAN = (SERIAL, FEW, START)
"""Causes while which code of the program ran: what of them is no sample's was not sampled."""
NOTES = (
    *_PLAIN_NOTES,
    *(f"({TITLES[cause]}: {'no sample' if cause in _CODE_RAN else 'no code that ran'})" for cause in CAUSES),
)
"""What stands where a stack would be. A stack number -1 - k means NOTES[k]."""
UNWALKED, NOT_TAKEN, SLEEPING, UNINTERRUPTIBLE, STOPPED, LIGHTER = (-1 - k for k in range(len(_PLAIN_NOTES)))


def note_number(place: int) -> int:
    """Return the stack number of a note that only one profile has, given its index among that profile's notes."""
    return -1 - len(NOTES) - place


_UNITS = dict.fromkeys(("cpu", "wall", "execution", "native", LOCK, OFF_CPU, BLAME), NANOSECONDS) | {"alloc": BYTES}
_ORDER = ("cpu", "wall", "alloc", "cycles", "instructions", "cache-misses")


@dataclass(frozen=True, eq=False)
class Weights:
    """The weight of each distinct pair of thread and stack, as columns.

    A thread is a thread_id, NO_THREAD or NO_BLAMED_THREAD; a stack is a stack_id, or -1 - k for NOTES[k] and, after these, for
    the notes that one profile alone has (`note_number`).
    """

    thread: Ints
    stack: Ints
    weight: Ints
    samples: Ints

    def where(self, keep: NDArray[np.bool_]) -> Weights:
        """Return the selected rows."""
        return Weights(self.thread[keep], self.stack[keep], self.weight[keep], self.samples[keep])


def blameless(cause: Ints) -> Ints:
    """Return the stack numbers of lost core time whose cause is no running code's fault (indexes into CAUSES)."""
    return -1 - len(_PLAIN_NOTES) - cause


def unit_of(event: str) -> str:
    """Return the unit of an event's weights."""
    return _UNITS.get(event, COUNT)


def recorded_events(recording: Recording) -> tuple[str, ...]:
    """Return the events that a recording has profiles of: sampled ones first, then lock and off-cpu."""
    found = set()
    if recording.has("sample"):
        found = {row[0] for row in recording.query("SELECT DISTINCT event FROM sample").fetchall()}
    if lock_data.has_locks(recording):
        found.add(LOCK)
    if recording.has("slice"):
        found.add(OFF_CPU)
    order = {name: i for i, name in enumerate((*_ORDER, LOCK, OFF_CPU))}
    return tuple(sorted(found, key=lambda name: (order.get(name, len(_ORDER) - 0.5), name)))


def sampled(recording: Recording, event: str, window: tuple[int, int] | None) -> Weights:
    """Sum the samples of an event by thread and stack, all of them or those inside a window (ns from the recording's start).

    Raises HeadwayError HW323 where they are more together than 64 bits hold: nobody records such.
    """
    condition = f"event = {literal(event)}"
    if window is not None:
        origin = recording.window_ns[0]
        condition += f" AND ns >= {origin + window[0]} AND ns < {origin + window[1]}"
    ((total,),) = recording.query(f"SELECT COALESCE(SUM(weight), 0) FROM sample WHERE {condition}").fetchall()
    if total >= 1 << 63:
        what = f"values that add up to {total:.3g}, more than 64 bits hold"
        raise HeadwayError("HW323", path=recording.path, table="sample", column="weight", what=what)
    rows = recording.query(
        f"SELECT CAST(COALESCE(thread_id, {NO_THREAD}) AS BIGINT) AS thread,"
        f" CAST(COALESCE(stack_id, {UNWALKED}) AS BIGINT) AS stack, CAST(SUM(weight) AS BIGINT) AS weight,"
        f" COUNT(*) AS samples FROM sample WHERE {condition} GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchnumpy()
    found = Weights(*(np.asarray(rows[name]).astype(np.int64) for name in ("thread", "stack", "weight", "samples")))
    each = _of_collapsed(recording)
    return Weights(found.thread, found.stack, found.weight, found.weight // each) if each else found


def _of_collapsed(recording: Recording) -> int:
    """Return what a sample of collapsed stacks stands for, whose rows are of many samples; 0 for other recordings."""
    each = (recording.manifest.extra.get("import") or {}).get("each", 0)
    return each if type(each) is int and each > 0 else 0


def contended(recording: Recording, window: tuple[int, int] | None) -> Weights:
    """Sum contended waits by thread and stack, clipped to the window: the waits that `locks` calls contended.

    Raises HeadwayError as `lock_data.load`.
    """
    data = lock_data.load(recording, window)
    sites = sites_of(data)
    blocks = data.blocks
    length = blocks.end - blocks.start
    keep = sites.contended & (length > 0)
    thread = np.where(blocks.thread < data.platform_threads, blocks.thread, NO_THREAD)[keep]
    stack = np.where(sites.stack < 0, NOT_TAKEN, sites.stack)[keep]
    return summed(thread, stack, length[keep], np.ones(int(keep.sum()), np.int64))


def summed(thread: Ints, stack: Ints, weight: Ints, samples: Ints) -> Weights:
    """Sum rows by thread and stack."""
    low = -int(min(stack.min(initial=0), 0))
    threads, stacks, place = numbered_pairs(thread - NO_BLAMED_THREAD, stack + low)
    weights, counts = np.zeros(len(threads), np.int64), np.zeros(len(threads), np.int64)
    np.add.at(weights, place, weight)
    np.add.at(counts, place, samples)
    return Weights(threads + NO_BLAMED_THREAD, stacks - low, weights, counts)
