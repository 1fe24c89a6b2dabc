"""Where TMPDIR is another user's (root came by `su`, or `sudo -E`), root puts nothing there that its JVMs read or write."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.record.request.agent_copies import shared_copy
from headway.store.scratch import make_scratch, scratch_place
from support.drivers.workloads import ROOT

pytestmark = pytest.mark.root
STRANGER = 54321


@pytest.fixture
def strangers() -> Iterator[Path]:
    """A directory of another user's, below /tmp."""
    with tempfile.TemporaryDirectory(prefix="strangers-", dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        os.chown(directory, STRANGER, STRANGER)
        yield Path(directory)


@pytest.mark.parametrize("way", ["its own", "below it", "a link in it", "open to all"])
def test_root_makes_no_temporary_directory_where_another_user_could_exchange_it(
    strangers: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    given = strangers
    if way == "below it":
        given = strangers / "roots"
        given.mkdir(mode=0o700)
    elif way == "a link in it":
        given = strangers / "link"
        given.symlink_to("/var/tmp")
    elif way == "open to all":
        os.chown(strangers, 0, 0)
        strangers.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(given))
    scratch = make_scratch("test")
    try:
        assert not scratch.path.is_relative_to(strangers), "no name that leads through it, either"
        assert scratch.path.parent == (Path("/var/tmp") if way == "a link in it" else Path("/tmp"))
        assert [*strangers.rglob("headway-*")] == []
    finally:
        scratch.remove()


def test_root_keeps_to_a_tmpdir_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert scratch_place() == str(tmp_path)


def test_a_copy_of_the_agent_is_loaded_by_no_name_that_another_user_can_change(
    strangers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link leads to a good place when headway looks, and elsewhere when the JVM loads the agent."""
    hidden = tmp_path / "libagent.so"
    hidden.write_bytes(b"agent")
    (strangers / "link").symlink_to("/var/tmp")
    monkeypatch.setattr(tempfile, "tempdir", str(strangers / "link"))
    copy = shared_copy([hidden])
    assert copy is not None
    try:
        assert copy.of(hidden).read_bytes() == b"agent"
        assert copy.directory.parent == Path("/var/tmp")
    finally:
        copy.release()


def test_the_root_of_a_user_namespace_has_a_place_for_temporary_files() -> None:
    """There the root directory belongs to nobody, and that root can do no more than the user it is outside."""
    ask = "from headway.store.scratch import scratch_place; print(scratch_place())"
    python = ["env", f"PYTHONPATH={ROOT / 'src'}", "/usr/bin/python3", "-c"]  # ours may lie where only root may look
    user = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "unshare", "-r", *python]
    if subprocess.run([*user, "import headway.store"], capture_output=True, check=False).returncode:
        pytest.skip("an ordinary user can't make a user namespace here, or not read headway")
    said = subprocess.run([*user, ask], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "/tmp\n"), said.stderr
