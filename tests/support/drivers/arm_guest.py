"""Boots an aarch64 guest under qemu whose processor has counters, and asks the program in it (tests/guests/counting_guest.cpp).

The guest is emulated instruction by instruction, and its clock is the number of them: what it counts is the same in every run,
however busy this machine is. It has one program, which is its init, and no disk.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.drivers.initramfs import initramfs

REPOSITORY = Path(__file__).resolve().parents[3]
KERNEL = REPOSITORY / "build" / "arm-guest" / "vmlinuz"
_COMPILER, _EMULATOR = "aarch64-linux-gnu-g++", "qemu-system-aarch64"
_SOURCES = (
    "tests/guests/counting_guest.cpp",
    "native/counters/event.cpp",
    "native/counters/known_loop.cpp",
    "native/counters/cpu_counters.cpp",
    "native/cpus/cpus.cpp",
    "native/spool/collector_error.cpp",
)
_LIMIT_S = 240.0
"""Of one answer, on a busy machine; most take a second."""


class GuestError(Exception):
    """The guest ended, or said nothing for too long."""


def missing() -> str:
    """Return what a guest needs and this machine lacks, with the command that brings it; empty: nothing."""
    lacks = [each for each in (_COMPILER, _EMULATOR) if shutil.which(each) is None]
    lacks += [] if KERNEL.is_file() else ["a kernel for aarch64"]
    return f"{', '.join(lacks)} missing: make arm-guest (as root; 140 MB of Debian packages)" if lacks else ""


def build_program(folder: Path) -> Path:
    """Return the guest's program, compiled of headway's own sources."""
    program = folder / "init"
    words = [_COMPILER, "-std=c++20", "-O1", "-static", "-I", "native", "-o", str(program), *_SOURCES]
    subprocess.run(words, cwd=REPOSITORY, check=True, timeout=200)
    return program


@dataclass
class ArmGuest:
    """A guest that runs. Its console is the only way to it."""

    process: subprocess.Popen[bytes]
    _left: bytes = b""

    def ask(self, line: str) -> list[str]:
        """Return the lines that answer one. Raises GuestError; a refusal is an answer that begins so."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer: list[str] = []
        while (got := self.line()) != "ok":
            answer.append(got)
            if got.startswith("refused "):
                break
        return answer

    def line(self) -> str:
        """Return the next line of its console."""
        assert self.process.stdout is not None
        until = time.monotonic() + _LIMIT_S
        while b"\n" not in self._left:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not data:
                raise GuestError(f"{'no more' if ready else 'nothing for long'} after {self._left!r}")
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")


@contextlib.contextmanager
def arm_guest(program: Path, *, two_cpus: bool = False) -> Iterator[ArmGuest]:
    """Boot a guest with a program for as long as the block lasts.

    One with two processors has a clock of its own, and counts no instructions.
    """
    disk = program.with_name("initramfs")
    disk.write_bytes(initramfs({"init": program.read_bytes()}, ["proc", "sys"]))
    with subprocess.Popen(_words(disk, two_cpus), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            guest = ArmGuest(process)
            while guest.line() != "ready":  # what the kernel says comes before
                pass
            yield guest
        finally:
            process.kill()


def _words(disk: Path, two_cpus: bool) -> Sequence[str]:
    """Return the command. With two processors instructions are not the clock: they would be counted wrongly."""
    options = "console=ttyAMA0 quiet loglevel=1 panic=-1 mitigations=off nokaslr nowatchdog audit=0"
    return [
        _EMULATOR, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "virt,gic-version=2",
        "-cpu", "cortex-a57", "-m", "512", "-serial", "stdio",
        *(["-smp", "2"] if two_cpus else ["-smp", "1", "-icount", "shift=0"]),
        "-kernel", str(KERNEL), "-initrd", str(disk), "-append", options,
    ]  # fmt: skip
