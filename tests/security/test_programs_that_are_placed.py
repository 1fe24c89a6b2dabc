"""Programs that do everything to their threads while they are placed: what was moved is put back, and nothing else is moved."""

from __future__ import annotations

import ast
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.placement.affinities import Affinities, affinity_of, threads_of
from headway.placement.mover import HOME, LOOK, Mover
from headway.placement.nodes import allowed_by_cpuset
from headway.placement.orphans import OrphanSearch
from headway.placement.progress import CpuTime
from headway.placement.readings import Readings
from headway.record.machine.host import format_cpu_list
from headway.record.target_process.processes import Process, process_trees
from headway.record.target_process.rights import Rights, rights_of
from support.drivers.ordinary_user import ordinary_user
from support.drivers.recording_cli import wait_for

CPUS = frozenset(os.sched_getaffinity(0))
HOME_CPUS = frozenset({min(CPUS)})
STRANGER = 54321
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="with one CPU there is nowhere to move to")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")
OBEYS = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
for line in sys.stdin:
    try:
        print(repr(eval(line)), flush=True)
    except SyntaxError:
        exec(line)
        print(None, flush=True)
"""


class Program:
    """A program that does what a test tells it."""

    def __init__(self, *before: str) -> None:
        python = shutil.which("python3", path="/usr/bin:/bin") if before else sys.executable
        self.child = subprocess.Popen(
            [*before, python or sys.executable, "-c", OBEYS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid: int = self.do("os.getpid()")

    def do(self, code: str) -> Any:
        """Run a statement, or return the value of an expression."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        print(code.strip().replace("\n", ";"), file=self.child.stdin, flush=True)
        return ast.literal_eval(self.child.stdout.readline())

    @property
    def process(self) -> Process:
        found = Process.of(self.child.pid)
        assert found is not None
        return found

    def affinities(self) -> dict[int, frozenset[int] | None]:
        """Return the affinity of each of its threads, as the kernel has it."""
        tids = [tid for each in process_trees([self.process]) for tid in threads_of(each.pid)]
        return {tid: affinity_of(tid) for tid in tids}


@pytest.fixture
def program() -> Iterator[Program]:
    found = Program()
    yield found
    found.child.kill()
    found.child.wait()


@contextlib.contextmanager
def mover_of(program: Program, rights: Rights | None = None) -> Iterator[Mover]:
    process = program.process
    affinities = Affinities(process, CPUS, HOME_CPUS, CPUS, lambda: allowed_by_cpuset(process.pid))
    mover = Mover(affinities, rights or rights_of(process.pid))
    try:
        yield mover
    finally:
        with contextlib.suppress(ChildProcessError):  # what was undone has ended it
            mover._end()


STORM = """
def storm():
    while True:
        pid = os.fork()
        if pid == 0: time.sleep(0.002); os._exit(0)
        os.waitpid(pid, os.WNOHANG) if pid % 8 else os.waitpid(-1, 0)
"""


def test_a_program_that_forks_without_end_is_put_back(program: Program, tmp_path: Path) -> None:
    source = tmp_path / "storm.py"
    source.write_text(STORM)
    program.do(f"exec(open({str(source)!r}).read(), globals())")
    program.do("threading.Thread(target=storm, daemon=True).start()")
    with mover_of(program) as mover:
        assert mover.ask(HOME).moved >= 2
        wait_for(lambda: len(process_trees([program.process])) > 1)
        mover.ask(LOOK)
        mover.undo()
    wait_for(lambda: {each for each in program.affinities().values() if each is not None} == {CPUS})


