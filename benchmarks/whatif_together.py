"""Is the time that two programs take together the one that `headway whatif A --together B` predicts from a recording of each?

Each of four programs is recorded alone on two CPUs; then each pair of them, started at once on the same two, in one recording.
The figure is when both are done: predicted over measured, less 1. Measured is the wall time of the recording of both where others
took no more than FREE of it, else without what they took (`quiet_ns` of its own replay). Recordings whose replay is refused have
no figure, and are named.
"""

from __future__ import annotations

import itertools
import shlex
import sys
from pathlib import Path
from statistics import mean, median
from typing import Any

from lib import harness, programs, results
from whatif_changes import FREE

TARGET = 0.05
PROGRAMS = ("h2", "lusearch", "pmd", "xalan")
PAIRS = {"+".join(pair): pair for pair in itertools.combinations(PROGRAMS, 2)}


def record(names: tuple[str, ...], cpus: list[int], target: Path, percent: int) -> None:
    """Record some programs that are started at once, until all of them are done."""
    target.parent.mkdir(parents=True)
    words = [shlex.join(programs.command(name, percent=percent)) for name in names]
    script = " & ".join(words) + " & wait"
    places = ",".join(map(str, cpus))
    recorder = [str(harness.HEADWAY), "record", "--force", "-o", str(target), "--cpus", places, "--"]
    harness.run([*recorder, "sh", "-c", script], cpus, recorded=True)


def measure(pair: tuple[str, str], percent: int) -> results.Session:
    """Return when both programs of a pair are done, as predicted from a recording of each and as recorded together."""
    cpus = harness.machine()["cpus"][:2]
    with harness.recording_folder() as folder:
        one, other, both = (folder / name / "a.headway" for name in (*pair, "both"))
        for names, target in (((pair[0],), one), ((pair[1],), other), (pair, both)):
            record(names, cpus, target, percent)
        predicted = harness.headway("whatif", one, "--together", other, "--cores", str(len(cpus)))
        measured = harness.headway("whatif", both, "--cores", str(len(cpus)))
    refused = [each["refused"] and each["refused"]["id"] for each in (predicted, measured)]
    taken, quiet = measured["measured_ns"] / 1e9, (measured["recordings"][0]["quiet_ns"] or 0) / 1e9
    is_known = quiet > 0 and refused[1] is None
    return {
        "predicted": [each["wall_ns"] / 1e9 for each in predicted["changes"] if each["together"]],
        "measured": taken,
        "both": quiet if is_known and taken / quiet - 1 > FREE else taken,
        "refused": next(filter(None, refused), None),
    }


def error(runs: list[results.Session]) -> float | None:
    """Return how far the median of a pair's predictions is from the median of what was measured; None where all are refused."""
    known = [each for each in runs if each["refused"] is None and each["predicted"]]
    if not known:
        return None
    found: float = median(max(each["predicted"]) for each in known) / median(each["both"] for each in known) - 1
    return found


def verdicts_of(sessions: dict[str, list[results.Session]]) -> list[tuple[str, bool]]:
    """Return the lines of the summary, and whether the target is reached."""
    errors = {name: error(runs) for name, runs in sessions.items()}
    off = [abs(each) for each in errors.values() if each is not None]
    refused = [name for name, each in errors.items() if each is None]
    lines = [(f"refused: {', '.join(refused) or 'none'}; no target", True)]
    if not off:
        return [*lines, ("together, until both are done: no figure", False)]
    values = f"mean {100 * mean(off):.2f} %, median {100 * median(off):.2f} %, worst {100 * max(off):.2f} %"
    text = f"together, until both are done: {values} of {len(off)} pairs, target {100 * TARGET:.2f} %"
    return [*lines, (text, mean(off) <= TARGET)]


def report(options: Any, sessions: dict[str, list[results.Session]]) -> int:
    """Print figures and verdicts; return 0 if the target is reached."""
    rows = []
    for name, runs in sessions.items():
        off = error(runs)
        said = ", ".join(sorted({each["refused"] for each in runs if each["refused"]}))
        both = median(each["both"] for each in runs)
        rows.append([name, f"{both:.2f}", "-" if off is None else f"{100 * off:+.1f}", said or "-"])
    print(harness.table(["pair", "measured s", "error %", "refused"], rows))
    return harness.finish(options, "whatif_together", {"sessions": sessions}, verdicts_of(sessions))


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--rounds", type=int, help="recordings of each pair (3; 1 with --quick)")
    parser.add_argument("--percent", type=int, default=20, help="how much work: 100 takes some seconds")
    results.arguments(parser)
    options = parser.parse_args()
    if len(harness.machine()["cpus"]) < 2:
        parser.error("needs two CPUs")
    names = results.chosen(options, tuple(PAIRS))
    kept = results.Results("whatif_together", options)
    for number in range(options.rounds or (1 if options.quick else 3)):
        for name in names:
            harness.progress(f"{name}, round {number + 1}")
            kept.add(name, measure(PAIRS[name], options.percent))
    return report(options, kept.sessions)


if __name__ == "__main__":
    sys.exit(main())
