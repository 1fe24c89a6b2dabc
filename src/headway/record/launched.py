"""Records a command that is started for it: the place, the fork, the manifest's draft, the collector, then the release."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record import launch, lock
from headway.record.bystander import Bystander
from headway.record.capabilities import Mode
from headway.record.capture import Capture, keeping_off
from headway.record.capturing import (
    Facts,
    capture_of,
    close,
    deadline_ns,
    ending_facts,
    place_of,
    sampler_of,
    start,
    step_back,
)
from headway.record.draft import amend, first_draft
from headway.record.finish import failures_told, finish
from headway.record.held import hold, release
from headway.record.jvm_options import LaunchPlan, agent_library, plan_launch
from headway.record.launch import Child, Ending
from headway.record.listener import Listener
from headway.record.place import Place
from headway.record.plan import Plan
from headway.record.processes import Process
from headway.record.signals import SignalGate
from headway.record.watch import Watch
from headway.store.manifest import write_manifest


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ran. `stop` says why it should not be repeated, if so; `is_untold`: the listener must yet hear of it."""

    exit_code: int
    is_complete: bool = True
    is_untold: bool = False
    stop: str = ""


def record_command(
    plan: Plan, output: Path, mode: Mode, notices: list[Notice], listener: Listener, gate: SignalGate
) -> Ran:
    """Start the command, record it into `output`, finalise.

    Raises HeadwayError only when the command did not run: once it has, its exit code is the answer.
    """
    program = launch.find_program(plan.command[0], os.environ)
    facts = Facts([*notices])
    cpus = set(plan.cpus or os.sched_getaffinity(0))
    with contextlib.ExitStack() as held:
        with place_of(plan, output, plan.command) as place:
            held.callback(release, hold(place.spool))
            planned = _planned_launch(plan, place, facts)
            for scratch in planned.cleanup:
                held.callback(shutil.rmtree, scratch, ignore_errors=True)
            bystander = _bystander(gate)  # before the program: it shall hold none of the pipes to it
            held.callback(bystander.dismiss)
            child = _fork(program, planned, plan, gate)
            watch = Watch(child.pidfd, gate, child.pid, bystander)
            capture = capture_of(plan, place, mode, child.pid, listener)
            try:
                held.enter_context(keeping_off(cpus))  # the child is there already, and has not moved
                held.enter_context(lock.recording_of(_identity(child.pid)))
                draft = first_draft(plan, mode, child.pid, plan.command, cpus)
                write_manifest(place.directory, {**draft, "cwd": os.getcwd(), **place.inherited})
                start(plan, capture, place, facts)
            except BaseException:
                child.abandon()
                raise
            _release(child, program, capture, watch)
            facts.start_ns = time.monotonic_ns()
            place.keep()
        ending: Ending | None = None
        try:
            with failures_told(place.directory), _until_the_program_ends(watch):
                facts.ended_by = watch.until_end(capture, deadline_ns(facts.start_ns, plan.duration_s))
                ending = child.reap() if watch.gone else None
                close(plan, place.directory, capture, facts, ending, listener, watch)
                if ending is None:
                    _outlived(plan, place.directory, child, watch, listener)
                else:
                    finish(place.directory, listener.progress, listener.say, watch)
        except HeadwayError as error:
            listener.failed(error.notice)
            return Ran(child.reap().exit_code, is_complete=False, stop="finalising failed")
    stop = "you interrupted" if facts.ended_by == "interrupt" else ""
    return Ran(child.reap().exit_code, is_untold=ending is not None, stop=stop)


@contextlib.contextmanager
def _until_the_program_ends(watch: Watch) -> Iterator[None]:
    """Whatever becomes of the recording, stay until the program has ended: it has its terminal through us."""
    try:
        yield
    finally:
        watch.until_gone()


def _outlived(plan: Plan, directory: Path, child: Child, watch: Watch, listener: Listener) -> None:
    """The recording ended before the program: finalise beside it, out of its way, then stay until it has ended."""
    if plan.repeat == 1:  # else the next child would inherit it, and only root can raise a priority again
        step_back()
    try:
        finish(directory, listener.progress, listener.say, watch)
        listener.complete(directory)
    finally:  # whatever became of the recording: the program has its terminal through us
        watch.until_gone()
        amend(directory, **ending_facts(child.reap()))


def _identity(pid: int) -> Process:
    process = Process.of(pid)
    assert process is not None  # our own child that we have not waited for: at least a zombie
    return process


def _bystander(gate: SignalGate) -> Bystander:
    try:
        return Bystander(gate.taken)
    except OSError as error:
        raise HeadwayError("HW059", reason=error.strerror or str(error)) from None


def _fork(program: str, planned: LaunchPlan, plan: Plan, gate: SignalGate) -> Child:
    try:
        return launch.fork_child(program, planned.argv, planned.env, plan.cpus, gate, plan.streams)
    except OSError as error:
        raise HeadwayError("HW059", reason=error.strerror or str(error)) from None


def _release(child: Child, program: str, capture: Capture, watch: Watch) -> None:
    """Let the program begin, or take everything back: the system refuses to start it, or somebody interrupted.

    Raises HeadwayError HW003, or KeyboardInterrupt.
    """
    watch.wait(0)
    if watch.interrupts or watch.gone:
        capture.stop()
        child.abandon()
        raise KeyboardInterrupt
    capture.counters.begin()
    failure = child.release()
    if failure:
        capture.stop()
        child.reap()
        raise launch.exec_failure(program, failure)


def _planned_launch(plan: Plan, place: Place, facts: Facts) -> LaunchPlan:
    """Return the command's arguments and environment with what its JVMs need to load the agent."""
    library: Path | None = agent_library()
    if not plan.with_agent:
        facts.notices.append(Notice.of("HW057"))
        library = None
    elif library is not None and not library.exists():  # a JVM told to load it would refuse to start
        facts.notices.append(Notice.of("HW060", path=library))
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
    )
    facts.notices += planned.notices
    return planned
