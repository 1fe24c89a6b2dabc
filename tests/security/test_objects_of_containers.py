"""Allocations and counters of a JVM that a container's powerless root has: exact as of any other, and nothing stays there."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway import _native
from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway, start_headway, wait_for
from support.drivers.workloads import JAVAS, compile_java

pytestmark = [pytest.mark.alone, pytest.mark.root]
CONTAINER = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program in namespaces of its own that waits for a line, then allocates, and says what it allocated."""
    if subprocess.run([*CONTAINER, *POWERLESS, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user, mount and pid namespaces here")
    compile_java(tmp_path, PROGRAMS / "ObjectCounts.java")
    command = [*CONTAINER, *POWERLESS, JAVAS["jdk17"], "-cp", tmp_path, "ObjectCounts", "2000", "ask"]
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while (
                process.stdout.readline() != "ready\n"
            ):  # a JVM says where another's process 1 has its performance data
                assert process.poll() is None
            yield process
        finally:
            process.kill()


def jvm_of(program: subprocess.Popen[str]) -> int:
    (pid,) = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    status = Path(f"/proc/{pid}/status").read_text()
    assert int(status.split("CapEff:")[1].split()[0], 16) == 0
    assert status.split("NSpid:")[1].split("\n")[0].split() == [pid, "1"]
    return int(pid)


def places_with_counts() -> list[Path]:
    """Return where headway keeps files of JVMs that are process 1 and whose agent has said that it counts objects."""
    found = [each.parent for each in Path("/tmp").glob(".headway-*/agent-1.spool")]
    return [each for each in found if any(_counts(agent["facts"]) for agent in _native.Decoder(str(each)).agents())]


def _counts(facts: list[tuple[bytes, bytes]]) -> bool:
    return bool(dict(facts).get(b"objects_interval"))


def test_objects_and_counters_of_a_containers_jvm_are_exact_and_nothing_stays_there(
    program: subprocess.Popen[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.headway"
    record = ["record", "--objects", "allocations", "--counters", "page-faults", "-o", path]
    with start_headway(*record, "--pid", jvm_of(program)) as recorder:
        wait_for(lambda: places_with_counts() or recorder.poll() is not None)
        places = places_with_counts()
        out, _ = program.communicate("\n", timeout=120)
        _, err = recorder.communicate(timeout=120)
    assert (program.returncode, recorder.returncode) == (0, 0), err
    assert places
    assert not [each for each in places if each.exists()]
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.iterdir() if each.is_file()} == {0o600}
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid) == (0o700, os.geteuid())
    done = headway("objects", path, "--by", "thread-class", "--json")
    assert done.returncode == 0, done.stderr
    groups = {(each["thread"], each["class"]): each["objects"] for each in json.loads(done.stdout)["groups"]}
    lines = [line.split() for line in out.splitlines()]
    wanted = {(thread, kind): int(number) for thread, kind, number, *_ in lines if kind != "bytes" and thread != "main"}
    assert wanted
    assert {key: groups.get(key, 0) for key in wanted} == wanted
    done = headway("counters", path, "--json")
    assert done.returncode == 0, done.stderr
    assert "page-faults" in done.stdout
