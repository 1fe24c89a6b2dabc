"""Finds where threads of the program slept, and how long those sleeps last after a change.

Question   which sleeps does `--no-sleep REGEX=SECONDS` mean?
Method     a sleep is a wait until a time that no thread ended. Its place is the line, as `headway locks` names it, at which the
           JVM reported a wait then (recorded locks: Object.wait and parkNanos with a time limit), or that of a sample of the
           thread's wall time taken during it. What a sample cut in two is one sleep (native/replay/run_steps.h). One that ran
           so late after a sample that its sleep may have been over is unsure: part of a sleep, one, or several. A pattern that
           matches no place means the threads whose names it matches, as `headway why` names them: all of their sleeps.
Assumes    the program sleeps as often as it did. The kernel ends a sleep up to SLACK_NS late (prctl, PR_SET_TIMERSLACK).
Wrong when the program looks for something in between: then it sleeps more often, the shorter each is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct, places_of
from headway.analyses.common.patterns import in_time
from headway.analyses.common.units import percent
from headway.analyses.waits.classification.roles import IS_IDLE
from headway.analyses.waits.classification.sites import lines_of, sites_of
from headway.analyses.waits.tables import blocks
from headway.analyses.waits.tables.blocks import has_locks, whole
from headway.analyses.waits.tables.wait_stacks import line_of_frames
from headway.analyses.whatif.types import NUMBER
from headway.errors import HeadwayError
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from headway.analyses.whatif.types import SleepChange
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

SLACK_NS = 50_000
"""So late the kernel ends a sleep at most by its own, unless a program asks for another slack."""
MOST_WITHOUT_PLACE = 0.1
"""Part of the time asleep whose place may be unknown."""
WORTH_TRYING = 0.05
"""Threads whose sleeps have no place sleep for more than this part of the run, all added up, to be tried without."""
_MOST_NAMES = 5
_MOST_LOOKED_AT = 64
"""Names of threads, those that sleep longest, that are compared with all places: a recording may have any number of both."""
_NEAR_NS = 1_000_000
"""So long after a sleep a sample of it may be taken: the thread wakes up for it."""
_JAVA = ("java", "interpreted", "inlined", "c1")
_ASLEEP = "event = 'wall' AND state IS DISTINCT FROM 'running' AND thread_id IS NOT NULL AND stack_id IS NOT NULL"


@dataclass(frozen=True, eq=False)
class Sleeps:
    """The sleeps of a run by their steps. `place`: an index into `places`, -1 unknown; `virtual`: where virtual threads slept.

    `names`: of the threads that slept, by the number in `thread`.
    """

    step: Ints
    thread: Ints
    names: Mapping[int, str]
    length_ns: Ints
    place: Ints
    places: tuple[str, ...]
    virtual: frozenset[str]
    is_unsure: Bools

    def text(self, row: int) -> str:
        """Return the place of a sleep, or its thread."""
        place = int(self.place[row])
        return self.places[place] if place >= 0 else self.names[int(self.thread[row])]

    @property
    def is_unknown(self) -> Bools:
        """Return which sleeps have no place."""
        return self.place < 0


@dataclass(frozen=True, eq=False)
class ChangedSleeps:
    """Sleeps after a change: how long those last that are changed, and those that may be, as their place is unknown.

    `recorded_ns`: how long those that are changed lasted; `is_unsure`: which of them may be parts of sleeps, or several.
    """

    step: Ints
    asked_ns: Ints
    recorded_ns: Ints
    is_unsure: Bools
    unknown_step: Ints
    unknown_ns: int


def changed_sleeps(recording: Recording, steps: Mapping[str, Ints], changes: tuple[SleepChange, ...]) -> ChangedSleeps:
    """Return how long sleeps last after changes of them, given the program's steps (RunSteps.program_steps).

    Raises HeadwayError HW850 (no places), HW851 (too many without), HW852 (no such place), HW853 (of virtual threads), HW854
    (changed twice).
    """
    sleeps = _sleeps(recording, steps)
    asked = np.full(len(sleeps.step), -1, np.int64)
    by = np.full(len(sleeps.step), -1, np.int64)
    at_places_ns = -1
    for number, each in enumerate(changes):
        found, is_by_place = _matching(recording, sleeps, each)
        twice = found & (by >= 0)
        if twice.any():
            first = int(np.flatnonzero(twice)[0])
            one = changes[int(by[first])].text
            raise HeadwayError("HW854", place=sleeps.text(first), one=one, other=each.text)
        by[found], asked[found] = number, round(each.seconds * 1e9)
        at_places_ns = max(at_places_ns, round(each.seconds * 1e9)) if is_by_place else at_places_ns
    may_be_meant = sleeps.is_unknown & (asked < 0) & (at_places_ns >= 0)
    share = int(sleeps.length_ns[may_be_meant].sum()) / max(int(sleeps.length_ns.sum()), 1)
    if share > MOST_WITHOUT_PLACE:
        raise HeadwayError("HW851", path=recording.path, share=percent(share), limit=percent(MOST_WITHOUT_PLACE))
    with_change = np.flatnonzero(asked >= 0)
    return ChangedSleeps(
        sleeps.step[with_change],
        asked[with_change],
        sleeps.length_ns[with_change],
        sleeps.is_unsure[with_change],
        sleeps.step[may_be_meant],
        max(at_places_ns, 0),
    )


def longest(recording: Recording, steps: Mapping[str, Ints], count: int) -> list[str]:
    """Return patterns of the places at which threads sleep longest, all added up.

    Where too many sleeps have no place, they are patterns of the application's threads that sleep longest at unknown places,
    those alike but for their numbers together. Who waits for work, or for a timer's time to come, and not in the middle of
    something, is left out.
    """
    sleeps = _sleeps(recording, steps)
    total = int(sleeps.length_ns.sum())
    if int(sleeps.length_ns[sleeps.is_unknown].sum()) > MOST_WITHOUT_PLACE * total:
        return _longest_threads(recording, sleeps, count)
    sums, idle = _by_place(sleeps), _idle_places(recording)
    sums[[i for i, text in enumerate(sleeps.places) if text in idle]] = 0
    at = np.argsort(-sums, kind="stable")[:count].tolist()
    found = [sleeps.places[i] for i in at if sums[i] > 0 and sleeps.places[i] not in sleeps.virtual]
    return [f"^{re.escape(place)}$" for place in found]


def _longest_threads(recording: Recording, sleeps: Sleeps, count: int) -> list[str]:
    """Return patterns of the threads that sleep longest at unknown places and have none of those that match a place."""
    rows = recording.query("SELECT thread_id FROM thread WHERE kind = 'app'").fetchall()
    application = {int(thread) for (thread,) in rows}
    sums: dict[str, int] = {}
    for thread, of in places_of(sleeps.thread):
        name = sleeps.names.get(thread, "")
        if thread in application and name:
            pattern = f"^{re.sub('[0-9]+', lambda _: NUMBER, re.escape(name))}$"
            sums[pattern] = sums.get(pattern, 0) + int(sleeps.length_ns[of][sleeps.is_unknown[of]].sum())
    least_ns = WORTH_TRYING * recording.wall_ns
    long = sorted((each for each in sums if sums[each] > least_ns), key=lambda each: -sums[each])[:_MOST_LOOKED_AT]
    return [each for each in long if not any(map(re.compile(each).search, sleeps.places))][:count]


def _idle_places(recording: Recording) -> frozenset[str]:
    """Return the lines at which threads wait for work or for a timer's time, and nowhere for anything else."""
    if not has_locks(recording):
        return frozenset()
    data = blocks.load(recording, None)
    sites = sites_of(data)
    rows = np.flatnonzero(data.blocks.is_timed & (sites.stack >= 0))
    idle = IS_IDLE[sites.rule[rows]]
    busy = lines_of(data, sites.stack[rows[~idle]]).values()
    return frozenset(lines_of(data, sites.stack[rows[idle]]).values()) - {*busy}


