"""The single checks of `headway doctor`: what decides the mode. The others are in checks_accuracy.

Each check is a function that returns one `Check` and can't fail: what can't be found out is said in the message.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.record import remedies
from headway.record.capabilities import Check

_TRACEPOINTS = (
    "sched_switch",
    "sched_waking",
    "sched_wakeup_new",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "task_rename",
)
_CAPABILITY_BITS = {"CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
_BPF_STEPS = {
    "map": "a ring buffer map",
    "load": "a tracing program",
    "read": "a program that reads kernel memory",
    "attach": "attaching to a tracepoint",
}
_PERF_STEPS = {"open": "perf_event_open", "ring": "mapping a ring", "redirect": "sharing a ring"}


@dataclass(frozen=True, slots=True)
class Probes:
    """What the native probes found: {errno, step, ring_bytes} each. errno is None when the native part is missing."""

    bpf: dict[str, Any]
    perf: dict[str, Any]
    hardware: dict[str, Any]
    missing: str = ""


def run_all() -> list[Check]:
    """Run every check, those that decide the mode first."""
    from headway.record import checks_accuracy

    probes = run_probes()
    return [
        native_part(probes),
        kernel_version(),
        btf(),
        tracepoints(),
        capabilities(),
        bpf_load(probes),
        unprivileged_bpf(),
        lockdown(),
        perf_event(probes),
        perf_paranoid(),
        ring_memory(probes),
        open_files(),
        seccomp(),
        *checks_accuracy.run_all(probes),
    ]


def run_probes() -> Probes:
    """Let the native part try what the collectors will do."""
    try:
        from headway import _native  # type: ignore[attr-defined]
    except ImportError as error:
        nothing = {"errno": None, "step": "", "ring_bytes": 0}
        return Probes(nothing, nothing, nothing, str(error))
    return Probes(_native.probe_bpf(), _native.probe_perf(), _native.probe_hardware_counter())


def native_part(probes: Probes) -> Check:
    """Tell whether headway's compiled part loads: without it nothing can be recorded by the kernel."""
    if probes.missing:
        why = f"headway's compiled part does not load: {probes.missing}"
        return Check("native", False, why, "pip install --force-reinstall headway", "perf-switch")
    return Check("native", True, "headway's compiled part loads", "", "perf-switch")


def kernel_version() -> Check:
    """Linux 5.8 brought the BPF ring buffer, CAP_BPF and CAP_PERFMON."""
    release = platform.release()
    found = re.match(r"(\d+)\.(\d+)", release)
    new_enough = found is not None and (int(found[1]), int(found[2])) >= (5, 8)
    need = "" if new_enough else "; eBPF recording needs 5.8 or later"
    return Check(
        "kernel", new_enough, f"Linux {release}{need}", "" if new_enough else "boot Linux 5.8 or later", "ebpf"
    )


def _btf_path() -> Path:
    return Path("/sys/kernel/btf/vmlinux")


def btf() -> Check:
    """Without the kernel's own type information a program built elsewhere can't find the fields it reads (CO-RE)."""
    if os.access(_btf_path(), os.R_OK):
        return Check("btf", True, f"the kernel describes its types in {_btf_path()}", "", "ebpf")
    return Check("btf", False, f"no kernel type information: can't read {_btf_path()}", remedies.for_btf(), "ebpf")


def tracepoints() -> Check:
    """Look for the scheduler's tracepoints in the kernel's type information, which lists all that BPF can attach to."""
    try:
        with open(_btf_path(), "rb") as file:
            types = file.read()
    except OSError:
        return Check("tracepoints", False, "the kernel's tracepoints can't be listed without BTF", "", "accuracy")
    missing = [name for name in _TRACEPOINTS if b"\0btf_trace_" + name.encode() + b"\0" not in types]
    if missing:
        message = f"this kernel lacks the tracepoints {', '.join(missing)}"
        return Check("tracepoints", False, message, "boot a kernel built with CONFIG_TRACEPOINTS=y", "ebpf")
    return Check("tracepoints", True, f"all {len(_TRACEPOINTS)} scheduler tracepoints are there", "", "ebpf")


def effective_capabilities() -> set[str]:
    """Return those of the capabilities that headway could use which are in effect for this process."""
    mask = int(_status_field("CapEff") or "0", 16)
    return {name for name, bit in _CAPABILITY_BITS.items() if mask >> bit & 1}


def capabilities() -> Check:
    """CAP_BPF and CAP_PERFMON, or the older CAP_SYS_ADMIN that includes both."""
    has = effective_capabilities()
    lacking = set() if "CAP_SYS_ADMIN" in has else {"CAP_BPF", "CAP_PERFMON"} - has
    who = "root" if os.geteuid() == 0 else f"user {os.geteuid()}"
    if lacking:
        message = f"{who} lacks {' and '.join(sorted(lacking))}"
        return Check("capabilities", False, message, remedies.for_ebpf(), "ebpf")
    return Check("capabilities", True, f"{who} has {', '.join(sorted(has))}", "", "ebpf")


