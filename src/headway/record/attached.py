"""Records a process that runs already, and all below it: the collector first, then what runs, then the agent."""

from __future__ import annotations

import contextlib
import os
import time

from headway.errors import HeadwayError, Notice
from headway.record import lock, processes
from headway.record.agents import AttachedAgents
from headway.record.capabilities import Mode
from headway.record.capture import keeping_off
from headway.record.capturing import Facts, capture_of, close, deadline_ns, place_of, sampler_of, start, step_back
from headway.record.causal_live import CausalCapture
from headway.record.draft import amend, first_draft
from headway.record.finish import finish
from headway.record.listener import Listener
from headway.record.plan import Plan, running_process
from headway.record.signals import SignalGate
from headway.record.watch import Watch
from headway.store.manifest import write_manifest


def record_process(plan: Plan, pid: int, mode: Mode, notices: list[Notice], listener: Listener) -> None:
    """Attach to a process and everything below it, record, let go, finalise. The process is never disturbed."""
    process = running_process(pid)
    lock.refuse_recorded_tree(process)
    pidfd, cpus = _hold_of(pid)
    facts = Facts([*notices])
    command = processes.command_line(pid)
    with SignalGate(attached=True) as gate, lock.recording_of(process), contextlib.ExitStack() as held:
        with place_of(plan, plan.output, command) as place:
            held.enter_context(keeping_off(cpus))
            capture = capture_of(plan, place, mode, pid, listener)
            write_manifest(place.directory, {**first_draft(plan, mode, pid, command, cpus), **place.inherited})
            start(plan, capture, place, facts)
            if not process.is_alive:
                capture.stop()
                raise HeadwayError("HW058", pid=pid)
            place.keep()
        if plan.with_agent:
            sampler = sampler_of(plan, facts)
            agents = AttachedAgents.attach_to(
                pid, _others(pid), place.spool, plan.virtual_threads, plan.locks, sampler, plan.causal_spec
            )
            if isinstance(capture, CausalCapture):
                capture.live.folders += [result.directory for result in agents.results]
        else:
            agents = AttachedAgents(notices=[Notice.of("HW057")])
        capture.counters.begin()
        facts.start_ns = time.monotonic_ns()  # loading the agent is our doing, not the program's
        amend(place.directory, window={"start_ns": facts.start_ns, "end_ns": facts.start_ns})
        watch = Watch(pidfd, gate, None)
        facts.ended_by = watch.until_end(capture, deadline_ns(facts.start_ns, plan.duration_s))
        close(plan, place.directory, capture, facts, None, listener, watch, agents)
        step_back()
        finish(place.directory, listener.progress, listener.say, watch)
    os.close(pidfd)
    listener.complete(place.directory)


def _hold_of(pid: int) -> tuple[int, set[int]]:
    """Return a pidfd of the process and where it may run. Raises HeadwayError HW058 when it has ended by now."""
    try:
        return os.pidfd_open(pid), os.sched_getaffinity(pid)
    except ProcessLookupError:
        raise HeadwayError("HW058", pid=pid) from None


def _others(pid: int) -> list[int]:
    """Return the processes of the tree below `pid`, without this one: a shell may well record itself."""
    return [each for each in processes.tree(pid) if each != os.getpid()]
