"""With Serial GC the VM thread collects: that is garbage collection wherever times per kind are shown.

The oracle is what the collector's own management bean says at the program's end.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import HEADWAY, account, headway, javas

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "Collects.java"
MS = 1_000_000


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """Return a recording, the time that the collector says it took, and its collections."""
    folder = tmp_path_factory.mktemp("serial")
    subprocess.run(["javac", "--release", "17", "-d", str(folder), str(PROGRAM)], check=True)
    words = [request.param, "-XX:+UseSerialGC", "-Xmx96m", "-cp", str(folder), "Collects", "1000"]
    recording = folder / "a.headway"
    done = subprocess.run(
        [*HEADWAY, "record", "-o", str(recording), "--", *words], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    ms, count, _ = map(int, done.stdout.split())
    return recording, ms * MS, count


def _gc_active_ns(*words: object) -> int:
    done = headway("parallelism", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return sum(level["active"] * level["ns"] for level in found["by_kind"]["gc"])


def test_the_time_of_its_collections_is_gc(recorded: tuple[Path, int, int]) -> None:
    recording, gc_ns, count = recorded
    # The bean counts whole milliseconds per collection, and both begin and end a moment apart.
    off_ns = (count + 1) * 1.5 * MS + 0.05 * gc_ns
    assert abs(_gc_active_ns(recording) - gc_ns) < off_ns
    inside = sum(
        _gc_active_ns(recording, "--from", begin, "--to", end) for begin, end in (("0%", "40%"), ("40%", "100%"))
    )
    assert abs(inside - gc_ns) < off_ns


def test_the_account_and_the_thread_agree_with_it(recorded: tuple[Path, int, int]) -> None:
    recording, _, _ = recorded
    with_samples = open_recording(recording)
    ((collecting, executed, running),) = with_samples.query(
        "SELECT collecting_ns, exec_ns, running_ns FROM thread WHERE comm = 'VM Thread'"
    ).fetchall()
    assert 0.9 * running < collecting <= running
    used = account(recording)["used"]
    assert used["gc"] == pytest.approx(executed * collecting / running, rel=0.05)
    assert used["vm"] < 0.1 * used["gc"]
    (listed,) = [
        each for each in json.loads(headway("threads", recording, "--json").stdout) if each["name"] == "VM Thread"
    ]
    assert listed["collecting_ns"] == collecting
    assert "vm+gc" in headway("threads", recording).stdout
    assert "by GC" in headway("why", recording).stdout
