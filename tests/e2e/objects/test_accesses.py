"""Accesses of programs that know how often they read and write: exact counts, every collector, other agents, an early end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headway import _native
from headway.record.request.jvm_options import agent_options
from headway.record.request.objects import parse
from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway, start_headway
from support.drivers.workloads import JAVAS, agent, compile_java

ROUNDS = 20_000
KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes", "static_reads", "static_writes")
Counts = dict[tuple[str, str], tuple[int, ...]]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accesses")
    compile_java(folder, PROGRAMS / "AccessCounts.java")
    return folder


def added_up(rows: list[tuple[str, str, tuple[int, ...]]]) -> Counts:
    sums: dict[tuple[str, str], Counter[int]] = {}
    for thread, name, counts in rows:
        sums.setdefault((thread, name), Counter()).update(dict(enumerate(counts)))
    return {key: tuple(found[kind] for kind in range(len(KINDS))) for key, found in sums.items()}


NODE = "local" if len([*Path("/sys/devices/system/node").glob("node[0-9]*")]) == 1 else "unknown"
"""What all accesses are by the node of the object: with one memory node they are local, with several it is not recorded."""


def stated(output: str) -> Counts:
    """Return what the program says of itself, by thread and class."""
    lines = [line.split() for line in output.split("end\n")[0].splitlines()]
    found = added_up([(thread, name, tuple(map(int, counts))) for thread, name, *counts in lines])
    assert len(found) > 30
    return found


def counted(path: Path) -> Counts:
    """Return what `headway objects` says of the program."""
    done = headway("objects", path, "--json", "--by", "thread-class")
    assert done.returncode == 0, done.stderr
    accesses: dict[str, Any] = json.loads(done.stdout)["accesses"]
    rows = []
    for each in accesses["groups"]:
        of_objects = [each[what][how] for what in ("tuple", "array") for how in ("read", "write")]
        assert all(cell[NODE] == cell["count"] for cell in of_objects)
        counts = (*(cell["count"] for cell in of_objects), each["static"]["read"], each["static"]["write"])
        rows.append(("virtual" if each["java_id"] == -2 else each["thread"], each["class"], counts))
    return added_up(rows)


def recorded(java: Path, classes: Path, path: Path, *options: str) -> tuple[Counts, Counts]:
    command = ["record", "--mode", "agent", "--objects", "accesses", *options, "-o", path, "--", java, "-cp", classes]
    done = headway(*command, "AccessCounts", ROUNDS, "exit")
    assert done.returncode == 3, done.stderr
    return stated(done.stdout), counted(path)


def within(found: Counts, wanted: Counts) -> Counts:
    return {key: found.get(key, ()) for key in wanted}


@pytest.mark.parametrize("jdk", JAVAS)
def test_every_access_is_counted_for_its_thread_and_class(jdk: str, classes: Path, tmp_path: Path) -> None:
    wanted, found = recorded(JAVAS[jdk], classes, tmp_path / "a.headway")
    assert within(found, wanted) == wanted
    assert ("virtual" in {thread for thread, _ in wanted}) == (jdk == "jdk25")


def test_only_classes_in_scope_are_counted(classes: Path, tmp_path: Path) -> None:
    scope = ("--object-scope", "*$Fields", "--object-scope", "AccessCounts$Base")
    wanted, found = recorded(JAVAS["jdk17"], classes, tmp_path / "a.headway", *scope)
    assert {name for _, name in found} == {"AccessCounts$Fields", "AccessCounts$Base"}
    assert found == {key: counts for key, counts in wanted.items() if key in found}


def test_a_scope_that_no_class_is_in_is_said(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    headway("record", "--mode", "agent", "--objects", "accesses", "--object-scope", "java.util.*", "-o", path, "--",
            JAVAS["jdk17"], "-cp", classes, "AccessCounts", 100, "exit")  # fmt: skip
    said = json.loads(headway("objects", path, "--json").stdout)
    assert "HW846" in {each["id"] for each in said["warnings"]}
    assert said["accesses"]["groups"] == []


def run_with_agent(java: Path, classes: Path, spool: Path, *options: str) -> tuple[Counts, Counts]:
    """Run the program with the agent and no recorder; return what it says and, by class, what the agent counted."""
    spool.mkdir()
    asked = f"-agentpath:{agent()}={agent_options(spool, objects=parse('accesses'))}"
    command: list[str | Path] = [
        java,
        *options,
        "-Xmx64m",
        asked,
        "-cp",
        classes,
        "AccessCounts",
        "5000",
        "exit",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (3, "")
    (found,) = _native.Decoder(str(spool)).agents()
    names = [name.decode() for name in found["allocations"]["texts"]]
    columns = [found["accesses"][kind].tolist() for kind in KINDS]
    rows = [
        ("", names[name], tuple(counts))
        for name, *counts in zip(found["accesses"]["class"].tolist(), *columns, strict=True)
    ]
    by_class = [("", name, counts) for (_, name), counts in stated(done.stdout).items()]
    return added_up(by_class), added_up(rows)


COLLECTORS = [(jdk, each) for jdk in ("jdk17", "jdk25") for each in ("Serial", "Parallel", "G1", "Z", "Shenandoah")]


@pytest.mark.parametrize(("jdk", "collector"), COLLECTORS)
def test_each_collector_counts_the_same(jdk: str, collector: str, classes: Path, tmp_path: Path) -> None:
    option = f"-XX:+Use{collector}GC"
    if subprocess.run([JAVAS[jdk], option, "-version"], capture_output=True).returncode != 0:
        pytest.skip("this JVM has no such collector")
    wanted, found = run_with_agent(JAVAS[jdk], classes, tmp_path / "spool", option, "-Xcheck:jni")
    assert within(found, wanted) == wanted


@pytest.mark.parametrize("mode", ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"])
def test_interpreted_and_compiled_code_counts_the_same(mode: str, classes: Path, tmp_path: Path) -> None:
    wanted, found = run_with_agent(JAVAS["jdk17"], classes, tmp_path / "spool", mode)
    assert within(found, wanted) == wanted


def test_compact_object_headers_change_nothing(classes: Path, tmp_path: Path) -> None:
    wanted, found = run_with_agent(JAVAS["jdk25"], classes, tmp_path / "spool", "-XX:+UseCompactObjectHeaders")
    assert within(found, wanted) == wanted


def waiting(classes: Path, path: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a recording, and return it with what the program has said once it waits for the end of its input."""
    command = ["record", "--mode", "agent", "--objects", "accesses", "-o", path, "--", JAVAS["jdk17"], "-cp", classes]
    recorder = start_headway(*command, "AccessCounts", ROUNDS, "wait", stdin=subprocess.PIPE)
    assert recorder.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] != "end\n":
        lines.append(recorder.stdout.readline())
    return recorder, "".join(lines)


