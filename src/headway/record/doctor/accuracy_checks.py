"""The checks of `headway doctor` on accuracy and environment: clocks, counters, quota, Java, disk space."""

from __future__ import annotations

import errno
import gzip
import os
import platform
import re
import shutil
import tempfile
from pathlib import Path

from headway.model.native_part import build_command
from headway.record.doctor.types import Check, Probes
from headway.record.machine import host
from headway.record.request import sampling

_ROOM_BYTES = 2 << 30
_JDK_OLDEST, _JDK_NEWEST = 17, 25


def run_all(probes: Probes) -> list[Check]:
    """Run these checks in the order they are printed."""
    return [steal_clock(), hardware_counters(probes), cgroup_quota(), jdk(), attach(), sampler(), disk_room()]


def kernel_option(name: str) -> bool | None:
    """Return whether the running kernel was built with CONFIG_`name`; None where its configuration is unavailable."""
    text = None
    try:
        text = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode(errors="replace")
    except OSError:
        try:
            text = Path(f"/boot/config-{os.uname().release}").read_text(errors="replace")
        except OSError:
            return None
    return re.search(rf"^CONFIG_{name}=[ym]$", text, re.MULTILINE) is not None


def steal_clock() -> Check:
    """Check on virtual machines whether time stolen by the host is left out of threads' executed time.

    The scheduler subtracts it from sum_exec_runtime when CONFIG_PARAVIRT_TIME_ACCOUNTING is set and the hypervisor gives
    a steal clock, which shows as a steal column in /proc/stat that is not zero.
    """
    hypervisor = host.host_facts()["hypervisor"]
    if hypervisor is None:
        return Check("steal", True, "no hypervisor: no time can be stolen")
    stolen = sum(times.steal_ns for times in host.cpu_times().values())
    built = kernel_option("PARAVIRT_TIME_ACCOUNTING")
    busy = sum(times.busy_ns for times in host.cpu_times().values())
    share = 100 * stolen / max(1, stolen + busy)
    if stolen and built:
        message = (
            f"{hypervisor} tells what it steals ({share:.1f} % of busy time since boot): running time is corrected"
        )
        return Check("steal", True, message)
    if built is False:
        message = f"{hypervisor} may steal CPU time, and this kernel counts that as running time"
        return Check("steal", False, message, "boot a kernel built with CONFIG_PARAVIRT_TIME_ACCOUNTING=y")
    unknown = "its kernel's configuration is not told" if built is None else "none was stolen since boot"
    return Check("steal", True, f"{hypervisor}: {unknown}; each recording says whether time was stolen")


def hardware_counters(probes: Probes) -> Check:
    """Check for hardware counters, which samples of cycles or cache misses need; most virtual machines have none."""
    number = probes.hardware["errno"]
    if number == 0:
        return Check("hardware-counters", True, "hardware counters can be read (--sample cycles, instructions, ...)")
    if number is None:
        return Check("hardware-counters", False, "hardware counters were not tried: the compiled part is missing")
    why = "this machine has none" if number in (errno.ENOENT, errno.EOPNOTSUPP) else os.strerror(number)
    return Check("hardware-counters", False, f"no hardware counters: {why} (--sample cpu, alloc and wall need none)")


def cgroup_quota() -> Check:
    """Check for a CPU quota, which stops all threads together for part of each period."""
    cores = host.quota(host.cgroups(os.getpid())).cores
    if cores is None:
        return Check("cgroup-quota", True, "no CPU quota")
    message = f"a cgroup quota of {cores:g} cores: threads are stopped when it is used up, and wait as runnable"
    return Check("cgroup-quota", False, message, "run where cpu.max is 'max', or compare only runs with the same quota")


def jdk_release(java: str) -> str | None:
    """Return the version in the release file of the JDK that has this `java` command, or None."""
    home = Path(os.path.realpath(java)).parent.parent
    try:
        found = re.search(r'^JAVA_VERSION="([^"]+)"', (home / "release").read_text(), re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else None


def jdk() -> Check:
    """Check which Java a plain `java` command starts."""
    java_home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") or (shutil.which(f"{java_home}/bin/java") if java_home else None)
    if java is None:
        message = "no java command on PATH (programs that bring their own are recorded all the same)"
        return Check("jdk", False, message, "install a JDK, or set PATH", "java")
    version = jdk_release(java)
    if version is None:
        return Check("jdk", True, f"{java}: version not told by a release file", "", "java")
    major = int(version.removeprefix("1.").split(".")[0].split("-")[0].split("+")[0])
    if _JDK_OLDEST <= major <= _JDK_NEWEST:
        return Check("jdk", True, f"{java} is Java {version}", "", "java")
    message = f"{java} is Java {version}; headway is tested with {_JDK_OLDEST} to {_JDK_NEWEST}"
    return Check("jdk", False, message, "use a JDK of these versions, or --no-agent", "java")


def attach() -> Check:
    """Check whether JVMs can be attached to: through a socket in their temporary directory, as their user or root."""
    place = tempfile.gettempdir()
    if not os.access("/tmp", os.W_OK | os.X_OK):
        return Check(
            "attach", False, "/tmp can't be written: no JVM can be attached to", "mount a writable /tmp", "java"
        )
    whose = "any user's JVMs" if os.geteuid() == 0 else "JVMs of your own user"
    note = "" if place == "/tmp" else f" (JVMs meet in /tmp, not in {place})"
    return Check("attach", True, f"{whose} can be attached to{note}", "", "java")


def sampler() -> Check:
    """Check for async-profiler, which takes stack samples and is included for two processor architectures."""
    path = sampling.library()
    if path is None:
        message = f"no stack samples: async-profiler is not built for {platform.machine()}"
        return Check("sampling", False, message, "record without --sample", "java")
    if not path.exists():
        return Check("sampling", False, f"no stack samples: {path} is missing", build_command(), "java")
    return Check("sampling", True, "stack samples can be taken: cpu, alloc, wall", "", "java")


def disk_room() -> Check:
    """Check for disk space: a switch takes up to 40 bytes while recording, and a busy machine makes 100,000 a second."""
    place = os.getcwd()
    room = shutil.disk_usage(place).free
    message = f"{room / (1 << 30):.1f} GiB free in {place}"
    if not os.access(place, os.W_OK):
        return Check("disk", False, f"{place} can't be written", "headway record -o ELSEWHERE.headway ...")
    enough = room >= _ROOM_BYTES
    return Check("disk", enough, message, "" if enough else "headway record -o ELSEWHERE.headway ...")
