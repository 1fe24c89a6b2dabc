"""Whose objects are read and written: agents' records of random schedules become what the schedule says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from headway.analyses.objects.analysis import objects
from headway.analyses.objects.matrix import owner_matrix
from headway.analyses.objects.types import AccessAnswer, AccessPair, Counts, Grouping, Owned
from headway.errors import HeadwayError
from headway.model.object_owners import OWNER_RULES, OwnerRule
from headway.report.analyses.object_heat import heat_map
from headway.report.analyses.object_owners import matrix_table
from headway.report.json.objects import objects_json
from headway.store import open_recording
from support.builders.access_agent import COMPLETE, accessing_agent, finished
from support.builders.allocation_spool_builder import AllocatingAgent, Sums4, access_recording

KINDS = 4
FOREIGN = 0x7FFFFFFFFFFFFFFD
WITH_OWNERS = COMPLETE | {b"access_owners": b"allocator"}
NAMES = {1: "main", 21: "w1"}
CLASSES = {1: "com.acme.Order", 2: "com.acme.Book"}


@dataclass
class Schedule:
    """Threads that allocate objects and use each other's, and the sums that an agent keeps of it, block by block."""

    chance: random.Random
    rule: OwnerRule = "allocator"
    owners: dict[int, int] = field(default_factory=dict)
    uses: Counter[tuple[int, int, int, int]] = field(default_factory=Counter)
    """By accessing thread, class, owner (0: unknown) and kind."""

    def turn(self) -> None:
        """Let one thread allocate an object, or use one."""
        thread = self.chance.choice(list(NAMES))
        if self.chance.random() < 0.3 or not self.owners:
            self.owners[len(self.owners)] = self.chance.choice([thread, thread, 0])
            return
        used, kind = self.chance.choice(list(self.owners)), self.chance.randrange(KINDS)
        self.uses[thread, self.chance.choice(list(CLASSES)), self.owners[used], kind] += 1
        if self.rule == "last-writer" and kind % 2:
            self.owners[used] = thread

    def records(self, agent: AllocatingAgent, block: int) -> None:
        """Add the sums so far, as an agent writes them each second, in any order."""
        writes: list[Callable[[], None]] = []
        for thread in NAMES:
            for number in CLASSES:
                local, shared, unknown = (self._sums(thread, number, whose) for whose in range(3))
                a, b, c, d = map(sum, zip(local, shared, unknown, strict=True))
                writes.append(partial(agent.accessed, thread, number, block, (a, b, c, d, 0, 0)))
                writes.append(partial(agent.owned, thread, number, block, local, shared, self.rule))
            writes += [
                partial(agent.paired, thread, owner, block, self.pair(thread, owner), self.rule)
                for owner in (*NAMES, 0)
            ]
        self.chance.shuffle(writes)
        for write in writes:
            write()

    def _sums(self, thread: int, number: int, whose: int) -> Sums4:
        a, b, c, d = (self._sum(thread, number, whose, kind) for kind in range(KINDS))
        return a, b, c, d

    def _sum(self, thread: int, number: int, whose: int, kind: int) -> int:
        wanted = {0: {thread}, 1: set(NAMES) - {thread}, 2: {0}}[whose]
        return sum(self.uses[thread, number, owner, kind] for owner in wanted)

    def pair(self, thread: int, owner: int) -> Sums4:
        """Return how often a thread used an owner's objects, by kind."""
        a, b, c, d = (sum(self.uses[thread, number, owner, kind] for number in CLASSES) for kind in range(KINDS))
        return a, b, c, d

    def of(self, thread: int, whose: int) -> tuple[int, ...]:
        """Return how often a thread used its own (0), others' (1) and unknown objects (2), by kind."""
        return tuple(sum(self._sum(thread, number, whose, kind) for number in CLASSES) for kind in range(KINDS))


def flat(counts: Counts) -> tuple[int, ...]:
    return (counts.tuple_reads, counts.tuple_writes, counts.array_reads, counts.array_writes)


def answer(folder: Path, agent: AllocatingAgent, by: Grouping = "thread") -> AccessAnswer:
    found = objects(finished(folder, agent), by).accesses
    assert found is not None
    return found


