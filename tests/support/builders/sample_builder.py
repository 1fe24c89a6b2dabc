"""Builds recordings of stack samples: a sample is (thread, ns, weight, stack), a stack is frames from the root down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.builders import synthetic
from support.builders.synthetic import ORIGIN, FakeThread

Sample = tuple[int | None, int, int, tuple[str, ...] | None]


def tables(samples: Mapping[str, Sequence[Sample]]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables frame, stack and sample for each event's samples; frames are Class.method or a plain name."""
    frames: dict[str, int] = {}
    stacks: dict[tuple[str, ...], int] = {}
    rows: dict[str, list[dict[str, Any]]] = {"frame": [], "stack": [], "sample": []}
    for event, taken in samples.items():
        for thread, ns, weight, stack in taken:
            if stack is not None and stack not in stacks:
                number = stacks.setdefault(stack, len(stacks))
                for depth, name in enumerate(reversed(stack)):
                    frame = frames.setdefault(name, len(frames))
                    rows["stack"].append({"stack_id": number, "depth": depth, "frame_id": frame, "is_cut": False})
            identity = None if stack is None else stacks[stack]
            rows["sample"].append(
                {"thread_id": thread, "ns": ORIGIN + ns, "event": event, "weight": weight, "stack_id": identity}
                | {"state": None}
            )
    rows["sample"].sort(key=lambda row: row["ns"])
    for name, number in frames.items():
        class_name, _, method = name.rpartition(".")
        kind = "java" if class_name else "native"
        rows["frame"].append(
            {"frame_id": number, "class_name": class_name, "method": method, "line": 10 + number, "kind": kind}
        )
    return rows


def write(path: Path, threads: Sequence[FakeThread], wall: int, samples: Mapping[str, Sequence[Sample]]) -> Path:
    """Write a recording of threads and samples."""
    return synthetic.write(path, threads, wall, tables=tables(samples))
