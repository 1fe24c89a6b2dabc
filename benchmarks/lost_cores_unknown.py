"""How much of the cores' time has a cause that `headway why` does not know, on real programs?

Whole runs, JVM start included, recorded with locks and samples. `unknown` is what no record tells; causes that the recording
can't tell apart (blocked, waiting for threads) are shown beside it. Target: unknown at most 5 % of core time; the parts add up to
cores x wall time within 0.1 %.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from lib import harness, programs

TARGET = 0.05
CHOSEN = ("sunflow", "h2", "luindex", "lusearch", "xalan")
COARSE = ("waiting_for_threads", "blocked")


def measure(name: str, percent: int) -> dict[str, Any]:
    """Record a program and return its account."""
    with harness.recording_folder() as folder:
        target = folder / "r.headway"
        words = [str(harness.HEADWAY), "record", "--locks", "--sample", "cpu,wall", "-o", str(target), "--"]
        done = subprocess.run(
            [*words, *programs.command(name, percent=percent)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return dict(harness.headway("why", target))


def share(account: dict[str, Any], *causes: str) -> float:
    """Return the share of core time lost to some causes."""
    return float(sum(row["core_ns"] for row in account["lost"] if row["cause"] in causes) / account["core_ns"])


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeat", type=int, help="recordings of each program (5; 2 with --quick)")
    parser.add_argument("--percent", type=int, default=100, help="how much work, of the usual (100)")
    parser.add_argument("--only", default="", metavar="NAMES", help="only these programs, with commas")
    options = parser.parse_args()
    repeat = options.repeat or (2 if options.quick else 5)
    names = tuple(filter(None, options.only.split(","))) or CHOSEN
    rows, figures, verdicts, worst = [], {}, [], 0.0
    for name in [name for name in names if name in programs.available()]:
        harness.progress(f"{name}: {repeat} recordings")
        accounts = [measure(name, options.percent) for _ in range(repeat)]
        unknown = harness.bootstrap([share(account, "unknown") for account in accounts])
        coarse = harness.bootstrap([share(account, *COARSE) for account in accounts])
        lost = harness.bootstrap([account["lost_ns"] / account["core_ns"] for account in accounts])
        worst = max(worst, *(account["invariant_error"] for account in accounts))
        first = max(accounts[0]["lost"], key=lambda row: row["core_ns"], default={"cause": "-"})["cause"]
        rows.append([name, *(f"{100 * each[0]:.2f} %" for each in (lost, coarse, unknown)), first])
        figures[name] = {"unknown": unknown, "coarse": coarse, "lost": lost, "by_cause": accounts[0].get("by_cause")}
        text = f"{name}: {100 * unknown[0]:.2f} % [{100 * unknown[1]:.2f}, {100 * unknown[2]:.2f}] unknown, target 5 %"
        verdicts.append(harness.against(text, unknown[0], unknown[2], TARGET))
    verdicts.append((f"identity: off by {100 * worst:.3f} % of core time at most, target 0.1 %", worst <= 0.001))
    print(harness.table(["program", "lost", "not told apart", "unknown", "largest cause"], rows))
    return harness.finish(options, "lost_cores_unknown", {"repeat": repeat, "programs": figures}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
