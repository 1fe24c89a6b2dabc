"""Counts by virtual thread against events that fall each on a ns: the bounds hold them, and nothing is lost."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.parts import mounts as mounts_module
from headway.analyses.counters.types import Counters
from headway.store import open_recording
from support.builders.counted_builder import CountedSlice, counted_recording

GROUPS = (("mem:0x1000/8:w", "r01b1"),)
"""Events without a ceiling: of a slice that is cut anything from none to all is possible."""
WALL_NS = 400
CARRIERS = 2
NOBODY = -1


@dataclass(frozen=True)
class Ran:
    """A slice of a carrier, and how often the watched address was written in each ns of it."""

    carrier: int
    start_ns: int
    writes: tuple[int, ...]

    @property
    def end_ns(self) -> int:
        return self.start_ns + len(self.writes)


@st.composite
def slices_of_carriers(draw: st.DrawFn) -> list[Ran]:
    found = []
    for carrier in range(CARRIERS):
        at = draw(st.integers(0, 50))
        while at < WALL_NS and draw(st.integers(0, 6)):
            length = draw(st.integers(1, min(90, WALL_NS - at)))
            often = draw(st.integers(0, 5))
            from_ns, until_ns = sorted((draw(st.integers(0, length)), draw(st.integers(0, length))))
            found.append(Ran(carrier, at, tuple(often if from_ns <= ns < until_ns else 0 for ns in range(length))))
            at += length + draw(st.integers(0, 30))
    return found


@st.composite
def mounts_of_carriers(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """One after the other a carrier has one of four virtual threads, or none."""
    found = []
    for carrier in range(CARRIERS):
        at = draw(st.integers(0, 50))
        while at < WALL_NS and draw(st.integers(0, 8)):
            length = draw(st.integers(1, 120))
            found.append((carrier, draw(st.integers(50, 53)), at, min(length, WALL_NS - at)))
            at += length + draw(st.integers(0, 40))
    return found


def asked(path: Path, window: tuple[int, int] | None = None) -> Counters:
    recording = open_recording(path)
    try:
        return counters(recording, window)
    finally:
        recording.close()


def recorded(path: Path, slices: list[Ran], mounts: list[tuple[int, int, int, int]]) -> Path:
    counted = [
        CountedSlice(each.carrier, each.carrier, each.start_ns, len(each.writes), (sum(each.writes), 7))
        for each in slices
    ]
    return counted_recording(path, counted, WALL_NS, GROUPS, ("carrier",) * CARRIERS, (), None, (), mounts or None)


@settings(max_examples=20)  # each writes two recordings
@given(
    slices=slices_of_carriers(),
    mounts=mounts_of_carriers(),
    window=st.one_of(st.none(), st.tuples(st.integers(0, 199), st.integers(200, WALL_NS))),
)
def test_bounds_hold_what_each_virtual_thread_did_and_whole_slices_are_exact(
    slices: list[Ran], mounts: list[tuple[int, int, int, int]], window: tuple[int, int] | None
) -> None:
    begin, end = window or (0, WALL_NS)
    owner = {
        (carrier, ns): java_id for carrier, java_id, start, length in mounts for ns in range(start, start + length)
    }
    with tempfile.TemporaryDirectory() as folder:
        found = asked(recorded(Path(folder) / "a.headway", slices, mounts), window)
        plain = asked(recorded(Path(folder) / "b.headway", slices, []), window)
    rows = {int(row.key.get("java_id", row.key["tid"])): row for row in found.rows}
    did: dict[int, list[tuple[Ran, int, int]]] = {}
    for each in slices:
        of: dict[int, list[int]] = {}
        for ns in range(max(begin, each.start_ns), min(end, each.end_ns)):
            of.setdefault(owner.get((each.carrier, ns), 4000 + each.carrier), []).append(
                each.writes[ns - each.start_ns]
            )
        for who, writes in of.items():
            did.setdefault(who, []).append((each, len(writes), sum(writes)))
    assert {*rows} == {*did}
    for who, parts in did.items():
        figure = rows[who].counts[GROUPS[0][0]]
        assert rows[who].cpu_ns == rows[who].counted_ns == sum(length for _, length, _ in parts)
        whole = [sum(each.writes) for each, length, _ in parts if length == len(each.writes)]
        cut = [(sum(each.writes), length / len(each.writes)) for each, length, _ in parts if length < len(each.writes)]
        assert figure.value == pytest.approx(sum(whole) + sum(count * share for count, share in cut))
        assert figure.low == pytest.approx(sum(whole))
        assert figure.high == pytest.approx(sum(whole) + sum(count for count, _ in cut))
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low - 1e-6 <= sum(writes for *_, writes in parts) <= figure.high + 1e-6
    assert found.total == plain.total
    assert {row.key["kind"] for row in found.rows if "java_id" in row.key} <= {"virtual"}


def test_of_very_many_virtual_threads_those_that_ran_for_long_have_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts_module, "MOST_VIRTUAL", 2)
    mounts = [(0, 60 + place, 10 * place, place + 1) for place in range(6)]
    slices = [Ran(0, 10 * place, (1,) * (place + 1)) for place in range(6)]
    found = asked(recorded(tmp_path / "a.headway", slices, mounts))
    rows = {str(row.key["name"]): (row.cpu_ns, row.counts[GROUPS[0][0]].value) for row in found.rows}
    assert rows == {
        "virtual thread #65": (6, 6),
        "virtual thread #64": (5, 5),
        "(other virtual threads)": (10, 10),
    }


def test_a_recording_that_says_that_mounts_overlap_counts_nothing_twice(tmp_path: Path) -> None:
    slices = [Ran(0, 0, (1,) * 100)]
    found = asked(recorded(tmp_path / "a.headway", slices, [(0, 60, 10, 80), (0, 61, 30, 20), (0, 60, 40, 500)]))
    assert {row.key["name"]: row.cpu_ns for row in found.rows} == {
        "virtual thread #60": 20 + 60,
        "virtual thread #61": 10,
        "thread-0": 10,
    }
