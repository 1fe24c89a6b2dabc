"""The commands that remove an obstacle, as printed by `headway doctor` and in notices.

Each was tried (tests/e2e/record/test_doctor.py) where a machine without a container engine can try it. `setcap` on the
Python that runs headway is not among them: every script of that interpreter would then have the powers, not headway alone.
"""

from __future__ import annotations

import os
import shutil
import sys

_CAPABILITIES = "+bpf,+perfmon"


def headway_command() -> str:
    """Return the command that starts this headway under sudo, which has a PATH of its own."""
    started = shutil.which(sys.argv[0]) if sys.argv and sys.argv[0] else None
    if started and os.path.basename(started).startswith("headway"):
        return os.path.realpath(started) if os.path.islink(started) else os.path.abspath(started)
    # -P: what lies in the current directory, which may be anybody's, would be imported in the place of modules.
    return shutil.which("headway") or f"{sys.executable} -P -m headway"


def container() -> str | None:
    """Return what kind of container this process is in, or None.

    Files such as /.dockerenv are hints only: virtual machines whose disk was made from a container image hold them too.
    What makes a container are its namespaces, of which the initial ones have fixed numbers (linux/proc_ns.h).
    """
    initial = {"pid": "pid:[4026531836]", "uts": "uts:[4026531838]", "ipc": "ipc:[4026531839]"}
    try:
        if all(os.readlink(f"/proc/self/ns/{kind}") == name for kind, name in initial.items()):
            return None
    except OSError:
        pass
    for mark, name in (("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")):
        if os.path.exists(mark):
            return name
    return "Kubernetes" if "KUBERNETES_SERVICE_HOST" in os.environ else "a container"


def for_ebpf() -> str:
    """Return the command that gives headway CAP_BPF and CAP_PERFMON while the program runs as its own user."""
    if os.geteuid() == 0 or container():
        return (
            "docker run --cap-add BPF --cap-add PERFMON -v /sys/kernel/btf:/sys/kernel/btf:ro IMAGE headway record ..."
        )
    sudo = "" if shutil.which("sudo") is None else "sudo -E "
    as_root = "" if sudo else "   (as root, with your ids)"
    ids = f"--reuid={os.getuid()} --regid={os.getgid()} --init-groups"
    return (
        f'{sudo}env PATH="$PATH" setpriv {ids} --inh-caps={_CAPABILITIES} --ambient-caps={_CAPABILITIES} '
        f"{headway_command()} record ...{as_root}"
    )


def for_btf() -> str:
    """Return the remedy for missing kernel type information."""
    if container():
        return "docker run -v /sys/kernel/btf:/sys/kernel/btf:ro ..."
    return "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (those of Debian 11, Ubuntu 20.10, RHEL 8.2 and later are)"


def for_perf(paranoid: int | None, filtered: bool) -> str:
    """Return the remedy that opens perf events to ordinary users; `filtered`: a seccomp filter is active."""
    if paranoid is not None and paranoid > 2:
        return "sudo sysctl kernel.perf_event_paranoid=2"
    if filtered:
        return "docker run --cap-add PERFMON ...   (or --security-opt seccomp=PROFILE that allows perf_event_open)"
    return "ask who administers this machine which security module denies perf_event_open"
