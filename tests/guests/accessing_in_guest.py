"""Runs in the guest of two memory nodes: records where the accesses of a JVM go whose memory the kernel puts where it is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from guests.placing_in_guest import BIND, FOLDER, INTERLEAVE, policy_of_memory
from support.drivers.guest_stages import Headway

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
ROUNDS = 3
WAYS = {"local": (BIND, 0b01), "remote": (BIND, 0b10), "interleaved": (INTERLEAVE, 0b11)}


def accessed(classes: str) -> dict[str, Any]:
    """Record the same program on the CPU of node 0, with its memory there, on node 1, and on both by turns."""
    before = re.findall(r"\[(\w+)\]", HUGE_PAGES.read_text())[0]
    HUGE_PAGES.write_text("never")  # the array has a few of them only: half of it would not be on each node
    try:
        return {name: _recorded(classes, name, *where) for name, where in WAYS.items()}
    finally:
        HUGE_PAGES.write_text(before)


def _recorded(classes: str, name: str, policy: int, nodes: int) -> dict[str, Any]:
    out, recording = FOLDER / f"{name}.out", FOLDER / f"{name}.headway"
    program = ["java", "-XX:+UseSerialGC", "-Xms64m", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", classes]
    words = ["record", "--cpus", "0", "--objects", "accesses,nodes,owners", "-o", recording, "--"]
    with policy_of_memory(policy, nodes):
        headway = Headway([*words, *program, "NodeAccesses", ROUNDS], out)
    code = headway.wait()
    assert code == 0, out.with_suffix(".err").read_text()
    answer = FOLDER / f"{name}.json"
    assert Headway(["objects", recording, "--by", "thread", "--json"], answer).wait() == 0
    found = json.loads(answer.read_text())
    return {"said": Path(out).read_text(), **{key: found[key] for key in ("accesses", "pairs", "nodes")}}
