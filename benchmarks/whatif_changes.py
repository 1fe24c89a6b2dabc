"""Is the wall time that `headway whatif` predicts the one of the program after the change, where the change is really made?

Each program (lib/changed_programs.py) has a parameter that removes or shortens a lock, shortens a sleep, makes a method cheaper,
makes the heap so large that nothing is collected, changes a pool, a queue or the parts of a stage, or it runs on other CPUs. It
runs before and after the change in turn, both recorded alike; the prediction is from the recording before. Figures, of the
medians of a program's runs:

- error: predicted over measured, less 1. Measured is the wall time of the run after the change, as it was where others took no
  more than FREE of it, else without what they took (`quiet_ns` of its own replay).
- likely: where the change removes a cause of `headway why`, the same error of the wall time with the speedup that `why` calls
  likely without the largest loss to it: which of the two estimates is nearer.
- interval: whether the measured time lies between `low_ns` and `high_ns`.
- runs differ: by how much runs of one program do, in 85 of 100 pairs; RUNS_DIFFER of the predictions' intervals is from it.

Runs whose unchanged replay is refused have no prediction: they are named.
"""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from lib import harness, results
from lib.changed_programs import CASES, FIRST_LOCK, Case, Made

sys.path.insert(0, str(harness.ROOT / "scripts"))
import measured

FREE = 0.04
MEDIAN_TARGET = 0.05
MOST_TARGET = 0.10
COVERED_TARGET = 0.85
LINES = harness.ROOT / "benchmarks" / "results" / "whatif_changes.jsonl"


