"""Fetches and removes what a recorder that was killed left in the file systems of the JVMs it had attached to.

Where an agent writes below its JVM's own /tmp, the manifest says so from the attach on: `agents_elsewhere`. What lies there
is fetched into the recording by `headway recover`, and removed; the next headway that attaches to a JVM with that /tmp removes
it too (target_process/directory.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, Notice
from headway.record.agent.fetching import fetch
from headway.record.target_process.agent_file import half_of_room
from headway.record.target_process.deadline import Deadline, within
from headway.record.target_process.directory import TargetDirectory, is_own_name, open_left_behind, open_tmp
from headway.record.target_process.jvm_facts import JvmFacts, start_ticks
from headway.record.target_process.rights import Rights, opened_as, rights_of

_LIMIT_S = 60.0
_NO_ID = (1 << 32) - 1  # means "none" to the kernel
_MOST_SPOOLS = 4  # a JVM has one
_SPOOL = re.compile(r"agent-\d+\.spool")


def note_of(private: TargetDirectory, facts: JvmFacts) -> dict[str, Any]:
    """Return what the manifest keeps of one directory."""
    return {
        "pid": facts.pid,
        "start_ticks": facts.start_ticks,
        "uid": facts.uid,
        "gid": facts.gid,
        "same_mounts": facts.same_mounts,
        "name": private.name,
    }


def fetch_left_behind(draft: Mapping[str, Any], spool: Path) -> list[Notice]:
    """Fetch into `spool`, and remove, what the manifest `draft` says was left behind; return a notice for each problem."""
    notices = []
    kept_free = half_of_room(spool)
    notes = draft.get("agents_elsewhere")
    for note in filter(_is_note, notes if isinstance(notes, list) else ()):
        try:
            problems = _fetched(note, spool, kept_free)
        except (OSError, ValueError, HeadwayError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            problems = [f"what its agent wrote is lost: {reason}"]
        notices += [Notice.of("HW072", pid=note["pid"], problem=problem) for problem in problems]
    return notices


def _is_note(note: Any) -> bool:
    """Tell whether a note is one that `note_of` could have made: a manifest may be anybody's, and what it names is removed."""
    if not isinstance(note, dict):
        return False
    numbers = (note.get(key) for key in ("pid", "start_ticks", "uid", "gid"))
    are_ids = all(type(each) is int and 0 <= each < _NO_ID for each in numbers)
    return are_ids and isinstance(note.get("same_mounts"), bool) and is_own_name(note.get("name"))


def _fetched(note: Mapping[str, Any], spool: Path, kept_free: int) -> list[str]:
    deadline = Deadline.after(_LIMIT_S)
    private = _opened(note, deadline)
    problems: list[str] = []
    try:
        for name in sorted(filter(_SPOOL.fullmatch, private.names(deadline)))[:_MOST_SPOOLS]:
            problems += fetch(private, name, name, note["pid"], spool, deadline, kept_free)[1]
    finally:
        private.remove(deadline)
    return problems


def _opened(note: Mapping[str, Any], deadline: Deadline) -> TargetDirectory:
    """Return the directory, in the /tmp of the process, or in ours if it was the same and the process has ended."""
    pid, name = note["pid"], note["name"]
    if _is_alive(pid, note["start_ticks"]):
        rights = within(deadline, lambda: rights_of(pid))
        tmp = open_tmp(pid, deadline, rights)
    elif note["same_mounts"]:
        rights = Rights(note["uid"], note["gid"], (), note["uid"] == os.geteuid())
        tmp = open_tmp(os.getpid(), deadline, rights)
    else:
        raise OSError("the process has ended, and its file system with it")
    try:
        directory = opened_as(rights, deadline, lambda: open_left_behind(tmp, name, rights.uid), tmp)
    except BaseException:
        os.close(tmp)
        raise
    return TargetDirectory(rights, name, tmp, directory)


def _is_alive(pid: int, ticks: object) -> bool:
    try:
        return start_ticks(pid) == ticks
    except ProcessLookupError:
        return False
