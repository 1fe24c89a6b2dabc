"""The rules by which objects have owners, as `--owner` takes them, with their tables; the kinds of accesses.

The decision: docs/decisions/0018-last-writer.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

OwnerRule: TypeAlias = Literal["allocator", "last-writer"]
ALLOCATOR: OwnerRule = "allocator"
"""The thread that allocated the object."""
LAST_WRITER: OwnerRule = "last-writer"
"""The thread that wrote to the object last; before the first write the one that allocated it."""
OWNER_RULES: tuple[OwnerRule, ...] = (ALLOCATOR, LAST_WRITER)
OWNER_TABLES: Mapping[OwnerRule, tuple[str, str]] = {
    ALLOCATOR: ("access_owner", "access_pair"),
    LAST_WRITER: ("access_writer", "access_writer_pair"),
}
"""Of each rule the table of accesses by class and whose the objects are, and that of pairs of thread and owner."""
OBJECT_KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes")
"""Accesses to objects, by the numbers that records have for them."""
ACCESS_KINDS = (*OBJECT_KINDS, "static_reads", "static_writes")
"""All accesses: those of static fields, too."""
_MOST_NUMBERS = 1 << 28
"""As in the agent: so many objects have a number, by which it is known who wrote to them last."""


def numbers_used_up(jvm: Mapping[str, Any]) -> int | None:
    """Return how many objects a JVM numbered where it has no number for more, from what its agent says of accesses; else None."""
    numbers = jvm.get("object_ids")
    return numbers if isinstance(numbers, int) and numbers >= _MOST_NUMBERS else None


def has_unseen_writes(jvm: Mapping[str, Any]) -> bool:
    """Return whether code in scope ran whose writes change no last writer, from what a JVM's agent says of accesses."""
    return bool(jvm.get("has_unnoted"))
