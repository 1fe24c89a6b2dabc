"""A profile for https://www.speedscope.app: its file format, with a sampled profile for all threads together, then one for each.

Stacks are merged, so time does not run from left to right: the views "left heavy" and "sandwich" are what to look at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.analyses.stacks.types import BYTES, NANOSECONDS
from headway.report.export.stack_paths import valid, weighted_paths
from headway.report.output import new_file

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Profile

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {NANOSECONDS: "nanoseconds", BYTES: "bytes"}


def export_speedscope(
    found: Profile, by_thread: Profile, path: Path | str, *, name: str, overwrite: bool = False
) -> Path:
    """Write a profile for speedscope. `by_thread` is the same one with a root per thread; `name` is its title.

    Raises HeadwayError HW500 or HW501 (see `new_file`).
    """
    frames = [_frame(frame.text, frame.line) for frame in by_thread.frames]
    with new_file(path, overwrite=overwrite) as out:
        # Piece by piece: the stacks of all threads may be larger than everything else that is in memory.
        head = {"$schema": _SCHEMA, "name": valid(name), "activeProfileIndex": 0, "exporter": "headway"}
        out.write(json.dumps(head)[:-1].encode())
        out.write(b', "shared": ' + json.dumps({"frames": frames}).encode() + b', "profiles": [')
        for i, profile in enumerate((_merged(found), *_threads(by_thread))):
            out.write((b",\n" if i else b"\n") + json.dumps(profile, separators=(",", ":")).encode())
        out.write(b"\n]}\n")
    return Path(path)


def _frame(name: str, line: int | None) -> dict[str, Any]:
    return {"name": valid(name)} if line is None else {"name": valid(name), "line": line}


def _merged(found: Profile) -> dict[str, Any]:
    frame = found.tree.frame.tolist()
    stacks: list[list[int]] = []
    weights: list[int] = []
    for nodes, weight in weighted_paths(found.tree):
        stacks.append([frame[node] for node in nodes])
        weights.append(weight)
    return _sampled(f"{found.event}, all threads", found.unit, stacks, weights)


def _threads(found: Profile) -> Iterator[dict[str, Any]]:
    """Yield a profile per thread, in the order of their weight; its root, which names it, is left out."""
    frame = found.tree.frame.tolist()
    root, stacks, weights = -1, list[list[int]](), list[int]()
    for nodes, weight in weighted_paths(found.tree):
        if nodes[0] != root:
            if stacks:
                yield _sampled(found.frames[frame[root]].text, found.unit, stacks, weights)
            root, stacks, weights = nodes[0], [], []
        stacks.append([frame[node] for node in nodes[1:]])
        weights.append(weight)
    if stacks:
        yield _sampled(found.frames[frame[root]].text, found.unit, stacks, weights)


def _sampled(name: str, unit: str, stacks: list[list[int]], weights: list[int]) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": valid(name),
        "unit": _UNITS.get(unit, "none"),
        "startValue": 0,
        "endValue": sum(weights),
        "samples": stacks,
        "weights": weights,
    }
