"""Who reads and writes: accesses to fields and array elements, by class or thread.

Question   how often does the code of each class read and write fields of objects, array elements and static fields, by thread.
Method     sums of counts that the agent put into the code of the classes as they were loaded (table `access`).
Assumes    each straight piece of code is executed to its end, or counts nothing (docs/decisions/0016-accesses.md).
Wrong when classes or methods were left out (HW841). Owners and nodes are not known: all accesses are of unknown ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.objects.types import AccessAnswer, Accessed, AccessGroup, Grouping
from headway.errors import Notice
from headway.model.names import name_by_id

if TYPE_CHECKING:
    from headway.store import Recording

_KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes", "static_reads", "static_writes")
_SUMS = ", ".join(f"COALESCE(sum(a.{kind}), 0)::BIGINT" for kind in _KINDS)
_UNNAMED = "CASE WHEN a.thread_id IS NULL THEN a.java_id END"
_KEYS = {
    "class": ("a.pid", "a.class_name"),
    "thread": ("a.pid", "a.thread_id", "a.unnamed_id"),
    "thread-class": ("a.pid", "a.thread_id", "a.unnamed_id", "a.class_name"),
}
_MANY = -1


def accesses(recording: Recording, by: Grouping) -> AccessAnswer | None:
    """Return the accesses in groups; None where they were not recorded."""
    jvms = (recording.manifest.extra.get("accesses") or {}).get("jvms") or ()
    if not recording.has("access") and all(jvm.get("problem") is not None for jvm in jvms):
        return None
    total = Accessed(*recording.query(f"SELECT {_SUMS} FROM access a").fetchall()[0])
    groups = sorted(_groups(recording, by), key=lambda each: each.accessed.of_objects, reverse=True)
    return AccessAnswer(total, tuple(groups), tuple(jvms))


def access_notices(found: AccessAnswer | None) -> list[Notice]:
    """Return how to record accesses where there are none, else what is not known of them."""
    if found is None:
        return [Notice.of("HW806")]
    together = sum(each.accessed.of_objects for each in found.groups if each.java_id == _MANY)
    return [*([Notice.of("HW845", accesses=together)] if together else []), Notice.of("HW844")]


def name_of(java_id: int | None) -> str | None:
    """Return what a thread without a row in table `thread` is called; None for no thread, or many."""
    return name_by_id(java_id) if java_id is not None and java_id > 0 else None


def _groups(recording: Recording, by: Grouping) -> list[AccessGroup]:
    if by not in _KEYS:
        return []
    keys = [key.removeprefix("a.") for key in _KEYS[by]]
    of_thread = "any_value(t.name), any_value(t.java_id)" if "thread_id" in keys else "NULL, NULL"
    text = f"""SELECT {", ".join(_KEYS[by])}, {of_thread}, {_SUMS}
      FROM (SELECT *, {_UNNAMED} AS unnamed_id FROM access a) a LEFT JOIN thread t USING (thread_id)
      GROUP BY {", ".join(_KEYS[by])} ORDER BY ALL"""
    found = []
    for row in recording.query(text).fetchall():
        facts = dict(zip(keys, row, strict=False))
        name, known_id = row[len(keys) : len(keys) + 2]
        java_id = known_id if known_id is not None else facts.get("unnamed_id")
        found.append(
            AccessGroup(
                facts["pid"],
                name or name_of(java_id),
                java_id,
                facts.get("thread_id"),
                facts.get("class_name"),
                Accessed(*row[len(keys) + 2 :]),
            )
        )
    return found
