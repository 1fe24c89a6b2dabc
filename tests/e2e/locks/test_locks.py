"""The published bottleneck patterns, 64 threads: a large critical section, and a frequently acquired lock.

Every expectation comes from what the program measured of the same run, or from JFR beside it. A park lies inside the wait
that the program measures around it, and a hold of headway's around the one that the program measures inside it; what is
between them is time in which the thread ran or wanted to, which the kernel's record tells.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import pytest

from headway.store.packing import TICK_NS
from support.drivers.recording_cli import JAVA_17, javas
from support.oracles.lock_oracle import (
    Acquisition,
    LockRun,
    Span,
    compare_with_jfr,
    length_ns,
    locks_json,
    peak,
    record_locks,
    union,
)

pytestmark = pytest.mark.root
THREADS = 64
ROUNDING_NS = 8 * TICK_NS
"""States are stored in ticks: each of a few changes may have moved by one."""
MAY_SLEEP_ELSEWHERE = 0.05
"""The JVM stops threads for moments of its own (safepoints, compiled code thrown out, classes loaded): of so many waits or
holds, at most, the edges may hold some sleep."""


@dataclass(frozen=True)
class Pattern:
    program: str
    kind: str
    java: str
    seconds: float
    ranking: tuple[str, ...]  # the bottleneck first

    @property
    def factors(self) -> list[int]:
        return [1] * len(self.ranking)


LARGE_S, FREQUENT_S = 4, 2.5
"""So long a program goes on: some sixty holds of 64 ms, most of them with all other threads waiting."""
LARGE = ("lock-64ms", "lock-16ms", "lock-4ms")
FREQUENT = ("frequent", "rare")
PATTERNS = {
    "large-juc": Pattern("LargeCriticalSection", "juc", JAVA_17, LARGE_S, LARGE),
    "large-monitor": Pattern("LargeCriticalSection", "monitor", JAVA_17, LARGE_S, LARGE),
    "large-monitor-jdk25": Pattern("LargeCriticalSection", "monitor", javas()[1], LARGE_S, LARGE),
    "large-juc-jdk25": Pattern("LargeCriticalSection", "juc", javas()[1], LARGE_S, LARGE),
    "frequent-juc": Pattern("FrequentLock", "juc", JAVA_17, FREQUENT_S, FREQUENT),
    "frequent-monitor": Pattern("FrequentLock", "monitor", JAVA_17, FREQUENT_S, FREQUENT),
}


@dataclass
class Case:
    pattern: Pattern
    run: LockRun

    def waits(self, name: str) -> list[Acquisition]:
        """Return the acquisitions of a lock that had to wait."""
        return [each for each in self.run.log[name] if self.parks_in(name, each)]

    def parks_in(self, name: str, of: Acquisition) -> list[Span]:
        """Return headway's blocks on the lock inside one of the program's waits."""
        spans = self.blocks(name)[of.java_id]
        first = bisect.bisect_left(spans, (of.asked_ns, 0))
        last = bisect.bisect_right(spans, (of.acquired_ns, 1 << 62))
        return spans[first:last]

    def blocks(self, name: str) -> dict[int, list[Span]]:
        """Return headway's blocks on a lock by java id, in order."""
        found: dict[int, list[Span]] = defaultdict(list)
        for java_id, start, dur in self.run.rows(
            "SELECT java_id, start_ns, dur_ns FROM block WHERE blocker_id = $1 ORDER BY start_ns",
            (self.run.row(name)["blocker_id"],),
        ):
            found[java_id].append((start, start + dur))
        return found


