"""Allocations of programs that know what they allocate: exact counts, samples, every collector, a JVM that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headway import _native
from headway.record.request.jvm_options import agent_options
from headway.record.request.objects import parse
from headway.store import open_recording
from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway, start_headway, wait_for
from support.drivers.workloads import JAVAS, agent, compile_java

ROUNDS = 20_000
SAMPLED = "ObjectCounts$Pair", "ObjectCounts$Leaf", "ObjectCounts$Pair[]", "ObjectCounts$Leaf[]"
COUNTED = {*SAMPLED, *(f"ObjectCounts${name}" for name in ("Leaf[][]", "Point", "Point[]", "ByJvm$$Lambda"))}


class Told(NamedTuple):
    """What a program said of itself: (objects, array length) by thread and class, and bytes by thread."""

    classes: dict[tuple[str, str], tuple[int, int]]
    bytes: dict[str, int]


def parse_output(output: str) -> Told:
    classes, total = {}, {}
    for line in output.splitlines():
        thread, kind, *numbers = line.split()
        if kind == "bytes":
            total[thread] = int(numbers[0])
        else:
            classes[thread, kind] = int(numbers[0]), int(numbers[1])
    assert classes
    assert total
    return Told(classes, total)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects")
    compile_java(folder, PROGRAMS / "ObjectCounts.java")
    return folder


def recorded(
    java: Path, classes: Path, path: Path, what: str, rounds: int = ROUNDS, *options: str
) -> tuple[Told, Path]:
    command = ["record", "--mode", "agent", "--objects", what, "-o", path, "--", java, *options]
    done = headway(*command, "-cp", classes, "ObjectCounts", rounds)
    assert done.returncode == 0, done.stderr
    return parse_output(done.stdout), path


def asked(path: Path, *options: str) -> dict[str, Any]:
    done = headway("objects", path, "--json", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def groups_of(found: dict[str, Any], wanted: Told) -> dict[tuple[str, str], tuple[int, int]]:
    groups = {(each["thread"], each["class"]): (each["objects"], each["array_length"]) for each in found["groups"]}
    return {key: groups.get(key, (0, 0)) for key in wanted.classes}


@pytest.mark.parametrize("jdk", JAVAS)
def test_every_object_of_the_program_s_own_classes_is_counted_and_bytes_are_those_of_the_jvm(
    jdk: str, classes: Path, tmp_path: Path
) -> None:
    wanted, path = recorded(JAVAS[jdk], classes, tmp_path / "a.headway", "allocations,sites")
    found = asked(path, "--by", "thread-class")
    assert groups_of(found, wanted) == wanted.classes
    assert found["interval_bytes"] == 0
    by_thread = {each["thread"]: each for each in asked(path, "--by", "thread")["groups"]}
    for thread, jvm_bytes in wanted.bytes.items():
        # Asked within the thread, which then still says goodbye.
        assert 0.99 * jvm_bytes <= by_thread[thread]["bytes"] <= 1.01 * jvm_bytes + 4096
        assert by_thread[thread]["bytes_low"] == by_thread[thread]["bytes_high"]
    # Where a class is named first, the JVM allocates what it makes of it.
    names = ", ".join(f"'{name}'" for name in sorted(COUNTED))
    of_site = "site_method = 'work' AND site_class LIKE '%Plain'"
    query = f"SELECT sum(objects) FROM allocation WHERE {of_site} AND class_name IN ({names})"
    ((in_loop,),) = open_recording(path).query(query).fetchall()
    of_loop = sum(count for (thread, _), (count, _) in wanted.classes.items() if thread.startswith("plain"))
    assert in_loop == of_loop
    (jvm,) = open_recording(path).manifest.extra["objects"]["jvms"]
    assert (jvm["is_complete"], jvm["problem"]) == (True, None)


COLLECTORS = [
    *(("jdk17", each) for each in ("Serial", "Parallel", "Z", "Shenandoah")),
    *(("jdk25", each) for each in ("Serial", "Parallel", "Z", "Shenandoah")),
]


@pytest.mark.parametrize(("jdk", "collector"), COLLECTORS)
def test_each_collector_tells_the_same(jdk: str, collector: str, classes: Path, tmp_path: Path) -> None:
    option = f"-XX:+Use{collector}GC"
    if subprocess.run([JAVAS[jdk], option, "-version"], capture_output=True).returncode != 0:
        pytest.skip("this JVM has no such collector")
    spool = tmp_path / "spool"
    spool.mkdir()
    options = agent_options(spool, objects=parse("allocations"))
    command: list[str | Path] = [
        JAVAS[jdk],
        option,
        "-Xmx64m",
        "-Xcheck:jni",
        f"-agentpath:{agent()}={options}",
        "-cp",
        classes,
    ]
    done = subprocess.run([*command, "ObjectCounts", "5000"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    wanted = parse_output(done.stdout).classes
    assert of_own_classes(spool) == total_of(wanted)


def test_a_main_thread_with_a_large_part_of_the_heap_to_itself_is_counted_from_its_first_object_on(
    classes: Path, tmp_path: Path
) -> None:
    # As the parallel collector hands it out in a young generation of 5 GB.
    large = ("-XX:+UseParallelGC", "-Xmx1g", "-Xmn800m", "-XX:TLABSize=100m")
    wanted, path = recorded(JAVAS["jdk17"], classes, tmp_path / "a.headway", "allocations", 1000, *large)
    found = asked(path, "--by", "thread-class")
    assert groups_of(found, wanted) == wanted.classes
    assert "HW808" not in {each["id"] for each in found["warnings"]}


def total_of(wanted: dict[tuple[str, str], tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return objects and array length by class."""
    found: dict[str, tuple[int, int]] = {}
    for (_, name), (objects, length) in wanted.items():
        before = found.get(name, (0, 0))
        found[name] = before[0] + objects, before[1] + length
    return found


