"""Which methods the critical path is in: samples on it, and the stacks of waits whose waker is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.critical_path.sums import NAMES
from headway.analyses.critical_path.types import PathMethod
from headway.analyses.stacks.sources import NO_THREAD, summed
from headway.analyses.stacks.table import load_stacks
from headway.analyses.stacks.types import KINDS
from headway.analyses.waits.object_names import is_jdk, is_proxy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.critical_path.sums import NamedPieces
    from headway.analyses.critical_path.walk import PathWaits
    from headway.store import Recording

    Ints = NDArray[np.int64]

NOT_SAMPLED = "(running, not sampled)"
_JAVA = tuple(KINDS.index(kind) for kind in ("java", "interpreted", "inlined", "c1"))
_EVENT = "cpu"


class Methods:
    """Sums of the path's time by method: a thread's running time on it is divided by the weights of its samples there."""

    def __init__(self, recording: Recording, waits: PathWaits, span: tuple[int, int]) -> None:
        """Load the CPU samples of a span (CLOCK_MONOTONIC ns)."""
        self._recording, self._waits = recording, waits
        condition = f"event = '{_EVENT}' AND thread_id IS NOT NULL AND ns >= {span[0]} AND ns < {span[1]}"
        rows = recording.query(
            f"SELECT thread_id, ns, weight, COALESCE(stack_id, -1) AS stack FROM sample WHERE {condition} ORDER BY ns"
        ).fetchnumpy()
        self._thread, self._ns, self._weight, self._stack = (
            np.asarray(rows[name]).astype(np.int64) for name in ("thread_id", "ns", "weight", "stack")
        )
        none = np.zeros(0, np.int64)
        self._sampled = summed(none, none, none, none)
        self._blocked = summed(none, none, none, none)

    @property
    def has_samples(self) -> bool:
        """Return whether there are CPU samples in the span."""
        return len(self._ns) > 0

    def add(self, named: NamedPieces) -> None:
        """Add one batch of path pieces."""
        if not len(named.start):
            return
        low, high = np.searchsorted(self._ns, (named.start[0], named.end[-1]))
        at = np.searchsorted(named.start, self._ns[low:high], side="right") - 1
        on = low + np.flatnonzero((named.thread[at] == self._thread[low:high]) & named.is_running[at])
        once = np.ones(len(on), np.int64)
        columns = self._thread[on], self._stack[on], np.maximum(self._weight[on], 1), once
        self._sampled = summed(
            *(
                np.concatenate([getattr(self._sampled, name), values])
                for name, values in zip(("thread", "stack", "weight", "samples"), columns, strict=True)
            )
        )
        self._add_blocked(named)

    def _add_blocked(self, named: NamedPieces) -> None:
        there = np.flatnonzero(named.own)
        if not len(there):
            return
        waiting = named.length[there] - named.gc[there] - named.stolen[there]
        none = np.full(len(there), NO_THREAD)
        stack = np.maximum(self._waits.stack[named.wait[there]], -1)
        parts = none, stack, waiting, np.ones(len(there), np.int64)
        self._blocked = summed(
            *(
                np.concatenate([getattr(self._blocked, name), values])
                for name, values in zip(("thread", "stack", "weight", "samples"), parts, strict=True)
            )
        )

    def rows(self, by_thread: Ints) -> tuple[PathMethod, ...]:
        """Return the methods, the most time first; `by_thread` is the time by thread and state. Rows sum to the whole path."""
        running = by_thread[:, NAMES.index("running")].copy()
        weight = np.zeros(len(running), np.int64)
        np.add.at(weight, self._sampled.thread, self._sampled.weight)
        thread = self._sampled.thread
        share = (running[thread] * (self._sampled.weight / np.maximum(weight[thread], 1))).astype(np.int64)
        stacks = np.concatenate([self._sampled.stack, self._blocked.stack])
        ns = np.concatenate([share, self._blocked.weight])
        found: dict[str, list[int]] = {}
        names = self._methods(stacks)
        for i, (name, time) in enumerate(zip(names, ns.tolist(), strict=True)):
            each = found.setdefault(name, [0, 0])
            each[0 if i < len(share) else 1] += time
        rest = {name: int(by_thread[:, code].sum()) for code, name in enumerate(NAMES)}
        found.setdefault(NOT_SAMPLED, [0, 0])[0] += rest.pop("running") - int(share.sum())
        other = sum(rest.values()) - int(self._blocked.weight.sum())
        rows = [PathMethod(name, a + b, a, b) for name, (a, b) in found.items() if a + b > 0]
        rows += [PathMethod("(not running)", other, 0, other)] if other > 0 else []
        return tuple(sorted(rows, key=lambda row: (-row.ns, row.method)))

    def _methods(self, stacks: Ints) -> list[str]:
        """Return the method of each stack: its innermost frame of Java that is no JDK code, else its innermost frame."""
        if not len(stacks):
            return []
        table = load_stacks(self._recording, stacks)
        own = np.array(
            [bool(f.class_name) and not is_jdk(f.class_name) and not is_proxy(f.class_name) for f in table.frames]
        )
        flat, kind, begin = table.stacks.frames, table.stacks.kind, table.stacks.begin
        fits = own[flat] & np.isin(kind, _JAVA)
        place = np.where(fits, np.arange(len(flat)), len(flat))
        first = np.minimum.reduceat(place, begin[:-1])
        first = np.where(first < len(flat), first, begin[:-1])
        texts = [table.frames[i]._replace(line=None).text for i in flat[first].tolist()]
        return [texts[row] for row in table.row_of(stacks).tolist()]
