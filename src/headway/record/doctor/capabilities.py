"""Chooses the recording mode by what this machine lets headway see.

`probe()` tries each thing for real where it can (loads a BPF program, opens a perf event and maps its ring) rather than
deduce it from settings: seccomp filters, security modules and distribution patches all change the answer.
`choose_mode()` is the one place that turns the answer into a mode; `mode_notices()` says what a lesser mode can't see.
"""

from __future__ import annotations

from typing import Literal

from headway.errors import HeadwayError, Notice
from headway.record.doctor import checks
from headway.record.doctor.types import Capabilities

Mode = Literal["ebpf", "perf-switch", "agent"]
MODES: tuple[Mode, ...] = ("ebpf", "perf-switch", "agent")
"""Best first."""


def probe() -> Capabilities:
    """Examine this machine as the user who runs headway; changes nothing, takes some tens of milliseconds."""
    all_checks = checks.run_all()
    by_id = {check.id: check for check in all_checks}
    return Capabilities(
        ebpf=all(by_id[need].ok for need in ("bpf-load", "btf", "tracepoints")),
        perf_switch=by_id["perf-event"].ok,
        checks=tuple(all_checks),
    )


def keep_capabilities_from_children() -> None:
    """Clear the calling thread's ambient capabilities, so that started programs don't inherit headway's.

    A program that holds more than its user's other processes could not be attached to by them (jcmd, debuggers).
    """
    import ctypes

    pr_cap_ambient, clear_all = 47, 4  # linux/prctl.h
    ctypes.CDLL(None, use_errno=True).prctl(pr_cap_ambient, clear_all, 0, 0, 0)


def choose_mode(capabilities: Capabilities, wanted: Mode | None = None) -> Mode:
    """Return the best mode these capabilities allow, or `wanted` where they allow it.

    Raises HeadwayError HW102 when `wanted` can't be had here.
    """
    possible: dict[Mode, bool] = {"ebpf": capabilities.ebpf, "perf-switch": capabilities.perf_switch, "agent": True}
    if wanted is not None:
        if not possible[wanted]:
            raise HeadwayError("HW102", mode=wanted, reason=why_not(capabilities, wanted))
        return wanted
    return next(mode for mode in MODES if possible[mode])


def why_not(capabilities: Capabilities, mode: Mode) -> str:
    """Return the first reason why `mode` is unavailable, in one line; empty when it is available."""
    return next((check.message for check in capabilities.checks if check.concerns == mode and not check.ok), "")


def mode_notices(mode: Mode, capabilities: Capabilities) -> list[Notice]:
    """Return the notices that mark every result of a recording in `mode`: what it can't see, and how to get more."""
    if mode == "perf-switch":
        return [
            Notice.of(
                "HW100", reason=why_not(capabilities, "ebpf") or "asked for", command=upgrade_command(capabilities)
            )
        ]
    if mode == "agent":
        reason = why_not(capabilities, "perf-switch") or "asked for"
        return [Notice.of("HW101", reason=reason, command=upgrade_command(capabilities))]
    return []


def upgrade_command(capabilities: Capabilities) -> str:
    """Return the command that removes the first obstacle to a better mode; empty in the best one."""
    mode = choose_mode(capabilities)
    for better in MODES[: MODES.index(mode)]:
        for check in capabilities.checks:
            if check.concerns == better and not check.ok and check.remedy:
                return check.remedy
    return ""