def of_own_classes(spool: Path) -> dict[str, tuple[int, int]]:
    """Return what the agent has written by now of the classes whose objects the program counts."""
    return of_classes(spool, COUNTED)


def of_classes(spool: Path, wanted: set[str]) -> dict[str, tuple[int, int]]:
    """Return objects and array length of some classes, all threads together."""
    (agent_file,) = _native.Decoder(str(spool)).agents()
    rows = agent_file["allocations"]
    names = [rows["texts"][number].decode() for number in rows["class"].tolist()]
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for place, (name, objects, length) in enumerate(
        zip(names, rows["objects"].tolist(), rows["array_length"].tolist(), strict=True)
    ):
        if name in wanted:
            found[str(place), name] = objects, length
    return total_of(found)


def test_a_sample_s_estimates_are_near_what_was_allocated(classes: Path, tmp_path: Path) -> None:
    wanted, path = recorded(JAVAS["jdk17"], classes, tmp_path / "a.headway", "allocations=1k", 100_000)
    found = asked(path, "--by", "class")
    assert found["interval_bytes"] == 1024
    by_class = {each["class"]: each for each in found["groups"]}
    for name, (objects, length) in total_of(wanted.classes).items():
        for key, true in (("objects", objects), ("array_length", length)):
            low, value, high = (by_class[name][f"{key}{end}"] for end in ("_low", "", "_high"))
            if name in SAMPLED:
                assert low <= value <= high
                # Thrice as wide as an interval that misses one time in twenty.
                assert value - 3 * (value - low) <= true <= value + 3 * (high - value)
    sites = {each["site"] for each in asked(path, "--by", "site")["groups"]}
    assert any(site.startswith("ObjectCounts$Plain.work:") for site in sites)


