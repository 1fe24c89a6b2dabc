"""One server in turn without anything, and with each of several profilers: CPU time of a request, and what each finds.

The server of java/workloads (QueueServer): clients put requests into a queue and wait for the reply, workers compute about 40 us
for each. One warm JVM; every block with a profiler has one without right before and right after it. headway records (states of
threads; locks and CPU samples), async-profiler samples the CPU or locks, the JDK's Flight Recorder has its profile settings.

Figures: CPU time of the program and what the profiler used beside it, per request, without what the JVM's compilers took.
What each says: the part of the workers' CPU samples in the method that computes, beside the truth: the same part of their CPU
time by the threads' own CPU clocks, which the server reads around that method; and how long clients waited (nearly all the
time: clients x wall time, by the program's own clock). No target: to be read side by side.

The JVM is told not to inline that method. Whose an instruction is where methods were inlined all three ask the JIT compiler's
notes, and these put loops of an inlined method into its caller, or not, by chance of how it was compiled
(docs/how-to/sampling.md): with inlining the same server gave 1 to 82 % here, for a truth of 85 to 90.
The Flight Recorder samples threads in Java code alone: what they use in the kernel (waking others) is missing there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lib import driven, harness, programs, results

CLIENTS, WORKERS, REQUESTS, ROUNDS = 32, 8, 400, 20_000
COMPUTES = "Work.spin"
APART = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,headway.workloads.Work::spin")
PROFILER = harness.ROOT / "java/workloads/target/async-profiler.jar"
JDK = Path("/usr/lib/jvm/java-17-openjdk-amd64/bin")
Found = dict[str, float | None]


def jcmd(pid: int, *words: str) -> None:
    """Ask a JVM for something. Raises CalledProcessError if it refuses."""
    subprocess.run([JDK / "jcmd", str(pid), *words], check=True, capture_output=True, timeout=60)


class Tools:
    """The profilers, each as something to do before a block and after it, and what it found in that block."""

    def __init__(self, program: driven.Driven, folder: Path) -> None:
        """Take the program's JVM, and a folder for what profilers write."""
        self.program = program
        self.folder = folder
        self.library = folder / "libasyncProfiler.so"
        if PROFILER.exists():
            machine = "linux-arm64" if "aarch64" in str(harness.machine()["kernel"]) else "linux-x64"
            with zipfile.ZipFile(PROFILER) as jar:
                self.library.write_bytes(jar.read(f"{machine}/{self.library.name}"))
        self.number = 0

    def all(self) -> dict[str, Callable[[], Any]]:
        """Return them by name."""
        found: dict[str, Callable[[], Any]] = {
            "headway record": lambda: self.headway("--no-locks"),
            "headway locks, samples": lambda: self.headway("--locks", "--sample", "cpu"),
        }
        if self.library.exists():
            found |= {
                "async-profiler cpu": lambda: self.profiler("cpu", "interval=10ms"),
                "async-profiler lock": lambda: self.profiler("lock", "lock=0"),
            }
        return {**found, "JFR profile": self.flight_recorder}

    def _next(self, ending: str) -> Path:
        self.number += 1
        return self.folder / f"{self.number}{ending}"

    @contextmanager
    def headway(self, *options: str) -> Iterator[tuple[driven.Recorder, Callable[[], Found]]]:
        """Record with headway."""
        target = self._next(".headway")
        with self.program.recorded(target, *options) as recorder:
            yield recorder, lambda: found_by_headway(target)

    @contextmanager
    def profiler(self, event: str, *options: str) -> Iterator[tuple[None, Callable[[], Found]]]:
        """Sample with async-profiler."""
        target = self._next(".txt")
        self._tell_profiler(f"start,event={event},threads,{','.join(options)}")
        yield None, lambda: found_in_stacks(target, event)
        self._tell_profiler(f"stop,collapsed,total,file={target}")

    def _tell_profiler(self, what: str) -> None:
        """Tell it something; jcmd takes what holds a "=" for an option of its own where it is not quoted."""
        jcmd(self.program.pid, "JVMTI.agent_load", str(self.library), f'"{what}"')

    @contextmanager
    def flight_recorder(self) -> Iterator[tuple[None, Callable[[], Found]]]:
        """Record with the JDK's Flight Recorder, settings "profile"."""
        target, name = self._next(".jfr"), f"name=bench{self.number}"
        jcmd(self.program.pid, "JFR.start", name, "settings=profile")
        yield None, lambda: found_by_flight_recorder(target)
        jcmd(self.program.pid, "JFR.stop", name, f"filename={target}")


