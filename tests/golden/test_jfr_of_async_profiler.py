"""Files that async-profiler 2.9, 3.0 and 4.5 wrote of tests/programs/MixedSamples.java, against what the program said of itself.

Beside each file NAME.jfr.gz is what the program printed: threads, their CPU time by their own clocks, how long they lived.
They were made on a busy virtual machine (`-agentpath:libasyncProfiler.so=start,event=...,file=NAME.jfr,jfr`): 3-cpu-and-wall
with event=cpu,interval=4ms,wall=20ms, 4-cpu-and-wall-nobatch with nobatch as well, 4-wall-nobatch with wall=20ms,nobatch, the
others with event=NAME and no interval.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.record.imports.bring_in import import_file
from headway.store import open_recording

FILES = Path(__file__).parent / "jfr"
MS = 1_000_000


def clocks(name: str) -> dict[str, tuple[int, int]]:
    """Return each thread's CPU time and how long it lived, in ns."""
    rows = (line.split() for line in (FILES / f"{name}.txt").read_text().splitlines() if " " in line)
    return {row[0]: (int(row[1]), int(row[2])) for row in rows if len(row) == 3 and row[1].isdigit()}


def imported(name: str, folder: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Return samples and weight by event and thread of the program."""
    manifest = import_file(FILES / f"{name}.jfr.gz", folder / "a.headway")
    assert {notice.id for notice in manifest.notices} <= {"HW221", "HW225"}
    recording = open_recording(folder / "a.headway")
    rows = recording.query(
        "SELECT event, name, count(*), sum(weight) FROM sample JOIN thread USING (thread_id) GROUP BY 1, 2"
    )
    return {(event, thread): (count, weight) for event, thread, count, weight in rows.fetchall()}


@pytest.mark.parametrize(
    ("name", "events", "cpu_ns", "wall_ns"),
    [
        ("2-cpu", {"cpu"}, 10 * MS, 0),
        ("2-wall", {"wall"}, 0, 50 * MS),
        ("3-wall", {"wall"}, 0, 50 * MS),
        ("3-cpu-and-wall", {"cpu", "wall"}, 4 * MS, 20 * MS),
        ("4-cpu-and-wall-nobatch", {"cpu", "wall"}, 4 * MS, 20 * MS),
        ("4-wall-nobatch", {"wall"}, 0, 20 * MS),
    ],
)
def test_weights_are_cpu_time_and_time_as_the_program_measured_them(
    tmp_path: Path, name: str, events: set[str], cpu_ns: int, wall_ns: int
) -> None:
    found = imported(name, tmp_path)
    assert {event for event, _ in found} == events
    for thread, (used_ns, lived_ns) in clocks(name).items():
        samples, cpu = found.get(("cpu", thread), (0, 0))
        if cpu_ns:
            assert cpu == samples * cpu_ns
            assert abs(cpu - used_ns) <= max(4 * cpu_ns, used_ns // 20), thread
        samples, wall = found.get(("wall", thread), (0, 0))
        if wall_ns:  # the sampler's own thread waits for a CPU as well: some rounds are left out
            assert wall == samples * wall_ns
            assert 0.65 * lived_ns <= wall <= lived_ns + 2 * wall_ns, thread


def test_an_event_without_an_interval_counts_as_the_profiler_counts_it(tmp_path: Path) -> None:
    found = imported("2-page-faults", tmp_path)
    assert {event for event, _ in found} == {"page-faults"}
    assert all(weight == samples for samples, weight in found.values())  # async-profiler samples every one
