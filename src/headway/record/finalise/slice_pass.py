"""The pass over a recording's slices in order of time: one decode of the scheduling records feeds all that is made of them.

What wants to see slices is a `SliceSink`; `run_pass` is the only place that drives the decoder. So nobody has to know who must
begin before whom: every sink begins before the first record is decoded, gets every batch, and ends after the last one.

A batch holds the columns of about BATCH slices as the table `slice` stores them (store/packing.py): `thread_id`, `end_ticks`,
`running_ticks`, `runnable_ticks`, `blocked_ticks`, `stolen_ticks`, `waker_id`, `cpu`, `flags`, `blocked_in`, all of the same
length, in order of `end_ticks`, and so are batches. A tick is TICK_NS nanoseconds of CLOCK_MONOTONIC. Columns are read-only and
may be kept.

The activity of threads, the gaps of CPUs and the wakers of blocks need single records, a hundred million of them: native sinks
of the same pass (native/decode/decoder.h) make those, and `Decoder.result` and `Decoder.locks` give them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from headway.store import packing
from headway.store.packing import TICK_NS
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BATCH = 1 << 18
BINS = 1200
"""Bins of `activity`: a multiple of what a profile over time shows."""
LEAST_BIN_NS = 1_000_000


class SliceSink(Protocol):
    """Something that is made of all slices of a recording."""

    def begin(self) -> None:
        """Prepare. No record has been decoded yet, and other sinks may not have begun."""

    def slices(self, batch: Mapping[str, Any]) -> None:
        """Take the next batch; not called in recordings without scheduling records."""

    def end(self) -> None:
        """Finish: no slice comes any more."""


def run_pass(
    decoder: Any, sinks: Sequence[SliceSink], window: tuple[int, int], kinds: Any, collecting: Any,
) -> dict[str, Any] | None:  # fmt: skip
    """Decode the records of a window once, and give every sink all slices. Return the decoder's totals; None without records.

    `kinds`: a code per thread_id; `collecting`: when threads count as garbage collection whatever their kind.
    """
    for sink in sinks:
        sink.begin()
    result: dict[str, Any] | None = None
    if decoder.has_sched():
        bin_ns = max(LEAST_BIN_NS, -(-(window[1] - window[0]) // BINS))
        decoder.begin(*window, kinds, bin_ns, TICK_NS, collecting=collecting)
        for batch in _batches(decoder):
            for sink in sinks:
                sink.slices(batch)
        result = decoder.result()
    for sink in sinks:
        sink.end()
    return result


def _batches(decoder: Any) -> Iterator[Mapping[str, Any]]:
    return iter(lambda: decoder.next(BATCH), None)


def slice_writer(directory: Path, decoder: Any) -> TableWriter:
    """Return the open table `slice`, with a column for each counter that the decoder has counts of."""
    return TableWriter(directory, TABLES["slice"], counts=packing.count_columns(*decoder.counted()))


class SliceTable:
    """The table `slice`: every batch as it is."""

    def __init__(self, writer: TableWriter) -> None:
        """Take the open table."""
        self._writer = writer

    def begin(self) -> None:
        """Do nothing: the table is open."""

    def slices(self, batch: Mapping[str, Any]) -> None:
        """Write a batch. Raises OSError."""
        import numpy as np
        import pyarrow as pa

        ticks = np.full(len(batch["flags"]), TICK_NS, dtype=np.int16)
        self._writer.write_stored(pa.table({"tick_ns": ticks, **batch}, schema=packing.schema(self._writer.counts)))

    def end(self) -> None:
        """Do nothing: who opened the table closes it."""


class ExecutedByCpu:
    """How long the program executed on each CPU, without what the host stole."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.ns: dict[int, int] = {}

    def begin(self) -> None:
        """Do nothing."""

    def slices(self, batch: Mapping[str, Any]) -> None:
        """Add a batch up."""
        import numpy as np

        ran = batch["cpu"] >= 0
        ticks_per_cpu = np.bincount(batch["cpu"][ran], (batch["running_ticks"] - batch["stolen_ticks"])[ran])
        for cpu, total in enumerate(ticks_per_cpu.tolist()):
            self.ns[cpu] = self.ns.get(cpu, 0) + round(total) * TICK_NS

    def end(self) -> None:
        """Do nothing."""


class PassProgress:
    """Reports how much of a window has been decoded: at most 99 %, since writing comes after it."""

    def __init__(self, window: tuple[int, int], progress: Callable[[float], None]) -> None:
        """Tell `progress` the share that is done."""
        self._window, self._progress = window, progress

    def begin(self) -> None:
        """Do nothing."""

    def slices(self, batch: Mapping[str, Any]) -> None:
        """Tell where the last slice ends."""
        start, end = self._window
        at = int(batch["end_ticks"][-1]) * TICK_NS
        self._progress(min(0.99, max(0.0, (at - start) / max(1, end - start))))

    def end(self) -> None:
        """Do nothing."""
