"""Groups blocks into rows: objects of one place, single objects, classes, or sites that wait.

A `unit` is the part of a group that waits for one object: holders are told per object, then added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered, numbered_pairs
from headway.analyses.locks.metrics import GroupedSums, grouped_sums
from headway.analyses.waits.object_places import ObjectPlaces, object_places
from headway.analyses.waits.tables.blocks import KINDS
from headway.model.lock_sums import LockSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.waits.tables.object_rows import Blockers

    Ints = NDArray[np.int64]

BY = ("place", "lock", "class", "site")
"""What a row stands for: the objects of one class that are waited for mostly at one line; an object; those of a class, wherever
they are waited for; all waits at a line, for whatever object."""
OF_OBJECTS = ("place", "lock")
"""Those by which a row with a single object is about that object."""


SUMS = (
    *("times_parked", "times_measured", "parked_now", "peak_parked"),
    *("thread_time_ns", "real_time_ns", "first_ns", "last_ns"),
)


@dataclass(frozen=True, eq=False)
class Groups:
    """The waits of a recording in groups: by object, by the line that waits, by class or by site, as columns.

    `group` is the group of each wait; `kind`, `label` (place, class or site; '' for objects) and `one_object` (the costliest) are
    of each group, and so are `columns`: the sums of LockSums by name. `object_group` is the group of each object (-1: none; not
    by site).
    """

    by: str
    count: int
    group: Ints
    kind: Ints
    label: list[str]
    columns: Mapping[str, Ints]
    blocks: GroupedSums
    one_object: Ints
    objects: Ints
    object_group: Ints
    end_ns: int
    places: ObjectPlaces

    def sums(self, group: int) -> LockSums:
        """Return a group's sums."""
        return LockSums(**{name: int(self.columns[name][group]) for name in SUMS}, end_ns=self.end_ns)


def make_groups(data: LockData, sites: Sites, by: str) -> Groups:
    """Group the blocks of the window; by lock and by class also objects of which no single block is left (capped)."""
    blocks, blockers = data.blocks, data.blockers
    places = object_places(data, sites)
    used = np.bincount(blocks.blocker, minlength=len(blockers)) > 0
    if data.is_whole:  # of all short-lived objects of a class nothing is left where each has its own row
        used |= blockers.is_object | (blockers.table["times_parked"] > 0)
    everyone = np.flatnonzero(used)
    object_group = np.full(len(blockers), -1, dtype=np.int64)
    label: list[str]
    if by == "lock":
        object_group[everyone] = np.arange(len(everyone))
        group, kind, label = object_group[blocks.blocker], blockers.kind[everyone], [""] * len(everyone)
    elif by == "place":
        _, object_group[everyone] = numbered(places.alike[everyone])
        count = int(object_group.max(initial=-1)) + 1
        first = np.zeros(count, dtype=np.int64)
        first[object_group[everyone]] = everyone
        group, kind = object_group[blocks.blocker], blockers.kind[first]
        label = [places.text(row) or "" for row in first.tolist()]
    elif by == "class":
        different, number = blockers.classes
        codes, inverse = numbered(number[everyone] * len(KINDS) + blockers.kind[everyone])
        object_group[everyone] = inverse
        group, kind = object_group[blocks.blocker], codes % len(KINDS)
        label = [different[code // len(KINDS)] for code in codes.tolist()]
    else:
        group, kind, label = _by_site(data, sites)
    count = len(label)
    window = None if data.is_whole else data.window
    sums = grouped_sums(group, blocks.began, blocks.full, count, window, blocks.waits.begins)
    columns = _columns(data, group, sums)
    if data.is_whole and by != "site":
        columns = _exact(data, everyone, object_group[everyone], columns, count)
    if by == "site":
        representative, objects = _objects(data, group, count)
    else:
        representative, objects = _objects_of(object_group, blockers, count)
    return Groups(
        by, count, group, kind, label, columns, sums, representative, objects, object_group, data.window[1], places
    )


def _by_site(data: LockData, sites: Sites) -> tuple[Ints, Ints, list[str]]:
    used, line = numbered(data.stacks.line_numbers(sites.stack))
    texts = [data.stacks.lines[number] for number in used.tolist()]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    different = [texts[number] for number in order]
    codes, group = numbered(place[line] * len(KINDS) + data.blocks.kind)
    return (
        group,
        codes % len(KINDS),
        [different[code // len(KINDS)] for code in codes.tolist()],
    )


def _objects(data: LockData, group: Ints, count: int) -> tuple[Ints, Ints]:
    """Return one object of each group, and how many it has."""
    groups, objects, _ = numbered_pairs(group, data.blocks.blocker)
    first = np.searchsorted(groups, np.arange(count))
    return objects[first] if count else np.zeros(0, np.int64), np.bincount(groups, minlength=count)


def _objects_of(object_group: Ints, blockers: Blockers, count: int) -> tuple[Ints, Ints]:
    """Return of each group the object that was waited for longest, and how many objects it has."""
    waited_ns = blockers.table["thread_time_ns"]
    representative = np.zeros(count, dtype=np.int64)
    rows = np.flatnonzero(object_group >= 0)
    order = rows[
        np.lexsort((-rows, waited_ns[rows]))
    ]  # the last assignment stays: the largest, of equal ones the first
    representative[object_group[order]] = order
    objects = np.bincount(object_group[rows], weights=blockers.objects[rows], minlength=count)
    return representative, objects.astype(np.int64)


def _columns(data: LockData, group: Ints, sums: GroupedSums) -> dict[str, Ints]:
    """Return the sums of single blocks."""
    now = sums.parked_now
    if data.is_whole:  # nothing is clipped: who still waits says so itself
        now = np.bincount(group[data.blocks.is_open], minlength=len(now))
    return {
        "times_parked": sums.times_parked,
        "times_measured": sums.times_parked,
        "parked_now": now,
        **{name: getattr(sums, name) for name in SUMS[3:]},
    }


def _exact(data: LockData, rows: Ints, group: Ints, single: Mapping[str, Ints], count: int) -> dict[str, Ints]:
    """Return the agent's sums. Of several objects the times with at least one waiter overlap, and so do their peaks: these
    two are told from single blocks, and are at least those of each object.
    """
    table = data.blockers.table
    origin = data.recording.window_ns[0]
    found: dict[str, Ints] = {}
    for name in ("times_parked", "times_measured", "parked_now", "thread_time_ns"):
        found[name] = np.zeros(count, dtype=np.int64)
        np.add.at(found[name], group, table[name][rows])
    alone = np.bincount(group, weights=data.blockers.objects[rows], minlength=count) == 1
    for name in ("peak_parked", "real_time_ns"):
        most = np.zeros(count, dtype=np.int64)
        np.maximum.at(most, group, table[name][rows])
        found[name] = np.where(alone, most, np.maximum(most, single[name]))
    found["first_ns"] = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(found["first_ns"], group, table["first_ns"][rows] - origin)
    found["last_ns"] = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(found["last_ns"], group, table["last_ns"][rows] - origin)
    return found


def units_of(data: LockData, groups: Groups, sites: Sites) -> tuple[Ints, Ints, Ints]:
    """Return per block its unit (-1: no contention, or no object), and per unit its object and its group."""
    blocks = data.blocks
    chosen = sites.contended & data.blockers.is_object[blocks.blocker]
    unit = np.full(len(blocks), -1, dtype=np.int64)
    if not chosen.any():
        return unit, np.zeros(0, np.int64), np.zeros(0, np.int64)
    of_group, of_object, unit[chosen] = numbered_pairs(groups.group[chosen], blocks.blocker[chosen])
    return unit, of_object, of_group
