"""The native account of lost cores against every instant counted on its own, for any input, sensible or not."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.account.attribution import BIN_NAMES
from support.builders.account_cases import Case, Piece, Slice, native
from support.oracles.account_oracle import CODE, account

END = 40
THREADS = 6
SMALL = st.integers(-2, 9)
LENGTHS = st.one_of(st.just(0), SMALL)
ENDS = st.integers(-5, END + 8)
WHO = st.integers(-1, THREADS)

SLICES = st.builds(
    Slice,
    thread=WHO,
    end=ENDS,
    running=LENGTHS,
    runnable=LENGTHS,
    blocked=st.one_of(LENGTHS, st.integers(0, END)),
    stolen=LENGTHS,
    waker=st.integers(-2, THREADS),
    irq=st.booleans(),
    blocked_in=st.integers(0, 10),
)


@st.composite
def pieces(draw: st.DrawFn) -> Piece:
    """Draw a wait."""
    cause = draw(
        st.sampled_from([*range(len(CAUSES)), CODE["imbalance"], CODE["imbalance"], CODE["starved_consumer"], 99])
    )
    target = draw(st.integers(-1, THREADS + 2))
    key = draw(st.integers(-1, 2))
    start = draw(ENDS)
    return Piece(
        draw(st.integers(-1, THREADS + 2)), start, start + draw(SMALL), cause, key, target, draw(st.booleans())
    )


LIKELY = ("imbalance", "imbalance", "starved_consumer", "lock_contention", "sleep", "io", "condition")
SPANS = st.tuples(ENDS, ENDS, st.integers(0, 6), st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0]))
OTHERS = st.tuples(ENDS, ENDS, SMALL, SMALL)


@st.composite
def cases(draw: st.DrawFn, is_sorted: bool = True) -> Case:
    """Draw a case; nothing about it need make sense but, perhaps, the order of its slices."""
    slices = draw(st.lists(SLICES, max_size=24))
    if is_sorted:
        slices.sort(key=lambda each: each.end)
    begin = draw(st.integers(0, END))
    return Case(
        kinds=draw(st.lists(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 255]), min_size=1, max_size=THREADS)),
        slices=slices,
        pieces=draw(st.lists(pieces(), max_size=16)),
        background=draw(st.lists(st.integers(0, 3), max_size=THREADS + 3)),
        exits=draw(st.lists(st.one_of(ENDS, st.just((1 << 63) - 1)), max_size=THREADS)),
        spans=draw(st.lists(SPANS, max_size=3)),
        others=draw(st.lists(OTHERS, max_size=4)),
        probes=sorted(draw(st.lists(st.tuples(ENDS, WHO), max_size=8))),
        window=(begin, draw(st.integers(begin, END))),
        cuts=draw(st.lists(ENDS, max_size=3)),
        cores=draw(st.sampled_from([1.0, 2.0, 2.5, 4.0, 0.5])),
        bin_ns=draw(st.integers(1, 50)),
    )


def program(random: Random) -> Case:
    """Make up a program whose threads do something all the time: much happens in few instants."""
    platform = random.randint(2, THREADS)
    slices, waits = [], []
    for thread in range(platform):
        now = random.randint(-5, 10)
        while now < END:
            blocked, runnable, running = (random.randint(0, most) for most in (12, 3, 8))
            now += blocked + runnable + running
            robbed = random.randint(0, running) if random.random() < 0.2 else 0
            waker, in_call = random.randrange(-2, platform), random.randint(0, 9)
            slices.append(Slice(thread, now, running, runnable, blocked, robbed, waker, random.random() < 0.1, in_call))
            if random.random() < 0.3:
                now += random.randint(0, 3)
    slices.sort(key=lambda each: each.end)
    likely = [CODE[name] for name in LIKELY]
    for thread in range(platform + 2):
        now = random.randint(-3, 8)
        while now < END and random.random() < 0.9:
            end = now + random.randint(1, 20)
            cause = random.choice([*likely, *likely, random.randrange(len(CAUSES))])
            target = random.randrange(-1, platform + 2)
            key = random.randint(-1, 2)
            directed = random.random() < (0.2 if cause in likely[:3] else 0.7)
            waits.append(Piece(thread, now, end, cause, key, target, directed))
            now = end + random.choice([0, 0, 3, 8])
    random.shuffle(waits)
    spans = [(begin := random.randint(0, END), begin + random.randint(0, 9), random.randint(0, 5), 0.5 * random.randint(1, 2))
             for _ in range(random.choice([0, 0, 1, 2]))]  # fmt: skip
    others = [(begin := random.randint(-3, END), begin + random.randint(1, 9), random.randint(0, 9), random.randint(0, 3))
              for _ in range(random.choice([0, 0, 2]))]  # fmt: skip
    return Case(
        kinds=[random.choice([0, 0, 0, 0, 0, 1, 2, 3, 4]) for _ in range(platform)],
        slices=slices,
        pieces=waits,
        background=[random.choice([0, 0, 0, 0, 1, 2, 3]) for _ in range(platform + 2)],
        exits=random.choice([[], [random.randint(END // 2, END)] * platform]),
        spans=spans,
        others=others,
        probes=[(ns, random.randrange(platform + 2)) for ns in range(END)],
        window=(random.randint(0, 5), random.randint(END - 5, END)),
        cuts=[random.randint(0, END)],
        cores=random.choice([1.0, 2.0, 3.5, 4.0, 6.0, 8.0]),
        bin_ns=random.randint(1, 50),
    )


def rows_of(segment: dict[str, Any]) -> dict[tuple[int, int, int], float]:
    """Return a segment's losses by (cause, key, thread)."""
    columns = (segment[name].tolist() for name in ("cause", "key", "thread", "core_ns"))
    return {(cause, key, thread): core_ns for cause, key, thread, core_ns in zip(*columns, strict=True)}


