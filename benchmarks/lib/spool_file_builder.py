"""Generates the spool of a busy program of any length, as the kernel collector would write it, in seconds.

Each CPU runs its own share of the threads, in an order drawn anew for every round, one after another without a pause. A
thread is woken some time before its turn by whoever runs then, runs for a few microseconds and sleeps; one in eight is
preempted instead. Times have the spread of a ping-pong's.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
ORIGIN_NS = 1_000_000_000
HEAD = [("ts_ns", "<i8"), ("type", "<u2"), ("size", "<u2"), ("tid", "<u4")]
# Every record is written as 32 bytes, so that a file is one array: a waking is followed by what a reader skips by its size.
SWITCH = np.dtype([*HEAD, ("next_tid", "<u4"), ("prev_state", "<u2"), ("flags", "<u2"), ("exec_ns", "<u8")])
ROUNDS = 4096


def make(recording: Path, switches: int, threads: int = 64, cpus: int = 2, seed: int = 1) -> Path:
    """Write RECORDING/manifest.json (state `recording`) and spool/ with about `switches` switches; return RECORDING."""
    spool = recording / "spool"
    spool.mkdir(parents=True)
    ends = [_cpu(spool, cpu, switches // cpus, threads // cpus, 100 + cpu * threads, seed) for cpu in range(cpus)]
    tids = [100 + cpu * threads + i for cpu in range(cpus) for i in range(threads // cpus)]
    _lifecycle(spool, tids)
    manifest = {
        "format": "headway-recording",
        "version": 1,
        "state": "recording",
        "mode": "ebpf",
        "pid": 100,
        "attached": True,
        "ended_by": "exit",
        "window": {"start_ns": ORIGIN_NS, "end_ns": min(ends)},
    }
    (recording / "manifest.json").write_text(json.dumps(manifest))
    return recording


def _cpu(spool: Path, cpu: int, switches: int, threads: int, first_tid: int, seed: int) -> int:
    """Write one CPU's file round by round; return the time of its last record."""
    random = np.random.default_rng([seed, cpu])
    now, executed = ORIGIN_NS, np.zeros(threads, dtype=np.int64)
    previous = threads - 1
    with open(spool / f"sched-cpu{cpu}.spool", "wb") as out:
        out.write(_header(source=1, cpu=cpu))
        for _ in range(max(1, round(switches / threads / ROUNDS))):
            order = random.permuted(np.tile(np.arange(threads), (ROUNDS, 1)), axis=1)
            order[1:, 0], order[1:, 1] = _no_repeats(order)
            turns = order.reshape(-1)
            if turns[0] == previous:
                turns[[0, 1]] = turns[[1, 0]]
            now, executed, records = _turns(random, turns, previous, now, executed, first_tid, cpu)
            previous = int(turns[-1])
            out.write(records.tobytes())
    return now


def _no_repeats(order: Ints) -> tuple[Ints, Ints]:
    """Return the first two columns with those swapped that would put a thread directly behind itself."""
    same = order[1:, 0] == order[:-1, -1]
    return np.where(same, order[1:, 1], order[1:, 0]), np.where(same, order[1:, 0], order[1:, 1])


def _turns(
    random: np.random.Generator, turns: Ints, previous: int, now: int, executed: Ints, first_tid: int, cpu: int
) -> tuple[int, Ints, NDArray[Any]]:
    """Return (time, executed ns by thread, records) after the given turns."""
    count, threads = len(turns), len(executed)
    ran = (2_000 + random.gamma(2.0, 1_500.0, count)).astype(np.int64)
    at = now + np.concatenate([[0], np.cumsum(ran)])  # turn i lasts from at[i] to at[i + 1]
    out = np.concatenate([[previous], turns[:-1]])  # switched out when turn i begins
    before = np.concatenate([[0], ran[:-1]])
    work = np.maximum(before - np.where(random.random(count) < 0.002, before // 2, random.integers(-40, 40, count)), 0)
    exec_ns = np.empty(count, dtype=np.int64)
    for thread in range(threads):
        mine = out == thread
        exec_ns[mine] = executed[thread] + np.cumsum(work[mine])
        executed[thread] = exec_ns[mine][-1] if mine.any() else executed[thread]
    preempted = random.random(count) < 0.125
    switch = np.zeros(count, dtype=SWITCH)
    switch["ts_ns"], switch["type"], switch["size"] = at[:-1], 1, 32
    switch["tid"], switch["next_tid"] = first_tid + out, first_tid + turns
    switch["prev_state"], switch["flags"] = np.where(preempted, 0, 1), 6 + preempted
    switch["exec_ns"] = exec_ns
    if now == ORIGIN_NS:  # nobody ran before
        switch["tid"][0], switch["prev_state"][0], switch["flags"][0] = 0, 0, 4
    # Who went to sleep when turn i began is woken in a later turn, before its own next one.
    last = np.full(count, -1)
    seen = np.full(threads, -1)
    for start in range(0, count, threads):
        part = turns[start : start + threads]
        last[start : start + threads] = seen[part]
        seen[part] = np.arange(start, start + threads)
    sleeps = (last >= 0) & ~preempted[np.minimum(last + 1, count - 1)] & (np.arange(count) - last > 1)
    turn = np.flatnonzero(sleeps)
    by = last[turn] + 1 + (random.random(len(turn)) * (turn - last[turn] - 1)).astype(np.int64)
    waking = np.zeros(len(turn), dtype=SWITCH)
    waking["ts_ns"] = at[by] + 1 + (random.random(len(turn)) * (ran[by] - 2)).astype(np.int64)
    waking["type"], waking["size"], waking["tid"] = 2, 32, first_tid + turns[turn]
    waking["next_tid"], waking["prev_state"], waking["flags"] = first_tid + turns[by], 4, cpu
    records = np.concatenate([switch, waking])
    return int(at[-1]), executed, records[np.argsort(records["ts_ns"], kind="stable")]


def _lifecycle(spool: Path, tids: list[int]) -> None:
    body = b"".join(
        struct.pack("<qHHIIIIIqQ16s", ORIGIN_NS - 1000, 20, 64, tid, tids[0], 1, tid, ord("S"), 1000 + i, 0, b"worker")
        for i, tid in enumerate(tids)
    )
    (spool / "lifecycle.spool").write_bytes(_header(source=2) + body)


def _header(source: int, cpu: int = 0) -> bytes:
    return struct.pack("<8sIIII", b"HWSPOOL\0", 1, source, 1, cpu).ljust(4096, b"\0")
