"""One recording from its plan to its tables: `record()` is what the commands `record` and `run` call.

The order of things is what makes a recording whole and harmless. Launched: the place, the fork, the manifest's draft,
the collector, then the release; so nothing of ours is left behind when the program can't start, and not one of its
instructions is missed when it can. Attached: the collector first, then what runs already, then the agent.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, Notice
from headway.record import launch, lock, processes
from headway.record.agents import AttachedAgents, silence_all
from headway.record.bystander import Bystander
from headway.record.capabilities import (
    MODES,
    Mode,
    choose_mode,
    keep_capabilities_from_children,
    mode_notices,
    probe,
)
from headway.record.capture import Capture, keeping_off
from headway.record.causal_live import CausalCapture
from headway.record.causal_place import CausalPlace
from headway.record.draft import amend, first_draft
from headway.record.finish import failures_told, finish
from headway.record.held import hold, release
from headway.record.jvm_options import LaunchPlan, agent_library, plan_launch
from headway.record.launch import Child, Ending
from headway.record.place import Place
from headway.record.plan import Plan, running_process
from headway.record.processes import Process
from headway.record.sampling import Sampler, usable, wait_until_complete
from headway.record.signals import SignalGate
from headway.record.watch import EndedBy, Watch
from headway.store.manifest import write_manifest

_ONLY_WITH_A_JVM = ("HW010", "HW011")
"""Notices about how options reach a JVM, which matter only if one came up."""


_LESSER_MODE: dict[Mode, str] = {"perf-switch": "HW100", "agent": "HW101"}


@dataclass(slots=True)
class Listener:
    """Who is told what happens: `say` gets messages, `complete` each recording as soon as its tables are there.

    `failed` gets why a recording has no tables although its program ran to the end: the exit code is the program's all the
    same. `progress` gets the share of finalising that is done, 0 to 1; `status` how far experiments are, now and then;
    `tell` gets what is no warning but belongs to one.
    """

    say: Callable[[Notice], None] = lambda notice: None
    failed: Callable[[Notice], None] = lambda notice: None
    complete: Callable[[Path], None] = lambda directory: None
    progress: Callable[[float], None] = lambda share: None
    status: Callable[[str], None] = lambda text: None
    tell: Callable[[str], None] = lambda text: None


@dataclass(slots=True)
class _Facts:
    """What the manifest gets when a recording ends."""

    notices: list[Notice] = field(default_factory=list)
    ended_by: EndedBy = "exit"
    start_ns: int = 0
    end_ns: int = 0
    sampling: dict[str, Any] | None = None
    """What the agents were told to sample, which may be less than what was asked for; None: no agent was told."""


@dataclass(frozen=True, slots=True)
class _Ran:
    """A command that ran. `stop` says why it should not be repeated, if so; `is_untold`: the listener must yet hear of it."""

    exit_code: int
    is_complete: bool = True
    is_untold: bool = False
    stop: str = ""


def record(plan: Plan, listener: Listener, gate: SignalGate | None = None) -> int:
    """Carry out a plan and return the exit code for the shell: the program's own, 0 for an attached one.

    A caller that records several commands holds one `gate` over all of them, and asks it afterwards whether to go on.
    Raises HeadwayError HW001 to HW009, HW050, HW058, HW059 or those of `choose_mode` when nothing was recorded; for a
    process that runs already also HW052, HW056 or those of `finalise`.
    """
    mode, notices = _mode(plan)
    keep_capabilities_from_children()
    if plan.pid is not None:
        _record_process(plan, plan.pid, mode, notices, listener)
        return 0
    if plan.repeat > 1:
        return _record_repeats(plan, mode, notices, listener)
    with SignalGate() if gate is None else contextlib.nullcontext(gate) as held:
        ran = _record_command(plan, plan.output, mode, notices, listener, held)
    if ran.is_untold:
        _tell_complete(listener, plan.output)
    return ran.exit_code


def _mode(plan: Plan) -> tuple[Mode, list[Notice]]:
    """Return where switches come from, and what is missing there. Beside experiments none are recorded, nor missed."""
    if plan.causal is not None:
        return "agent", []
    capabilities = probe()
    mode = choose_mode(capabilities, plan.mode)
    return mode, mode_notices(mode, capabilities)


def _record_repeats(plan: Plan, mode: Mode, notices: list[Notice], listener: Listener) -> int:
    """Record the command as often as planned, or until somebody interrupts; return the first exit code that is not 0."""
    code = 0
    with SignalGate() as gate:
        for number in range(1, plan.repeat + 1):
            output = plan.output if number == 1 else plan.output / "repeats" / f"{number}.headway"
            if number == 2:
                (plan.output / "repeats").mkdir()
            ran = _record_command(plan, output, mode, notices, listener, gate)
            if ran.is_untold:
                _tell_complete(listener, output)
            code = code or ran.exit_code
            stop = ran.stop or ("you interrupted" if gate.wants_end() else "")
            if stop and number < plan.repeat:
                _tell_cut(plan, number if ran.is_complete else number - 1, stop, listener)
                break
    return code


def _tell_cut(plan: Plan, done: int, reason: str, listener: Listener) -> None:
    """Note in the first recording that there are fewer repeats than asked for."""
    cut = Notice.of("HW055", done=done, wanted=plan.repeat, reason=reason)
    with contextlib.suppress(OSError, HeadwayError):  # what keeps the manifest from being written was told already
        amend(plan.output, notices=[cut])
    listener.say(cut)


# --- a program we start --------------------------------------------------------------------------------------------


def _record_command(
    plan: Plan, output: Path, mode: Mode, notices: list[Notice], listener: Listener, gate: SignalGate
) -> _Ran:
    """Start the command, record it into `output`, finalise.

    Raises HeadwayError only when the command did not run: once it has, its exit code is the answer.
    """
    program = launch.find_program(plan.command[0], os.environ)
    facts = _Facts([*notices])
    cpus = set(plan.cpus or os.sched_getaffinity(0))
    with contextlib.ExitStack() as held:
        with _place(plan, output, plan.command) as place:
            held.callback(release, hold(place.spool))
            planned = _planned_launch(plan, place, facts)
            for scratch in planned.cleanup:
                held.callback(shutil.rmtree, scratch, ignore_errors=True)
            bystander = _bystander(gate)  # before the program: it shall hold none of the pipes to it
            held.callback(bystander.dismiss)
            child = _fork(program, planned, plan, gate)
            watch = Watch(child.pidfd, gate, child.pid, bystander)
            capture = _capture(plan, place, mode, child.pid, listener)
            try:
                held.enter_context(keeping_off(cpus))  # the child is there already, and has not moved
                held.enter_context(lock.recording_of(_identity(child.pid)))
                draft = first_draft(plan, mode, child.pid, plan.command, cpus)
                write_manifest(place.directory, {**draft, "cwd": os.getcwd(), **place.inherited})
                _start(plan, capture, place, facts)
            except BaseException:
                child.abandon()
                raise
            _release(child, program, capture, watch)
            facts.start_ns = time.monotonic_ns()
            place.keep()
        ending: Ending | None = None
        try:
            with failures_told(place.directory), _until_the_program_ends(watch):
                facts.ended_by = watch.until_end(capture, _deadline(facts.start_ns, plan.duration_s))
                ending = child.reap() if watch.gone else None
                _close(plan, place.directory, capture, facts, ending, listener, watch)
                if ending is None:
                    _outlived(plan, place.directory, child, watch, listener)
                else:
                    finish(place.directory, listener.progress, listener.say, watch)
        except HeadwayError as error:
            listener.failed(error.notice)
            return _Ran(child.reap().exit_code, is_complete=False, stop="finalising failed")
    stop = "you interrupted" if facts.ended_by == "interrupt" else ""
    return _Ran(child.reap().exit_code, is_untold=ending is not None, stop=stop)


def _tell_complete(listener: Listener, directory: Path) -> None:
    try:
        listener.complete(directory)
    except HeadwayError as error:  # somebody has taken it away since
        listener.failed(error.notice)


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
        _step_back()
    try:
        finish(directory, listener.progress, listener.say, watch)
        listener.complete(directory)
    finally:  # whatever became of the recording: the program has its terminal through us
        watch.until_gone()
        amend(directory, **_ending_facts(child.reap()))


def _step_back() -> None:
    """Lower this process's own priority: the recorded program is still at work."""
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + 10)


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


