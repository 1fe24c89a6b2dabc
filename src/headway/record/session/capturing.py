"""What recordings of started and of running programs share: directory, capture, start and end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, Notice
from headway.record.agent.agents import AttachedAgents, silence_all, wait_until_ended
from headway.record.collect.capture import Capture
from headway.record.collect.listener import Listener
from headway.record.collect.watch import EndedBy, Watch
from headway.record.counters.usable import Usable, absent_notice
from headway.record.directory.recording_dir import RecordingDir
from headway.record.doctor.capabilities import MODES, Mode
from headway.record.machine.counters import PERIOD_NS
from headway.record.machine.host import format_cpu_list
from headway.record.machine.suspends import slept_ns, suspend_notices
from headway.record.program.launch import Ending
from headway.record.request.sampling import Sampler, usable, wait_until_complete
from headway.record.session.causal_dir import CausalPlace
from headway.record.session.experiments import CausalCapture
from headway.record.session.manifest_draft import amend
from headway.record.session.plan import Plan
from headway.store.directory import pinned

_ONLY_WITH_A_JVM = ("HW010", "HW011")
"""Notices about how options reach a JVM, which matter only if one came up."""

_LESSER_MODE: dict[Mode, str] = {"perf-switch": "HW100", "agent": "HW101"}


@dataclass(slots=True)
class RecordingFacts:
    """The manifest's facts about a recording's end."""

    notices: list[Notice] = field(default_factory=list)
    ended_by: EndedBy = "exit"
    slept_ns: tuple[int, int] = field(default_factory=slept_ns)
    """How long the machine had slept when the recording began."""
    start_ns: int = 0
    end_ns: int = 0
    counted_from_ns: int = 0
    counted_until_ns: int = 0
    """When counters can first and last have been read for slices that the recorded span cuts off."""
    sampling: dict[str, Any] | None = None
    """What the agents were told to sample, which may be less than what was asked for; None: no agent was told."""
    iterations: dict[str, Any] | None = None
    """What tells iterations apart, and when lines came that do; None: nothing was asked for."""


def place_of(plan: Plan, output: Path, command: Sequence[str]) -> RecordingDir:
    """Return the recording directory to write to; causal runs are added to earlier ones."""
    if plan.causal is None:
        return RecordingDir(output, plan.force)
    return CausalPlace(output, plan.force, plan.causal, command)


def capture_of(plan: Plan, place: RecordingDir, mode: Mode, pid: int, listener: Listener) -> Capture:
    """Return the capture to run beside the program; causal recordings get one that watches experiments."""
    if plan.causal is None:
        return Capture(
            place.spool,
            mode,
            pid,
            plan.counted,
            plan.cpu_counted,
            plan.units,
            plan.thread_counted,
            plan.heap_interval_ns,
        )
    return CausalCapture(place.spool, pid, plan.causal, listener.say, listener.status, listener.tell)


def start(plan: Plan, capture: Capture, place: RecordingDir, facts: RecordingFacts) -> None:
    """Start the collector; when it fails for a reason that no probe saw, fall back to the next lesser mode, with a notice.

    Raises HeadwayError HW009 when that can't be had either, or a mode was asked for.
    """
    while True:
        try:
            capture.start(is_running=plan.pid is not None)
            return
        except HeadwayError as error:
            if error.notice.id != "HW009" or plan.mode is not None or capture.mode == MODES[-1]:
                raise
            for file in pinned(place.spool).iterdir():
                file.unlink()
            capture.mode = MODES[MODES.index(capture.mode) + 1]
            facts.notices = [notice for notice in facts.notices if notice.id not in _LESSER_MODE.values()]
            fields = {"reason": error.notice.message, "command": "headway doctor"}
            facts.notices.append(Notice.of(_LESSER_MODE[capture.mode], **fields))
            amend(place.directory, mode=capture.mode)


def deadline_ns(start_ns: int, duration_s: float | None) -> int | None:
    """Return when to end the recording (CLOCK_MONOTONIC ns); None: no time limit."""
    return None if duration_s is None else start_ns + round(duration_s * 1e9)


def _repeat_command(plan: Plan) -> str:
    """Return the command that makes such a recording."""
    return "record -o NAME.headway" if plan.causal is None else "causal --progress CLASS.METHOD"


def close(
    plan: Plan,
    directory: Path,
    capture: Capture,
    facts: RecordingFacts,
    ending: Ending | None,
    listener: Listener,
    watch: Watch,
    agents: AttachedAgents | None = None,
) -> None:
    """Stop the agents and the collector, and store the facts known by now in the manifest."""
    spool = pinned(directory / "spool")
    stats = _stop(plan, spool, directory, capture, facts, watch, agents)
    if capture.disk_full:
        _note_full_disk(directory, facts, stats)
    if not any(spool.glob("agent-*.spool")):
        facts.notices = [notice for notice in facts.notices if notice.id not in _ONLY_WITH_A_JVM]
        if plan.with_agent and plan.pid is None and not capture.disk_full:  # else it may have had no room to tell
            facts.notices.append(Notice.of("HW053", command=_repeat_command(plan)))
    counted = _counted(plan, capture, facts, stats) | _heap_nodes(capture, facts)
    cpus = _cpus_of(plan, directory, capture, facts)
    for notice in facts.notices:
        listener.say(notice)
    _amend_patiently(
        directory,
        watch,
        ended_by=facts.ended_by,
        window={"start_ns": facts.start_ns, "end_ns": facts.end_ns},
        **capture.counters.stats(),
        collector=stats,
        notices=facts.notices,
        **cpus,
        **counted,
        **({"sampling": facts.sampling} if facts.sampling is not None else {}),
        **({"iterations": facts.iterations} if facts.iterations is not None else {}),
        **(ending_facts(ending) if ending else {}),
    )


def _stop(
    plan: Plan,
    spool: Path,
    directory: Path,
    capture: Capture,
    facts: RecordingFacts,
    watch: Watch,
    agents: AttachedAgents | None,
) -> dict[str, Any]:
    """Stop the agents and the collector, and wait until their files are complete; return the collector's counts."""
    silence_all(spool)
    if agents is not None:
        agents.silence()
    facts.end_ns = time.monotonic_ns()  # not before: what agents sum up can't be cut at the window's end later
    if isinstance(capture, CausalCapture):
        capture.end(facts.ended_by, has_ended=watch.has_ended)
    stats = capture.stop()
    facts.counted_until_ns = time.monotonic_ns()
    facts.notices += suspend_notices(facts.slept_ns, directory)
    if agents is not None:
        agents.leave(watch.wants_end_again())
        facts.notices += agents.notices
    if plan.locks is not None or plan.objects is not None:
        wait_until_ended(spool)
    if plan.sample is not None:
        wait_until_complete(spool)
    return stats