def assert_same(case: Case) -> None:
    """Compare the account with counting."""
    found = native(case)
    segments, probes = account(case)
    assert [(s["start_ns"], s["end_ns"]) for s in found["segments"]] == spans_of(case)
    for segment, wanted in zip(found["segments"], segments, strict=True):
        assert segment["used"].tolist() == pytest.approx(wanted.used, abs=1e-6)
        assert segment["stolen"] == pytest.approx(wanted.stolen, abs=1e-6)
        assert segment["other"] == pytest.approx(wanted.other, abs=1e-6)
        assert segment["excess_ns"] == pytest.approx(wanted.excess, abs=1e-6)
        rows = rows_of(segment)
        for row in rows.keys() | wanted.lost.keys():
            assert rows.get(row, 0.0) == pytest.approx(wanted.lost.get(row, 0.0), abs=1e-6), row
    kept = list(zip(found["directed"].tolist(), found["undirected"].tolist(), strict=True))
    inside = [case.window[0] <= ns < case.window[1] and thread >= 0 for ns, thread in case.probes]
    for got, want, counts in zip(kept, probes, inside, strict=True):
        assert got == pytest.approx(want if counts else (0.0, 0.0), abs=1e-6)


def spans_of(case: Case) -> list[tuple[int, int]]:
    """Return the segments that the cuts make of the window."""
    begin, end = case.window
    edges = [begin, *sorted({cut for cut in case.cuts if begin < cut < end}), end]
    return list(pairwise(edges))


