"""Runs in the guest of two memory nodes: has headway place programs there, and says where their threads and pages are.

Where threads and pages are is read here, from /proc and by move_pages(2), not by headway.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.placement import daemon, memory_follower, readings
from support.drivers.guest_stages import ENOUGH_S, Headway, eventually

# What takes a millisecond elsewhere takes a tenth of a second here: headway may use as much more of a CPU, or it would look at a
# program once in minutes.
daemon.MOST_OF_A_CPU, daemon.MOST_OF_LOOKS, readings.MOST_OF_A_CPU, memory_follower.MOST_OF_TIME = 0.1, 0.1, 0.1, 0.5

FOLDER = Path("/run")
SPREAD = Path(__file__).parents[1] / "programs" / "memory_of_two_nodes.py"
A_LOOK_S = 2.0
"""Between two looks at all pages of a program: each takes a CPU for half a second in an emulated machine."""
BIND, INTERLEAVE = 2, 3
"""Policies of memory, by number (linux/mempolicy.h)."""
BALANCING = Path("/proc/sys/kernel/numa_balancing")
SECOND_CPU = Path("/sys/devices/system/cpu/cpu1/online")
_SET_MEMPOLICY, _MOVE_PAGES = 238, 279
_LIBC = ctypes.CDLL(None, use_errno=True)


def java(classes: str, log: Path, end: Path, *more: str) -> list[str]:
    options = ["-XX:+UseParallelGC", "-XX:ActiveProcessorCount=2", "-Xmx64m", "-XX:TieredStopAtLevel=1", *more]
    return ["java", *options, "-cp", classes, "NodeWork", str(log), str(end)]


@contextlib.contextmanager
def policy_of_memory(policy: int, nodes: int = 0) -> Iterator[None]:
    """Have processes that are started meanwhile take their memory from these nodes, a bit each."""

    def put(policy: int, nodes: int) -> None:
        mask = ctypes.c_ulong(nodes)
        assert _LIBC.syscall(_SET_MEMPOLICY, policy, ctypes.byref(mask) if nodes else None, 64 if nodes else 0) == 0

    put(policy, nodes)
    try:
        yield
    finally:
        put(0, 0)


def started(command: list[str], log: Path, policy: int = 0, nodes: int = 0) -> subprocess.Popen[bytes]:
    """Start the program with a policy of memory, and wait until it works."""

    log.touch()
    with policy_of_memory(policy, nodes):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    eventually(lambda: log.read_text().count("\n") > 10)
    return process


def spread(name: str, *more: object) -> tuple[subprocess.Popen[bytes], Path, Path]:
    """Start a program with memory on both nodes; return it, the file of its lines, and the one that ends it."""
    log, end = FOLDER / f"{name}.log", FOLDER / f"{name}.end"
    return started([sys.executable, str(SPREAD), str(log), str(end), *map(str, more)], log), log, end


def affinities(pid: int) -> list[list[int]]:
    """Return the affinities that the threads of a process have."""
    found = {frozenset(os.sched_getaffinity(int(tid))) for tid in os.listdir(f"/proc/{pid}/task")}
    return sorted(map(sorted, found))


def workers_on(pid: int) -> set[int]:
    """Return the CPUs on which the two workers are, or ran last."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return {int(stat.rpartition(")")[2].split()[36]) for stat in stats if "(worker-" in stat}


def states(pid: int) -> set[str]:
    """Return the states that the threads of a process are in."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return {stat.rpartition(")")[2].split()[0] for stat in stats}


def pages_by_node(pid: int) -> dict[int, int]:
    """Return how many anonymous pages of a process lie on each node, page by page as the kernel says."""
    found = Counter[int]()
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split()
        if len(words) > 5 and not words[5].startswith(("[heap]", "[stack")):
            continue
        first, last = (int(word, 16) for word in words[0].split("-"))
        for at in range(first, last, 4096 * 4096):
            count = min(4096, (last - at) // 4096)
            addresses = (ctypes.c_void_p * count)(*range(at, at + 4096 * count, 4096))
            status = (ctypes.c_int * count)()
            assert _LIBC.syscall(_MOVE_PAGES, pid, ctypes.c_ulong(count), addresses, None, status, 0) == 0
            found.update(node for node in status if node >= 0)
    return dict(found)


class Placing(Headway):
    """`headway place` of a program, and the records that it writes."""

    def __init__(self, pid: int, log: Path, *more: str) -> None:
        self.lines = FOLDER / "placed.jsonl"
        self.lines.write_text("")
        words = ["place", "--pid", pid, "--policy", "paper", "--progress-file", log, "--json", *more]
        super().__init__(words, self.lines)

    def until(self, event: str, count: int = 1) -> None:
        """Wait until there are so many records of a kind."""
        eventually(lambda: len(self.records(event)) >= count)

    def records(self, event: str = "") -> list[dict[str, Any]]:
        """Return what it has recorded by now, or those of one kind."""
        found = [json.loads(line) for line in self.lines.read_text().splitlines() if line.endswith("}")]
        return [each for each in found if event in ("", each["event"])]


def placed(classes: str) -> dict[str, Any]:
    """Place a program whose memory is all on node 1: by a signal, by kill -9; where it is before, meanwhile, and afterwards.

    What tells its progress stands still, so that it stays where the policy begins, on one node.
    """
    log, end, still = FOLDER / "placed.log", FOLDER / "placed.end", FOLDER / "still.log"
    still.touch()
    program = started(java(classes, log, end), log, BIND, 0b10)
    found: dict[str, Any] = {"before": affinities(program.pid), "pages": pages_by_node(program.pid)}
    for way, number in (("ended", signal.SIGTERM), ("killed", signal.SIGKILL)):
        headway = Placing(program.pid, still)
        eventually(lambda: affinities(program.pid) == [[1]])
        seen: set[int] = set()
        for _ in range(20):
            seen |= workers_on(program.pid)
            time.sleep(0.02)
        found[way] = {"meanwhile": affinities(program.pid), "cpus": sorted(seen)}
        headway.send_signal(number)
        headway.wait()
        found[way]["records"] = headway.records()
        eventually(lambda: affinities(program.pid) == found["before"])
        eventually(lambda: workers_on(program.pid) == {0, 1})
    end.touch()
    found["exit"] = program.wait(ENOUGH_S)
    return found


def looked_at(classes: str) -> dict[str, Any]:
    """Look at a program whose memory is spread, stopped for as long, so that what is counted twice is the same."""
    log, end = FOLDER / "looked.log", FOLDER / "looked.end"
    program = started(java(classes, log, end), log, INTERLEAVE, 0b11)
    program.send_signal(signal.SIGSTOP)
    eventually(lambda: states(program.pid) == {"T"})
    headway = Placing(program.pid, log, "--dry-run", "--duration", "1")
    found = {"pages": pages_by_node(program.pid), "exit": headway.wait(), "records": headway.records()}
    program.send_signal(signal.SIGCONT)
    end.touch()
    program.wait(ENOUGH_S)
    return found


def recorded(classes: str) -> dict[str, Any]:
    """Record a program, and return what `headway numa` says of it."""
    log, end, path = FOLDER / "recorded.log", FOLDER / "recorded.end", FOLDER / "a.headway"
    log.touch()
    recording = Headway(["record", "-o", path, "--", *java(classes, log, end)], FOLDER / "record.out")
    eventually(lambda: log.read_text().count("\n") > 50)
    end.touch()
    code, answer = recording.wait(), FOLDER / "numa.json"
    assert Headway(["numa", path, "--json"], answer).wait() == 0
    return {"exit": code, "numa": json.loads(answer.read_text())}


def memory() -> dict[str, Any]:
    """Place a program and its memory on both nodes, by a signal, by kill -9; return where its pages are before, and records."""
    program, log, end = spread("spread", 0)
    found: dict[str, Any] = {"before": pages_by_node(program.pid)}
    for way, number in (("ended", signal.SIGTERM), ("killed", signal.SIGKILL)):
        headway = Placing(program.pid, log, "--move-pages")
        headway.until("memory")
        meanwhile = pages_by_node(program.pid)
        headway.send_signal(number)
        headway.wait()
        found[way] = {"meanwhile": meanwhile, "records": headway.records()}
        eventually(lambda: pages_by_node(program.pid).get(1, 0) >= found["before"][1], A_LOOK_S)
    end.touch()
    found["exit"] = program.wait(ENOUGH_S)
    return found


def memory_of_a_jvm(classes: str) -> dict[str, Any]:
    """Place a JVM of one worker and its memory, which its collector's threads have touched on both nodes; then put both back."""
    log, end = FOLDER / "heap.log", FOLDER / "heap.end"
    program = started([*java(classes, log, end, "-Xms16m", "-Xmx16m", "-XX:+AlwaysPreTouch"), "1"], log)
    found: dict[str, Any] = {"before": pages_by_node(program.pid)}
    headway = Placing(program.pid, log, "--move-pages")
    headway.until("memory")
    found["meanwhile"] = pages_by_node(program.pid)
    lines = log.read_text().count("\n")
    eventually(lambda: log.read_text().count("\n") > lines + 10)  # it works on with its memory elsewhere
    headway.send_signal(signal.SIGTERM)
    found |= {"code": headway.wait(), "records": headway.records(), "after": pages_by_node(program.pid)}
    end.touch()
    found["exit"] = program.wait(ENOUGH_S)
    return found


def shared() -> dict[str, Any]:
    """Place a program whose memory another process has as well, so that it stays where it is."""
    program, log, end = spread("shared", 0, "shared")
    found: dict[str, Any] = {"before": pages_by_node(program.pid)}
    headway = Placing(program.pid, log, "--move-pages")
    headway.until("memory")
    found["meanwhile"] = pages_by_node(program.pid)
    headway.send_signal(signal.SIGTERM)
    found |= {"code": headway.wait(), "records": headway.records()}
    end.touch()
    found["exit"] = program.wait(ENOUGH_S)
    return found


def balanced() -> dict[str, Any]:
    """Place a program while the kernel balances nodes, for longer than threads have to stay before memory follows them."""
    BALANCING.write_text("1")
    program, log, end = spread("balanced", 1)
    headway = Placing(program.pid, log, "--move-pages")
    headway.until("decision")
    time.sleep(6)
    headway.send_signal(signal.SIGTERM)
    found = {"code": headway.wait(), "records": headway.records()}
    BALANCING.write_text("0")
    end.touch()
    return found | {"exit": program.wait(ENOUGH_S)}


def changes() -> dict[str, Any]:
    """Place a program and its memory; the kernel then begins to balance nodes, and loses the CPU that the program is on."""
    program, log, end = spread("changed", 1)
    headway = Placing(program.pid, log, "--move-pages")
    headway.until("memory")
    found: dict[str, Any] = {"meanwhile": pages_by_node(program.pid)}
    BALANCING.write_text("1")
    headway.until("note")
    SECOND_CPU.write_text("0")
    found |= {"code": headway.wait(), "records": headway.records(), "without": affinities(program.pid)}
    SECOND_CPU.write_text("1")
    BALANCING.write_text("0")
    eventually(lambda: affinities(program.pid) == [[0, 1]])
    lines = log.read_text().count("\n")
    eventually(lambda: log.read_text().count("\n") > lines + 10)
    end.touch()
    found["exit"] = program.wait(ENOUGH_S)
    return found
