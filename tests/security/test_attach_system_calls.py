"""What an attach as root does to another user's JVM, by its system calls: nothing in its file system with root's own rights."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support.drivers.ordinary_user import ordinary_user
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, java_command

pytestmark = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace"),
]
NAMES = (
    "openat2,openat,open,mkdir,mkdirat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,symlink,symlinkat"
)
MODES = "chown,fchown,fchownat,lchown,chmod,fchmod,fchmodat"
WRITES = "write,pwrite64,writev,pwritev,pwritev2,truncate,ftruncate,fallocate,copy_file_range,sendfile,splice"
IDS = "setresuid,setresgid,setgroups,capset"
SIGNALS = "kill,tkill,tgkill,rt_sigqueueinfo,rt_tgsigqueueinfo,pidfd_open,pidfd_send_signal"
CALLS = ",".join((NAMES, MODES, WRITES, IDS, SIGNALS, "connect,bind,clone3"))
UNFINISHED = re.compile(r"^(?P<line>(?P<tid>\d+)\s.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(?P<tid>\d+)\s+<\.\.\. \w+ resumed>(?P<rest>.*)$")
LINE = re.compile(r"^(?P<tid>\d+)\s+(?P<call>\w+)\((?P<rest>.*)$")
HERS = re.compile(r"/tmp/\.headway-|\.java_pid|\.attach_pid|hsperfdata_|AT_FDCWD[^,]*, \"/proc/\d+/root/|</tmp>, ")
"""What lies below a directory that the JVM's user may write: by a path, or by the path that strace shows of a descriptor."""
GROUPS = (54323, 54324)
"""Supplementary groups of the JVM, which no user of the machine has."""


@dataclass(frozen=True)
class Trace:
    """The system calls of an attach to process `pid` of user `uid` and group `gid`, one a line."""

    text: str
    pid: int
    uid: int
    gid: int

    def calls(self) -> Iterator[tuple[str, str, str, str]]:
        """Each call once it has returned: its thread, its name, its arguments and result, its whole line."""
        begun: dict[str, str] = {}
        for line in self.text.splitlines():
            if unfinished := UNFINISHED.match(line):
                begun[unfinished["tid"]] = unfinished["line"]
                continue
            if resumed := RESUMED.match(line):
                line = begun.pop(resumed["tid"]) + resumed["rest"]
            if matched := LINE.match(line):
                yield matched["tid"], matched["call"], matched["rest"], line

    def hers(self) -> list[str]:
        """The calls below the JVM's directories."""
        return [line for _, _, rest, line in self.calls() if HERS.search(rest)]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    """Of a recording with locks and samples, whose records are copied at its end."""
    file = tmp_path_factory.mktemp("strace") / "trace"
    with ordinary_user() as user, tempfile.TemporaryDirectory(dir="/var/tmp") as elsewhere:  # /tmp is the JVM's own
        groups = f"--groups={','.join(map(str, GROUPS))}"
        ids = [f"--reuid={user.uid}", f"--regid={user.gid}", groups, "--inh-caps=-all"]
        command = ["setpriv", *ids, "--", *java_command(JAVAS["jdk17"], "Sleeper", 600, 2, 20)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as java:
            try:
                assert java.stdout is not None
                wait_for(lambda: "ready" in str(java.stdout.readline()))  # type: ignore[union-attr]
                headway = [sys.executable, "-m", "headway", "record", "--locks", "--sample", "cpu", "--duration", "1"]
                strace = ["strace", "-f", "-y", "-qq", "-s", "4", "-e", f"trace={CALLS}", "-o", str(file)]
                output = ["-o", f"{elsewhere}/r.headway", "--pid", str(java.pid)]
                done = subprocess.run([*strace, *headway, *output], capture_output=True, text=True, timeout=240)
            finally:
                java.kill()
        assert done.returncode == 0, done.stderr
        yield Trace(file.read_text(errors="replace"), java.pid, user.uid, user.gid)


def calls_with_other_rights(trace: Trace) -> list[str]:
    """The calls below the JVM's directories by threads that had not taken all of its ids before, and let go of all others."""
    groups = ", ".join(map(str, GROUPS))
    wanted = {
        "setgroups": rf"{len(GROUPS)}, \[{groups}\]\)\s*= 0",
        "setresgid": rf"-1, {trace.gid}, -1\)\s*= 0",
        "setresuid": rf"-1, {trace.uid}, -1\)\s*= 0",
        "capset": r".*effective=0, permitted=0, inheritable=0.*= 0",
    }
    taken: dict[str, set[str]] = {}
    found = []
    for tid, call, rest, line in trace.calls():
        if call in wanted:
            if re.match(wanted[call], rest):
                taken.setdefault(tid, set()).add(call)
        elif HERS.search(rest) and taken.get(tid, set()) != wanted.keys():
            found.append(line)
    return found


def test_the_trace_shows_an_attach(trace: Trace) -> None:
    calls = {call for _, call, rest, _ in trace.calls() if HERS.search(rest)}
    assert {"mkdirat", "openat2", "openat", "connect", "unlinkat", "pwrite64"} <= calls
    assert any("openat2" in line and "libheadway_agent.so" in line for line in trace.hers())


def test_an_attach_does_nothing_below_a_directory_of_the_jvms_user_but_with_its_ids(trace: Trace) -> None:
    assert calls_with_other_rights(trace) == []


def test_an_attach_gives_nothing_away_and_changes_no_mode(trace: Trace) -> None:
    assert [line for *_, line in trace.calls() if re.search(r"\b[fl]?chown(at)?\(", line)] == []
    assert [line for line in trace.hers() if re.search(r"\bf?chmod(at)?\(", line)] == []


def test_the_signal_goes_to_a_process_that_can_not_have_been_exchanged(trace: Trace) -> None:
    by_descriptor = [line for *_, line in trace.calls() if "pidfd_send_signal(" in line and "SIGQUIT" in line]
    assert len(by_descriptor) == 1, "the JVM is asked once to listen"
    assert [line for *_, line in trace.calls() if f"pidfd_open({trace.pid}" in line]
    by_number = re.compile(rf"\b(kill|tkill|tgkill|rt_sigqueueinfo|rt_tgsigqueueinfo)\((\d+, )?{trace.pid}\b")
    to_it = [line for *_, line in trace.calls() if by_number.search(line)]
    assert [line for line in to_it if not re.search(r", 0\)\s*=", line)] == [], (
        "by a number another process may have by now"
    )
