"""The guard of rearrangements (scripts/same_answers.py): what it asks, and which answers it calls different."""

from __future__ import annotations

from pathlib import Path

import same_answers

from headway.report.registry import exporters, own_analyses


def write(folder: Path, **answers: str) -> Path:
    for name, text in answers.items():
        file = folder / "a.headway" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"exit code 0\n{text}")
    return folder


def test_answers_that_differ_or_are_missing_are_named_with_their_keys(tmp_path: Path) -> None:
    before = write(tmp_path / "before", why='{"a": 1, "b": 2}', locks="[]", threads='{"a": 1, "b": 2}', top="{}")
    after = write(tmp_path / "after", why='{"a": 1, "b": 3}', locks="[]", threads='{"b": 2, "a": 1}', notes="[]")
    assert same_answers.differing(before, after) == [
        "a.headway/notes.json",
        "a.headway/threads.json: only the order or the spaces",
        "a.headway/top.json",
        "a.headway/why.json: b",
    ]
    assert same_answers.differing(before, before) == []


def test_every_analysis_and_every_format_is_asked_for() -> None:
    asked = same_answers.questions(Path("a.headway"), Path("x")) + same_answers.questions(Path("a.sweep"), Path("x"))
    names = {name for name, _ in asked}
    for entry in own_analyses():
        assert {f"{entry.name}.json", f"{entry.name}.txt"} <= names
    assert {f"export.{entry.name}" for entry in exporters()} <= names
    assert "report" in names