def assert_identity(case: Case) -> None:
    """Check that everything sums to cores x time, and that the bins sum to it as well."""
    found = native(case)
    total = np.zeros(len(BIN_NAMES))
    for segment in found["segments"]:
        length = segment["end_ns"] - segment["start_ns"]
        parts = np.concatenate([segment["used"], [segment["stolen"], segment["other"]], segment["lost"]])
        assert (parts >= -1e-6).all()
        assert parts.sum() == pytest.approx(case.cores * length, abs=1e-5)
        assert segment["error_ns"] == pytest.approx(0, abs=1e-5)
        by_cause = np.zeros(len(CAUSES))
        np.add.at(by_cause, segment["cause"], segment["core_ns"])
        assert by_cause.tolist() == pytest.approx(segment["lost"].tolist(), abs=1e-5)
        total += parts
    bins = found["bins"].reshape(-1, len(BIN_NAMES))
    assert len(bins) == max(1, -(-(case.window[1] - case.window[0]) // case.bin_ns))
    assert bins.sum(axis=0).tolist() == pytest.approx(total.tolist(), abs=1e-5)


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_each_core_of_each_instant_of_a_busy_program_goes_where_the_rules_say(seed: int) -> None:
    case = program(Random(seed))
    assert_same(case)
    assert_identity(case)


@settings(max_examples=150)
@given(cases())
def test_each_core_of_each_instant_goes_where_the_rules_say(case: Case) -> None:
    assert_same(case)


@pytest.mark.parametrize("most_idle", [math.inf, 1.0])
@settings(max_examples=40)
@given(st.integers(0, 1 << 32))
def test_threads_that_share_the_cores_use_all_of_them_and_no_more(most_idle: float, seed: int) -> None:
    """As in a replay; with one idle core at most, causes have the time for which they keep one idle."""
    case = replace(program(Random(seed)), shares_cores=True, most_idle=most_idle)
    assert_same(case)
    assert all(segment["excess_ns"] == 0 for segment in native(case)["segments"])
    if math.isinf(most_idle):
        assert_identity(case)


@settings(max_examples=100)
@given(cases(is_sorted=False))
def test_slices_out_of_order_are_taken_as_far_as_they_fit(case: Case) -> None:
    assert_same(case)


@settings(max_examples=100)
@given(cases(is_sorted=False))
def test_everything_sums_to_cores_times_wall_time_whatever_comes_in(case: Case) -> None:
    assert_identity(case)


@given(
    st.lists(
        st.builds(
            Slice,
            thread=st.integers(-(1 << 31), (1 << 31) - 1),
            end=st.integers(-(1 << 63), (1 << 63) - 1),
            running=st.integers(-(1 << 63), (1 << 63) - 1),
            runnable=st.integers(-(1 << 63), (1 << 63) - 1),
            blocked=st.integers(-(1 << 63), (1 << 63) - 1),
            stolen=st.integers(-(1 << 63), (1 << 63) - 1),
            waker=st.integers(-(1 << 31), (1 << 31) - 1),
            blocked_in=st.integers(0, 255),
        ),
        max_size=12,
    )
)
def test_values_beyond_all_times_break_nothing(slices: list[Slice]) -> None:
    rows = [
        Slice(i % 2, *(getattr(s, n) for n in ("end", "running", "runnable", "blocked", "stolen")))
        for i, s in enumerate(slices)
    ]
    assert_identity(Case(kinds=[0, 1], slices=[*slices, *rows]))
    assert_identity(Case(kinds=[0, 1], slices=rows))


def mains_section(*waits: Piece, background: list[int]) -> dict[str, int]:
    """Return what is lost where thread 0 works alone for 30 of 40 on two cores, and then nobody; the others wait."""
    platform = max(1, len(background) - 1)  # the last one is a virtual thread
    slices = [Slice(0, 30, 30), *(Slice(who, 41, 1, 0, 41, waker=0) for who in range(1, platform))]
    case = Case(kinds=[0] * platform, slices=slices, pieces=list(waits), background=background)
    assert_same(case)
    lost = native(case)["segments"][0]["lost"].round().astype(int).tolist()
    return {cause: core_ns for cause, core_ns in zip(CAUSES, lost, strict=True) if core_ns}


@pytest.mark.parametrize(
    ("wait", "cause"),
    [
        (Piece(1, 0, 40, CODE["starved_consumer"], 3, 0), "starved_consumer"),
        (Piece(1, 0, 40, CODE["condition"], 3, 0, True), "condition"),
        (Piece(1, 0, 40, CODE["sleep"], -1, -1, True), "sleep"),
    ],
)
def test_a_background_thread_that_waits_beside_a_serial_section_takes_nothing_of_it(wait: Piece, cause: str) -> None:
    assert mains_section(wait, background=[0, 1, 1]) == {"serial_section": 30, cause: 20}
    assert mains_section(wait, background=[0, 0, 0])[cause] >= 30, "a thread that is needed is a reason"


def test_a_watcher_that_joins_who_started_it_leaves_that_one_its_serial_section() -> None:
    watches = Piece(1, 0, 40, CODE["imbalance"], 3, 0)
    # After its end nothing is known of main, so it is the watcher's own wait that is left.
    assert mains_section(watches, background=[0, 2, 1]) == {"serial_section": 30, "imbalance": 20}
    assert mains_section(watches, background=[0, 1, 1]) == {"imbalance": 50}


@pytest.mark.parametrize("cause", ["io", "sleep", "condition"])
def test_a_parked_virtual_thread_is_no_reason_while_somebody_works(cause: str) -> None:
    parked = Piece(1, 0, 40, CODE[cause], -1, -1, True)
    assert mains_section(parked, background=[0, 1]) == {"serial_section": 30, cause: 20}
    assert mains_section(parked, background=[0, 0])[cause] == 50, "one that is needed is a reason"


@pytest.mark.parametrize(
    ("blocked_in", "to_die", "before"),
    [
        (1, {"serial_section": 31, "blocked": 17}, {"serial_section": 1, "safepoint": 47}),
        (2, {"serial_section": 1, "sleep": 47}, {"serial_section": 1, "safepoint": 47}),
        (5, {"serial_section": 1, "io": 47}, {"serial_section": 1, "io": 47}),
    ],
)
def test_who_is_woken_to_die_did_not_wait_for_a_pause(
    blocked_in: int, to_die: dict[str, int], before: dict[str, int]
) -> None:
    # Thread 0 works until 30; the VM's thread runs from 38 on and at 39 wakes thread 1, which then runs.
    slices = [Slice(0, 30, 30), Slice(2, 39, 1, 0, 38), Slice(1, 40, 1, 0, 39, waker=2, blocked_in=blocked_in)]
    for exit_ns, wanted in ((39, to_die), (40, before)):
        case = Case(kinds=[0, 0, 3], slices=slices, exits=[exit_ns] * 3)
        assert_same(case)
        lost = native(case)["segments"][0]["lost"].round().astype(int).tolist()
        assert {cause: core_ns for cause, core_ns in zip(CAUSES, lost, strict=True) if core_ns} == wanted
