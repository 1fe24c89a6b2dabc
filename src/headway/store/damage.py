"""Errors for recordings whose files are damaged, missing or refused, each with the command that helps."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.store.files import parse_json, read_bytes
from headway.store.manifest_keys import CAUSAL, FILE

REFUSALS = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What the system says of files that may be whole, and that it does not open for us."""
ANEW = "copy it again from where it was made; without that, record again: headway record -o NAME.headway -- CMD"
ANEW_CAUSAL = "copy it again from where it was made; without that: headway causal --progress CLASS.METHOD -- CMD"
ANEW_IMPORTED = "copy it again from where it was made; without that: headway import FILE -o NAME.headway"


def damaged(path: Path, reason: str, directory: Path) -> HeadwayError:
    """Return the error for a damaged file of the recording `directory`, with a remedy: tables can be rebuilt from a spool."""
    if path.name != FILE and (directory / "spool").is_dir():
        return HeadwayError("HW303", path=path, reason=reason, next=f"headway recover {shlex.quote(str(directory))}")
    return HeadwayError("HW303", path=path, reason=reason, next=_anew(directory))


def unreadable(path: Path, error: Exception, directory: Path) -> HeadwayError:
    """Return the error for a file that could not be read: it is damaged, unless the system refuses to open it."""
    if isinstance(error, OSError):
        if error.errno in REFUSALS:
            return HeadwayError("HW328", path=path, reason=os.strerror(error.errno))
        return damaged(path, error.strerror or str(error), directory)
    return damaged(path, str(error), directory)


def no_spool(directory: Path, draft: Mapping[str, Any]) -> HeadwayError:
    """Return the error for a recording without raw records, which is either finalised or beyond repair."""
    state = draft.get("state")
    reason = f"it is {state} and has no spool/" if state != "recording" else "it has neither tables nor a spool/"
    if state not in ("complete", "partial"):
        advice = _anew(directory)
    elif table := _broken_table(directory, draft):
        advice = _anew(directory)
        reason = f"{table} is damaged or gone, and spool/, of which it was made, went when the tables were complete"
    else:
        advice = _first_look(directory, draft)
    return HeadwayError("HW308", path=directory, reason=reason, next=advice)


def _first_look(directory: Path, draft: Mapping[str, Any]) -> str:
    """Return the analysis to begin with, of those that what was recorded is enough for."""
    analysis = "why"
    if draft.get("kind") == CAUSAL:
        analysis = "causal"
    elif draft.get("mode") in ("agent", "import"):
        analysis = "notes"  # says what there is, and what is missing
    return f"headway {analysis} {shlex.quote(str(directory))}"


def _broken_table(directory: Path, draft: Mapping[str, Any]) -> str:
    """Return the file of the first table of the manifest that is not there at its size, "" for none; no content is read."""
    tables = draft.get("tables")
    for name, row in tables.items() if isinstance(tables, dict) else ():
        try:
            if (directory / f"{name}.parquet").lstat().st_size == row["bytes"]:
                continue
        except (OSError, TypeError, KeyError, ValueError):
            pass
        return f"{name}.parquet"
    return ""


def _anew(directory: Path) -> str:
    """Return how to get a recording anew, by what its manifest tells of it, if it can be read."""
    try:
        draft = parse_json(read_bytes(directory / FILE))
        kind = (draft.get("kind"), draft.get("mode"))
    except (OSError, ValueError, AttributeError):
        return ANEW
    return ANEW_CAUSAL if kind[0] == CAUSAL else ANEW_IMPORTED if "import" in kind else ANEW
