"""A flame graph as a page of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.report.html.facts import title
from headway.report.html.flame_pack import pack, visible
from headway.report.html.page import write_page
from headway.report.html.profile import LABEL_CHARS, flame_graph
from headway.report.html.text import cut, with_levels

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Profile, ProfileDiff
    from headway.store import Recording

FLAME_BYTES = 8_000_000
"""What the graph of a page may hold: some 600,000 frames."""
_MAX_NOTICES = 40


def render_flame(
    found: Profile | ProfileDiff,
    path: Path | str,
    *,
    recording: Recording,
    by_thread: Profile | None = None,
    label: str | None = None,
    versus: str = "the other recording",
    overwrite: bool = False,
) -> Path:
    """Write a profile as one self-contained page to `path` and return it; the file appears whole or not at all.

    by_thread: the same profile with a root per thread, to choose in the page. A ProfileDiff is drawn by its `after` side and
    coloured by how its shares differ from the `before` side, which the page calls `versus`.

    Raises HeadwayError HW500 (the file exists, unless `overwrite`), HW501 (it can't be written) or HW502 (this
    installation lacks the page).
    """
    graph = flame_graph(found, by_thread=by_thread, label=label, versus=versus)
    manifest = recording.manifest
    payload = {
        "version": 1,
        "page": "flame",
        "made": {
            "headway": manifest.headway_version or "unknown",
            "recorded_utc": manifest.created_utc,
            "recording": visible(recording.path.name),
        },
        "title": cut(visible(title(manifest)), LABEL_CHARS),
        "notices": with_levels(dict.fromkeys(found.notices))[:_MAX_NOTICES],
        "flames": pack([graph], FLAME_BYTES),
    }
    return write_page(payload, path, overwrite=overwrite)