def test_threads_with_any_name_and_affinities_of_their_own_are_told_apart(program: Program) -> None:
    """Names with brackets and line breaks are part of what the kernel says of a thread in one line."""
    names = [b"a) R 1 (", b"\\n0 (x) Z", b"VM Thread", b"\\xff\\xfe)"]
    for name in names:
        act = f"(libc.prctl(15, b'{name.decode()}'), time.sleep(99))"
        program.do(f"threading.Thread(target=lambda: {act}, daemon=True).start()")
    program.do("own = threading.Thread(target=lambda: time.sleep(99), daemon=True)\nown.start()")
    own = program.do("own.native_id")
    tids = wait_for(lambda: found if len(found := threads_of(program.pid)) == 6 else [])
    wait_for(lambda: all(renamed(program.pid, tid) for tid in tids if tid not in (program.pid, own)))
    readings = Readings(program.process, CpuTime())
    readings.begin()
    assert len(readings._threads) == 6
    with mover_of(program) as mover:
        assert mover.ask(HOME).moved == 6
        pinned = frozenset({max(CPUS)})
        os.sched_setaffinity(own, pinned)
        assert mover.ask(LOOK).left_alone == 1
        assert mover.undo().moved == 5
    assert program.affinities() == {tid: pinned if tid == own else CPUS for tid in tids}


def renamed(pid: int, tid: int) -> bool:
    return not Path(f"/proc/{pid}/task/{tid}/comm").read_bytes().startswith(b"python")


LEAVES = (
    "(lambda r, w: (os.fork() or (os.setsid(), os.fork() and os._exit(0), os.write(w, str(os.getpid()).encode()), "
    "time.sleep(60), os._exit(0))) and (os.wait(), int(os.read(r, 20)))[1])(*os.pipe())"
)
"""Starts a daemon, which has no parent of the program's any more, and tells its number."""


def test_processes_that_left_the_program_unseen_are_named_and_others_are_not(program: Program) -> None:
    """What is born on one node stays there when nobody saw whose it is. One of the user's own looks alike but for its parent."""
    search = OrphanSearch.of(program.process)
    alike = subprocess.Popen(["taskset", "-c", str(min(CPUS)), "sleep", "60"])
    unseen = 0
    try:
        with mover_of(program) as mover:
            before = program.do(LEAVES)
            mover.ask(HOME)
            assert affinity_of(before) == CPUS, "it left before anything was moved"
            unseen = program.do(LEAVES)
            mover.undo()
        assert affinity_of(unseen) == HOME_CPUS
        wait_for(lambda: affinity_of(alike.pid) == HOME_CPUS)
        assert [pid for pid in search.orphans(HOME_CPUS) if pid in (before, unseen, alike.pid)] == [unseen]
        text, facts = search.note(HOME_CPUS, CPUS) or ("", {})
        assert unseen in facts["may_be_left"]
        assert f"taskset -a -c -p {format_cpu_list(set(CPUS))} {facts['may_be_left'][0]}" in text
    finally:
        for pid in (before, unseen):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        alike.kill()
        alike.wait()


@root_only
def test_children_of_another_user_are_moved_only_with_rights_that_the_program_has(program: Program) -> None:
    """A program of a user's may start one of root's (sudo): its threads are left alone, as the kernel refuses that user."""
    roots = program.do("os.fork() or time.sleep(99)")
    program.do(
        f"os.setgroups([])\nos.setresgid({STRANGER}, {STRANGER}, {STRANGER})\nos.setresuid({STRANGER}, {STRANGER}, {STRANGER})"
    )
    hers = program.do("os.fork() or time.sleep(99)")
    rights = Rights(STRANGER, STRANGER, (), False)
    try:
        with mover_of(program, rights) as mover:
            moved = mover.ask(HOME)
            assert (moved.moved, moved.refused) == (2, 1)
            assert program.affinities() == {program.pid: HOME_CPUS, hers: HOME_CPUS, roots: CPUS}
            mover.undo()
        assert set(program.affinities().values()) == {CPUS}
    finally:
        os.kill(roots, 9)


@root_only
def test_a_program_in_a_pid_namespace_of_its_own_is_moved_and_put_back() -> None:
    before = ["unshare", "--pid", "--fork", "--"]
    if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
        pytest.skip("no pid namespaces here")
    program = Program(*before)
    try:
        assert program.pid == 1
        with mover_of(program) as mover:
            assert mover.ask(HOME).moved == 2  # unshare, and what it started
            assert set(program.affinities().values()) == {HOME_CPUS}
            mover.undo()
        assert set(program.affinities().values()) == {CPUS}
    finally:
        program.child.kill()
        program.child.wait()


