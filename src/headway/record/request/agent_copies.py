"""Copies of the agent for JVMs that can't read, or be given, the path of headway's own: one per build, shared.

A JVM that is told to load a library that is not there refuses to start, and whoever has `JAVA_TOOL_OPTIONS` from a recorded
command may start one at any time: a build tool's daemon after the recording's end, a shell after the recorder's death. So a copy
stays for as long as any process names it, in its environment, its arguments or its memory map, and goes with the next headway
after that. A copy's name is that of its content, so that there is one however often recorders are killed.

A container's root may be the machine's user 0 without its capabilities, and share the directory that copies are in. So they are
made by descriptors, and made immutable where the file system can do that, before they are compared with the original.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import math
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.record.request.copies_in_use import LOOK_LIMIT_S, NAME, named_by_processes
from headway.record.request.immutable import is_open_for_writing, set_immutable
from headway.store.directory import safe_to_load

_LOCK = "recorders"
"""A file in each copy's directory that recorders have locked (flock) while they live; nobody else can open it."""
_FIRST_NAMESPACE = 0xEFFFFFFC
"""Number of the machine's first pid namespace (PROC_PID_INIT_INO): all processes are seen there."""
_LOCK_LIMIT_S = 2 * LOOK_LIMIT_S + 2.0
_PAUSE_S = 0.02
_UNFINISHED_S = 600.0
_MOST_NAMES = 100_000
_PIECE_BYTES = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FLAGS = (errno.EPERM, errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
"""What is said where a file system has no such flags, or headway may not set them (in a container)."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class AgentCopy:
    """A directory with copies of libraries that every user can load. `lock`: keeps it, for as long as this process lives."""

    directory: Path
    lock: int

    def of(self, library: Path) -> Path:
        """Return the copy of `library`."""
        return self.directory / library.name

    def release(self) -> None:
        """Let go of it: it is removed unless another recorder or any process has need of it."""
        os.close(self.lock)
        remove_unused(self.directory)


def shared_copy(libraries: Sequence[Path]) -> AgentCopy | None:
    """Return a copy of `libraries`, made or found and compared; None where no place can hold one."""
    for place in _places():
        with contextlib.suppress(OSError):
            return _shared_in(place, libraries)
    return None


def remove_unused(*released: Path) -> None:
    """Remove this user's copies that no recorder has locked and no process names. What can't be known or removed stays."""
    with contextlib.ExitStack() as locks:
        found = dict.fromkeys([*released, *(each for place in _places() for each in _copies_in(place))])
        since = {each: made_s for each in found if (made_s := _locked(each, locks)) is not None}
        named = named_by_processes({os.fsencode(each.name): made_s for each, made_s in since.items()})
        for directory in since:
            if os.fsencode(directory.name) not in named:
                _remove(directory)


def _places() -> Iterator[Path]:
    """Yield directories in which a library can be loaded by anyone and exchanged by nobody, without noexec.

    Root's is /run unless TMPDIR is set: commands such as `su` leave it as it is where they give each user a /tmp of its own.
    """
    usual = [*(["/run"] if os.geteuid() == 0 else []), "/tmp", "/var/tmp", "/dev/shm"]
    given = tempfile.gettempdir()
    names = usual if given in usual else [given, *usual]
    for place in dict.fromkeys(map(os.path.realpath, names)):  # a link may lead elsewhere later
        with contextlib.suppress(OSError):
            is_executable = not os.statvfs(place).f_flag & os.ST_NOEXEC
            if is_executable and is_open_to_all(Path(place)) and safe_to_load(Path(place)):
                yield Path(place)


def is_open_to_all(file: Path) -> bool:
    """Return whether every user may read `file`, as far as modes say so."""
    try:
        return bool(file.stat().st_mode & stat.S_IROTH) and all(
            place.stat().st_mode & stat.S_IXOTH for place in file.parents
        )
    except OSError:
        return False


# --- making and finding ----------------------------------------------------------------------------------------------


def _shared_in(place: Path, libraries: Sequence[Path]) -> AgentCopy:
    """Return the copy in `place` that all recorders share, or one of our own where another user has its name. Raises OSError."""
    shared = place / f"{_prefix()}{_digest(libraries)}"
    end_s = time.monotonic() + _LOCK_LIMIT_S
    if found := _opened(shared, libraries, end_s):
        return found
    own, lock = _create_copy(place, libraries)
    found = None
    try:
        with contextlib.suppress(OSError):  # somebody else was faster, or has taken the name
            os.rename(own, shared)
            own = shared
        if own != shared:  # who keeps that name locked keeps us waiting once
            found = _opened(shared, libraries, end_s)
        found = found or _opened(own, libraries, time.monotonic() + _LOCK_LIMIT_S)
    finally:
        if found is None or found.directory != own:
            _remove(own)
        os.close(lock)
    if found is None:
        raise OSError(errno.EAGAIN, "somebody changes what is put there", str(own))
    return found


def _create_copy(place: Path, libraries: Sequence[Path]) -> tuple[Path, int]:
    """Make a copy under a random name; return it, and its lock. Raises OSError, and then leaves nothing."""
    directory = place / f"{_prefix()}{''.join(secrets.choice(_LETTERS) for _ in range(8))}"
    os.mkdir(directory, 0o700)
    at = lock = -1
    try:
        at = os.open(directory, _DIRECTORY)
        status = os.fstat(at)
        if status.st_uid != os.geteuid() or os.listdir(at):
            raise OSError(errno.EEXIST, "what was made there is another thing by now", str(directory))
        lock = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=at)
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.write(lock, str(time.clock_gettime(time.CLOCK_BOOTTIME)).encode())
        for library in libraries:
            _copy_to(at, library)
        os.fchmod(at, 0o755)
    except BaseException:
        _remove(directory)
        if lock >= 0:
            os.close(lock)
        raise
    finally:
        if at >= 0:
            os.close(at)
    return directory, lock


def _copy_to(at: int, library: Path) -> None:
    """Copy a library into the directory `at`, by descriptors: a name there may lead elsewhere by now."""
    fd = os.open(library.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=at)
    with open(fd, "wb") as copy, library.open("rb") as original:
        shutil.copyfileobj(original, copy, _PIECE_BYTES)
        copy.flush()
        os.fchmod(fd, 0o755)


def _opened(directory: Path, libraries: Sequence[Path], end_s: float) -> AgentCopy | None:
    """Return the copy that is there, locked before `end_s`; None unless it is ours, whole and what it should be."""
    while time.monotonic() < end_s:
        try:
            at = os.open(directory, _DIRECTORY)
        except OSError:
            return None
        lock = -1
        try:
            lock = _lock_of(at)
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if _is_sealed_copy(at, directory, libraries):
                kept, lock = lock, -1
                return AgentCopy(directory, kept)
            return None
        except BlockingIOError:  # somebody removes it, or looks whether to
            time.sleep(_PAUSE_S)
        except OSError:
            return None
        finally:
            os.close(at)
            if lock >= 0:
                os.close(lock)
    return None


def _is_sealed_copy(at: int, directory: Path, libraries: Sequence[Path]) -> bool:
    """Return whether the open directory `at` is `directory` and has copies of `libraries`, which are immutable from now on.

    What is none stays as it was: somebody may have given another file of ours its name. Raises OSError.
    """
    with contextlib.ExitStack() as files, contextlib.ExitStack() as undo:
        is_sealed = _seal(at, libraries, files, undo)
        is_same = os.path.samestat(os.fstat(at), directory.lstat())
        if not is_same or not all(_is_copy(at, each, is_sealed=is_sealed) for each in libraries):
            return False
        if is_sealed:
            undo.pop_all()
        return True


def _seal(at: int, libraries: Sequence[Path], files: contextlib.ExitStack, undo: contextlib.ExitStack) -> bool:
    """Keep whoever has our user id and no capability from changing a copy. Return whether that can be done here.

    `undo` makes what was not immutable an ordinary file again, `files` closes it. Raises OSError for what can be no copy.
    """
    if os.geteuid() != 0:
        return False
    try:
        for library in libraries:
            fd = os.open(library.name, os.O_RDONLY | _FILE, dir_fd=at)
            files.callback(os.close, fd)
            if not _may_be_copy(os.fstat(fd), library):
                raise OSError(errno.ESTALE, "it is another file", library.name)
            if set_immutable(fd):
                undo.callback(_unseal, fd)
        if set_immutable(at):
            undo.callback(_unseal, at)
    except OSError as error:
        if error.errno not in _NO_FLAGS:
            raise
        return False
    return True


def _lock_of(at: int) -> int:
    """Open the lock of the directory `at`, which only this user can have made. Raises OSError."""
    status = os.fstat(at)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) not in (0o755, 0o700):
        raise PermissionError(errno.EPERM, "it is another user's, or others can write in it")
    return os.open(_LOCK, os.O_RDWR | _FILE, dir_fd=at)


def _is_copy(at: int, library: Path, *, is_sealed: bool) -> bool:
    """Return whether the directory `at` has a file of ours that all can load, whose content is that of `library`.

    `is_sealed`: nobody can open it for writing any more, and nobody has it open from before.
    """
    with open(os.open(library.name, os.O_RDONLY | _FILE, dir_fd=at), "rb") as copy, library.open("rb") as original:
        if not _may_be_copy(os.fstat(copy.fileno()), library):
            return False
        if is_sealed and is_open_for_writing(copy.fileno()):
            return False
        while piece := original.read(_PIECE_BYTES):
            if copy.read(len(piece)) != piece:
                return False
        return not copy.read(1)


def _may_be_copy(status: os.stat_result, library: Path) -> bool:
    """Return whether a file is one of ours that all can load, has one name, and the length of `library`."""
    is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1
    return is_ours and stat.S_IMODE(status.st_mode) == 0o755 and status.st_size == library.stat().st_size


def _prefix() -> str:
    """Return how names of copies begin: whoever removes one has to see all processes that may name it."""
    return f"headway-agent-{os.geteuid()}-{os.stat('/proc/self/ns/pid').st_ino}-"


def _digest(libraries: Sequence[Path]) -> str:
    whole = hashlib.sha256()
    for library in libraries:
        with library.open("rb") as file:
            whole.update(library.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:32]


# --- removing --------------------------------------------------------------------------------------------------------


def _copies_in(place: Path) -> Iterator[Path]:
    """Yield this user's copies in a directory whose processes are all seen from here."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for _, entry in zip(range(_MOST_NAMES), entries, strict=False):
            name = NAME.fullmatch(os.fsencode(entry.name))
            if name is None or int(name[1]) != os.geteuid():
                continue
            here = os.stat("/proc/self/ns/pid").st_ino
            if here in (int(name[2]), _FIRST_NAMESPACE) and (len(name[3]) == 32 or _is_old(entry)):
                yield Path(entry.path)


def _is_old(entry: os.DirEntry[str]) -> bool:
    """Return whether a copy with a random name is no longer being made."""
    return time.time() - entry.stat(follow_symlinks=False).st_ctime > _UNFINISHED_S


def _locked(directory: Path, locks: contextlib.ExitStack) -> float | None:
    """Keep recorders from a copy until `locks` is closed; return when it was made, in seconds since boot.

    None where a recorder has it, or where it is another user's.
    """
    try:
        at = os.open(directory, _DIRECTORY)
    except OSError:
        return None
    try:
        lock = _lock_of(at)
        locks.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _time_in(lock)
    except FileNotFoundError:  # its maker was killed at once, or its remover at the end: nobody has its name
        return math.inf if _is_abandoned(at) else None
    except OSError:
        return None
    finally:
        os.close(at)


def _time_in(lock: int) -> float:
    try:
        return float(os.read(lock, 64))
    except ValueError:  # torn by a crash
        return 0.0


def _is_abandoned(at: int) -> bool:
    status = os.fstat(at)
    return status.st_uid == os.geteuid() and time.time() - status.st_ctime > _UNFINISHED_S


def _remove(directory: Path) -> None:
    """Remove a copy, its lock last: what is half removed is still somebody's to remove."""
    with contextlib.suppress(OSError):
        at = os.open(directory, _DIRECTORY)
        try:
            if os.fstat(at).st_uid != os.geteuid():
                return
            _unseal(at)
            for name in sorted(os.listdir(at), key=_LOCK.__eq__):
                _unseal_file(at, name)
                os.unlink(name, dir_fd=at)
        finally:
            os.close(at)
        directory.rmdir()


def _unseal_file(at: int, name: str) -> None:
    with contextlib.suppress(OSError):  # a link: it has no flags
        fd = os.open(name, os.O_RDONLY | _FILE, dir_fd=at)
        try:
            _unseal(fd)
        finally:
            os.close(fd)


def _unseal(fd: int) -> None:
    with contextlib.suppress(OSError):
        set_immutable(fd, wanted=False)
