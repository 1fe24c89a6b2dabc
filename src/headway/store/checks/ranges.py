"""The range of possible values of each column in a recording's tables, by the column's name, with exceptions by table.

Whoever makes a recording controls every byte of it, checksums included, and analyses count on what no program can break: no time
below zero, no thread that would fill the memory. `values.py` compares; here is what with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.model.kinds import BLOCKER_KINDS, Kind
from headway.model.line_distances import LINE_DISTANCES
from headway.model.machine_limits import MOST_MEMORY_NODES
from headway.model.object_owners import OBJECT_KINDS, OWNER_RULES
from headway.store.schemas import causal
from headway.store.table_types import Column, TableSchema

YEAR_NS = 366 * 86_400_000_000_000
"""So far beyond a recording its times may lie: a container can have a clock of its own."""
LARGEST = (1 << 63) - 1
LARGEST_SUM = 1 << 62
LONGEST_TEXT_BYTES = 16 << 20
LONGEST_NAME_BYTES = 1 << 16
"""A JVM takes no longer name of a class or a method."""
LONG_BYTES, MOST_LONG_BYTES = 256, 256 << 20
"""What a column's names have beyond LONG_BYTES each may be MOST_LONG_BYTES in all: analyses copy, compare and print names."""
MOST_NOT_ON_RECORD = 1 << 20
"""So many more ids than rows of their table may there be: records of some are lost."""

_MOMENTS = frozenset(
    (
        "ns",
        "start_ns",
        "end_ns",
        "first_ns",
        "last_ns",
        "died_ns",
        "waking_ns",
        "bin_start_ns",
        "last_hit_ns",
        "java_end_ns",
    )
)
_INTERVALS = frozenset(
    ("dur_ns", "blocked_ns", "runnable_ns", "running_ns", "exec_ns", "other_ns", "collecting_ns", "period_ns")
)
"""Lengths of one thread's, one CPU's or one phase's time: none is longer than the machine has been up. Others are sums."""
IDS: Mapping[str, str] = {
    **dict.fromkeys(("thread_id", "waker_id", "waker_thread_id", "owner_thread_id", "other_thread_id"), "thread"),
    **dict.fromkeys(("stack_id", "waker_stack_id", "first_stack_id"), "stack"),
    **{"frame_id": "frame", "blocker_id": "blocker"},
}
"""Columns that number the rows of a table, or refer to them: arrays are made by these."""
UNIQUE_IDS = frozenset(("thread", "frame", "blocker"))
"""Tables of which each row has an id of its own: with one twice, what joins them counts all twice, or never ends."""
_COUNTS = ("active_", "running_")
"""How columns begin that count threads at one time: none of them is unknown, and arrays are made by these, too."""
_EVENTS = ("count_", "uncounted_")
"""How columns begin that hold what counters counted in a slice, -1 where that is not known."""
_MOST_MORE_THREADS = 1 << 12
"""So many more of them than there are rows of threads may there be: some are lost."""
_DIFFERENCES = frozenset(("stolen_ns", "in_flight_begin", "in_flight_ns"))
"""Columns that may be below zero: of two clocks, or of requests begun and ended, some of which began before the recording."""
_NOT_SUMMED = frozenset(("weight", "in_flight_begin", "in_flight_ns", "memory_pages"))
"""Numbers of 64 bits, with sums that analyses know how to deal with; of requests in flight there are none: each experiment has
all that are there then, so that over a long run the same ones are in a thousand of them."""
_WORDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("thread", "kind"): frozenset(kind.value for kind in Kind),
    ("blocker", "kind"): frozenset(BLOCKER_KINDS.values()),
    ("block", "kind"): frozenset(BLOCKER_KINDS.values()),
    ("line_share", "distance"): frozenset(LINE_DISTANCES),
    ("access_node", "kind"): frozenset(OBJECT_KINDS),
    ("access_node_pair", "kind"): frozenset(OBJECT_KINDS),
    ("access_node_pair", "rule"): frozenset(OWNER_RULES),
}
"""Columns of a known set of words, where analyses have one case for each."""
_LONG_TEXTS = frozenset((("jvm", "value"),))
"""Columns of texts that are no names: options, paths."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the largest value of a column; `sums`: its values are added up.

    `words`: the allowed texts, None: any. `longest_bytes`: of one text.
    """

    least: float = -LARGEST - 1
    most: float = LARGEST
    sums: bool = False
    words: frozenset[str] | None = None
    longest_bytes: int = LONGEST_TEXT_BYTES


