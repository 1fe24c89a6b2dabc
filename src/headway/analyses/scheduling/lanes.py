"""Timelines of thread states: what the threads that ran longest did over time, in a result of bounded size.

Question   For every thread worth a row of its own: its states over time, as far as a page of bounded size can hold them.
Method     The threads are taken in the order of their running time, at most `MAX_LANES`. Those with the fewest scheduling cycles
           keep every interval, as long as these are at most EXACT_INTERVALS in all. The others get the exact share of
           each state in each of N equal bins of the recording; N is the largest power of two up to MAX_BINS for which all of
           them stay within SHARE_BYTES. One pass over `slice` in batches, memory bounded by lanes and bins.
Assumes    a thread's cycles do not overlap (the decoder's invariant); the recorded span is known.
Wrong when records were lost: the intervals around a loss are guesses. In mode perf-switch waiting for a CPU after a wake-up
           counts as sleeping. Shares are kept in 255ths, rounded, and never rounded to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from headway.analyses.common.notices import recorded_notices
from headway.analyses.scheduling.threads import ThreadRow
from headway.errors import Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

MAX_LANES = 160
EXACT_INTERVALS = 50_000
MAX_BINS = 4096
SHARE_BYTES = 640 * 1024
BATCH_ROWS = 1 << 19
STATES: tuple[str, ...] = ("running", "runnable", "sleeping", "other")
"""The states that `StateShares` tells apart; `other` is uninterruptible or stopped."""


class StateCode(IntEnum):
    """Codes of thread states; RUNNING + c means running on CPU c (RUNNING alone: on CPU 0)."""

    NOT_RECORDED = 0
    SLEEPING = 1
    UNINTERRUPTIBLE = 2
    STOPPED = 3
    RUNNABLE = 4
    RUNNING = 8


@dataclass(frozen=True, slots=True)
class StateIntervals:
    """Every state of one thread, end to end from `start_ns` (ns from the recording's start): codes[i] lasts dur_ns[i]."""

    start_ns: int
    codes: tuple[int, ...]
    dur_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateShares:
    """For each state of STATES, its share of each of `bins` equal parts of the recording as one byte; 255 is all of it."""

    bins: int
    of: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Lane:
    """The timeline of one thread: exact intervals, or shares per bin; both None where the mode records no states."""

    thread: ThreadRow
    exact: StateIntervals | None
    shares: StateShares | None


@dataclass(frozen=True, slots=True)
class OtherThreads:
    """The threads without a timeline of their own, summed; times in ns, unknown ones count as 0."""

    threads: int
    running_ns: int
    runnable_ns: int
    blocked_ns: int
    switches: int
    by_kind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Timelines in order of running time, longest first; `rest` is None when every thread has one."""

    lanes: tuple[Lane, ...]
    rest: OtherThreads | None
    notices: tuple[Notice, ...]


def lanes(recording: Recording, rows: Sequence[ThreadRow], limit: int = MAX_LANES) -> Lanes:
    """Return the timelines of the first `limit` of `rows` (as `threads()` orders them: longest running first)."""
    shown = rows[:limit]
    rest = _rest(recording, [row.thread_id for row in shown]) if len(rows) > limit else None
    if not shown or recording.wall_ns <= 0 or not recording.has("slice"):
        return Lanes(tuple(Lane(row, None, None) for row in shown), rest, recorded_notices(recording))
    counts = _cycles(recording, [row.thread_id for row in shown])
    exact_ids = _few(counts)
    exact = _exact(recording, exact_ids)
    shares = _shares(recording, [row.thread_id for row in shown if row.thread_id not in exact_ids])
    found = tuple(Lane(row, exact.get(row.thread_id), shares.get(row.thread_id)) for row in shown)
    return Lanes(found, rest, recorded_notices(recording))


def _rest(recording: Recording, shown: Sequence[int]) -> OtherThreads:
    """Sum the threads that are not shown, in SQL: there may be a million."""
    sums = ", ".join(f"COALESCE(sum({name}), 0)" for name in ("running_ns", "runnable_ns", "blocked_ns", "switches"))
    others = f"NOT {_among(shown)}" if shown else "true"
    text = f"""SELECT kind, count(*), {sums} FROM thread WHERE kind <> 'headway' AND {others}
      GROUP BY kind ORDER BY max(running_ns) DESC NULLS LAST, kind"""
    found = recording.query(text).fetchall()
    count, running, runnable, blocked, switches = (sum(row[i] for row in found) for i in range(1, 6))
    return OtherThreads(count, running, runnable, blocked, switches, {row[0]: row[1] for row in found})


def _among(ids: Sequence[int] | set[int]) -> str:
    return f"thread_id IN ({', '.join(map(str, sorted(ids)))})"


def _cycles(recording: Recording, ids: Sequence[int]) -> dict[int, int]:
    """Return the number of scheduling cycles of each thread; 0 for one that has none."""
    text = f"SELECT thread_id, COUNT(*) FROM slice WHERE {_among(ids)} GROUP BY thread_id"
    return {**dict.fromkeys(ids, 0), **dict(recording.query(text).fetchall())}


def _few(counts: Mapping[int, int]) -> set[int]:
    """Return the threads that keep every interval: those with the fewest cycles, of at most four intervals each."""
    left, chosen = EXACT_INTERVALS, set()
    for thread_id, cycles in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        left -= 4 * cycles
        if left < 0:
            break
        chosen.add(thread_id)
    return chosen


# --- every interval -------------------------------------------------------------------------------------------------


def _exact(recording: Recording, ids: set[int]) -> dict[int, StateIntervals]:
    import numpy as np

    if not ids:
        return {}
    text = (
        "SELECT thread_id, start_ns, blocked_ns, COALESCE(runnable_ns, 0) AS runnable_ns, running_ns, cpu, blocked_state "
        f"FROM slice WHERE {_among(ids)} ORDER BY thread_id, start_ns, start_ns + running_ns"
    )
    columns = {name: np.ma.getdata(values) for name, values in recording.query(text).fetchnumpy().items()}
    found = {thread_id: StateIntervals(0, (), ()) for thread_id in ids}
    if len(columns["thread_id"]) == 0:
        return found
    borders = np.flatnonzero(np.diff(columns["thread_id"])) + 1
    for part in np.split(np.arange(len(columns["thread_id"])), borders):
        thread_id = int(columns["thread_id"][part[0]])
        found[thread_id] = _intervals({name: values[part] for name, values in columns.items()}, recording.window_ns)
    return found


def _intervals(cycles: Mapping[str, NDArray[Any]], window: tuple[int, int]) -> StateIntervals:
    """Spell out one thread's cycles, in time order, as intervals end to end, clipped to the window; gaps are NOT_RECORDED."""
    import numpy as np

    count = len(cycles["start_ns"])
    blocked, runnable, running = (cycles[name].astype(np.int64) for name in ("blocked_ns", "runnable_ns", "running_ns"))
    start = cycles["start_ns"].astype(np.int64)
    begins = np.stack([start - runnable - blocked, start - runnable, start], axis=1).ravel()
    ends = np.stack([start - runnable, start, start + running], axis=1).ravel()
    codes = np.empty((count, 3), dtype=np.int64)
    codes[:, 0] = np.array([StateCode.SLEEPING, StateCode.SLEEPING, StateCode.UNINTERRUPTIBLE, StateCode.STOPPED])[
        cycles["blocked_state"]
    ]
    codes[:, 1] = StateCode.RUNNABLE
    codes[:, 2] = StateCode.RUNNING + np.maximum(cycles["cpu"].astype(np.int64), 0)
    begins, ends = np.clip(begins, *window) - window[0], np.clip(ends, *window) - window[0]
    begins = np.maximum(begins, np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]))
    keep = ends > begins
    begins, ends, flat = begins[keep], ends[keep], codes.ravel()[keep]
    if len(begins) == 0:
        return StateIntervals(0, (), ())
    gaps = np.concatenate([begins[1:] - ends[:-1], [0]])
    all_codes = np.stack([flat, np.full(len(flat), int(StateCode.NOT_RECORDED))], axis=1).ravel()
    all_durations = np.stack([ends - begins, gaps], axis=1).ravel()
    some = all_durations > 0
    return StateIntervals(int(begins[0]), tuple(all_codes[some].tolist()), tuple(all_durations[some].tolist()))


