"""The table `blocker` in bounded memory: objects with most waiting get rows of their own, the others share rows.

Question   what were threads waiting for, when a server makes an object for every request and a million of them were waited for?
Method     as many objects as memory is for keep a row of their own, those with the most waiting. All others of one process, kind,
           class and place (where their first waiter stood) share one: its sums are exact, and it is no object (no holders, no
           chains), as the agent's own sums of forgotten objects are none. Of such classes and places the MOST_SHARED with most
           waiting have a row each; what was waited for at all others has one for each class, or, where these are too many as
           well, for each process and kind, or, where these are, for each kind, without a place (NO_PROCESS).
Wrong when an object that was hardly waited for in all matters in a short window: there it has no row of its own either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common import memory
from headway.analyses.common.columns import numbered_texts, shared_texts
from headway.analyses.common.notices import OBJECTS_LEFT
from headway.analyses.waits.object_names import MANY_CLASSES, SLEEP, display
from headway.analyses.waits.tables.block_rows import KINDS, whole
from headway.errors import Notice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

_IDS = ("blocker_id", "pid", "identity_hash", "first_stack_id")
_SUMS = ("times_parked", "times_measured", "parked_now", "thread_time_ns", "holds", "hold_ns")
_MOST = ("last_ns", "died_ns", "peak_parked", "real_time_ns")
_NUMBERS = (*_IDS, *_SUMS, *_MOST, "first_ns")
_TEXTS = ("kind", "class_name", "first_thread")
_SAME = ("pid", "kind", "class_name", "first_stack_id")
"""What objects have in common that share a row."""
_IS_OBJECT = "(identity_hash <> 0 AND class_name <> '')"
MOST_SHARED = 16_384
"""So many classes and places have a row each that objects share; so many classes those of the other places. More rows that are no
objects than that, as the agent makes one for each class, share rows as well."""
NO_PROCESS = -1
"""As `pid`: of many processes."""


@dataclass(frozen=True, eq=False)
class Blockers:
    """The lock objects. `table` has the columns of the table `blocker` (null is -1), ordered by blocker_id.

    `objects`: how many share a row; 1 for most. `is_of_places`: the row is shared by objects of many places. `row_of`: the row of
    each blocker_id; empty where these are dense, and each has its own.
    """

    pid: Ints
    kind: Ints
    is_object: NDArray[np.bool_]
    table: Mapping[str, Any]
    objects: Ints
    is_of_places: NDArray[np.bool_]
    row_of: NDArray[np.int32]

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.pid)

    def rows_of(self, ids: Ints) -> Ints:
        """Return the rows of objects by blocker_id; -1 for ids missing in the table."""
        known = self.table["blocker_id"]
        if len(self.row_of):
            inside = (ids >= 0) & (ids < len(self.row_of))
            return np.where(inside, self.row_of[np.where(inside, ids, 0)], -1).astype(np.int64)
        # Ids are dense in a recording, but nobody has to rely on it.
        if not len(known):
            return np.full(len(ids), -1, dtype=np.int64)
        rows = np.minimum(np.searchsorted(known, ids), len(known) - 1).astype(np.int64)
        return np.where(known[rows] == ids, rows, -1)

    def blocker_id(self, row: int) -> int:
        """Return the id of an object."""
        return int(self.table["blocker_id"][row])

    def class_name(self, row: int) -> str:
        """Return the class of an object; '' for parks without one."""
        return str(self.table["class_name"][row])

    @cached_property
    def classes(self) -> tuple[list[str], Ints]:
        """Return the distinct classes in order, and each object's index among them."""
        return numbered_texts(self.table["class_name"])

    def class_ends(self, ending: str) -> NDArray[np.bool_]:
        """Return which objects have a class whose name has this ending."""
        names, place = self.classes
        return np.array([name.endswith(ending) for name in names], dtype=bool)[place]

    @cached_property
    def is_sleep(self) -> NDArray[np.bool_]:
        """Return which row stands for virtual threads in Thread.sleep."""
        found: NDArray[np.bool_] = ~self.is_object & (self.table["class_name"] == SLEEP).astype(bool)
        return found

    def name(self, row: int) -> str:
        """Return an object's name for people: ReentrantLock$NonfairSync@1f2e3d."""
        return display(self.class_name(row), int(self.table["identity_hash"][row]))


def read_blockers(recording: Recording) -> Blockers:
    """Read the objects; if they do not all fit in memory, some share rows, and HW437 is noted."""
    recording.kept.pop(OBJECTS_LEFT, None)
    count = _number(recording, "SELECT count(*) FROM blocker")
    most = memory.most_objects(count)
    if count <= most:
        return _blockers(recording, _own("true"), np.zeros(0, np.int32))
    # Of objects with equal times either all have a row or none: their number must not pass what memory is for.
    cut = _number(recording, f"SELECT thread_time_ns FROM blocker ORDER BY thread_time_ns DESC LIMIT 1 OFFSET {most}")
    sums = _number(recording, f"SELECT count(*) FROM blocker WHERE NOT {_IS_OBJECT}")
    kept = f"(thread_time_ns > {cut}{f' OR NOT {_IS_OBJECT}' if sums <= MOST_SHARED else ''})"
    others, of_places = _others(recording, kept)
    found = _blockers(recording, f"{_own(kept)} UNION ALL {_shared(others)}", _row_of(recording, kept, others))
    folded = int(found.objects[found.objects > 1].sum())
    recording.kept[OBJECTS_LEFT] = Notice.of(
        "HW438" if of_places else "HW437",
        objects=count,
        kept=count - folded,
        folded=folded,
        **({"places": of_places, "shown": MOST_SHARED} if of_places else {}),
        needed=memory.text(memory.needed_for_objects(count)),
        limit=memory.text(memory.limit()),
    )
    return found