# ---- what each found ------------------------------------------------------------------------------------------------


def found_by_headway(target: Path) -> Found:
    """Return the part of CPU samples in the method that computes, and the clients' waits in ns; None: not recorded."""
    asked = "SELECT sum(b.dur_ns) AS ns FROM block b JOIN thread t USING (thread_id) WHERE t.name LIKE 'client-%'"
    found: Found = {"computes": None, "waited_ns": None}
    tables = {row["name"] for row in harness.headway("query", target, "SHOW TABLES")}
    if "block" in tables:
        (row,) = harness.headway("query", target, asked)
        found["waited_ns"] = row["ns"]
    if "sample" in tables:
        inside = (
            f"sum(weight) FILTER (stack_id IN (SELECT stack_id FROM stack JOIN frame USING (frame_id) WHERE {_METHOD}))"
        )
        share = f"SELECT {inside} / sum(weight) AS share FROM sample JOIN thread USING (thread_id)"
        share += " WHERE event = 'cpu' AND name LIKE 'worker-%'"
        (row,) = harness.headway("query", target, share)
        found["computes"] = row["share"]
    return found


_METHOD = "class_name || '.' || method LIKE '%Work.spin'"


def found_in_stacks(target: Path, event: str) -> Found:
    """Return the same of collapsed stacks with a line per thread and stack."""
    total = inside = waited = 0
    for line in target.read_text().splitlines():
        stack, _, weight = line.rpartition(" ")
        is_worker = stack.startswith("[worker-")
        total += int(weight) if is_worker else 0
        inside += int(weight) if is_worker and COMPUTES in stack.replace("/", ".") else 0
        waited += int(weight) if stack.startswith("[client-") else 0
    if event == "cpu":
        return {"computes": inside / total if total else None, "waited_ns": None}
    return {"computes": None, "waited_ns": waited}


def found_by_flight_recorder(target: Path) -> Found:
    """Return the same of a file of the Flight Recorder."""
    words: list[str | Path] = [
        JDK / "jfr",
        "print",
        "--stack-depth",
        "5",
        "--events",
        "jdk.ExecutionSample,jdk.ThreadPark",
        target,
    ]
    text = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout
    events = text.split("\njdk.")
    named = [each.removeprefix("jdk.") for each in events]
    samples = [each for each in named if each.startswith("ExecutionSample") and 'sampledThread = "worker-' in each]
    parks = [each for each in named if each.startswith("ThreadPark") and 'eventThread = "client-' in each]
    lengths = [re.search(r"duration = ([\d.]+) (\w+)", each) for each in parks]
    units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    waited = sum(float(match[1]) * units.get(match[2], 0) for match in lengths if match)
    inside = sum(COMPUTES in each for each in samples)
    return {"computes": inside / len(samples) if samples else None, "waited_ns": waited}


_CLOCKS = ("spin_cpu_ns", "workers_cpu_ns")


# ---- measuring ------------------------------------------------------------------------------------------------------


