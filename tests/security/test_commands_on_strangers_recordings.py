"""A recording whose parts are pipes, links, devices or sockets: each analysis ends in a message, and reads nothing else."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.cli.main import invoke
from support.builders.lock_builder import LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

STRANGER = 54321
COMMANDS = ("whatif", "numa", "memory", "objects", "counters", "why", "locks")
SECRET = "root's own words"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes devices, and gives files away")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    threads = [FakeThread("app", 0, [("R", 200), ("B", 100), ("R", 100)], name) for name in ("a", "b")]
    lock_recording = LockRecording(threads, [Wait(0, 0, 200, 300, owner=1)], [LockHold(0, 1, 100, 300)], wall=400)
    return lock_recording.write(tmp_path / "a.headway")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    return tmp_path / "secret"


def a_pipe(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def a_link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def a_link_to_the_part_itself(path: Path, secret: Path) -> None:
    """Whoever followed it would find nothing amiss."""
    path.symlink_to(kept(path))


def a_link_to_itself(path: Path, secret: Path) -> None:
    path.symlink_to(path.name)


def a_device(path: Path, secret: Path) -> None:
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))


def a_socket(path: Path, secret: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(path.parent)  # its name has to be short
        try:
            server.bind(path.name)
        finally:
            os.chdir(before)


HOWS = (a_pipe, a_link, a_link_to_itself, a_device, a_socket)
How = Callable[[Path, Path], None]


def kept(part: Path) -> Path:
    """Return where a part of a recording is that something else is in the place of."""
    return part.parent.with_name(part.name)


def replace(part: Path, how: How, secret: Path) -> None:
    """Put something else in the place of a part of a recording, and give all of that away."""
    part.rename(kept(part))
    how(part, secret)
    give_away(part.parent, *part.parent.iterdir())


def give_away(*paths: Path) -> None:
    for path in paths:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


def refused(path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the message that a command ends in, which is one that its user can do something with."""
    assert invoke([command, str(path)]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("HW3"), (command, said.err)
    assert SECRET not in said.err + said.out
    return said.err


@pytest.mark.parametrize("how", [*HOWS, a_link_to_the_part_itself])
def test_what_is_no_file_in_place_of_a_manifest_ends_each_command(
    recording: Path, secret: Path, how: How, capsys: pytest.CaptureFixture[str]
) -> None:
    replace(recording / "manifest.json", how, secret)
    for command in COMMANDS:
        refused(recording, command, capsys)


@pytest.mark.parametrize("how", [*HOWS, a_link_to_the_part_itself])
def test_what_is_no_file_in_place_of_a_table_ends_each_command_that_reads_it(
    recording: Path, secret: Path, how: How, capsys: pytest.CaptureFixture[str]
) -> None:
    replace(recording / "thread.parquet", how, secret)
    for command in ("whatif", "numa", "why", "locks"):
        assert "thread.parquet" in refused(recording, command, capsys)


@pytest.mark.parametrize("how", HOWS)
def test_what_is_no_directory_is_no_recording(
    tmp_path: Path, secret: Path, how: How, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.headway"
    how(path, secret)
    give_away(path)
    for command in COMMANDS:
        refused(path, command, capsys)
