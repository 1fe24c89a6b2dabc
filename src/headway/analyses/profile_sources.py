"""Where the weights of a profile come from: each source gives weight by thread and stack, summed where the rows are.

`sample` rows are summed by DuckDB, so that ten million of them become some hundred thousand pairs before Python sees any.
Blocks come from the analysis of locks, with its stacks and its rules; blocked time is joined with them in `profile_off_cpu`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses import lock_data
from headway.analyses.lock_arrays import numbered_pairs
from headway.analyses.lock_sites import sites_of
from headway.analyses.profile_types import BYTES, COUNT, NANOSECONDS
from headway.analyses.why_types import CAUSES, TITLES
from headway.store.sql import literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

LOCK, OFF_CPU, BLAME = "lock", "off-cpu", "blame"
NO_THREAD, NOBODY = -1, -2
"""All virtual threads, and samples whose thread is not known; and what no thread is to blame for."""

_PLAIN_NOTES = (
    "(the stack could not be walked)",
    "(no stack was taken)",
    "(asleep, not in a lock: a sleep or I/O)",
    "(uninterruptible: disk I/O or page faults)",
    "(stopped)",
    "(all lighter stacks)",
)
NOTES = (*_PLAIN_NOTES, *(f"({TITLES[cause]}: no code that ran)" for cause in CAUSES))
"""What stands where a stack would be. A stack number -1 - k means NOTES[k]."""
UNWALKED, NOT_TAKEN, SLEEPING, UNINTERRUPTIBLE, STOPPED, LIGHTER = (-1 - k for k in range(len(_PLAIN_NOTES)))

_UNITS = dict.fromkeys(("cpu", "wall", "execution", "native", LOCK, OFF_CPU, BLAME), NANOSECONDS) | {"alloc": BYTES}
_ORDER = ("cpu", "wall", "alloc", "cycles", "instructions", "cache-misses")


@dataclass(frozen=True, eq=False)
class Weights:
    """Weight by thread (thread_id, NO_THREAD or NOBODY) and stack (stack_id, or -1 - k for NOTES[k]); pairs are distinct."""

    thread: Ints
    stack: Ints
    weight: Ints
    samples: Ints

    def where(self, keep: NDArray[np.bool_]) -> Weights:
        """Return some of them."""
        return Weights(self.thread[keep], self.stack[keep], self.weight[keep], self.samples[keep])


def blameless(cause: Ints) -> Ints:
    """Return the stack numbers of what was lost to causes (places in CAUSES) and is no running code's fault."""
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
    """Sum the samples of an event; of a window (ns from the recording's start) those taken inside it."""
    condition = f"event = {literal(event)}"
    if window is not None:
        origin = recording.window_ns[0]
        condition += f" AND ns >= {origin + window[0]} AND ns < {origin + window[1]}"
    rows = recording.query(
        f"SELECT CAST(COALESCE(thread_id, {NO_THREAD}) AS BIGINT) AS thread,"
        f" CAST(COALESCE(stack_id, {UNWALKED}) AS BIGINT) AS stack, CAST(SUM(weight) AS BIGINT) AS weight,"
        f" COUNT(*) AS samples FROM sample WHERE {condition} GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchnumpy()
    return Weights(*(np.asarray(rows[name]).astype(np.int64) for name in ("thread", "stack", "weight", "samples")))


def contended(recording: Recording, window: tuple[int, int] | None) -> Weights:
    """Sum the blocks that are contention by the rules of `lock_rules`, clipped to the window: what `locks` calls contended.

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
    low = len(NOTES)
    threads, stacks, place = numbered_pairs(thread - NOBODY, stack + low)
    weights, counts = np.zeros(len(threads), np.int64), np.zeros(len(threads), np.int64)
    np.add.at(weights, place, weight)
    np.add.at(counts, place, samples)
    return Weights(threads + NOBODY, stacks - low, weights, counts)
