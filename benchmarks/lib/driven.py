"""Drives a warm program that does its work on request, so that compared runs differ only in what is done to it.

Between two launches of a JVM, what it compiles when alone makes CPU times differ by a quarter here. So one JVM warms up, and
then does the same work again and again, with the recorder attached or not, on one CPU or on two.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from lib import harness

Block = dict[str, Any]
LIMIT_S = 60.0
SETTLED_RUNS, SETTLED_SPREAD, LEAST_RUNS = 4, 0.04, 6


def process_cpu_ns(pid: int) -> int:
    """Return the CPU time of a process by the kernel's own clock of it, in ns (clock_getcpuclockid(3)). Raises OSError."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def compilers_cpu_ns(pid: int) -> int:
    """Return the CPU time of a JVM's compiler threads, which must not come and go (-XX:-UseDynamicNumberOfCompilerThreads)."""
    return threads_cpu_ns(pid, "C1 Compiler", "C2 Compiler")


def threads_cpu_ns(pid: int, *names: str) -> int:
    """Return the CPU time, ns, of a process's threads whose names begin so."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().startswith(names):
                total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread that ended meanwhile
    return total


def is_settled(cpu_ns: Sequence[int]) -> bool:
    """Return whether a program with these successive CPU times is warm: the last few hardly differ."""
    last = cpu_ns[-SETTLED_RUNS:]
    return len(cpu_ns) >= LEAST_RUNS and max(last) - min(last) <= SETTLED_SPREAD * max(last)


def block(runs: Sequence[harness.Run], recorded: bool) -> Block:
    """Return what a result file keeps of a block of runs."""
    kept = ("wall_ns", "corrected_wall_ns", "cpu_ns", "jit_ns", "recorder_ns")
    return {"recorded": recorded, "runs": [{name: getattr(run, name) for name in kept} for run in runs]}


def total(runs: Sequence[harness.Run]) -> harness.Run:
    """Return the sum of several runs as one run."""
    names = ("wall_ns", "cpu_ns", "steal_ns", "busy_ns", "span_ns", "recorder_ns", "jit_ns")
    return harness.Run(**{name: sum(getattr(run, name) for run in runs) for name in names})


@dataclass(slots=True)
class Recorder:
    """`headway record --pid` beside a program. `manifest` is there once it has ended."""

    process: subprocess.Popen[str]
    target: Path
    manifest: dict[str, Any] = field(default_factory=dict)

    def cpu_ns(self) -> int:
        """Return the CPU time that it used so far."""
        return process_cpu_ns(self.process.pid)

    def wait_until_it_records(self) -> None:
        """Wait for the agent to be in and the recorded window to be open. Raises RuntimeError if that takes too long."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                window = json.loads((self.target / "manifest.json").read_text())["window"]
                # The draft's window lasts some ns; the one that is opened when the agent is in begins with no length.
                if window["start_ns"] == window["end_ns"]:
                    return
            except (FileNotFoundError, json.JSONDecodeError, KeyError):
                pass
            time.sleep(0.02)
        self.process.kill()
        raise RuntimeError(f"headway record did not begin:\n{self.process.communicate()[0][-3000:]}")

    def end(self) -> None:
        """End the recording and wait for its tables. Raises RuntimeError if it failed."""
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=10 * LIMIT_S)
        if self.process.returncode != 0:
            raise RuntimeError(f"headway record ended with {self.process.returncode}:\n{said[-3000:]}")
        self.manifest = json.loads((self.target / "manifest.json").read_text())


class Beside(Protocol):
    """The interface of something whose CPU time is reported with a run."""

    def cpu_ns(self) -> int:
        """Return its CPU time in ns so far."""