def record(program: Made, target: Path, cpus: list[int], options: tuple[str, ...]) -> None:
    """Record a run of a program to its end. Raises RuntimeError with its output if it fails."""
    target.parent.mkdir(parents=True)
    command = program(target.parent)
    places = ",".join(map(str, cpus))
    recorder = [str(harness.HEADWAY), "record", "--force", *options, "-o", str(target), "--cpus", places, "--"]
    with command.beside():
        done = subprocess.run([*recorder, *command.words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command.words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")


def asked(case: Case, path: Path) -> dict[str, Any]:
    """Return what `headway whatif` predicts from a recording, in seconds; `refused`: why it does not."""
    options = list(case.asked)
    if any(FIRST_LOCK in each for each in options):
        place = harness.headway("locks", path)[0]["place"]
        options = [each.replace(FIRST_LOCK, place) for each in options]
    try:
        said = harness.headway("whatif", path, *options)
    except RuntimeError as error:
        return {"refused": next(line for line in str(error).splitlines() if line.startswith("HW"))}
    if said["refused"]:
        return {
            "refused": f"{said['refused']['id']}: {said['refused']['reason']}",
            "replay_error_pct": said["replay_error_pct"],
        }
    change = said["changes"][0]
    found = {name: change[f"{name}_ns"] / 1e9 for name in ("wall", "low", "high")}
    return {
        **found,
        "before": said["measured_ns"] / 1e9,
        "quiet_before": (said["recordings"][0]["quiet_ns"] or 0) / 1e9,
        "likely": likely(case.cause, path) if case.cause else None,
        "replay_error_pct": said["replay_error_pct"],
        "refused": None,
    }


def likely(cause: str, path: Path) -> float:
    """Return the largest speedup that `headway why` calls likely without a loss to a cause; 1 where it calls none so."""
    lost = harness.headway("why", path)["lost"]
    return max((row["likely_speedup"] or 1.0 for row in lost if row["cause"] == cause), default=1.0)


def after(path: Path, cpus: int) -> dict[str, float]:
    """Return how long a run after the change took, in seconds, with and without what others took of it.

    Where its own replay is refused, nothing is known of what others took.
    """
    said = harness.headway("whatif", path, "--cores", str(cpus))
    quiet_ns = 0 if said["refused"] else said["recordings"][0]["quiet_ns"] or 0
    taken, quiet = said["measured_ns"] / 1e9, quiet_ns / 1e9
    return {"measured": taken, "quiet": quiet, "after": quiet if quiet and taken / quiet - 1 > FREE else taken}


def measure(case: Case) -> results.Session:
    """Record a program before and after its change; return what was predicted and what was measured."""
    cpus = harness.machine()["cpus"]
    with harness.recording_folder() as folder:
        before, changed = folder / "before" / "a.headway", folder / "after" / "a.headway"
        record(case.before, before, cpus[: case.cpus[0]], case.recorded)
        record(case.after, changed, cpus[: case.cpus[1]], case.recorded)
        return {**asked(case, before), **after(changed, case.cpus[1])}


def summed_up(name: str, runs: list[results.Session]) -> dict[str, Any]:
    """Return the figures of a program: medians of what its runs predicted and took, in seconds."""
    case = CASES[name]
    known = [run for run in runs if not run["refused"]]
    found: dict[str, Any] = {
        "change": name,
        "asked": " ".join(case.asked),
        "by_others": case.by_others,
        "runs": len(runs),
        "refused": sorted({run["refused"] for run in runs if run["refused"]}),
        "after_s": round(median(run["after"] for run in runs), 3),
    }
    if not known:
        return found
    for key, figure in (("before_s", "before"), ("predicted_s", "wall"), ("low_s", "low"), ("high_s", "high")):
        found[key] = round(median(run[figure] for run in known), 3)
    found["error_pct"] = round(100 * (found["predicted_s"] / found["after_s"] - 1), 1)
    if case.cause and all(run.get("likely") for run in known):
        found["likely_s"] = round(median(_quiet_before(run) / run["likely"] for run in known), 3)
        found["likely_error_pct"] = round(100 * (found["likely_s"] / found["after_s"] - 1), 1)
    found["is_covered"] = found["low_s"] <= found["after_s"] <= found["high_s"]
    return found


def _quiet_before(run: results.Session) -> float:
    """Return how long the run before the change took, without what others took of it where that was more than FREE."""
    quiet: float = run["quiet_before"]
    return quiet if quiet and run["before"] / quiet - 1 > FREE else float(run["before"])


def against_why(changes: list[dict[str, Any]]) -> tuple[str, bool]:
    """Return a line on changes that remove a cause of `headway why`: how far its likely gains are off, and these predictions."""
    both = [each for each in changes if "likely_error_pct" in each]
    if not both:
        return "no change that removes a cause of `why` was predicted; no target", True
    why, whatif = (median(abs(each[key]) for each in both) for key in ("likely_error_pct", "error_pct"))
    nearer = sum(abs(each["likely_error_pct"]) < abs(each["error_pct"]) for each in both)
    text = f"{len(both)} changes that remove a cause of `why`: median error {why:.1f} % of its likely gains, {whatif:.1f} % of"
    return f"{text} `whatif`; `why` nearer in {nearer}; no target", True


def verdicts_of(changes: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """Return the lines of the summary, and whether their targets are reached."""
    errors = [abs(each["error_pct"]) / 100 for each in changes if "error_pct" in each]
    others = [each for each in changes if each["by_others"]]
    if len(errors) < 2:
        return [("no two changes were predicted", False)]
    middle, most = median(errors), quantiles(errors, n=10, method="inclusive")[-1]
    covered = [each["is_covered"] for each in changes if "error_pct" in each]
    share = sum(covered) / len(covered)
    refused = [each["change"] for each in changes if "error_pct" not in each]
    return [
        (f"{len(changes)} changes, {len(others)} of them in programs written by others; no target", True),
        (f"median error {100 * middle:.1f} %, target {100 * MEDIAN_TARGET:.0f} %", middle <= MEDIAN_TARGET),
        (f"90th percentile of the error {100 * most:.1f} %, target {100 * MOST_TARGET:.0f} %", most <= MOST_TARGET),
        (f"interval covers {100 * share:.0f} %, target {100 * COVERED_TARGET:.0f} %", share >= COVERED_TARGET),
        against_why(changes),
        (f"refused: {', '.join(refused) or 'none'}; no target", True),
    ]


def runs_differ(sessions: dict[str, list[results.Session]]) -> str:
    """Return a line on by how much the wall times of two runs of one program, before or after its change, differ."""
    pairs: list[tuple[float, float]] = []
    for runs in sessions.values():
        pairs += combinations([run["after"] for run in runs], 2)
        pairs += combinations([run["before"] for run in runs if not run["refused"]], 2)
    differences = [max(pair) / min(pair) - 1 for pair in pairs]
    if len(differences) < 2:
        return "no two runs of one program; no target"
    return f"runs of one program differ by {100 * quantiles(differences, n=20)[16]:.1f} % or less in 85 of 100 pairs; no target"


def report(options: Any, sessions: dict[str, list[results.Session]]) -> int:
    """Print figures and verdicts, and keep them if asked to; return 0 if the targets are reached."""
    changes = [summed_up(name, runs) for name, runs in sessions.items()]
    shown = ("before_s", "predicted_s", "low_s", "high_s", "after_s", "error_pct", "is_covered", "likely_error_pct")
    rows = [[each["change"], *(str(each.get(key, "-")) for key in shown)] for each in changes]
    head = ["change", "before", "predicted", "low", "high", "measured", "error %", "covered", "why %"]
    print(harness.table(head, rows))
    for each in changes:
        for reason in each["refused"]:
            print(f"refused: {each['change']}: {reason}")
    verdicts = [*verdicts_of(changes), (runs_differ(sessions), True)]
    code = harness.finish(options, "whatif_changes", {"changes": changes, "sessions": sessions}, verdicts)
    if options.keep is not None:
        measured.keep(options.json, options.keep, is_partial=options.quick or len(changes) < len(CASES))
        measured.write()
    return code


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--rounds", type=int, help="runs before and after each change (3; 1 with --quick)")
    parser.add_argument("--keep", metavar="CONDITIONS", help=f"add the figures to {LINES.name}; needs --json")
    parser.add_argument("--minutes", type=float, default=14, help="begin no further round after that (14)")
    results.arguments(parser)
    options = parser.parse_args()
    if len(harness.machine()["cpus"]) < 2:
        parser.error("needs two CPUs")
    if options.keep is not None and options.json is None:
        parser.error("--keep needs --json")
    names = results.chosen(options, tuple(CASES))
    kept = results.Results("whatif_changes", options)
    began = time.monotonic()
    for number in range(options.rounds or (1 if options.quick else 3)):
        for name in names:
            if number and time.monotonic() - began > 60 * options.minutes:
                break
            harness.progress(f"{name}, round {number + 1}")
            kept.add(name, measure(CASES[name]))
    return report(options, kept.sessions)


if __name__ == "__main__":
    sys.exit(main())
