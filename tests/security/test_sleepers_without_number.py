"""A recording in which many threads sleep again and again: what they slept beside is read once, and not once for each of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.lost_cores import polling_sleeps
from headway.analyses.lost_cores.polling_sleeps import WatchedThreads
from headway.store import open_recording
from support.builders import synthetic
from support.builders.synthetic import ORIGIN, FakeThread

THREADS, WALL = 9, 1000


@pytest.mark.parametrize("most", [1 << 23, 0], ids=["kept", "no room to keep any"])
def test_others_are_read_once_for_all_that_sleep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Each of sixty sleepers had the slices of 32 threads read: of a million, 4 MB, that was minutes, of ten million an hour."""
    threads = [
        FakeThread("app", 0, [("B", 10 * number), ("R", 90), ("B", 200), ("R", 40 + number)], f"t{number}")
        for number in range(THREADS)
    ]
    recording = open_recording(synthetic.write(tmp_path / "a.headway", threads, WALL))
    monkeypatch.setattr(polling_sleeps, "MOST_INTERVALS", most)
    reads: Counter[int] = Counter()
    real = polling_sleeps._active

    def noted(of: Any, thread: int) -> Any:
        reads[thread] += 1
        return real(of, thread)

    monkeypatch.setattr(polling_sleeps, "_active", noted)
    others = WatchedThreads(recording)
    instants = np.arange(WALL)
    for thread in range(THREADS):
        is_active, stopped_ns = others.at(thread, instants + ORIGIN)
        beside = [each for number, each in enumerate(threads) if number != thread]
        expected = [any(each.at(t) == "R" for each in beside) for t in range(WALL)]
        assert is_active.tolist() == expected
        last = 0
        for t in range(WALL):
            if expected[t]:
                last = ORIGIN + t + 1
            else:
                assert stopped_ns[t] == last
    assert set(reads.values()) == ({1} if most else {THREADS - 1})
