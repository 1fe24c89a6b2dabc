"""What headway opens of another user's is compared, with that user's rights; what JVMs load from, nobody else can change."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import pwd
import secrets
import stat
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.record.agent import attach
from headway.record.request.jvm_options import plan_launch
from headway.record.target_process import beneath, jvm_facts
from headway.record.target_process.beneath import open_beneath, open_in_root, require_plain_file
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.directory import TargetDirectory, _require_empty, open_left_behind
from headway.record.target_process.jvm_facts import JvmFacts
from headway.record.target_process.mapped_files import PinnedFile, mapped_tables
from headway.record.target_process.rights import Rights, act_as, rights_of
from headway.store.directory import safe_to_load

STRANGER = Rights(54321, 54322, (54323, 54324), False)
"""Ids that no user of the machine has."""


@contextlib.contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody can look through: pytest's own are private."""
    with tempfile.TemporaryDirectory(prefix="compared-", dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.root
def test_what_is_done_for_a_process_is_done_with_all_of_its_groups_and_none_of_roots(place: Path) -> None:
    ids = ["--reuid=54321", "--regid=54322", "--groups=54323,54324"]
    with subprocess.Popen(["setpriv", *ids, "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            rights = rights_of(process.pid)
        finally:
            process.kill()
    assert rights == STRANGER
    for name, gid in (("of a group of hers", 54324), ("of root's group", 0)):
        (place / name).write_text(name)
        os.chown(place / name, 0, gid)
        (place / name).chmod(0o640)
    found = act_as(rights, Deadline.after(20), lambda: Path("/proc/thread-self/status").read_text())
    fields = dict(line.split(":\t", 1) for line in found.splitlines() if ":\t" in line)
    assert fields["Groups"].split() == ["54323", "54324"]
    assert (fields["Uid"].split()[1:], fields["Gid"].split()[1]) == (["54321", "0", "54321"], "54322")
    assert int(fields["CapEff"], 16) == 0
    assert act_as(rights, Deadline.after(20), lambda: (place / "of a group of hers").read_text())
    with pytest.raises(PermissionError):
        act_as(rights, Deadline.after(20), lambda: (place / "of root's group").read_text())


@pytest.mark.root
@pytest.mark.parametrize("rights", [STRANGER, Rights(0, 0, (), False)], ids=["a user", "a container's root"])
def test_what_is_done_for_a_process_is_done_with_no_capability(rights: Rights) -> None:
    """A change from root to another user drops them, one to a container's root does not."""
    found = act_as(rights, Deadline.after(20), lambda: Path("/proc/thread-self/status").read_text())
    fields = dict(line.split(":\t", 1) for line in found.splitlines() if ":\t" in line)
    assert [int(fields[each], 16) for each in ("CapEff", "CapPrm")] == [0, 0]


@pytest.mark.root
@pytest.mark.parametrize("kernel", ["openat2", "an older one"])
@pytest.mark.parametrize(
    "way", ["upwards", "from the root", "by a link", "by a link below", "over a mount", "by a magic link"]
)
def test_no_name_leads_out_of_the_directory_that_is_held(
    place: Path, monkeypatch: pytest.MonkeyPatch, way: str, kernel: str
) -> None:
    if kernel != "openat2":
        monkeypatch.setattr(beneath, "_has_openat2", lambda: False)
    (place / "secret").write_text("secret")
    below = place / "below"
    below.mkdir()
    (below / "sub").mkdir()
    (below / "own").write_text("own")
    (below / "link").symlink_to(place / "secret")
    (below / "links").symlink_to("sub")
    names = {"upwards": "../secret", "from the root": str(place / "secret"), "by a link": "link"}
    name = {**names, "by a link below": "links/file", "over a mount": "sub", "by a magic link": "self/cwd"}[way]
    (below / "sub/file").write_text("own")
    with contextlib.ExitStack() as at_end:
        if way == "over a mount":
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(below / "sub")], check=True)
            at_end.callback(subprocess.run, ["umount", str(below / "sub")], check=True)
        directory = at_end.enter_context(opened(Path("/proc") if way == "by a magic link" else below))
        with pytest.raises(OSError, match=r"symbolic|cross-device|single name|Not a directory"):
            os.close(open_beneath(directory, name, os.O_RDONLY))
        if way == "over a mount":
            os.close(open_beneath(directory, name, os.O_RDONLY, cross_mounts=True))
        elif way != "by a magic link":
            os.close(open_beneath(directory, "own", os.O_RDONLY))


@pytest.mark.parametrize("kernel", ["openat2", "an older one"])
def test_what_is_opened_is_not_waited_for_and_becomes_nobodys_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    if kernel != "openat2":
        monkeypatch.setattr(beneath, "_has_openat2", lambda: False)
    os.mkfifo(place / "fifo")
    asked: list[int] = []
    module, name, place_of_flags = (beneath, "_openat2", 2) if kernel == "openat2" else (os, "open", 1)
    real = getattr(module, name)

    def noted(*words: Any, **options: Any) -> int:
        asked.append(words[place_of_flags])
        return int(real(*words, **options))

    with opened(place) as directory:
        monkeypatch.setattr(module, name, noted)
        os.close(open_beneath(directory, "fifo", os.O_RDONLY))
        monkeypatch.undo()
    for flag in (os.O_NONBLOCK, os.O_NOCTTY, os.O_CLOEXEC, os.O_NOFOLLOW):
        assert asked[-1] & flag


@pytest.mark.skipif(not beneath._has_openat2(), reason="needs openat2")
def test_links_of_a_root_that_is_held_lead_to_no_other(place: Path) -> None:
    (place / "passwd").symlink_to("/etc/passwd")
    (place / "up").symlink_to("../../../../etc/passwd")
    (place / "etc").mkdir()
    (place / "etc/passwd").write_text("its own")
    with opened(place) as root:
        for path in ("/etc/passwd", "passwd", "up", "../../etc/passwd"):
            fd = open_in_root(root, path, os.O_RDONLY)
            assert os.read(fd, 99) == b"its own"
            os.close(fd)
    with opened(Path("/proc")) as root, pytest.raises(OSError, match="symbolic"):
        open_in_root(root, "self/root", os.O_RDONLY)


@pytest.mark.parametrize("what", ["another user's", "one with two names", "a pipe", "a device", "a directory"])
def test_nothing_but_an_ordinary_file_of_its_user_with_one_name_passes_for_the_agents(
    tmp_path: Path, what: str
) -> None:
    file, owner = tmp_path / "agent-1.spool", os.geteuid()
    file.touch()
    with opened(file) as fd:
        assert require_plain_file(fd, owner, str(file)).st_ino == file.stat().st_ino
        file.unlink()
        assert require_plain_file(fd, owner, str(file)).st_nlink == 0, "one that was deleted is fine"
    if what == "a pipe":
        os.mkfifo(file)
    elif what == "a device":
        file = Path("/dev/null")
        owner = file.stat().st_uid
    elif what == "a directory":
        file.mkdir()
    else:
        file.touch()
        if what == "one with two names":
            os.link(file, tmp_path / "another")
        else:
            owner += 1
    with opened(file, os.O_RDONLY | os.O_NONBLOCK) as fd, pytest.raises(PermissionError):
        require_plain_file(fd, owner, str(file))


@pytest.mark.root
@pytest.mark.parametrize(
    "put", ["hers", "another user's", "one that others may enter", "one with a file in it", "a mount"]
)
def test_a_directory_that_was_put_in_the_place_of_headways_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, put: str
) -> None:
    """It is exchanged between mkdir and open, as the user of the JVM can."""
    name = ".headway-" + "ab" * 8
    monkeypatch.setattr(secrets, "token_hex", lambda _: "ab" * 8)
    hers = place / "tmp"
    hers.mkdir(mode=0o777)
    hers.chmod(0o777)
    (hers / name).mkdir(mode=0o700)
    os.chown(hers / name, 54321 if put != "another user's" else 54399, 54322)
    if put == "one that others may enter":
        (hers / name).chmod(0o710)
    elif put == "one with a file in it":
        (hers / name / "libheadway_agent.so").touch()
    elif put == "another user's":
        (hers / name).chmod(0o755)
    elif put == "a mount":
        options = "uid=54321,gid=54322,mode=0700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(hers / name)], check=True)
    monkeypatch.setattr(os, "mkdir", lambda *_, **__: None)
    tmp = os.open(hers, os.O_PATH | os.O_DIRECTORY)
    monkeypatch.setattr("headway.record.target_process.directory.remove_left_behind", lambda *_: 0)
    try:
        if put == "hers":
            TargetDirectory.create(tmp, STRANGER, Deadline.after(20)).let_go()
            return
        with pytest.raises(OSError, match=r"something else|Invalid cross-device link"):
            TargetDirectory.create(tmp, STRANGER, Deadline.after(20))
    finally:
        if put == "a mount":
            subprocess.run(["umount", str(hers / name)], check=True)


