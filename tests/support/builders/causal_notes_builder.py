"""Builds agents' notes (the wire format of causal recordings), and the recording directory around them before finalising."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

S = 1_000_000_000
BEGIN_NS = 1000 * S

Note = dict[str, Any]


def note(kind: str, at_s: float, /, **fields: Any) -> Note:
    """Return one note of a kind, at seconds from the start."""
    return {"t": kind, "ns": BEGIN_NS + round(at_s * S), **fields}


def begin(pid: int = 77, mode: str = "experiments") -> Note:
    """Return the note that begins a recording."""
    return note("begin", 0, pid=pid, jdk="17.0.1", timer="posix", period_ns=1_000_000, cores=2, mode=mode)


def point(number: int = 0, name: str = "work", where: str = "com.acme.Work.unit", **fields: Any) -> Note:
    """Return the note of a progress point."""
    return note(
        "point",
        0.1,
        **{"id": number, "name": name, "kind": "method", "where": where, "latency": -1, "places": 1} | fields,
    )


def line(number: int, line_number: int, class_name: str = "com.acme.Work", **fields: Any) -> Note:
    """Return the note that names a line."""
    plain = {"kind": "line", "class": class_name, "method": "unit", "file": "Work.java", "line": line_number}
    return note("line", 0.2, id=number, **plain | fields)


def experiment(
    number: int, target: int, pct: int, *, visits: int, dur_s: float = 0.5, delay_s: float = 0.0, **fields: Any
) -> Note:
    """Return an experiment with visits of point 0."""
    start_s = 1 + number * 0.5
    plain = {
        "id": number,
        "target": target,
        "speedup_pct": pct,
        "start_ns": BEGIN_NS + round(start_s * S),
        "dur_ns": round(dur_s * S),
        "delay_ns": round(delay_s * S),
        "gc_ns": 0,
        "gcs": 0,
        "hits_ns": 1000,
        "hits": 10,
        "samples": 100,
        "sampled_ns": 100_000_000,
        "waited_ns": 0,
        "spin": 0,
        "visits": [[0, visits]],
        "latency": [],
        "complete": 1,
    }
    return note("experiment", start_s + dur_s, **plain | fields)


def profile(at_s: float, lines: Iterable[Iterable[int]], outside_ns: int = 0, methods: Iterable[str] = ()) -> Note:
    """Return the note of samples by line."""
    rows = [list(each) for each in lines]
    return note(
        "profile", at_s, lines=rows, out_of_scope_ns=outside_ns, unread_ns=0, out_of_scope_methods=list(methods)
    )


def hits(at_s: float, count: int, number: int = 0) -> Note:
    """Return the note of visits of a progress point."""
    return note("hits", at_s, points=[[number, count]])


def health(at_s: float, **counts: int) -> Note:
    """Return the note on how samples and payments went."""
    return note("health", at_s, refused={"-3": 4}, **{"samples": 100, "threads": 3} | counts)


def text(notes: Iterable[Note]) -> str:
    """Return notes as the lines of a file."""
    return "".join(json.dumps(each) + "\n" for each in notes)


def a_run(pid: int = 77) -> list[Note]:
    """Return the notes of a whole run: line 42 in four experiments, line 43 in one."""
    return [
        begin(pid),
        point(),
        line(2, 42),
        hits(1, 100),
        experiment(0, 2, 0, visits=100),
        experiment(1, 2, 50, visits=125, delay_s=0.1),
        hits(2, 300),
        experiment(2, 2, 0, visits=100),
        experiment(3, 2, 100, visits=100, delay_s=0.25, complete=0),
        line(3, 43),
        experiment(4, 3, 0, visits=90),
        profile(2, [[2, 5000, 0, 5]]),
        profile(3, [[2, 3_000_000_000, 7, 900], [3, 1_000_000_000, 0, 300]], outside_ns=11),
        hits(3, 600),
        hits(4, 700),
        health(4),
        note("end", 4),
    ]


def recording(directory: Path, notes: dict[int, str], **manifest: Any) -> Path:
    """Create a recording as its recorder leaves it before finalising: a manifest, and notes in its spool."""
    (directory / "spool").mkdir(parents=True)
    for pid, content in notes.items():
        (directory / "spool" / f"causal-{pid}.jsonl").write_text(content)
    plain = {
        "format": "headway-recording",
        "version": 1,
        "state": "recording",
        "mode": "agent",
        "command": ["java", "Work"],
        "pid": 77,
        "exit_code": 0,
        "ended_by": "exit",
        "recorder_pid": os.getpid(),
        "recorder_start_ticks": 1,
        "boot_id": "of another boot",
        "kind": "causal",
        "causal": {"mode": "experiments", "progress": [{"name": "work", "where": "com.acme.Work.unit"}], "scope": []},
        "causal_run": 0,
        "notices": [],
    }
    (directory / "manifest.json").write_text(json.dumps({**plain, **manifest}))
    return directory
