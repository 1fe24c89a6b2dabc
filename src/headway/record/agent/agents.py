"""The agents that were attached to running JVMs: put in, silenced, taken out again."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.model.native_part import build_command
from headway.record.agent.attach import AttachResult, Interrupted, attach
from headway.record.request.jvm_options import LockOptions, agent_library
from headway.record.request.objects import ObjectOptions
from headway.record.request.sampling import Sampler
from headway.record.target_process import agent_file, processes
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.processes import Process

_ATTACH_LIMIT_S = 10.0
_PROMPT_S = 1.0
_WAITING_LIMIT_S = 60.0
"""So long is waited in all for processes that are attached to in vain, or not promptly: there may be any number of them."""
_ATTACHING_LIMIT_S = 180.0
"""So long attaching may take in all, however prompt each is: a recording must begin."""
_SILENCING_ALL_LIMIT_S, _LEAST_SILENCING_S = 10.0, 0.005
"""One agent gets a tenth of what is left for all: those whose files never answer leave some time to any number of others."""
_LEAVE_LIMIT_S, _LEAVE_ALL_LIMIT_S = 5.0, 20.0
"""So long is waited for one agent, and in all, to turn its events off."""
_FETCHING_LIMIT_S, _LOOKING_ALL_LIMIT_S = 120.0, 10.0
"""So long all records together may take to be fetched, and to be asked for their sizes."""
_MOST_SHARES = 64
"""One agent may take one part in so many of the time that is left, however many there are."""
_REMOVING_LIMIT_S, _REMOVING_ALL_LIMIT_S = 5.0, 20.0
_MOST_NOTICES = 50
_SPARE_DESCRIPTORS = 256
"""What the rest of a recording may need to open."""


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
        interrupted: Callable[[], bool] | None = None,
        objects: ObjectOptions | None = None,
    ) -> AttachedAgents:
        """Attach to every JVM among `pids`; `root` is named when there is none.

        Whatever a process does costs its own agent, never the recording. `interrupted` ends it early.
        """
        agents = cls()
        library = agent_library()
        if not library.exists():
            agents.notices.append(Notice.of("HW060", path=library, next=build_command()))
            return agents
        waited_s, began_s = 0.0, time.monotonic()
        left = [(pid, Process.of(pid)) for pid in pids]
        try:
            while left:
                if why := agents._why_no_more(waited_s, time.monotonic() - began_s):
                    reason = f"{why}, and {len(left) - 1} more processes are left as they are"
                    agents.notices.append(_no_agent(left[0][0], reason))
                    return agents
                started_s, results = time.monotonic(), len(agents.results)
                pid, process = left.pop(0)
                if Process.of(pid) != process:  # others took minutes, and the number is somebody else's by now
                    continue
                agents._attach(pid, library, spool, virtual_threads, locks, sampler, causal, interrupted, objects)
                spent_s = time.monotonic() - started_s
                waited_s += spent_s if len(agents.results) == results else max(0.0, spent_s - _PROMPT_S)
        except Interrupted:
            return agents
        if not agents.results and not agents.notices:
            agents.notices.append(_no_jvm(root))
        return agents

    def _why_no_more(self, waited_s: float, all_s: float) -> str | None:
        """Return why no further process is attached to: those that mean harm, or are too many, must not cost the recording."""
        if all_s > _ATTACHING_LIMIT_S:
            return f"attaching to {len(self.results)} others took {all_s:.0f} s"
        if waited_s > _WAITING_LIMIT_S:
            return f"others took {waited_s:.0f} s to attach to in vain"
        if len(self.notices) >= _MOST_NOTICES:
            return f"{len(self.notices)} others could not be attached to"
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit != resource.RLIM_INFINITY and len(os.listdir("/proc/self/fd")) + _SPARE_DESCRIPTORS > limit:
            return f"agents in {len(self.results)} others keep as many files open as this shell allows (ulimit -n: {limit})"
        return None

    def _attach(
        self,
        pid: int,
        library: Path,
        spool: Path,
        virtual_threads: bool,
        locks: LockOptions | None,
        sampler: Sampler | None,
        causal: str | None,
        interrupted: Callable[[], bool] | None,
        objects: ObjectOptions | None,
    ) -> None:
        try:
            if not _may_be_a_jvm(pid):
                return
            result = attach(
                pid,
                library,
                spool,
                virtual_threads=virtual_threads,
                locks=locks,
                sampler=sampler,
                causal=causal,
                objects=objects,
                timeout_s=_ATTACH_LIMIT_S,
                interrupted=interrupted,
            )
            self.results.append(result)
        except HeadwayError as error:
            reason = f"{error.notice.id}: {error.notice.message}"
            self.notices.append(_no_agent(pid, reason))

    def silence(self) -> None:
        """Stop every agent's records at once; needs nothing of the JVMs."""
        left_s = _SILENCING_ALL_LIMIT_S
        for result in self.results:
            if left_s / 10 < _LEAST_SILENCING_S:
                return  # `leave` asks again
            started_s = time.monotonic()
            with contextlib.suppress(OSError, ValueError):
                result.stop(left_s / 10)
            left_s -= time.monotonic() - started_s

    def leave(self, interrupted: Callable[[], bool] | None = None) -> None:
        """Turn the agents' events off, fetch what they wrote, and remove what was put into the JVMs' file systems.

        A JVM that does not answer keeps a silent agent, which does no harm. All of it has an end, however many JVMs there are,
        and each has its share of the time and of the disk; `interrupted` brings the end about: what has not been fetched by
        then is lost.
        """
        interrupted = interrupted or (lambda: False)
        leaving = _SharedTime(_LEAVE_ALL_LIMIT_S, len(self.results))
        for result in self.results:
            with contextlib.suppress(OSError, HeadwayError, Interrupted), leaving.share() as share_s:
                result.detach(min(_LEAVE_LIMIT_S, share_s), interrupted)
        self._fetch(interrupted)
        removing = _SharedTime(_REMOVING_ALL_LIMIT_S, len(self.results))
        for result in self.results:
            with contextlib.suppress(OSError), removing.share() as share_s:
                result.close(min(_REMOVING_LIMIT_S, share_s))

    def _fetch(self, interrupted: Callable[[], bool]) -> None:
        """Fetch what the agents wrote, the least first: what one leaves of its share is for those that wrote more."""
        if not self.results:
            return
        kept_free: int | None = None
        into = self.results[0].wanted_directory
        with contextlib.suppress(OSError):
            kept_free = agent_file.half_of_room(into)
        fetching = _SharedTime(_FETCHING_LIMIT_S, len(self.results))
        for left, result in zip(range(len(self.results), 0, -1), self._by_size(), strict=True):
            pid = result.facts.pid
            try:
                with fetching.share() as share_s:
                    kept = kept_free if kept_free is None else _kept_of_share(into, kept_free, left)
                    result.collect(kept, Deadline.after(share_s, interrupted))
            except Interrupted:
                self.notices.append(_no_agent(pid, "its records are lost: headway was interrupted"))
            except (OSError, ValueError) as error:
                self.notices.append(_no_agent(pid, f"its records are lost: {error}"))
            self.notices += [Notice.of("HW072", pid=pid, problem=problem) for problem in result.problems]

    def _by_size(self) -> list[AttachResult]:
        """Return the JVMs by how much their agents wrote; those that do not let it be seen come last."""
        looking = _SharedTime(_LOOKING_ALL_LIMIT_S, len(self.results))
        sizes: dict[int, float] = {}
        for number, result in enumerate(self.results):
            sizes[number] = math.inf
            with contextlib.suppress(OSError), looking.share() as share_s:
                sizes[number] = result.written_bytes(Deadline.after(share_s))
        return [self.results[number] for number in sorted(sizes, key=sizes.__getitem__)]


