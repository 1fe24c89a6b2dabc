"""Recording directories pinned (kept open) by descriptor, so that writes can't be redirected by renames or links meanwhile.

A name is only as good as the directories it goes through: whoever may write one of these can put a link, or another directory,
in the place of what headway has made there, between two uses of the name. So a recording's directory is opened once, checked, and
pinned; while it is, `pinned` gives a path to it that goes through the descriptor. Below a directory that nobody else can write,
names are as good as descriptors. docs/decisions/0010-recording-directories.md says which directories root refuses, and why.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import shlex
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC  # opens nothing: no FIFO waits, and search permission is enough
_MOST_LINKS = 40

_pins: dict[str, int] = {}
"""Descriptors of the pinned directories, by their absolute path."""


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """A name in an open directory. Use as a context manager: `parent` is closed at the end."""

    parent: int
    name: str
    path: Path

    def __enter__(self) -> DirectoryEntry:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the parent."""
        os.close(self.parent)


def directory_mode() -> int:
    """Return the mode for a recording's directories: 0700 as root, else by the umask, but never writable by others."""
    return 0o700 if os.geteuid() == 0 else 0o755 & ~_umask()


def file_mode() -> int:
    """Return the mode for a recording's files: 0600 as root, else by the umask, but never writable by others."""
    return 0o600 if os.geteuid() == 0 else 0o644 & ~_umask()


def is_untrusted_user(uid: int) -> bool:
    """Return whether root must not trust user `uid`: everyone but root and the user who called sudo.

    For an ordinary user there are no strangers: the kernel already refuses what such a user must not do.
    """
    if os.geteuid() != 0 or uid == 0:
        return False
    return str(uid) != os.environ.get("SUDO_UID")


def safe_to_load(path: Path) -> bool:
    """Return whether only root and this user can replace `path`, judging by file modes.

    In a directory like /tmp, which everybody may write to, the sticky bit leaves each their own.
    """
    try:
        return all(_is_private(each.stat()) for each in (path.resolve(), *path.resolve().parents))
    except OSError:
        return False


def _is_private(status: os.stat_result) -> bool:
    is_shared = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    is_sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
    return status.st_uid in (0, os.geteuid()) and (not is_shared or is_sticky)


def open_entry(path: Path | str) -> DirectoryEntry:
    """Open the parent directory of `path`, following no link of an untrusted user. Raises OSError, or HeadwayError HW317."""
    whole = Path(os.path.abspath(path))
    for above in whole.parents:
        fd = _pins.get(str(above))
        if fd is not None:
            return DirectoryEntry(_walk(os.dup(fd), whole.parent.relative_to(above).parts, whole), whole.name, whole)
    return DirectoryEntry(_walk(os.open("/", _PATH), whole.parent.parts[1:], whole), whole.name, whole)


def _walk(at: int, parts: tuple[str, ...], whole: Path) -> int:
    """Return a descriptor of the directory `parts` below `at`, gone to name by name: nothing is exchanged on the way."""
    left = list(parts)
    links = 0
    try:
        while left:
            here = os.open(left.pop(0), _PATH, dir_fd=at)
            status = os.fstat(here)
            if not stat.S_ISLNK(status.st_mode):
                os.close(at)
                at = here
                continue
            target = os.readlink("", dir_fd=here)
            os.close(here)
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(whole))
            if is_untrusted_user(status.st_uid):
                raise untrusted_place(whole, f"a link of user {user_name(status.st_uid)}'s is on the way to it")
            left = [part for part in target.split("/") if part not in ("", ".")] + left
            if target.startswith("/"):
                os.close(at)
                at = os.open("/", _PATH)
        if not stat.S_ISDIR(os.fstat(at).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(whole.parent))
    except BaseException:
        os.close(at)
        raise
    return at


def make_directory(path: Path) -> int:
    """Create a directory exclusively, keep it open, and return its descriptor.

    Raises OSError, or HeadwayError HW317 when it is another one by the time that it is opened.
    """
    with open_entry(path) as place:
        os.mkdir(place.name, directory_mode(), dir_fd=place.parent)
        try:
            fd = os.open(place.name, _OPEN, dir_fd=place.parent)
        except OSError as error:
            raise untrusted_place(path, f"what was made there is another thing by now ({error.strerror})") from None
        try:
            status, around = os.fstat(fd), os.fstat(place.parent)
            if status.st_uid != os.geteuid() or status.st_dev != around.st_dev or os.listdir(fd):
                reason = "what was made there is not ours: somebody exchanged it, or the file system maps users (NFS)"
                raise untrusted_place(path, reason)
            with contextlib.suppress(OSError):  # default ACLs may have added to it; some file systems have no modes
                os.fchmod(fd, directory_mode())
            pin(path, fd)
        except BaseException:
            os.close(fd)
            raise
    return fd


def make_parents(path: Path) -> None:
    """Create missing parent directories, following no link of an untrusted user. Raises as `open_entry`."""
    for above in reversed(Path(os.path.abspath(path)).parents[:-1]):
        with open_entry(above) as place, contextlib.suppress(FileExistsError):
            os.mkdir(place.name, dir_fd=place.parent)


