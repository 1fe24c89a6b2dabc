"""What a recording of a started program and one of a running program have in common: place, capture, its start and its end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, Notice
from headway.record.agents import AttachedAgents, silence_all, wait_until_ended
from headway.record.capabilities import MODES, Mode
from headway.record.capture import Capture
from headway.record.causal_live import CausalCapture
from headway.record.causal_place import CausalPlace
from headway.record.counters import PERIOD_NS
from headway.record.draft import amend
from headway.record.host import format_cpu_list
from headway.record.launch import Ending
from headway.record.listener import Listener
from headway.record.place import Place
from headway.record.plan import Plan
from headway.record.sampling import Sampler, usable, wait_until_complete
from headway.record.watch import EndedBy, Watch

_ONLY_WITH_A_JVM = ("HW010", "HW011")
"""Notices about how options reach a JVM, which matter only if one came up."""

_LESSER_MODE: dict[Mode, str] = {"perf-switch": "HW100", "agent": "HW101"}


@dataclass(slots=True)
class Facts:
    """What the manifest gets when a recording ends."""

    notices: list[Notice] = field(default_factory=list)
    ended_by: EndedBy = "exit"
    start_ns: int = 0
    end_ns: int = 0
    sampling: dict[str, Any] | None = None
    """What the agents were told to sample, which may be less than what was asked for; None: no agent was told."""


def place_of(plan: Plan, output: Path, command: Sequence[str]) -> Place:
    """Return where the recording goes; experiments are added to those of earlier runs."""
    if plan.causal is None:
        return Place(output, plan.force)
    return CausalPlace(output, plan.force, plan.causal, command)


def capture_of(plan: Plan, place: Place, mode: Mode, pid: int, listener: Listener) -> Capture:
    """Return what runs beside the program: it looks after experiments where there are any."""
    if plan.causal is None:
        return Capture(place.spool, mode, pid)
    return CausalCapture(place.spool, pid, plan.causal, listener.say, listener.status, listener.tell)


def start(plan: Plan, capture: Capture, place: Place, facts: Facts) -> None:
    """Start the collector; when it refuses for a reason that no probe saw, the next lesser mode is taken, and told.

    Raises HeadwayError HW009 when that can't be had either, or a mode was asked for.
    """
    while True:
        try:
            capture.start(is_running=plan.pid is not None)
            return
        except HeadwayError as error:
            if error.notice.id != "HW009" or plan.mode is not None or capture.mode == MODES[-1]:
                raise
            for file in place.spool.iterdir():
                file.unlink()
            capture.mode = MODES[MODES.index(capture.mode) + 1]
            facts.notices = [notice for notice in facts.notices if notice.id not in _LESSER_MODE.values()]
            told = {"reason": error.notice.message, "command": "headway doctor"}
            facts.notices.append(Notice.of(_LESSER_MODE[capture.mode], **told))
            amend(place.directory, mode=capture.mode)


def deadline_ns(start_ns: int, duration_s: float | None) -> int | None:
    """Return when to end on the one clock; None: never by itself."""
    return None if duration_s is None else start_ns + round(duration_s * 1e9)


def _again(plan: Plan) -> str:
    """Return the command that makes such a recording."""
    return "record -o NAME.headway" if plan.causal is None else "causal --progress CLASS.METHOD"


def close(
    plan: Plan,
    directory: Path,
    capture: Capture,
    facts: Facts,
    ending: Ending | None,
    listener: Listener,
    watch: Watch,
    agents: AttachedAgents | None = None,
) -> None:
    """Silence the agents, stop the collector, and put what is known by now into the manifest."""
    silence_all(directory / "spool")
    if agents is not None:
        agents.silence()
    facts.end_ns = time.monotonic_ns()  # not before: what agents sum up can't be cut at the window's end later
    if isinstance(capture, CausalCapture):
        capture.end(facts.ended_by, is_gone=watch.gone)
    stats = capture.stop()
    if agents is not None:
        agents.leave()
        facts.notices += agents.notices
    if plan.locks is not None:
        wait_until_ended(directory / "spool")
    if plan.sample is not None:
        wait_until_complete(directory / "spool")
    if capture.disk_full:
        _note_full_disk(directory, facts, stats)
    if not any((directory / "spool").glob("agent-*.spool")):
        facts.notices = [notice for notice in facts.notices if notice.id not in _ONLY_WITH_A_JVM]
        if plan.with_agent and plan.pid is None:
            facts.notices.append(Notice.of("HW053", command=_again(plan)))
    cpus = _cpus_of(plan, directory, capture, facts)
    for notice in facts.notices:
        listener.say(notice)
    counters = capture.counters
    _amend_patiently(
        directory,
        watch,
        ended_by=facts.ended_by,
        window={"start_ns": facts.start_ns, "end_ns": facts.end_ns},
        steal_ns=counters.steal_ns(),
        busy_ns=counters.busy_ns(),
        throttled_ns=counters.throttled_ns(),
        collector=stats,
        notices=facts.notices,
        **cpus,
        **({"sampling": facts.sampling} if facts.sampling is not None else {}),
        **(ending_facts(ending) if ending else {}),
    )


def _cpus_of(plan: Plan, directory: Path, capture: Capture, facts: Facts) -> dict[str, Any]:
    """Return the manifest's keys about the CPUs that the program was allowed, where they were seen; changes are told."""
    # A command may narrow them itself before the program proper begins.
    begun_ns = facts.start_ns + (PERIOD_NS if plan.pid is None else 0)
    seen = capture.counters.allowed.since(begun_ns)
    every = sorted(frozenset[int]().union(*(cpus for _, cpus in seen)))
    if len(seen) > 1:
        since_s = [max(0, ns - facts.start_ns) / 1e9 for ns, _ in seen]
        said = [
            f"{format_cpu_list({*cpus})} from {at_s:.1f} s on" for at_s, (_, cpus) in zip(since_s, seen, strict=True)
        ]
        last = {"at_s": math.ceil(since_s[-1] * 10) / 10, "cores": len(seen[-1][1])}
        facts.notices.append(Notice.of("HW070", path=directory, cpus=", ".join(said), all=len(every), **last))
    return {"affinity": every, "recorded_cores": len(every)} if every else {}


