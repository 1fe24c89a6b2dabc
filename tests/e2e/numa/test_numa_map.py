"""On which memory nodes the heap of a JVM is, against the kernel's own counts, with every collector."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.model.heap_look import HeapLook
from headway.record.collect.heap_nodes import HeapAsker
from headway.record.target_process.heap_memory import heap_memory
from headway.record.target_process.move_pages import PAGE
from headway.record.target_process.processes import Process
from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import HEADWAY, headway
from support.drivers.workloads import JAVAS, compile_java

COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")
HEAP = 48 << 20
IN_RAM = ("-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch")
A_WHILE_S, PAUSE_S = 120, 0.02
LOOKS = 20
"""At a heap, until all of it is there: pages that the kernel moves that moment, to make room for others, are not."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    compile_java(folder, PROGRAMS / "NodeWork.java")
    return folder


@contextmanager
def waiting(command: list[object], end: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run NodeWork until the block is left."""
    process = subprocess.Popen([*map(str, command), end], stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        end.touch()
        process.communicate(timeout=A_WHILE_S)


def command_of(jdk: str, classes: Path, place: Path, *options: str) -> list[object]:
    """Return the command of a program that appends to a log; its end's file is to be added."""
    return [JAVAS[jdk], *options, "-XX:TieredStopAtLevel=1", "-cp", classes, "NodeWork", place / "log"]


def until_it_works(place: Path, process: subprocess.Popen[bytes]) -> None:
    while not (place / "log").exists() or (place / "log").read_text().count("\n") < 3:
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(PAUSE_S)


def counted_by_kernel(pid: int, ranges: list[tuple[int, int]]) -> Counter[int]:
    """Return the pages by node of mappings within some addresses, without class data, as the kernel's numa_maps counts them."""
    found = Counter[int]()
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        at = int(line.split()[0], 16)
        if any(first <= at < last for first, last in ranges) and ".jsa" not in line:
            found.update({int(node): int(count) for node, count in re.findall(r"\bN(\d+)=(\d+)", line)})
    return found


def whole_look(asker: HeapAsker) -> HeapLook:
    """Return the first look at which all of the heap is there, or the last one."""
    looks = (look for _ in range(LOOKS) if (look := asker.look()) is not None)
    last = None
    for look in looks:
        last = look
        if look.unknown_pages == 0:
            break
    assert last is not None
    return last


def heap_by_jvm(pid: int) -> list[tuple[int, int]]:
    """Return the addresses of the heap as the JVM says them (jcmd)."""
    jcmd = JAVAS["jdk17"].with_name("jcmd")
    text = subprocess.run([jcmd, str(pid), "GC.heap_info"], capture_output=True, text=True, check=True).stdout
    ends = [int(each, 16) for each in re.findall(r"0x([0-9a-f]{7,})", text)]
    return [(min(ends), max(ends))]


@pytest.mark.skipif(
    not Path("/proc/self/numa_maps").exists(), reason="the kernel does not say on which nodes memory is"
)
@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("jdk", JAVAS)
def test_the_heap_is_found_and_its_pages_are_where_the_kernel_counts_them(
    jdk: str, collector: str, classes: Path, tmp_path: Path
) -> None:
    command = command_of(jdk, classes, tmp_path, *IN_RAM, f"-XX:+Use{collector}GC")
    with waiting(command, tmp_path / "end") as program:
        until_it_works(tmp_path, program)
        process = Process.of(program.pid)
        assert process is not None
        asker = HeapAsker(process)
        look = whole_look(asker)
        parts = heap_memory(program.pid, asker.size).parts
        counted = counted_by_kernel(program.pid, [(part.start, part.end) for part in parts])
        said = heap_by_jvm(program.pid) if collector in ("Serial", "Parallel", "G1") else []
    assert (look.is_heap, look.is_exact, look.unknown_pages) == (True, True, 0)
    assert asker.size == HEAP
    assert look.memory_pages <= HEAP // PAGE
    assert look.memory_pages * PAGE > HEAP - (2 << 20)  # G1 of JDK 17 has class data there
    assert look.pages == counted
    assert said in ([], [(parts[0].start, parts[-1].end)])


@pytest.mark.parametrize("jdk", JAVAS)
def test_a_recording_knows_where_the_heap_was_and_what_asking_took(jdk: str, classes: Path, tmp_path: Path) -> None:
    path, end = tmp_path / "a.headway", tmp_path / "end"
    options = ["record", "--mode", "agent", "--numa-map", "100ms", "-o", path, "--"]
    command = [*HEADWAY, *options, *command_of(jdk, classes, tmp_path, *IN_RAM, "-XX:+UseParallelGC")]
    looks = path / "spool" / "heap-nodes.jsonl"
    with waiting(command, end) as recorder:
        until_it_works(tmp_path, recorder)
        while not looks.exists() or looks.read_text().count("\n") < 2:
            assert recorder.poll() is None
            time.sleep(PAUSE_S)
    assert recorder.returncode == 0
    done = headway("numa-map", path, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["looks"]) >= 2
    assert (found["interval_ns"], found["cpu_ns"] > 0) == (100_000_000, True)
    for look in found["looks"]:
        assert (look["is_heap"], look["is_exact"], look["memory_bytes"]) == (True, True, HEAP)
        assert sum(each["bytes"] for each in look["nodes"]) + look["unknown"]["bytes"] == HEAP
    assert any(look["unknown"]["bytes"] == 0 for look in found["looks"])
    nodes = [int(each.name[4:]) for each in Path("/sys/devices/system/node").glob("node[0-9]*")]
    assert (sorted(nodes), found["all_local"]) == (found["machine_nodes"], len(nodes) == 1)


def test_a_running_jvm_is_looked_at_until_the_time_is_up(classes: Path, tmp_path: Path) -> None:
    with waiting(command_of("jdk17", classes, tmp_path, *IN_RAM, "-XX:+UseSerialGC"), tmp_path / "end") as program:
        until_it_works(tmp_path, program)
        words = ("numa-map", "--pid", program.pid, "--interval", "50ms", "--duration", "200ms")
        as_json, as_text = headway(*words, "--json"), headway(*words)
    looks = [json.loads(line)["looks"][0] for line in as_json.stdout.splitlines()]
    assert looks
    assert {(each["pid"], each["is_heap"]) for each in looks} == {(program.pid, True)}
    assert any(each["unknown"]["bytes"] == 0 for each in looks)
    assert [each["at_ns"] for each in looks] == sorted(each["at_ns"] for each in looks)
    assert "48 MiB on node" in as_text.stdout