def _others(recording: Recording, kept: str) -> tuple[str, int]:
    """Return a query for the objects without a row of their own, and how many classes and places share rows with others.

    It has class and place as their rows have them: of the MOST_SHARED with the most waiting the object's own.
    """
    same = ", ".join(_SAME)
    plain = f"SELECT *, false AS is_of_places FROM blocker WHERE NOT {kept}"
    groups = f"SELECT {same}, sum(thread_time_ns) AS waited_ns FROM blocker WHERE NOT {kept} GROUP BY {same}"
    many = _number(recording, f"SELECT count(*) FROM ({groups})") - MOST_SHARED
    if many <= 0:
        return plain, 0
    dearest = f"SELECT {same} FROM ({groups}) ORDER BY waited_ns DESC, {same} LIMIT {MOST_SHARED}"
    alike = " AND ".join(f"b.{name} IS NOT DISTINCT FROM g.{name}" for name in _SAME)
    rest = f"SELECT b.* FROM blocker b ANTI JOIN ({dearest}) g ON {alike} WHERE NOT {kept}"
    class_name, pid = (
        name
        if _number(recording, f"SELECT count(*) FROM (SELECT DISTINCT {alike} FROM ({rest}))") <= MOST_SHARED
        else all_others
        for name, alike, all_others in (
            ("class_name", "pid, kind, class_name", f"'{MANY_CLASSES}'"),
            ("pid", "pid, kind", str(NO_PROCESS)),
        )
    )
    return (
        f"SELECT b.*, false AS is_of_places FROM blocker b SEMI JOIN ({dearest}) g ON {alike} WHERE NOT {kept}"
        f" UNION ALL SELECT * REPLACE ({pid} AS pid, {class_name} AS class_name, NULL AS first_stack_id), true AS is_of_places"
        f" FROM ({rest})"
    ), many


def _number(recording: Recording, text: str) -> int:
    row = recording.query(text).fetchone()
    return int(row[0]) if row is not None else 0


def _own(kept: str) -> str:
    return f"SELECT {', '.join((*_NUMBERS, *_TEXTS))}, 1 AS objects, false AS is_of_places FROM blocker WHERE {kept}"


def _shared(others: str) -> str:
    """Return a query for one row for each class and place of the other objects; its columns are those of `_own`."""
    columns = {
        **dict.fromkeys(_SAME),
        **{name: f"CAST(sum({name}) AS BIGINT)" for name in _SUMS},
        **{name: f"max({name})" for name in _MOST},
        "died_ns": "CASE WHEN count(died_ns) = count(*) THEN max(died_ns) END",
        "blocker_id": "min(blocker_id)",
        "identity_hash": "CASE WHEN count(*) = 1 THEN max(identity_hash) ELSE 0 END",
        "first_ns": "min(first_ns)",
        "first_thread": "arg_min(first_thread, first_ns)",
    }
    chosen = ", ".join(f"{columns[name] or name} AS {name}" for name in (*_NUMBERS, *_TEXTS))
    same = ", ".join((*_SAME, "is_of_places"))
    return f"SELECT {chosen}, count(*) AS objects, is_of_places FROM ({others}) GROUP BY {same}"


def _blockers(recording: Recording, query: str, row_of_id: NDArray[np.int32]) -> Blockers:
    columns = (*_NUMBERS, "objects", "is_of_places")
    found = recording.query(f"SELECT {', '.join(columns)} FROM ({query}) ORDER BY blocker_id").fetchnumpy()
    table: dict[str, Any] = {name: whole(found[name]) for name in columns}
    objects, is_of_places = table.pop("objects"), table.pop("is_of_places") > 0
    batches = recording.batches(f"SELECT {', '.join(_TEXTS)} FROM ({query}) ORDER BY blocker_id")
    table |= shared_texts(batches, _TEXTS)
    kind = np.zeros(len(table["kind"]), dtype=np.int64)
    for number, name in enumerate(KINDS):
        kind[table["kind"] == name] = number
    is_object = (table["identity_hash"] != 0) & (table["class_name"] != "")
    if len(row_of_id):  # numbers of rows in place of the ids that stand for them
        known = row_of_id >= 0
        row_of_id[known] = np.searchsorted(table["blocker_id"], row_of_id[known])
    return Blockers(table["pid"], kind, is_object, table, objects, is_of_places, row_of_id)


def _row_of(recording: Recording, kept: str, others: str) -> NDArray[np.int32]:
    """Return for each blocker_id the one whose row it has: its own, or that of the first which it shares a row with."""
    alike = (*_SAME, "is_of_places")
    same = " AND ".join(f"b.{name} IS NOT DISTINCT FROM g.{name}" for name in alike)
    shared = f"SELECT min(blocker_id) AS row_id, {', '.join(alike)} FROM ({others}) GROUP BY ALL"
    found = np.full(_number(recording, "SELECT max(blocker_id) FROM blocker") + 1, -1, dtype=np.int32)
    for text in (
        f"SELECT blocker_id, blocker_id AS row_id FROM blocker WHERE {kept}",
        f"SELECT b.blocker_id, g.row_id FROM ({others}) b JOIN ({shared}) g ON {same}",
    ):
        for batch in recording.batches(text):
            ids, rows = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("blocker_id", "row_id"))
            found[ids] = rows
    return found
