"""Command: makes the kernel refuse perf_event_open and bpf, as a container engine's filter does, then execs.

Arguments: the system calls to refuse, joined by commas (perf_event_open, bpf); the command.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"perf_event_open": 298, "bpf": 321},
    "aarch64": {"perf_event_open": 241, "bpf": 280},
}
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = (
    0x20,
    0x15,
    0x06,
)  # classic BPF: BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def refuse(numbers: list[int]) -> None:
    """Install the seccomp filter for this process and its descendants."""
    program = [(LOAD_NUMBER, 0, 0, 0)]
    program += [(JUMP_IF_EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    filtered = Filter(len(program), ctypes.addressof(code))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, None, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filtered), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse([NUMBERS[platform.machine()][name] for name in sys.argv[1].split(",")])
    os.execvp(sys.argv[2], sys.argv[2:])