def _cpus_of(plan: Plan, directory: Path, capture: Capture, facts: RecordingFacts) -> dict[str, Any]:
    """Return the manifest's keys about the CPUs that the program was allowed, where they were seen; changes are told."""
    # A command may narrow them itself before the program proper begins.
    settled_ns = facts.start_ns + (PERIOD_NS if plan.pid is None else 0)
    seen = capture.counters.log.allowed.since(settled_ns)
    every = sorted(frozenset[int]().union(*(cpus for _, cpus in seen)))
    if len(seen) > 1:
        since_s = [max(0, ns - facts.start_ns) / 1e9 for ns, _ in seen]
        changes = [
            f"{format_cpu_list({*cpus})} from {at_s:.1f} s on" for at_s, (_, cpus) in zip(since_s, seen, strict=True)
        ]
        last = {"at_s": math.ceil(since_s[-1] * 10) / 10, "cores": len(seen[-1][1])}
        facts.notices.append(Notice.of("HW070", path=directory, cpus=", ".join(changes), all=len(every), **last))
    return {"affinity": every, "recorded_cores": len(every)} if every else {}


def _counted(plan: Plan, capture: Capture, facts: RecordingFacts, stats: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest's keys about counters; takes what they keep out of `stats`, and notes what was lost since the plan."""
    totals, flushed = stats.pop("counter_totals", []), stats.pop("counts_flushed", False)
    of_cpus = capture.cpu_totals.as_json()
    whole: dict[str, Any] = {"cpu_counters": of_cpus} if of_cpus is not None else {}
    if of_units := capture.unit_totals.as_json():
        whole["socket_counters"] = of_units
    if (of_threads := capture.thread_totals.as_json()) is not None:
        whole["thread_counters"] = of_threads
    _note_left_out(capture, facts)
    _note_lost(plan.thread_counted or plan.counted, capture.thread_totals.counted, facts)
    _note_lost(plan.cpu_counted, capture.cpu_totals.counted, facts)
    for planned, counted in capture.unit_totals.planned_and_counted():
        _note_lost(planned, counted, facts)
    if plan.counted is None or capture.counted is None:
        return whole
    if plan.counted.groups and capture.mode != "ebpf":
        facts.notices.append(Notice.of("HW108", mode=capture.mode))
    else:
        _note_lost(plan.counted, capture.counted, facts)
    keys = ("cpu", "group", "enabled_ns", "running_ns")
    rows = [dict(zip(keys, row, strict=True)) for row in totals]
    span = {"from_ns": facts.counted_from_ns, "until_ns": facts.counted_until_ns}
    return {"counters": {**capture.counted.as_json(), "cpus": rows, "flushed": bool(flushed), **span}, **whole}


def _heap_nodes(capture: Capture, facts: RecordingFacts) -> dict[str, Any]:
    """Return the manifest's key about the nodes of heaps, and note which processes could not be asked."""
    found = capture.heap_nodes.as_json()
    if found is None:
        return {}
    facts.notices += [Notice.of("HW732", **each) for each in found["problems"]]
    return {"heap_nodes": found}


def _note_left_out(capture: Capture, facts: RecordingFacts) -> None:
    """Note how many threads could not be counted from outside."""
    totals = capture.thread_totals
    if totals.left_out and totals.is_counting:
        facts.notices.append(Notice.of("HW115", pid=totals.root_pid, count=totals.left_out, reason=totals.why))


def _note_lost(planned: Usable | None, counted: Usable | None, facts: RecordingFacts) -> None:
    """Note which events could not be counted in the end, each once."""
    if planned is None or counted is None:
        return
    if lost := counted.absent[len(planned.absent) :]:
        notice = absent_notice(lost)
        facts.notices += [notice] if notice not in facts.notices else []


def _note_full_disk(directory: Path, facts: RecordingFacts, stats: dict[str, Any]) -> None:
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
        if watch.has_ended or watch.child_pid is None:
            raise
        watch.until_ended()
        amend(directory, **facts)


def ending_facts(ending: Ending) -> dict[str, Any]:
    """Return the manifest's keys about the program's end; CPU time includes the processes that it waited for."""
    return {
        "exit_code": ending.exit_code,
        "signal": ending.signal,
        "rusage": {"user_ns": ending.user_ns, "system_ns": ending.system_ns},
    }


def sampler_of(plan: Plan, facts: RecordingFacts) -> Sampler | None:
    """Return how agents sample stacks, as far as this machine allows; None: not at all."""
    if plan.sample is None:
        return None
    sampler, notices = usable(plan.sample)
    facts.notices += notices
    facts.sampling = sampler.options.as_json() if sampler is not None else {}
    return sampler


def step_back() -> None:
    """Lower this process's priority while the recorded program is still running."""
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + 10)
