"""Facts about the host: kernel, CPU topology, frequency, hypervisor, cgroup limits, and the CPUs' cumulative times.

Everything is read from /proc and /sys. A fact that this machine does not give is None, never a guess. Times are
nanoseconds.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SYS_CPU = Path("/sys/devices/system/cpu")
_SYS_NODE = Path("/sys/devices/system/node")


def parse_cpu_list(text: str) -> list[int]:
    """Parse a kernel CPU list such as "0-3,8,10-14:2" into sorted distinct CPUs.

    Raises ValueError with a reason fit for a message.
    """
    cpus: set[int] = set()
    for part in filter(None, (part.strip() for part in text.strip().split(","))):
        span, _, stride = part.partition(":")
        low, dash, high = span.partition("-")
        numbers = [low, high if dash else low, stride or "1"]
        if not all(number.isascii() and number.isdigit() for number in numbers):
            raise ValueError(f"{part!r} is not a CPU number or a range such as 0-3")
        first, last, step = map(int, numbers)
        if last < first or step == 0:
            raise ValueError(f"{part!r} is an empty range")
        if last > 1 << 16:
            raise ValueError(f"{part!r}: no machine has that many CPUs")
        cpus.update(range(first, last + 1, step))
    if not cpus:
        raise ValueError("it names no CPU")
    return sorted(cpus)


def format_cpu_list(cpus: list[int] | set[int]) -> str:
    """Format CPUs as the shortest kernel CPU list: {0, 1, 2, 5} is "0-2,5"."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def online_cpus() -> list[int]:
    """Return the CPUs that are online."""
    text = _read(_SYS_CPU / "online")
    return parse_cpu_list(text) if text else sorted(cpu_times())  # a container may hide /sys


def host_facts() -> dict[str, Any]:
    """Return the manifest's `host`: kernel, hypervisor, online CPUs, their topology, frequency policy and memory."""
    cpus = online_cpus()
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu_model": _cpu_model(),
        "hypervisor": _hypervisor(),
        "cpus_online": cpus,
        "topology": [_topology(cpu) for cpu in cpus],
        "memory_nodes": memory_nodes(),
        "numa_balancing": balances_nodes(),
        "governor": _policy(cpus, "scaling_governor"),
        "frequency_driver": _policy(cpus, "scaling_driver"),
        "boost": _boost(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "clock_ticks_per_second": os.sysconf("SC_CLK_TCK"),
    }


def memory_nodes() -> list[int] | None:
    """Return the NUMA nodes that are online, those without memory or without CPUs included; None: the kernel does not say."""
    try:
        return parse_cpu_list((_SYS_NODE / "online").read_text())
    except (OSError, ValueError):
        return None


def balances_nodes() -> bool | None:
    """Return whether the kernel moves memory and threads between nodes by itself; None: it does not say, or can't."""
    found = _read(Path("/proc/sys/kernel/numa_balancing"))
    return None if found is None else found != "0"


def _topology(cpu: int) -> dict[str, Any]:
    """Return {cpu, core, package, node, smt_siblings} of one CPU; siblings exclude the CPU itself."""
    place = _SYS_CPU / f"cpu{cpu}"
    siblings = _read(place / "topology/thread_siblings_list")
    nodes = [entry.name[4:] for entry in place.glob("node[0-9]*")]
    return {
        "cpu": cpu,
        "core": _int(_read(place / "topology/core_id")),
        "package": _int(_read(place / "topology/physical_package_id")),
        "node": int(nodes[0]) if nodes else None,
        "smt_siblings": [other for other in parse_cpu_list(siblings) if other != cpu] if siblings else [],
    }


def _policy(cpus: list[int], name: str) -> str | None:
    """Return a cpufreq setting: one word when all CPUs agree, else all words; None without frequency control."""
    values = {_read(_SYS_CPU / f"cpu{cpu}/cpufreq/{name}") for cpu in cpus}
    return ", ".join(sorted(value for value in values if value)) or None


def _boost() -> bool | None:
    """Return whether the CPUs may exceed their base frequency; None where the machine does not say."""
    boost = _read(_SYS_CPU / "cpufreq/boost")
    no_turbo = _read(_SYS_CPU / "intel_pstate/no_turbo")
    if boost is not None:
        return boost == "1"
    return no_turbo == "0" if no_turbo is not None else None