@dataclass(slots=True)
class _SharedTime:
    """Seconds that so many agents share: what one leaves is for the others."""

    left_s: float
    agents: int

    @contextlib.contextmanager
    def share(self) -> Iterator[float]:
        """Give the seconds that the next agent may take, and take off what the block took."""
        started_s = time.monotonic()
        try:
            yield max(0.0, self.left_s) / min(self.agents, _MOST_SHARES)
        finally:
            self.left_s -= time.monotonic() - started_s
            self.agents -= 1


def _kept_of_share(directory: Path, kept_free: int, agents: int) -> int:
    """Return what the next of so many agents must leave free, so that all others have as much room. Raises OSError."""
    free = agent_file.free_bytes(directory)
    return free - max(0, free - kept_free) // agents


def _no_agent(pid: int, reason: str) -> Notice:
    """Return HW054 for a JVM that the agent could not be attached to: started under headway it has one."""
    return Notice.of(
        "HW054", pid=pid, reason=reason, next="start it under headway: headway record -o NAME.headway -- java ..."
    )


def _no_jvm(pid: int) -> Notice:
    """Return HW054 for a tree of processes without a JVM, which no way of starting it gives an agent."""
    remedy = (
        "nothing is missing where no JVM was meant; else jcmd -l lists the JVMs: headway record --pid with one of those"
    )
    return Notice.of("HW054", pid=pid, reason="it is no JVM, nor is one below it", next=remedy)


def _may_be_a_jvm(pid: int) -> bool:
    """Tell whether to attach to a process. Raises HeadwayError HW024 when it does not let itself be looked at."""
    try:
        return processes.is_jvm(pid)
    except TimeoutError:
        raise HeadwayError("HW024", pid=pid) from None


def silence_all(spool: Path) -> None:
    """Ask every agent that writes into this spool to fall silent; each looks before its next record."""
    for path in spool.glob("agent-*.spool"):
        with contextlib.suppress(OSError):
            agent_file.write_word(path, agent_file.STOP, 1, path.lstat().st_uid)


def wait_until_ended(spool: Path, limit_s: float = 2.0) -> None:
    """Wait for the agents that were silenced to write what they know of locks and allocations, and to let go of their files.

    Not for a JVM that has ended or is stopped, or one in a process namespace of its own, whose pid here is not known; nor
    longer than `limit_s`. Then holds and sums of the last second may be missing.
    """
    end = time.monotonic() + limit_s
    while time.monotonic() < end and any(_may_still_write(path) for path in spool.glob("agent-*.spool")):
        time.sleep(0.02)


def _may_still_write(path: Path) -> bool:
    try:
        owner = path.lstat().st_uid
        end, pid, host_pid = (
            agent_file.read_word(path, word, owner) for word in (agent_file.END, agent_file.PID, agent_file.HOST_PID)
        )
    except (OSError, struct.error):
        return False
    stat = processes.read_stat(host_pid or pid) if end == agent_file.END_AHEAD else None
    return stat is not None and stat[0] not in ("Z", "X", "T", "t")
