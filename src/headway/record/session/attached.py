"""Records a running process and its descendants: attaches the collector first, then the agent."""

from __future__ import annotations

import contextlib
import os
import time

from headway.errors import HeadwayError, Notice
from headway.record.agent.agents import AttachedAgents
from headway.record.collect.attach_status import AttachStatus
from headway.record.collect.capture import Capture, keeping_off
from headway.record.collect.listener import Listener
from headway.record.collect.watch import Watch
from headway.record.directory import single_recorder
from headway.record.directory.recording_dir import RecordingDir
from headway.record.doctor.capabilities import Mode
from headway.record.program.signals import SignalGate
from headway.record.session.capturing import (
    RecordingFacts,
    capture_of,
    close,
    deadline_ns,
    place_of,
    sampler_of,
    start,
    step_back,
)
from headway.record.session.experiments import CausalCapture
from headway.record.session.finish import finish
from headway.record.session.manifest_draft import amend, first_draft
from headway.record.session.plan import Plan, running_process
from headway.record.target_process import processes
from headway.store.directory import pinned
from headway.store.manifest import write_manifest


def record_process(plan: Plan, pid: int, mode: Mode, notices: list[Notice], listener: Listener) -> None:
    """Attach to a process and its descendants, record, detach and finalise. The process is never disturbed."""
    process = running_process(pid)
    single_recorder.refuse_recorded_tree(process)
    pidfd, cpus = _hold_of(pid)
    facts = RecordingFacts([*notices])
    command = processes.command_line(pid)
    with SignalGate(attached=True) as gate, single_recorder.recording_of(process), contextlib.ExitStack() as cleanup:
        with place_of(plan, plan.output, command) as place:
            cleanup.enter_context(keeping_off(cpus))
            capture = capture_of(plan, place, mode, pid, listener)
            write_manifest(place.directory, {**first_draft(plan, mode, pid, command, cpus), **place.inherited})
            facts.counted_from_ns = time.monotonic_ns()
            start(plan, capture, place, facts)
            if not process.is_alive:
                capture.stop()
                raise HeadwayError("HW058", pid=pid)
            place.keep()
        watch = Watch(pidfd, gate, None)
        agents = _attach_agents(plan, pid, place, capture, watch, facts)
        capture.begin()
        facts.start_ns = time.monotonic_ns()  # loading the agent is our doing, not the program's
        amend(place.directory, window={"start_ns": facts.start_ns, "end_ns": facts.start_ns})
        _record_until_end(plan, pid, place, capture, watch, facts, listener)
        close(plan, place.directory, capture, facts, None, listener, watch, agents)
        step_back()
        finish(place.directory, listener, watch)
    os.close(pidfd)
    listener.complete(place.directory)


def _attach_agents(
    plan: Plan, pid: int, place: RecordingDir, capture: Capture, watch: Watch, facts: RecordingFacts
) -> AttachedAgents:
    """Load the agent into the JVMs of the tree, those in other views of files included; experiments follow their notes."""
    if not plan.with_agent:
        return AttachedAgents(notices=[Notice.of("HW057")])
    agents = AttachedAgents.attach_to(
        pid,
        _others(pid),
        pinned(place.spool),
        plan.virtual_threads,
        plan.locks,
        sampler_of(plan, facts),
        plan.causal_spec,
        lambda: watch.wants_end() or capture.must_end(),
        plan.objects,
    )
    if elsewhere := [note for result in agents.results if (note := result.elsewhere())]:
        amend(place.directory, agents_elsewhere=elsewhere)
    if isinstance(capture, CausalCapture):
        for result in agents.results:
            result.follow_notes(capture.live.follow)
    return agents


def _record_until_end(
    plan: Plan,
    pid: int,
    place: RecordingDir,
    capture: Capture,
    watch: Watch,
    facts: RecordingFacts,
    listener: Listener,
) -> None:
    """Record until somebody or the process ends it, and note what ended it; a status line tells how it goes."""
    status = AttachStatus(listener, place.spool, pid, plan.duration_s) if plan.causal is None else None
    if status is not None:  # experiments tell of themselves
        status.begin(facts.start_ns)
    look = status.look if status is not None else None
    facts.ended_by = watch.until_end(capture, deadline_ns(facts.start_ns, plan.duration_s), look)
    if status is not None:
        status.end()
    if facts.ended_by == "exit" and plan.duration_s is not None:
        after_s = (time.monotonic_ns() - facts.start_ns) / 1e9
        facts.notices.append(Notice.of("HW234", pid=pid, after_s=after_s, asked_s=plan.duration_s))


def _hold_of(pid: int) -> tuple[int, set[int]]:
    """Return a pidfd of the process and where it may run. Raises HeadwayError HW058 when it has ended by now."""
    try:
        return os.pidfd_open(pid), os.sched_getaffinity(pid)
    except ProcessLookupError:
        raise HeadwayError("HW058", pid=pid) from None


def _others(pid: int) -> list[int]:
    """Return the processes of the tree below `pid`, without this one: a shell may well record itself."""
    return [each for each in processes.tree(pid) if each != os.getpid()]