def _planned_launch(plan: Plan, place: Place, facts: _Facts) -> LaunchPlan:
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
        sampler=_sampler(plan, facts) if library is not None else None,
        causal=plan.causal_spec,
    )
    facts.notices += planned.notices
    return planned


def _sampler(plan: Plan, facts: _Facts) -> Sampler | None:
    """Return how the agents are to sample stacks, as far as this machine allows; None for not at all."""
    if plan.sample is None:
        return None
    sampler, notices = usable(plan.sample)
    facts.notices += notices
    facts.sampling = sampler.options.as_json() if sampler is not None else {}
    return sampler


# --- a program that runs already -----------------------------------------------------------------------------------


def _record_process(plan: Plan, pid: int, mode: Mode, notices: list[Notice], listener: Listener) -> None:
    """Attach to a process and everything below it, record, let go, finalise. The process is never disturbed."""
    process = running_process(pid)
    lock.refuse_recorded_tree(process)
    pidfd, cpus = _hold_of(pid)
    facts = _Facts([*notices])
    command = processes.command_line(pid)
    with SignalGate() as gate, lock.recording_of(process), contextlib.ExitStack() as held:
        with _place(plan, plan.output, command) as place:
            held.enter_context(keeping_off(cpus))
            capture = _capture(plan, place, mode, pid, listener)
            write_manifest(place.directory, {**first_draft(plan, mode, pid, command, cpus), **place.inherited})
            _start(plan, capture, place, facts)
            if not process.is_alive:
                capture.stop()
                raise HeadwayError("HW058", pid=pid)
            place.keep()
        if plan.with_agent:
            sampler = _sampler(plan, facts)
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
        facts.ended_by = watch.until_end(capture, _deadline(facts.start_ns, plan.duration_s))
        _close(plan, place.directory, capture, facts, None, listener, watch, agents)
        _step_back()
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


