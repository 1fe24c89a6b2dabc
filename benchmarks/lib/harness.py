"""Benchmark harness: timed runs, interleaved pairs, ratios with confidence intervals, tables and JSON.

A wall time on a shared machine holds what the host took, so every run also has its CPU clock and the CPUs' stolen time, and
every comparison comes with the same comparison of a thing with itself (A/A): a difference inside that noise is none.
Times are ns; a ratio of 1.01 is 1 % more.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = ROOT / ".venv" / "bin" / "headway"
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
RESAMPLES = 4000


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program. `own_output` is the JSON line that the program printed about itself."""

    wall_ns: int  # of the work, by the program's own clock
    cpu_ns: int  # of the program's whole process, start-up included, by its own clock
    steal_ns: int  # what the host took from the CPUs meanwhile
    busy_ns: int  # what ran on the CPUs meanwhile, everything
    span_ns: int  # of the whole command, by this clock; a recording's holds finalising too
    recorder_ns: int = 0  # CPU time that headway used beside the program while that ran
    jit_ns: int = 0  # of cpu_ns, what the JVM's compilers took: known of a driven program
    own_output: dict[str, Any] = field(default_factory=dict)

    @property
    def corrected_wall_ns(self) -> int:
        """Wall time without what the host stole: S core-ns taken from r busy cores delayed the program by S/r.

        r is the mean number of cores that wanted to run, at least one: exact for serial and for saturating programs.
        """
        wanting = max(1.0, (self.busy_ns + self.steal_ns) / self.span_ns)
        return round(self.wall_ns * (1 - self.steal_ns / wanting / self.span_ns))


def cpu_times(cpus: Sequence[int]) -> tuple[int, int]:
    """Return (busy, stolen) core-ns of `cpus` since boot, from /proc/stat."""
    busy = stolen = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name != "cpu" and int(name[3:]) in cpus:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, values[:8])
            busy += user + nice + system + irq + softirq
            stolen += steal
    return busy * TICK_NS, stolen * TICK_NS


