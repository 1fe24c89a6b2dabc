"""Files that appear whole or not at all, and never over what was there without being told to; - is the standard output."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headway.errors import HeadwayError
from headway.report.terminal.printing.stream import shown_plainly
from headway.store import directory as directories

STDOUT = "-"


_MOST_LINKS = 40
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _free_place(path: Path | str, *, overwrite: bool) -> directories.DirectoryEntry:
    """Return the name, in an open directory, that a new file at `path` gets: links are followed, but as root no stranger's.

    Raises OSError, HeadwayError HW500 when there is a file and `overwrite` is not set, HW501 when what is there is no file, and
    HW317.
    """
    target = Path(path)
    for _ in range(_MOST_LINKS):
        place = directories.open_entry(target)
        try:
            status = os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
        except FileNotFoundError:
            return place
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFREG and overwrite:
            return place
        with place:
            if kind != stat.S_IFLNK:
                break
            if directories.is_untrusted_user(status.st_uid):
                raise directories.untrusted_place(
                    path, f"it is a link of user {directories.user_name(status.st_uid)}'s"
                )
            target = place.path.parent / os.readlink(place.name, dir_fd=place.parent)
    if kind == stat.S_IFREG:
        raise HeadwayError("HW500", path=path)
    what = "a directory" if kind == stat.S_IFDIR else "not an ordinary file"
    raise HeadwayError("HW501", path=path, reason=f"it is {what}")


def _open_scratch(place: directories.DirectoryEntry, name: str) -> int:
    """Create the file that becomes `place`, and return its descriptor.

    What root writes is for root alone, as its recordings are; where it takes the place of a file of root's, or of the user who
    called sudo, it has the mode of that. Other users' modes are by the umask.
    """
    if os.geteuid() != 0:
        return os.open(name, _NEW, 0o666, dir_fd=place.parent)
    fd = os.open(name, _NEW, 0o600, dir_fd=place.parent)
    with contextlib.suppress(FileNotFoundError):
        before = os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
        if stat.S_ISREG(before.st_mode) and not directories.is_untrusted_user(before.st_uid):
            os.fchmod(fd, before.st_mode & 0o777)
    return fd


def refuse_taken(path: Path | str, *, overwrite: bool = False) -> None:
    """Raise what `new_file` would for `path` as it is now: for those who write only after something that takes long."""
    try:
        with _free_place(path, overwrite=overwrite):
            return
    except OSError as error:
        raise HeadwayError("HW501", path=path, reason=error.strerror or str(error)) from error


@contextlib.contextmanager
def new_file(path: Path | str, *, overwrite: bool = False) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes the place of `path` when the block ends well, and vanishes when it does not.

    For `-` it yields the standard output, which has what came before a failure. Files that root writes have mode 0600.

    Raises HeadwayError HW500 when `path` exists and `overwrite` is not set, HW501 when it can't be written (no such directory, no
    permission, disk full, ...), or HW317 when, as root, it leads over another user's link.
    """
    if str(path) == STDOUT:
        sys.stdout.flush()
        with (
            open(os.dup(sys.stdout.fileno()), "wb") as out,
            shown_plainly(out) as shown,
        ):  # a copy: writers may close it
            yield shown
        return
    try:
        with _free_place(path, overwrite=overwrite) as place:
            scratch = f".{place.name[:200]}.{secrets.token_hex(6)}.new"
            try:
                with open(_open_scratch(place, scratch), "wb") as out:
                    yield out
                os.replace(scratch, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(scratch, dir_fd=place.parent)
                raise
    except OSError as error:
        raise HeadwayError("HW501", path=path, reason=error.strerror or str(error)) from error