@pytest.fixture(scope="module", params=PATTERNS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    pattern = PATTERNS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    words = (pattern.kind, pattern.seconds, *pattern.factors, THREADS)
    run = record_locks(
        folder, pattern.program, *words, java=pattern.java, jfr=pattern.java == JAVA_17, log=folder / "log.csv"
    )
    return Case(pattern, run)


def test_the_bottleneck_is_named_first_and_the_others_by_thread_time_as_the_program_waited(case: Case) -> None:
    own = {lock["identity_hash"]: lock for lock in case.run.said["locks"]}
    first = own.get(case.run.locks[0]["identity_hash"])
    assert first, "nothing but the program's locks comes first"
    assert first["name"] == case.pattern.ranking[0]
    assert first["wait_ns"] == max(lock["wait_ns"] for lock in own.values())
    rows = locks_json(case.run.path, "--sort", "thread-time")
    waits = [own[row["identity_hash"]]["wait_ns"] for row in rows if row["identity_hash"] in own]
    assert len(waits) == len(own)
    # The program's waits hold some time awake as well, which may turn two that are almost equal.
    assert all(before > 0.95 * after for before, after in pairwise(waits))
    assert all(case.run.row(name)["contention"] for name in case.pattern.ranking)


def test_at_its_peak_all_threads_but_the_holder_wait_for_the_bottleneck(case: Case) -> None:
    for name in case.pattern.ranking:
        waits = [(each.java_id, (each.asked_ns, each.acquired_ns)) for each in case.run.log[name]]
        asleep = [span for java_id, wait in waits for span in case.run.asleep(java_id, wait)]
        found = case.run.row(name)["peak_parked"]
        # One may sleep for the JVM's own sake; and that many slept at once, by the kernel, is up to the machine.
        assert max(1, peak(asleep) - 1) <= found <= peak(wait for _, wait in waits) <= THREADS
        assert found == peak(span for spans in case.blocks(name).values() for span in spans)


def test_nobody_waits_any_more_at_the_end(case: Case) -> None:
    assert [case.run.row(name)["parked_now"] for name in case.pattern.ranking] == [0] * len(case.pattern.ranking)


def test_every_block_lies_inside_a_wait_that_the_program_measured(case: Case) -> None:
    for name in case.pattern.ranking:
        parks = [len(case.parks_in(name, each)) for each in case.run.log[name]]
        assert sum(parks) == sum(map(len, case.blocks(name).values()))
        # A thread that is woken and finds the lock taken parks again: one wait all the same.
        assert case.run.row(name)["times_parked"] == sum(each > 0 for each in parks) > 0


def test_parking_times_are_the_sums_of_the_blocks_and_each_is_the_programs_wait_less_the_time_awake_in_it(
    case: Case,
) -> None:
    for name in case.pattern.ranking:
        row = case.run.row(name)
        blocks = [span for spans in case.blocks(name).values() for span in spans]
        assert row["parking_thread_time_ns"] == length_ns(blocks)
        assert row["parking_real_time_ns"] == length_ns(union(blocks))
        unexplained = 0
        waits = case.waits(name)
        for each in waits:
            span = each.asked_ns, each.acquired_ns
            rest_ns = span[1] - span[0] - length_ns(case.parks_in(name, each))
            assert rest_ns >= 0
            unexplained += rest_ns > case.run.awake_ns(each.java_id, span) + ROUNDING_NS
        assert unexplained <= max(1, MAY_SLEEP_ELSEWHERE * len(waits))  # one of a few waits, too


def test_utilisations_in_the_steady_part_are_near_the_highest_possible_for_the_bottleneck_alone(case: Case) -> None:
    begin_ns = case.run.recording.window_ns[0]
    said = case.run.said
    window = ((said["begin_ns"] + said["stop_ns"]) // 2, said["stop_ns"])
    span_ns = window[1] - window[0]
    options = ("--from", f"{window[0] - begin_ns}ns", "--to", f"{window[1] - begin_ns}ns")
    rows = {row["identity_hash"]: row for row in locks_json(case.run.path, *options)}
    for name in case.pattern.ranking:
        spans = [(each.asked_ns, each.acquired_ns) for each in case.run.log[name]]
        own_pct = 100 * length_ns(spans, window) / span_ns, 100 * length_ns(union(spans), window) / span_ns
        cut = [(each.java_id, (max(each.asked_ns, window[0]), each.acquired_ns)) for each in case.run.log[name]]
        awake_ns = sum(case.run.awake_ns(java_id, span) for java_id, span in cut if span[0] < span[1])
        asleep_pct = own_pct[0] - 100 * awake_ns / span_ns
        row = rows.get(case.run.own(name)["identity_hash"])
        found_pct = (row["thread_time_util_pct"], row["real_time_util_pct"]) if row else (0.0, 0.0)
        if name == case.pattern.ranking[0]:
            # Published: 6,201 % and 6,135 %. A machine that stands still may keep the program itself from that.
            assert min(6000, asleep_pct - MAY_SLEEP_ELSEWHERE * own_pct[0]) < found_pct[0] <= own_pct[0] <= 6400
            assert asleep_pct <= 6000 or found_pct[0] > 6000
            assert 95 < found_pct[1] <= own_pct[1] <= 100  # published: 99.6 % and 98.0 %
        assert found_pct[0] <= own_pct[0] + 1e-6
        assert found_pct[1] <= own_pct[1] + 1e-6


def test_the_papers_formulas_hold_between_the_figures_of_a_row(case: Case) -> None:
    wall_ns = case.run.recording.wall_ns
    for name in case.pattern.ranking:
        row = case.run.row(name)
        thread_ns, real_ns = row["parking_thread_time_ns"], row["parking_real_time_ns"]
        assert row["average_parking_time_ns"] == pytest.approx(thread_ns / row["times_parked"], rel=1e-6)
        assert row["average_hold_time_ns"] == pytest.approx(real_ns / row["times_parked"], rel=1e-6)
        assert row["thread_time_util_pct"] == pytest.approx(100 * thread_ns / wall_ns, rel=1e-6)
        assert row["real_time_util_pct"] == pytest.approx(100 * real_ns / wall_ns, rel=1e-6)
        assert real_ns <= thread_ns <= THREADS * real_ns
        assert row["thread_life_time_util_pct"] >= row["thread_time_util_pct"]
        assert row["real_life_time_util_pct"] >= row["real_time_util_pct"]


def test_the_first_event_names_a_thread_and_a_place_in_the_program(case: Case) -> None:
    for name in case.pattern.ranking:
        row = case.run.row(name)
        assert row["first_thread"].startswith("locker-")
        assert any(f"headway.workloads.{case.pattern.program}" in str(frame) for frame in row["first_stack"])
        assert row["sites"], "there is at least the first one"


def test_every_contended_acquisition_of_a_synchronizer_is_a_hold_around_the_one_that_the_program_measured(
    case: Case,
) -> None:
    if case.pattern.kind != "juc":
        pytest.skip("a monitor's acquisitions are seen from the wakings of the next")
    for name in case.pattern.ranking:
        holds = holds_of(case, name)
        matched = {}
        for each in case.run.log[name]:
            around = [hold for hold in holds[each.java_id] if is_around(hold, each)]
            assert len(around) <= 1
            if around:
                matched[around[0]] = each
        assert len(matched) == sum(map(len, holds.values())), "every hold is one of the program's"
        waited = case.waits(name)
        assert {id(each) for each in waited} <= {id(each) for each in matched.values()}
        unexplained = 0
        for hold, each in matched.items():
            edges_ns = hold[1] - hold[0] - each.held_ns
            unexplained += edges_ns > awake_at_the_edges_ns(case, each, hold) + ROUNDING_NS
        assert unexplained <= MAY_SLEEP_ELSEWHERE * len(matched)


def is_around(hold: Span, acquisition: Acquisition) -> bool:
    return hold[0] <= acquisition.acquired_ns and hold[1] >= acquisition.released_ns


def awake_at_the_edges_ns(case: Case, of: Acquisition, hold: Span) -> int:
    """Return how long the holder was awake between what headway and what the program take for begin and end."""
    before, after = (hold[0], of.acquired_ns), (of.released_ns, hold[1])
    return case.run.awake_ns(of.java_id, before) + case.run.awake_ns(of.java_id, after)


def holds_of(case: Case, name: str) -> dict[int, list[Span]]:
    """Return headway's holds of a lock by java id."""
    found: dict[int, list[Span]] = defaultdict(list)
    for java_id, start, dur in case.run.rows(
        "SELECT java_id, start_ns, dur_ns FROM hold WHERE blocker_id = $1", (case.run.row(name)["blocker_id"],)
    ):
        found[java_id].append((start, start + dur))
    return found


def test_the_median_true_hold_time_of_the_bottleneck_is_what_the_program_measured(case: Case) -> None:
    name = case.pattern.ranking[0]
    holds = holds_of(case, name)
    pairs = [(each, hold) for each in case.run.log[name] for hold in holds[each.java_id] if is_around(hold, each)]
    assert len(pairs) == sum(map(len, holds.values()))
    # Of a monitor only those holds are seen that end with a waking.
    assert len(pairs) >= len(case.waits(name)) // (1 if case.pattern.kind == "juc" else 2)
    own = sorted(each.held_ns for each, _ in pairs)
    with_edges = sorted(each.held_ns + awake_at_the_edges_ns(case, each, hold) for each, hold in pairs)
    found = case.run.row(name)["true_hold_time_ns"]
    assert own[int(0.4 * len(own))] <= found["p50"] <= with_edges[int(0.6 * len(own))] + ROUNDING_NS
    assert own[len(own) // 2] <= found["p99"] <= found["max"]
    assert max(own) <= found["max"]


def test_the_waker_is_the_thread_that_gave_the_lock_back(case: Case) -> None:
    stopped = case.run.said["stop_ns"]
    for name in case.pattern.ranking:
        log = sorted(case.run.log[name], key=lambda each: each.released_ns)
        released = [each.released_ns for each in log]
        overtook = [not case.parks_in(name, each) for each in log]
        woken = case.run.rows(
            "SELECT waking_ns, waker_java_id FROM block WHERE blocker_id = $1 AND waking_ns < $2",
            (case.run.row(name)["blocker_id"], stopped),
        )
        # A thread that waits for a monitor also wakes by itself, to look again: then there is no waker, never a wrong one.
        known = [each for each in woken if each[1] is not None]
        assert known
        assert len(known) == len(woken) if case.pattern.kind == "juc" else 2 * len(known) > len(woken)
        for waking_ns, waker in known:
            last = bisect.bisect_right(released, waking_ns) - 1
            # Who is kept off the CPU between giving it back and waking the next may be overtaken by some that do not queue.
            while log[last].java_id != waker and overtook[last]:
                last -= 1
            assert last >= 0
            assert log[last].java_id == waker
        # Whoever slept was woken; a thread that gets the permit, or the monitor, as it is about to sleep, was not.
        rows = case.run.rows(
            "SELECT java_id, start_ns, start_ns + dur_ns, waking_ns FROM block WHERE blocker_id = $1",
            (case.run.row(name)["blocker_id"],),
        )
        for java_id, start, end, waking_ns in rows:
            asleep_ns = end - start - case.run.awake_ns(java_id, (start, end))
            assert waking_ns is not None or asleep_ns < ROUNDING_NS


def test_a_waiter_knows_who_owned_the_synchronizer_when_it_began_to_wait(case: Case) -> None:
    if case.pattern.kind != "juc":
        pytest.skip("the JVM does not tell a monitor's owner without stopping")
    for name in case.pattern.ranking:
        held = sorted((each.acquired_ns, each.released_ns, each.java_id) for each in case.run.log[name])
        assert all(before[1] <= after[0] for before, after in pairwise(held)), "one at a time"
        rows = case.run.rows(
            "SELECT java_id, start_ns, owner_java_id FROM block WHERE blocker_id = $1",
            (case.run.row(name)["blocker_id"],),
        )
        owners = {(java_id, start_ns): owner for java_id, start_ns, owner in rows}
        checked = 0
        for each in case.run.log[name]:
            for start_ns, _ in case.parks_in(name, each):
                # The thread looked at some moment after it asked, or was woken and overtaken, and before its park began.
                at = bisect.bisect_right(held, (each.asked_ns, 1 << 62, 0)) - 1
                if at >= 0 and held[at][1] >= start_ns:
                    assert owners[each.java_id, start_ns] == held[at][2]
                    checked += 1
        assert checked > 0


def test_jfr_counts_the_same_blocks_of_the_programs_threads_and_as_much_time(case: Case) -> None:
    if not case.run.jfr:
        pytest.skip("this JDK has no JFR")
    compare_with_jfr(case.run, set(case.run.said["java_ids"]))