def last_json(output: str) -> dict[str, Any]:
    """Return the last line of `output` that is a JSON object; {} if there is none."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    return {}


class _RecorderClock:
    """Reads the CPU time of a headway process while its child, the program, lives: what it takes from the program."""

    def __init__(self, pid: int) -> None:
        self.used_ns = 0
        self._pid = pid
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _own_ns(self) -> int:
        tasks = Path(f"/proc/{self._pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)

    def _program_lives(self) -> bool:
        children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text().split()
        return any(Path(f"/proc/{child}/comm").read_text().strip() == "java" for child in children)

    def _watch(self) -> None:
        first: int | None = None
        while True:
            try:
                if self._program_lives():
                    own = self._own_ns()
                    first = own if first is None else first
                    self.used_ns = own - first
                elif first is not None:
                    return
            except OSError:  # a process or thread ended between the listing and the reading
                if not Path(f"/proc/{self._pid}").exists():
                    return
            time.sleep(0.02)


def own_clocks(said: dict[str, Any]) -> tuple[int, int]:
    """Return (wall, CPU) ns from what a program of java/benchmarks said. Raises KeyError if it said nothing."""
    return int(said["wall_ns"]), int(said["process_cpu_ns"])


def run(
    command: Sequence[str],
    cpus: Sequence[int] | None = None,
    *,
    recorded: bool = False,
    clocks: Callable[[dict[str, Any]], tuple[int, int]] = own_clocks,
) -> Run:
    """Run `command` on `cpus` (None: all it may use) to its end; with `recorded` it is a headway command.

    `clocks` reads (wall, CPU) ns from the line of JSON that the program prints about itself. Raises RuntimeError with its
    output if it fails, or if the program told no times.
    """
    allowed = sorted(cpus if cpus is not None else os.sched_getaffinity(0))
    prefix = [] if cpus is None or recorded else ["taskset", "-c", ",".join(map(str, cpus))]
    busy, stolen = cpu_times(allowed)
    begin = time.monotonic_ns()
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as work:
        process = subprocess.Popen(
            [*prefix, *command],
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        clock = _RecorderClock(process.pid) if recorded else None
        output, _ = process.communicate()
    span = time.monotonic_ns() - begin
    busy_after, stolen_after = cpu_times(allowed)
    printed = last_json(output)
    if process.returncode != 0 or not printed:
        raise RuntimeError(f"{' '.join(command)}\nended with {process.returncode}:\n{output[-3000:]}")
    wall, cpu = clocks(printed)
    return Run(
        wall_ns=wall,
        cpu_ns=cpu,
        steal_ns=stolen_after - stolen,
        busy_ns=busy_after - busy,
        span_ns=span,
        recorder_ns=clock.used_ns if clock else 0,
        own_output=printed,
    )


@contextmanager
def recording_folder() -> Iterator[Path]:
    """Give a folder for recordings, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="headway-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def headway(*arguments: str | Path) -> Any:
    """Run a headway command with --json and return its output. Raises RuntimeError with its output if it fails."""
    done = subprocess.run([HEADWAY, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"headway {' '.join(map(str, arguments))}\nended with {done.returncode}:\n{done.stderr[-3000:]}"
        )
    return json.loads(done.stdout)


# ---- interleaved pairs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ratio:
    """A median ratio and its 95 % bootstrap interval; `aa_*` is the same of the baseline against itself: the noise."""

    median: float
    low: float
    high: float
    aa_median: float
    aa_low: float
    aa_high: float
    pairs: int

    def percent(self) -> str:
        """Return for example '+0.4 % [-0.1, +0.9]'."""
        return f"{100 * self.median - 100:+.2f} % [{100 * self.low - 100:+.2f}, {100 * self.high - 100:+.2f}]"

    def noise(self) -> str:
        """Return the A/A interval, for example '[-0.4, +0.5]'."""
        return f"[{100 * self.aa_low - 100:+.2f}, {100 * self.aa_high - 100:+.2f}]"


def bootstrap(values: Sequence[float], statistic: Callable[..., Any] = np.median) -> tuple[float, float, float]:
    """Return (statistic, low, high): the 95 % percentile bootstrap of `values`; the seed is fixed."""
    data = np.asarray(values, dtype=float)
    draws = np.random.default_rng(20260101).choice(data, size=(RESAMPLES, len(data)))
    low, high = np.percentile(statistic(draws, axis=1), [2.5, 97.5])
    return float(statistic(data)), float(low), float(high)


def typical(ratios: Any, axis: int = -1) -> Any:
    """Return the Hodges-Lehmann estimate along the last axis: the median of the (geometric) means of all pairs.

    A pause of the machine in one run moves it as little as a median, and it takes as few runs as a mean.
    """
    assert axis in (-1, 1)
    logs = np.log(np.asarray(ratios, dtype=float))
    first, second = np.triu_indices(logs.shape[-1])
    return np.exp(np.median((logs[..., first] + logs[..., second]) / 2, axis=-1))


def interleave(baseline: Callable[[], Run], treated: Callable[[], Run], pairs: int) -> tuple[list[Run], list[Run]]:
    """Run baseline, treated, baseline, ..., baseline: every treated run has a baseline right before and right after it."""
    before = [baseline()]
    after = []
    for _ in range(pairs):
        after.append(treated())
        before.append(baseline())
    return before, after


def pair_ratios(baseline: Sequence[float], treated: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return (treated over the mean of its two neighbours, baseline over the mean of its two: A/A, in the same way)."""
    ratios = [t / ((a + b) / 2) for t, a, b in zip(treated, baseline, baseline[1:], strict=False)]
    return ratios, [b / ((a + c) / 2) for a, b, c in zip(baseline, baseline[1:], baseline[2:], strict=False)]


def ratio(baseline: Sequence[float], treated: Sequence[float]) -> Ratio:
    """Compare interleaved values (one baseline more than treated ones)."""
    return ratio_of(*pair_ratios(baseline, treated))


def ratio_of(ratios: Sequence[float], same: Sequence[float]) -> Ratio:
    """Return what pairs of interleaved values say; without an A/A pair its figures are NaN."""
    return Ratio(*bootstrap(ratios), *(bootstrap(same) if same else (float("nan"),) * 3), len(ratios))


def mean_over_programs(per_program: Mapping[str, Sequence[float]]) -> tuple[float, float, float]:
    """Return (mean over the programs of their median ratios, low, high): pairs are drawn anew within each program."""
    generator = np.random.default_rng(20260101)
    draws = [
        np.median(generator.choice(np.asarray(ratios), size=(RESAMPLES, len(ratios))), axis=1)
        for ratios in per_program.values()
    ]
    low, high = np.percentile(np.mean(draws, axis=0), [2.5, 97.5])
    return float(np.mean([np.median(ratios) for ratios in per_program.values()])), float(low), float(high)


# ---- what comes out -------------------------------------------------------------------------------------------------


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has: --json FILE, --quick, --programs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there as well")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: minutes, with wider intervals")
    return parser


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, first column left, the others right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])


def machine() -> dict[str, Any]:
    """Describe the machine that is measured on."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    return {
        "kernel": platform.release(),
        "cpu": model,
        "cpus": sorted(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
    }


def against(text: str, figure: float, high: float, target: float) -> tuple[str, bool]:
    """Return the verdict on a figure with an interval: reached only if the interval's upper end is within the target."""
    if figure <= target < high:
        return f"{text}; undecided: the interval goes beyond the target", False
    return text, figure <= target


def finish(
    options: argparse.Namespace, name: str, figures: dict[str, Any], verdicts: Sequence[tuple[str, bool]]
) -> int:
    """Print the verdicts, write the JSON file, return the exit code: 0 if every target is reached."""
    for text, reached in verdicts:
        word = "reached" if reached else "open" if "; undecided" in text else "MISSED"
        print(f"{word:>8}  {text}")
    if options.json:
        body = {
            "benchmark": name,
            "machine": machine(),
            **figures,
            "verdicts": [{"text": t, "reached": r} for t, r in verdicts],
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(body, indent=1, default=asdict) + "\n")
    return 0 if all(reached for _, reached in verdicts) else 1


def progress(text: str) -> None:
    """Print on standard error what is running."""
    print(f"  {text}", file=sys.stderr, flush=True)
