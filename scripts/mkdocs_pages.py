"""MkDocs hook: put every page of docs/explanation and docs/decisions into the navigation: a new one needs no second edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDERS = {"Explanation": "explanation", "Decisions": "decisions"}


def on_config(config: Any) -> Any:
    """Complete the navigation's entries: pages that it does not list come last, in the order of their names."""
    docs = Path(config["docs_dir"])
    for entry in config["nav"]:
        for title in FOLDERS.keys() & (entry.keys() if isinstance(entry, dict) else set()):
            pages = sorted(page.relative_to(docs).as_posix() for page in (docs / FOLDERS[title]).glob("*.md"))
            entry[title] += [page for page in pages if page not in entry[title]]
    return config