def _cpu_model() -> str | None:
    return next((line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")), None)


def _cpuinfo() -> list[str]:
    return (_read(Path("/proc/cpuinfo")) or "").splitlines()


def _hypervisor() -> str | None:
    """Return who hosts this machine, or None on bare metal. Only the CPU's hypervisor flag decides whether."""
    flags = next((line for line in _cpuinfo() if line.startswith("flags")), "")
    named = _read(Path("/sys/hypervisor/type"))
    vendor = " ".join(
        filter(None, (_read(Path("/sys/class/dmi/id") / name) for name in ("sys_vendor", "product_name")))
    )
    if " hypervisor" not in flags and not named:
        # ARM has no such flag: there only the firmware's name tells.
        virtual = ("KVM", "QEMU", "Xen", "VMware", "Virtual", "Amazon EC2", "Google Compute")
        return vendor if platform.machine() == "aarch64" and any(name in vendor for name in virtual) else None
    clocks = _read(Path("/sys/devices/system/clocksource/clocksource0/available_clocksource")) or ""
    by_clock = {"kvm-clock": "KVM", "hyperv_clocksource": "Hyper-V", "xen": "Xen", "vmware": "VMware"}
    kind = named or next((name for clock, name in by_clock.items() if clock in clocks), "unknown hypervisor")
    return f"{kind} ({vendor})" if vendor else kind


# --- what the CPUs did ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """One CPU's cumulative times since boot in ns, with a resolution of a clock tick (about 10 ms)."""

    busy_ns: int  # user, nice, system, irq and softirq: work of any process
    steal_ns: int  # the host ran something else
    idle_ns: int  # idle and iowait


def cpu_times() -> dict[int, CpuTimes]:
    """Return every online CPU's times from /proc/stat. Guest time is within user time, so it is not added."""
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    times: dict[int, CpuTimes] = {}
    with open("/proc/stat", "rb") as stat:
        for line in stat:
            if not line.startswith(b"cpu"):
                break
            name, *fields = line.split()
            if name == b"cpu":
                continue
            user, nice, system, idle, iowait, irq, softirq, steal, *_ = (int(field) * tick_ns for field in fields)
            times[int(name[3:])] = CpuTimes(user + nice + system + irq + softirq, steal, idle + iowait)
    return times


def frequencies_khz() -> dict[int, int]:
    """Return each CPU's current frequency in kHz; empty where the machine does not report it (most virtual ones)."""
    found: dict[int, int] = {}
    for policy in _SYS_CPU.glob("cpufreq/policy*/scaling_cur_freq"):
        khz = _int(_read(policy))
        cpus = _read(policy.parent / "affected_cpus")
        for cpu in (cpus or "").split():
            if khz is not None:
                found[int(cpu)] = khz
    return found


# --- cgroup limits -------------------------------------------------------------------------------------------------


_INNERMOST, _OUTERMOST = 8, 24
"""So many levels of cgroups are looked at."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The tightest CPU quota that applies to a process: `cores` (None: none), and how long it has throttled it."""

    cores: float | None
    throttled_ns: int | None


def quota(groups: Iterable[Path]) -> Quota:
    """Return the CPU quota that applies in `groups` (see `cgroups`): the smallest of a cgroup's and its ancestors'."""
    limits: list[float] = []
    throttled_ns: int | None = None
    for group in groups:
        limit = _group_limit(group)
        if limit is not None:
            limits.append(limit)
            throttled_ns = max(throttled_ns or 0, _throttled_ns(group) or 0)
    return Quota(min(limits, default=None), throttled_ns)


def memory_limit(groups: Iterable[Path]) -> int | None:
    """Return the tightest memory limit in bytes in `groups` (see `cgroups`), or None."""
    names = ("memory.max", "memory.limit_in_bytes")  # of version 2 and version 1, where no limit is a huge number
    limits = [_int(_read(group / name)) for group in groups for name in names]
    return min((limit for limit in limits if limit is not None and limit < 1 << 60), default=None)


def cgroups(pid: int, controller: str = "cpu", proc: Path = Path("/proc")) -> Iterator[Path]:
    """Yield the directories of the process's cgroup for `controller` and of its ancestors, version 1 or 2, as mounted here."""
    paths = {}
    for line in _lines(proc / str(pid) / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            paths[controllers != ""] = path
    for line in _lines(proc / "self/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        is_v1 = kind == "cgroup" and controller in options.split(" ")[-1].split(",")
        if (is_v1 or kind == "cgroup2") and is_v1 in paths:
            root, mount = before.split(" ")[3:5]
            yield from _with_ancestors(Path(mount), os.path.relpath(paths[is_v1], root))


def _with_ancestors(mount: Path, relative: str) -> Iterator[Path]:
    """Yield mount/relative and the directories above it up to `mount`; only `mount` where it lies outside.

    Of very many levels the innermost and the outermost ones: whoever may make cgroups can nest a thousand, and each look at one
    of them takes the longer the deeper it lies.
    """
    parts = [] if relative.startswith("..") else [part for part in Path(relative).parts if part != "."]
    lengths = [*range(len(parts), -1, -1)]
    if len(lengths) > _INNERMOST + _OUTERMOST:
        lengths = lengths[:_INNERMOST] + lengths[-_OUTERMOST:]
    for length in lengths:
        yield mount.joinpath(*parts[:length])


def _group_limit(group: Path) -> float | None:
    """Return the quota in cores that one cgroup directory sets, or None."""
    both = (_read(group / "cpu.max") or "").split()
    if not both:
        both = [_read(group / "cpu.cfs_quota_us") or "-1", _read(group / "cpu.cfs_period_us") or "0"]
    quota_us, period_us = (_int(word) for word in both)
    return quota_us / period_us if quota_us and period_us and quota_us > 0 else None


def limited(groups: Iterable[Path]) -> list[Path]:
    """Return those of `groups` (see `cgroups`) that set a CPU quota."""
    return [group for group in groups if _group_limit(group) is not None]


def _throttled_ns(group: Path) -> int | None:
    return parse_throttled(_read(group / "cpu.stat") or "")


def parse_throttled(text: str) -> int | None:
    """Parse the throttled time in ns from a cgroup's cpu.stat: microseconds in version 2, ns in version 1."""
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "throttled_usec":
            return int(value) * 1000
        if key == "throttled_time":
            return int(value)
    return None


def _lines(path: Path) -> list[str]:
    """Return the lines of a table of the kernel's, none where it can't be read.

    They end at line feeds alone, which the kernel escapes in names; anybody may give a mount or a cgroup a name with other
    characters that end lines elsewhere.
    """
    try:
        return [os.fsdecode(line) for line in path.read_bytes().split(b"\n") if line]
    except OSError:
        return []


def _read(path: Path) -> str | None:
    """Return a small file's text without surrounding blanks, or None when it can't be read or is empty."""
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None


def _int(text: str | None) -> int | None:
    """Return the integer that `text` is, or None (cpu.max may say "max")."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else None
