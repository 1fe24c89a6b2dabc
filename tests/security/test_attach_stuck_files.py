"""Processes whose files are served by a program that never answers (FUSE): headway as root goes on, and ends when it is asked to.

Nothing can end a process that waits for such an answer, not even SIGKILL; so each test would hang, or leave headway unkillable,
if headway itself waited.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.record.agent import orphans
from headway.record.target_process import agent_file, mapped_files
from headway.record.target_process.apart import apart, opened_apart
from headway.record.target_process.deadline import Deadline, Interrupted
from headway.record.target_process.mapped_files import MappedFile
from headway.record.target_process.rights import Rights
from headway.store import open_recording
from support.drivers.ordinary_user import OrdinaryUser

pytestmark = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no FUSE here"),
]
HERE = Path(__file__).parent
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
ANSWERS = "attributes lookup open refusals"


@pytest.fixture(scope="module")
def scripts() -> Iterator[Path]:
    """The programs of these tests where everybody can read them, and /dev/fuse for everybody, as most machines have it."""
    place = Path("/tmp") / f"fake-jvm-stuck-{os.getpid()}"
    place.mkdir()
    for name in ("fake_jvm.py", "stuck_fuse.py"):
        shutil.copy(HERE / name, place)
        (place / name).chmod(0o644)
    mode = os.stat("/dev/fuse").st_mode & 0o777
    os.chmod("/dev/fuse", 0o666)
    try:
        yield place
    finally:
        os.chmod("/dev/fuse", mode)
        shutil.rmtree(place)


@contextmanager
def running(argv: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that says `ready`, and all that it starts; what waits for it is let go when they are ended."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)
    known = set(os.listdir("/tmp"))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for name in {*os.listdir("/tmp")} - known:
            if name.startswith((".java_pid", ".attach_pid", "fake-jvm-")):
                path = Path("/tmp", name)
                subprocess.run(["umount", "-l", str(path)], capture_output=True)
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def jvm_below(process: subprocess.Popen[str]) -> int:
    """The fake JVM that a script has started."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            maps, session = Path("/proc", entry, "maps").read_text(), os.getsid(int(entry))
            if session == process.pid and "libjvm.so" in maps:
                return int(entry)
    raise AssertionError("it has not started")


