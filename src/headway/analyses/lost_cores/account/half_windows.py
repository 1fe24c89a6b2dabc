"""Computes the account of a long recording in two halves in parallel, and joins them.

What an instant's idle cores are lost to depends on that instant alone, so halves need nothing of each other. Only what was
borrowed (`Segment.excess_ns`) is settled in each half on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

Found = dict[str, Any]
"""What `_native.LossAccount.finish` returns."""

SLICES = 1_000_000
"""From so many slices on a window is worth being cut in two: the later half is read twice."""
EARLIER = 0.47
"""Part of the window that is the earlier half: it has to pass over the later one, an eighth of the work of accounting for it."""

_SUMS = ("used", "lost", "stolen", "other", "excess_ns", "error_ns", "outside_ns")
_ROW = ("cause", "key", "thread")


def middle(begin: int, end: int, bin_ns: int) -> int:
    """Return where to cut, between two bins, so that both halves take equally long; `begin` if there are too few."""
    return begin + int((end - begin) // bin_ns * EARLIER) * bin_ns


def found_in(parts: Sequence[tuple[int, int]], account: Callable[[int, int], Found], cuts: Sequence[int]) -> Found:
    """Return the account of consecutive parts of a window, computed in parallel."""
    with ThreadPoolExecutor(len(parts)) as workers:
        each = list(workers.map(lambda part: account(*part), parts))
    whole = each[0]
    for (begin, _), part in zip(parts[1:], each[1:], strict=True):
        whole = _joined(whole, part, begin in cuts)
    return whole


def _joined(first: Found, second: Found, is_cut: bool) -> Found:
    segments = [*first["segments"], *second["segments"]]
    if not is_cut:
        at = len(first["segments"])
        segments[at - 1 : at + 1] = [_segment(segments[at - 1], segments[at])]
    return {
        "segments": segments,
        "bins": np.concatenate([first["bins"], second["bins"]]),
        # Each half knows of the instants inside it, and nothing of the others.
        "directed": first["directed"] + second["directed"],
        "undirected": first["undirected"] + second["undirected"],
        "out_of_order": max(first["out_of_order"], second["out_of_order"]),
        "flags": first["flags"] | second["flags"],
    }


def _segment(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return two stretches as one: rows of the same cause, object and thread are one row."""
    rows = np.stack([np.concatenate([first[name], second[name]]).astype(np.int64) for name in _ROW])
    kinds, at = np.unique(rows, axis=1, return_inverse=True)
    weights = np.concatenate([first["core_ns"], second["core_ns"]])
    columns = zip(_ROW, kinds, (np.uint8, np.int32, np.int32), strict=True)
    return {
        "start_ns": first["start_ns"],
        "end_ns": second["end_ns"],
        **{name: first[name] + second[name] for name in _SUMS},
        **{name: values.astype(kind) for name, values, kind in columns},
        "core_ns": np.bincount(at.reshape(-1), weights=weights, minlength=kinds.shape[1]),
    }