def _by_place(sleeps: Sleeps) -> Floats:
    """Return how long threads sleep at each place."""
    known = ~sleeps.is_unknown
    return np.bincount(sleeps.place[known], sleeps.length_ns[known], len(sleeps.places)).astype(np.float64)


def _matching(recording: Recording, sleeps: Sleeps, change: SleepChange) -> tuple[Bools, bool]:
    """Return which sleeps a change means, and whether by their places; else it is by their threads."""
    with in_time(change.place.pattern, recording.path):
        found = [i for i, text in enumerate(sleeps.places) if change.place.search(text)]
        virtual = [text for text in sleeps.virtual if change.place.search(text)]
        threads = [thread for thread, name in sleeps.names.items() if change.place.search(name)]
    if virtual:
        raise HeadwayError("HW853", path=recording.path, place=min(virtual))
    if found:
        return np.isin(sleeps.place, found), True
    if threads:
        return np.isin(sleeps.thread, threads), False
    if not sleeps.places:
        raise HeadwayError("HW850", path=recording.path)
    there = [sleeps.places[i] for i in np.argsort(-_by_place(sleeps), kind="stable").tolist()]
    near = nearest_first(change.place.pattern, there, _MOST_NAMES)
    raise HeadwayError("HW852", path=recording.path, pattern=change.place.pattern, places=", ".join(near))