# --- both ----------------------------------------------------------------------------------------------------------


def _place(plan: Plan, output: Path, command: Sequence[str]) -> Place:
    """Return where the recording goes; experiments are added to those of earlier runs."""
    if plan.causal is None:
        return Place(output, plan.force)
    return CausalPlace(output, plan.force, plan.causal, command)


def _capture(plan: Plan, place: Place, mode: Mode, pid: int, listener: Listener) -> Capture:
    """Return what runs beside the program: it looks after experiments where there are any."""
    if plan.causal is None:
        return Capture(place.spool, mode, pid)
    return CausalCapture(place.spool, pid, plan.causal, listener.say, listener.status, listener.tell)


def _start(plan: Plan, capture: Capture, place: Place, facts: _Facts) -> None:
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


def _deadline(start_ns: int, duration_s: float | None) -> int | None:
    return None if duration_s is None else start_ns + round(duration_s * 1e9)


def _again(plan: Plan) -> str:
    """Return the command that makes such a recording."""
    return "record -o NAME.headway" if plan.causal is None else "causal --progress CLASS.METHOD"


def _close(
    plan: Plan,
    directory: Path,
    capture: Capture,
    facts: _Facts,
    ending: Ending | None,
    listener: Listener,
    watch: Watch,
    agents: AttachedAgents | None = None,
) -> None:
    """Silence the agents, stop the collector, and put what is known by now into the manifest."""
    facts.end_ns = time.monotonic_ns()
    silence_all(directory / "spool")
    if isinstance(capture, CausalCapture):
        capture.end(facts.ended_by, is_gone=watch.gone)
    if agents is not None:
        agents.silence()
    stats = capture.stop()
    if agents is not None:
        agents.leave()
        facts.notices += agents.notices
    if plan.sample is not None:
        wait_until_complete(directory / "spool")
    if capture.disk_full:
        _note_full_disk(directory, facts, stats)
    if not any((directory / "spool").glob("agent-*.spool")):
        facts.notices = [notice for notice in facts.notices if notice.id not in _ONLY_WITH_A_JVM]
        if plan.with_agent and plan.pid is None:
            facts.notices.append(Notice.of("HW053", command=_again(plan)))
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
        **({"sampling": facts.sampling} if facts.sampling is not None else {}),
        **(_ending_facts(ending) if ending else {}),
    )


def _note_full_disk(directory: Path, facts: _Facts, stats: dict[str, Any]) -> None:
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


def _ending_facts(ending: Ending) -> dict[str, Any]:
    """Return the manifest's keys about how the program ended; the CPU time is of the processes it waited for, too."""
    return {
        "exit_code": ending.exit_code,
        "signal": ending.signal,
        "rusage": {"user_ns": ending.user_ns, "system_ns": ending.system_ns},
    }