def bpf_load(probes: Probes) -> Check:
    """The proof: a program was loaded and attached."""
    number = probes.bpf["errno"]
    if number == 0:
        return Check("bpf-load", True, "a BPF program was loaded and attached (and removed)", "", "ebpf")
    if number is None:
        return Check("bpf-load", False, "not tried: the compiled part is missing", "", "ebpf")
    step = _BPF_STEPS[probes.bpf["step"]]
    remedy = remedies.for_ebpf()
    if number not in (errno.EPERM, errno.EACCES):
        remedy = "boot a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y, and without lockdown=confidentiality"
    return Check("bpf-load", False, f"the kernel refuses {step}: {os.strerror(number)}", remedy, "ebpf")


def unprivileged_bpf() -> Check:
    """A fact people ask about; tracing programs need CAP_BPF and CAP_PERFMON whatever it says."""
    value = _sysctl("kernel/unprivileged_bpf_disabled")
    text = "unknown" if value is None else str(value)
    return Check(
        "unprivileged-bpf", True, f"kernel.unprivileged_bpf_disabled is {text} (no matter: tracing needs CAP_BPF)"
    )


def lockdown() -> Check:
    """Lockdown `confidentiality` forbids programs to read kernel memory."""
    text = _read("/sys/kernel/security/lockdown")
    if text is None:
        return Check("lockdown", True, "kernel lockdown: not told here (bpf-load is the proof)")
    level = re.search(r"\[(\w+)\]", text)
    name = level[1] if level else text
    if name == "confidentiality":
        return Check("lockdown", False, "kernel lockdown is 'confidentiality'", "boot with lockdown=integrity", "ebpf")
    return Check("lockdown", True, f"kernel lockdown: {name}")


def perf_event(probes: Probes) -> Check:
    """The proof for mode perf-switch: its very events were opened, on every CPU, with their rings."""
    number = probes.perf["errno"]
    if number == 0:
        return Check("perf-event", True, "switch events can be had on every CPU", "", "perf-switch")
    if number is None:
        return Check("perf-event", False, "not tried: the compiled part is missing", "", "perf-switch")
    message = f"{_PERF_STEPS[probes.perf['step']]} is refused: {os.strerror(number)}"
    if probes.perf["step"] == "ring":
        remedy = "ulimit -l unlimited   (or: sudo sysctl kernel.perf_event_mlock_kb=2064)"
    else:
        remedy = remedies.for_perf(_sysctl("kernel/perf_event_paranoid"), _status_field("Seccomp") == "2")
    return Check("perf-event", False, message, remedy, "perf-switch")


def perf_paranoid() -> Check:
    """2 allows an ordinary user what mode perf-switch needs; Debian and Ubuntu know 3 and 4, which allow nothing."""
    value = _sysctl("kernel/perf_event_paranoid")
    if value is None:
        return Check("perf-paranoid", False, "kernel.perf_event_paranoid is not there: no perf events in this kernel")
    if value > 2 and not effective_capabilities() & {"CAP_PERFMON", "CAP_SYS_ADMIN"}:
        message = f"kernel.perf_event_paranoid is {value}: many distributions then refuse ordinary users"
        return Check("perf-paranoid", False, message, remedies.for_perf(value, False))
    return Check("perf-paranoid", True, f"kernel.perf_event_paranoid is {value}")


def ring_memory(probes: Probes) -> Check:
    """The memory that this user may lock decides how much the rings of mode perf-switch hold."""
    ring = probes.perf["ring_bytes"]
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    locked = "no limit" if limit == resource.RLIM_INFINITY else f"{limit >> 10} KiB"
    per_cpu = _sysctl("kernel/perf_event_mlock_kb")
    enough = ring >= 1 << 18
    message = f"perf rings: {ring >> 10} KiB per CPU (memlock {locked}, perf_event_mlock_kb {per_cpu})"
    if enough or probes.perf["errno"] is None:
        return Check("memlock", True, message)
    return Check("memlock", False, message + ": switch storms may be lost", "ulimit -l unlimited")


def open_files() -> Check:
    """Attaching in mode perf-switch takes a file descriptor per thread and CPU."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    cpus = os.cpu_count() or 1
    threads = limit // cpus
    message = f"attaching in mode perf-switch reaches {threads} threads ({limit} files, {cpus} CPUs)"
    return Check("open-files", threads >= 500, message, "" if threads >= 500 else "ulimit -Hn 1048576   (as root)")


def seccomp() -> Check:
    """A container engine's seccomp filter may refuse bpf() and perf_event_open() whatever the capabilities."""
    place = remedies.container()
    where = f"inside {place}" if place else "not in a container"
    if _status_field("Seccomp") == "2":
        return Check("seccomp", True, f"{where}, under a seccomp filter (what it lets through is tried above)")
    return Check("seccomp", True, f"{where}, no seccomp filter")


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def _sysctl(name: str) -> int | None:
    text = _read(f"/proc/sys/{name}")
    return int(text) if text and text.lstrip("-").isdigit() else None


def _status_field(name: str) -> str | None:
    text = _read("/proc/self/status") or ""
    found = re.search(rf"^{name}:\s*(\S+)", text, re.MULTILINE)
    return found[1] if found else None
