"""Threads by the owners of the objects that they read and write, as a matrix of bounded size.

Question   which threads use the objects of which.
Method     the pairs of a thread and an owner (`owners.access_pairs`), added up. Threads are instances: two of one name are two
           rows, told apart by their ids.
Bounded    the threads and the owners with the most accesses; all others are one row, or one column, together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from headway.analyses.objects.types import Counts, Owned

if TYPE_CHECKING:
    from headway.analyses.objects.types import AccessPair

VIRTUAL, MANY, UNKNOWN = -2, -1, 0
"""In place of the id of a thread, or of an owner."""
_SPECIAL = {VIRTUAL: "(virtual threads)", MANY: "(many threads)", UNKNOWN: "(unknown)"}
OTHER_THREADS, OTHER_OWNERS = "(other threads)", "(other owners)"


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """The accesses of one thread, or of several: by owner, in the order of the columns, and by whose the objects are.

    `own`: the column of the thread's own objects; None: there is none.
    """

    name: str
    cells: tuple[Counts, ...]
    owned: Owned
    own: int | None


@dataclass(frozen=True, slots=True)
class OwnerMatrix:
    """Threads (rows) by owners of objects (columns), the threads with the most accesses first."""

    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def owner_matrix(pairs: Sequence[AccessPair], most_threads: int | None, most_owners: int) -> OwnerMatrix:
    """Return the accesses of the threads with the most of them (None: of all) to objects of the owners with the most."""
    by_thread, by_owner = Counter[Hashable](), Counter[Hashable]()
    for pair in pairs:
        by_thread[accessor_key(pair)] += pair.counts.together
        by_owner[owner_key(pair)] += pair.counts.together
    texts = thread_names(pairs)
    threads = [key for key, _ in by_thread.most_common(most_threads)]
    place = {key: at for at, key in enumerate(threads)}
    shown = {key for key, _ in by_owner.most_common(most_owners)}
    owners = sorted(shown, key=lambda key: (_is_special(key), place.get(key, len(place)), -by_owner[key], texts[key]))
    groups: dict[Hashable, list[AccessPair]] = defaultdict(list)
    for pair in pairs:
        groups[accessor_key(pair) if accessor_key(pair) in place else None].append(pair)
    rows = [_row(texts[key], groups[key], owners, len(by_owner), key) for key in threads]
    if groups[None]:
        rows.append(_row(OTHER_THREADS, groups[None], owners, len(by_owner), None))
    more = (OTHER_OWNERS,) if len(by_owner) > len(owners) else ()
    return OwnerMatrix((*(texts[key] for key in owners), *more), tuple(rows))


def _row(
    name: str, pairs: Iterable[AccessPair], owners: Sequence[Hashable], all_owners: int, key: Hashable
) -> MatrixRow:
    place = {owner: at for at, owner in enumerate(owners)}
    cells = [Counts()] * (len(owners) + (all_owners > len(owners)))
    whose = {each.name: Counts() for each in fields(Owned)}
    for pair in pairs:
        at = place.get(owner_key(pair), len(owners))
        cells[at] += pair.counts
        whose[_whose(pair)] += pair.counts
    own = None if key is None or _is_special(key) else place.get(key)
    return MatrixRow(name, tuple(cells), Owned(**whose), own)


def _whose(pair: AccessPair) -> str:
    """Return the field of Owned that accesses belong to. Which virtual thread, or which of many threads, it was is unknown."""
    accessor, owner = accessor_key(pair), owner_key(pair)
    if not _is_special(accessor):
        return "local" if accessor == owner else "unknown" if owner == (UNKNOWN,) else "shared"
    return "shared" if accessor == (VIRTUAL,) and not _is_special(owner) else "unknown"


def accessor_key(pair: AccessPair) -> Hashable:
    """Return the identity of the thread that reads and writes."""
    return _key(pair.pid, pair.thread_id, pair.java_id)


def owner_key(pair: AccessPair) -> Hashable:
    """Return the identity of the thread whose the objects are."""
    return _key(pair.pid, pair.owner_thread_id, pair.owner_java_id)


def _key(pid: int, thread_id: int | None, java_id: int | None) -> Hashable:
    """Return a thread's identity as a key; a key of one element stands for what is no single thread."""
    if thread_id is not None:
        return (thread_id, None, None)
    if java_id is None or java_id <= 0:
        return (java_id if java_id in _SPECIAL else UNKNOWN,)
    return (None, pid, java_id)


def _is_special(key: Hashable) -> bool:
    return isinstance(key, tuple) and len(key) == 1


def name_of_no_thread(java_id: int | None) -> str:
    """Return what is shown in place of a thread's name: for virtual threads, many threads together, or an unknown one."""
    return _SPECIAL.get(java_id or UNKNOWN, _SPECIAL[UNKNOWN])


def thread_names(pairs: Iterable[AccessPair]) -> Mapping[Hashable, str]:
    """Return a different name for each thread of some pairs, by its key (`accessor_key`, `owner_key`).

    Threads of one name have their ids, those of several JVMs the process: under one name a thread's own objects would be as good
    as another's.
    """
    facts: dict[Hashable, tuple[str, int | None, int]] = {}
    for pair in pairs:
        facts[accessor_key(pair)] = (pair.accessor or name_of_no_thread(pair.java_id), pair.java_id, pair.pid)
        owner = (pair.owner or name_of_no_thread(pair.owner_java_id), pair.owner_java_id, pair.pid)
        facts.setdefault(owner_key(pair), owner)
    times = Counter((name, pid) for name, _, pid in facts.values())
    has_several = len({pid for _, _, pid in facts.values()}) > 1
    found = {key: name for key, (name, _, _) in facts.items()}
    for key, (name, java_id, pid) in facts.items():
        if not _is_special(key):
            number = f" #{java_id}" if times[name, pid] > 1 else ""
            found[key] = f"{name}{number}{f' of process {pid}' if has_several else ''}"
    same = Counter(found.values())
    return {key: f"{name} ({at})" if same[name] > 1 else name for at, (key, name) in enumerate(found.items())}
