"""Files that root writes show what its recordings do, which nobody else may read."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.cli.main import invoke
from headway.report.output import new_file
from support.builders.extreme_recordings import everything

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it is about what root writes: needs root")


@contextlib.contextmanager
def with_umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path) -> int:
    with with_umask(0o022), new_file(path, overwrite=True) as out:
        assert not stat.S_IMODE(os.fstat(out.fileno()).st_mode) & stat.S_IWOTH
        out.write(b"new")
    assert path.read_bytes() == b"new"
    return mode_of(path)


def test_a_new_file_is_for_root_alone(tmp_path: Path) -> None:
    assert write(tmp_path / "r.html") == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o664, 0o600, 0o400])
def test_a_file_that_is_replaced_gives_its_mode(tmp_path: Path, mode: int) -> None:
    """Who made it readable for others wants that; bits that make a program of it, or one with another's rights, don't count."""
    path = tmp_path / "r.html"
    path.touch()
    path.chmod(mode | stat.S_ISUID | stat.S_ISVTX)
    assert write(path) == mode


def test_a_file_of_a_stranger_gives_no_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In /tmp anybody may wait with one that all may read; the user who called sudo is no stranger."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    path = tmp_path / "r.html"
    path.touch()
    path.chmod(0o666)
    os.chown(path, 12345, 12345)
    assert write(path) == 0o600
    path.chmod(0o640)
    os.chown(path, 12345, 12345)
    monkeypatch.setenv("SUDO_UID", "12345")
    assert write(path) == 0o640


def test_exports_of_a_recording_are_no_more_readable_than_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = everything(tmp_path / "r.headway")
    monkeypatch.chdir(tmp_path)
    with with_umask(0o022):
        assert invoke(["export", str(recording), "--format", "csv", "-o", "r.zip"]) == 0
        assert invoke(["export", str(recording), "--format", "perfetto", "-o", "r.perfetto"]) == 0
    assert {path.name: mode_of(path) for path in tmp_path.glob("r.[pz]*")} == {"r.zip": 0o600, "r.perfetto": 0o600}
