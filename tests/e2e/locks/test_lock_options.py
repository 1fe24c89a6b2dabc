"""--park-threshold and --forget-dead, from the command line to what the recording says, on both JDKs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.builders.lock_faults import JAVAS, command
from support.drivers.recording_cli import HEADWAY, headway, manifest, wait_for
from support.oracles.lock_oracle import locks_json

pytestmark = pytest.mark.root
PLACE = "headway.workloads.OnRequest$Place"
JCMD = Path(JAVAS["jdk17"]).parent / "jcmd"


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> str:
    return JAVAS[request.param]


def places(recording: Path) -> dict[int, dict[str, Any]]:
    """Return the rows of the objects that the program parks on, by identity hash."""
    return {row["identity_hash"]: row for row in locks_json(recording) if row["class_name"] == PLACE}


def test_waits_up_to_the_threshold_are_only_counted_and_the_recording_says_so(tmp_path: Path, java: str) -> None:
    recording = tmp_path / "r.headway"
    options = ["--locks", "--park-threshold", "4", "-o", str(recording)]
    words = [*HEADWAY, "record", *options, "--", *command(java, "OnRequest")]
    done = subprocess.run(words, input="park 10\npark 3\npark 4\npark 5\n", capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    hashes = {each["times"]: each["hash"] for each in said if each["event"] == "parked"}
    rows = places(recording)
    assert set(rows) == {hashes[10], hashes[5]}
    for times in (10, 5):
        row = rows[hashes[times]]
        assert (row["times_parked"], row["times_measured"]) == (times, times - 4)
        assert row["wait_time_ns"]["count"] == times - 4
        assert row["average_parking_time_ns"] == round(row["parking_thread_time_ns"] / (times - 4))
    (notice,) = (each for each in manifest(recording)["notices"] if each["id"] == "HW217")
    counted = manifest(recording)["locks"]["below_threshold"]
    assert counted >= 4 + 3 + 4 + 4
    assert f"the first 4 waits were only counted, {counted} in all" in notice["message"]
    assert "HW217" in headway("locks", recording).stdout


def test_without_a_threshold_nothing_is_said_of_one(tmp_path: Path, java: str) -> None:
    recording = tmp_path / "r.headway"
    words = [*HEADWAY, "record", "--locks", "-o", str(recording), "--", *command(java, "OnRequest")]
    done = subprocess.run(words, input="park 3\n", capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    (row,) = places(recording).values()
    assert (row["times_parked"], row["times_measured"]) == (3, 3)
    assert "HW217" not in {each["id"] for each in manifest(recording)["notices"]}


@pytest.mark.parametrize("forget", [True, False], ids=["forgotten", "kept"])
def test_sums_of_collected_objects_are_merged_when_asked_for_and_no_wait_is_lost(
    tmp_path: Path, java: str, forget: bool
) -> None:
    recording, objects, parks = tmp_path / "r.headway", 100, 3  # one waited for twice may be told together with others
    options = ["--locks", *(["--forget-dead"] if forget else []), "-o", str(recording)]
    words = [*HEADWAY, "record", *options, "--", *command(java, "OnRequest")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pid = json.loads(process.stdout.readline())["pid"]
        hashes = set()
        for _ in range(objects):
            process.stdin.write(f"park {parks}\n")
            hashes.add(json.loads(process.stdout.readline())["hash"])
        subprocess.run([JCMD, str(pid), "GC.run"], capture_output=True, check=True, timeout=100)
        live = wait_for(lambda: collected(pid, objects - 1))  # the last one may still be on a stack
        process.stdin.close()
        assert process.stdout.readline()
    assert process.returncode == 0
    assert sum(row["times_parked"] for row in live) == objects * parks
    merged = [row for row in live if row["identity_hash"] == 0]
    assert (len(merged), len(live) <= 2) == ((1, True) if forget else (0, False))
    forgotten = manifest(recording)["locks"]["forgotten"]
    assert forgotten >= objects - 1 if forget else forgotten == 0
    rows = {hash_: row for hash_, row in places(recording).items() if row["times_parked"]}
    assert set(rows) == hashes
    assert sum(row["times_parked"] for row in rows.values()) == objects * parks


def collected(pid: int, least: int) -> list[dict[str, Any]]:
    """Return the live rows of the program's places once so many objects were found dead."""
    done = headway("locks", "--pid", pid, "--json")
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout)["locks"] if row["class_name"] == PLACE]
    return rows if sum(row["forgotten"] or row["dead"] for row in rows) >= least else []
