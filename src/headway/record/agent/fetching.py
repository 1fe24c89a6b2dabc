"""Copies what an agent wrote below the /tmp of another user's or a container's JVM into the recording."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from headway.record.causal.notes import notes_of
from headway.record.request.sampling import SAMPLE_ENDINGS
from headway.record.target_process import agent_file
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.directory import TargetDirectory


def fetch(
    private: TargetDirectory,
    spool: int | str,
    name: str,
    pid: int,
    into: Path,
    deadline: Deadline,
    kept_free: int | None = None,
) -> tuple[Path, list[str]]:
    """Copy the agent's spool, a descriptor or its name, called `name`, and what lies beside it; return its copy and problems.

    `pid`: of the JVM, which the copy says then: what the agent's own file says, its JVM's user can have changed.
    `kept_free`: what all copies of a recording together must leave on its disk, bytes; None: half of what there is now.
    Raises OSError when the spool itself can't be copied, or is none; what else there is and can't be copied is a problem.
    Raises Interrupted.
    """
    stem = name.removeprefix("agent").removesuffix(".spool")
    ns_pid = int(stem.removeprefix("-").partition(".")[0])
    if private.with_file(spool, deadline, agent_file.agent_of) != ns_pid:
        raise OSError(f"{name} is not what the agent of that process writes")
    copy = _unused(into, name)
    kept_free = agent_file.half_of_room(into) if kept_free is None else kept_free
    problems = _copied(private, spool, copy, deadline, kept_free)
    for word, value in ((agent_file.PID, ns_pid), (agent_file.HOST_PID, pid)):
        agent_file.write_word(copy, word, value, os.geteuid())
    new_stem = copy.name.removeprefix("agent").removesuffix(".spool")
    others = [f"locks{stem}.table", notes_of(Path(name)).name, *(f"sample{stem}{end}" for end in SAMPLE_ENDINGS)]
    for other in sorted({*others} & {*private.names(deadline)}):
        try:
            kind = other.partition("-")[0]
            to = into / f"{kind}{new_stem}{other.removeprefix(kind + stem)}"
            problems += _copied(private, other, to, deadline, kept_free)
        except OSError as error:
            problems.append(f"{other} is not kept: {error.strerror or error}")
    return copy, problems


def _unused(into: Path, name: str) -> Path:
    """Return a path for the copy: several containers have a process 1."""
    path, number = into / name, 2
    while os.path.lexists(path):
        path = into / f"{name.removesuffix('.spool').partition('.')[0]}.{number}.spool"
        number += 1
    return path


def _copied(private: TargetDirectory, source: int | str, to: Path, deadline: Deadline, kept_free: int) -> list[str]:
    def run(copy: Callable[[int], int], target: int) -> int:
        return private.with_file(source, deadline, copy, target)

    left_out = agent_file.copy_by(run, to, kept_free)
    return [f"{to.name} is longer than such a file can be: its last {left_out} bytes are not kept"] if left_out else []


def table_of(spool: Path) -> Path:
    """Return where the agent that writes agent-NAME.spool keeps its sums of locks: locks-NAME.table beside it."""
    return spool.with_name(f"locks{spool.stem.removeprefix('agent')}.table")


def spool_of(table: Path) -> Path:
    """Return where the agent that keeps `table` writes its records."""
    return table.with_name(f"agent{table.stem.removeprefix('locks')}.spool")
