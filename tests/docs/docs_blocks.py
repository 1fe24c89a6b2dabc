"""The commands that README and docs tell people to run: every fenced `sh` block, with what its test must know.

A comment right before a block may say `<!-- docs-test: cwd=repo -->` (it is run in the repository) or
`<!-- docs-test: parse-only: REASON -->` (it needs what a test can't have; its headway commands are still parsed), or
`<!-- docs-test: run-by: TEST -->` (that test runs it, with what it needs).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"(?:<!-- docs-test: (?P<note>[^\n]*?) -->\n)?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its shell text, and where it stands and how it is run."""

    text: str
    in_repository: bool
    parse_only: bool
    run_by: str = ""


def documents() -> list[Path]:
    """Return the documents that have commands, but for the generated reference."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if blocks(page)]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a document, in order."""
    found = []
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        note = match["note"] or ""
        run_by = note.removeprefix("run-by: ") if note.startswith("run-by: ") else ""
        found.append(Block(match["text"], note == "cwd=repo", note.startswith("parse-only"), run_by))
    return found
