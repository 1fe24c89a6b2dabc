"""Pauses for garbage collection as a cause: with collectors that stop the program, and with those that work beside it.

The oracle is what the collectors' own management beans say at the program's end.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import HEADWAY, account, headway, javas

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "Collects.java"
MS = 1_000_000


@dataclass(frozen=True)
class Collected:
    """A recording, the time that the collectors say they took, how often they collected, and the one with most to do did."""

    recording: Path
    gc_ns: int
    count: int
    most: int

    @property
    def off_ns(self) -> float:
        """Return how far the beans may be off: they count whole milliseconds for each collection."""
        return (self.count + 1) * 1.5 * MS + 0.02 * self.gc_ns

    def late_ns(self) -> int:
        """Return how long the thread that collects waited for a core in pauses: so much later may an end of one be told."""
        late = (
            "SELECT coalesce(sum(greatest(0, least(s.start_ns, p.start_ns + p.dur_ns) - "
            "greatest(s.start_ns - coalesce(s.runnable_ns, 0), p.start_ns))), 0)::BIGINT FROM slice s "
            "JOIN thread t USING (thread_id) JOIN jvm_phase p ON p.kind = 'gc_pause' AND p.pid = t.pid WHERE t.name = 'VM Thread'"
        )
        ((late_ns,),) = open_recording(self.recording).query(late).fetchall()
        return int(late_ns)

    def said(self) -> dict[str, Any]:
        """Return what `why` says."""
        done = headway("why", self.recording, "--json")
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def losses(self) -> list[dict[str, Any]]:
        """Return the losses to pauses of which `why` tells more than their time."""
        return [each for each in self.said()["lost"] if each["cause"] == "gc_pause" and each["figures"]]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collects")
    subprocess.run(["javac", "--release", "17", "-d", str(folder), str(PROGRAM)], check=True)
    return folder


def collects(java: str | Path, collector: str, classes: Path, path: Path) -> Collected:
    words = [str(java), f"-XX:+Use{collector}GC", "-Xmx160m", "-cp", str(classes), "Collects", "1000"]
    done = subprocess.run(
        [*HEADWAY, "record", "-o", str(path), "--", *words], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    ms, count, most = map(int, done.stdout.split())
    return Collected(path, ms * MS, count, most)


@pytest.mark.parametrize("collector", ["Serial", "Parallel"])
@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_the_pauses_of_a_collector_that_stops_the_program_are_a_loss_as_long_as_it_says(
    java: str | Path, collector: str, classes: Path, tmp_path: Path
) -> None:
    found = collects(java, collector, classes, tmp_path / "a.headway")
    (loss,) = found.losses()
    assert loss["core_ns"] > 0
    # Where a young collection finds the old space full, both collectors work in one pause.
    assert found.most <= loss["figures"]["pauses"] <= found.count
    # The beans' times lie within those that the agent is told: what lies between is nothing, unless another thread had the core.
    late_ns = found.late_ns()
    assert -found.off_ns < loss["figures"]["pause_ns"] - found.gc_ns < found.off_ns + late_ns
    assert loss["figures"]["main_cause"] == "Allocation Failure"
    # All this time nothing else is done: without the pauses the program takes the rest; where others kept the collector from
    # the cores, at least what it had of them, and what stood idle meanwhile, is free for the program.
    said = found.said()
    wall_ns = said["wall_ns"]
    assert found.gc_ns > 0.1 * wall_ns
    most_ns = found.gc_ns + found.off_ns + late_ns
    least_ns = min(found.gc_ns - found.off_ns, 0.9 * (said["used"]["gc"] + loss["core_ns"]) / said["cores"])
    assert wall_ns / (wall_ns - least_ns) < loss["likely_speedup"] <= loss["bound_speedup"]
    assert loss["likely_speedup"] <= wall_ns / max(wall_ns - most_ns, 1)


def test_the_pauses_of_g1_are_told_from_what_it_does_beside_the_program(classes: Path, tmp_path: Path) -> None:
    found = collects(javas()[1], "G1", classes, tmp_path / "a.headway")
    (loss,) = found.losses()
    assert -found.off_ns < loss["figures"]["pause_ns"] - found.gc_ns < found.off_ns + found.late_ns()
    assert loss["figures"]["main_cause"] == "G1 Evacuation Pause"


@pytest.mark.parametrize("collector", ["Z", "Shenandoah"])
def test_a_collector_that_works_beside_the_program_is_no_pause_but_uses_cores(
    collector: str, classes: Path, tmp_path: Path
) -> None:
    found = collects(javas()[1], collector, classes, tmp_path / "a.headway")
    paused = "SELECT coalesce(sum(dur_ns), 0) FROM jvm_phase WHERE kind = 'gc_pause'"
    ((paused_ns,),) = open_recording(found.recording).query(paused).fetchall()
    assert 0 < paused_ns < 0.1 * found.gc_ns
    ready = "SELECT sum(slice.runnable_ns) FROM slice JOIN thread USING (thread_id) WHERE kind = 'app'"
    ((ready_ns,),) = open_recording(found.recording).query(ready).fetchall()
    of = account(found.recording)
    # The program waits for its pauses, and for a core while the collector computes: on a busy machine both are long.
    waited_ns = paused_ns + min(ready_ns, of["used"]["gc"] + of["used"]["vm"]) / of["cores"]
    for loss in found.losses():
        assert loss["figures"]["pause_ns"] <= paused_ns
        assert (loss["likely_speedup"] or 1) <= 1.01 * of["wall_ns"] / (of["wall_ns"] - waited_ns)
    assert of["used"]["gc"] > paused_ns
