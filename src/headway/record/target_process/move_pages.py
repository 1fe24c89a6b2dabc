"""Asks on which memory nodes pages of a process are, or moves them: the system call move_pages(2)."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from array import array
from dataclasses import dataclass
from typing import Any

from headway.record.target_process.processes import Process

PAGE = os.sysconf("SC_PAGESIZE")
_CALLS = {"x86_64": 279, "aarch64": 239}
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class MappedMemory:
    """Addresses of a process's memory."""

    start: int
    end: int


def nodes_of(process: Process, addresses: array[int]) -> array[int]:
    """Return the node of each page, below zero where there is none. Raises OSError; of a process that has ended ESRCH."""
    return move_pages(process, addresses, None, 0)


def move_pages(process: Process, addresses: array[int], nodes: array[int] | None, flags: int) -> array[int]:
    """Move pages to nodes, None: to none, and return the call's status of each page. Raises OSError as `nodes_of`."""
    number = _CALLS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if not process.is_alive:  # its number may be another's by now
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    count = len(addresses)
    status = array("i", bytes(4 * count))
    given = None if nodes is None else _pointer(nodes)
    words = (process.pid, ctypes.c_ulong(count), _pointer(addresses), given, _pointer(status), flags)
    if _LIBC.syscall(number, *words) < 0:
        reason = ctypes.get_errno()
        raise OSError(reason, os.strerror(reason))
    return status


def _pointer(values: array[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.buffer_info()[0])
