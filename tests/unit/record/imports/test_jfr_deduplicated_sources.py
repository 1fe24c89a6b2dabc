"""What a JFR file tells in several ways counts once."""

from __future__ import annotations

import pytest

from headway.record.jfr.samples import EXECUTION, deduplicated_sources

IN, OUT, SAMPLED = (f"jdk.ObjectAllocation{each}" for each in ("InNewTLAB", "OutsideTLAB", "Sample"))


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        ({IN, OUT, SAMPLED}, {IN, OUT}),
        ({IN, SAMPLED}, {SAMPLED}),  # which tell of what is in no buffer, too
        ({OUT, SAMPLED}, {SAMPLED}),
        ({IN, OUT}, {IN, OUT}),
        ({SAMPLED}, {SAMPLED}),
    ],
)
def test_allocations_are_told_by_buffers_or_by_samples(there: set[str], kept: set[str]) -> None:
    sources = deduplicated_sources(("alloc", source) for source in there)
    assert {source for (_, source), name in sources.items() if name == "alloc"} == kept
    assert {source for (_, source), name in sources.items() if name is None} == there - kept


def test_cpu_time_is_what_its_own_event_tells() -> None:
    both = [("cpu", "jdk.CPUTimeSample"), ("cpu", "jdk.ExecutionSample")]
    assert list(deduplicated_sources(both).values()) == ["cpu", EXECUTION]
    assert list(deduplicated_sources(both[1:]).values()) == ["cpu"]
