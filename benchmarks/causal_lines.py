"""Do causal recordings find a program's CPU time on the lines that async-profiler finds it on?

Programs of others (java/real: Lucene that indexes, H2 that updates, Log4j that formats) run in turn with headway's causal
sampling and with async-profiler, each in a JVM of its own: in one JVM either would have what the other asks the JVM for.
Compared is the share of each line, of the innermost frame in the library's own classes, over all runs of a tool; lines of
safepoints alone, which a JVM knows of compiled code unless it is asked for more, are tens of points off.

Target: no line's share differs by more than 5 points, or by what async-profiler's own runs differ from their mean, if that is
more.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from headway.store import open_recording
from lib import harness
from support.drivers import real_servers
from support.drivers.recording_cli import headway
from support.drivers.workloads import agent

POINTS = 0.05
SHOWN = 4
PROFILER = harness.ROOT / "java/workloads/target/async-profiler.jar"
Shares = dict[str, float]


@dataclass(frozen=True, slots=True)
class Case:
    """A program: what begins the names of its library's classes, and its arguments, given a folder to write in."""

    scope: str
    program: str
    arguments: Callable[[Path], Sequence[object]]


CASES = {
    "lucene": Case("org.apache.lucene.", "LuceneIndex", lambda _: (2, 8000)),
    "h2": Case("org.h2.", "TransactionLocks", lambda _: ("jdbc:h2:mem:bank;LOCK_TIMEOUT=60000", 2, 12000, 0, "own")),
    "log4j": Case("org.apache.logging.log4j.", "LogWriter", lambda folder: (2, 150_000, 400, folder / "log", "own")),
}


def shares(time_ns: Counter[str]) -> Shares:
    """Return the part of all that each line has."""
    whole = sum(time_ns.values())
    return {line: ns / whole for line, ns in time_ns.items()}


def run(case: Case, folder: Path, option: str) -> None:
    """Run a program to its end with an option of the JVM."""
    java, *words = real_servers.command(case.program, *case.arguments(folder))
    subprocess.run([java, option, *words], capture_output=True, timeout=300, check=True, cwd=folder)


def by_headway(case: Case, folder: Path) -> Counter[str]:
    """Return the CPU time of each line as a causal recording samples it.

    Its progress point is nowhere: what is inserted into code changes what the compiler makes of it.
    """
    spool = folder / "spool"
    spool.mkdir()
    spec = f"scope:{quote(case.scope + '*', safe='')};progress:{quote('none=Nowhere.java', safe='')}"
    run(case, folder, f"-agentpath:{agent()}=spool={quote(str(spool))},causal={quote(spec, safe='/._-~+:@')}")
    (path,) = spool.glob("causal-*.jsonl")
    notes = [json.loads(line) for line in path.read_text().splitlines()]
    names = {note["id"]: f"{note['class']}:{note['line']}" for note in notes if note["t"] == "line"}
    found: Counter[str] = Counter()
    for line, ns, *_ in [note for note in notes if note["t"] == "profile"][-1]["lines"]:
        found[names[line]] += ns
    return found


def by_profiler(case: Case, folder: Path) -> Counter[str]:
    """Return the CPU time of each line as async-profiler samples it."""
    library, samples, recording = (folder / name for name in ("libasyncProfiler.so", "cpu.jfr", "cpu.headway"))
    machine = "linux-arm64" if "aarch64" in str(harness.machine()["kernel"]) else "linux-x64"
    with zipfile.ZipFile(PROFILER) as jar:
        library.write_bytes(jar.read(f"{machine}/{library.name}"))
    run(case, folder, f"-agentpath:{library}=start,event=ctimer,interval=1ms,jfr,file={samples}")
    done = headway("import", samples, "-o", recording)
    if done.returncode:
        raise SystemExit(done.stderr)
    rows = open_recording(recording).query(
        "WITH place AS (SELECT stack_id, arg_min(class_name || ':' || line, depth) AS line FROM stack"
        f" JOIN frame USING (frame_id) WHERE class_name LIKE '{case.scope}%' AND line IS NOT NULL GROUP BY stack_id)"
        " SELECT line, sum(weight) FROM sample JOIN place USING (stack_id) WHERE event = 'cpu' GROUP BY line"
    )
    return Counter({str(line): int(ns) for line, ns in rows.fetchall()})


def in_turns(case: Case, repeat: int) -> tuple[list[Counter[str]], list[Counter[str]]]:
    """Return what each tool found in each of its runs."""
    ours: list[Counter[str]] = []
    theirs: list[Counter[str]] = []
    for _ in range(repeat):
        for tool, into in ((by_headway, ours), (by_profiler, theirs)):
            with harness.recording_folder() as folder:
                into.append(tool(case, folder))
    return ours, theirs


def compared(ours: Sequence[Counter[str]], theirs: Sequence[Counter[str]]) -> dict[str, Any]:
    """Return the largest difference of a line's share, that of async-profiler's runs to their mean, and the hottest lines."""
    own, other = shares(sum(ours, Counter())), shares(sum(theirs, Counter()))
    off = {line: own.get(line, 0.0) - other.get(line, 0.0) for line in {*own, *other}}
    worst = max(off, key=lambda line: abs(off[line]))
    each = [shares(one) for one in theirs]
    spread = max(abs(one.get(line, 0.0) - other[line]) for one in each for line in other)
    hottest = sorted(other, key=lambda line: -other[line])[:SHOWN]
    return {
        "line": worst,
        "points": off[worst],
        "spread": spread,
        "hottest": [{"line": line, "headway": own.get(line, 0.0), "async-profiler": other[line]} for line in hottest],
    }


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeat", type=int, help="runs of each tool (4; 2 with --quick)")
    options = parser.parse_args()
    real_servers.build()
    found, verdicts = {}, []
    for name, case in CASES.items():
        harness.progress(name)
        found[name] = one = compared(*in_turns(case, options.repeat or (2 if options.quick else 4)))
        for row in one["hottest"]:
            parts = f"headway {row['headway']:.1%}, async-profiler {row['async-profiler']:.1%}"
            print(f"{name:>8}  {row['line']}: {parts}")
        text = f"{name}: {one['line']} is {100 * one['points']:+.1f} points off"
        text += f", async-profiler's runs up to {100 * one['spread']:.1f}"
        verdicts.append((text, abs(one["points"]) <= max(POINTS, one["spread"])))
    return harness.finish(options, "causal_lines", {"programs": found}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
