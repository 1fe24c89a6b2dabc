"""One recording as root of a tree with a hostile process of every kind and an honest JVM: it is whole, and the JVM's data are.

Files that mean harm are among what they leave: small ones of records and samples that would take gigabytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.store import Recording, open_recording
from support.builders.hostile_jfr import long_text_in_every_class
from support.builders.hostile_spool import name_in_every_frame
from support.drivers.hostile_jvm import FAKE, HOWS
from support.drivers.ordinary_user import OrdinaryUser, ordinary_user
from support.drivers.peak_memory import PEAK_KIB
from support.drivers.recording_cli import attached, wait_for
from support.drivers.workloads import JAVAS, ROOT, compile_java

pytestmark = [pytest.mark.alone, pytest.mark.root]
PARKS, CPU_MS = 40, 400
ATTACH_LIMIT_S = 3.0
"""The kinds that never answer take that long each."""
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
TELLS_ITS_MEMORY = f"""
{PEAK_KIB}
import atexit, sys
from headway.record.agent import agents
agents._ATTACH_LIMIT_S = {ATTACH_LIMIT_S}
atexit.register(lambda: print("most memory, KiB:", peak_kib(), flush=True))
sys.argv[0] = "headway"
from headway.cli.main import main
main()
"""
STARTS_ALL = """
import json, subprocess, sys, time
for how, argv in json.loads(sys.argv[1]).items():
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    print(how, child.pid, child.stdout.readline().strip(), sep="|", flush=True)
    if how == "honest":
        print(child.stdout.readline(), flush=True)
time.sleep(1000)
"""


@dataclass(frozen=True)
class Outcome:
    """What came of it: the recording, what headway printed, what the honest JVM counted, who was still alive at the end."""

    recording: Path
    output: str
    peak_kib: int
    honest_pid: int
    counted: dict[str, int]
    alive: dict[str, bool]
    victim: Path

    @property
    def tables(self) -> Recording:
        return open_recording(self.recording)


def ids(uid: int) -> list[str]:
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all", "--"]


def commands(user: OrdinaryUser, place: Path, victim: Path) -> dict[str, list[str]]:
    """The command of each process: the honest one's last, so that it is attached to after all others."""
    before = {how: user.argv([]) for how in HOWS}
    before["exchanges"] = ids(54399)  # it may move the directories of its own user's JVMs alone
    before["listened as another"] = []
    unshared = [*user.argv([]), "unshare", "--user", "--map-root-user", "--mount", "--"]
    if subprocess.run([*unshared, "true"], capture_output=True).returncode == 0:  # else it mounts nothing
        before["bind mounts"] = unshared
    files = {"names without end": place / "names", "samples without end": place / "samples"}
    fakes = {how: [*before[how], PYTHON, f"{place}/fake_jvm.py", how, str(files.get(how, victim))] for how in HOWS}
    honest = [str(JAVAS["jdk17"]), "-cp", str(place), "Honest", str(place / "go"), str(PARKS), str(CPU_MS), "stays"]
    return {**fakes, "honest": [*ids(54400), *honest]}


