"""A file system in user space (FUSE) that never answers most requests: `python stuck_fuse.py DIRECTORY [WORD...]`.

It speaks the kernel's protocol (linux/fuse.h) by /dev/fuse itself. It answers what the mount needs, and then what the words say:
`attributes` of what is known, `refusals` of what a file system needs not have, `lookup`: every name is there, a directory if it
is `tmp` and a file of 4096 bytes otherwise, `open`. Reads, creations, flushes and all else are taken and not answered. It prints
`ready` once it is mounted; whoever waits is let go when it ends.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys

_IN, _OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_ATTRIBUTES = struct.Struct("<6Q10I")
_LOOKUP, _GETATTR, _OPEN, _STATFS, _INIT, _OPENDIR = 1, 3, 14, 17, 26, 27
_OPTIONAL = (22, 23, 25, 34)
"""GETXATTR, LISTXATTR, FLUSH, ACCESS: with `refusals` they are answered as not supported."""
_ROOT = 1


def attributes_of(node: int, directories: set[int]) -> bytes:
    mode = stat.S_IFDIR | 0o1777 if node in directories else stat.S_IFREG | 0o666
    return _ATTRIBUTES.pack(node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


def mount(directory: str) -> int:
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"stuck", os.fsencode(directory), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), directory)
    return fd


def serve(fd: int, words: set[str]) -> None:
    directories = {_ROOT}
    names: dict[tuple[int, bytes], int] = {}
    for_init = struct.pack("<4I2H2I2HI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 0, 0, 0)
    while True:
        request = os.read(fd, 1 << 20)
        _, opcode, unique, node, *_ = _IN.unpack_from(request)
        body = None
        if opcode == _INIT:
            body = for_init
        elif opcode == _GETATTR and "attributes" in words:
            body = struct.pack("<QII", 0, 0, 0) + attributes_of(node, directories)
        elif opcode == _LOOKUP and "lookup" in words:
            name = request[_IN.size :].rstrip(b"\0")
            child = names.setdefault((node, name), 100 + len(names))
            if name == b"tmp":
                directories.add(child)
            body = struct.pack("<4Q2I", child, 0, 0, 0, 0, 0) + attributes_of(child, directories)
        elif opcode in (_OPEN, _OPENDIR) and "open" in words:
            body = struct.pack("<QII", 7, 0, 0)
        elif opcode == _STATFS and "refusals" in words:
            body = struct.pack("<5Q4I24x", 100, 100, 100, 100, 100, 4096, 255, 4096, 0)
        elif opcode in _OPTIONAL and "refusals" in words:
            os.write(fd, _OUT.pack(_OUT.size, -errno.ENOSYS, unique))
        if body is not None:
            os.write(fd, _OUT.pack(_OUT.size + len(body), 0, unique) + body)


def main() -> None:
    fd = mount(sys.argv[1])
    print("ready", flush=True)
    serve(fd, {*sys.argv[2:]})


main()
