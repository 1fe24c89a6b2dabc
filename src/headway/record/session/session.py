"""Carries out recordings: `record()` is what the commands `record` and `run` call.

The order of things is what makes a recording whole and harmless. Launched: the place, the fork, the manifest's draft,
the collector, then the release; so nothing of ours is left behind when the program can't start, and not one of its
instructions is missed when it can. Attached: the collector first, then what runs already, then the agent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.collect.listener import Listener
from headway.record.collect.thread_counters import countable_if_any
from headway.record.counters.counted_units import counted_units
from headway.record.counters.groups import CounterOptions
from headway.record.counters.usable import Usable, absent_notice, usable
from headway.record.doctor.capabilities import Mode, choose_mode, keep_capabilities_from_children, mode_notices, probe
from headway.record.program.signals import SignalGate
from headway.record.request.agent_copies import remove_unused
from headway.record.session.attached import record_process
from headway.record.session.group_runs import note_run, plans_of
from headway.record.session.launched import record_command
from headway.record.session.manifest_draft import amend
from headway.record.session.plan import Plan
from headway.store import directory as directories


def record(plan: Plan, listener: Listener, gate: SignalGate | None = None) -> int:
    """Carry out a plan and return the exit code for the shell: the program's own, 0 for an attached process.

    A caller that records several commands holds one `gate` over all of them, and asks it afterwards whether to go on.
    Raises HeadwayError HW001 to HW009, HW050, HW104, HW058, HW059 or those of `choose_mode` when nothing was recorded; for a
    process that runs already also HW052, HW056 or those of `finalise`.
    """
    remove_unused()
    with directories.temporary_pins():
        return _record(plan, listener, gate)


def _record(plan: Plan, listener: Listener, gate: SignalGate | None) -> int:
    mode, notices = _mode(plan)
    plan = _with_counters(plan, mode, notices)
    keep_capabilities_from_children()
    if plan.pid is not None:
        record_process(plan, plan.pid, mode, notices, listener)
        return 0
    if len(plans := plans_of(plan)) > 1:
        return _record_repeats(plans, mode, notices, listener)
    if plan.counters_by_runs:
        listener.tell(f"--counters-by-runs: {_why_one_run(plan, mode)}")
    with SignalGate() if gate is None else contextlib.nullcontext(gate) as open_gate:
        ran = record_command(plan, plan.output, mode, notices, listener, open_gate)
    if ran.is_unreported:
        _tell_complete(listener, plan.output)
    return ran.exit_code


def _why_one_run(plan: Plan, mode: Mode) -> str:
    if plan.thread_counted is not None and len(plan.thread_counted.groups) > 1:
        return f"it needs mode ebpf, so that this is one run with all groups, in mode {mode}"
    return "fewer than two groups count here, so that one run is enough"


def _mode(plan: Plan) -> tuple[Mode, list[Notice]]:
    """Return where switches come from, and what is missing there. Beside experiments none are recorded, nor missed."""
    if plan.causal is not None:
        return "agent", []
    capabilities = probe()
    mode = choose_mode(capabilities, plan.mode)
    return mode, mode_notices(mode, capabilities)


def _with_counters(plan: Plan, mode: Mode, notices: list[Notice]) -> Plan:
    """Return the plan with the counters that count here; `notices` get what does not. Raises HeadwayError HW104 or HW117."""
    asked = plan.counters
    if asked is None:
        return plan
    if asked.of_units:
        plan = dataclasses.replace(plan, units=counted_units(asked.of_units))
        if absent := [each for unit in plan.units for each in unit.counted.absent]:
            notices.append(absent_notice(absent))
    if not asked.groups:
        return plan
    without_mode = asked.by_thread and mode != "ebpf"
    if without_mode:
        plan = _counted_from_outside(plan, asked, mode, notices)
        if not asked.by_cpu:
            return plan
    counted = usable(asked.groups, is_default=asked.is_default)
    if counted.absent and (notice := _absent_of(asked, counted)) not in notices:
        notices.append(notice)
    by_thread = counted if asked.by_thread and not without_mode else plan.counted
    return dataclasses.replace(plan, counted=by_thread, cpu_counted=counted if asked.by_cpu else None)


def _absent_of(asked: CounterOptions, found: Usable) -> Notice:
    """Return which of the events that were asked for don't count: a note if nobody named them and others do."""
    return absent_notice(found.absent, is_default=asked.is_default and bool(found.groups))


def _counted_from_outside(plan: Plan, asked: CounterOptions, mode: Mode, notices: list[Notice]) -> Plan:
    """Return the plan where nothing reads counters at switches: each thread is counted as a whole. Raises HeadwayError HW104."""
    found = countable_if_any(asked)
    if found.groups:
        notices.append(Notice.of("HW108", mode=mode))
    if found.absent:
        notices.append(_absent_of(asked, found))
    at_switches = Usable(asked.groups, ()).without_mode(mode) if found.groups else found
    return dataclasses.replace(plan, counted=at_switches, thread_counted=found)


def _record_repeats(plans: Sequence[Plan], mode: Mode, notices: list[Notice], listener: Listener) -> int:
    """Record the command as often as planned, or until somebody interrupts; return the first exit code that is not 0."""
    code = 0
    with SignalGate() as gate:
        for number, plan in enumerate(plans, 1):
            output = plan.output if number == 1 else plan.output / "repeats" / f"{number}.headway"
            if number == 2:
                _make_repeats(plan.output)
            ran = record_command(plan, output, mode, notices, listener, gate)
            if ran.is_complete:
                note_run(plans, number, output)
            if ran.is_unreported:
                _tell_complete(listener, output)
            code = code or ran.exit_code
            stop = ran.stop or ("you interrupted" if gate.wants_end() else "")
            if stop and number < len(plans):
                done = number if ran.is_complete else number - 1
                _tell_cut(plan.output, (done, len(plans)), stop, listener)
                break
    return code


def _make_repeats(directory: Path) -> None:
    with directories.opened_for_writing(directory) as fd:
        os.mkdir("repeats", directories.directory_mode(), dir_fd=fd)


def _tell_cut(first: Path, runs: tuple[int, int], reason: str, listener: Listener) -> None:
    """Note in the first recording that there are fewer repeats (done, wanted) than asked for."""
    cut = Notice.of("HW055", done=runs[0], wanted=runs[1], reason=reason)
    with contextlib.suppress(OSError, HeadwayError):  # what keeps the manifest from being written was told already
        amend(first, notices=[cut])
    listener.say(cut)


def _tell_complete(listener: Listener, directory: Path) -> None:
    try:
        listener.complete(directory)
    except HeadwayError as error:  # somebody has taken it away since
        listener.failed(error.notice)
