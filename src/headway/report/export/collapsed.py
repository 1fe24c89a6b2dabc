"""Collapsed stacks: a line per stack, its frames from the root down with ; between them, a space, and its weight.

What flamegraph.pl, inferno, speedscope and `headway import` read. A frame can't hold what ends it: a semicolon, a line break
and everything else that is no plain character is spelled out (\\x3b, \\x0a).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.report.export.stack_paths import weighted_paths
from headway.report.output import new_file
from headway.report.terminal.text import printable

if TYPE_CHECKING:
    from headway.analyses.profile_types import Profile


def export_collapsed(found: Profile, path: Path | str, *, overwrite: bool = False) -> Path:
    """Write a profile as collapsed stacks; the weights are those of the tables, in the profile's unit.

    Raises HeadwayError HW500 or HW501 (see `new_file`).
    """
    names = [printable(frame.text).replace(";", "\\x3b") or "(no name)" for frame in found.frames]
    frame = found.tree.frame.tolist()
    with new_file(path, overwrite=overwrite) as out:
        for nodes, weight in weighted_paths(found.tree):
            out.write(f"{';'.join([names[frame[node]] for node in nodes])} {weight}\n".encode())
    return Path(path)
