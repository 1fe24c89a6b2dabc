"""`headway run` of a program that spoils the files of its recording's agents: a notice at most, and the rest is whole.

The program may write there, as it has headway's own rights. What it leaves beside an honest JVM's records costs only itself.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.store import Recording, open_recording
from support.drivers.recording_cli import HEADWAY
from support.drivers.workloads import JAVAS, ROOT, compile_java

PARKS, CPU_MS = 40, 200
SPOILS = """
import os, re, struct, subprocess, sys
spool = re.search("spool=([^,]*)", os.environ["JAVA_TOOL_OPTIONS"])[1]
jvm = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
assert "ready" in jvm.stdout.readline()
os.chdir(spool)
number = 4_000_000  # that of no process
def head(pid):
    return struct.pack("<8sIIIII", b"HWSPOOL\\0", 1, 3, 3, 0, pid).ljust(4096, b"\\0")
def put(content, name="agent-%d.spool", to=None):
    global number
    number += 1
    with open(name % number, "wb") as file:
        file.write(content)
        if to:
            file.truncate(to)
put(b"")
put(b"abc")
put(os.urandom(100_000))
put(head(number + 1) + os.urandom(200_000))
put(head(number + 1), to=1 << 40)
put(head(os.getpid()))
put(head(os.getppid()) + os.urandom(5000))
put(head(jvm.pid))
put(os.urandom(50_000), "locks-%d.table")
put(b"[" * 200_000, "causal-%d.jsonl")
put(head(number + 1))
with open(f"sample-{number}.jfr", "wb") as file:
    file.write(b"FLR\\0" + os.urandom(50_000))
for name in ("agent-%d.spool", "locks-%d.table", "causal-%d.jsonl", "sample-%d.jfr", "sample-%d.txt"):
    os.mkfifo(name % (number + 1))
    os.symlink("/dev/zero", name % (number + 2))
    os.mkdir(name % (number + 3))
    number += 3
os.mkdir("a folder")
open(sys.argv[5], "w").close()
print(jvm.stdout.readline(), end="", flush=True)
sys.exit(jvm.wait() or 7)
"""


@dataclass(frozen=True)
class Run:
    """What came of it: the recording, and what the honest JVM counted."""

    recording: Path
    counted: dict[str, int]
    said: str

    @property
    def tables(self) -> Recording:
        return open_recording(self.recording)


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("spoiled")
    compile_java(place, ROOT / "tests/programs/Honest.java")
    java = [JAVAS["jdk17"], "-cp", place, "Honest", place / "go", PARKS, CPU_MS]
    words = ["run", "--locks", "--sample", "cpu", "-o", place / "r.headway", "--", sys.executable, "-c", SPOILS, *java]
    done = subprocess.run(
        ["prlimit", f"--as={8 << 30}", *HEADWAY, *map(str, words)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 7, done.stderr
    counted = {key: int(each) for key, each in re.findall(r"(parks|burnt_ns|cpu_ns) (\d+)", done.stdout)}
    return Run(place / "r.headway", counted, done.stdout + done.stderr)


def test_the_recording_is_complete_and_spoiled_files_are_told(spoiled: Run) -> None:
    assert spoiled.tables.manifest.state == "complete"
    assert "Traceback" not in spoiled.said
    assert "HW319" not in spoiled.said
    notices = json.loads((spoiled.recording / "manifest.json").read_text())["notices"]
    for kind, least in (("HW203", 6), ("HW229", 3), ("HW214", 1)):  # no records; cut off; samples that are none
        assert sum(each["id"] == kind for each in notices) >= least, notices
    assert "/proc/self/fd" not in spoiled.said + json.dumps(notices), "a reader can't look into headway's descriptors"


def test_the_honest_jvm_has_its_names_parks_and_samples(spoiled: Run) -> None:
    tables = spoiled.tables
    ((thread, kind, running),) = tables.query(
        "SELECT thread_id, kind, exec_ns FROM thread WHERE name = 'the worker whose name is longer than the kernel''s'"
    ).fetchall()
    assert kind == "app"
    assert running >= spoiled.counted["cpu_ns"]
    ((parks,),) = tables.query(
        "SELECT count(*) FROM block JOIN blocker USING (blocker_id) "
        f"WHERE class_name = 'Honest$Place' AND thread_id = {thread} AND block.is_repark IS NOT TRUE"
    ).fetchall()
    assert parks == spoiled.counted["parks"] == PARKS
    ((sampled,),) = tables.query(
        f"SELECT sum(weight) FROM sample WHERE event = 'cpu' AND thread_id = {thread}"
    ).fetchall()
    assert 0.85 * running <= sampled <= running, "what follows the last sample is in none"