def measure(options: Any) -> results.Session:
    """Warm the server up; return blocks without anything, and those of each profiler between them."""
    words = programs.workload("QueueServer", CLIENTS, WORKERS, REQUESTS, ROUNDS, "array")
    java, *rest = words
    with (
        harness.recording_folder() as folder,
        driven.Driven([str(JDK / java), "-XX:-UseDynamicNumberOfCompilerThreads", *APART, *rest]) as program,
    ):
        program.warm_up(options.warm_up)
        tools = Tools(program, folder)

        def block(recorder: driven.Recorder | None) -> dict[str, float]:
            first = program.run(recorder)
            runs = [program.run(recorder) for _ in range(options.runs)]
            spun, all_of_it = (sum(int(run.own_output[key]) for run in [first, *runs]) for key in _CLOCKS)
            requests = sum(int(run.own_output["requests"]) for run in runs)
            whole = driven.total(runs)
            return {
                "request_ns": (whole.cpu_ns - whole.jit_ns) / requests,
                "beside_ns": whole.recorder_ns / requests,
                "wall_ns": whole.wall_ns,
                "truth": spun / all_of_it,
            }

        off = [block(None)]
        on: list[dict[str, Any]] = []
        deadline = time.monotonic() + options.seconds
        while time.monotonic() < deadline or not on:
            for name, tool in tools.all().items():
                harness.progress(name)
                with tool() as (recorder, look):
                    one: dict[str, Any] = {"tool": name, **block(recorder)}
                # The first run of a block is profiled, too: its wall time is about that of the others.
                one["clients_ns"] = CLIENTS * one["wall_ns"] * (options.runs + 1) / options.runs
                on.append({**one, **look()})
                off.append(block(None))
    return {"off": off, "on": on}


def summarise(sessions: list[results.Session]) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and, as there are no targets, one line for each profiler."""
    ratios: dict[str, list[float]] = {}
    beside: dict[str, list[float]] = {}
    found: dict[str, list[Found]] = {}
    same: list[float] = []
    for session in sessions:
        off, on = [each["request_ns"] for each in session["off"]], session["on"]
        treated, alike = harness.pair_ratios(off, [each["request_ns"] for each in on])
        same += alike
        for number, (one, ratio) in enumerate(zip(on, treated, strict=True)):
            ratios.setdefault(one["tool"], []).append(ratio)
            mean = (off[number] + off[number + 1]) / 2
            beside.setdefault(one["tool"], []).append(ratio + one["beside_ns"] / mean)
            waited = None if one["waited_ns"] is None else one["waited_ns"] / one["clients_ns"]
            seen: Found = {"computes": one["computes"], "truth": one.get("truth"), "waited": waited}
            found.setdefault(one["tool"], []).append(seen)
    rows: list[list[str]] = []
    figures: dict[str, Any] = {}
    lines: list[tuple[str, bool]] = []
    for name, values in ratios.items():
        program, whole = harness.ratio_of(values, same), harness.ratio_of(beside[name], same)
        computes, truth, waited = (
            _mean([each[key] for each in found[name]]) for key in ("computes", "truth", "waited")
        )
        rows.append([name, program.percent(), whole.percent(), _share(computes), _share(truth), _share(waited)])
        sight = {"computes": computes, "truth": truth, "waited": waited}
        figures[name] = {"program": program, "with_profiler": whole, **sight}
        text = f"{name}: CPU of a request {program.percent()}, {whole.percent()} with the profiler's own"
        text += f"; saw {_share(computes)} of the computing (truth {_share(truth)}), {_share(waited)} of the waits; no target"
        lines.append((text, True))
    heads = ["profiler", "CPU", "with its own", "computing seen", "truth", "waits seen"]
    print(harness.table(heads, rows))
    if same:
        print(f"A/A noise {harness.ratio_of(same, same).percent()}")
    return {"tools": figures}, lines


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _share(value: float | None) -> str:
    return "not asked" if value is None else f"{100 * value:.1f} %"


def main() -> int:
    """Measure and print."""
    parser = harness.arguments(__doc__)
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="at most so long, in whole rounds (600; 120 with --quick)"
    )
    parser.add_argument("--runs", type=int, default=4, help="in a block (4)")
    parser.add_argument("--warm-up", type=float, metavar="S", default=20.0, help="at most so many seconds (20)")
    options = parser.parse_args()
    options.seconds = options.seconds or (120.0 if options.quick else 600.0)
    session = measure(options)
    figures, lines = summarise([session])
    return harness.finish(options, "beside_others", {**figures, "sessions": [session]}, lines)


if __name__ == "__main__":
    sys.exit(main())