@pytest.mark.root
@pytest.mark.parametrize("why", ["it is as it should be", "another user's", "on another device"])
def test_each_fact_of_the_directory_that_was_made_is_compared(place: Path, why: str) -> None:
    """The kernel alone would refuse most of these, as nobody but their user may open them; the second wall holds by itself."""
    found = place / "new"
    found.mkdir(mode=0o700)
    os.chown(found, 54321 if why != "another user's" else 54399, 54322)
    above = Path("/dev/shm" if why == "on another device" else place)
    assert (above.stat().st_dev == found.stat().st_dev) == (why != "on another device")
    refused = (
        contextlib.nullcontext() if why == "it is as it should be" else pytest.raises(OSError, match="something else")
    )
    with opened(found) as fd, opened(above) as tmp, refused:
        _require_empty(fd, tmp, 54321)


@pytest.mark.root
def test_a_directory_that_seems_to_be_left_behind_is_opened_if_it_is_its_users_and_nobody_holds_it(place: Path) -> None:
    (place / ".headway-0123456789abcdef").mkdir(mode=0o755)
    os.chown(place / ".headway-0123456789abcdef", 54321, 54322)
    with opened(place) as tmp:
        os.close(open_left_behind(tmp, ".headway-0123456789abcdef", 54321))
        with pytest.raises(OSError, match="another user's"):
            open_left_behind(tmp, ".headway-0123456789abcdef", 54399)
        with opened(place / ".headway-0123456789abcdef") as recorder:
            fcntl.flock(recorder, fcntl.LOCK_SH)
            with pytest.raises(OSError, match="at work"):
                open_left_behind(tmp, ".headway-0123456789abcdef", 54321)


