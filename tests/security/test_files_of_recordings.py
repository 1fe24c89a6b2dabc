"""How a recording's directory and its files are made and opened: each comparison by itself, as the others would hide it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.store import directory, files


@pytest.mark.parametrize("put", ["a link to an empty directory", "a directory of ours with a file in it"])
def test_what_is_in_the_place_of_the_directory_that_was_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put: str
) -> None:
    """Both are of this user and on this device: what somebody may move who owns the directory above."""
    (tmp_path / "other").mkdir()
    if "file" in put:
        (tmp_path / "other/file").touch()
    real = os.mkdir

    def made_and_exchanged(name: Any, *words: Any, **options: Any) -> None:
        real(name, *words, **options)
        (tmp_path / name).rmdir()
        if "link" in put:
            (tmp_path / name).symlink_to("other")
        else:
            (tmp_path / "other").rename(tmp_path / name)

    monkeypatch.setattr(os, "mkdir", made_and_exchanged)
    with pytest.raises(HeadwayError, match="HW317"):
        directory.make_directory(tmp_path / "r.headway")


def test_a_new_file_is_made_and_never_one_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where somebody guesses the random name."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: "ab" * 6)
    kept = tmp_path / "kept"
    kept.write_text("kept")
    scratch = tmp_path / f".manifest.json.{'ab' * 6}.new"
    for put in (os.symlink, os.link):
        put(kept, scratch)
        with pytest.raises(FileExistsError):
            files.write_text(tmp_path, "manifest.json", "{}")
        with pytest.raises(FileExistsError):
            files.open_new(tmp_path, scratch.name)
        scratch.unlink()
    assert kept.read_text() == "kept"


PLACES: dict[str, Callable[[Path], object]] = {
    "a link": lambda path: path.symlink_to("kept"),
    "a pipe": os.mkfifo,
    "a directory": lambda path: path.mkdir(),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("put", PLACES)
def test_only_an_ordinary_file_is_opened(tmp_path: Path, put: str) -> None:
    (tmp_path / "kept").write_text("kept")
    assert files.read_bytes(tmp_path / "kept") == b"kept"
    PLACES[put](tmp_path / "file")
    reason = "it is a link" if "link" in put else f"it is {put}, not an ordinary file"
    with pytest.raises(OSError, match=reason):
        files.open_ordinary(tmp_path / "file")
    with pytest.raises(OSError, match=r"link|ordinary|[Ii]s a directory|No such device"):
        os.close(files.open_appended(tmp_path, "file"))
