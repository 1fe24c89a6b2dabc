"""Who reads and writes: accesses to fields and array elements, by class or thread.

Question   how often does the code of each class read and write fields of objects, array elements and static fields, by thread.
Method     sums of counts that the agent put into the code of the classes as they were loaded (table `access`).
Assumes    each straight piece of code is executed to its end, or counts nothing (docs/decisions/0016-accesses.md).
Wrong when classes or methods were left out (HW841). Nodes are known of samples, where they were asked for (`nodes`), or where
           there is one. Owners are known where they were asked for (`owners`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.short_names import short_name
from headway.analyses.objects.nodes import MOST_BETWEEN, between_nodes, nodes_by_group
from headway.analyses.objects.owners import access_pairs, name_of, owned_by_group, owner_notices, recorded_rules
from headway.analyses.objects.types import MOST_GROUPS, UNNAMED, AccessAnswer, Accessed, AccessGroup, Grouping
from headway.analyses.objects.windows import window_notices
from headway.errors import HeadwayError, Notice
from headway.model.object_owners import ACCESS_KINDS, OBJECT_KINDS

if TYPE_CHECKING:
    from headway.analyses.objects.window_types import WindowAnswer
    from headway.model.object_owners import OwnerRule
    from headway.store import Recording

_SUMS = ", ".join(f"COALESCE(sum(a.{kind}), 0)::BIGINT" for kind in ACCESS_KINDS)
_OF_OBJECTS = " + ".join(f"sum(a.{kind})" for kind in OBJECT_KINDS)
_KEYS = {
    "class": ("a.pid", "a.class_name"),
    "thread": ("a.pid", "a.thread_id", "a.unnamed_id"),
    "thread-class": ("a.pid", "a.thread_id", "a.unnamed_id", "a.class_name"),
}
_MANY = -1


def accesses(
    recording: Recording, by: Grouping, rule: OwnerRule | None = None, *, with_pairs: bool = True
) -> AccessAnswer | None:
    """Return the accesses in groups, and by owner; None where they were not recorded.

    `rule`: by which objects have owners; None: the first one that was recorded. `with_pairs`: also whose objects each thread
    accesses. Raises HeadwayError HW815.
    """
    jvms = (recording.manifest.extra.get("accesses") or {}).get("jvms") or ()
    if not recording.has("access") and all(jvm.get("problem") is not None or jvm.get("window_ms") for jvm in jvms):
        return None
    total = Accessed(*recording.query(f"SELECT {_SUMS} FROM access a").fetchall()[0])
    rules = recorded_rules(recording)
    if rule is not None and rule not in rules:
        raise HeadwayError("HW815", path=recording.path, rule=rule, known=" and ".join(rules) or "no rule")
    used = rule or (rules[0] if rules else None)
    groups, left_out = _groups(recording, by, used)
    of_all = owned_by_group(recording, (), used).get(()) if used is not None else None
    together = _of_many_threads(recording, by)
    between, more_between = between_nodes(recording)
    return AccessAnswer(
        total,
        tuple(groups),
        tuple(jvms),
        together,
        left_out,
        of_all,
        access_pairs(recording, used if with_pairs else None),
        used,
        rules,
        has_one_node(recording),
        nodes_by_group(recording, ()).get(()),
        between,
        more_between,
    )


def has_one_node(recording: Recording) -> bool:
    """Return whether the recorded machine has one memory node, so that all that its threads access is local."""
    nodes = recording.manifest.host.memory_nodes
    return nodes is not None and len(nodes) == 1


def access_notices(recording: Recording, found: AccessAnswer | None, windows: WindowAnswer | None) -> list[Notice]:
    """Return how to record accesses where there are none, else what is not known of them."""
    if windows is not None:
        return window_notices(windows)
    if found is None:
        return [Notice.of("HW806")]
    notices = [Notice.of("HW845", accesses=found.together)] if found.together else []
    if found.left_out:
        notices.append(Notice.of("HW849", count=found.left_out, what="accesses", shown=MOST_GROUPS))
    if found.more_between:
        notices.append(Notice.of("HW849", count=found.more_between, what="pairs of memory nodes", shown=MOST_BETWEEN))
    if found.nodes is not None:
        notices.append(Notice.of("HW868", samples=found.nodes.together))
    return [*notices, *owner_notices(recording, found)]


def _of_many_threads(recording: Recording, by: Grouping) -> int:
    """Return the accesses that are in rows of many threads, where threads are told apart."""
    if "a.thread_id" not in _KEYS.get(by, ()):
        return 0
    text = f"SELECT COALESCE({_OF_OBJECTS}, 0) FROM access a WHERE a.thread_id IS NULL AND a.java_id = {_MANY}"
    (found,) = recording.query(text).fetchone() or (0,)
    return int(found)


def _groups(recording: Recording, by: Grouping, rule: OwnerRule | None) -> tuple[list[AccessGroup], int]:
    """Return the classes, threads or both with the most accesses, and how many with fewer are left out."""
    if by not in _KEYS:
        return [], 0
    keys = [key.removeprefix("a.") for key in _KEYS[by]]
    of_thread = f"any_value({short_name('t.name')}), any_value(t.java_id)" if "thread_id" in keys else "NULL, NULL"
    rows = f"""FROM (SELECT *, {UNNAMED} AS unnamed_id FROM access a) a LEFT JOIN thread t USING (thread_id)
      GROUP BY {", ".join(_KEYS[by])}"""
    order = ", ".join([f"{_OF_OBJECTS} DESC NULLS LAST", *map(str, range(1, len(keys) + 1))])
    first = f"ORDER BY {order} LIMIT {MOST_GROUPS}"
    text = f"""SELECT {", ".join(_KEYS[by])}, {of_thread}, {_SUMS} {rows} {first}"""
    shown = f"SELECT {', '.join(_KEYS[by])} {rows} {first}"
    owned = owned_by_group(recording, _KEYS[by], rule, shown) if rule is not None else {}
    nodes = nodes_by_group(recording, _KEYS[by], shown)
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
                owned.get(tuple(row[: len(keys)])),
                nodes.get(tuple(row[: len(keys)])),
            )
        )
    if len(found) < MOST_GROUPS:
        return found, 0
    (count,) = recording.query(f"SELECT count(*) FROM (SELECT 1 {rows})").fetchone() or (0,)
    return found, count - len(found)
