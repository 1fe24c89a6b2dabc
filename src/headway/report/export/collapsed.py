"""Collapsed stacks: a line per stack, its frames from the root down with ; between them, a space, and its weight.

What flamegraph.pl, inferno, speedscope and `headway import` read. A frame can't hold what ends it: a semicolon, a line break
and everything else that is no plain character is spelled out (\\x3b, \\x0a).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.report.export.stack_paths import weighted_paths
from headway.report.output import new_file
from headway.report.terminal.printing.text import printable
from headway.store.shared_texts import shortened

if TYPE_CHECKING:
    from headway.analyses.stacks.types import CallTree, Profile


MOST_BYTES = 1 << 30
"""Of a file whose names are not cut short: each line has its frames' names anew, and a stranger's may be long."""


def export_collapsed(found: Profile, path: Path | str, *, overwrite: bool = False) -> Path:
    """Write a profile as collapsed stacks; the weights are those of the tables, in the profile's unit.

    Where that would take more than MOST_BYTES, names of more than 256 bytes end in "...".
    Raises HeadwayError HW500 or HW501 (see `new_file`).
    """
    names = [printable(frame.text).replace(";", "\\x3b") or "(no name)" for frame in found.frames]
    frame = found.tree.frame.tolist()
    if _size_bytes(found.tree, frame, names) > MOST_BYTES:
        names = [shortened(name) for name in names]
    with new_file(path, overwrite=overwrite) as out:
        for nodes, weight in weighted_paths(found.tree):
            out.write(f"{';'.join([names[frame[node]] for node in nodes])} {weight}\n".encode())
    return Path(path)


def _size_bytes(tree: CallTree, frame: list[int], names: list[str]) -> int:
    """Return about how many bytes the paths of a tree take as text."""
    lengths = [len(name) + 1 for name in names]
    until: list[int] = []
    total = 0
    for number, depth, weight in zip(frame, tree.depth.tolist(), tree.self_weight.tolist(), strict=True):
        until[depth:] = [(until[depth - 1] if depth else 0) + lengths[number]]
        total += until[depth] if weight else 0
    return total
