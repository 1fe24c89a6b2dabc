"""What a long recording costs after the program's end: CPU time and memory of all that `headway run` does then.

Pairs of threads hand a turn to each other, recorded with locks and CPU samples: through SynchronousQueues, where they mostly
yield, and by park and unpark, where each switch is a wait of its own. Each step is a process: the findings and the report, as
`run` makes them, and `report`, `locks` and `why` alone. CPU time is of all its threads, start and imports included. Where
memory is not for all waits (HEADWAY_MEMORY, 1G without it) only the first are read, as headway tells. Targets: 20 s per 10
million switches for all that `run` does after the program's end, of which finalising takes 3 (finalise.py); 1 GiB in each step.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from lib import harness, programs

PAIRS = 4
MOST_SECONDS = 20 - 3
"""Per 10 million switches."""
MOST_KIB = 1 << 20
KINDS = ("queue", "park")
_SHOW = "import sys; from pathlib import Path; from headway.cli.run import show; show(Path(sys.argv[1]), True)"


def cost(words: list[str]) -> dict[str, float]:
    """Run a command; return its CPU seconds and the peak of its memory in KiB. Raises SystemExit when it fails."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode} of {' '.join(words)}")
    return {"cpu_s": used.ru_utime + used.ru_stime, "peak_kib": float(used.ru_maxrss)}


def measure(kind: str, handoffs: int, folder: Path) -> dict[str, Any]:
    """Record a ping-pong and take the steps."""
    target = folder / f"{kind}.headway"
    words = [str(harness.HEADWAY), "record", "--locks", "--sample", "cpu", "-o", str(target), "--"]
    subprocess.run([*words, *programs.workload("PingPong", PAIRS, handoffs, kind)], check=True, capture_output=True)
    manifest = json.loads((target / "manifest.json").read_text())
    python = [sys.executable, "-c"]
    steps = {
        "findings and report": cost([*python, _SHOW, str(target)]),
        "locks": cost([str(harness.HEADWAY), "locks", str(target), "--json"]),
        "why": cost([str(harness.HEADWAY), "why", str(target), "--json"]),
        "report": cost([str(harness.HEADWAY), "report", str(target), "-o", str(folder / f"{kind}.html"), "--force"]),
    }
    waits = manifest["tables"].get("block", {}).get("rows", 0)
    shutil.rmtree(target)
    return {"kind": kind, "switches": manifest["switches"], "waits": waits, "steps": steps}


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--handoffs", type=int, help="of each pair (1 million; 100 thousand with --quick)")
    options = parser.parse_args()
    handoffs = options.handoffs or (100_000 if options.quick else 1_000_000)
    found, rows = [], []
    with harness.recording_folder() as folder:
        for kind in KINDS:
            harness.progress(f"{kind}: {PAIRS} pairs, {handoffs:,} hand-offs each")
            found.append(measure(kind, handoffs, folder))
    verdicts = []
    for each in found:
        for step, used in each["steps"].items():
            figures = (
                f"{each['switches']:,}",
                f"{each['waits']:,}",
                f"{used['cpu_s']:.1f} s",
                f"{used['peak_kib'] / 1024:.0f} MiB",
            )
            rows.append((f"{each['kind']}: {step}", *figures))
        run = each["steps"]["findings and report"]
        per_ten = run["cpu_s"] / each["switches"] * 1e7
        peak = max(used["peak_kib"] for used in each["steps"].values())
        text = (
            f"{each['kind']}: findings and report {per_ten:.1f} s of CPU time per 10 million switches ({MOST_SECONDS})"
        )
        verdicts.append((text, per_ten <= MOST_SECONDS))
        verdicts.append((f"{each['kind']}: {peak / 1024:.0f} MiB at most (1024)", peak <= MOST_KIB))
    print(harness.table(("step", "switches", "waits", "CPU", "peak memory"), rows))
    return harness.finish(options, "memory_and_time", {"recordings": found}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
