"""Random inputs for the account of lost cores, and headway's result for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Slice:
    """A row of the table `slice`."""

    thread: int
    end: int
    running: int = 0
    runnable: int = 0
    blocked: int = 0
    stolen: int = 0
    waker: int = -1
    irq: bool = False
    blocked_in: int = 0


@dataclass(frozen=True)
class Piece:
    """A wait of a thread with its class."""

    thread: int
    start: int
    end: int
    cause: int
    key: int = -1
    target: int = -1
    directed: bool = False


@dataclass(frozen=True)
class Case:
    """The input of one account."""

    kinds: list[int]
    slices: list[Slice] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    background: list[int] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    spans: list[tuple[int, int, int, float]] = field(default_factory=list)
    others: list[tuple[int, int, int, int]] = field(default_factory=list)
    probes: list[tuple[int, int]] = field(default_factory=list)
    window: tuple[int, int] = (0, 40)
    cuts: list[int] = field(default_factory=list)
    cores: float = 2.0
    bin_ns: int = 7
    shares_cores: bool = False
    most_idle: float = math.inf


def ints(values: Sequence[Any], kind: Any = np.int64) -> Any:
    """Return values as the native parts take them."""
    return np.array(list(values), kind)


def _hand_over(account: Any, rows: Sequence[Any]) -> None:
    account.batch(
        tick_ns=1,
        end_ticks=ints([r.end for r in rows]),
        running_ticks=ints([r.running for r in rows]),
        runnable_ticks=ints([r.runnable for r in rows]),
        blocked_ticks=ints([r.blocked for r in rows]),
        stolen_ticks=ints([r.stolen for r in rows]),
        thread_id=ints([r.thread for r in rows], np.int32),
        waker_id=ints([r.waker for r in rows], np.int32),
        flags=ints([4 * r.irq for r in rows], np.uint8),
        blocked_in=ints([r.blocked_in for r in rows], np.uint8),
    )


def native(case: Case, batch: int = 5) -> dict[str, Any]:
    """Return headway's account of a case, with its slices passed in batches."""
    from headway import _native

    spans, others, pieces = case.spans, case.others, case.pieces
    account = _native.LossAccount(
        from_ns=case.window[0],
        to_ns=case.window[1],
        cores=case.cores,
        bin_ns=case.bin_ns,
        cuts=case.cuts,
        kinds=ints(case.kinds, np.uint8),
        is_background=ints(case.background, np.uint8),
        exit_ns=ints(case.exits),
        waits={
            "thread": ints([p.thread for p in pieces], np.int32),
            "start_ns": ints([p.start for p in pieces]),
            "end_ns": ints([p.end for p in pieces]),
            "cause": ints([p.cause for p in pieces], np.uint8),
            "key": ints([p.key for p in pieces], np.int32),
            "target": ints([p.target for p in pieces], np.int32),
            "is_directed": ints([p.directed for p in pieces], np.uint8),
        },
        spans={
            "start_ns": ints([s[0] for s in spans]),
            "end_ns": ints([s[1] for s in spans]),
            "code": ints([s[2] for s in spans], np.uint8),
            "weight": ints([s[3] for s in spans], np.float64),
        },
        others={
            name: ints([o[at] for o in others])
            for at, name in enumerate(("start_ns", "end_ns", "other_ns", "headway_ns"))
        },
        probe_ns=ints([p[0] for p in case.probes]),
        probe_thread=ints([p[1] for p in case.probes], np.int32),
        shares_cores=case.shares_cores,
        most_idle=case.most_idle,
    )
    starts = range(0, len(case.slices), batch)
    for start in reversed(starts):
        _hand_over(account, case.slices[start : start + batch])
    found: dict[str, Any] = account.finish()
    return found
