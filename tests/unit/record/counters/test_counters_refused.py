"""When a CPU refuses the counters that the known loop could count, the recording goes on without them, and says why."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from headway import _native
from headway.record.collect import capture
from headway.record.collect.capture import Capture
from headway.record.counters import groups
from headway.record.counters.usable import Usable


def refusal(step: str, reason: int) -> _native.CollectorError:
    error = _native.CollectorError("refused")
    error.step, error.errno, error.detail = step, reason, "page-faults on CPU 1"
    return error


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Put a collector in place that refuses all counters, and return how many groups each of its calls asked for."""
    calls: list[int] = []

    def collector(spool: str, ring: int = 0, raw: bool = False, counters: Any = ()) -> str:
        calls.append(len(counters))
        if counters:
            raise refusal("counter", errno.EBUSY)
        return "collector"

    monkeypatch.setattr(_native, "KernelCollector", collector)
    return calls


def capture_of(tmp_path: Path) -> Capture:
    return Capture(tmp_path, "ebpf", 1, Usable(groups.parse("page-faults;task-clock").groups, ()))


def test_counters_that_a_cpu_refuses_are_absent_for_its_reason(tmp_path: Path, loaded: list[int]) -> None:
    found = capture_of(tmp_path)
    assert str(found._kernel_collector()) == "collector"
    assert loaded == [2, 0]
    assert found.counted is not None
    assert found.counted.groups == ()
    assert [each.as_json() for each in found.counted.absent] == [
        {"event": name, "reason": "page-faults on CPU 1: Device or resource busy"}
        for name in ("page-faults", "task-clock")
    ]


def test_without_room_for_their_descriptors_counters_are_not_even_opened(
    tmp_path: Path, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "missing_descriptors", lambda counters, cpus: f"{counters} are too many")
    found = capture_of(tmp_path)
    assert str(found._kernel_collector()) == "collector"
    assert loaded == [0]
    assert found.counted is not None
    assert {each.reason for each in found.counted.absent} == {"2 are too many"}


def test_other_refusals_are_none_of_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def collector(*_: Any) -> str:
        raise refusal("program", errno.EPERM)

    monkeypatch.setattr(_native, "KernelCollector", collector)
    with pytest.raises(_native.CollectorError):
        capture_of(tmp_path)._kernel_collector()
