"""Estimates the sampler's own CPU time: the share of samples taken while its signal handler interrupted a thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.store.directory import pinned

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

WORTH_SAYING = 0.02
"""Share of the CPU time from which on it is said: less changes no ranking of methods."""
_LIBRARY, _HANDLER = "libasyncProfiler", "::signalHandler"


class StackWeights:
    """Sums of sample weights by stack, for one event."""

    def __init__(self) -> None:
        """Start without samples."""
        import numpy as np

        self._sums: NDArray[np.float64] = np.zeros(0)

    def add(self, stack: NDArray[Any], weight: NDArray[Any]) -> None:
        """Add samples: stack ids (-1 for none) and weights."""
        import numpy as np

        if not len(stack):
            return
        most = int(stack.max()) + 2
        if most > len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros(max(most, 2 * len(self._sums)) - len(self._sums))])
        np.add.at(self._sums, stack + 1, weight.astype(np.float64))

    def handlers_share(self, directory: Path, frames: pa.Table) -> float:
        """Return the share (0 to 1) of all weights whose stack contains a signal handler of async-profiler.

        `frames` is the table `frame`; of the directory the table `stack` is read if there is such a frame at all.
        """
        import numpy as np
        import pyarrow.parquet as pq

        names = zip(frames["class_name"].to_pylist(), frames["method"].to_pylist(), strict=True)
        is_handler = np.array(
            [_LIBRARY in library and name.endswith(_HANDLER) for library, name in names], dtype=np.bool_
        )
        whole = float(self._sums.sum())
        if whole <= 0 or not is_handler.any():
            return 0.0
        is_own = np.zeros(len(self._sums), dtype=np.bool_)
        for rows in pq.ParquetFile(pinned(directory) / "stack.parquet").iter_batches(columns=["stack_id", "frame_id"]):
            own = rows["stack_id"].to_numpy()[is_handler[rows["frame_id"].to_numpy()]] + 1
            is_own[own[own < len(is_own)]] = True
        return float(self._sums[is_own].sum()) / whole
