"""The plan of a recording, checked before anything starts."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from headway.errors import HeadwayError
from headway.model.iterations import IterationMarks
from headway.record.counters.counted_units import CountedUnit
from headway.record.counters.groups import CounterOptions
from headway.record.counters.usable import Usable
from headway.record.doctor.capabilities import Mode
from headway.record.machine import host
from headway.record.request.causal_spec import CausalOptions
from headway.record.request.jvm_options import LockOptions
from headway.record.request.objects import ObjectOptions
from headway.record.request.sampling import SampleOptions
from headway.record.target_process import processes
from headway.record.target_process.processes import Process


@dataclass(frozen=True, slots=True)
class Plan:
    """What to record: one recording, or `repeat` recordings of the same command.

    Exactly one of `command` (started by us) and `pid` (runs already) is set. `cpus` None leaves the affinity as it is;
    `duration_s` None records to the end; `mode` None takes the best this machine allows; `locks` None leaves them alone;
    `sample` None takes no stack samples; `streams` are descriptors for the command's standard streams instead of headway's
    own. `causal`: experiments are made, and nothing else is recorded. `keep_arguments`: what looks like a secret in arguments is
    not masked. `counters`: what to count at each switch, None for nothing; `counted`: what of it counts here, once that is known.
    `thread_counted`: the same of what is counted of each thread as a whole, where nothing reads counters at switches.
    `cpu_counted`: the same of what is counted on each CPU as a whole, None for nothing; `units`: the same of units of whole
    sockets. `iterations`: what tells the program's iterations apart, for the manifest. `counters_by_runs`: the command runs once
    for each group of counters, which counts alone then, and once with all of them.
    `objects`: how allocations are counted, None for not at all. `heap_interval_ns`: how often to ask on which memory nodes the
    heaps are, None for never.
    """

    output: Path
    command: tuple[str, ...] = ()
    pid: int | None = None
    cpus: tuple[int, ...] | None = None
    jvm_processors: int | None = None
    duration_s: float | None = None
    repeat: int = 1
    force: bool = False
    virtual_threads: bool = False
    with_agent: bool = True
    mode: Mode | None = None
    locks: LockOptions | None = None
    sample: SampleOptions | None = None
    streams: tuple[int, int, int] | None = None
    causal: CausalOptions | None = None
    keep_arguments: bool = False
    counters: CounterOptions | None = None
    counted: Usable | None = None
    thread_counted: Usable | None = None
    cpu_counted: Usable | None = None
    units: tuple[CountedUnit, ...] = ()
    counters_by_runs: bool = False
    iterations: IterationMarks | None = None
    objects: ObjectOptions | None = None
    heap_interval_ns: int | None = None

    @property
    def is_series(self) -> bool:
        """Return whether the command is recorded several times."""
        return self.repeat > 1 or self.counters_by_runs

    @property
    def causal_spec(self) -> str | None:
        """Return the agents' option for experiments; None without experiments."""
        return self.causal.spec if self.causal is not None else None


def usable_cpus(text: str) -> tuple[int, ...]:
    """Return the CPUs that `--cpus TEXT` names.

    Raises HeadwayError HW007 when it is no list of CPUs, or names one that is offline, missing or not allowed to us.
    """
    try:
        cpus = host.parse_cpu_list(text)
    except ValueError as error:
        raise _bad_cpus(text, str(error)) from None
    online = set(host.online_cpus())
    missing = [cpu for cpu in cpus if cpu not in online]
    if missing:
        there = [cpu for cpu in missing if os.path.isdir(f"/sys/devices/system/cpu/cpu{cpu}")]
        word = "is offline" if there else "does not exist"
        raise _bad_cpus(text, f"CPU {(there or missing)[0]} {word}")
    denied = [cpu for cpu in cpus if not _may_use(cpu)]
    if denied:
        raise _bad_cpus(text, f"CPU {denied[0]} is outside this process's cpuset")
    return tuple(cpus)


def _bad_cpus(text: str, reason: str) -> HeadwayError:
    return HeadwayError("HW007", text=text, reason=reason, online=host.format_cpu_list(host.online_cpus()))


def _may_use(cpu: int) -> bool:
    """Tell whether the cpuset allows a CPU, by asking the kernel: our own affinity may be narrower than the cpuset."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        return False
    os.sched_setaffinity(0, before)
    return True


def running_process(pid: int, command: str = "record") -> Process:
    """Return the process to attach to; `command` is the headway command that asks for it.

    Raises HeadwayError HW004 (none, a thread, a kernel thread, a zombie, or headway itself) or HW005 (another user's).
    """
    process = Process.of(pid) if pid > 0 else None
    if process is None:
        raise HeadwayError("HW004", pid=pid, reason="there is no such process")
    group = processes.thread_group(pid)
    if group != pid:
        raise HeadwayError("HW004", pid=pid, reason=f"it is a thread of process {group}")
    if processes.is_kernel_thread(pid):
        raise HeadwayError("HW004", pid=pid, reason="it is a thread of the kernel, which runs no program")
    if processes.runs_without_first_thread(pid):
        raise HeadwayError(
            "HW004", pid=pid, reason="its first thread has ended, and headway finds the others by that one"
        )
    if not process.is_alive:
        raise HeadwayError("HW004", pid=pid, reason="it has ended and waits for its parent (a zombie)")
    if pid == os.getpid():
        raise HeadwayError("HW004", pid=pid, reason="it is this headway itself")
    owner = processes.owner(pid)
    if owner is not None and owner != os.geteuid() and os.geteuid() != 0 and not _has_capability(_CAP_PERFMON):
        raise HeadwayError("HW005", pid=pid, owner=_user(owner), me=_user(os.geteuid()), command=command)
    return process


_CAP_PERFMON = 38


def _has_capability(number: int) -> bool:
    """Tell whether this process has an effective capability."""
    with open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"CapEff:"):
                return bool(int(line[7:], 16) >> number & 1)
    return False


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def default_output(command: Sequence[str], place: Path) -> Path:
    """Return PLACE/NAME-TIME.headway, named after the jar, the main class or the program.

    TIME is local and only for people; when the name is taken (two runs within a second, a clock set back) a number
    follows.
    """
    stem = f"{_program_name(command)}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = [stem, *(f"{stem}-{number}" for number in range(2, 1000))]
    free = (name for name in names if not any(os.path.lexists(place / f"{name}{end}") for end in (".headway", ".html")))
    return place / f"{next(free)}.headway"


# java options whose value is the next word; every other option of the launcher is one word.
_WITH_VALUE = {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path"}
_WITH_VALUE |= {"--add-modules", "--limit-modules", "--add-exports", "--add-opens", "--add-reads", "--patch-module"}


def _program_name(command: Sequence[str]) -> str:
    """Return what a person calls the program: `app` for java -jar app.jar, `Main` for java -cp x a.b.Main."""
    name = PurePath(command[0]).name
    if name == "java":
        words = iter(command[1:])
        for word in words:
            if word == "-jar":
                name = PurePath(next(words, name)).stem
            elif word in ("-m", "--module"):
                name = next(words, name).rpartition("/")[2].rpartition(".")[2]
            elif word in _WITH_VALUE:
                next(words, None)
                continue
            elif word.startswith(("-", "@")):
                continue
            else:
                name = PurePath(word).stem if word.endswith(".java") else word.rpartition("/")[2].rpartition(".")[2]
            break
    safe = "".join(char if char.isalnum() or char in "._-" else "_" for char in name).strip(".-")
    return safe[:60] or "recording"