# --- shares of bins -------------------------------------------------------------------------------------------------


def bins_for(count: int) -> int:
    """Return the number of bins with which `count` timelines stay within SHARE_BYTES: a power of two, 64 to MAX_BINS."""
    bins = MAX_BINS
    while bins > 64 and bins * len(STATES) * count > SHARE_BYTES:
        bins //= 2
    return bins


def _shares(recording: Recording, ids: Sequence[int]) -> dict[int, StateShares]:
    import numpy as np

    if not ids:
        return {}
    bins = bins_for(len(ids))
    lane_of = np.zeros(max(ids) + 1, dtype=np.int64)
    lane_of[list(ids)] = np.arange(len(ids))
    totals = {state: _Bins(len(ids), bins) for state in STATES}
    origin, scale = recording.window_ns[0], bins / recording.wall_ns
    for batch in _batches(recording, ids):
        lane = lane_of[batch["thread_id"]]
        running = (batch["start_ns"] - origin) * scale
        runnable = running - batch["runnable_ns"] * scale
        blocked = runnable - batch["blocked_ns"] * scale
        totals["running"].add(lane, running, running + batch["running_ns"] * scale)
        totals["runnable"].add(lane, runnable, running)
        asleep = batch["blocked_state"] <= 1
        totals["sleeping"].add(lane[asleep], blocked[asleep], runnable[asleep])
        totals["other"].add(lane[~asleep], blocked[~asleep], runnable[~asleep])
    done = {state: total.bytes() for state, total in totals.items()}
    return {
        thread_id: StateShares(bins, {state: rows[i].tobytes() for state, rows in done.items()})
        for i, thread_id in enumerate(ids)
    }