class Driven:
    """A running program of java/benchmarks, or another that does its work once per input line and prints what it took."""

    def __init__(self, command: Sequence[str], *, collects: bool = True) -> None:
        """Start it; `collects`: it understands "gc", which is sent before each run so that garbage is not carried over."""
        self._collects = collects
        self._folder = tempfile.TemporaryDirectory(prefix="headway-bench-")
        self._errors = Path(self._folder.name, "stderr")
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [*command, "driven"],
                cwd=self._folder.name,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program; it is killed where it does not end by itself."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended
            self._process.stdin.close()
        try:
            self._process.wait(LIMIT_S if kind is None else 1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def run(self, recorder: Beside | None = None) -> harness.Run:
        """Let it do its work once. Raises RuntimeError with its output if it ends instead."""
        cpus = sorted(os.sched_getaffinity(self.pid))
        if self._collects:
            self._answer("gc")
        compiled = compilers_cpu_ns(self.pid)
        own, beside = process_cpu_ns(self.pid), recorder.cpu_ns() if recorder else 0
        (busy, stolen), begin = harness.cpu_times(cpus), time.monotonic_ns()
        said = self._answer("run")
        cpu_after, recorder_after = process_cpu_ns(self.pid), recorder.cpu_ns() if recorder else 0
        span, (busy_after, stolen_after) = time.monotonic_ns() - begin, harness.cpu_times(cpus)
        return harness.Run(
            wall_ns=int(said["end_ns"]) - int(said["begin_ns"]),
            cpu_ns=cpu_after - own,
            steal_ns=stolen_after - stolen,
            busy_ns=busy_after - busy,
            span_ns=span,
            recorder_ns=recorder_after - beside,
            jit_ns=compilers_cpu_ns(self.pid) - compiled,
            own_output=said,
        )

    def _answer(self, word: str) -> dict[str, Any]:
        """Give it a word and return the line of JSON that it answers with; what else it prints is its own affair."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        for line in self._process.stdout:
            if line.startswith("{"):
                return dict(json.loads(line))
        raise RuntimeError(f"the program ended with {self._process.wait()}:\n{self._errors.read_text()[-3000:]}")

    def tell(self, word: str) -> None:
        """Send it a word that it only acknowledges."""
        self._answer(word)

    def warm_up(self, limit_s: float) -> int:
        """Run until the CPU time of a run settles, at most `limit_s` seconds; return how many runs that took."""
        return len(self.settle(limit_s))

    def settle(self, limit_s: float) -> list[harness.Run]:
        """Run until the CPU time of a run settles, at most `limit_s` seconds; return these runs."""
        deadline, runs = time.monotonic() + limit_s, [self.run()]
        while not is_settled([run.cpu_ns - run.jit_ns for run in runs]) and time.monotonic() < deadline:
            runs.append(self.run())
        return runs

    def place(self, cpus: Collection[int]) -> None:
        """Bind all its threads, and threads they start later, to these CPUs."""
        bound: set[str] = set()
        while new := set(os.listdir(f"/proc/{self.pid}/task")) - bound:
            for thread in new:
                with suppress(ProcessLookupError):  # it has ended
                    os.sched_setaffinity(int(thread), cpus)
            bound |= new

    @contextmanager
    def recorded(self, target: Path, *options: str) -> Iterator[Recorder]:
        """Record the program while the body runs; when this is left, the recording is finalised."""
        words = [str(harness.HEADWAY), "record", *options, "-o", str(target), "--pid", str(self.pid)]
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        recorder = Recorder(process, target)
        recorder.wait_until_it_records()
        try:
            yield recorder
        except BaseException:
            process.kill()
            process.communicate()
            raise
        recorder.end()


# ---- recorded and not, in turn --------------------------------------------------------------------------------------


def alternate(program: Driven, pairs: int, runs: int, folder: Path, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return blocks of `runs` runs, recorded ones (`pairs` of them) between ones that are not, and what was recorded.

    The first run of every block is not kept: before it, headway was attached or finalised, and the caches are its own.
    """

    def block_of(recorder: Recorder | None) -> Block:
        program.run(recorder)
        return block([program.run(recorder) for _ in range(runs)], recorder is not None)

    blocks, switches, lost = [block_of(None)], 0, 0
    for number in range(pairs):
        with program.recorded(folder / f"{number}.headway", *options) as recorder:
            blocks.append(block_of(recorder))
        switches += recorder.manifest["switches"]
        lost += recorder.manifest["losses"]["events"]
        shutil.rmtree(recorder.target)
        blocks.append(block_of(None))
    return {"blocks": blocks, "switches": switches, "lost": lost}


def undisturbed(block: Block, figure: Callable[[dict[str, int]], float]) -> float:
    """Return a figure's least value over the runs of a block.

    The host, the JVM and its locks only ever add to what a run takes, in bursts; what recording adds, it adds to every run.
    Of the mean, the median and this, this has by far the least A/A noise.
    """
    return float(min(figure(run) for run in block["runs"]))


def pairs_of(
    sessions: Sequence[dict[str, Any]], figure: Callable[[dict[str, int]], float]
) -> tuple[list[float], list[float]]:
    """Return the ratios (recorded over not, A/A) of a figure, over the pairs of all sessions; none spans two sessions."""
    ratios: list[float] = []
    same: list[float] = []
    for session in sessions:
        off, on = (
            [undisturbed(each, figure) for each in session["blocks"] if each["recorded"] is recorded]
            for recorded in (False, True)
        )
        for pooled, found in zip((ratios, same), harness.pair_ratios(off, on), strict=True):
            pooled += found
    return ratios, same


def recorder_share(sessions: Sequence[dict[str, Any]]) -> float:
    """Return the recorder's CPU time as a share of the program's."""
    runs = [run for session in sessions for each in session["blocks"] if each["recorded"] for run in each["runs"]]
    return float(sum(run["recorder_ns"] for run in runs) / sum(run["cpu_ns"] for run in runs))


@contextmanager
def kernel_stats() -> Iterator[bool]:
    """Have the kernel time its BPF programs while the body runs; gives False where it may not be asked to."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    try:
        before = switch.read_text()
        switch.write_text("1")
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        switch.write_text(before)


def kernel_ns(recorder: Recorder) -> tuple[int, int]:
    """Return (ns, calls) of the recorder's programs in the kernel, since their timing was switched on."""
    spent: dict[str, tuple[int, int]] = {}
    for described in Path(f"/proc/{recorder.process.pid}/fdinfo").iterdir():
        fields = dict(line.split(":", 1) for line in described.read_text().splitlines() if ":" in line)
        if "run_cnt" in fields:
            spent[fields["prog_id"].strip()] = (int(fields["run_time_ns"]), int(fields["run_cnt"]))
    return sum(ns for ns, _ in spent.values()), sum(calls for _, calls in spent.values())


def kernel_cost(program: Driven, runs: int, folder: Path, options: Sequence[str] = ()) -> dict[str, int] | None:
    """Return what recording cost in the kernel while the program ran: ns, calls, and the program's CPU time; None: unknown.

    The kernel's own timing is part of the ns, some 30 of them per call: an upper bound.
    """
    with kernel_stats() as known:
        if not known:
            return None
        with program.recorded(folder / "stats.headway", *options) as recorder:
            program.run(recorder)
            spent, calls = kernel_ns(recorder)
            whole = total([program.run(recorder) for _ in range(runs)])
            spent_after, calls_after = kernel_ns(recorder)
        shutil.rmtree(recorder.target)
    return {
        "ns": spent_after - spent,
        "calls": calls_after - calls,
        "cpu_ns": whole.cpu_ns,
        "recorder_ns": whole.recorder_ns,
    }