def made_cpuset(cpus: frozenset[int]) -> Path:
    """Make a control group below the top one that allows these CPUs."""
    for top in (Path("/sys/fs/cgroup/cpuset"), Path("/sys/fs/cgroup")):
        group = top / f"headway-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                (group / "cpuset.cpus").write_text(",".join(map(str, cpus)))
                (group / "cpuset.mems").write_text("0")
                return group
            except OSError:
                group.rmdir()
    pytest.skip("no control groups with cpusets that can be made here")


@root_only
def test_what_a_control_group_takes_from_a_thread_is_not_taken_for_its_own_choice(program: Program) -> None:
    """A child that is put into a group of other CPUs while it is on one node has all of them when it leaves that group later."""
    other = frozenset({max(CPUS)})
    child = program.do("os.fork() or time.sleep(99)")
    group = made_cpuset(other)
    try:
        with mover_of(program) as mover:
            assert mover.ask(HOME).moved == 2
            (group / "cgroup.procs").write_text(str(child))
            wait_for(lambda: affinity_of(child) == other)
            assert mover.ask(LOOK).left_alone == 0
            mover.undo()
        assert program.affinities() == {program.pid: CPUS, child: other}
        (group.parent / "cgroup.procs").write_text(str(child))
        assert affinity_of(child) == CPUS
    finally:
        (group.parent / "cgroup.procs").write_text(str(child))
        os.kill(child, 9)
        group.rmdir()


NUMBERS_COME_AGAIN = """
import os, subprocess, sys, time
from headway.placement.affinities import Affinities, affinity_of
from headway.record.target_process.processes import Process
everywhere = frozenset(os.sched_getaffinity(0))
home = frozenset({min(everywhere)})
program = subprocess.Popen([sys.executable, "-c", "import os; print(os.fork() or input(), flush=True); os.wait(); input()"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
child = int(program.stdout.readline())
affinities = Affinities(Process.of(program.pid), everywhere, home, everywhere, lambda: everywhere)
affinities.begin()
assert affinities.to_home().moved == 2, "both"
print("", file=program.stdin, flush=True)
while Process.of(child) is not None:
    time.sleep(0.01)
time.sleep(0.05)
open("/proc/sys/kernel/ns_last_pid", "w").write(str(child - 1))
stranger = subprocess.Popen(["sleep", "99"])
assert stranger.pid == child, "it has the number"
affinities.look()
affinities.is_home = True
affinities.look()
print(affinity_of(stranger.pid) == everywhere, affinity_of(program.pid) == home)
stranger.kill()
program.kill()
"""


@root_only
def test_a_stranger_that_has_the_number_of_an_ended_child_is_not_moved() -> None:
    before = ["unshare", "--pid", "--fork", "--mount-proc", "--"]
    done = subprocess.run([*before, sys.executable, "-c", NUMBERS_COME_AGAIN], capture_output=True, text=True)
    if "ns_last_pid" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"numbers can't be chosen here: {done.stderr[-200:]}")
    assert done.stdout == "True True\n", done.stderr


@root_only
def test_a_program_that_leaves_no_process_for_headway_runs_to_its_end(tmp_path: Path) -> None:
    """Its user may have no more: it is not placed, and its exit code is passed on.

    Below some limit headway can't start it at all; with the first one that lets it run there is none left for moving threads.
    """
    nodes, program = f"{min(CPUS)}/{max(CPUS)}", ["sh", "-c", "echo it ran; exit 3"]
    words = ["run", "--place", "--nodes", nodes, "--progress-file", "log", "--", *program]
    with ordinary_user() as user:
        for limit in range(1, 12):
            argv = ["prlimit", f"--nproc={limit}", "--", user.python, "-m", "headway", *words]
            done = user.run(argv, env={"OPENBLAS_NUM_THREADS": "1"})
            if "it ran" in done.stdout:
                break
    assert (done.stdout, done.returncode) == ("it ran\n", 3), done.stderr
    assert "HW094" not in done.stderr
    assert "Traceback" not in done.stderr
