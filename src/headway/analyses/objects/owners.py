"""Whose objects are read and written: by the threads that allocated them, or that wrote to them last.

Question   how many accesses are of a thread's own objects, of those of other threads, and of which; how many of unknown owners.
Method     the agent notes the allocating thread in the identity hash of each new object, and counts each access by it (tables
           `access_owner` and `access_pair`; docs/decisions/0017-owners.md); or a number of the object there, and who writes last
           in a table by that number (`access_writer` and `access_writer_pair`; docs/decisions/0018-last-writer.md).
Assumes    the program has given no object an identity hash before the agent could; those that it has are counted as unknown, but
           for the share of them whose hash happens to be that of an owner, which `owner_notices` estimates.
           What else a thread accesses, in code without room for such counts, is of unknown owners (`access` less `access_pair`).
Bounded    the MOST_GROUPS pairs with the most accesses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headway.analyses.common.short_names import short_name
from headway.analyses.objects.nodes import nodes_by_pair, of_groups
from headway.analyses.objects.types import (
    FOREIGN,
    MOST_GROUPS,
    UNNAMED,
    UNNAMED_OWNER,
    AccessAnswer,
    AccessPair,
    Counts,
    Owned,
)
from headway.errors import Notice
from headway.model.names import name_by_id
from headway.model.object_owners import (
    ALLOCATOR,
    OBJECT_KINDS,
    OWNER_RULES,
    OWNER_TABLES,
    has_unseen_writes,
    numbers_used_up,
)

if TYPE_CHECKING:
    from headway.model.object_owners import OwnerRule
    from headway.store import Recording

_PAIR_KEYS = "a.pid, a.thread_id, a.unnamed_id, a.owner_thread_id, a.unnamed_owner_id"
_PAIRS = f"""WITH pair AS (
  SELECT a.pid, a.thread_id, {UNNAMED} AS unnamed_id, a.owner_thread_id, {UNNAMED_OWNER} AS unnamed_owner_id,
    {", ".join(f"a.{kind}::HUGEINT AS {kind}" for kind in OBJECT_KINDS)} FROM {{table}} a
), rest AS (
  SELECT pid, thread_id, unnamed_id, NULL AS owner_thread_id, 0 AS unnamed_owner_id,
    {", ".join(f"greatest(sum({kind}), 0) AS {kind}" for kind in OBJECT_KINDS)}
  FROM (
    SELECT a.pid, a.thread_id, {UNNAMED} AS unnamed_id, {", ".join(f"a.{kind}::HUGEINT AS {kind}" for kind in OBJECT_KINDS)}
    FROM access a UNION ALL SELECT pid, thread_id, unnamed_id, {", ".join(f"-{kind}" for kind in OBJECT_KINDS)} FROM pair
  ) GROUP BY ALL HAVING {" OR ".join(f"sum({kind}) > 0" for kind in OBJECT_KINDS)}
)"""
"""SQL of accesses by thread and owner: `pair` as the agent counted them; `rest`: accesses in no pair, whose owner is unknown."""
_HASHES_OF_OWNER, _HASHES = 1 << 19, 1 << 31
"""As in the agent: of all identity hashes so many name one owner."""


def name_of(java_id: int | None) -> str | None:
    """Return what a thread without a row in table `thread` is called; None for no thread, or many."""
    return name_by_id(java_id) if java_id is not None and java_id > 0 else None


def recorded_rules(recording: Recording) -> tuple[OwnerRule, ...]:
    """Return by which rules a recording has the owners of objects."""
    return tuple(rule for rule in OWNER_RULES if recording.has(OWNER_TABLES[rule][0]))


def owned_by_group(
    recording: Recording, keys: tuple[str, ...], rule: OwnerRule, groups: str | None = None
) -> dict[tuple[Any, ...], Owned]:
    """Return accesses by whose the objects are, by columns of table `access` (alias a); of all together where there are none.

    `groups`: SQL that selects the keys of the groups that are asked for; a recording may have millions of others.
    """
    known = ", ".join(f"sum(o.{kind}_{whose})" for whose in ("local", "shared") for kind in OBJECT_KINDS)
    all_of = ", ".join(f"sum(o.{kind})" for kind in OBJECT_KINDS)
    shown = [key.removeprefix("a.") for key in keys]
    columns = "".join(f"o.{key}, " for key in shown)
    grouped = f"GROUP BY {', '.join(f'o.{key}' for key in shown)}" if shown else ""
    of = f"FROM (SELECT *, {UNNAMED} AS unnamed_id FROM {{}} a) o {of_groups('o', keys, groups)} {grouped}"
    known_rows = recording.query(f"SELECT {columns}{known} {of.format(OWNER_TABLES[rule][0])}").fetchall()
    known_of = {tuple(row[: len(shown)]): row[len(shown) :] for row in known_rows}
    found = {}
    for row in recording.query(f"SELECT {columns}{all_of} {of.format('access')}").fetchall():
        key = tuple(row[: len(shown)])  # of a JVM that does not tell of owners there are no rows: all are unknown
        together = [int(each or 0) for each in row[len(shown) :]]
        counts = [int(each or 0) for each in known_of.get(key, ())] or [0] * (2 * len(OBJECT_KINDS))
        local, shared = counts[: len(OBJECT_KINDS)], counts[len(OBJECT_KINDS) :]
        unknown = [max(0, each - own - others) for each, own, others in zip(together, local, shared, strict=True)]
        found[key] = Owned(Counts(*local), Counts(*shared), Counts(*unknown))
    return found


def access_pairs(recording: Recording, rule: OwnerRule | None) -> tuple[AccessPair, ...]:
    """Return who accesses whose objects how often, the most first; empty where owners were not recorded (no rule).

    Each access of each thread is in one pair: what was counted without an owner is of an unknown one.
    """
    if rule is None:
        return ()
    sums = ", ".join(f"sum(a.{kind})::BIGINT" for kind in OBJECT_KINDS)
    order = " + ".join(f"sum(a.{kind})" for kind in OBJECT_KINDS)
    names = ", ".join(f"any_value({short_name(f'{each}.name')}), any_value({each}.java_id)" for each in "to")
    of_all = "FROM (FROM pair UNION ALL FROM rest) a"
    first = f"GROUP BY {_PAIR_KEYS} ORDER BY {order} DESC, 1, 2, 3, 4, 5 LIMIT {MOST_GROUPS}"
    text = f"""{_pairs(rule)} SELECT {_PAIR_KEYS}, {names}, {sums} {of_all}
      LEFT JOIN thread t USING (thread_id) LEFT JOIN thread o ON o.thread_id = a.owner_thread_id {first}"""
    found, nodes = [], nodes_by_pair(recording, rule, f"{_pairs(rule)} SELECT {_PAIR_KEYS} {of_all} {first}")
    for pid, thread, unnamed, owner, unnamed_owner, *more in recording.query(text).fetchall():
        name, java_id, owner_name, owner_java_id, *counts = more
        accessor_id = java_id if java_id is not None else unnamed
        owner_id = owner_java_id if owner_java_id is not None else unnamed_owner
        found.append(
            AccessPair(
                pid,
                name or name_of(accessor_id),
                accessor_id,
                thread,
                owner_name or name_of(owner_id),
                owner_id,
                owner,
                Counts(*counts),
                nodes.get((pid, thread, unnamed, owner, unnamed_owner)),
            )
        )
    return tuple(found)


def _pairs(rule: OwnerRule) -> str:
    return _PAIRS.format(table=OWNER_TABLES[rule][1])


def _pairs_left_out(recording: Recording, shown: int, rule: OwnerRule) -> int:
    """Return how many pairs have fewer accesses than those that are shown."""
    if shown < MOST_GROUPS:
        return 0
    text = (
        f"{_pairs(rule)} SELECT count(*) FROM (SELECT 1 FROM (FROM pair UNION ALL FROM rest) a GROUP BY {_PAIR_KEYS})"
    )
    return int(recording.query(text).fetchall()[0][0]) - shown


def owner_notices(recording: Recording, found: AccessAnswer) -> list[Notice]:
    """Return what is not known of owners: not recorded (HW844), pairs left out (HW849), accesses of a wrong one (HW847)."""
    if found.owned is None or found.rule is None:
        return [Notice.of("HW844")]
    wrong = _may_be_wrong(recording, found.rule, _hashes_of_owners(found))
    left_out = _pairs_left_out(recording, len(found.pairs), found.rule)
    what = "pairs of accessing thread and owner"
    few = [Notice.of("HW849", count=left_out, what=what, shown=MOST_GROUPS)] if left_out else []
    by_chance = (
        f"about {wrong:,} accesses may be counted for a wrong owner"
        if wrong
        else "no object was met whose hash the program had asked for first"
    )
    few += _numbers_used_up(found)
    if found.rule == ALLOCATOR:
        return [*few, Notice.of("HW847", wrong=by_chance)]
    return [*few, *_writes_unseen(found), Notice.of("HW816", wrong=by_chance)]


def _hashes_of_owners(found: AccessAnswer) -> int:
    """Return how many identity hashes name an owner: so many of each owner, or one for each number of an object."""
    most = 0
    for jvm in found.coverage:
        owners, numbers = jvm.get("owners"), jvm.get("object_ids")
        by_owner = owners * _HASHES_OF_OWNER if isinstance(owners, int) else 0
        most = max(most, numbers if isinstance(numbers, int) else by_owner)
    return most


def _numbers_used_up(found: AccessAnswer) -> list[Notice]:
    """Return of which JVMs later objects have no known owners, as they have had all numbers for objects."""
    return [
        Notice.of("HW817", pid=jvm.get("pid"), count=numbers)
        for jvm in found.coverage
        if (numbers := numbers_used_up(jvm)) is not None
    ]


def _writes_unseen(found: AccessAnswer) -> list[Notice]:
    """Return which JVMs ran code in scope whose writes change no owner."""
    return [
        Notice.of("HW818", pid=jvm.get("pid"), count=jvm.get("unseen_writes") or 0)
        for jvm in found.coverage
        if has_unseen_writes(jvm)
    ]


def _may_be_wrong(recording: Recording, rule: OwnerRule, hashes: int) -> int:
    """Return how many accesses are counted for an owner by chance, from those of which the same check says that they are not.

    Objects that the program has hashed: their hashes are as good as random, and of each so many are taken for an owner's.
    """
    together = " + ".join(f"sum({kind})" for kind in OBJECT_KINDS)
    text = f"SELECT {together} FROM {OWNER_TABLES[rule][1]} WHERE owner_java_id = {FOREIGN}"
    (foreign,) = recording.query(text).fetchone() or (0,)
    chance = min(0.5, hashes / _HASHES)
    return math.ceil((foreign or 0) * chance / (1 - chance))
