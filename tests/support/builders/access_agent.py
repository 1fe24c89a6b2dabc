"""Builds recordings of one JVM with two threads whose agent counted accesses, through the decoder and all of finalising."""

from __future__ import annotations

import json
from pathlib import Path

from headway.record.finalise.finalise import finalise
from headway.store import Recording, open_recording
from support.builders.allocation_spool_builder import AllocatingAgent
from support.builders.spool_builder import Spool

MS = 1_000_000
JVM, T1 = 10, 11
COMPLETE = {
    b"accesses": b"on",
    b"accesses_end": b"complete",
    b"accesses_coverage": b"classes=3,classes_left_out=0,loaded_before=0,methods_left_out=0,instructions=9,"
    b"instructions_left_out=0,threads_left_out=0",
}
"""What an agent says of itself that has counted everything."""


def accessing_agent(facts: dict[bytes, bytes]) -> AllocatingAgent:
    """Return a JVM with the threads main and w1, and what its agent says of itself."""
    agent = AllocatingAgent(JVM, created_ns=1 * MS)
    agent.thread(2 * MS, JVM, 1, b"main")
    agent.thread(2 * MS, T1, 21, b"w1")
    for key, value in facts.items():
        agent.fact(key, value)
    agent.java_class(1, b"com.acme.Order")
    return agent


def finished(folder: Path, agent: AllocatingAgent) -> Recording:
    """Finalise what one agent has written, as a recording that ended with its program."""
    directory = folder / "a.headway"
    (directory / "spool").mkdir(parents=True)
    spool = Spool()
    spool.snapshot(0, JVM, "S", pid=JVM)
    spool.snapshot(0, T1, "S", start_ns=1, pid=JVM)
    spool.write(directory / "spool")
    agent.write(directory / "spool")
    base = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": JVM}
    window = {"start_ns": 0, "end_ns": 100 * MS}
    manifest = {**base, "ended_by": "exit", "window": window, "notices": [], "objects": {"accesses": True}}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    finalise(directory)
    return open_recording(directory)
