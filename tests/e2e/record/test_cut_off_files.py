"""Files of the agent that somebody empties or shortens while it writes: the program goes on, and the recording says so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.builders.lock_faults import Locks, own_lines
from support.drivers.recording_cli import headway, manifest, notice_ids, start_headway, wait_for
from support.drivers.workloads import JAVAS, compile_java

pytestmark = pytest.mark.root
PROGRAMS = Path(__file__).resolve().parents[2] / "programs"
SECONDS = 0.3
SAID = "counted true InternalErrorInternalError\n"


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, PROGRAMS / "CutOff.java")
    return out


def program(java: Path, classes: Path, go: Path, *options: str) -> list[str]:
    """The program that goes on once `go` exists; it also cuts off a file of its own, before and after."""
    return [str(java), *options, "-cp", str(classes), "CutOff", str(go), str(SECONDS), "fault"]


def busy(spool: Path, pattern: str) -> Path | None:
    """Return the agent's file, once single waits were written."""
    spools = list(spool.glob("agent-*.spool")) if spool.is_dir() else []
    grown = any(each.stat().st_size > 1 << 19 for each in spools)
    return next(iter(spool.glob(pattern)), None) if grown else None


def cut(path: Path, to_nothing: bool) -> None:
    os.truncate(path, 0 if to_nothing else path.stat().st_size // 2)


def cut_off_notices(recording: Path) -> list[str]:
    return [each["message"] for each in manifest(recording)["notices"] if each["id"] == "HW229"]


@pytest.mark.parametrize(  # every two of JDK, file and what is left of it meet
    ("jdk", "which", "to_nothing"),
    [
        pytest.param("jdk17", "agent-*.spool", True, id="jdk17-spool-emptied"),
        pytest.param("jdk25", "agent-*.spool", False, id="jdk25-spool-halved"),
        pytest.param("jdk25", "locks-*.table", True, id="jdk25-table-emptied"),
        pytest.param("jdk17", "locks-*.table", False, id="jdk17-table-halved"),
    ],
)
def test_a_program_goes_on_as_without_headway_when_a_file_of_its_agent_is_cut_off(
    jdk: str, classes: Path, tmp_path: Path, which: str, to_nothing: bool
) -> None:
    recording, go = tmp_path / "r.headway", tmp_path / "go"
    words = program(JAVAS[jdk], classes, go)
    with start_headway("record", "--locks", "--sample", "cpu", "-o", recording, "--", *words) as process:
        path = wait_for(lambda: busy(recording / "spool", which))
        cut(path, to_nothing)
        go.touch()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, own_lines(err)) == (7, SAID, [])
    (notice,) = cut_off_notices(recording)
    assert notice.startswith(path.name)
    assert not notice_ids(recording) & {"HW062", "HW203"}
    assert manifest(recording)["state"] == "complete"
    locks = Locks(recording)
    ((slices,),) = locks.rows("SELECT count(*) FROM slice")
    assert slices > 0
    if path.suffix == ".table":  # the sums are those of the single waits, which go on
        ((longest,),) = locks.rows("SELECT max(start_ns + dur_ns) FROM block")
        start, end = (manifest(recording)["window"][key] for key in ("start_ns", "end_ns"))
        assert longest > end - (SECONDS / 2) * 1e9 > start
        rows = locks.rows(
            "SELECT b.times_parked, count(*) FROM blocker b JOIN block USING (blocker_id) "
            "WHERE block.is_repark IS NOT TRUE GROUP BY blocker_id, b.times_parked"
        )
        assert rows
        assert all(parked == blocks for parked, blocks in rows)


def test_an_attached_recording_whose_spool_is_emptied_ends_and_the_next_one_is_whole(
    classes: Path, tmp_path: Path
) -> None:
    go, said = tmp_path / "go", tmp_path / "said"
    with said.open("wb") as out:
        process = subprocess.Popen(program(JAVAS["jdk25"], classes, go), stdout=out, stderr=subprocess.STDOUT)
    try:
        first, second = tmp_path / "1.headway", tmp_path / "2.headway"
        wait_for(lambda: b"libjvm" in Path(f"/proc/{process.pid}/maps").read_bytes())
        with start_headway("record", "--locks", "-o", first, "--pid", process.pid, "--duration", "2") as recorder:
            cut(wait_for(lambda: busy(first / "spool", "agent-*.spool")), to_nothing=True)
            _, err = recorder.communicate(timeout=60)
        assert recorder.returncode == 0, err
        assert notice_ids(first) & {"HW229", "HW054"}
        done = headway("record", "--locks", "-o", second, "--pid", process.pid, "--duration", "0.5")
        assert done.returncode == 0, done.stderr
        assert not notice_ids(second) & {"HW229", "HW054", "HW203"}
        ((blocks,),) = Locks(second).rows("SELECT count(*) FROM block")
        assert blocks > 0
        go.touch()
        assert process.wait(timeout=60) == 7
    finally:
        process.kill()
        process.wait()
    assert said.read_text() == SAID


def test_a_jvm_that_checks_its_handlers_has_nothing_to_say_of_ours(java: Path, classes: Path, tmp_path: Path) -> None:
    recording, go = tmp_path / "r.headway", tmp_path / "go"
    go.touch()
    words = program(java, classes, go, "-Xcheck:jni")
    plain = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    done = headway("record", "--locks", "-o", recording, "--", *words)
    assert (done.returncode, done.stdout, own_lines(done.stderr)) == (
        plain.returncode,
        plain.stdout,
        own_lines(plain.stderr),
    )
    ((blocks,),) = Locks(recording).rows("SELECT count(*) FROM block")
    assert blocks > 0
