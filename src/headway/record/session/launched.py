"""Records a command that headway starts: directory, fork, draft of the manifest, collector, then the program's exec."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.model.native_part import build_command
from headway.record.agent.orphans import lock_directory, unlock_directory
from headway.record.collect.capture import Capture, keeping_off
from headway.record.collect.listener import Listener
from headway.record.collect.watch import Watch
from headway.record.directory import single_recorder
from headway.record.directory.recording_dir import RecordingDir
from headway.record.doctor.capabilities import Mode
from headway.record.program import launch
from headway.record.program.group_signals import GroupSignalProbe
from headway.record.program.launch import Child, Ending
from headway.record.program.signals import SignalGate
from headway.record.request.jvm_options import LaunchPlan, agent_library, plan_launch
from headway.record.session.capturing import (
    RecordingFacts,
    capture_of,
    close,
    deadline_ns,
    ending_facts,
    place_of,
    sampler_of,
    start,
    step_back,
)
from headway.record.session.finish import explained_failures, finish
from headway.record.session.manifest_draft import amend, first_draft
from headway.record.session.marked_lines import MarkedLines
from headway.record.session.plan import Plan
from headway.record.target_process.processes import Process, read_stat
from headway.store.directory import pinned
from headway.store.manifest import write_manifest

_SLEEPS = "S"
"""The state in /proc/PID/stat of a child that waits to be released: it has no CPU then."""


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """A command that ran. `stop` says why not to repeat it, if so; `is_unreported`: the listener has not been told yet."""

    exit_code: int
    is_complete: bool = True
    is_unreported: bool = False
    stop: str = ""


def record_command(
    plan: Plan, output: Path, mode: Mode, notices: list[Notice], listener: Listener, gate: SignalGate
) -> FinishedCommand:
    """Start the command, record it into `output`, finalise.

    Raises HeadwayError only when the command did not run: once it has, its exit code is the answer.
    """
    program = launch.find_program(plan.command[0], os.environ)
    facts = RecordingFacts([*notices])
    with contextlib.ExitStack() as cleanup:
        started = _start(plan, program, output, mode, facts, listener, gate, cleanup)
        ending: Ending | None = None
        try:
            with explained_failures(started.directory), _until_the_program_ends(started.watch):
                ending = _record_until_end(plan, started, facts, listener)
        except HeadwayError as error:
            listener.failed(error.notice)
            return FinishedCommand(started.child.reap().exit_code, is_complete=False, stop="finalising failed")
    stop = "you interrupted" if facts.ended_by == "interrupt" else ""
    return FinishedCommand(started.child.reap().exit_code, is_unreported=ending is not None, stop=stop)


@dataclass(frozen=True, slots=True)
class _StartedCommand:
    """A command that runs, and what records it."""

    directory: Path
    child: Child
    lines: MarkedLines
    watch: Watch
    capture: Capture


def _start(
    plan: Plan,
    program: str,
    output: Path,
    mode: Mode,
    facts: RecordingFacts,
    listener: Listener,
    gate: SignalGate,
    cleanup: contextlib.ExitStack,
) -> _StartedCommand:
    """Start the command once all that records it is ready. `cleanup`: closed when the recording is finalised.

    Raises HeadwayError, or KeyboardInterrupt: then the command did not run.
    """
    cpus = set(plan.cpus or os.sched_getaffinity(0))
    with place_of(plan, output, plan.command) as place:
        cleanup.callback(unlock_directory, lock_directory(pinned(place.spool)))
        planned = _planned_launch(plan, place, facts)
        if planned.copy is not None:
            cleanup.callback(planned.copy.release)
        group_probe = _group_probe(gate)  # before the program: it shall hold none of the pipes to it
        cleanup.callback(group_probe.close)
        lines = cleanup.enter_context(MarkedLines(plan.iterations))
        child = _fork(program, planned, plan, gate, lines)
        watch = Watch(child.pidfd, gate, child.pid, group_probe)
        lines.is_asked_to_end = watch.is_asked_to_end
        capture = capture_of(plan, place, mode, child.pid, listener)
        try:
            cleanup.enter_context(keeping_off(cpus))  # the child is there already, and has not moved
            cleanup.enter_context(single_recorder.recording_of(_identity(child.pid)))
            draft = first_draft(plan, mode, child.pid, plan.command, cpus)
            write_manifest(place.directory, {**draft, "cwd": os.getcwd(), **place.inherited})
            facts.counted_from_ns = time.monotonic_ns()
            start(plan, capture, place, facts)
        except BaseException:
            child.abandon()
            raise
        facts.counted_from_ns = _release(child, program, capture, watch) or facts.counted_from_ns
        facts.start_ns = time.monotonic_ns()
        place.keep()
    return _StartedCommand(place.directory, child, lines, watch, capture)


def _record_until_end(plan: Plan, started: _StartedCommand, facts: RecordingFacts, listener: Listener) -> Ending | None:
    """Record until the program or somebody ends it, and finalise. Return how the program ended, None if it runs on."""
    child, watch, directory = started.child, started.watch, started.directory
    facts.ended_by = watch.until_end(started.capture, deadline_ns(facts.start_ns, plan.duration_s))
    ending = child.reap() if watch.has_ended else None
    if ending is not None:
        child.await_dying_group()  # the collector still listens: their ends belong to the recording
        started.lines.finish()
    facts.iterations = started.lines.as_json()
    close(plan, directory, started.capture, facts, ending, listener, watch)
    if ending is None:
        _outlived(plan, directory, child, watch, listener)
    else:
        finish(directory, listener, watch)
    return ending


@contextlib.contextmanager
def _until_the_program_ends(watch: Watch) -> Iterator[None]:
    """Whatever becomes of the recording, stay until the program has ended: it has its terminal through us."""
    try:
        yield
    finally:
        watch.until_ended()


def _outlived(plan: Plan, directory: Path, child: Child, watch: Watch, listener: Listener) -> None:
    """The recording ended before the program: finalise beside it, out of its way, then stay until it has ended."""
    if plan.repeat == 1:  # else the next child would inherit it, and only root can raise a priority again
        step_back()
    try:
        finish(directory, listener, watch)
        listener.complete(directory)
    finally:  # whatever became of the recording: the program has its terminal through us
        watch.until_ended()
        amend(directory, **ending_facts(child.reap()))


def _identity(pid: int) -> Process:
    process = Process.of(pid)
    assert process is not None  # our own child that we have not waited for: at least a zombie
    return process


def _group_probe(gate: SignalGate) -> GroupSignalProbe:
    try:
        return GroupSignalProbe(gate.taken)
    except OSError as error:
        raise HeadwayError("HW059", reason=error.strerror or str(error)) from None


def _fork(program: str, planned: LaunchPlan, plan: Plan, gate: SignalGate, lines: MarkedLines) -> Child:
    streams = lines.streams or plan.streams
    try:
        return launch.fork_child(program, planned.argv, planned.env, plan.cpus, gate, streams)
    except OSError as error:
        raise HeadwayError("HW059", reason=error.strerror or str(error)) from None


def _release(child: Child, program: str, capture: Capture, watch: Watch) -> int | None:
    """Let the program begin, or take everything back: the system refuses to start it, or somebody interrupted.

    Return from when on it can have run, CLOCK_MONOTONIC ns; None: not known, as it had not come to its wait yet. Raises
    HeadwayError HW003, or KeyboardInterrupt.
    """
    watch.wait(0)
    if watch.interrupts or watch.has_ended:
        capture.stop()
        child.abandon()
        raise KeyboardInterrupt
    capture.begin()
    stat = read_stat(child.pid)
    released_ns = time.monotonic_ns() if stat is not None and stat[0] == _SLEEPS else None
    failure = child.release()
    if failure:
        capture.stop()
        child.reap()
        raise launch.exec_failure(program, failure)
    return released_ns


def _planned_launch(plan: Plan, place: RecordingDir, facts: RecordingFacts) -> LaunchPlan:
    """Return the command's arguments and environment with what its JVMs need to load the agent."""
    library: Path | None = agent_library()
    if not plan.with_agent:
        facts.notices.append(Notice.of("HW057"))
        library = None
    elif library is not None and not library.exists():  # a JVM told to load it would refuse to start
        facts.notices.append(Notice.of("HW060", path=library, next=build_command()))
        library = None
    planned = plan_launch(
        plan.command,
        launch.given_environment(),
        library,
        place.spool,
        virtual_threads=plan.virtual_threads,
        jvm_processors=plan.jvm_processors,
        locks=plan.locks,
        sampler=sampler_of(plan, facts) if library is not None else None,
        causal=plan.causal_spec,
        objects=plan.objects,
    )
    facts.notices += planned.notices
    return planned
