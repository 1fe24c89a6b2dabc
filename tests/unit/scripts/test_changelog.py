"""The changelog is for users: a section per version, grouped by what they can do, and short fragments for the next one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MOST_LINES, MOST_CHARACTERS = 4, 600


def section(version: str) -> str:
    found = re.search(rf"(?ms)^## {re.escape(version)}\b.*?(?=^## |\Z)", CHANGELOG)
    assert found, f"CHANGELOG.md has no section of version {version}"
    return found[0]


def test_the_version_of_the_project_is_in_the_changelog_grouped_by_what_users_do() -> None:
    titles = re.findall(r"(?m)^### (.+)$", section(PROJECT["project"]["version"]))
    assert titles == [
        "Recording",
        "Why cores were lost",
        "Locks",
        "Profiles",
        "Causal profiling",
        "Sweeps and speedups",
        "Import and export",
        "Report",
        "Safety and trust",
        "Installing",
    ]


def test_a_release_finds_where_to_write_its_notes() -> None:
    assert CHANGELOG.count("<!-- towncrier release notes start -->") == 1


def test_fragments_are_named_by_what_changed_and_are_a_few_lines() -> None:
    kinds = [kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]]
    for path in sorted((ROOT / "changelog.d").iterdir()):
        if path.name == ".gitkeep":
            continue
        assert re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(kinds)})\.md", path.name)
        text = path.read_text(encoding="utf-8").strip()
        assert 0 < len(text) <= MOST_CHARACTERS, path.name
        assert len(text.splitlines()) <= MOST_LINES, path.name
        assert not re.search(r"(?m)^[-*] ", text), f"{path.name}: a fragment is an item of a list already"
