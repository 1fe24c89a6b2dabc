"""A long window is accounted for in two halves; what is found is what one pass finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.lost_cores.account import attribution, half_windows
from headway.analyses.lost_cores.account.attribution import AccountSegment, Attribution
from headway.analyses.waits import pieces
from headway.store import open_recording
from support.builders import recording_builder


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Attribution, Attribution]:
    """Return the account in one pass and in two halves."""
    recording = open_recording(recording_builder.make(path / "made.headway"))
    waits = pieces.load(recording)
    found = []
    for slices in (1 << 60, 0):
        monkeypatch.setattr(half_windows, "SLICES", slices)
        found.append(attribution.sweep(recording, waits, **options))
    return found[0], found[1]


def rows_of(segment: AccountSegment) -> dict[tuple[int, int, int], int]:
    """Return the losses by (cause, key, thread); those of a few ns may be rounded away."""
    columns = (values.tolist() for values in (segment.cause, segment.key, segment.thread, segment.core_ns))
    return {row[:3]: row[3] for row in zip(*columns, strict=True) if row[3] > 4}


def assert_alike(one: Attribution, two: Attribution) -> None:
    """Compare all of two accounts, but for the rounding of sums."""
    assert [(s.start_ns, s.end_ns) for s in one.segments] == [(s.start_ns, s.end_ns) for s in two.segments]
    for a, b in zip(one.segments, two.segments, strict=True):
        assert a.used_ns == pytest.approx(b.used_ns, abs=2)
        assert (a.stolen_ns, a.other_ns, a.excess_ns) == pytest.approx((b.stolen_ns, b.other_ns, b.excess_ns), abs=2)
        assert rows_of(a) == pytest.approx(rows_of(b), abs=4)
    assert np.abs(one.bins - two.bins).max() <= 1
    assert one.directed.tolist() == pytest.approx(two.directed.tolist())
    assert one.undirected.tolist() == pytest.approx(two.undirected.tolist())


@pytest.mark.parametrize("cuts", [(), (700_000_000, 1_900_000_000), (1_500_000_000,)])
def test_halves_find_what_one_pass_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: tuple[int, ...]
) -> None:
    instants = np.arange(0, 3_000_000_000, 10_000_000)
    probes = (instants, (np.arange(len(instants)) % 24).astype(np.int32))
    one, two = both(tmp_path, monkeypatch, cores=8, cuts=cuts, probes=probes)
    assert one.segments[0].core_ns.sum() > 0
    assert (one.directed + one.undirected).max() > 0
    assert_alike(one, two)


def test_a_window_is_halved_between_two_bins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = both(tmp_path, monkeypatch, cores=5, window=(123_456_789, 2_345_678_901), bins=7)
    assert len(one.bins) == 7
    assert_alike(one, two)


def test_a_single_bin_is_not_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = both(tmp_path, monkeypatch, bins=1)
    assert len(two.bins) == 1
    assert_alike(one, two)
    assert half_windows.middle(100, 160, 60) == 100
