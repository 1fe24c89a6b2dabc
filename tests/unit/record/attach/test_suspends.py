"""A machine that slept while it was recorded is noticed by its clocks: one stands still, the other goes on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headway.record.machine import suspends

S = 1_000_000_000


class Clocks:
    """Clocks of a machine that sleeps when it is told to. Each reading takes some time."""

    def __init__(self, reading_ns: int) -> None:
        self.monotonic_ns, self.slept_ns, self.reading_ns = 50 * S, 7 * S, reading_ns

    def read(self, clock: int) -> int:
        self.monotonic_ns += self.reading_ns
        return self.monotonic_ns + (self.slept_ns if clock == time.CLOCK_BOOTTIME else 0)


@pytest.mark.parametrize("reading_ns", [30, 2_000_000])
def test_time_that_the_machine_slept_is_told(monkeypatch: pytest.MonkeyPatch, reading_ns: int) -> None:
    clocks = Clocks(reading_ns)
    monkeypatch.setattr(time, "clock_gettime_ns", clocks.read)
    before = suspends.slept_ns()
    assert before[0] <= 7 * S <= before[1]
    clocks.monotonic_ns += 100 * S
    assert suspends.suspend_notices(before, Path("a.headway")) == []
    clocks.slept_ns += 90 * S
    (notice,) = suspends.suspend_notices(before, Path("a.headway"))
    assert notice.id == "HW122"
    assert "suspended for 90 s while a.headway was recorded" in notice.message


def test_a_machine_that_stays_awake_says_nothing() -> None:
    before = suspends.slept_ns()
    assert before[0] <= before[1]
    assert suspends.suspend_notices(before, Path("a.headway")) == []
