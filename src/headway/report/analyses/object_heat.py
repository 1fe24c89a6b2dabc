"""The heat map of whose objects threads read and write, for the section of objects in the HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.objects.matrix import owner_matrix
from headway.report.analyses.object_owners import matrix_title
from headway.report.analysis import HeatMap, HeatRow

if TYPE_CHECKING:
    from headway.analyses.objects.types import AccessAnswer, Counts

HEAT_THREADS = 12
"""Rows, and columns, of threads of their own; the others are one row, and one column, together."""


def heat_map(found: AccessAnswer | None) -> HeatMap | None:
    """Return the accesses of each thread by the owner of the object and by kind; None where owners are not recorded."""
    if found is None or not found.pairs:
        return None
    matrix = owner_matrix(found.pairs, HEAT_THREADS, HEAT_THREADS)
    rows = [
        HeatRow(
            row.name,
            tuple(_kinds(cell) for cell in row.cells),
            tuple(map(_kinds, (row.owned.local, row.owned.shared, row.owned.unknown))),
            row.own,
        )
        for row in matrix.rows
    ]
    kinds = ("field reads", "field writes", "element reads", "element writes")
    groups = ("own objects", "others'", "unknown owner")
    return HeatMap(matrix_title(found), kinds, groups, matrix.columns, tuple(rows), "a thread's own objects")


def _kinds(counts: Counts) -> tuple[int, ...]:
    return (counts.tuple_reads, counts.tuple_writes, counts.array_reads, counts.array_writes)
