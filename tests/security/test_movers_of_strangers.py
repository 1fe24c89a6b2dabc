"""The process that moves a program's threads has its user's ids, so that this user may stop, slow or blind it: it is given up."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from headway.placement import mover as mover_module
from headway.placement.affinities import Affinities, Cpus
from headway.placement.mover import HOME, Mover, MoverEnded
from headway.record.target_process.processes import Process
from headway.record.target_process.rights import rights_of

CPUS = frozenset(os.sched_getaffinity(0))
HOME_CPUS = frozenset({min(CPUS)})
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="with one CPU there is nowhere to move to")


@pytest.fixture
def program() -> Iterator[Process]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = Process.of(child.pid)
        assert found is not None
        yield found
        child.kill()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of two seconds in place of half a minute."""
    monkeypatch.setattr(mover_module, "_ANSWER_S", 2.0)
    monkeypatch.setattr(mover_module, "_LOOK_S", 0.05)
    monkeypatch.setattr(mover_module, "_ENDING_S", 0.2)


def mover_of(process: Process, allowed: Callable[[], Cpus] = lambda: CPUS) -> Mover:
    return Mover(Affinities(process, CPUS, HOME_CPUS, CPUS, allowed), rights_of(process.pid))


def has_ended(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return True


@pytest.mark.usefixtures("soon")
def test_a_mover_that_runs_a_moment_now_and_then_is_given_up(program: Process) -> None:
    """As one that is stopped and let go on all the time, or has the lowest priority beside busy threads."""

    def never() -> Cpus:
        while True:
            time.sleep(0.02)

    mover = mover_of(program, never)
    first = mover.pid
    with pytest.raises(MoverEnded):
        mover.undo()  # by another one, too
    assert has_ended(first)
    os.kill(mover.pid, signal.SIGKILL)  # the other one would put the threads back if it ever got to it
    os.waitpid(mover.pid, 0)


@pytest.mark.usefixtures("soon")
def test_a_mover_that_works_for_long_is_waited_for(program: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """However little of a busy machine it gets."""
    monkeypatch.setattr(mover_module, "_ANSWER_S", 4.0)
    monkeypatch.setattr(mover_module, "_LEAST_SHARE", 1e-6)

    def slow() -> Cpus:
        end_s = time.monotonic() + 5.0
        while time.monotonic() < end_s:
            pass
        return CPUS

    mover = mover_of(program, slow)
    assert mover.ask(HOME).moved == 1
    mover._affinities.allowed = lambda: CPUS
    mover._end()
    assert has_ended(mover.pid)


def test_a_mover_that_may_open_no_file_is_no_end_of_the_program(program: Process) -> None:
    """It would see no thread, and say that all are back."""
    mover = mover_of(program)
    assert mover.ask(HOME).moved == 1
    assert os.sched_getaffinity(program.pid) == HOME_CPUS
    resource.prlimit(mover.pid, resource.RLIMIT_NOFILE, (3, 3))
    with pytest.raises(MoverEnded):
        mover.ask(HOME)
    assert mover.undo().moved == 1
    assert os.sched_getaffinity(program.pid) == CPUS


@pytest.mark.parametrize("files", [4, 5, 20])
def test_a_mover_that_may_open_few_files_is_not_believed(program: Process, files: int) -> None:
    """It might see the program, and not the processes below it."""
    mover = mover_of(program)
    assert mover.ask(HOME).moved == 1
    resource.prlimit(mover.pid, resource.RLIMIT_NOFILE, (files, files))
    with pytest.raises(MoverEnded):
        mover.ask(HOME)
    assert mover.undo().is_complete
    assert os.sched_getaffinity(program.pid) == CPUS


def test_threads_are_put_back_though_the_mover_is_killed(program: Process) -> None:
    mover = mover_of(program)
    assert mover.ask(HOME).moved == 1
    os.kill(mover.pid, signal.SIGKILL)
    assert mover.undo().moved == 1
    assert os.sched_getaffinity(program.pid) == CPUS


@pytest.mark.usefixtures("soon")
def test_a_mover_that_is_stopped_for_good_costs_a_moment(program: Process) -> None:
    mover = mover_of(program)
    assert mover.ask(HOME).moved == 1
    os.kill(mover.pid, signal.SIGSTOP)
    assert mover.undo().moved == 1
    assert os.sched_getaffinity(program.pid) == CPUS


ASKS_FOR_ITS_MEMORY = """
import ctypes, sys
mover, attach = int(sys.argv[1]), 16
print(ctypes.CDLL(None).ptrace(attach, mover, 0, 0))
for name in ("mem", "maps", "environ"):
    try:
        print(len(open(f"/proc/{mover}/{name}", "rb").read(1)))
    except PermissionError:
        print(-1)
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="a container's root is the machine's here")
def test_a_mover_for_a_containers_powerless_root_has_no_capability_and_is_not_read_by_it() -> None:
    """They have one user id. In a pid namespace of its own such a root would not even see it."""
    enter = ["unshare", "--user", "--map-root-user", "--mount", "--"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    begin, end = "import sys; print(flush=True); sys.argv = ['', input()]", "sys.stdout.flush(); input()"
    script = f"{begin}; exec({ASKS_FOR_ITS_MEMORY!r}); {end}"
    command = [*enter, sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        process = Process.of(child.pid)
        assert process is not None
        mover = mover_of(process)
        assert mover.ask(HOME).moved == 1
        with open(f"/proc/{mover.pid}/status") as status:
            capabilities = [line.split()[1] for line in status if line.startswith(("CapEff", "CapPrm", "CapInh"))]
        assert [int(each, 16) for each in capabilities] == [0, 0, 0]
        print(mover.pid, file=child.stdin, flush=True)
        assert [child.stdout.readline() for _ in range(4)] == ["-1\n"] * 4
        assert mover.undo().moved == 1
        assert os.sched_getaffinity(child.pid) == CPUS
        child.kill()
