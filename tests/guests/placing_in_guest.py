"""Runs in the guest of two memory nodes: has headway place a JVM there, and says where its threads and pages are.

One object of JSON, on its last line. Where threads and pages are is read here, from /proc and by move_pages(2), not by headway.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path("/run")
SPREAD = Path(__file__).parents[1] / "programs" / "memory_of_two_nodes.py"
A_LOOK_S = 2.0
"""Between two looks at all pages of a program: each takes a CPU for half a second in an emulated machine."""
BIND, INTERLEAVE = 2, 3
"""Policies of memory, by number (linux/mempolicy.h)."""
ENOUGH_S = 500.0
_SET_MEMPOLICY, _MOVE_PAGES = 238, 279
_LIBC = ctypes.CDLL(None, use_errno=True)
HEADWAY = [sys.executable, "-m", "headway"]


def java(classes: str, log: Path, end: Path) -> list[str]:
    options = ["-XX:+UseParallelGC", "-XX:ActiveProcessorCount=2", "-Xmx64m", "-XX:TieredStopAtLevel=1"]
    return ["java", *options, "-cp", classes, "NodeWork", str(log), str(end)]


def started(command: list[str], log: Path, policy: int, nodes: int) -> subprocess.Popen[bytes]:
    """Start the program with a policy of memory, and wait until both of its threads work."""

    def memory() -> None:
        mask = ctypes.c_ulong(nodes)
        assert _LIBC.syscall(_SET_MEMPOLICY, policy, ctypes.byref(mask), 64) == 0

    log.touch()
    process = subprocess.Popen(command, preexec_fn=memory)
    eventually(lambda: log.read_text().count("\n") > 10)
    return process


def eventually(condition: Callable[[], bool], every_s: float = 0.05) -> None:
    end_s = time.monotonic() + ENOUGH_S
    while not condition():
        assert time.monotonic() < end_s, "waited for long"
        time.sleep(every_s)


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


def place(pid: int, log: Path, *more: str) -> subprocess.Popen[str]:
    words = ["place", "--pid", str(pid), "--policy", "paper", "--progress-file", str(log), "--json", *more]
    return subprocess.Popen([*HEADWAY, *words], stdout=subprocess.PIPE, text=True)


def records(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in process.communicate(timeout=ENOUGH_S)[0].splitlines()]


def placed(classes: str) -> dict[str, Any]:
    """Place a program whose memory is all on node 1: by a signal, by kill -9; where it is before, meanwhile, and afterwards."""
    log, end = FOLDER / "placed.log", FOLDER / "placed.end"
    program = started(java(classes, log, end), log, BIND, 0b10)
    found: dict[str, Any] = {"before": affinities(program.pid), "pages": pages_by_node(program.pid)}
    for way, number in (("ended", signal.SIGTERM), ("killed", signal.SIGKILL)):
        headway = place(program.pid, log)
        eventually(lambda: len(affinities(program.pid)[0]) == 1 and len(affinities(program.pid)) == 1)
        seen: set[int] = set()
        for _ in range(20):
            seen |= workers_on(program.pid)
            time.sleep(0.02)
        found[way] = {"meanwhile": affinities(program.pid), "cpus": sorted(seen)}
        headway.send_signal(number)
        found[way]["records"] = records(headway)
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
    pages = pages_by_node(program.pid)
    found = {"pages": pages, "records": records(place(program.pid, log, "--dry-run", "--duration", "1"))}
    program.send_signal(signal.SIGCONT)
    end.touch()
    program.wait(ENOUGH_S)
    return found


def recorded(classes: str) -> dict[str, Any]:
    """Record a program, and return what `headway numa` says of it."""
    log, end, path = FOLDER / "recorded.log", FOLDER / "recorded.end", str(FOLDER / "a.headway")
    words = [*HEADWAY, "record", "-o", path, "--", *java(classes, log, end)]
    log.touch()
    recording = subprocess.Popen(words)
    eventually(lambda: log.read_text().count("\n") > 50)
    end.touch()
    code = recording.wait(ENOUGH_S)
    numa = subprocess.run([*HEADWAY, "numa", path, "--json"], capture_output=True, text=True, timeout=ENOUGH_S)
    return {"exit": code, "numa": json.loads(numa.stdout)}


def memory_moved() -> dict[str, Any]:
    """Place a program and its memory on both nodes, by a signal, by kill -9; return where its pages are before, and records."""
    log, end, lines = FOLDER / "spread.log", FOLDER / "spread.end", FOLDER / "spread.jsonl"
    log.touch()
    program = subprocess.Popen(["taskset", "-c", "0", sys.executable, str(SPREAD), str(log), str(end)])
    eventually(lambda: log.read_text().count("\n") > 10)
    found: dict[str, Any] = {"before": pages_by_node(program.pid)}
    for way, number in (("ended", signal.SIGTERM), ("killed", signal.SIGKILL)):
        words = [
            "place",
            "--pid",
            str(program.pid),
            "--policy",
            "paper",
            "--progress-file",
            str(log),
            "--json",
            "--move-pages",
        ]
        with open(lines, "w") as file:
            headway = subprocess.Popen([*HEADWAY, *words], stdout=file)
        eventually(lambda: '"event": "memory"' in lines.read_text())
        meanwhile = pages_by_node(program.pid)
        headway.send_signal(number)
        headway.wait(ENOUGH_S)
        found[way] = {"meanwhile": meanwhile, "records": [json.loads(line) for line in lines.read_text().splitlines()]}
        eventually(lambda: pages_by_node(program.pid).get(1, 0) >= found["before"][1], A_LOOK_S)
    end.touch()
    found["exit"] = program.wait(ENOUGH_S)
    return found


if __name__ == "__main__":
    answer = {"placed": placed(sys.argv[1]), "looked_at": looked_at(sys.argv[1]), "recorded": recorded(sys.argv[1])}
    answer["memory"] = memory_moved()
    print(json.dumps(answer), flush=True)
