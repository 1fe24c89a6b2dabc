"""The stored form of scheduling slices: a few bytes per row (docs/decisions/0001-slices.md), each row decodable on its own.

Times are in ticks of `tick_ns`, a column that is the same all the way (and so takes no room): the view `slice` multiplies
them out, row by row. Recordings are made with 32 ns, about what reading the clock takes and what two CPUs agree on; tables that
a program hands to `writer.write_recording` keep their nanoseconds (a tick of 1).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from headway.model import wire

if TYPE_CHECKING:
    import pyarrow as pa

TICK_NS = 32
BLOCKED_STATE = wire.SLICE_BLOCKED_STATE_MASK
WAKER_IRQ, IS_OPEN = wire.SLICE_WAKER_IRQ, wire.SLICE_IS_OPEN
RUNNABLE_UNKNOWN, STOLEN_UNKNOWN = wire.SLICE_RUNNABLE_UNKNOWN, wire.SLICE_STOLEN_UNKNOWN
"""Bits of the column `flags`; the lowest two hold blocked_state."""

STORED: dict[str, str] = {
    "tick_ns": "int16",
    "end_ticks": "int64",
    "running_ticks": "int64",
    "runnable_ticks": "int64",
    "blocked_ticks": "int64",
    "stolen_ticks": "int64",
    "thread_id": "int32",
    "waker_id": "int32",
    "cpu": "int16",
    "flags": "uint8",
    "blocked_in": "uint8",
}
"""The columns of slice.parquet and their Arrow types. end_ticks is the end of the running part; rows are in its order.

Files of before have no blocked_in.
"""


COUNTERS, COUNTER_GROUPS = wire.HW_COUNTERS, wire.HW_COUNTER_GROUPS
"""So many counters can a slice have counts of, in so many groups."""
COUNTS = tuple(f"count_{place}" for place in range(COUNTERS))
UNCOUNTED = tuple(f"uncounted_{place}" for place in range(COUNTER_GROUPS))
UNKNOWN_COUNT = -1


def schema(counts: Sequence[str] = ()) -> pa.Schema:
    """Return the Arrow schema of slice.parquet. `counts`: those of the columns COUNTS and UNCOUNTED that it has."""
    import pyarrow as pa

    columns = STORED | dict.fromkeys(counts, "int64")
    return pa.schema([pa.field(name, pa.type_for_alias(kind), nullable=False) for name, kind in columns.items()])


def count_columns(counters: int, groups: int) -> tuple[str, ...]:
    """Return the columns that so many counters in so many groups take."""
    return (*COUNTS[:counters], *UNCOUNTED[:groups])


def counts_in(names: Collection[str]) -> tuple[str, ...]:
    """Return the columns of counts among `names`, in the order that a file has them in."""
    return tuple(name for name in (*COUNTS, *UNCOUNTED) if name in names)


def parquet_options(counts: Sequence[str] = ()) -> dict[str, Any]:
    """Return the encodings that measured smallest (benchmarks/bytes_per_switch.py).

    Ends grow, so their differences are stored. Lengths, ids and the like are split into their bytes, of which all but
    the lowest are nearly the same in every row: zstd then stores little more than the lowest.
    """
    split = (*counts, "running_ticks", "runnable_ticks", "blocked_ticks", "stolen_ticks", "thread_id", "waker_id")
    return {
        "compression": "zstd",
        "compression_level": 3,
        "use_dictionary": ["tick_ns", "cpu", "flags", "blocked_in"],
        "column_encoding": {"end_ticks": "DELTA_BINARY_PACKED"} | dict.fromkeys(split, "BYTE_STREAM_SPLIT"),
        "write_statistics": ["end_ticks"],
    }


def pack(rows: pa.Table, tick_ns: int = 1, counts: Sequence[str] = ()) -> pa.Table:
    """Convert rows of the table `slice` (as `writer.conform` returns them) to their stored form.

    Each border of a slice is rounded down to a tick, so that slices of a thread still meet.
    """
    import numpy as np
    import pyarrow as pa

    column = {name: rows.column(name).combine_chunks() for name in rows.column_names}
    ns = {name: column[name].fill_null(0).to_numpy() for name in column if name.endswith("_ns")}
    unknown_runnable = column["runnable_ns"].is_null().to_numpy(zero_copy_only=False)
    unknown_stolen = column["stolen_ns"].is_null().to_numpy(zero_copy_only=False)
    end = (ns["start_ns"] + ns["running_ns"]) // tick_ns
    start = ns["start_ns"] // tick_ns
    woken = (ns["start_ns"] - ns["runnable_ns"]) // tick_ns
    blocked = (ns["start_ns"] - ns["runnable_ns"] - ns["blocked_ns"]) // tick_ns
    flags = column["blocked_state"].to_numpy() & BLOCKED_STATE
    for bit, name in ((WAKER_IRQ, "waker_irq"), (IS_OPEN, "is_open")):
        flags = flags | bit * column[name].to_numpy(zero_copy_only=False)
    flags = flags | RUNNABLE_UNKNOWN * unknown_runnable | STOLEN_UNKNOWN * unknown_stolen
    columns = {
        "tick_ns": np.full(len(end), tick_ns),
        "end_ticks": end,
        "running_ticks": end - start,
        "runnable_ticks": start - woken,
        "blocked_ticks": woken - blocked,
        "stolen_ticks": ns["stolen_ns"] // tick_ns,
        "thread_id": column["thread_id"],
        "waker_id": column["waker_id"],
        "cpu": column["cpu"],
        "flags": flags,
        "blocked_in": column["blocked_in"].fill_null(0),
    }
    packed = {name: pa.array(columns[name]).cast(kind) for name, kind in STORED.items()}
    packed |= {name: column[name].fill_null(UNKNOWN_COUNT) for name in counts}
    return pa.table(packed, schema=schema(counts))
