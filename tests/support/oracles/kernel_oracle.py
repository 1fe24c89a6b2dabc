"""Records a command with the kernel collector, and with the kernel's own tracers beside it as oracles."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from headway import _native
from support.oracles.spool_reader import EXIT, PREV_OURS, Spool

PROGRAMS = Path(__file__).resolve().parents[2] / "programs"
DEAD = 0x80  # TASK_DEAD in a switch's prev_state
BUILT = Path(__file__).resolve().parents[3] / "build" / "test-programs"


@cache
def program(name: str) -> str:
    """Compile tests/programs/NAME.c unless that is done, and return the path of the program."""
    source, binary = PROGRAMS / f"{name}.c", BUILT / name
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        BUILT.mkdir(parents=True, exist_ok=True)
        fresh = BUILT / f"{name}.{time.monotonic_ns()}"
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", fresh, source, "-lpthread"], check=True)
        fresh.rename(binary)
    return str(binary)


@dataclass(frozen=True)
class Recording:
    """A finished recording. Between `begin_ns` and `end_ns` (CLOCK_MONOTONIC) everything was attached."""

    spool: Spool
    stats: dict[str, Any]
    pid: int
    code: int
    stdout: bytes
    stderr: bytes
    begin_ns: int
    end_ns: int


@contextmanager
def waiting(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that becomes `command` once a line is written to its standard input."""
    shell = ["/bin/sh", "-c", 'read line; exec "$@" < /dev/null', "sh", *command]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            _until_it_reads(process.pid)  # so that nothing of it happens just as the tracers begin
            yield process
        finally:
            process.kill()


def _until_it_reads(pid: int) -> None:
    deadline = time.monotonic() + 20
    while not Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 "):  # read(0, ...
        assert time.monotonic() < deadline, "the shell did not come to wait for its line"
        time.sleep(0.01)
    time.sleep(0.05)


def _until_all_are_switched_out(directory: Path, collector: Any) -> None:
    """Wait for the last switch-out of every thread that has ended: it comes after its parent has heard of its end.

    Where records are lost that can't be seen; then this waits no longer.
    """
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        stats = collector.stats()
        if stats["lost"] or stats["missed"] or stats["disk_error"]:
            return
        spool = Spool(directory)
        outs = spool.switches()
        dead = np.count_nonzero((outs["flags"] & PREV_OURS != 0) & (outs["prev_state"] & DEAD != 0))
        if len(spool.lifecycle.of(EXIT)) <= dead:
            return
        time.sleep(0.05)


def record(command: Sequence[str], directory: Path, *, ring_bytes: int = 0, force_raw: bool = False) -> Recording:
    """Run `command` from start to end under a collector of its own."""
    directory.mkdir(parents=True, exist_ok=True)
    collector = _native.KernelCollector(str(directory), ring_bytes, force_raw)
    with waiting(command) as process:
        collector.add_process(process.pid)
        collector.start()
        begin_ns = time.monotonic_ns()
        stdout, stderr = process.communicate(b"\n")
        _until_all_are_switched_out(directory, collector)
        end_ns = time.monotonic_ns()
        stats = collector.stop()
    return Recording(Spool(directory), stats, process.pid, process.returncode, stdout, stderr, begin_ns, end_ns)


@dataclass(frozen=True)
class SwitchSeen:
    """What ftrace says of one sched_switch; `us` is CLOCK_MONOTONIC in microseconds, cut off."""

    us: int
    cpu: int
    prev_tid: int
    prev_state: str
    next_tid: int


@dataclass(frozen=True)
class WakingSeen:
    """What ftrace says of one sched_waking or sched_wakeup_new, and of the context it came from."""

    us: int
    cpu: int
    waker_tid: int
    tid: int
    is_new: bool
    in_interrupt: bool


@dataclass(frozen=True)
class Gap:
    """A switch that the kernel left out: at `to_us` thread `tid` leaves a CPU to which, since `from_us`, another had come."""

    cpu: int
    from_us: int
    to_us: int
    tid: int


@dataclass
class TraceSeen:
    """All switches and wakings of the machine, per CPU in order; filled when the oracle has ended."""

    switches: list[SwitchSeen] = field(default_factory=list)
    wakings: list[WakingSeen] = field(default_factory=list)

    def gaps(self) -> list[Gap]:
        """Return the switches that the kernel left out: where another thread leaves a CPU than the one that came to it.

        Virtual machines whose supervisor runs inside them hide from the tracers, from each for itself, the switches that leave
        its threads, and what is woken while they run.
        """
        found = []
        last: dict[int, SwitchSeen] = {}
        for switch in self.switches:
            before = last.get(switch.cpu, switch)
            if before is not switch and before.next_tid != switch.prev_tid:
                found.append(Gap(switch.cpu, before.us, switch.us, switch.prev_tid))
            last[switch.cpu] = switch
        return found

    def hidden(self, tids: set[int]) -> int:
        """How many switches to these threads and wakings of them happened that are not here: a thread that left a CPU for a
        wait and leaves one again was woken and came back in between.
        """
        events = sorted(
            [(s.us, s.cpu, s) for s in self.switches] + [(w.us, w.cpu, w) for w in self.wakings],
            key=lambda each: each[:2],
        )
        waiting: set[int] = set()
        wakings = 0
        for _, _, event in events:
            if isinstance(event, WakingSeen):
                waiting.discard(event.tid)
                continue
            wakings += event.prev_tid in waiting
            waiting.discard(event.prev_tid)
            if event.prev_tid in tids and not event.prev_state.startswith("R"):
                waiting.add(event.prev_tid)
        return wakings + sum(gap.tid in tids for gap in self.gaps())