@pytest.mark.root
def test_what_a_jvm_loads_is_its_users_alone_and_never_writable(place: Path) -> None:
    library = place / "libheadway_agent.so"
    library.write_bytes(b"agent")
    hers = place / "tmp"
    hers.mkdir()
    hers.chmod(0o1777)
    directory = TargetDirectory.create(os.open(hers, os.O_PATH | os.O_DIRECTORY), STRANGER, Deadline.after(20))
    directory.place_libraries([library], Deadline.after(20))
    directory_of_hers = hers / directory.name
    found = {
        each.name: (stat.S_IMODE(each.stat().st_mode), each.stat().st_uid)
        for each in (directory_of_hers, *directory_of_hers.iterdir())
    }
    assert found == {directory_of_hers.name: (0o700, 54321), "libheadway_agent.so": (0o500, 54321)}
    assert (directory_of_hers / library.name).read_bytes() == b"agent"
    directory.remove(Deadline.after(20))
    assert [*hers.iterdir()] == []


def place_for_temporary_files(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    temporary = place / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return temporary


def where_the_agent_is_copied_to(place: Path) -> Path:
    """Plan the start of a command that can't be given the agent's own path; return the copy's directory, which is removed."""
    library = place / "a=b" / "agent.so"
    library.parent.mkdir()
    library.write_bytes(b"agent")
    copy = plan_launch(["mvn"], {}, library, Path("/var/spool/headway")).copy
    assert copy is not None
    copy.release()
    assert not copy.directory.exists()
    return copy.directory


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o770, 0o750])
def test_a_copy_of_the_agent_is_put_where_nobody_else_can_exchange_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    temporary = place_for_temporary_files(place, monkeypatch)
    temporary.chmod(mode)
    copied = where_the_agent_is_copied_to(place)
    assert (copied.parent == temporary) == (mode == 0o1777), "everybody's with the sticky bit is as good as any"


@pytest.mark.root
@pytest.mark.parametrize("why", ["another user's", "nothing may be run there"])
def test_a_copy_of_the_agent_is_not_put_where_it_is_in_others_hands_or_of_no_use(
    place: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    temporary = place_for_temporary_files(place, monkeypatch)
    if why == "another user's":
        os.chown(temporary, 54321, 54322)
    else:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,mode=755", "tmpfs", str(temporary)], check=True)
    try:
        copied = where_the_agent_is_copied_to(place)
    finally:
        if why != "another user's":
            subprocess.run(["umount", str(temporary)], check=True)
    assert copied.parent != temporary


@pytest.mark.parametrize("mode", [0o755, 0o775, 0o757, 0o1777])
def test_a_jvm_loads_headways_own_library_only_where_nobody_else_can_exchange_it(tmp_path: Path, mode: int) -> None:
    """Otherwise it gets a copy of its own, as another user's JVM does."""
    above = tmp_path / "lib"
    above.mkdir()
    (above / "headway").mkdir(mode=0o755)
    library = above / "headway" / "libheadway_agent.so"
    library.write_bytes(b"agent")
    above.chmod(mode)
    is_safe = mode in (0o755, 0o1777)
    assert safe_to_load(library) == is_safe
    ours = JvmFacts(os.getpid(), 1, os.getpid(), Rights(os.geteuid(), os.getegid(), (), True), True, None, None, None)
    assert attach._is_reachable(ours, [library], tmp_path, Deadline.after(20)) == is_safe
    for shared in (0o757, 0o775, 0o1757):  # of a file the sticky bit says nothing
        library.chmod(shared)
        assert not safe_to_load(library)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o620, 0o602])