@pytest.mark.parametrize("rule", OWNER_RULES)
@pytest.mark.parametrize("seed", range(5))
def test_what_an_agent_counts_of_a_random_schedule_is_what_the_schedule_says(
    seed: int, rule: OwnerRule, tmp_path: Path
) -> None:
    agent = accessing_agent(WITH_OWNERS | {b"access_owners": rule.encode()})
    agent.java_class(2, b"com.acme.Book")
    schedules = [Schedule(random.Random(seed * 10 + block), rule) for block in range(2)]  # of each thread two blocks
    for turn in range(200):
        for block, schedule in enumerate(schedules):
            schedule.turn()
            if turn % 60 == 59 or turn == 199:
                schedule.records(agent, block)
    found = answer(tmp_path, agent)
    assert found.rules == (found.rule,) == (rule,)
    by_thread = {each.java_id: each.owned for each in found.groups}
    for thread in NAMES:
        owned = by_thread[thread]
        assert owned is not None
        for whose, counts in enumerate((owned.local, owned.shared, owned.unknown)):
            wanted = [sum(each) for each in zip(*(each.of(thread, whose) for each in schedules), strict=True)]
            assert flat(counts) == tuple(wanted)
    pairs = {(each.accessor, each.owner or ""): flat(each.counts) for each in found.pairs}
    for thread, name in NAMES.items():
        for owner in (*NAMES, 0):
            wanted = [sum(each) for each in zip(*(each.pair(thread, owner) for each in schedules), strict=True)]
            assert pairs.get((name, NAMES.get(owner, "")), (0, 0, 0, 0)) == tuple(wanted)


def test_of_two_rules_each_has_its_own_owners_and_the_allocator_is_shown_first(tmp_path: Path) -> None:
    agent = accessing_agent(WITH_OWNERS | {b"access_owners": b"allocator,last-writer"})
    agent.accessed(21, 1, 1, (5, 4, 0, 0, 0, 0))
    for rule, counts in (("allocator", (5, 4, 0, 0)), ("last-writer", (2, 1, 0, 0))):
        agent.owned(21, 1, 1, counts, (0, 0, 0, 0), rule)
        agent.paired(21, 21, 1, counts, rule)
    recording = finished(tmp_path, agent)
    found = {rule: objects(recording, "thread", rule=rule).accesses for rule in (None, *OWNER_RULES)}
    assert found[None] == found["allocator"] != found["last-writer"]
    for rule, counts in (("allocator", (5, 4, 0, 0)), ("last-writer", (2, 1, 0, 0))):
        accessed = found[rule]  # type: ignore[index]
        assert accessed is not None
        assert accessed.rules == OWNER_RULES
        assert accessed.owned is not None
        own = {each.owner: flat(each.counts) for each in accessed.pairs}["w1"]
        assert flat(accessed.owned.local) == own == counts
        assert sum(each.counts.together for each in accessed.pairs) == 9
        heat = heat_map(accessed)
        assert heat is not None
        assert ("who wrote to the object last (columns)" in heat.title) == (rule == "last-writer")
        assert matrix_table(accessed).title == heat.title


def test_a_rule_that_was_not_recorded_is_refused_with_those_that_were(tmp_path: Path) -> None:
    agent = accessing_agent(WITH_OWNERS)
    agent.accessed(21, 1, 1, (5, 0, 0, 0, 0, 0))
    recording = finished(tmp_path, agent)
    with pytest.raises(HeadwayError, match=r"HW815.*by last-writer; it has them by allocator"):
        objects(recording, rule="last-writer")


@pytest.mark.parametrize(
    ("coverage", "says"),
    [
        (b"object_ids=268435456", "HW817"),
        (b"object_ids=1024,unseen_writes=7,has_unnoted=1", "HW818"),
        (b"object_ids=1024", "HW816"),
    ],
)
def test_what_may_be_wrong_of_the_last_writer_is_said(coverage: bytes, says: str, tmp_path: Path) -> None:
    """Of 2**31 hashes an eighth are numbers' where 2**28 are given."""
    facts = {b"access_owners": b"last-writer", b"accesses_coverage": COMPLETE[b"accesses_coverage"] + b"," + coverage}
    agent = accessing_agent(WITH_OWNERS | facts)
    agent.accessed(21, 1, 1, (800, 0, 0, 0, 0, 0))
    agent.owned(21, 1, 1, (100, 0, 0, 0), (0, 0, 0, 0), "last-writer")
    agent.paired(21, 21, 1, (100, 0, 0, 0), "last-writer")
    agent.paired(21, FOREIGN, 1, (700, 0, 0, 0), "last-writer")
    notices = {each.id: each.message for each in objects(finished(tmp_path, agent)).notices}
    assert {"HW816", says} <= set(notices) <= {"HW816", says, "HW806", "HW843"}
    wrong = 100 if says == "HW817" else 1  # 700 are 7 of 8
    assert f"about {wrong} accesses" in notices["HW816"]


