"""Builds recordings of any size for tests of reports and exports, correct by construction.

Every CPU runs one thread at a time and every thread keeps to one CPU, so no two cycles of a thread overlap. `activity` comes
from a sweep of its own (numpy and DuckDB), so it also checks what the package makes of the same slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headway.store.writer import write_recording

Ints = NDArray[np.int64]
ORIGIN_NS = 5_000_000_000_000
KINDS = ("app", "gc", "jit", "vm")
MARKUP_NAME = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1> &amp; \u2028 \\xFF"
ONE_THREAD: dict[str, list[Any]] = {
    "thread_id": [0],
    "pid": [1],
    "tid": [1],
    "start_ns": [0],
    "name": ["main"],
    "comm": ["main"],
    "kind": ["app"],
}
"""Columns of the table `thread` for a recording made by hand; `from_snapshot` is left to it."""


@dataclass(frozen=True)
class Shape:
    """How large a recording is, and what its threads are like."""

    threads: int = 24
    slices: int = 4000
    cpus: int = 4
    wall_ns: int = 3_000_000_000
    seed: int = 1
    pauses: int = 12
    markup: bool = False


def make(path: Path, shape: Shape | None = None, **manifest: Any) -> Path:
    """Write a recording and return its path; `manifest` overrides keys of manifest.json."""
    shape = shape or Shape()
    random = np.random.default_rng(shape.seed)
    slices = _slices(shape, random)
    kinds = np.array(["app"] * shape.threads, dtype=object)
    kinds[1::8], kinds[3::8], kinds[7::16] = "gc", "jit", "vm"
    tables = {
        "thread": _threads(shape, kinds, slices),
        "slice": slices,
        "activity": activity(slices, kinds, shape.wall_ns),
        "jvm_phase": _phases(shape, random),
    }
    return write_recording(path, {**_manifest(shape, slices), **manifest}, tables)


def _slices(shape: Shape, random: np.random.Generator) -> pa.Table:
    """Fill each CPU's time with running parts; what lies between two parts of one thread is blocked, then runnable."""
    parts = [_one_cpu(shape, cpu, random) for cpu in range(shape.cpus)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(columns["start_ns"] + columns["running_ns"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    count = len(order)
    waker = random.integers(0, shape.threads, count)
    waker[random.random(count) < 0.1] = -1
    waker[random.random(count) < 0.05] = -2
    blocked = columns["blocked_ns"] > 0
    return pa.table(
        {
            **columns,
            "blocked_state": np.where(blocked, random.choice([1, 1, 1, 1, 2, 3], count), 0).astype(np.uint8),
            "waker_id": np.where(blocked, waker, -1).astype(np.int32),
            "waker_irq": (random.random(count) < 0.2) & blocked,
            "is_open": np.zeros(count, dtype=bool),
        }
    )


def _one_cpu(shape: Shape, cpu: int, random: np.random.Generator) -> dict[str, NDArray[Any]]:
    mine = np.arange(cpu, shape.threads, shape.cpus)
    count = shape.slices // shape.cpus
    spans = random.exponential(1.0, (count, 2)) * np.array([1.0, 0.4])
    spans[random.random(count) < 0.5, 1] = 0  # half the switches go straight from one thread of ours to another
    spans = np.maximum(1, spans / spans.sum() * shape.wall_ns * 0.97).astype(np.int64)
    ends = np.cumsum(spans.sum(axis=1))
    start = ORIGIN_NS + shape.wall_ns // 100 + ends - spans[:, 0]
    weights = 1.0 / np.arange(1, len(mine) + 1)
    thread = mine[random.choice(len(mine), count, p=weights / weights.sum())]
    thread[: min(count, len(mine))] = mine[: min(count, len(mine))]  # everyone runs once
    order = np.lexsort((start, thread))
    before = np.empty(count, dtype=np.int64)
    gap = start[order][1:] - (start + spans[:, 0])[order][:-1]
    before[order] = np.concatenate([[0], np.where(np.diff(thread[order]) == 0, gap, 0)])
    first = np.ones(count, dtype=bool)
    first[order] = np.concatenate([[True], np.diff(thread[order]) != 0])
    runnable = np.minimum(before, random.exponential(spans[:, 0].mean() / 4, count).astype(np.int64))
    runnable[first] = np.minimum(1000, start[first] - ORIGIN_NS)
    blocked = np.where(first, 0, before - runnable)
    running = spans[:, 0]
    return {
        "thread_id": thread.astype(np.int32),
        "start_ns": start,
        "blocked_ns": blocked,
        "runnable_ns": runnable,
        "running_ns": running,
        "stolen_ns": np.where(random.random(count) < 0.05, running // 3, 0),
        "cpu": np.full(count, cpu, dtype=np.int16),
    }


def _threads(shape: Shape, kinds: NDArray[Any], slices: pa.Table) -> pa.Table:
    ids = slices["thread_id"].to_numpy()
    sums = {
        name: np.bincount(ids, weights=slices[name].to_numpy(), minlength=shape.threads).astype(np.int64)
        for name in ("running_ns", "runnable_ns", "blocked_ns", "stolen_ns")
    }
    start = slices["start_ns"].to_numpy()
    born = np.full(shape.threads, np.iinfo(np.int64).max)
    np.minimum.at(born, ids, start - slices["runnable_ns"].to_numpy() - slices["blocked_ns"].to_numpy())
    died = np.zeros(shape.threads, dtype=np.int64)
    np.maximum.at(died, ids, start + slices["running_ns"].to_numpy())
    names = [f"worker-{i}" if kind == "app" else f"{kind.upper()} Thread#{i}" for i, kind in enumerate(kinds)]
    names[0] = "main"
    if shape.markup:
        names[min(2, shape.threads - 1)] = MARKUP_NAME
    return pa.table(
        {
            "thread_id": np.arange(shape.threads, dtype=np.int32),
            "pid": np.full(shape.threads, 4000, dtype=np.int32),
            "tid": np.arange(4000, 4000 + shape.threads, dtype=np.int32),
            "start_ns": born,
            "end_ns": pa.array(died, mask=np.arange(shape.threads) % 3 == 0),
            "name": names,
            "comm": [name[:15] for name in names],
            "kind": list(kinds),
            "from_snapshot": np.zeros(shape.threads, dtype=bool),
            "running_ns": sums["running_ns"],
            "exec_ns": sums["running_ns"] - sums["stolen_ns"],
            "runnable_ns": sums["runnable_ns"],
            "blocked_ns": sums["blocked_ns"],
            "switches": np.bincount(ids, minlength=shape.threads),
            "bottle_height_ns": sums["running_ns"] // 3,
            "bottle_width": 3 + np.arange(shape.threads) / 8,
        }
    )


def _phases(shape: Shape, random: np.random.Generator) -> pa.Table:
    start = np.sort(random.integers(0, shape.wall_ns * 9 // 10, shape.pauses))
    return pa.table(
        {
            "pid": np.full(shape.pauses, 4000, dtype=np.int32),
            "start_ns": ORIGIN_NS + start,
            "dur_ns": random.integers(1_000_000, 20_000_000, shape.pauses),
            "kind": ["gc_pause"] * shape.pauses,
            "cause": ["G1 Evacuation Pause"] * shape.pauses,
        }
    )


def activity(slices: pa.Table, kinds: NDArray[Any], wall_ns: int, bins: int = 600) -> pa.Table:
    """Sweep over every state change in time order, and sum the spans of equal counts per bin."""
    kind = np.array([KINDS.index(k) for k in kinds], dtype=np.int64)[slices["thread_id"].to_numpy()]
    start = slices["start_ns"].to_numpy() - ORIGIN_NS
    woken, end = start - slices["runnable_ns"].to_numpy(), start + slices["running_ns"].to_numpy()
    edges = np.arange(bins + 1, dtype=np.int64) * wall_ns // bins
    # time * 32 + kind * 4 + (2: running, 0: active) + (1: one more, 0: one less); edges of bins change nothing (16).
    events = np.concatenate([woken * 32 + kind * 4 + 1, end * 32 + kind * 4, start * 32 + kind * 4 + 3])
    events = np.sort(np.concatenate([events, end * 32 + kind * 4 + 2, edges * 32 + 16]))
    counts = np.zeros(8, dtype=np.int64)
    found: list[pa.Table] = []
    names = [f"{what}_{k}" for k in KINDS for what in ("active", "running")]
    for low in range(0, len(events) - 1, 1 << 21):
        part = events[low : low + (1 << 21) + 1]
        code = part[:-1] & 31
        time = part // 32
        columns: dict[str, Ints] = {}
        for i, name in enumerate(names):
            columns[name] = counts[i] + np.cumsum(np.where(code // 2 == i, (code & 1) * 2 - 1, 0))
            counts[i] = columns[name][-1]
        columns["bin"] = np.searchsorted(edges, time[:-1], side="right") - 1
        columns["dur_ns"] = np.diff(time)
        chunk = pa.table(columns)
        group = ", ".join(["bin", *names])
        text = f"SELECT {group}, SUM(dur_ns)::BIGINT AS dur_ns FROM rows WHERE dur_ns > 0 GROUP BY {group}"
        found.append(_sql(chunk, text))
    everything = pa.concat_tables(found)
    group = ", ".join(["bin", *names])
    text = f"SELECT {group}, SUM(dur_ns)::BIGINT AS dur_ns FROM rows GROUP BY {group} ORDER BY bin"
    table = _sql(everything, text)
    begins = ORIGIN_NS + edges[table["bin"].to_numpy()]
    running = sum(table[f"running_{k}"].to_numpy() for k in KINDS)
    stolen = (running * table["dur_ns"].to_numpy() * 0.017).astype(np.int64)
    small = {name: table[name].cast(pa.int32()) for name in names}
    return pa.table({"bin_start_ns": begins, "dur_ns": table["dur_ns"], **small, "stolen_ns": stolen})


def _sql(rows: pa.Table, text: str) -> Any:
    """Run SQL over an Arrow table, which it calls `rows`."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("rows", rows)
        relation: Any = connection.sql(text)
        return relation.to_arrow_table()


def _manifest(shape: Shape, slices: pa.Table) -> dict[str, Any]:
    cpus = list(range(shape.cpus))
    return {
        "state": "complete",
        "created_utc": "2026-01-02T03:04:05Z",
        "headway_version": "0.1.0",
        "mode": "ebpf",
        "command": ["java", "-Xmx1g", "-cp", "lib/*", "org.example.Made", "--size", "<big>"],
        "cwd": "/srv/made",
        "pid": 4000,
        "exit_code": 0,
        "ended_by": "exit",
        "window": {"start_ns": ORIGIN_NS, "end_ns": ORIGIN_NS + shape.wall_ns},
        "host": {
            "kernel": "6.1.0",
            "hypervisor": "kvm",
            "cpus_online": cpus,
            "topology": [{"cpu": c, "core": c, "package": 0, "node": 0, "smt_siblings": []} for c in cpus],
            "governor": "performance",
            "memory_bytes": 2**34,
        },
        "affinity": cpus,
        "recorded_cores": shape.cpus,
        "steal_ns": {str(c): 12_000_000 * (c + 1) for c in cpus},
        "other_ns": {str(c): 3_000_000 for c in cpus},
        "jvms": [
            {"pid": 4000, "version": "25", "vm": "OpenJDK", "flags": "-Xmx1g", "available_processors": shape.cpus}
        ],
        "switches": len(slices),
        "losses": {"events": 0, "spans": []},
        "invariants": [{"id": "levels", "ok": True, "message": "levels add up to the wall time"}],
        "notices": [],
    }