class _Places:
    """Numbers places in the order in which they are met."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def of(self, text: str) -> int:
        return self.number.setdefault(text, len(self.number))


def _sleeps(recording: Recording, steps: Mapping[str, Ints]) -> Sleeps:
    rows = np.flatnonzero(steps["is_sleep"])
    columns = {name: np.asarray(column[rows], np.int64) for name, column in steps.items()}
    places, virtual = _Places(), set[str]()
    place = np.full(len(rows), -1, np.int64)
    if has_locks(recording):
        _find_in_blocks(recording, columns, place, places, virtual)
    if recording.has("sample"):
        _find_in_samples(recording, columns, place, places)
    length_ns = columns["woken_ns"] - columns["begin_ns"]
    return Sleeps(
        columns["step"],
        columns["thread"],
        _names(recording, columns["thread"]),
        length_ns,
        place,
        tuple(places.number),
        frozenset(virtual),
        columns["is_unsure"].astype(bool),
    )


def _names(recording: Recording, thread: Ints) -> Mapping[int, str]:
    """Return the names of the threads that slept."""
    slept = set(distinct(thread).tolist())
    rows = recording.query("SELECT thread_id, name FROM thread").fetchall()
    return {one: name or "" for one, name in rows if one in slept}


def _find_in_blocks(
    recording: Recording, sleeps: Mapping[str, Ints], place: Ints, places: _Places, virtual: set[str]
) -> None:
    """Find the places of sleeps during which the JVM reported a wait until a time."""
    data = blocks.load(recording, None)
    sites = sites_of(data)
    rows = np.flatnonzero(data.blocks.is_timed & (sites.stack >= 0))
    text_of = lines_of(data, sites.stack[rows])
    origin = recording.window_ns[0]
    is_virtual = data.blocks.thread[rows] >= data.platform_threads
    virtual.update(text_of[stack] for stack in set(sites.stack[rows[is_virtual]].tolist()))
    rows = rows[~is_virtual]
    began, full = data.blocks.began[rows] + origin, data.blocks.full[rows] + origin
    of_thread = dict(places_of(data.blocks.thread[rows].astype(np.int64)))
    for thread, of in places_of(sleeps["thread"]):
        waits = of_thread.get(thread)
        if waits is None:
            continue
        waits = waits[np.argsort(began[waits], kind="stable")]
        middle = (sleeps["begin_ns"][of] + sleeps["woken_ns"][of]) // 2
        at = np.searchsorted(began[waits], middle, side="right") - 1
        there = (at >= 0) & (full[waits[at]] >= middle)
        stacks = sites.stack[rows[waits[at[there]]]].tolist()
        place[of[there]] = [places.of(text_of[stack]) for stack in stacks]


def _find_in_samples(recording: Recording, sleeps: Mapping[str, Ints], place: Ints, places: _Places) -> None:
    """Find the places of sleeps of which a sample was taken."""
    rows = recording.query(
        f"SELECT thread_id, ns, stack_id FROM sample WHERE {_ASLEEP} ORDER BY thread_id, ns"
    ).fetchnumpy()
    thread, ns, stack = (whole(rows[name]) for name in ("thread_id", "ns", "stack_id"))
    lines = _lines(recording)
    of_thread = dict(places_of(thread))
    until = np.minimum(sleeps["end_ns"], sleeps["woken_ns"] + _NEAR_NS)
    open_ones = np.flatnonzero(place < 0)
    for one, at_open in places_of(sleeps["thread"][open_ones]):
        taken = of_thread.get(one)
        if taken is None:
            continue
        of = open_ones[at_open]
        at = np.searchsorted(ns[taken], sleeps["begin_ns"][of])
        there = (at < len(taken)) & (ns[taken[np.minimum(at, len(taken) - 1)]] <= until[of])
        texts = [lines.get(each, "") for each in stack[taken[at[there]]].tolist()]
        place[of[there]] = [places.of(text) if text else -1 for text in texts]


def _lines(recording: Recording) -> dict[int, str]:
    """Return the line that each stack of a thread asleep is at; those without Java code are left out."""
    rows: Iterable[tuple[int, str, str, int | None]] = recording.query(
        "SELECT s.stack_id, f.class_name, f.method, f.line FROM stack s JOIN frame f ON f.frame_id = s.frame_id"
        f" WHERE f.kind IN ({', '.join(repr(kind) for kind in _JAVA)}) AND f.class_name IS NOT NULL"
        f" AND s.stack_id IN (SELECT stack_id FROM sample WHERE {_ASLEEP}) ORDER BY s.stack_id, s.depth"
    ).fetchall()
    frames: dict[int, list[tuple[str, str, int | None]]] = {}
    for stack, class_name, method, line in rows:
        frames.setdefault(stack, []).append((class_name, method or "", line))
    return {stack: line_of_frames(each) for stack, each in frames.items()}