def _note_full_disk(directory: Path, facts: Facts, stats: dict[str, Any]) -> None:
    """The recording ends where the spool does: what came later must not look like a time without switches."""
    facts.ended_by = "disk-full"
    if stats.get("disk_error"):
        facts.end_ns = max(facts.start_ns, min(facts.end_ns, int(stats["written_until_ns"])))
    facts.notices.append(Notice.of("HW051", path=directory, after_s=(facts.end_ns - facts.start_ns) / 1e9))


def _amend_patiently(directory: Path, watch: Watch, **facts: Any) -> None:
    """Amend the manifest. A disk that is full to the last byte may be so only as long as our program runs: wait for that."""
    try:
        amend(directory, **facts)
    except OSError:
        if watch.gone or watch.child_pid is None:
            raise
        watch.until_gone()
        amend(directory, **facts)


def ending_facts(ending: Ending) -> dict[str, Any]:
    """Return the manifest's keys about how the program ended; the CPU time is of the processes it waited for, too."""
    return {
        "exit_code": ending.exit_code,
        "signal": ending.signal,
        "rusage": {"user_ns": ending.user_ns, "system_ns": ending.system_ns},
    }


def sampler_of(plan: Plan, facts: Facts) -> Sampler | None:
    """Return how the agents are to sample stacks, as far as this machine allows; None for not at all."""
    if plan.sample is None:
        return None
    sampler, notices = usable(plan.sample)
    facts.notices += notices
    facts.sampling = sampler.options.as_json() if sampler is not None else {}
    return sampler


def step_back() -> None:
    """Lower this process's own priority: the recorded program is still at work."""
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + 10)
