"""Runs in the guest of two memory nodes: asks headway on which nodes a JVM's heap is, which the kernel is told to put there."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path
from typing import Any

from guests.placing_in_guest import FOLDER, INTERLEAVE, java, started
from support.drivers.guest_stages import ENOUGH_S, Headway

HEAP = ("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch")
_MIGRATE_PAGES = 256
_LIBC = ctypes.CDLL(None, use_errno=True)


def on_nodes(pid: int, start: int, end: int) -> dict[int, int]:
    """Return the pages by node between two addresses, as the kernel's numa_maps counts them."""
    found: dict[int, int] = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        if start <= int(line.split()[0], 16) < end:
            for node, count in re.findall(r"\bN(\d+)=(\d+)", line):
                found[int(node)] = found.get(int(node), 0) + int(count)
    return found


def heap_of(pid: int) -> tuple[int, int]:
    """Return the addresses of the heap: those of 32 MiB together that end where compressed pointers of small heaps do."""
    end = 1 << 32
    return end - (32 << 20), end


def look(pid: int) -> dict[str, Any]:
    """Return the last look of headway at a process, and what the kernel counts in its heap."""
    out = FOLDER / "map.jsonl"
    code = Headway(["numa-map", "--pid", pid, "--duration", "1ms", "--json"], out).wait()
    found = json.loads(out.read_text().splitlines()[-1])
    return {"exit": code, "found": found, "kernel": on_nodes(pid, *heap_of(pid))}


def mapped(classes: str) -> dict[str, Any]:
    """Look at a JVM whose heap is spread over both nodes by turns, then moved to node 1, then to node 0."""
    log, end = FOLDER / "mapped.log", FOLDER / "mapped.end"
    program = started(java(classes, log, end, *HEAP), log, INTERLEAVE, 0b11)
    looks = {"spread": look(program.pid)}
    for name, old, new in (("node 1", 0b01, 0b10), ("node 0", 0b10, 0b01)):
        masks = (ctypes.byref(ctypes.c_ulong(old)), ctypes.byref(ctypes.c_ulong(new)))
        left = _LIBC.syscall(_MIGRATE_PAGES, program.pid, 64, *masks)
        looks[name] = {"left": left, **look(program.pid)}
    end.touch()
    return {"looks": looks, "exit": program.wait(ENOUGH_S)}
