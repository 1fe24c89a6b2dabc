"""Whether two recordings are whole runs of one program, so that they can be compared: its command, its JVM, begin and end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.numa.types import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.store import Recording

_LAUNCHERS = ("java",)
_PLACING = ("numactl", "taskset", "nice", "chrt", "ionice")
_OF_PLACING = re.compile(r"-.*|all|same|0x[0-9a-f]+|[0-9f,.+!:-]+")
"""What their options and arguments look like: lists and masks of CPUs, priorities."""


def difference_of_runs(one: Recording, two: Recording) -> str:
    """Return why two recordings are not whole runs of the same program; empty where they are."""
    reason = ""
    for each in (one, two):
        manifest = each.manifest
        if not reason and (manifest.state != "complete" or manifest.ended_by != "exit" or manifest.exit_code != 0):
            reason = f"{each.path} is not a run from begin to end"
        if not reason and (manifest.attached or not manifest.command):
            reason = f"{each.path} was attached to: it has a part of a run"
    if not reason:
        commands = [_program_words(each.manifest.command) for each in (one, two)]
        if commands[0] != commands[1]:
            reason = f"{_first_difference(*commands)}"
    if not reason:
        versions = [_java_versions(each) for each in (one, two)]
        if versions[0] != versions[1]:
            reason = f"Java {joined(versions[0]) or 'unknown'} beside {joined(versions[1]) or 'unknown'}"
    return reason


def _program_words(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command without what places it: from `java` on, where commands come first that only place it.

    Others (env, sudo) may change what runs: then it is all of the command.
    """
    if Path(command[0]).name not in _PLACING:
        return tuple(command)
    first = next((n for n, word in enumerate(command) if Path(word).name in _LAUNCHERS), 0)
    placing = all(Path(word).name in _PLACING or _OF_PLACING.fullmatch(word) for word in command[:first])
    return tuple(command[first:] if placing else command)


def _first_difference(one: Sequence[str], two: Sequence[str]) -> str:
    for mine, other in zip(one, two, strict=False):
        if mine != other:
            return f"{mine[:80]} beside {other[:80]}"
    longer = one if len(one) > len(two) else two
    return f"only one has {longer[min(len(one), len(two))][:80]}"


def _java_versions(recording: Recording) -> list[str]:
    rows = recording.query("SELECT DISTINCT value FROM jvm WHERE key = 'java.version' ORDER BY value").fetchall()
    return [str(value) for (value,) in rows]
