"""Folders of sources without end, and recordings that name folders: limits that are told, and nothing of a stranger's choice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from headway.report.html import causal as causal_page
from headway.report.html import source_lines
from headway.report.html.causal import build_causal
from headway.report.html.source_lines import Sources
from headway.store import open_recording
from support.builders import causal_builder
from support.builders import causal_page_builder as build
from support.builders.edited_manifest import edit

CLASS = "package a;\n" + "line\n" * 60


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CLASS)


def found(sources: Sources, name: str) -> bool:
    return sources.around(f"a.{name}", f"{name}.java", 20) is not None


@pytest.mark.parametrize(
    ("name", "most", "said"),
    [
        ("MAX_FILES", 3, "3 files"),
        ("MAX_FOLDERS", 3, "3 folders"),
        ("MAX_LEVELS", 3, "3 levels of folders"),
        ("MAX_LOOKING_S", -1.0, "-1 s"),
    ],
)
def test_what_lies_beyond_a_limit_is_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: float, said: str
) -> None:
    place = tmp_path
    for level in range(10):
        put(place / f"At{level}.java")
        place /= "x"
    whole = Sources([tmp_path])
    assert found(whole, "At9")
    assert whole.notices == ()
    monkeypatch.setattr(source_lines, name, most)
    sources = Sources([tmp_path])
    (notice,) = sources.notices
    assert notice.id == "HW511"
    assert f"{tmp_path} there is more than headway looks through for sources ({said})" in notice.message
    assert found(sources, "At0") == (most > 0)
    assert not found(sources, "At9")
    page = build_causal(build.answer(), sources)
    assert "HW511" in [each["id"] for each in page["notices"]]


def test_a_folder_of_files_without_end_is_listed_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        put(tmp_path / f"N{number}.java")
    monkeypatch.setattr(source_lines, "MAX_FILES", 5)
    sources = Sources([tmp_path])
    assert sum(found(sources, f"N{number}") for number in range(20)) == 5
    assert len(sources.notices) == 1


def test_folders_nested_far_deeper_than_sources_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "/".join(["d"] * 100)).mkdir(parents=True)
    (notice,) = Sources([tmp_path]).notices
    assert "64 levels of folders" in notice.message


def test_lines_of_few_files_are_kept(tmp_path: Path) -> None:
    for number in range(20):
        put(tmp_path / f"N{number}.java")
    sources = Sources([tmp_path])
    assert all(found(sources, f"N{number}") for number in range(20))
    assert len(sources._texts) <= 4


def looked_into(directory: Path, monkeypatch: pytest.MonkeyPatch, sources: object, owner: int = 0) -> list[str]:
    """Make the report of a recording that names these folders, and return those that were looked into."""
    data = causal_builder.data_of(causal_builder.CausalModel({"half": causal_builder.serial(0.5)}))
    path = causal_builder.write(directory / "r.headway", data)
    facts = json.loads((path / "manifest.json").read_text()).get("causal") or {}
    edit(path, causal={**facts, "sources": sources})
    if os.geteuid() == 0:
        os.chown(path, owner, owner)
    looked: list[str] = []

    def made_of(directories: Iterable[str]) -> Sources:
        looked.extend(directories)
        return Sources(directories)

    monkeypatch.setattr(causal_page, "Sources", made_of)
    causal_page.render_causal(open_recording(path), directory / "page.html")
    return looked


@pytest.mark.root
@pytest.mark.parametrize(("owner", "is_looked_into"), [(0, True), (65534, False)])
def test_a_recording_of_a_strangers_names_no_folders_to_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, is_looked_into: bool
) -> None:
    secret = str(tmp_path / "secret")
    assert looked_into(tmp_path, monkeypatch, [secret], owner) == [secret] * is_looked_into


@pytest.mark.parametrize("sources", ["abc", 5, [5, None], {"a": 1}, ["relative"], ["/\0"]], ids=str)
def test_folders_that_are_no_names_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: object) -> None:
    assert looked_into(tmp_path, monkeypatch, sources) == []
