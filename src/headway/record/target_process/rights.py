"""Acts on the files of another process with the rights of that process, never with those of root.

Whatever a process shows of its file system (/proc/PID/root, its /tmp) it controls: names may lead anywhere, and change
between two looks. So headway, as root, does there only what the process could do itself: with its user, its group, its
supplementary groups and no capability: in a process of its own, which changes its ids and can be left behind (apart.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from headway.record.target_process.apart import apart, opened_apart
from headway.record.target_process.deadline import Deadline, within
from headway.record.target_process.served_files import mount_of

T = TypeVar("T")

_CALLS = {  # setgroups, setresgid, setresuid, capset
    "x86_64": (116, 119, 117, 126),
    "aarch64": (159, 149, 147, 91),
}
_CAPABILITIES_V3 = 0x20080522
_PR_SET_DUMPABLE = 4


@dataclass(frozen=True, slots=True)
class Rights:
    """The ids that a process acts on files with. `is_ours`: it is as good as headway itself (same user, same view of files).

    Root in another mount or user namespace, or below another root directory, is not: a container's root is a stranger.
    """

    uid: int
    gid: int
    groups: tuple[int, ...]
    is_ours: bool


def rights_of(pid: int) -> Rights:
    """Return the rights of process `pid`. Raises ProcessLookupError, or PermissionError where this user may not look."""
    try:
        status = read_status(pid)
        uid, gid = int(status["Uid"].split()[1]), int(status["Gid"].split()[1])
        groups = tuple(map(int, status.get("Groups", "").split()))
        return Rights(uid, gid, groups, uid == os.geteuid() and sees_our_files(pid) and _same_namespace(pid, "user"))
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None


def read_status(pid: int) -> dict[str, str]:
    """Return /proc/PID/status by key. Raises ProcessLookupError.

    Lines end at line feeds alone: these the kernel escapes in the process's name, other characters that end lines it doesn't.
    """
    try:
        text = Path(f"/proc/{pid}/status").read_bytes().decode(errors="replace")
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    pairs = (line.partition(":") for line in text.split("\n"))
    return {key: value.strip() for key, _, value in pairs}


def sees_our_files(pid: int) -> bool:
    """Return whether a path means the same file to process `pid` as to us: same mount namespace, same root directory.

    A root directory of another mount is not asked for anything: who serves it may never answer.
    """
    if not _same_namespace(pid, "mnt"):
        return False
    links = (f"/proc/{pid}/root", "/proc/self/root")
    theirs, ours = (os.open(link, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for link in links)
    try:
        return mount_of(theirs) == mount_of(ours) and os.path.sameopenfile(theirs, ours)
    finally:
        os.close(theirs)
        os.close(ours)


def _same_namespace(pid: int, kind: str) -> bool:
    return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")


def act_as(rights: Rights, deadline: Deadline, action: Callable[[], T], *uses: int) -> T:
    """Run `action` with these rights and return its result, which must be data; `uses`: the descriptors that it needs.

    Only root can and need change; anybody else acts as the user they are. Raises what `action` raises, TimeoutError at the
    deadline, Interrupted when somebody interrupted.
    """
    if acts_here(rights):
        return within(deadline, action)

    def changed() -> T:
        take(rights)
        return action()

    return apart(deadline, changed, uses)


def opened_as(rights: Rights, deadline: Deadline, action: Callable[[], int], *uses: int) -> int:
    """Run `action`, which opens a file, as `act_as` does, and return the descriptor."""
    if acts_here(rights):
        return within(deadline, action)

    def changed() -> int:
        take(rights)
        return action()

    return opened_apart(deadline, changed, uses)


def acts_here(rights: Rights) -> bool:
    """Return whether headway acts with these rights in its own process: it has them, or can have no others."""
    return os.geteuid() != 0 or rights.is_ours


def take(rights: Rights) -> None:
    """Give the calling thread these rights for good, and no capability. Raises OSError."""
    import ctypes

    setgroups, setresgid, setresuid, capset = _CALLS[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *arguments: object) -> None:
        if libc.syscall(ctypes.c_long(number), *arguments) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    groups = (ctypes.c_uint32 * len(rights.groups))(*rights.groups)
    keep = ctypes.c_long(-1)
    call(setgroups, ctypes.c_long(len(rights.groups)), groups)
    call(setresgid, keep, ctypes.c_long(rights.gid), keep)
    call(setresuid, keep, ctypes.c_long(rights.uid), keep)
    # A container's root without capabilities that sees our processes could trace this one from now on, and answer in its place.
    if libc.prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(0), *[ctypes.c_ulong(0)] * 3) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # A change from root to somebody drops the effective capabilities; one to a container's root does not.
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
    call(capset, header, none)
