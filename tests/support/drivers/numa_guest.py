"""Boots an emulated x86-64 guest of two memory nodes with one CPU each, and runs a command in it on this machine's files.

The guest sees this machine's root read-only below a file system in its memory, so that whatever it writes is lost at its end.
Where its pages and threads are is as real as on a machine of two sockets; how fast they are there is not.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.drivers.initramfs import initramfs

REPOSITORY = Path(__file__).resolve().parents[3]
FILES = REPOSITORY / "build" / "numa-guest"
NODE_MIB = 1024
_EMULATOR = "qemu-system-x86_64"
_MODULES = (
    "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "netfs", "fscache", "9pnet",
    "9pnet_virtio", "9p", "overlay",
)  # fmt: skip
_LIMIT_S = 600.0
"""Of a guest on a busy machine; it takes about a minute."""
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
$B chroot /new /bin/sh /run/command </dev/null >/dev/ttyS1 2>&1
echo exit $? >/dev/ttyS1
$B sync; $B sleep 0.2; $B poweroff -f
"""


@dataclass(frozen=True)
class Finished:
    """What the command in the guest printed, both streams together, and its exit code."""

    code: int
    lines: list[str]


def missing() -> str:
    """Return what a guest needs and this machine lacks, with the command that brings it; empty: nothing."""
    lacks = [] if shutil.which(_EMULATOR) else [_EMULATOR]
    files = ("kernel", "busybox", *(f"{module}.ko" for module in _MODULES))
    lacks += [] if all((FILES / name).is_file() for name in files) else ["a kernel of two nodes, with its modules"]
    return f"{', '.join(lacks)} missing: make numa-guest (as root; 120 MB of Debian packages)" if lacks else ""


def run_in_guest(folder: Path, words: Sequence[object]) -> Finished:
    """Run a command in a new guest, in the repository. Raises AssertionError with its console where it did not end by itself."""
    disk, console = folder / "initramfs", folder / "console"
    command = (
        f"export PATH={shlex.quote(os.environ['PATH'])} HOME=/root LANG=C.UTF-8\ncd {shlex.quote(str(REPOSITORY))}\n"
    )
    command += f"exec {shlex.join(map(str, words))}\n"
    files = {"init": _INIT.encode(), "command": command.encode(), "bin/busybox": (FILES / "busybox").read_bytes()}
    files |= {f"{name}.ko": (FILES / f"{name}.ko").read_bytes() for name in _MODULES}
    disk.write_bytes(initramfs(files, ["bin", "proc", "sys", "dev", "low", "up", "new"]))
    done = subprocess.run(
        _words(disk, console),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_LIMIT_S,
    )
    lines = done.stdout.splitlines() or [""]
    assert lines[-1].startswith("exit "), f"{done.stderr}\n{console.read_text()[-4000:]}\n{done.stdout[-4000:]}"
    return Finished(int(lines[-1].split()[1]), lines[:-1])


def _words(disk: Path, console: Path) -> list[str]:
    """Return the emulator's command. Balancing by the kernel is off: meanwhile it says of pages that they are nowhere.

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