@contextlib.contextmanager
def what_is_needed() -> Iterator[Path]:
    """A directory that everybody may read, with the programs and the files that mean harm; what is left in /tmp goes."""
    place, known = Path("/tmp") / f"fake-jvm-family-{os.getpid()}", set(os.listdir("/tmp"))
    place.mkdir(mode=0o755)
    try:
        compile_java(place, ROOT / "tests/programs/Honest.java")
        shutil.copy(FAKE, place)
        (place / "names").write_bytes(name_in_every_frame(40_000, 1, time.monotonic_ns()))
        (place / "samples").write_bytes(long_text_in_every_class(30_000))
        for file in place.iterdir():
            file.chmod(0o644)
        yield place
    finally:
        shutil.rmtree(place)
        for name in {*os.listdir("/tmp")} - known:
            path = Path("/tmp", name)
            if name.startswith((".java_pid", ".attach_pid", "hsperfdata_fake", ".aside-", ".headway-", "fake-jvm-")):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    directory = tmp_path_factory.mktemp("family")
    victim = directory / "victim"
    victim.mkdir(mode=0o700)
    (victim / "secret").write_bytes(b"root's own\n")
    (victim / "secret").chmod(0o600)
    recording = directory / "r.headway"
    with ordinary_user() as user, what_is_needed() as place:
        argv = [sys.executable, "-c", STARTS_ALL, json.dumps(commands(user, place, victim / "secret"))]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as family:
            try:
                assert family.stdout is not None
                lines = [family.stdout.readline().strip().split("|") for _ in (*HOWS, "honest")]
                pids = {how: int(pid) for how, pid, said in lines if said == "ready"}
                assert pids.keys() == {*HOWS, "honest"}, lines
                words = ["record", "--locks", "--sample", "cpu", "-o", str(recording), "--pid", str(family.pid)]
                headway = subprocess.Popen(
                    [sys.executable, "-c", TELLS_ITS_MEMORY, *words],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                wait_for(lambda: headway.poll() is not None or attached(recording))
                (place / "go").touch()
                line = wait_for(family.stdout.readline)
                counted = dict(re.findall(r"(\w+) (\d+)", line))
                headway.send_signal(signal.SIGINT)
                output, _ = headway.communicate(timeout=100)
                assert headway.returncode == 0, output
                alive = {how: processes_state(pid) not in "ZX" for how, pid in pids.items()}
            finally:
                os.killpg(family.pid, signal.SIGKILL)
        peak = int(output.rpartition("most memory, KiB:")[2])
        yield Outcome(
            recording, output, peak, pids["honest"], {key: int(each) for key, each in counted.items()}, alive, victim
        )


def processes_state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_the_recording_is_complete_and_nothing_was_unexpected(outcome: Outcome) -> None:
    manifest = outcome.tables.manifest
    assert (manifest.state, manifest.ended_by) == ("complete", "interrupt")
    assert "Traceback" not in outcome.output
    assert "HW319" not in outcome.output
    assert "\x1b" not in outcome.output


def test_no_process_is_ended_by_it(outcome: Outcome) -> None:
    assert outcome.alive == dict.fromkeys(outcome.alive, True)


def test_nothing_of_roots_is_read_written_or_changed(outcome: Outcome) -> None:
    (secret,) = outcome.victim.iterdir()
    assert secret.read_bytes() == b"root's own\n"
    modes = [(each.stat().st_mode & 0o777, each.stat().st_uid) for each in (outcome.victim, secret)]
    assert modes == [(0o700, 0), (0o600, 0)]
    for file in filter(Path.is_file, outcome.recording.rglob("*")):
        assert b"root's own" not in file.read_bytes()
        assert (file.stat().st_mode & 0o777, file.stat().st_uid) == (0o600, 0)


def test_small_files_take_no_gigabytes(outcome: Outcome) -> None:
    assert outcome.peak_kib < 1 << 20
    ids = {str(each["id"]) for each in json.loads((outcome.recording / "manifest.json").read_text())["notices"]}
    assert {"HW214", "HW324"} <= ids, "both were read, and what was left out is told"


def test_each_kind_that_can_not_be_recorded_is_a_notice_on_it(outcome: Outcome) -> None:
    notices = json.loads((outcome.recording / "manifest.json").read_text())["notices"]
    said = "\n".join(each["message"] for each in notices if each["id"] in ("HW054", "HW072"))
    for part in ("HW024", "more than 64 KiB", "HW025", "HW071", "is no socket", "is not the JVM's own", "listens on"):
        assert part in said
    assert f"process {outcome.honest_pid}:" not in said
    assert f"JVM {outcome.honest_pid}" not in said


def test_the_honest_jvm_has_its_names_parks_and_samples(outcome: Outcome) -> None:
    tables = outcome.tables
    of_worker = f"name = 'the worker whose name is longer than the kernel''s' AND pid = {outcome.honest_pid}"
    ((thread, kind, running),) = tables.query(
        f"SELECT thread_id, kind, exec_ns FROM thread WHERE {of_worker}"
    ).fetchall()
    assert kind == "app"
    assert running >= outcome.counted["cpu_ns"], "its CPU time by the kernel, to its very end"
    ((parks,),) = tables.query(
        "SELECT count(*) FROM block JOIN blocker USING (blocker_id) "
        f"WHERE class_name = 'Honest$Place' AND thread_id = {thread} AND block.is_repark IS NOT TRUE"
    ).fetchall()
    assert parks == outcome.counted["parks"] == PARKS
    ((sampled, below),) = tables.query(
        "SELECT sum(weight), sum(weight) FILTER (stack_id IN (SELECT stack_id FROM stack JOIN frame USING (frame_id) "
        f"WHERE class_name = 'Honest' AND method = 'burns')) FROM sample WHERE event = 'cpu' AND thread_id = {thread}"
    ).fetchall()
    assert 0.9 * running <= sampled <= running, "what follows the last sample is in none"
    # Of the rest of the thread's time, and of that method's first moments in the interpreter, a few samples are.
    assert abs(below - outcome.counted["burnt_ns"]) <= 0.1 * outcome.counted["burnt_ns"]