def _batches(recording: Recording, ids: Sequence[int]) -> Iterator[dict[str, NDArray[Any]]]:
    text = (
        "SELECT thread_id, start_ns, blocked_ns, COALESCE(runnable_ns, 0) AS runnable_ns, running_ns, blocked_state "
        f"FROM slice WHERE {_among(ids)}"
    )
    for batch in recording.batches(text, BATCH_ROWS):
        yield {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}


class _Bins:
    """Sums of spans per lane and bin. Spans are measured in bins, so that what is summed is the share."""

    def __init__(self, lanes: int, bins: int) -> None:
        import numpy as np

        self._shape = (lanes, bins + 1)
        self._parts = np.zeros(lanes * (bins + 1))
        self._whole = np.zeros(lanes * (bins + 1))
        self._bins = bins

    def add(self, lane: NDArray[Any], begin: NDArray[Any], end: NDArray[Any]) -> None:
        """Add the spans [begin, end), clipped to the recording, to their lanes: whole bins as steps, the rest as parts."""
        import numpy as np

        begin, end = np.clip(begin, 0, self._bins), np.clip(end, 0, self._bins)
        first, last = begin.astype(np.int64), end.astype(np.int64)
        row = lane * self._shape[1]
        size = len(self._parts)
        same = first == last
        head = np.where(same, end - begin, first + 1 - begin)
        self._parts += np.bincount(row + first, weights=head, minlength=size)
        apart = ~same
        row, first, last, end = row[apart], first[apart], last[apart], end[apart]
        self._parts += np.bincount(row + last, weights=end - last, minlength=size)
        self._whole += np.bincount(row + first + 1, minlength=size)
        self._whole -= np.bincount(row + last, minlength=size)

    def bytes(self) -> NDArray[np.uint8]:
        """Return the shares in 255ths, shape (lanes, bins); what is not zero is at least 1."""
        import numpy as np

        whole = np.cumsum(self._whole.reshape(self._shape), axis=1)
        share = (self._parts.reshape(self._shape) + whole)[:, : self._bins]
        scaled = np.rint(np.clip(share, 0, 1) * 255)
        return np.where((scaled == 0) & (share > 1e-9), 1, scaled).astype(np.uint8)
