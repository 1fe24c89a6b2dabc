"""What this machine lets headway see, and the recording mode that follows from it.

`probe()` tries each thing for real where it can (loads a BPF program, opens a perf event and maps its ring) rather than
deduce it from settings: seccomp filters, security modules and distribution patches all change the answer.
`choose_mode()` is the one place that turns the answer into a mode; `mode_notices()` says what a lesser mode can't see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from headway.errors import HeadwayError, Notice

Mode = Literal["ebpf", "perf-switch", "agent"]
MODES: tuple[Mode, ...] = ("ebpf", "perf-switch", "agent")
"""Best first."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `concerns` names what hangs on it: a mode, `accuracy` or `java`."""

    id: str
    ok: bool
    message: str
    remedy: str = ""
    concerns: str = "accuracy"

    def as_json(self) -> dict[str, Any]:
        """Return the stable form {id, ok, message, remedy, concerns}."""
        return {
            "id": self.id,
            "ok": self.ok,
            "message": self.message,
            "remedy": self.remedy,
            "concerns": self.concerns,
        }


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The outcome of `probe()`: whether each collector really starts here, and every check made."""

    ebpf: bool
    perf_switch: bool
    checks: tuple[Check, ...]

    def check(self, check_id: str) -> Check:
        """Return the check named `check_id`; KeyError when there is none."""
        for check in self.checks:
            if check.id == check_id:
                return check
        raise KeyError(check_id)


def probe() -> Capabilities:
    """Look at this machine as the user who runs headway; changes nothing, takes some tens of milliseconds."""
    from headway.record import checks

    made = checks.run_all()
    by_id = {check.id: check for check in made}
    return Capabilities(
        ebpf=all(by_id[need].ok for need in ("bpf-load", "btf", "tracepoints")),
        perf_switch=by_id["perf-event"].ok,
        checks=tuple(made),
    )


def keep_capabilities_from_children() -> None:
    """Clear the ambient capabilities of the calling thread: what headway was given is not for the programs it starts.

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
    """Return in one line the first reason why `mode` can't be had; empty when nothing stands against it."""
    return next((check.message for check in capabilities.checks if check.concerns == mode and not check.ok), "")


def mode_notices(mode: Mode, capabilities: Capabilities) -> list[Notice]:
    """Return the notices that mark every result of a recording made in `mode`: what it can't see, and the way up."""
    if mode == "perf-switch":
        return [Notice.of("HW100", reason=why_not(capabilities, "ebpf") or "asked for", command=way_up(capabilities))]
    if mode == "agent":
        reason = why_not(capabilities, "perf-switch") or "asked for"
        return [Notice.of("HW101", reason=reason, command=way_up(capabilities))]
    return []


def way_up(capabilities: Capabilities) -> str:
    """Return the command that lifts the first thing in the way of a better mode; empty in the best one."""
    mode = choose_mode(capabilities)
    for better in MODES[: MODES.index(mode)]:
        for check in capabilities.checks:
            if check.concerns == better and not check.ok and check.remedy:
                return check.remedy
    return ""