# The third flag says what interrupts: h, H, z, Z hard or NMI, s soft, `.` none, b none but soft ones disabled.
_LINE = re.compile(r"^.{16}-(\d+) +\[(\d+)\] (\S{4,6}) +(\d+)\.(\d{6}): (sched_\w+): (.*)$", re.DOTALL)
_SWITCH = re.compile(r"prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+) next_prio=\d+$")
_WAKING = re.compile(r" pid=(\d+) prio=\d+ target_cpu=\d+$")
_SPLIT = re.compile(
    r": sched_(switch: (?!.* next_prio=\d+$)|waking: (?!.*target_cpu=\d+$)|wakeup_new: (?!.*target_cpu=\d+$))"
)

_SCRIPT = """
[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
mkdir /sys/kernel/tracing/instances/$1; cd /sys/kernel/tracing/instances/$1
trap "echo 0 > tracing_on; cd ..; rmdir $1" EXIT
echo mono > trace_clock
# Room per CPU for whatever else the machine does meanwhile, but no more than a 32nd of what memory is free.
awk -v cpus=$(nproc --all) '/MemAvailable/ {kb = $2 / 32 / cpus; print int(kb < 131072 ? kb : 131072)}' /proc/meminfo \
  > buffer_size_kb
for event in switch waking wakeup_new; do echo 1 > events/sched/sched_$event/enable; done
echo ready; read line
echo 0 > tracing_on; cat trace per_cpu/cpu*/stats
"""


def _one_line_each(text: str) -> list[str]:
    """The lines of a trace; a line break inside a thread's name does not end one."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and _SPLIT.search(lines[-1]):
            lines[-1] += "?" + line
        else:
            lines.append(line)
    return lines


_UNTIL_FREED = """
[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
mkdir /sys/kernel/tracing/instances/$1; cd /sys/kernel/tracing/instances/$1
trap "echo 0 > tracing_on; cd ..; rmdir $1" EXIT
echo "pid == $2" > events/sched/sched_process_free/filter; echo 1 > events/sched/sched_process_free/enable
echo ready; timeout 60 head -n 1 trace_pipe
"""


@contextmanager
def until_freed(pid: int) -> Iterator[None]:
    """Leave only once the kernel has freed process `pid`, which ends inside: it does so after an RCU grace period."""
    shell = ["unshare", "-m", "sh", "-e", "-c", _UNTIL_FREED, "sh", f"headway-freed-{os.getpid()}", str(pid)]
    with subprocess.Popen(shell, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n", "the tracer did not start"
        yield
        assert b"sched_process_free" in process.stdout.readline(), "the kernel did not free the process"


@contextmanager
def ftrace_beside() -> Iterator[TraceSeen]:
    """Trace the scheduler's tracepoints of the whole machine with ftrace, in an instance of its own.

    perf would do as well but for single switches that it leaves out without a word (seen with 6.18 on a busy machine).
    """
    seen = TraceSeen()
    shell = ["unshare", "-m", "sh", "-e", "-c", _SCRIPT, "sh", f"headway-{os.getpid()}"]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n", "the oracle did not start"
        yield seen
        text, _ = process.communicate(b"\n")
    lines = _one_line_each(text.decode("latin-1"))
    lost = [line for line in lines if line.startswith(("overrun:", "dropped events:")) and not line.endswith(" 0")]
    assert not lost, "ftrace itself lost events: no oracle"
    for line in lines:
        if (parts := _LINE.match(line)) is None:
            continue
        current, cpu, us = int(parts[1]), int(parts[2]), int(parts[4]) * 1_000_000 + int(parts[5])
        if parts[6] == "sched_switch":
            switch = _SWITCH.search(parts[7])
            assert switch is not None, line
            seen.switches.append(SwitchSeen(us, cpu, int(switch[1]), switch[2], int(switch[3])))
        else:
            waking = _WAKING.search(parts[7])
            assert waking is not None, line
            is_new, in_interrupt = parts[6] == "sched_wakeup_new", parts[3][2] not in ".b"
            seen.wakings.append(WakingSeen(us, cpu, current, int(waking[1]), is_new, in_interrupt))
