"""Boots an emulated x86-64 guest of two memory nodes with one CPU each, and has a script run there on this machine's files.

The guest sees this machine's root read-only below a file system in its memory, so that whatever it writes is lost at its end.
Where its pages and threads are is as real as on a machine of two sockets; how fast they are there is not.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.drivers.guest_stages import READY
from support.drivers.initramfs import initramfs

REPOSITORY = Path(__file__).resolve().parents[3]
FILES = REPOSITORY / "build" / "numa-guest"
NODE_MIB = 1024
_EMULATOR = "qemu-system-x86_64"
_MODULES = (
    "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "netfs", "fscache", "9pnet",
    "9pnet_virtio", "9p", "overlay",
)  # fmt: skip
_LIMIT_CPU_S = 400.0
"""Of one answer, by the CPU time of the emulator: on a busy machine that takes as long as others let it."""
_SILENT_S = 600.0
"""So long the emulator may use hardly any CPU time before there is an answer."""
_LEAST_SHARE = 0.01
_INIT = f"""#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc; $B mount -t sysfs sys /sys; $B mount -t devtmpfs dev /dev
for module in {" ".join(_MODULES)}; do $B insmod /$module.ko; done
$B mount -t 9p -o ro,cache=loose,trans=virtio,version=9p2000.L,msize=512000 root /low
$B mount -t tmpfs -o size=75% up /up; $B mkdir /up/u /up/w
$B mount -t overlay -o lowerdir=/low,upperdir=/up/u,workdir=/up/w root /new
for folder in proc sys dev run; do $B mkdir -p /new/$folder; done
$B mount -t proc proc /new/proc; $B mount -t sysfs sys /new/sys; $B mount -t devtmpfs dev /new/dev
$B mkdir -p /new/dev/shm
$B mount -t tmpfs shm /new/dev/shm; $B mount -t tmpfs run /new/run; $B mount -t tracefs t /new/sys/kernel/tracing
$B ip link set lo up
$B cp /command /new/run/command
$B stty -F /dev/ttyS1 raw -echo 115200
$B chroot /new /bin/sh /run/command </dev/ttyS1 >/dev/ttyS1 2>&1
echo exit $? >/dev/ttyS1
$B sync; $B sleep 0.2; $B poweroff -f
"""


@dataclass
class NumaGuest:
    """A guest that runs a script, which takes the names of its stages one by one and answers each by a line (guest_stages.py)."""

    process: subprocess.Popen[bytes]
    console: Path
    _left: bytes = b""

    def ask(self, stage: str) -> dict[str, Any]:
        """Return what a stage of the script found. Raises AssertionError, with what it printed, where it failed."""
        assert self.process.stdin is not None
        self.process.stdin.write(stage.encode() + b"\n")
        self.process.stdin.flush()
        before: list[str] = []
        while not (line := self.line(before)).startswith('{"stage": '):
            before.append(line)
        answer: dict[str, Any] = json.loads(line)
        assert answer["stage"] == stage, line
        assert "failed" not in answer, "\n".join([answer["failed"], *before])
        return answer

    def line(self, before: Sequence[str]) -> str:
        """Return the next line that the guest printed. `before`: what to show if there is none."""
        assert self.process.stdout is not None
        began_cpu_s, began_s = self._cpu_s(), time.monotonic()
        while b"\n" not in self._left:
            ready, _, _ = select.select([self.process.stdout], [], [], 5)
            data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            used_s, since_s = self._cpu_s() - began_cpu_s, time.monotonic() - began_s
            is_over = used_s > _LIMIT_CPU_S or (since_s > _SILENT_S and used_s < _LEAST_SHARE * since_s)
            if (ready and not data) or is_over:
                text = self.console.read_text(errors="replace")[-4000:]
                raise AssertionError("\n".join([text, *before, repr(self._left), "no answer"]))
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    def _cpu_s(self) -> float:
        """Return the CPU time of the emulator."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def missing() -> str:
    """Return what a guest needs and this machine lacks, with the command that brings it; empty: nothing."""
    lacks = [] if shutil.which(_EMULATOR) else [_EMULATOR]
    files = ("kernel", "busybox", *(f"{module}.ko" for module in _MODULES))
    lacks += [] if all((FILES / name).is_file() for name in files) else ["a kernel of two nodes, with its modules"]
    return f"{', '.join(lacks)} missing: make numa-guest (as root; 120 MB of Debian packages)" if lacks else ""


@contextlib.contextmanager
def numa_guest(folder: Path, words: Sequence[object]) -> Iterator[NumaGuest]:
    """Boot a guest in which a command runs, in the repository, for as long as the block lasts."""
    disk, console = folder / "initramfs", folder / "console"
    command = f"export PATH={shlex.quote(os.environ['PATH'])} HOME=/root LANG=C.UTF-8 PYTHONPATH=tests\n"
    command += f"cd {shlex.quote(str(REPOSITORY))}\nexec {shlex.join(map(str, words))}\n"
    files = {"init": _INIT.encode(), "command": command.encode(), "bin/busybox": (FILES / "busybox").read_bytes()}
    files |= {f"{name}.ko": (FILES / f"{name}.ko").read_bytes() for name in _MODULES}
    disk.write_bytes(initramfs(files, ["bin", "proc", "sys", "dev", "low", "up", "new"]))
    with subprocess.Popen(_words(disk, console), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            guest = NumaGuest(process, console)
            before: list[str] = []
            while (line := guest.line(before)) != READY:
                before.append(line)
            yield guest
        finally:
            process.kill()


def _words(disk: Path, console: Path) -> list[str]:
    """Return the emulator's command. Balancing by the kernel is off at first: meanwhile it says of pages that they are nowhere.

    The clock is no time stamp counter: a guest of a busy machine measures the frequency of that wrongly, by a factor of three.
    """
    options = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr nowatchdog audit=0 random.trust_cpu=on tsc=reliable"
    options += " no_timer_check numa_balancing=disable clocksource=hpet"
    nodes: list[str] = []
    for node in (0, 1):
        nodes += ["-object", f"memory-backend-ram,id=m{node},size={NODE_MIB}M"]
        nodes += ["-numa", f"node,nodeid={node},memdev=m{node},cpus={node}"]
    return [
        _EMULATOR, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35,usb=off,vmport=off",
        "-accel", "tcg,thread=multi", "-cpu", "max,la57=off", "-smp", "2,sockets=2", "-m", str(2 * NODE_MIB), *nodes,
        "-numa", "dist,src=0,dst=1,val=21", "-numa", "dist,src=1,dst=0,val=21",
        "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
        "-chardev", f"file,id=console,path={console}", "-serial", "chardev:console",
        "-chardev", "stdio,id=out,signal=off", "-serial", "chardev:out",
        "-kernel", str(FILES / "kernel"), "-initrd", str(disk), "-append", options,
    ]  # fmt: skip