def test_where_writes_are_not_noted_a_threads_own_objects_are_unknown_by_the_last_writer_alone(tmp_path: Path) -> None:
    facts = {
        b"access_owners": b"allocator,last-writer",
        b"accesses_coverage": b"object_ids=1024,unseen_writes=7,has_unnoted=1",
    }
    agent = accessing_agent(WITH_OWNERS | facts)
    agent.accessed(21, 1, 1, (9, 0, 0, 0, 0, 0))
    for rule in OWNER_RULES:
        agent.owned(21, 1, 1, (5, 0, 0, 0), (3, 0, 0, 0), rule)
        agent.paired(21, 21, 1, (5, 0, 0, 0), rule)
        agent.paired(21, 1, 1, (3, 0, 0, 0), rule)
        agent.paired(21, 0, 1, (1, 0, 0, 0), rule)
    recording = finished(tmp_path, agent)
    for rule, local, unknown in (("allocator", 5, 1), ("last-writer", 0, 6)):
        found = objects(recording, "thread", rule=rule).accesses
        assert found is not None
        assert found.owned is not None
        of = found.owned
        assert (of.local.tuple_reads, of.shared.tuple_reads, of.unknown.tuple_reads) == (local, 3, unknown)
        assert sum(each.counts.tuple_reads for each in found.pairs if each.owner is None) == unknown


def test_writes_that_never_ran_weaken_nothing(tmp_path: Path) -> None:
    facts = {b"access_owners": b"last-writer", b"accesses_coverage": b"object_ids=1024,unseen_writes=7,has_unnoted=0"}
    agent = accessing_agent(WITH_OWNERS | facts)
    agent.accessed(21, 1, 1, (5, 0, 0, 0, 0, 0))
    agent.owned(21, 1, 1, (5, 0, 0, 0), (0, 0, 0, 0), "last-writer")
    found = objects(finished(tmp_path, agent), "thread")
    assert found.accesses is not None
    assert found.accesses.owned is not None
    assert found.accesses.owned.local.tuple_reads == 5
    assert "HW818" not in {each.id for each in found.notices}


def test_numbers_that_are_used_up_weaken_both_rules(tmp_path: Path) -> None:
    facts = {b"access_owners": b"allocator,last-writer", b"accesses_coverage": b"owners=3,object_ids=268435456"}
    agent = accessing_agent(WITH_OWNERS | facts)
    agent.accessed(21, 1, 1, (800, 0, 0, 0, 0, 0))
    recording = finished(tmp_path, agent)
    for rule in OWNER_RULES:
        assert "HW817" in {each.id for each in objects(recording, rule=rule).notices}


def test_more_owners_than_accesses_are_no_more_than_all_of_them(tmp_path: Path) -> None:
    agent = accessing_agent(WITH_OWNERS)
    agent.accessed(21, 1, 1, (5, 0, 0, 0, 0, 0))
    agent.owned(21, 1, 1, (3, 9, 0, 0), (4, 0, 0, 0))
    (group,) = answer(tmp_path, agent).groups
    assert group.owned is not None
    assert (group.owned.local.tuple_reads, group.owned.shared.tuple_reads) == (3, 2)
    assert group.owned.local.tuple_writes == group.owned.unknown.tuple_reads == 0


def test_hashes_of_the_program_s_own_are_unknown_owners_and_how_many_read_like_one_is_said(tmp_path: Path) -> None:
    agent = accessing_agent(
        WITH_OWNERS | {b"accesses_coverage": COMPLETE[b"accesses_coverage"] + b",owners=9,owners_left_out=0"}
    )
    agent.accessed(21, 1, 1, (10_000, 0, 0, 0, 0, 0))
    agent.owned(21, 1, 1, (0, 0, 0, 0), (22, 0, 0, 0))
    agent.paired(21, FOREIGN, 1, (9_978, 0, 0, 0))
    agent.paired(21, 1, 1, (22, 0, 0, 0))
    recording = finished(tmp_path, agent)
    said = " ".join(str(notice.as_json()) for notice in objects(recording).notices if notice.id == "HW847")
    assert "about 22 accesses" in said  # 9,978 x 9 / (4,096 - 9)
    found = objects(recording).accesses
    assert found is not None
    assert {(each.owner, each.owner_java_id) for each in found.pairs} == {(None, 0), ("main", 1)}


def test_a_jvm_whose_owners_are_not_known_has_no_rows_of_them(tmp_path: Path) -> None:
    agent = accessing_agent(COMPLETE | {b"access_owners": b"unknown"})
    agent.accessed(21, 1, 1, (5, 0, 0, 0, 0, 0))
    agent.owned(21, 1, 1, (5, 0, 0, 0), (0, 0, 0, 0))
    recording = finished(tmp_path, agent)
    assert not recording.has("access_owner")
    assert "HW848" in {notice.id for notice in objects(recording).notices}
    assert objects_json(objects(recording))["shared"] is None