_ANYTHING = ("java_id", "waker_java_id", "owner_java_id", "identity_hash", "value", "exit_code", "speedup_pct")
"""Columns whose values nothing is computed from, or that may well be negative."""
_NODES = ("node", "cpu_node", "page_node")
_FIXED: Mapping[str, Range] = {
    **dict.fromkeys(_ANYTHING, Range()),
    **dict.fromkeys(_NODES, Range(0, MOST_MEMORY_NODES - 1)),
}
"""Of memory nodes answers have a column for each."""


@dataclass(frozen=True, slots=True)
class RangeFacts:
    """What ranges depend on: the recorded span, and the numbers of rows in the manifest."""

    window_ns: tuple[int, int] | None
    rows: Mapping[str, int]

    @property
    def latest_ns(self) -> int:
        """Return a time after which nothing in the recording can have happened."""
        return LARGEST_SUM if self.window_ns is None else min(LARGEST_SUM, max(self.window_ns) + YEAR_NS)

    @property
    def earliest_ns(self) -> int:
        """Return a time before which nothing can have happened: clocks start at 0, except that recordings may begin earlier."""
        return 0 if self.window_ns is None else min(0, max(-LARGEST_SUM, self.window_ns[0] - YEAR_NS))


def range_of(table: TableSchema, column: Column, facts: RangeFacts) -> Range:
    """Return the range of a column."""
    name = column.name
    if table in causal.ALL:  # of several runs, maybe of several boots: the span is that of the last one
        facts = RangeFacts(None, facts.rows)
    if column.type == "VARCHAR":
        longest = LONGEST_TEXT_BYTES if (table.name, name) in _LONG_TEXTS else LONGEST_NAME_BYTES
        return Range(words=_WORDS.get((table.name, name)), longest_bytes=longest)
    if name in _MOMENTS:
        return Range(facts.earliest_ns, facts.latest_ns)
    if name in _INTERVALS:
        return Range(0, facts.latest_ns - facts.earliest_ns, sums=True)
    if name in IDS:  # what numbers its own table's rows has no marks for "unknown"
        return Range(0 if IDS[name] == table.name else -2, facts.rows.get(IDS[name], 0) + MOST_NOT_ON_RECORD - 1)
    if name in _FIXED:
        return _FIXED[name]
    if name in _DIFFERENCES:
        return Range(-LARGEST_SUM, LARGEST_SUM, sums=name not in _NOT_SUMMED)
    if column.type == "DOUBLE":
        return Range(0, 1e18)
    least = -1 if column.type in ("INTEGER", "SMALLINT") or name.startswith(_EVENTS) else 0
    is_summed = column.type == "BIGINT" and name not in _NOT_SUMMED
    if column.type == "INTEGER" and name.startswith(_COUNTS):
        return Range(0, facts.rows["thread"] + _MOST_MORE_THREADS if "thread" in facts.rows else LARGEST)
    return Range(least, LARGEST, sums=is_summed)


STORED_SLICE: Mapping[str, str] = {
    "end_ticks": "start_ns",
    "running_ticks": "running_ns",
    "runnable_ticks": "runnable_ns",
    "blocked_ticks": "blocked_ns",
    "stolen_ticks": "stolen_ns",
}
"""Columns of slice.parquet that are stored in ticks (packing.py), and what they are in the table."""
MOST_TICK_NS = (1 << 15) - 1


def range_in_ticks(range_ns: Range, tick_ns: int) -> Range:
    """Return the range of a column that is stored in ticks."""
    return Range(range_ns.least // tick_ns, range_ns.most // tick_ns, range_ns.sums, range_ns.words)
