"""Keeps a sweep's commands unmasked, readable by the owner only, while runs are missing; sweep.json has them masked.

They lie in commands.json, which only its owner may read, and which is removed once every run is complete: then nothing needs
them any more.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from headway.errors import HeadwayError
from headway.model.secrets import MASK, masked_words
from headway.store.files import NewFile, parse_json, read_bytes

FILE = "commands.json"


def write_commands(directory: Path, parallel: str, sequential: str | None) -> None:
    """Write a sweep's commands to its directory, readable by the owner only. Raises OSError."""
    with NewFile(directory, FILE, 0o600) as file:  # not by a change: who opened it before that could read on
        with file.stream() as out:
            out.write(json.dumps({"parallel": parallel, "sequential": sequential}).encode())
        file.keep()


def read_commands(directory: Path) -> tuple[str, str | None] | None:
    """Return the commands (parallel, sequential), None where there is no file. Raises HeadwayError HW322 if damaged."""
    path = directory / FILE
    try:
        given = parse_json(read_bytes(path))
        parallel, sequential = given["parallel"], given["sequential"]
        if not isinstance(parallel, str) or not isinstance(sequential, str | None):
            raise TypeError("a command is a text")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise HeadwayError("HW322", path=path, reason=str(error)) from None
    return parallel, sequential


def is_masked(command: str | None) -> bool:
    """Return whether secrets in a command were masked."""
    return MASK in (command or "")


def masked(command: str) -> str:
    """Return a command with secrets masked; without secrets it is returned unchanged."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    shown = masked_words(words)
    return command if shown == words else shlex.join(shown)