def test_the_matrix_has_a_row_for_each_thread_and_a_column_for_each_owner(tmp_path: Path) -> None:
    recording = open_recording(access_recording(tmp_path / "a.headway", with_owners=True))
    found = objects(recording, "pair").accesses
    assert found is not None
    table = matrix_table(found)
    assert {row[0] for row in table.rows} == {"main", "(virtual threads)", "(many threads)"}
    assert all(sum(row[1:]) > 0 for row in table.rows)  # type: ignore[arg-type]
    assert {"(virtual threads)", "(unknown)"} <= set(table.columns)


def test_each_access_of_a_thread_is_in_one_pair_what_was_counted_without_an_owner_with_an_unknown_one(
    tmp_path: Path,
) -> None:
    agent = accessing_agent(WITH_OWNERS)
    agent.accessed(21, 1, 1, (100, 20, 3, 0, 0, 0))
    agent.owned(21, 1, 1, (40, 0, 3, 0), (10, 5, 0, 0))
    agent.paired(21, 21, 1, (40, 0, 3, 0))
    agent.paired(21, 1, 1, (10, 5, 0, 0))
    agent.paired(21, FOREIGN, 1, (7, 0, 0, 0))
    agent.paired(21, 0, 1, (1, 0, 0, 0))
    found = answer(tmp_path, agent)
    counts = {each.owner: flat(each.counts) for each in found.pairs}
    assert counts == {"w1": (40, 0, 3, 0), "main": (10, 5, 0, 0), None: (50, 15, 0, 0)}
    (group,) = found.groups
    assert group.owned is not None
    assert flat(group.owned.unknown) == counts[None]


@pytest.mark.parametrize(("threads", "owners"), [(None, 99), (1, 1), (2, 1)])
def test_the_matrix_of_a_random_schedule_adds_up_whatever_is_left_together(
    threads: int | None, owners: int, tmp_path: Path
) -> None:
    agent, schedule = accessing_agent(WITH_OWNERS), Schedule(random.Random(7))
    for _ in range(300):
        schedule.turn()
    agent.java_class(2, b"com.acme.Book")
    schedule.records(agent, 0)
    found = answer(tmp_path, agent)
    matrix = owner_matrix(found.pairs, threads, owners)
    by_name = {row.name: row for row in matrix.rows}
    for thread, name in NAMES.items():
        row = by_name.get(name)
        if row is None:
            continue
        owned = [flat(each) for each in (row.owned.local, row.owned.shared, row.owned.unknown)]
        assert owned == [schedule.of(thread, whose) for whose in range(3)]
        cells = dict(zip(matrix.columns, map(flat, row.cells), strict=True))
        for owner, owner_name in NAMES.items():
            if owner_name in cells:
                assert cells[owner_name] == schedule.pair(thread, owner)
        assert row.own == (matrix.columns.index(name) if name in matrix.columns else None)
    every = [flat(cell) for row in matrix.rows for cell in row.cells]
    assert [sum(each) for each in zip(*every, strict=True)] == [
        sum(schedule.of(thread, whose)[kind] for thread in NAMES for whose in range(3)) for kind in range(KINDS)
    ]
    assert len(matrix.rows) == (2 if threads is None else min(2, threads + 1))
    assert len(matrix.columns) == min(3, owners + 1)


def test_threads_of_one_name_are_two_rows_of_the_matrix_and_own_is_the_thread_not_the_name() -> None:
    def pair(java_id: int, owner: int, reads: int) -> AccessPair:
        return AccessPair(9, "worker", java_id, java_id, "worker", owner, owner, Counts(reads))

    matrix = owner_matrix((pair(5, 5, 8), pair(5, 6, 4), pair(6, 5, 2)), None, 9)
    assert matrix.columns == ("worker #5", "worker #6")
    first, second = matrix.rows
    assert (first.name, first.own, first.owned.local, first.owned.shared) == ("worker #5", 0, Counts(8), Counts(4))
    assert (second.name, second.own, second.owned.local, second.owned.shared) == ("worker #6", 1, Counts(), Counts(2))


def test_own_objects_of_virtual_threads_are_not_known_as_they_are_one_owner_together() -> None:
    virtual = AccessPair(9, None, -2, None, None, -2, None, Counts(3))
    others = AccessPair(9, None, -2, None, "main", 1, 0, Counts(4))
    (row,) = owner_matrix((virtual, others), None, 9).rows
    assert (row.name, row.own) == ("(virtual threads)", None)
    assert row.owned == Owned(Counts(), Counts(4), Counts(3))