def test_a_jvm_that_is_killed_leaves_its_sums_of_a_moment_before(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    command = [
        "record",
        "--mode",
        "agent",
        "--objects",
        "allocations",
        "-o",
        path,
        "--",
        JAVAS["jdk17"],
        "-cp",
        classes,
    ]
    with start_headway(*command, "ObjectCounts", 2000, "wait", stdin=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith("jvm bytes"):
            lines.append(recorder.stdout.readline())
        wanted = parse_output("".join(lines))
        deadline = time.monotonic() + 60
        while of_own_classes(path / "spool") != total_of(wanted.classes) and time.monotonic() < deadline:
            time.sleep(0.2)
        (spool,) = (path / "spool").glob("agent-*.spool")
        os.kill(int(spool.stem.removeprefix("agent-")), signal.SIGKILL)
        recorder.communicate(timeout=120)
    found = asked(path, "--by", "thread-class")
    assert groups_of(found, wanted) == wanted.classes
    assert "HW804" in {each["id"] for each in found["warnings"]}


@pytest.mark.parametrize("jdk", JAVAS)
def test_a_class_that_is_unloaded_is_kept_alive_by_nobody_and_its_objects_are_counted(
    jdk: str, classes: Path, tmp_path: Path
) -> None:
    compile_java(classes, PROGRAMS / "ClassChurn.java")
    loaders = 300
    options = agent_options(tmp_path, objects=parse("allocations,sites"))
    command: list[str | Path] = [JAVAS[jdk], "-XX:+UseSerialGC", f"-agentpath:{agent()}={options}", "-cp", classes]
    done = subprocess.run([*command, "ClassChurn", str(loaders)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert of_classes(tmp_path, {"ClassChurn$Loaded"}) == {"ClassChurn$Loaded": (2 * loaders, 0)}
    assert parse_output(done.stdout).bytes["unloaded"] >= 2 * loaders - 10


def test_threads_that_start_after_an_attach_are_counted_from_their_first_object_on(
    classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.headway"
    command: list[str | Path] = [JAVAS["jdk17"], "-cp", classes, "ObjectCounts", "2000", "ask"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        record = ["record", "--mode", "agent", "--objects", "allocations,sites", "-o", path, "--pid", program.pid]
        with start_headway(*record) as recorder:
            deadline = time.monotonic() + 60
            while not counts_in(path / "spool") and recorder.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            out, _ = program.communicate("\n", timeout=120)
            _, err = recorder.communicate(timeout=120)
    assert (program.returncode, recorder.returncode) == (0, 0), err
    wanted = parse_output(out)
    started = {key: counts for key, counts in wanted.classes.items() if key[0] != "main"}
    found = asked(path, "--by", "thread-class")
    assert groups_of(found, Told(started, {})) == started
    assert "HW802" in {each["id"] for each in found["warnings"]}
    # Where threads stood at the attach is on record, too: the numbers of its stacks are no other's.
    query = "SELECT DISTINCT site_class, site_method FROM allocation WHERE class_name = 'ObjectCounts$Leaf[][]'"
    assert open_recording(path).query(query).fetchall() == [("ObjectCounts$Plain", "work")]


def test_the_last_sums_of_a_program_that_goes_on_are_there(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    command: list[str | Path] = [JAVAS["jdk17"], "-cp", classes, "ObjectCounts", "2000", "ask,wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        record = ["record", "--mode", "agent", "--objects", "allocations", "-o", path, "--pid", program.pid]
        with start_headway(*record) as recorder:
            wait_for(lambda: counts_in(path / "spool"))
            program.stdin.write("\n")
            program.stdin.flush()
            lines: list[str] = []
            while sum(" bytes " in line for line in lines) < 3:  # of the threads that it starts
                lines.append(program.stdout.readline())
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=120)
        assert recorder.returncode == 0, err
        assert program.poll() is None
        program.communicate("", timeout=60)
    started = {key: counts for key, counts in parse_output("".join(lines)).classes.items() if key[0] != "main"}
    found = asked(path, "--by", "thread-class")
    assert groups_of(found, Told(started, {})) == started
    assert "HW804" not in {each["id"] for each in found["warnings"]}


def counts_in(spool: Path) -> bool:
    """Return whether an agent has said that it counts."""
    if not any(spool.glob("agent-*.spool")):
        return False
    return any(dict(each["facts"]).get(b"objects_interval") for each in _native.Decoder(str(spool)).agents())
