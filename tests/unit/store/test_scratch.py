"""Private directories of processes that were killed are removed by the next; those of living ones, and of others, never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headway.store import scratch
from headway.store.scratch import make_scratch

PROGRAM = "from headway.store.scratch import make_scratch\nprint(make_scratch('test').path, flush=True)\ninput()"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "_LEAST_AGE_S", 0.0)
    return tmp_path


def test_what_a_killed_process_left_goes_with_the_next(place: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        (left / "spilled").write_bytes(b"x")
        make_scratch("test").remove()
        assert (left / "spilled").exists(), "its process lives"
        process.send_signal(signal.SIGKILL)
        process.wait()
    own_scratch = make_scratch("test")
    assert [*place.iterdir()] == [own_scratch.path]
    assert own_scratch.path.stat().st_mode & 0o777 == 0o700
    own_scratch.remove()
    assert [*place.iterdir()] == []


def test_nothing_but_a_private_directory_of_that_name_is_removed(place: Path) -> None:
    open_to_all = place / "headway-test-aaaaaaaa"
    open_to_all.mkdir(mode=0o755)
    kept = place / "kept"
    kept.mkdir(mode=0o700)
    (place / "headway-test-bbbbbbbb").symlink_to(kept)
    (place / "headway-test-cccccccc").write_bytes(b"")
    os.mkfifo(place / "headway-test-dddddddd")
    (place / "headway-test-own").mkdir(mode=0o700)
    (place / "headway-other-aaaaaaaa").mkdir(mode=0o700)
    before = {each.name for each in place.iterdir()}
    make_scratch("test").remove()
    assert {each.name for each in place.iterdir()} == before
    assert kept.exists()


def test_a_directory_that_was_made_just_now_is_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_LEAST_AGE_S", 60.0)
    young = Path(tempfile.mkdtemp(prefix="headway-test-"))
    make_scratch("test").remove()
    assert young.exists()
