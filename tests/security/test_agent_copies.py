"""Copies of the agent, where JVMs can't read root's own: none is missed by a JVM, none is another user's, none stays for good."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headway
from headway.record.request import agent_copies, copies_in_use
from headway.record.request.agent_copies import AgentCopy, remove_unused, shared_copy
from headway.record.request.immutable import set_immutable
from headway.record.request.jvm_options import agent_library
from support.drivers.ordinary_user import ordinary_user
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, java_command

pytestmark = pytest.mark.root

START = """
import runpy, sys
sys.meta_path[:] = [each for each in sys.meta_path if not type(each).__module__.startswith("_editable")]
runpy.run_module("headway", run_name="__main__", alter_sys=True)
"""
"""Runs headway from PYTHONPATH, whatever installation for development this Python has."""
PLACES = (Path("/run"), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))


class Installation:
    """headway below a directory that only root can enter, with an agent like no other's."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        package = folder / "headway"
        package.mkdir()
        source = Path(headway.__file__).parent
        for each in source.iterdir():
            (package / each.name).symlink_to(each)
        (package / "__init__.py").unlink()
        shutil.copy(source / "__init__.py", package)
        (package / agent_library().name).unlink()
        self.agent = Path(shutil.copy(agent_library(), package))
        self.mark = secrets.token_bytes(16)
        with self.agent.open("ab") as file:
            file.write(self.mark)
        self.env = {**os.environ, "PYTHONPATH": str(folder)}
        self.env.pop("TMPDIR", None)

    def copies(self) -> list[Path]:
        """Return the directories that have a copy of this agent."""
        found = [each for place in PLACES for each in place.glob(f"headway-agent-*/{self.agent.name}")]
        return [each.parent for each in found if self._is_mine(each)]

    def has_no_copy(self) -> bool:
        """Return whether there is none once the next headway has looked: one that had no time to leaves what it can't tell."""
        if self.copies():
            remove_unused()
        return not self.copies()

    def _is_mine(self, copy: Path) -> bool:
        try:
            return copy.read_bytes().endswith(self.mark)
        except FileNotFoundError:  # another test's
            return False

    def headway(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of this headway to its end."""
        return subprocess.run(
            [sys.executable, "-c", START, *words], env=self.env, capture_output=True, text=True, timeout=240
        )


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path / "private")
    yield made
    wait_for(made.has_no_copy)


def wait_until_there(path: Path) -> str:
    """Return the shell's command that waits for a file: a few minutes at most, if the test is cut off."""
    return f'n=0; while [ ! -e "{path}" ] && [ $n -lt 6000 ]; do n=$((n+1)); sleep 0.05; done'


def killed_recorder(installation: Installation, recording: Path, script: str) -> None:
    """Record a shell script, and kill the recorder once the script has written `started` beside the recording."""
    started = recording.parent / f"{recording.stem}.started"
    argv = [sys.executable, "-c", START, "record", "-o", str(recording), "--", "setsid", "sh", "-c"]
    recorder = subprocess.Popen(
        [*argv, f'echo $$ > "{started}"; {script}'],
        env=installation.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(functools.partial(content_of, started))
    finally:
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()


def test_jvms_start_after_their_recorder_was_killed_and_the_copy_goes_once_none_can(
    installation: Installation, tmp_path: Path
) -> None:
    """Twice: there is one copy however often recorders are killed."""
    java = " ".join(java_command(JAVAS["jdk17"], "Exit", "code", 7))
    wait = wait_until_there(tmp_path / "go")
    for name in ("one", "two"):
        script = f'{wait}; {java} > "{tmp_path}/{name}.said" 2>&1; echo $? > "{tmp_path}/{name}.code"'
        killed_recorder(installation, tmp_path / f"{name}.headway", script)
    (copy,) = installation.copies()
    remove_unused()
    assert installation.copies() == [copy], "the scripts name it"
    (tmp_path / "go").touch()
    for name in ("one", "two"):
        code = tmp_path / f"{name}.code"
        wait_for(functools.partial(content_of, code))
        assert code.read_text().strip() == "7", (tmp_path / f"{name}.said").read_text()
        pid = (tmp_path / f"{name}.started").read_text().strip()
        wait_for(functools.partial(has_ended, pid))
    done = installation.headway("recover", str(tmp_path / "one.headway"))
    assert done.returncode == 0, done.stderr
    wait_for(installation.has_no_copy)  # another test's headway may be looking at it meanwhile


def test_a_daemon_that_outlives_the_recording_starts_jvms_later(installation: Installation, tmp_path: Path) -> None:
    """As build tools' daemons do. The next headway removes what it needed."""
    java = " ".join(java_command(JAVAS["jdk17"], "Exit", "code", 7))
    wait = wait_until_there(tmp_path / "go")
    later = f'{wait}; {java} > "{tmp_path}/said" 2>&1; echo $? > "{tmp_path}/code"'
    daemon = f"setsid sh -c '{later}' </dev/null >/dev/null 2>&1 &"
    done = installation.headway("record", "-o", str(tmp_path / "r.headway"), "--", "sh", "-c", daemon)
    assert done.returncode == 0, done.stderr
    assert len(installation.copies()) == 1
    (tmp_path / "go").touch()
    code = tmp_path / "code"
    wait_for(functools.partial(content_of, code))
    assert code.read_text().strip() == "7", (tmp_path / "said").read_text()
    wait_for(lambda: str(installation.copies()[0]).encode() not in environments())
    done = installation.headway("record", "-o", str(tmp_path / "s.headway"), "--", str(JAVAS["jdk17"]), "-version")
    assert done.returncode == 0, done.stderr
    wait_for(installation.has_no_copy)  # another test's headway may be looking at it meanwhile


def content_of(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


def has_ended(pid: str) -> bool:
    return not Path("/proc", pid).exists()


def environments() -> bytes:
    whole = b""
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            whole += file.read_bytes()
        except OSError:  # it has ended
            continue
    return whole


def test_a_recording_whose_processes_all_end_leaves_no_copy(installation: Installation, tmp_path: Path) -> None:
    java = java_command(JAVAS["jdk17"], "Exit", "code", 7)
    done = installation.headway("record", "-o", str(tmp_path / "r.headway"), "--", "env", *java)
    assert done.returncode == 7, done.stderr
    assert "Picked up JAVA_TOOL_OPTIONS: -agentpath:/run/headway-agent-" in done.stderr or not os.access(
        "/run", os.W_OK
    )
    wait_for(installation.has_no_copy)


# --- the name in others' hands -----------------------------------------------------------------------------------------


@pytest.fixture
def everybodys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A directory like /tmp that is the first place for copies. `tmp_path` is asked for first, as it lies in the usual one."""
    with tempfile.TemporaryDirectory(prefix="copies-", dir="/tmp") as directory:
        Path(directory).chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", directory)
        monkeypatch.setattr(copies_in_use, "LOOK_LIMIT_S", 60.0)  # a busy machine takes more than the usual 5 s to look
        yield Path(directory)
        make_changeable(*Path(directory).rglob("*"))  # what a test that failed left behind


def library_in(folder: Path) -> Path:
    library = folder / "libheadway_agent.so"
    library.write_bytes(secrets.token_bytes(3_000_000))
    return library


def copy_of(library: Path) -> AgentCopy:
    copy = shared_copy([library])
    assert copy is not None
    return copy


def a_directory_of_theirs(name: Path, library: Path) -> None:
    name.mkdir(mode=0o755)
    for file in (Path(shutil.copy(library, name)), name / "recorders"):
        file.touch()
        file.chmod(0o755)
        os.chown(file, 54321, 54321)
    os.chown(name, 54321, 54321)


def a_link_of_theirs(name: Path, library: Path) -> None:
    elsewhere = library.parent / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    shutil.copy(library, elsewhere)
    (elsewhere / "recorders").touch()
    name.symlink_to(elsewhere)
    os.chown(name, 54321, 54321, follow_symlinks=False)


def a_pipe_of_theirs(name: Path, library: Path) -> None:
    os.mkfifo(name)
    os.chown(name, 54321, 54321)


@pytest.mark.parametrize("squat", [a_directory_of_theirs, a_link_of_theirs, a_pipe_of_theirs])
def test_a_name_that_another_user_has_taken_is_left_alone(
    squat: Callable[[Path, Path], None], everybodys: Path, tmp_path: Path
) -> None:
    library = library_in(tmp_path)
    first = copy_of(library)
    name = first.directory
    first.release()
    assert [*everybodys.iterdir()] == []
    squat(name, library)
    before = tree(everybodys), tree(tmp_path)
    copy = copy_of(library)
    assert copy.directory != name
    assert copy.directory.parent == everybodys
    assert copy.of(library).read_bytes() == library.read_bytes()
    assert (copy.of(library).stat().st_uid, copy.directory.stat().st_uid) == (0, 0)
    copy.release()
    remove_unused()
    assert (tree(everybodys), tree(tmp_path)) == before


def tree(place: Path) -> dict[Path, tuple[int, int, int]]:
    found = [(each, each.lstat()) for each in place.rglob("*")]
    return {each: (status.st_ino, status.st_uid, status.st_mode) for each, status in found}


@pytest.mark.parametrize("change", ["content", "length", "mode", "owner", "link", "missing"])
def test_a_copy_that_is_not_what_it_should_be_is_not_used(change: str, everybodys: Path, tmp_path: Path) -> None:
    """A torn one, after a crash. It is removed, as nobody needs it."""
    library = library_in(tmp_path)
    first = copy_of(library)
    os.close(first.lock)  # as its recorder's death does
    file = first.of(library)
    make_changeable(first.directory, file)
    match change:
        case "content":
            file.write_bytes(file.read_bytes()[:-1] + bytes([file.read_bytes()[-1] ^ 1]))
        case "length":
            os.truncate(file, 1000)
        case "mode":
            file.chmod(0o777)
        case "owner":
            os.chown(file, 54321, 54321)
        case _:
            file.unlink()
    if change == "link":
        file.symlink_to(library)
    second = copy_of(library)
    assert second.directory != first.directory
    assert second.of(library).read_bytes() == library.read_bytes()
    second.release()
    assert [*everybodys.iterdir()] == []
    assert library.exists()


def make_changeable(*paths: Path) -> None:
    for path in paths:
        with contextlib.suppress(OSError):  # a link, or a file system without such flags
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                set_immutable(fd, wanted=False)
            finally:
                os.close(fd)


def test_a_copy_is_shared_and_stays_until_its_last_recorder_ends(everybodys: Path, tmp_path: Path) -> None:
    library = library_in(tmp_path)
    one, two = copy_of(library), copy_of(library)
    assert one.directory == two.directory
    one.release()
    assert one.directory.is_dir()
    two.release()
    assert [*everybodys.iterdir()] == []


MAPS = """
import mmap, sys
with open(sys.stdin.readline().strip(), "rb") as library:
    mapped = mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ)
print(flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("where", ["environment", "arguments", "memory map"])
def test_a_copy_stays_while_another_users_process_names_it(where: str, everybodys: Path, tmp_path: Path) -> None:
    """By an environment, by arguments (`env NAME=VALUE java`), or by what is mapped."""
    library = library_in(tmp_path)
    copy = copy_of(library)
    path = str(copy.of(library))
    commands = {"arguments": ["sh", "-c", "echo; read line", path], "memory map": [sys.executable, "-c", MAPS]}
    command = commands.get(where, ["sh", "-c", "echo; read line"])
    env = {**os.environ, **({"JAVA_TOOL_OPTIONS": f"-agentpath:{path}=x"} if where == "environment" else {})}
    with ordinary_user() as user:
        ids = user.argv([]) if where != "memory map" else []  # this Python may be root's own
        process = subprocess.Popen([*ids, *command], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            if where == "memory map":
                process.stdin.write(f"{path}\n")
                process.stdin.flush()
            process.stdout.readline()
            copy.release()
            assert copy.directory.is_dir()
        finally:
            process.kill()
            process.communicate()
        remove_unused()
        assert [*everybodys.iterdir()] == []


def test_a_container_removes_no_copy_of_the_machines(everybodys: Path, tmp_path: Path) -> None:
    """It shares the directory, and sees none of the processes that may need it."""
    library = library_in(tmp_path)
    copy = copy_of(library)
    os.close(copy.lock)
    script = f"import tempfile; tempfile.tempdir = {str(everybodys)!r}\n"
    script += "from headway.record.request.agent_copies import remove_unused; remove_unused()"
    inside = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", script]
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("no pid namespaces here")
    done = subprocess.run(inside, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert copy.directory.is_dir()
    remove_unused()
    assert not copy.directory.exists()


# --- a container's root that is the machine's user 0, without its capabilities, and shares the directory ------------------------

POWERLESS = ["unshare", "--mount", "--pid", "--fork", "setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
CHANGES = """
import os, sys
directory, name = sys.argv[1:]
file = f"{directory}/{name}"
print(os.geteuid(), open("/proc/self/status").read().split("CapEff:")[1].split()[0])
open(f"{os.path.dirname(directory)}/mine", "w").close()  # it may write where the copy is
for act in (
    lambda: open(file, "r+b").close(),
    lambda: os.truncate(file, 0),
    lambda: os.chmod(file, 0o777),
    lambda: os.unlink(file),
    lambda: os.rename(file, file + ".aside"),
    lambda: os.link(file, f"{os.path.dirname(directory)}/linked"),
    lambda: open(f"{directory}/libz.so", "w").close(),
    lambda: os.chmod(directory, 0o777),
    lambda: os.rename(directory, directory + ".aside"),
):
    try:
        act()
        print("done")
    except OSError as error:
        print(type(error).__name__)
"""


def needs(command: list[str]) -> None:
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip(f"can't be done here: {' '.join(command)}")


def needs_flags(place: Path) -> None:
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        set_immutable(fd)
        set_immutable(fd, wanted=False)
    except OSError as error:
        pytest.skip(f"the file system of {place} has no immutable files: {error}")
    finally:
        os.close(fd)


def test_a_containers_powerless_root_changes_no_copy_in_a_directory_that_it_shares(
    everybodys: Path, tmp_path: Path
) -> None:
    """It has root's user id, and with that could exchange any other file of root's there."""
    needs(POWERLESS)
    needs_flags(everybodys)
    library = library_in(tmp_path)
    copy = copy_of(library)
    words = [*POWERLESS, sys.executable, "-c", CHANGES, str(copy.directory), library.name]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0 0000000000000000", *["PermissionError"] * 9]
    assert copy.of(library).read_bytes() == library.read_bytes()
    (everybodys / "mine").unlink()
    copy.release()
    assert [*everybodys.iterdir()] == []


@pytest.mark.parametrize("name", ["in its place", "beside it"])
def test_another_file_of_roots_that_has_a_copys_name_does_not_become_immutable(
    name: str, everybodys: Path, tmp_path: Path
) -> None:
    """That root can rename and link what is root's there, and would so keep root from changing and removing it."""
    needs_flags(everybodys)
    library = library_in(tmp_path)
    first = copy_of(library)
    os.close(first.lock)
    make_changeable(first.directory, first.of(library))
    log = everybodys / "log"
    if name == "in its place":
        log.write_bytes(b"x" * library.stat().st_size)
        log.chmod(0o755)
        log.rename(first.of(library))
        log = first.of(library)
    else:
        os.link(first.of(library), log)
    second = copy_of(library)
    assert second.directory != first.directory
    with log.open("ab") as file:
        file.write(b"a line\n")
    if name == "beside it":
        log.unlink()
    second.release()
    assert [*everybodys.iterdir()] == []


WRITES_LATER = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
print(flush=True)
sys.stdin.readline()
try:
    os.pwrite(fd, b"theirs", 0)
except PermissionError:  # ext4 looks at each write, tmpfs does not
    pass
"""


def test_a_copy_that_somebody_opened_for_writing_before_it_was_immutable_is_not_used(
    everybodys: Path, tmp_path: Path
) -> None:
    needs(POWERLESS)
    needs_flags(everybodys)
    library = library_in(tmp_path)
    first = copy_of(library)
    os.close(first.lock)
    file = first.of(library)
    make_changeable(first.directory, file)
    words = [*POWERLESS, sys.executable, "-c", WRITES_LATER, str(file)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        copy = copy_of(library)
        writer.communicate("\n")
    assert copy.directory != first.directory
    assert copy.of(library).read_bytes() == library.read_bytes()
    copy.release()
    assert [*everybodys.iterdir()] == []


def test_what_is_exchanged_while_a_copy_is_made_or_removed_leads_nowhere(
    everybodys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that root can do at any moment: between mkdir and open, and between a look and a removal."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "kept").write_text("kept")
    library = library_in(tmp_path)
    real = os.mkdir

    def made_and_exchanged(path: Path, *words: int) -> None:
        real(path, *words)
        if path.parent == everybodys:
            path.rename(everybodys / "aside")
            path.symlink_to(elsewhere)

    with monkeypatch.context() as while_making:
        while_making.setattr(os, "mkdir", made_and_exchanged)
        copy = shared_copy([library])
    assert copy is None or copy.directory.parent != everybodys
    if copy is not None:
        copy.release()
    assert {each.name: each.stat().st_mode & 0o777 for each in (elsewhere, *elsewhere.iterdir())} == {
        "elsewhere": 0o700,
        "kept": 0o644,
    }
    for each in everybodys.iterdir():
        if each.is_symlink():
            agent_copies._remove(each)
            each.unlink()
        else:
            each.rmdir()
    assert (elsewhere / "kept").read_text() == "kept"
