"""Is the speedup that headway bounds for a cause ever below what removing the cause really gives?

Programs with known causes (java/workloads, package lost) run with the cause and with it removed from their code, doing the same
work, in turn; the gain is the ratio of their wall times. Recordings of the program as it is give the bound. Target: the bound
is never below the gain by more than noise (the gain's 95 % interval); of two causes in one program, the one whose removal gives
more has the larger bound.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import harness
import lost_programs
import lost_runs
import results
from lost_programs import CAUSES

TWO = ("serial+lock", "serial+sleep", "lock+barrier", "join+sleep")
LARGEST = 1000.0


def plain(names: list[str], size: float, rounds: int, removed: str, port: int) -> dict[str, float]:
    """Run cases, not recorded, and return the wall time of each, by the program's own clock."""
    words = lost_programs.command(names, size, rounds, removed, port)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(words)}\nended with {done.returncode}:\n{done.stdout[-500:]}{done.stderr[-3000:]}"
        )
    return {name: float(case.end_ns - case.begin_ns) for name, case in lost_programs.played(done.stdout).items()}


def bounds(names: list[str], size: float, rounds: int, port: int) -> dict[tuple[str, str], tuple[float, int]]:
    """Record cases and return, for each and each cause that it is made for, the bound and the core time lost."""
    found = {}
    for _, case, account in lost_runs.accounts(names, size, rounds, port):
        for cause in lost_programs.meant(case.name):
            rows = [row for row in account["lost"] if row["cause"] == cause]
            found[case.name, cause] = together(rows), sum(row["core_ns"] for row in rows)
    return found


def together(rows: list[dict[str, Any]]) -> float:
    """Return the bound when a cause vanishes at all its places: what each of them saves of the time, added up."""
    saved = sum(1 - 1 / (row["bound_speedup"] or 1) for row in rows)
    return 1 / max(1 - saved, 1 / LARGEST)


def parts(group: list[str]) -> list[str]:
    """Return what to remove from a group of cases, one after the other: all their causes, or each of a program's two."""
    return group[0].split("+") if "+" in group[0] else ["yes"]


def measure(group: list[str], options: Any, port: int) -> dict[str, results.Session]:
    """Run a group of cases with and without their causes, and record them; return what came of each."""
    size, rounds = options.size, options.rounds
    walls = {"with": plain(group, size, rounds, "no", port)}
    for which, removed in zip(("first", "second"), parts(group), strict=False):
        walls[which] = plain(group, size, rounds, removed, port)
    said = bounds(group, size, rounds, port)
    return {
        name: {
            **{which: wall[name] for which, wall in walls.items()},
            "said": {cause: value for (of, cause), value in said.items() if of == name},
        }
        for name in group
    }


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeat", type=int, help="runs with and without each cause (12; 3 with --quick)")
    parser.add_argument("--rounds", type=int, default=12, help="rounds of each case (12)")
    parser.add_argument("--size", type=float, default=0.8, help="how large the causes are, 0 to 1 (0.8)")
    results.arguments(parser)
    options = parser.parse_args()
    repeat = options.repeat or (3 if options.quick else 12)
    names = results.chosen(options, (*CAUSES, *TWO))
    kept = results.Results("why_bound", options)
    # A program of two causes has a JVM of its own, with and without: what is played before it warms it up.
    alone = [name for name in names if "+" not in name]
    groups = [group for group in (alone, *([name] for name in names if "+" in name)) if group]
    with lost_programs.late_server() as port:
        for number in range(repeat if groups else 0):
            harness.progress(f"run {number + 1} of {repeat}: {len(names)} cases")
            for group in groups:
                for name, session in measure(group, options, port).items():
                    kept.add(name, session)
    return report(options, kept.sessions)


def report(options: Any, sessions: dict[str, list[results.Session]]) -> int:
    """Print figures and verdicts."""
    rows, figures, verdicts = [], {}, []
    for name, runs in sessions.items():
        ranked = []
        for which, part in zip(("first", "second"), name.split("+"), strict=False):
            (cause,) = lost_programs.meant(part)
            ratio = harness.ratio([run["with"] for run in runs], [run[which] for run in runs])
            gain, least, most = 1 / ratio.median, 1 / ratio.high, 1 / ratio.low
            bound = harness.bootstrap([run["said"][cause][0] for run in runs])
            lost = harness.bootstrap([float(run["said"][cause][1]) for run in runs])[0]
            ranked.append((least, most, bound[0], lost))
            text = f"{name} without {cause}: gain {gain:.2f} [{least:.2f}, {most:.2f}], bound {bound[0]:.2f}, {len(runs)} runs"
            verdicts.append((text, bound[0] >= least))
            rows.append(
                [f"{name}: {cause}", f"{gain:.2f} [{least:.2f}, {most:.2f}]", f"{bound[0]:.2f}", f"{lost / 1e6:.0f}"]
            )
            figures[f"{name} {cause}"] = {"gain": [gain, least, most], "bound": bound, "lost_ns": lost}
        if len(ranked) == 2:
            verdicts += order(name, *ranked)
    print(harness.table(["case: cause", "gain without it", "bound", "lost (ms)"], rows))
    return harness.finish(options, "why_bound", {"cases": figures, "sessions": sessions}, verdicts)


def order(name: str, one: tuple[float, ...], other: tuple[float, ...]) -> list[tuple[str, bool]]:
    """Return the verdict on the order of two causes: none where the program gains the same by either."""
    larger, smaller = (one, other) if one[0] > other[0] else (other, one)
    if larger[0] <= smaller[1]:
        return []
    by_bound = larger[2] >= smaller[2]
    by_loss = "right" if larger[3] >= smaller[3] else "wrong"
    text = f"{name}: the cause that gives more has the larger bound (the order of lost core time is {by_loss})"
    return [(text, by_bound)]


if __name__ == "__main__":
    sys.exit(main())
