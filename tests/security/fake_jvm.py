"""A process that looks like a HotSpot JVM from outside and means harm: it is run as a program, by another user than headway's.

`python fake_jvm.py HOW [FILE] [@ARGUMENTS...]`: it maps a file called libjvm.so, handles SIGQUIT, and answers attach requests on
the socket in /tmp in the manner HOW, one of HOWS. It prints a line once it is ready.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

TMP = Path("/tmp")
PID = os.getpid()
TEBIBYTE = 1 << 40
HOWS = (
    *("silent", "no socket", "drips", "floods", "garbage", "no records", "three bytes", "another's pid", "a fifo"),
    *("a fifo for a trigger", "another listens", "listened as another", "a link", "fifos", "directories", "a tebibyte"),
    *("performance data", "bind mounts", "exchanges", "names without end", "samples without end"),
    *("a table", "a whole table", "a leased table", "a table behind links"),
)
"""All manners. FILE is what `a link`, `bind mounts` and `exchanges` lead to, or what `... without end` passes for its own."""
ANOTHER = 54321
"""A user whom nobody has."""


def look_like_a_jvm() -> None:
    """Map a file with the name that headway looks for, and expect SIGQUIT as a JVM does."""
    directory = Path(tempfile.mkdtemp(prefix="fake-jvm-"))
    library = directory / "libjvm.so"
    library.write_bytes(bytes(4096))
    fd = os.open(library, os.O_RDONLY)
    globals()["mapping"] = mmap.mmap(fd, 4096, prot=mmap.PROT_READ)


def spool_of(request: bytes) -> Path | None:
    """The file of records that a request to load the agent is about."""
    for word in request.split(b"\0"):
        if word.startswith(b"spool="):
            options = dict(part.partition(b"=")[::2] for part in word.split(b","))
            return Path(os.fsdecode(options[b"spool"]), f"agent-{PID}.spool")
    return None


def header(pid: int = PID) -> bytes:
    return struct.pack("<8sIIIII", b"HWSPOOL\0", 1, 3, 3, 0, pid).ljust(4096, b"\0")


def reply_to(connection: socket.socket, how: str, victim: Path) -> None:
    request = connection.recv(65536)
    spool = spool_of(request)
    if how == "silent":
        time.sleep(1000)
    elif how == "drips":
        while True:
            connection.sendall(b"x")
            time.sleep(0.2)
    elif how == "floods":
        while True:
            connection.sendall(bytes(1 << 16))
    elif how == "garbage":
        connection.sendall(b"\xff\xfe\x1b[31m return code: 99999999999999999999 \x00\n" * 10)
    elif how == "no records":
        connection.sendall(b"0\nreturn code: 0\n")
    elif spool is not None:
        with contextlib.suppress(OSError):
            spoil(spool, how, victim)
        connection.sendall(b"0\nreturn code: 0\n")
    else:
        connection.sendall(b"0\nreturn code: 0\n")


def spoil(spool: Path, how: str, victim: Path) -> None:
    """Do to the file of records, or beside it, what an agent never would."""
    if how in ("three bytes", "another's pid"):
        spool.write_bytes(b"abc" if how == "three bytes" else header(PID + 1))
    elif how == "a tebibyte":
        with spool.open("r+b") as file:
            file.write(header())
            file.truncate(TEBIBYTE)
        with spool.with_name(f"locks-{PID}.table").open("wb") as file:
            file.truncate(TEBIBYTE)
    elif "without end" in how:
        pass_for_ones_own(spool, how, victim.read_bytes())
    elif how == "a link":
        spool.write_bytes(header())
        spool.unlink()
        spool.symlink_to(victim)
        spool.with_name(f"locks-{PID}.table").symlink_to(victim)
    elif how == "fifos":
        spool.write_bytes(header())
        spool.unlink()
        os.mkfifo(spool)
        os.mkfifo(spool.with_name(f"locks-{PID}.table"))
        os.mkfifo(spool.with_name(f"causal-{PID}.jsonl"))
    elif how == "directories":
        spool.write_bytes(header())
        spool.with_name(f"locks-{PID}.table").mkdir()
        spool.with_name("kept").mkdir()
    elif how == "bind mounts":
        spool.write_bytes(header())
        table = spool.with_name(f"locks-{PID}.table")
        table.touch()
        for target in (spool, table):
            if os.system(f"mount --bind '{victim}' '{target}'") == 0:
                (TMP / f"fake-jvm-mounted-{target.name}").touch()


def pass_for_ones_own(spool: Path, how: str, content: bytes) -> None:
    """Leave a file that was made elsewhere: of records, which say whose they are, or of samples."""
    if how == "names without end":
        spool.write_bytes(content[:24] + struct.pack("<I", PID) + content[28:])
    else:
        spool.write_bytes(header())
        spool.with_name(f"sample-{PID}.jfr").write_bytes(content)
        spool.with_name(f"sample-{PID}.txt").write_text("started_ns 1\n")


def map_a_table(how: str) -> None:
    """Map a table of locks and records as an agent does: of sizes that no agent's have, or one that is as it should be.

    Then keep it from being read by a lease on it, or by links that lead to each other in its place.
    """
    directory = Path(os.fsdecode(tempfile.mkdtemp(prefix=b"fake-jvm-\x1b[31m\xff", dir=b"/tmp")))
    slots = 1 << 26 if how == "a table" else 1
    table = struct.pack("<8sIIqIIIIQQqqQ", b"HWLOCKS\0", 2, PID, 0, 128, slots, 1, 0, 0, 0, 0, 0, 0)
    slot = struct.pack(
        "<IIIIQQqqQQiIHHIIIQQ24x", 0, 1, 0, 2, 10, 10, 1000, 9000, 5000, 3000, 7, 0, 1, 0, 7, 0, 0, 4, 400
    )
    whole = table.ljust(4096, b"\0") + b"org.example.Lock".ljust(4096 * 128, b"\0") + slot
    for name, start in ((f"locks-{PID}.table", whole), (f"agent-{PID}.spool", header())):
        with (directory / name).open("w+b") as file:
            file.write(start)
            if how == "a table":
                file.truncate(TEBIBYTE)
            file.flush()
            globals()[f"mapped {name}"] = mmap.mmap(file.fileno(), 4096)
    path = directory / f"locks-{PID}.table"
    if how == "a leased table":
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        del globals()[f"mapped {path.name}"]  # a lease is given for what nobody else has open
        fd = globals()["leased"] = os.open(path, os.O_RDWR)
        globals()["mapped"] = mmap.mmap(fd, 4096)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    elif how == "a table behind links":
        path.unlink()
        path.symlink_to(path.name)
    directory.chmod(0o755)
    globals()["a recorder"] = os.open(directory, os.O_RDONLY)
    fcntl.flock(globals()["a recorder"], fcntl.LOCK_SH)


def exchange_directories(victim: Path) -> None:
    """Put a link to a directory of root's in the place of each directory that headway makes, as fast as can be."""
    while True:
        for name in os.listdir(TMP):
            if name.startswith(".headway-") and not (TMP / name).is_symlink():
                with contextlib.suppress(OSError):
                    (TMP / name).rename(TMP / f".aside-{name}")
                    (TMP / name).symlink_to(victim.parent)


