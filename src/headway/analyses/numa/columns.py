"""The columns that tables of programs may have: their names, what their cells are, and which of them belong together.

The names and the grouping are those of Papadakis's published tables (PhD thesis, Manchester 2022, chapters 5 to 7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["share", "percent", "number", "range", "word"]
"""What a cell is: a share of a whole in percent, a percentage that may exceed 100, a number, numbers N or N-M, or a word."""
LARGEST = 1e18
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_NUMBER = re.compile(r"\d{1,24}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?", re.ASCII)


class ThreadRange(NamedTuple):
    """A number that differed from run to run: what it was at least and at most."""

    low: float
    high: float

    @property
    def text(self) -> str:
        """Return it as tables have it: N, or N-M."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g}-{self.high:g}"


Value = float | ThreadRange | str


@dataclass(frozen=True, slots=True)
class Topic:
    """A group of columns that one published table has. `required`: without one of these a rule has nothing to go by."""

    name: str
    table: str
    required: dict[str, Kind]
    others: dict[str, Kind]

    @property
    def columns(self) -> dict[str, Kind]:
        """Return all columns."""
        return self.required | self.others


TOPICS: tuple[Topic, ...] = (
    Topic(
        "balance",
        "6.1",
        {"main_instructions_pct": "share", "workers": "range", "imbalance_instructions_pct": "percent"},
        {
            "auxiliary_threads": "range",
            "auxiliary_instructions_pct": "share",
            "imbalance_cycles_pct": "percent",
            "imbalance_object_accesses_pct": "percent",
        },
    ),
    Topic("sharing", "6.3", {"shared_read_pct": "share", "shared_write_pct": "share"}, {}),
    Topic(
        "misses by node",
        "6.5",
        {
            "read_single_node_pct": "share",
            "read_dual_node_pct": "share",
            "write_single_node_pct": "share",
            "write_dual_node_pct": "share",
        },
        {},
    ),
    Topic(
        "allocations",
        "5.5 and 5.9",
        {"objects_k": "number", "mb": "number", "objects_k_per_s": "number"},
        {
            "mb_per_s": "number",
            "average_object_bytes": "number",
            "array_rate_pct": "share",
            "average_array_length": "number",
        },
    ),
    Topic(
        "accesses",
        "5.6 and 5.10",
        {"accesses_m": "number", "accesses_m_per_s": "number"},
        {"reads_per_write": "number", "shared_reads_pct": "share", "shared_writes_pct": "share"},
    ),
    Topic(
        "instructions",
        "5.7 and 5.11",
        {"instructions": "number", "memory_pct": "share", "branch_pct": "share"},
        {"l1d_reads_pct": "share", "l1d_writes_pct": "share", "arithmetic_pct": "share"},
    ),
    Topic(
        "cache misses",
        "5.8 and 5.12",
        {"cpi": "number", "l1_mpki": "number", "l2_mpki": "number", "llc_mpki": "number"},
        {
            "bpu_mpki": "number",
            "dtlb_mpki": "number",
            "dtlb_miss_pct": "share",
            "l1_miss_pct": "share",
            "l2_miss_pct": "share",
            "llc_miss_pct": "share",
            "llc_accesses_per_k_object_ops": "number",
            "memory_accesses_per_k_object_ops": "number",
        },
    ),
    Topic(
        "published classes",
        "6.6",
        {"parallelism": "word", "data_dependencies": "word", "locality_bound": "word"},
        {"all_nodes_speedup": "number"},
    ),
    Topic("migrations", "7.1 and 7.2", {"default_migrations": "number", "backoff_migrations": "number"}, {}),
)
COLUMNS: dict[str, Kind] = {name: kind for topic in TOPICS for name, kind in topic.columns.items()}
WORDS = {
    "parallelism": ("single-threaded", "tlp-bound", "embarrassingly-imbalanced", "imbalanced", "explicitly-parallel"),
    "data_dependencies": ("data-parallel", "read-only", "read-write"),
    "locality_bound": ("yes", "no"),
}
"""The words of the published classes (table 6.6)."""


def read_cell(column: str, cell: str) -> Value | None:
    """Return what a cell says, None for an empty one. Raises ValueError with the reason where it is not what the column has."""
    text, kind = cell.strip(), COLUMNS[column]
    if not text:
        return None
    if kind == "word":
        if text not in WORDS[column]:
            raise ValueError(f"{text[:40]!r} is none of {', '.join(WORDS[column])}")
        return text
    if kind == "range":
        return _range(text)
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no number that is 0 or more")
    value = float(text)
    if value > (100 if kind == "share" else LARGEST):
        raise ValueError(f"{text[:40]!r} is more than {'100 %' if kind == 'share' else f'{LARGEST:g}'}")
    return value


def _range(text: str) -> ThreadRange:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no whole number N, and no N-M")
    low, high = int(found[1]), int(found[2] or found[1])
    if low > high:
        raise ValueError(f"{text[:40]!r} begins above its end")
    return ThreadRange(low, high)
