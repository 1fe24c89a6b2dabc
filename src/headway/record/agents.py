"""The agents that were attached to running JVMs: put in, silenced, taken out again."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record import agent_file, processes
from headway.record.attach import AttachResult, attach
from headway.record.jvm_options import LockOptions, agent_library
from headway.record.sampling import Sampler


@dataclass(slots=True)
class AttachedAgents:
    """The agents in the JVMs of one tree, and a notice for each JVM that has none."""

    results: list[AttachResult] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    @classmethod
    def attach_to(
        cls,
        root: int,
        pids: Iterable[int],
        spool: Path,
        virtual_threads: bool,
        locks: LockOptions | None,
        sampler: Sampler | None = None,
        causal: str | None = None,
    ) -> AttachedAgents:
        """Attach to every JVM among `pids`; `root` is named when there is none."""
        agents = cls()
        jvms = [pid for pid in pids if processes.is_jvm(pid)]
        library = agent_library()
        if not library.exists():
            agents.notices.append(Notice.of("HW060", path=library))
            return agents
        for pid in jvms:
            try:
                result = attach(
                    pid,
                    library,
                    spool,
                    virtual_threads=virtual_threads,
                    locks=locks,
                    sampler=sampler,
                    causal=causal,
                    timeout_s=10,
                )
                agents.results.append(result)
            except HeadwayError as error:
                reason = f"{error.notice.id}: {error.notice.message}"
                agents.notices.append(Notice.of("HW054", pid=pid, reason=reason))
        if not jvms:
            agents.notices.append(Notice.of("HW054", pid=root, reason="it is no JVM, nor is one below it"))
        return agents

    def silence(self) -> None:
        """Stop every agent's records at once; needs nothing of the JVMs."""
        for result in self.results:
            with contextlib.suppress(OSError, ValueError):
                result.stop()

    def leave(self) -> None:
        """Turn the agents' events off, fetch what they wrote, and remove what was put into the JVMs' file systems.

        A JVM that does not answer keeps a silent agent, which does no harm.
        """
        for result in self.results:
            with contextlib.suppress(OSError, HeadwayError):
                result.detach(timeout_s=5)
            try:
                result.collect()
            except (OSError, ValueError) as error:
                self.notices.append(Notice.of("HW054", pid=result.facts.pid, reason=f"its records are lost: {error}"))
            with contextlib.suppress(OSError):
                result.close()


def silence_all(spool: Path) -> None:
    """Ask every agent that writes into this spool to fall silent; each looks before its next record."""
    for path in spool.glob("agent-*.spool"):
        with contextlib.suppress(OSError):
            agent_file.write_word(path, agent_file.STOP, 1, path.lstat().st_uid)


def wait_until_ended(spool: Path, limit_s: float = 2.0) -> None:
    """Wait for the agents that were silenced to write what they know of locks by then, and to let go of their files.

    Not for a JVM that has ended or is stopped, or one in a process namespace of its own, whose pid here is not known; nor
    longer than `limit_s`. Then holds of the last second may be missing.
    """
    end = time.monotonic() + limit_s
    while time.monotonic() < end and any(_may_yet_write(path) for path in spool.glob("agent-*.spool")):
        time.sleep(0.02)


def _may_yet_write(path: Path) -> bool:
    try:
        owner = path.lstat().st_uid
        end, pid, host_pid = (
            agent_file.read_word(path, word, owner) for word in (agent_file.END, agent_file.PID, agent_file.HOST_PID)
        )
    except (OSError, struct.error):
        return False
    stat = processes.read_stat(host_pid or pid) if end == agent_file.END_AHEAD else None
    return stat is not None and stat[0] not in ("Z", "X", "T", "t")
