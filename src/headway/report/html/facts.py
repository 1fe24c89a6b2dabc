"""The facts of a recording, as rows of text for people: what was recorded, where and how."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headway.analyses.common.units import duration
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from headway.store import Manifest, Recording

_MODES = {
    "ebpf": "ebpf: every switch and wake-up, from the kernel",
    "perf-switch": "perf-switch: every switch; no wake-ups, no stolen time",
    "agent": "agent: what the JVM tells; no thread states",
}
_ENDED = {
    "exit": "the program's exit",
    "duration": "the time asked for",
    "interrupt": "an interrupt",
    "recorder-died": "the recorder's death",
    "disk-full": "a full disk",
}
_WITH_VALUE = {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"}
_TEXT_CHARS = 600
_MAX_JVMS = 8
_MAX_CHECKS = 24
_RAN = "the time in which threads of the program had a CPU"


def title(manifest: Manifest) -> str:
    """Return what ran, in few words: its jar, its main class, else its command's name; then its arguments."""
    words = manifest.command
    if not words:
        return f"process {manifest.pid}" if manifest.pid is not None else "an unknown program"
    at = _program(words)
    name = os.path.basename(words[at]) if at == 0 or words[at - 1] == "-jar" else words[at]
    return " ".join([name, *words[at + 1 :]])


def _program(words: Sequence[str]) -> int:
    """Return which word names the program: after `java`, the first that is neither an option nor an option's value."""
    if os.path.basename(words[0]) not in ("java", "javaw"):  # javac and others of the JDK have options of their own
        return 0
    skip = False
    for i, word in enumerate(words[1:-1], 1):
        if skip:
            skip = False
        elif word in ("-jar", "-m", "--module"):
            return i + 1
        elif word in _WITH_VALUE:
            skip = True
        elif not word.startswith(("-", "@")):
            return i
    return len(words) - 1 if len(words) > 1 and not skip and not words[-1].startswith(("-", "@")) else 0


