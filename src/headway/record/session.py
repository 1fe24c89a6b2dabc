"""One recording from its plan to its tables: `record()` is what the commands `record` and `run` call.

The order of things is what makes a recording whole and harmless. Launched: the place, the fork, the manifest's draft,
the collector, then the release; so nothing of ours is left behind when the program can't start, and not one of its
instructions is missed when it can. Attached: the collector first, then what runs already, then the agent.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.attached import record_process
from headway.record.capabilities import Mode, choose_mode, keep_capabilities_from_children, mode_notices, probe
from headway.record.draft import amend
from headway.record.launched import record_command
from headway.record.listener import Listener
from headway.record.plan import Plan
from headway.record.signals import SignalGate


def record(plan: Plan, listener: Listener, gate: SignalGate | None = None) -> int:
    """Carry out a plan and return the exit code for the shell: the program's own, 0 for an attached one.

    A caller that records several commands holds one `gate` over all of them, and asks it afterwards whether to go on.
    Raises HeadwayError HW001 to HW009, HW050, HW058, HW059 or those of `choose_mode` when nothing was recorded; for a
    process that runs already also HW052, HW056 or those of `finalise`.
    """
    mode, notices = _mode(plan)
    keep_capabilities_from_children()
    if plan.pid is not None:
        record_process(plan, plan.pid, mode, notices, listener)
        return 0
    if plan.repeat > 1:
        return _record_repeats(plan, mode, notices, listener)
    with SignalGate() if gate is None else contextlib.nullcontext(gate) as held:
        ran = record_command(plan, plan.output, mode, notices, listener, held)
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
            ran = record_command(plan, output, mode, notices, listener, gate)
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


def _tell_complete(listener: Listener, directory: Path) -> None:
    try:
        listener.complete(directory)
    except HeadwayError as error:  # somebody has taken it away since
        listener.failed(error.notice)
