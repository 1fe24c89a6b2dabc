"""Tables and sentences of accesses by whose the objects are, for `headway objects` and the report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headway.analyses.common.units import percent
from headway.analyses.objects.matrix import accessor_key, owner_key, thread_names
from headway.model.object_owners import LAST_WRITER
from headway.report.analysis import Table

if TYPE_CHECKING:
    from headway.analyses.objects.types import AccessAnswer, AccessGroup
    from headway.report.section import Cell

MOST_OWNERS = 8
"""Columns of the matrix; the other owners are one column together."""


def owner_sentences(found: AccessAnswer) -> list[str]:
    """Return which share of the reads and writes is to other threads' objects, and how many are not known."""
    if found.owned is None:
        return []
    sentences = []
    if found.rule == LAST_WRITER:
        sentences.append("An object's owner is here the thread that wrote to it last.")
    elif len(found.rules) > 1:
        sentences.append("An object's owner is here the thread that allocated it; who wrote last: --owner last-writer")
    for name in ("reads", "writes"):
        owned = found.owned
        local, shared, unknown = (getattr(each, name) for each in (owned.local, owned.shared, owned.unknown))
        known, together = local + shared, local + shared + unknown
        if known:
            share = percent(shared / known)
            sentences.append(f"Of {known:,} {name} of objects with a known owner {share} are of another thread's.")
        if unknown:
            sentences.append(f"Of {percent(unknown / together)} of the {name} the object's owner is unknown.")
    return sentences


def owner_columns(found: AccessAnswer) -> tuple[str, ...]:
    """Return the last columns of the table of accesses, for `owner_cells`."""
    return () if found.owned is None else ("own objects", "others'", "unknown")


def owner_cells(group: AccessGroup) -> tuple[Cell, ...]:
    """Return a group's accesses to objects of the thread itself, to those of others, and to those of unknown owners."""
    owned = group.owned
    return () if owned is None else (owned.local.together, owned.shared.together, owned.unknown.together)


def pair_table(found: AccessAnswer, top: int | None) -> Table:
    """Return who reads and writes whose objects, the most first."""
    names = thread_names(found.pairs)
    rows = tuple(
        (
            f"{names[accessor_key(pair)]}: {names[owner_key(pair)]}",
            pair.counts.tuple_reads,
            pair.counts.tuple_writes,
            pair.counts.array_reads,
            pair.counts.array_writes,
        )
        for pair in found.pairs[:top]
    )
    head = ("thread: owner", "field reads", "writes", "element reads", "writes")
    title = f"Reads and writes by thread and owner of the object{_more(len(found.pairs), len(rows))}"
    return Table(title, head, rows)


def matrix_table(found: AccessAnswer, top: int | None = None) -> Table:
    """Return how often each thread (rows) reads and writes objects of each thread (columns), in all kinds together."""
    names = thread_names(found.pairs)
    cells: Counter[tuple[str, str]] = Counter()
    by_accessor: Counter[str] = Counter()
    by_owner: Counter[str] = Counter()
    for pair in found.pairs:
        accessor, owner, count = names[accessor_key(pair)], names[owner_key(pair)], pair.counts.together
        cells[accessor, owner] += count
        by_accessor[accessor] += count
        by_owner[owner] += count
    owners = sorted(name for name, _ in by_owner.most_common(MOST_OWNERS))
    has_more = len(by_owner) > len(owners)
    rows = []
    for accessor in sorted(name for name, _ in by_accessor.most_common(top)):
        shown = [cells[accessor, owner] for owner in owners]
        rows.append((accessor, *shown, *((by_accessor[accessor] - sum(shown),) if has_more else ())))
    head = ("thread", *owners, *(("other owners",) if has_more else ()))
    more = _more(len(by_accessor), len(rows))
    return Table(f"{matrix_title(found)}{more}", head, tuple(rows))


def matrix_title(found: AccessAnswer) -> str:
    """Return the title of what has a row for each thread and a column for each owner, with the rule of owners."""
    owner = "who wrote to the object last" if found.rule == LAST_WRITER else "owner of the object"
    return f"Reads and writes by thread (rows) and {owner} (columns)"


def _more(count: int, shown: int) -> str:
    return f" ({shown} of {count}: --all)" if count > shown else ""
