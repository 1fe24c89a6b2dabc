"""What `headway doctor` prints: the verdict, what is lost and the way up, then every check. Never wider than 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from headway.model.counter_ladder import by_reason

_WIDTH = 80
_MOST_NAMES = 12
"""Of events that share a reason."""
_VERDICTS = {
    "ebpf": "every state of every thread, with wakers and stolen time",
    "perf-switch": "every switch of every thread, but no wake-ups",
    "agent": "no scheduling at all, only what the JVM tells",
}
_LOST = {
    "ebpf": (),
    "perf-switch": (
        "A woken thread that waits for a CPU counts as blocked: parallelism beyond the number of CPUs is underestimated.",
        "Who woke whom, and the time that the host of a virtual machine stole, are unknown.",
        "Each running interval lacks the microseconds of the switch itself.",
    ),
    "agent": (
        "No running, runnable or blocked time: no parallelism and no wall-time prediction.",
        "Known are the life and the CPU time of Java threads, and GC pauses.",
    ),
}


def render(findings: Mapping[str, Any]) -> str:
    """Return the text for a person. `findings`: mode, checks [{id, ok, message, remedy}], way_up."""
    mode = findings["mode"]
    lines = _wrapped(f"Mode {mode}: {_VERDICTS[mode]}.")
    if _LOST[mode]:
        lines += ["", "Lost in this mode:"]
        for sentence in _LOST[mode]:
            lines += _wrapped(sentence, "  - ")
    if findings["way_up"]:
        lines += ["", "To lift it:", *command_lines(findings["way_up"], "  ")]
    lines += ["", "Checks:"]
    widest = max(len(check["id"]) for check in findings["checks"])
    for check in findings["checks"]:
        mark = "ok" if check["ok"] else "--"
        lines += _wrapped(check["message"], f"  {mark}  {check['id']:{widest}}  ")
        if not check["ok"] and check["remedy"] and check["remedy"] != findings["way_up"]:
            lines += command_lines(check["remedy"], " " * (widest + 8) + "-> ")
    lines += _counters(findings.get("counters") or {})
    return "\n".join(lines)


def command_lines(command: str, indent: str) -> list[str]:
    """Return a command broken into lines that a shell reads as one: no word is cut, each break has its backslash."""
    lines = []
    line = indent
    for word in command.split(" "):
        if len(line) + len(word) + 2 > _WIDTH and line.strip():
            lines.append(line + "\\")
            line = " " * (len(indent) + 2)
        line += word + " "
    return [*lines, line.rstrip()]


def _counters(found: Mapping[str, Any]) -> list[str]:
    """Return which events count here, and why others do not, those of one reason together."""
    if not found:
        return []
    lines = ["", f"Counters (headway record --counters): {found['step']}"]
    lines += _wrapped(", ".join(found["counted"]) or "no event counts here", "  ok  ")
    if found["at_once"] is not None:
        lines += _wrapped(
            f"{found['at_once']} counters of the processor at once: groups beyond them take turns", "  ok  "
        )
    if found["in_turn"]:
        lines += _wrapped(f"only in turn with what others count: {', '.join(found['in_turn'])}", "  --  ")
    shared = {each["event"] for unit in found["per_socket"] for each in unit["events"]}
    reasons: dict[str, list[str]] = {}
    if shared:
        units = [unit["unit"] for unit in found["per_socket"]]
        reasons["with --counter-scope cpu, never by thread, as these units count for all CPUs of a socket or core"] = (
            units
        )
    reasons |= by_reason((each["event"], each["reason"]) for each in found["absent"] if each["event"] not in shared)
    for reason, events in reasons.items():
        more = f" and {len(events) - _MOST_NAMES} more" if len(events) > _MOST_NAMES else ""
        lines += _wrapped(f"{reason}: {', '.join(events[:_MOST_NAMES])}{more}", "  --  ")
    return lines


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent), break_on_hyphens=False
    )
