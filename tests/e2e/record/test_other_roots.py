"""A JVM in a root of its own that one looks at from outside: its locks, or a message that says why not; nothing stays there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.drivers.recording_cli import JAVA_17, headway, wait_for

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="makes a chroot")]
PARTS = ("usr", "proc", "dev", "etc")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The root of a file system of its own, with the JDK."""
    root = tmp_path / "root"
    for name in (*PARTS, "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("lib", "lib64", "bin", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    for name in PARTS:
        subprocess.run(["mount", "--bind", f"/{name}", root / name], check=True)
    try:
        yield root
    finally:
        for name in PARTS:
            subprocess.run(["umount", "-l", root / name], check=True)


@pytest.fixture
def jvm(root: Path, workloads: Path) -> Iterator[subprocess.Popen[str]]:
    """A JVM inside, whose threads wait for locks."""
    shutil.copy(workloads, root / "tmp" / "workloads.jar")
    chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin")
    words = [chroot, root, JAVA_17, "-cp", "/tmp/workloads.jar", "headway.workloads.QueueServer", "8", "2", "400000"]
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: (root / "tmp" / f"hsperfdata_root/{process.pid}").exists())
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def own_tmp(root: Path, *options: str) -> Iterator[None]:
    """A /tmp there that is a file system which the processes inside show: by /proc they name those below their root only."""
    subprocess.run(["mount", "--bind", root / "tmp", root / "tmp"], check=True)
    try:
        if options:
            subprocess.run(["mount", "-o", f"remount,bind,{','.join(options)}", root / "tmp"], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", root / "tmp"], check=True)


def look(pid: int) -> subprocess.CompletedProcess[str]:
    return headway("locks", "--pid", pid, "--interval", "500ms", "--json")


def assert_unharmed(jvm: subprocess.Popen[str], root: Path) -> None:
    assert jvm.poll() is None
    assert not [
        each for each in (root / "tmp").rglob("*") if "headway" in each.name or each.suffix in (".so", ".table")
    ]


def test_locks_of_a_jvm_in_a_chroot_are_seen(jvm: subprocess.Popen[str], root: Path) -> None:
    with own_tmp(root):
        done = look(jvm.pid)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["locks"]
        assert_unharmed(jvm, root)


def test_a_chroot_whose_tmp_is_on_no_file_system_that_the_jvm_shows_is_left_alone(
    jvm: subprocess.Popen[str], root: Path
) -> None:
    done = look(jvm.pid)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"HW074: process {jvm.pid}: headway does not touch /tmp")
    assert_unharmed(jvm, root)


def test_a_chroot_without_a_place_to_write_is_told(jvm: subprocess.Popen[str], root: Path) -> None:
    with own_tmp(root, "ro"):
        done = look(jvm.pid)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"HW026: the agent in JVM {jvm.pid} can't write its records: Read-only file system")
    assert_unharmed(jvm, root)


LAYERS = """
mount -t tmpfs t /mnt && mkdir /mnt/low /mnt/up /mnt/work && cp {jar} /mnt/low/workloads.jar &&
mount -t overlay o -o lowerdir=/mnt/low,upperdir=/mnt/up,workdir=/mnt/work,userxattr /tmp &&
exec {java} -cp /tmp/workloads.jar headway.workloads.QueueServer 8 2 400000
"""


def test_locks_of_a_jvm_on_layers_that_its_user_put_together_are_seen_by_copies(workloads: Path) -> None:
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", LAYERS.format(jar=workloads, java=JAVA_17)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: bool([*Path(f"/proc/{process.pid}/root/tmp").glob(f"hsperfdata_*/{process.pid}")]))
            done = look(process.pid)
            assert done.returncode == 0, done.stderr
            rows = json.loads(done.stdout)["locks"]
            assert rows
            assert any(row["first_stack"] for row in rows), rows[:2]  # from the records, which are copied, too
            assert process.poll() is None
            assert not [*Path(f"/proc/{process.pid}/root/tmp").glob(".headway-*")]
        finally:
            process.kill()