def headway(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "headway", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def waits_for_the_server(pid: int) -> bool:
    """Whether a child of a process waits for what nothing can end."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            if "\nState:\tD" in Path(f"/proc/{child}/status").read_text():
                return True
    return False


def output_of(process: subprocess.Popen[str], limit_s: float = 60) -> str:
    """Wait for a headway that must end by itself."""
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        state = Path(f"/proc/{process.pid}/status").read_text().split("State:")[1].split("\n")[0]
        pytest.fail(f"headway does not end: {state}")
    assert "Traceback" not in output
    return output


def test_a_tmp_that_a_program_serves_is_not_touched(scripts: Path, tmp_path: Path) -> None:
    script = (
        f"{PYTHON} {scripts}/fake_jvm.py 'no socket' | (read _; exec {PYTHON} {scripts}/stuck_fuse.py /tmp {ANSWERS})"
    )
    with running(["unshare", "--mount", "sh", "-c", script]) as process:
        recording = tmp_path / "r.headway"
        output = output_of(headway("record", "-o", recording, "--duration", "1", "--pid", jvm_below(process)))
        assert "HW074" in output
        assert "of the kind fuse" in output
        assert open_recording(recording).manifest.state == "complete"
        assert "HW074" in output_of(headway("locks", "--pid", jvm_below(process)))


OVERLAY = """
mount -t tmpfs t /mnt && mkdir /mnt/low /mnt/up /mnt/work && cp {scripts}/*.py /mnt && exec 3</mnt/fake_jvm.py
{python} /mnt/stuck_fuse.py /mnt/low attributes open refusals | (read _
  {python} /mnt/fake_jvm.py 'no socket' | (read _
    mount -t overlay o -o lowerdir=/mnt/low,upperdir=/mnt/up,workdir=/mnt/work,userxattr /tmp && echo ready; exec sleep 1000))
"""


@pytest.mark.parametrize("ends_by", ["itself", "a signal"])
def test_layers_that_an_ordinary_user_put_together_cost_a_notice_and_headway_ends(
    user: OrdinaryUser, scripts: Path, tmp_path: Path, ends_by: str
) -> None:
    namespaces = [*user.argv([]), "unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*namespaces, "true"], capture_output=True).returncode != 0:
        pytest.skip("an ordinary user may not make a user namespace here")
    with running([*namespaces, "sh", "-c", OVERLAY.format(scripts=scripts, python=PYTHON)]) as process:
        recording = tmp_path / "r.headway"
        recorder = headway("record", "-o", recording, "--duration", "1", "--pid", jvm_below(process))
        if ends_by == "a signal":
            deadline = time.monotonic() + 60
            while not waits_for_the_server(recorder.pid):
                assert recorder.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            begun = time.monotonic()
            recorder.send_signal(signal.SIGTERM)
        output = output_of(recorder)
        if ends_by == "a signal":
            assert time.monotonic() - begun < 9, "it did not wait for the attach to time out"
        else:
            assert "HW024" in output
        assert recorder.returncode == 0
    manifest = open_recording(recording).manifest
    assert (manifest.state, manifest.ended_by) == (
        "complete",
        "interrupt" if ends_by == "a signal" else "duration",
    )


# --- processes of their own ----------------------------------------------------------------------------------------------


def test_what_is_done_apart_gives_its_result_or_its_error() -> None:
    soon = Deadline.after(20)
    assert apart(soon, lambda: {"a": [1, b"x" * 3_000_000]}) == {"a": [1, b"x" * 3_000_000]}
    with pytest.raises(FileNotFoundError) as missing:
        apart(soon, lambda: os.stat("/nowhere"))
    assert missing.value.filename == "/nowhere"

    def fails() -> None:
        raise HeadwayError("HW020", pid=7)

    with pytest.raises(HeadwayError, match="HW020") as error:
        apart(soon, fails)
    assert error.value.notice == HeadwayError("HW020", pid=7).notice


def test_no_garbage_is_collected_in_the_process_that_looks_and_the_own_one_goes_on_collecting() -> None:
    """What a library's object waits for as it ends may be a thread that is not there: such a process crashed."""
    assert apart(Deadline.after(20), gc.isenabled) is False
    assert gc.isenabled()


def test_a_file_that_is_opened_apart_is_handed_over(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    gc.collect()  # files of other tests that wait for it would be closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    fd = opened_apart(Deadline.after(20), lambda: os.open(file, os.O_RDONLY))
    assert os.read(fd, 99) == b"content"
    assert not os.get_inheritable(fd)
    os.close(fd)
    assert len(os.listdir("/proc/self/fd")) == before


def test_nothing_else_that_is_open_is_kept_open_by_it() -> None:
    reader, writer = os.pipe()
    try:
        kept = apart(Deadline.after(20), lambda: [int(fd) for fd in os.listdir("/proc/self/fd")], (reader,))
        assert reader in kept
        assert writer not in kept
        assert 1 not in kept, "whoever reads headway's output does not wait for it"
    finally:
        os.close(reader)
        os.close(writer)


def test_it_is_ended_at_the_deadline_and_by_an_interrupt() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text()
    for limit, raised in ((Deadline.after(0.2), TimeoutError), (Deadline.after(20, lambda: True), Interrupted)):
        begun = time.monotonic()
        with pytest.raises(raised):
            apart(limit, lambda: time.sleep(30))
        assert time.monotonic() - begun < 10
        limit_s = time.monotonic() + 20
        while children.read_text() != before:  # the next one waits for it, so that it is not left as a zombie
            assert time.monotonic() < limit_s
            apart(Deadline.after(20), lambda: None)


def test_an_agent_whose_file_keeps_writers_waiting_is_left_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes to a file from memory that a server never fills keeps all other writers waiting, and nothing ends those."""
    spool = tmp_path / "agent-1.spool"
    spool.write_bytes(bytes(4096))
    os.chown(spool, 65534, 65534)

    def waits(*_: object, **__: object) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(60)

    monkeypatch.setattr(orphans, "mapped_spools", lambda *_: [MappedFile(1, "0-1", spool.stat().st_ino, str(spool))])
    monkeypatch.setattr(orphans, "_is_directory_locked", lambda *_: False)
    monkeypatch.setattr(mapped_files, "_link_to", lambda *_: os.open(spool, os.O_PATH))
    monkeypatch.setattr(agent_file, "put_word", waits)
    stranger = Rights(uid=65534, gid=65534, groups=(), is_ours=False)
    with pytest.raises(TimeoutError):
        orphans.silence_left_behind(os.getpid(), stranger, Deadline.after(0.3))
