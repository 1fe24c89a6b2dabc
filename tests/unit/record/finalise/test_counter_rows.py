"""What the recorder's samples of the CPUs say of the recorded span."""

from __future__ import annotations

import json
from pathlib import Path

from headway.record.finalise.counter_rows import counter_rows, totals_by_cpu

SECOND = 1_000_000_000
BOOT_NS = 50_000 * SECOND


def spool(path: Path, lines: list[str]) -> Path:
    (path / "counters.jsonl").write_text("".join(lines))
    return path


def sample(at_s: float, cpu: int, busy_s: float, event: str = "cpu_busy") -> str:
    row = {"ns": BOOT_NS + round(at_s * SECOND), "event": event, "cpu": cpu, "value": round((9000 + busy_s) * SECOND)}
    return json.dumps(row) + "\n"


def test_what_a_cpu_did_before_and_after_the_program_is_not_of_the_recorded_span(tmp_path: Path) -> None:
    """CPU 0 worked for half of the time until the program began, and all the time from then on; CPU 1 at its end alone."""
    times = [(0.0, 0.0, 0.0), (2.0, 1.0, 0.0), (3.0, 2.0, 0.0), (5.0, 4.0, 2.0)]
    lines = [line for at, first, second in times for line in (sample(at, 0, first), sample(at, 1, second))]
    lines.insert(3, sample(2.5, 0, 77, "cpu_steal"))
    rows = counter_rows(spool(tmp_path, lines))
    draft = {"busy_ns": {"0": 4 * SECOND, "1": 2 * SECOND}}

    def busy(begin_s: int, end_s: int) -> dict[str, int]:
        window = BOOT_NS + begin_s * SECOND, BOOT_NS + end_s * SECOND
        return totals_by_cpu(draft, rows, window)["busy_ns"]

    assert busy(1, 4) == {"0": 2.5 * SECOND, "1": 1 * SECOND}
    assert busy(0, 5) == draft["busy_ns"]
    assert busy(-1, 9) == draft["busy_ns"], "nobody looked there"


def test_what_the_host_took_is_that_of_the_recorded_span_too(tmp_path: Path) -> None:
    lines = [sample(at, 0, took, "cpu_steal") for at, took in ((0, 0), (0.1, 0.01), (1.1, 1.01))]
    rows = counter_rows(spool(tmp_path, lines))
    window = BOOT_NS, BOOT_NS + SECOND // 10
    assert totals_by_cpu({"steal_ns": {"0": 1.01 * SECOND}}, rows, window) == {"steal_ns": {"0": SECOND // 100}}


def test_without_samples_the_totals_of_the_recorder_count(tmp_path: Path) -> None:
    rows = counter_rows(spool(tmp_path, [sample(1, 0, 3), '{"ns": 1, "event"']))
    assert len(rows) == 1
    window = BOOT_NS, BOOT_NS + SECOND
    assert totals_by_cpu({"busy_ns": {"0": 7, "2": 8}}, rows, window) == {"busy_ns": {"0": 7, "2": 8}}
    assert totals_by_cpu({}, rows, window) == {}
