"""The checks of `headway doctor` that decide the recording mode; accuracy_checks has the others.

Each check is a function that returns one `Check` and can't fail: what can't be found out is said in the message.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import resource
from pathlib import Path

from headway.model.native_part import build_command
from headway.record.doctor import accuracy_checks, remedies
from headway.record.doctor.types import Check, Probes

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


def run_all() -> list[Check]:
    """Run every check, those that decide the mode first."""
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
        *accuracy_checks.run_all(probes),
    ]


def run_probes() -> Probes:
    """Let the native part try what collectors do."""
    try:
        from headway import _native
    except ImportError as error:
        nothing = {"errno": None, "step": "", "ring_bytes": 0}
        return Probes(nothing, nothing, nothing, str(error))
    return Probes(_native.probe_bpf(), _native.probe_perf(), _native.probe_hardware_counter())


def native_part(probes: Probes) -> Check:
    """Check whether headway's compiled part loads: without it the kernel can't be recorded."""
    if probes.missing:
        why = f"headway's compiled part does not load: {probes.missing}"
        return Check("native", False, why, build_command(), "perf-switch")
    return Check("native", True, "headway's compiled part loads", "", "perf-switch")


def kernel_version() -> Check:
    """Check for Linux 5.8, which introduced the BPF ring buffer, CAP_BPF and CAP_PERFMON."""
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
    """Check for the kernel's type information (BTF), without which BPF programs built elsewhere can't find fields (CO-RE)."""
    if os.access(_btf_path(), os.R_OK):
        return Check("btf", True, f"the kernel describes its types in {_btf_path()}", "", "ebpf")
    return Check("btf", False, f"no kernel type information: can't read {_btf_path()}", remedies.for_btf(), "ebpf")


def tracepoints() -> Check:
    """Check for the scheduler's tracepoints in the kernel's type information, which lists all that BPF can attach to."""
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
    """Return which of the capabilities that headway uses are in effect for this process."""
    mask = int(_status_field("CapEff") or "0", 16)
    return {name for name, bit in _CAPABILITY_BITS.items() if mask >> bit & 1}


def capabilities() -> Check:
    """Check for CAP_BPF and CAP_PERFMON, or the older CAP_SYS_ADMIN that includes both."""
    has = effective_capabilities()
    lacking = set() if "CAP_SYS_ADMIN" in has else {"CAP_BPF", "CAP_PERFMON"} - has
    who = "root" if os.geteuid() == 0 else f"user {os.geteuid()}"
    if lacking:
        message = f"{who} lacks {' and '.join(sorted(lacking))}"
        return Check("capabilities", False, message, remedies.for_ebpf(), "ebpf")
    return Check("capabilities", True, f"{who} has {', '.join(sorted(has))}", "", "ebpf")


def bpf_load(probes: Probes) -> Check:
    """Check that a BPF program can be loaded and attached, by doing it."""
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
    """Report unprivileged_bpf_disabled; tracing programs need CAP_BPF and CAP_PERFMON whatever its value."""
    value = _sysctl("kernel/unprivileged_bpf_disabled")
    text = "unknown" if value is None else str(value)
    return Check(
        "unprivileged-bpf", True, f"kernel.unprivileged_bpf_disabled is {text} (no matter: tracing needs CAP_BPF)"
    )


def lockdown() -> Check:
    """Check for the kernel's lockdown mode `confidentiality`, which forbids programs to read kernel memory."""
    text = _read("/sys/kernel/security/lockdown")
    if text is None:
        return Check("lockdown", True, "kernel lockdown: not known (bpf-load is the proof)")
    level = re.search(r"\[(\w+)\]", text)
    name = level[1] if level else text
    if name == "confidentiality":
        return Check("lockdown", False, "kernel lockdown is 'confidentiality'", "boot with lockdown=integrity", "ebpf")
    return Check("lockdown", True, f"kernel lockdown: {name}")


def perf_event(probes: Probes) -> Check:
    """Check that mode perf-switch's events and ring buffers can be opened on every CPU, by doing it."""
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
    """Check perf_event_paranoid: 2 allows mode perf-switch to ordinary users; Debian's and Ubuntu's 3 and 4 allow nothing."""
    value = _sysctl("kernel/perf_event_paranoid")
    if value is None:
        return Check("perf-paranoid", False, "kernel.perf_event_paranoid is not there: no perf events in this kernel")
    if value > 2 and not effective_capabilities() & {"CAP_PERFMON", "CAP_SYS_ADMIN"}:
        message = f"kernel.perf_event_paranoid is {value}: many distributions then refuse ordinary users"
        return Check("perf-paranoid", False, message, remedies.for_perf(value, False))
    return Check("perf-paranoid", True, f"kernel.perf_event_paranoid is {value}")


def ring_memory(probes: Probes) -> Check:
    """Check how much memory this user may lock, which limits the ring buffers of mode perf-switch."""
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
    """Check the limit of open files: attaching in mode perf-switch takes one per thread and CPU."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    cpus = os.cpu_count() or 1
    threads = limit // cpus
    message = f"attaching in mode perf-switch reaches {threads} threads ({limit} files, {cpus} CPUs)"
    return Check("open-files", threads >= 500, message, "" if threads >= 500 else "ulimit -Hn 1048576   (as root)")


def seccomp() -> Check:
    """Check for a container engine's seccomp filter, which may refuse bpf() and perf_event_open()."""
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