def test_a_mapped_table_that_others_may_write_is_not_shown_as_its_jvms(tmp_path: Path, mode: int) -> None:
    """It lies where the JVM's recorder put it, in no directory of headway's: whoever may write it may have said it."""
    path, soon = tmp_path / "locks-1.table", Deadline.after(20)
    path.write_bytes(bytes(4096))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        path.chmod(mode)
        (found,) = [each for each in mapped_tables(os.getpid(), soon) if each.path == str(path)]
        rights = rights_of(os.getpid())
        with PinnedFile(found, rights, soon) as pinned:
            if mode & 0o022:
                with pytest.raises(PermissionError):
                    pinned.content(10, soon)
            else:
                assert pinned.content(10, soon) == bytes(10)


def test_a_name_that_leads_to_another_file_than_the_one_that_is_mapped_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is not root has only the name to open it by, and its user can give that to another file."""
    path, soon = tmp_path / "locks-1.table", Deadline.after(20)
    path.write_bytes(bytes(4096))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        (found,) = [each for each in mapped_tables(os.getpid(), soon) if each.path == str(path)]
        rights = Rights(os.geteuid(), os.getegid(), (), True)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        with PinnedFile(found, rights, soon) as pinned:
            assert pinned.content(10, soon) == bytes(10)
        (tmp_path / "another").write_bytes(b"another")
        (tmp_path / "another").rename(path)
        with PinnedFile(found, rights, soon) as pinned, pytest.raises(FileNotFoundError):
            pinned.content(10, soon)


@pytest.mark.root
@pytest.mark.parametrize(
    "what", ["as a JVM leaves it", "of 3 TiB", "another user's", "a pipe", "a link", "behind a link"]
)
def test_performance_data_are_a_files_of_its_user_and_read_up_to_what_they_can_be(
    place: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    seen: list[int] = []

    def noted(data: bytes) -> dict[str, str]:
        seen.append(len(data))
        return {}

    monkeypatch.setattr(jvm_facts, "parse_performance_data", noted)
    directory = place / "hsperfdata_x"
    directory.mkdir()
    if what == "a pipe":
        os.mkfifo(directory / "7")
    else:
        (directory / "7").write_bytes(b"x" * 32768)
        os.truncate(directory / "7", 3 << 40 if what == "of 3 TiB" else 32768)
    os.chown(directory / "7", 54399 if what == "another user's" else 54321, 54322)
    if what == "a link":
        (directory / "7").rename(directory / "8")
        (directory / "7").symlink_to("8")
    elif what == "behind a link":
        directory.rename(place / "elsewhere")
        directory.symlink_to("elsewhere")
    with opened(place) as tmp:
        jvm_facts._performance_data_below(tmp, 7, 54321, jvm_facts.parse_performance_data)
    assert seen == {"as a JVM leaves it": [32768], "of 3 TiB": [jvm_facts._LONGEST_PERF_BYTES]}.get(what, [])


def test_names_that_others_put_into_tmp_do_not_hide_what_a_jvm_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM that wants no attach says so there, and prints all its stacks where it is attached to even so."""
    monkeypatch.setattr(jvm_facts, "_MOST_DIRECTORIES", 10)
    for number in range(10):
        (tmp_path / f"squatted-{number}").mkdir()
    with opened(tmp_path, os.O_PATH) as tmp:
        parse = jvm_facts.parse_performance_data
        assert jvm_facts._performance_data_below(tmp, 7, os.geteuid(), parse) == {}
        own = tmp_path / f"hsperfdata_{pwd.getpwuid(os.geteuid()).pw_name}"
        own.mkdir()
        entry = b"java.rt.vmArgs\0\0" + b"-Xrs\0\0\0\0"
        head = struct.pack("<iiibbbbi", 20 + len(entry), 20, 8, ord("B"), 0, 1, 1, 36)
        prologue = struct.pack("<4sBBBBiiqii", b"\xca\xfe\xc0\xc0", 1, 2, 0, 1, 32, 0, 0, 32, 1)
        (own / "7").write_bytes(prologue + head + entry)
        monkeypatch.setattr(jvm_facts, "_MOST_DIRECTORIES", 0)
        assert jvm_facts._performance_data_below(tmp, 7, os.geteuid(), parse) == {"java.rt.vmArgs": "-Xrs"}
