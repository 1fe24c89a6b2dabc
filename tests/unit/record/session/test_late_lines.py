"""Iterations by printed lines, some of which the recorder read at once: only what these bound is left out, and it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.builders.counted_builder import ORIGIN_NS, CountedSlice, counted_recording
from support.builders.edited_manifest import edit
from support.drivers.recording_cli import headway

MS = 1_000_000
LENGTH_MS = 60


def recorded(path: Path, *lines_ms: int) -> Path:
    """Write a recording that counts as many cycles in each ms as that ms has as its number, and of which lines came then."""
    slices = [CountedSlice(0, 0, at * MS, MS, (at,)) for at in range(LENGTH_MS)]
    counted_recording(path, slices, LENGTH_MS * MS, (("cycles",),))
    edit(path, iterations={"by": "marker=round", "marks_ns": [ORIGIN_NS + at * MS for at in lines_ms]})
    return path


@pytest.mark.parametrize(
    ("lines_ms", "kept", "late"),
    [
        ((10, 20, 30, 40), [1, 2, 3, 4], 0),
        ((10, 20, 20, 30, 40), [4, 5], 2),
        ((10, 10, 20, 30), [3, 4], 2),
        ((10, 20, 30, 30), [1], 2),
        ((5, 10, 20, 20, 20, 30, 40, 50, 50), [1, 6], 5),
    ],
)
def test_only_iterations_that_a_late_line_bounds_are_left_out(
    tmp_path: Path, lines_ms: tuple[int, ...], kept: list[int], late: int
) -> None:
    done = headway("counters", recorded(tmp_path / "a.headway", *lines_ms), "--by", "iteration", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [row["iteration"] for row in said["iterations"]] == kept
    ends_ms = [*lines_ms[1:], LENGTH_MS]
    for row in said["iterations"]:
        begin, end = lines_ms[row["iteration"] - 1], ends_ms[row["iteration"] - 1]
        assert (row["from_ns"], row["to_ns"]) == (begin * MS, end * MS)
        assert row["counts"]["cycles"]["value"] == sum(range(begin, end))
    assert said["over_iterations"]["iterations"] == len(kept)
    messages = [each["message"] for each in said["warnings"] if each["id"] == "HW120"]
    out = len(lines_ms) - len(kept)
    assert messages == ([] if not late else [messages[0]])
    assert not late or messages[0].startswith(
        f"{out} of {len(lines_ms)} iterations by marker=round are left out: {late} lines"
    )


def test_the_last_iterations_are_the_last_of_those_that_are_known(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.headway", 5, 10, 20, 30, 40, 40)
    done = headway("counters", path, "--by", "iteration", "--last", 2, "--json")
    assert [row["iteration"] for row in json.loads(done.stdout)["iterations"]] == [2, 3]


def test_where_late_lines_bound_all_iterations_there_are_none(tmp_path: Path) -> None:
    done = headway("counters", recorded(tmp_path / "a.headway", 10, 20, 20, 20), "--by", "iteration", "--json")
    assert (done.returncode, done.stderr[:5]) == (1, "HW111")
    assert "2 of 4 lines came together with the one before" in " ".join(done.stderr.split())
