"""What a recording and its analyses cost with another build of headway and with this one, in turns: a guard of changes.

    python benchmarks/against_commit.py --before PATH/bin/headway [--pairs 9] [--percent 100] [--quick] [--json FILE]

Each round records the same program with either build (its tables are made at the end), and then lets either answer every
analysis of a recording that the other build made before all rounds, make the tables of the same spool of a million switches
(`recover`), and import the same JFR file of a busy server. CPU time is that of all headway's processes: of recording,
what the command and its children took less what the program says of itself. Bytes are those of the recording's directory.
Ratios are of neighbours in time, this build by the other, beside the same of the other build by itself.

Target: no ratio above 1.05. Analyses whose --json differs are named: whoever runs this says why they do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jfr_import
from lib import harness, programs, spool_file_builder

TARGET = 1.05
ANALYSES = ("why", "locks", "critical-path", "parallelism", "threads", "top")
PROGRAM = "lusearch"
SWITCHES = 1_000_000
JFR_PERCENT = 120
"""Of the server's work, for a file of some MB."""
TIMES = 3
"""How often a round finalises and imports, which are short."""
FIGURES = {
    "whole_ns": "CPU time of a recorded run",
    "bytes": "bytes",
    "analyses_ns": "CPU time of analyses",
    "finalising_ns": f"CPU time of finalising {SWITCHES:,} switches",
    "import_ns": "CPU time of importing a JFR file",
}


def cpu_of(command: list[str | Path], *, output: Path | None = None) -> tuple[int, str]:
    """Return the CPU time in ns of a command and all its children, and what it printed. Raises CalledProcessError."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(map(str, command)), text, errors)
    if output is not None:
        output.write_text(text)
    return round((usage.ru_utime + usage.ru_stime) * 1e9), text


def record(headway: Path, directory: Path, percent: int) -> dict[str, float]:
    """Record the program once; return the CPU time that headway took beside it, and the recording's bytes."""
    command = programs.command(PROGRAM, percent=percent)
    cpu_ns, text = cpu_of([headway, "record", "--locks", "--sample", "cpu", "-o", directory, "--", *command])
    _, program_ns = harness.own_clocks(harness.last_json(text))
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    return {"cpu_ns": cpu_ns - program_ns, "whole_ns": cpu_ns, "bytes": size}


def analyse(headway: Path, directory: Path, folder: Path) -> int:
    """Answer every analysis as JSON into `folder`; return the CPU time in ns."""
    folder.mkdir(exist_ok=True)
    return sum(cpu_of([headway, name, directory, "--json"], output=folder / name)[0] for name in ANALYSES)


def finalise(headway: Path, spool: Path, folder: Path) -> int:
    """Make the tables of a copy of a recording that was cut off; return the CPU time in ns."""
    copy = folder / "spool.headway"
    shutil.copytree(spool, copy)
    taken_ns, _ = cpu_of([headway, "recover", copy])
    shutil.rmtree(copy)
    return taken_ns


def import_file(headway: Path, file: Path, folder: Path) -> int:
    """Import a JFR file; return the CPU time in ns."""
    directory = folder / "imported.headway"
    taken_ns, _ = cpu_of([headway, "import", file, "-o", directory])
    shutil.rmtree(directory)
    return taken_ns


def differing(before: Path, after: Path) -> list[str]:
    """Return the analyses whose JSON is not the same, with the keys that only one of them has, or whose values differ."""
    found = []
    for name in ANALYSES:
        old, new = ((folder / name).read_text() for folder in (before, after))
        if old != new:
            keys = [json.loads(old), json.loads(new)]
            names = sorted(key for key in {*keys[0], *keys[1]} if keys[0].get(key) != keys[1].get(key))
            found.append(f"{name} ({', '.join(names) or 'the order'})")
    return found


def measure(options: Any, folder: Path) -> dict[str, Any]:
    """Take turns; return ratios and what was measured."""
    shared = folder / "shared.headway"
    record(options.before, shared, options.percent)
    spool, jfr = spool_file_builder.make(folder / "spool", SWITCHES), folder / "server.jfr"
    jfr_import.jdk_file(jfr, JFR_PERCENT)
    runs: dict[str, list[dict[str, float]]] = {"before": [], "after": []}

    def once(which: str, headway: Path, number: int) -> None:
        directory = folder / f"{which}{number}.headway"
        recorded = record(headway, directory, options.percent)
        answered_ns = analyse(headway, shared, folder / which)
        others = {
            "finalising_ns": sum(finalise(headway, spool, folder) for _ in range(TIMES)),
            "import_ns": sum(import_file(headway, jfr, folder) for _ in range(TIMES)),
        }
        runs[which].append({**recorded, "analyses_ns": answered_ns, **others})
        shutil.rmtree(directory)

    for headway in (options.before, harness.HEADWAY):  # so that either build's Python is compiled by then
        analyse(headway, shared, folder / "compiled")
        finalise(headway, spool, folder)
        import_file(headway, jfr, folder)
    for number in range(options.pairs):
        harness.progress(f"pair {number + 1} of {options.pairs}")
        once("before", options.before, number)
        once("after", harness.HEADWAY, number)
    once("before", options.before, options.pairs)
    ratios = {
        figure: harness.ratio([row[figure] for row in runs["before"]], [row[figure] for row in runs["after"]])
        for figure in FIGURES
    }
    return {"runs": runs, "ratios": ratios, "differing": differing(folder / "before", folder / "after")}


def main() -> int:
    """Compare both builds, print and keep the result; return 0 if no ratio is above the target."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="HEADWAY", help="the other build's command")
    parser.add_argument("--pairs", type=int, help="(9; 3 with --quick)")
    parser.add_argument("--percent", type=int, default=100, help="of the program's work (100)")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    options.pairs = options.pairs or (3 if options.quick else 9)
    with harness.recording_folder() as folder:
        found = measure(options, folder)
    verdicts = [verdict(FIGURES[figure], ratio) for figure, ratio in found["ratios"].items()]
    verdicts.append((f"analyses with other JSON: {'; '.join(found['differing']) or 'none'}", True))
    return harness.finish(options, "against_commit", found, verdicts)


def verdict(name: str, ratio: harness.Ratio) -> tuple[str, bool]:
    """Return what is said of a ratio, and whether it is within the target."""
    text = f"{PROGRAM}: {name}: {ratio.median:.3f} times that of before ({ratio.low:.3f} to {ratio.high:.3f}); target {TARGET}"
    return harness.against(text, ratio.median, ratio.high, TARGET)


if __name__ == "__main__":
    sys.exit(main())
