"""Objects that are waited for once or twice have no place of their own in the agent's table: what is said of each is exact."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import headway, javas
from support.drivers.workloads import compile_java
from support.oracles.lock_oracle import locks_json

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SOURCE = Path(__file__).parents[2] / "programs" / "ShortLived.java"
Sums = dict[int, tuple[int, int]]
"""Parks and their length in ns, by identity hash: two objects may share one."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("short-lived")
    compile_java(out, SOURCE)
    return out


def summed(rows: Iterable[tuple[int, int, int]]) -> Sums:
    sums: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for identity_hash, times, length_ns in rows:
        sums[identity_hash] = (sums[identity_hash][0] + times, sums[identity_hash][1] + length_ns)
    return dict(sums)


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_each_of_thousands_of_short_lived_objects_has_its_own_parks_and_its_time_in_them(
    tmp_path: Path, program: Path, java: str
) -> None:
    recording = tmp_path / "r.headway"
    done = headway("record", "--locks", "-o", recording, "--", java, "-cp", program, "ShortLived")
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == "together true"  # else no object was without a place, and nothing is tested
    own = summed((int(a), int(b), int(c)) for a, b, c in (line.split() for line in lines))
    rows = [row for row in locks_json(recording, "--by", "lock") if row["class_name"] == "ShortLived$Thing"]
    figures = summed((row["identity_hash"], row["times_parked"], row["parking_thread_time_ns"]) for row in rows)
    assert {each: sums[0] for each, sums in figures.items()} == {each: sums[0] for each, sums in own.items()}
    longer = {each: (figures[each], own[each]) for each in own if not 0 < figures[each][1] <= own[each][1]}
    assert not longer
    blocks = open_recording(recording).query(
        "SELECT identity_hash, count(*), sum(dur_ns)::BIGINT FROM block JOIN blocker USING (blocker_id)"
        " WHERE class_name = 'ShortLived$Thing' GROUP BY 1"
    )
    assert summed(blocks.fetchall()) == figures
