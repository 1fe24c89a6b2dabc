"""One place decides whether a recording is complete or partial."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import headway
from headway.record.directory.completeness import Missing

RECORD = Path(headway.__file__).parent / "record"


@pytest.mark.parametrize(
    ("missing", "state"),
    [
        (Missing(), "complete"),
        (Missing(recorder_died=True), "partial"),
        (Missing(file_is_cut_off=True), "partial"),
        (Missing(unread=1), "partial"),
        (Missing(unwritten_events=1), "partial"),
    ],
)
def test_a_recording_is_partial_as_soon_as_anything_of_it_is_missing(missing: Missing, state: str) -> None:
    assert missing.state == state


def test_nobody_else_calls_a_recording_partial() -> None:
    deciding = {
        path.relative_to(RECORD).as_posix()
        for path in RECORD.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == "partial"
    }
    assert deciding == {"directory/completeness.py"}