def facts(recording: Recording, stolen_ns: int | None = None, others_ns: int | None = None) -> list[dict[str, Any]]:
    """Return groups of {heading, rows: [{label, value}]}; what is unknown is left out.

    `stolen_ns`: what the host took from the program's threads while they ran; `others_ns`: how long other processes than
    headway ran. None where only the CPUs' own counters tell, which go by ticks of 10 ms.
    """
    manifest = recording.manifest
    groups = [
        ("Recording", _recording(recording)),
        ("Machine", _machine(manifest)),
        *((_jvm_heading(manifest, i), _jvm(jvm)) for i, jvm in enumerate(manifest.jvms[:_MAX_JVMS])),
        ("Trust", _trust(manifest, stolen_ns, others_ns)),
    ]
    left = len(manifest.jvms) - _MAX_JVMS
    if left > 0:
        groups.append(("Further JVMs", [("not shown", f"{left} more; query the table jvm")]))
    return [
        {"heading": heading, "rows": [{"label": label, "value": _cut(value)} for label, value in rows if value]}
        for heading, rows in groups
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else text[: _TEXT_CHARS - 1] + "…"


def _recording(recording: Recording) -> list[tuple[str, str]]:
    manifest = recording.manifest
    ended = _ENDED.get(manifest.ended_by or "", manifest.ended_by or "")
    return [
        ("command", " ".join(manifest.command)),
        ("directory", manifest.cwd),
        ("process", "" if manifest.pid is None else f"{manifest.pid}{', attached to' if manifest.attached else ''}"),
        ("recorded", manifest.created_utc),
        ("length", duration(recording.wall_ns)),
        ("ended by", ended),
        ("exit", _exit(manifest)),
        ("mode", _MODES.get(manifest.mode, manifest.mode)),
        ("state", _state(manifest)),
        ("recorded with", f"headway {manifest.headway_version}" if manifest.headway_version else ""),
    ]


def _state(manifest: Manifest) -> str:
    if manifest.state == "complete":
        return ""
    why = "not all of the file could be read" if manifest.mode == "import" else "finalised from what was left"
    return f"{manifest.state}: {why}"


def _exit(manifest: Manifest) -> str:
    if manifest.signal:
        return f"killed by signal {manifest.signal}"
    return "" if manifest.exit_code is None else f"code {manifest.exit_code}"


def _machine(manifest: Manifest) -> list[tuple[str, str]]:
    host = manifest.host
    nodes = {cpu.node for cpu in host.topology if cpu.node is not None}
    smt = any(cpu.smt_siblings for cpu in host.topology)
    return [
        ("kernel", host.kernel),
        ("hypervisor", host.hypervisor or ""),
        ("CPUs online", numbers(host.cpus_online)),
        ("SMT", ("on: some CPUs share a core" if smt else "off") if host.topology else ""),
        ("NUMA nodes", str(len(nodes)) if nodes else ""),
        ("frequency policy", host.governor or ""),
        ("memory", "" if host.memory_bytes is None else f"{host.memory_bytes / 2**30:.1f} GiB"),
        ("cores recorded on", "" if manifest.recorded_cores is None else str(manifest.recorded_cores)),
        ("affinity", numbers(manifest.affinity)),
        ("CPU quota", "" if manifest.quota_cores is None else counted(float(manifest.quota_cores), "core")),
    ]


def _jvm_heading(manifest: Manifest, index: int) -> str:
    return "JVM" if len(manifest.jvms) == 1 else f"JVM {index + 1}, process {manifest.jvms[index].get('pid', '?')}"


def _jvm(jvm: Any) -> list[tuple[str, str]]:
    flags = jvm.get("flags")
    processors = jvm.get("available_processors")
    return [
        ("version", str(jvm.get("version") or "")),
        ("VM", str(jvm.get("vm") or "")),
        ("availableProcessors", "" if processors is None else str(processors)),
        ("flags", " ".join(map(str, flags)) if isinstance(flags, (list, tuple)) else str(flags or "")),
    ]


def _trust(manifest: Manifest, stolen_ns: int | None, others_ns: int | None) -> list[tuple[str, str]]:
    losses = manifest.losses
    lost = f"{losses.events:,} records in {losses.spans:,} spans" if losses.events else "none"
    rows = [
        ("switches", "" if manifest.switches is None else f"{manifest.switches:,}"),
        ("records lost", lost),
        (
            "stolen by the host",
            _per_cpu(manifest.steal_ns) if stolen_ns is None else f"{duration(stolen_ns)} of {_RAN}",
        ),
        ("other processes ran, headway's recorder among them", _per_cpu(manifest.other_ns))
        if others_ns is None
        else ("other processes ran, without headway", duration(others_ns)),
    ]
    # Those that failed first: they are what a reader must not miss.
    checks = sorted(manifest.invariants, key=lambda each: each.ok)
    rows += [
        (f"check: {_cut(each.id)}", f"{'held' if each.ok else 'FAILED'}: {each.message}")
        for each in checks[:_MAX_CHECKS]
    ]
    left = len(checks) - _MAX_CHECKS
    return [*rows, ("further checks", f"{left} not shown; see manifest.json")] if left > 0 else rows


def _per_cpu(ns: Any) -> str:
    """Return a sum over CPUs with the CPUs that take most of it, at most eight."""
    if not ns:
        return ""
    most = sorted(ns.items(), key=lambda item: -item[1])[:8]
    per_cpu = ", ".join(f"CPU {cpu}: {duration(value)}" for cpu, value in sorted(most, key=lambda item: int(item[0])))
    more = f", and {len(ns) - 8} more CPUs" if len(ns) > 8 else ""
    return f"{duration(sum(ns.values()))} in all ({per_cpu}{more})"


def numbers(values: Sequence[int]) -> str:
    """Return a list of CPU numbers in the kernel's form: 0-3,8."""
    ranges: list[list[int]] = []
    for value in sorted(values):
        if ranges and value == ranges[-1][1] + 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