def listen(how: str, victim: Path) -> None:
    address = TMP / f".java_pid{PID}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(address))
        server.listen(8)
        if how == "listened as another":  # its socket's file is its own, and yet another user answers
            os.chown(address, ANOTHER, ANOTHER)
            os.setresuid(ANOTHER, ANOTHER, ANOTHER)
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                reply_to(connection, how, victim)


def main() -> None:
    how, victim = sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else "/nonexistent")
    assert how in HOWS
    look_like_a_jvm()
    signal.signal(signal.SIGQUIT, lambda *_: None)
    address = TMP / f".java_pid{PID}"
    if how == "no socket":
        print("ready", flush=True)
        time.sleep(1000)
    if how == "a fifo":
        os.mkfifo(address)
        print("ready", flush=True)
        time.sleep(1000)
    if how == "a fifo for a trigger":
        os.mkfifo(TMP / f".attach_pid{PID}")
        print("ready", flush=True)
        time.sleep(1000)
    if how == "another listens":
        if os.fork() == 0:
            listen("no records", victim)
        time.sleep(1000)
    if how == "performance data":
        directory = TMP / f"hsperfdata_fake{PID}"
        directory.mkdir()
        with (directory / str(PID)).open("wb") as file:
            file.write(struct.pack("<4sBBBBiiqii", b"\xca\xfe\xc0\xc0", 1, 2, 0, 1, 32, 0, 0, 32, 2**31 - 1))
            file.write(struct.pack("<iiibbbbi", 20, -5, 2**31 - 1, ord("B"), 0, 1, 1, -9) * 50_000)
            file.truncate(3 * TEBIBYTE)
    if "table" in how:
        map_a_table(how)
    if how == "exchanges":
        threading.Thread(target=exchange_directories, args=(victim,), daemon=True).start()
    listen(how, victim)


if __name__ == "__main__":
    main()
