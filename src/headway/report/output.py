"""Files that appear whole or not at all, and never over what was there without being told to; - is the standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headway.errors import HeadwayError

STDOUT = "-"


def free_place(path: Path | str, *, overwrite: bool = False) -> Path:
    """Return where a new file at `path` goes.

    Raises HeadwayError HW500 when there is one and `overwrite` is not set, and HW501 when what is there is no file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        kind = "a directory" if target.is_dir() else "not an ordinary file"
        raise HeadwayError("HW501", path=path, reason=f"it is {kind}")
    if target.exists() and not overwrite:
        raise HeadwayError("HW500", path=path)
    return target


@contextlib.contextmanager
def new_file(path: Path | str, *, overwrite: bool = False) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes the place of `path` when the block ends well, and vanishes when it does not.

    For `-` it yields the standard output, which has what came before a failure.

    Raises HeadwayError HW500 when `path` exists and `overwrite` is not set, or is a directory, and HW501 when it can't
    be written (no such directory, no permission, disk full, ...).
    """
    if str(path) == STDOUT:
        sys.stdout.flush()
        with open(os.dup(sys.stdout.fileno()), "wb") as out:  # a copy: writers may close what they get
            yield out
        return
    target = free_place(path, overwrite=overwrite)
    scratch = target.with_name(f".{target.name[:200]}.{os.getpid()}.new")
    try:
        with open(scratch, "xb") as out:
            yield out
        os.replace(scratch, target)
    except OSError as error:
        _remove(scratch)
        raise HeadwayError("HW501", path=path, reason=error.strerror or str(error)) from error
    except BaseException:
        _remove(scratch)
        raise


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