def pid_of_program(path: Path) -> int:
    (spool,) = (path / "spool").glob("agent-*.spool")
    return int(spool.stem.removeprefix("agent-"))


def test_a_jvm_that_is_killed_leaves_its_counts_of_a_moment_before(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    recorder, said = waiting(classes, path)
    wanted = stated(said)
    total = sum(sum(counts) for counts in wanted.values())
    with recorder:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            (found,) = _native.Decoder(str(path / "spool")).agents()
            if sum(int(found["accesses"][kind].sum()) for kind in KINDS) >= total:
                break
            time.sleep(0.2)
        os.kill(pid_of_program(path), signal.SIGKILL)
        recorder.communicate(timeout=120)
    found_counts = counted(path)
    assert within(found_counts, wanted) == wanted
    warnings = json.loads(headway("objects", path, "--json").stdout)["warnings"]
    assert "HW842" in {each["id"] for each in warnings}


@pytest.mark.parametrize("jdk", JAVAS)
def test_classes_that_another_agent_has_retransformed_count_as_before(jdk: str, classes: Path, tmp_path: Path) -> None:
    compile_java(classes, PROGRAMS / "Retransformer.java")
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        manifest = "Manifest-Version: 1.0\nPremain-Class: Retransformer\nCan-Retransform-Classes: true\n"
        archive.writestr("META-INF/MANIFEST.MF", manifest)
        archive.write(classes / "Retransformer.class", "Retransformer.class")
    wanted, found = run_with_agent(JAVAS[jdk], classes, tmp_path / "spool", f"-javaagent:{jar}")
    assert within(found, wanted) == wanted


def test_a_program_that_ends_with_the_interrupted_recording_has_its_counts_until_then(
    classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.headway"
    recorder, said = waiting(classes, path)
    with recorder:
        pid = pid_of_program(path)
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate("", timeout=120)
    assert recorder.returncode == 0, err
    assert not Path(f"/proc/{pid}").exists()
    wanted = stated(said)
    assert within(counted(path), wanted) == wanted
