"""Files that a command line names may be anybody's: what is no ordinary file is a message, and is not opened."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.cli.main import invoke
from headway.errors import HeadwayError
from headway.record.finalise.samples.sample_files import read_sample_file
from headway.record.jfr.reader import JfrFile
from headway.record.live.table_file import open_file
from headway.record.request.jvm_options import plan_launch
from headway.store import files
from support.builders.synthetic import FakeThread, write

LIMIT_S = 60
Place = Callable[[Path], None]


def a_device(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))


def a_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


PLACES = (os.mkfifo, os.mkdir, a_device, a_link_to_a_device, a_hole)
COMMANDS = {
    "walltime --levels": ["walltime", "--levels", "FILE", "--column", "h2", "--recorded-cores", "1"],
    "numa --table": ["numa", "--table", "FILE"],
    "place --show": ["place", "--show", "FILE"],
    "place --simulate": ["place", "--simulate", "FILE"],
    "import": ["import", "FILE", "-o", "OUT"],
}


@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_what_is_no_ordinary_file_is_a_message(tmp_path: Path, name: str, place: Place) -> None:
    """Or a file without end: of a terabyte no command reads more than its kind of file has."""
    path = tmp_path / "programs.csv"
    place(path)
    words = [{"FILE": str(path), "OUT": str(tmp_path / "out.headway")}.get(word, word) for word in COMMANDS[name]]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -v 4194304; exec "$@"', "sh", sys.executable, "-m", "headway", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("HW")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.headway").exists()


@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_records_of_placing_that_are_no_file_are_a_message_of_report(
    tmp_path: Path, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 400)], "main")], 400)
    place(tmp_path / "placed.jsonl")
    page = tmp_path / "page.html"
    assert invoke(["report", str(recording), "--placements", str(tmp_path / "placed.jsonl"), "-o", str(page)]) == 1
    assert capsys.readouterr().err.startswith("HW730")


def opens(path: Path) -> None:
    os.close(files.open_named(path))


def reads_as_jfr(path: Path) -> None:
    JfrFile(path, is_named=True)


def reads_as_table(path: Path) -> None:
    open_file(path).close()


@pytest.mark.parametrize("read", [opens, reads_as_jfr, reads_as_table])
@pytest.mark.skipif(os.geteuid() != 0, reason="traces itself")
def test_a_device_is_looked_at_and_never_opened(tmp_path: Path, read: Callable[[Path], None]) -> None:
    """To open one may be an act: a watchdog begins to wait, a tape is rewound."""
    a_device(tmp_path / "device")
    os.mknod(
        tmp_path / "nothing", 0o600 | stat.S_IFCHR, os.makedev(250, 250)
    )  # of no driver: to open it fails with ENXIO
    for name in ("device", "nothing"):
        with pytest.raises((OSError, HeadwayError), match="a device, not an ordinary file"):
            read(tmp_path / name)


def test_links_that_a_user_names_are_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "link").symlink_to("file")
    assert files.read_named(tmp_path / "link", 100) == b"content"
    with pytest.raises(OSError, match="more than 0 KiB"):
        files.read_named(tmp_path / "link", 6)
    with pytest.raises(FileNotFoundError):
        files.open_named(tmp_path / "none")


def test_a_link_in_the_place_of_a_samplers_file_is_not_followed(tmp_path: Path) -> None:
    """A recording without an end that somebody sent may have one, to a file of whoever recovers it."""
    mine = tmp_path / "mine.jfr"
    mine.write_bytes(b"FLR\0" + bytes(200))
    (tmp_path / "sample-7.jfr").symlink_to(mine)
    (tmp_path / "sample-7.txt").write_text("started_ns 5\n")
    found = read_sample_file([tmp_path / "sample-7.txt", tmp_path / "sample-7.jfr"], {"events": ["cpu"]}, 0)
    assert "it is a link" in found.damage


@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_an_argument_file_of_a_command_is_looked_through_only_if_it_is_one(tmp_path: Path, place: Place) -> None:
    """`java @FILE`: the launcher says what it thinks of it. A terabyte was read, and ended `record` for want of memory."""
    java = tmp_path / "jdk/bin/java"
    java.parent.mkdir(parents=True)
    java.write_bytes(b"\x7fELF...")
    java.chmod(0o755)
    (tmp_path / "jdk/lib").mkdir()
    (tmp_path / "jdk/lib/libjli.so").touch()
    agent = tmp_path / "agent.so"
    agent.write_bytes(b"\x7fELF...")
    place(tmp_path / "arguments")
    plan = plan_launch([str(java), f"@{tmp_path}/arguments"], {}, agent, tmp_path / "spool")
    assert plan.argv[-1] == f"@{tmp_path}/arguments"
