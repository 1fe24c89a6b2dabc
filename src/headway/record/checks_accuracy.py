"""The checks of `headway doctor` that do not decide the mode but what can be known or trusted: time, Java, room."""

from __future__ import annotations

import errno
import gzip
import os
import platform
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headway.record import host, sampling
from headway.record.capabilities import Check

if TYPE_CHECKING:
    from headway.record.checks import Probes

_ROOM_BYTES = 2 << 30
_JDK_OLDEST, _JDK_NEWEST = 17, 25


def run_all(probes: Probes) -> list[Check]:
    """Run them in the order they are printed."""
    return [steal_clock(), hardware_counters(probes), cgroup_quota(), jdk(), attach(), sampler(), disk_room()]


def kernel_option(name: str) -> bool | None:
    """Return whether the running kernel was built with CONFIG_`name`; None where its configuration is not told."""
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
    """On a virtual machine: is the time that the host took kept out of a thread's executed time?

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
    """Only samples of cycles, instructions, cache misses and the like need them; most virtual machines have none."""
    number = probes.hardware["errno"]
    if number == 0:
        return Check("hardware-counters", True, "hardware counters can be read (--sample cycles, instructions, ...)")
    if number is None:
        return Check("hardware-counters", False, "hardware counters were not tried: the compiled part is missing")
    why = "this machine has none" if number in (errno.ENOENT, errno.EOPNOTSUPP) else os.strerror(number)
    return Check("hardware-counters", False, f"no hardware counters: {why} (--sample cpu, alloc and wall need none)")


def cgroup_quota() -> Check:
    """A CPU quota stops all threads at once for part of each period: waiting that is not the program's own."""
    cores = host.quota(host.cgroups(os.getpid())).cores
    if cores is None:
        return Check("cgroup-quota", True, "no CPU quota")
    message = f"a cgroup quota of {cores:g} cores: threads are stopped when it is used up, and wait as runnable"
    return Check("cgroup-quota", False, message, "run where cpu.max is 'max', or compare only runs with the same quota")


def jdk_release(java: str) -> str | None:
    """Return the version that the JDK of this `java` command states in its release file, or None."""
    home = Path(os.path.realpath(java)).parent.parent
    try:
        found = re.search(r'^JAVA_VERSION="([^"]+)"', (home / "release").read_text(), re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else None


def jdk() -> Check:
    """Find the Java that a plain `java` command would start."""
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
    """Attaching to a JVM meets it at a socket in its temporary directory, as its own user (or root)."""
    place = tempfile.gettempdir()
    if not os.access("/tmp", os.W_OK | os.X_OK):
        return Check(
            "attach", False, "/tmp can't be written: no JVM can be attached to", "mount a writable /tmp", "java"
        )
    whose = "any user's JVMs" if os.geteuid() == 0 else "JVMs of your own user"
    note = "" if place == "/tmp" else f" (JVMs meet in /tmp, not in {place})"
    return Check("attach", True, f"{whose} can be attached to{note}", "", "java")


def sampler() -> Check:
    """async-profiler, which takes stack samples, comes along for two kinds of processors."""
    path = sampling.library()
    if path is None:
        message = f"no stack samples: async-profiler is not built for {platform.machine()}"
        return Check("sampling", False, message, "record without --sample", "java")
    if not path.exists():
        return Check("sampling", False, f"no stack samples: {path} is missing", "make setup", "java")
    return Check("sampling", True, "stack samples can be taken: cpu, alloc, wall", "", "java")


def disk_room() -> Check:
    """A switch takes up to 40 bytes while recording; a busy machine makes 100,000 a second."""
    place = os.getcwd()
    room = shutil.disk_usage(place).free
    message = f"{room / (1 << 30):.1f} GiB free in {place}"
    if not os.access(place, os.W_OK):
        return Check("disk", False, f"{place} can't be written", "headway record -o ELSEWHERE.headway ...")
    enough = room >= _ROOM_BYTES
    return Check("disk", enough, message, "" if enough else "headway record -o ELSEWHERE.headway ...")