def open_own(path: Path, doing: str) -> int:
    """Open an existing directory to change its content, keep it open, and return its descriptor.

    `doing` is the command that does so, as in `headway recover`. Raises OSError, or HeadwayError HW317 when, as root, it is a
    link, belongs to somebody else, or can be written by others.
    """
    if os.geteuid() != 0:  # an ordinary user's own links lead where that user may write
        fd = os.open(path, _OPEN & ~os.O_NOFOLLOW)
        pin(path, fd)
        return fd
    with open_entry(path) as place:
        status = os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise untrusted_place(path, "it is a link, and as root headway changes nothing behind one")
        fd = os.open(place.name, _OPEN, dir_fd=place.parent)
        _pin_own(path, fd, doing)
    return fd


def pin_below(path: Path, doing: str) -> bool:
    """Pin a directory inside a pinned recording; return False where there is none, or a link in its place.

    Raises HeadwayError HW317 as `open_own`.
    """
    try:
        with opened_for_writing(path.parent) as parent:
            fd = os.open(path.name, _OPEN, dir_fd=parent)
    except OSError:
        return False
    _pin_own(path, fd, doing)
    return True


def _pin_own(path: Path, fd: int, doing: str) -> None:
    """Hold an open directory, or close it when it is not for root to change. Raises HeadwayError HW317."""
    try:
        check_own(path, fd, doing)
    except BaseException:
        os.close(fd)
        raise
    pin(path, fd)


def check_own(path: Path, fd: int, doing: str) -> None:
    """Raise HeadwayError HW317 when headway runs as root and others can replace names in the open directory."""
    status = os.fstat(fd)
    if os.geteuid() != 0:
        return
    if status.st_uid != 0:
        user = user_name(status.st_uid)
        command = f"sudo -u {user} {doing} {shlex.quote(str(path))}"
        raise untrusted_place(path, f"it belongs to user {user}, and headway runs as root", command)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        command = f"chmod -R go-w {shlex.quote(str(path))}"
        raise untrusted_place(path, "others than root can write in it", command)


def untrusted_place(path: Path | str, reason: str, command: str = "") -> HeadwayError:
    """Return HeadwayError HW317: root does not act on what another user controls."""
    return HeadwayError(
        "HW317", path=path, reason=reason, next=command or "choose another -o, in a directory of root's own"
    )


def user_name(uid: int) -> str:
    """Return a user's name, or the number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"'#{uid}'"


# --- pinning ---------------------------------------------------------------------------------------------------------


def pin(path: Path, fd: int) -> None:
    """Keep a recording's directory open until `unpin`, so that its name may lead elsewhere meanwhile; `fd` becomes the pin's."""
    unpin(path)
    _pins[os.path.abspath(path)] = fd


def unpin(path: Path) -> None:
    """Close the descriptor kept for a directory, if there is one."""
    fd = _pins.pop(os.path.abspath(path), None)
    if fd is not None:
        os.close(fd)


def pinned_descriptor(path: Path | str) -> int | None:
    """Return the descriptor kept open for a directory, None if there is none."""
    return _pins.get(os.path.abspath(path))


@contextlib.contextmanager
def temporary_pins() -> Iterator[None]:
    """Context manager: close at its end all directories that were opened and kept inside it."""
    before = set(_pins)
    try:
        yield
    finally:
        for path in set(_pins) - before:
            unpin(Path(path))


def pinned(path: Path | str) -> Path:
    """Return a path that reaches the same file through the descriptor kept for its directory, else `path` itself."""
    whole = Path(os.path.abspath(path))
    for above in (whole, *whole.parents):
        fd = _pins.get(str(above))
        if fd is not None:
            return Path(f"/proc/self/fd/{fd}") / whole.relative_to(above)
    return Path(path)


def without_descriptors(text: str) -> str:
    """Return a text in which files of directories that are kept open have their paths again, instead of those of descriptors."""
    for path, fd in _pins.items():
        text = text.replace(f"/proc/self/fd/{fd}/", f"{path}/")
    return text


@contextlib.contextmanager
def opened_for_writing(path: Path | str) -> Iterator[int]:
    """Context manager: a descriptor of a directory to write in, the kept one if there is one. Raises OSError."""
    fd = pinned_descriptor(path)
    if fd is not None:
        yield fd
        return
    fd = os.open(pinned(path), _OPEN if os.geteuid() == 0 else _OPEN & ~os.O_NOFOLLOW)
    try:
        yield fd
    finally:
        os.close(fd)


# --- removing --------------------------------------------------------------------------------------------------------


def remove_within(directory: Path, name: str) -> None:
    """Remove `name` in a directory: directories with their content, links themselves. What can't be removed stays."""
    with contextlib.suppress(OSError), opened_for_writing(directory) as fd:
        _remove(fd, name)


def remove_whole(path: Path) -> None:
    """Remove a directory that is kept open, with its content, and close it. Its name is removed only if it is still its own."""
    fd = pinned_descriptor(path)
    if fd is None:
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(fd):
            with contextlib.suppress(OSError):
                _remove(fd, name)
        with open_entry(path) as place:
            named = os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
            if os.path.samestat(named, os.fstat(fd)):
                os.rmdir(place.name, dir_fd=place.parent)
    unpin(path)


def _remove(parent: int, name: str) -> None:
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        shutil.rmtree(name, ignore_errors=True, dir_fd=parent)  # goes down by descriptors
    else:
        os.unlink(name, dir_fd=parent)


def _umask() -> int:
    with open("/proc/self/status", "rb") as status:  # os.umask would change it for every thread meanwhile
        for line in status:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return 0o022
