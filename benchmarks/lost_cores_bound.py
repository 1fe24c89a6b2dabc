"""Is the speedup that headway bounds for a cause ever below what removing the cause really gives?

Programs with known causes (java/workloads, package lost) run with the cause and with it removed from their code, doing the same
work, in turn; the gain is the ratio of their wall times, by the program's own clock. All runs are recorded alike, the bound is
of the same run as the time with the cause: how long a collection takes, say, differs from run to run. A CPU quota is removed by
running outside of it, the start of a JVM by one that has started before and waits for a byte. Of I/O the delay goes, and the
asking stays.

Target: the bound is never below the gain by more than noise (the 95 % interval of bound / gain, run by run); of two causes in one
program, the one whose removal gives more comes first in the answer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.store import Recording, open_recording
from lib import harness, lost_programs, results
from lib.lost_programs import CAUSES

TWO = ("serial+lock", "serial+sleep", "lock+barrier", "join+sleep")
OUTSIDE = {"quota": "cpu_quota", "start": "jvm_start"}
"""Causes that are not in the program's code: threads that never block, with a CPU quota, or with the JVM's start."""
BUSY = "busy"
QUOTA = 0.6
"""Of the cores."""
LARGEST = 1000.0


def record(target: Path, names: list[str], options: Any, removed: str, port: int, before: Sequence[str] = ()) -> str:
    """Record cases and return what they printed; `before`: words of a command that runs the one given to it."""
    words = lost_programs.command_of(target, "java", names, options.size, options.rounds, port, removed)
    words = [*before, str(harness.HEADWAY), *words]
    done = subprocess.run(words, capture_output=True, text=True, check=False, input=".")
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(words)}\nended with {done.returncode}:\n{done.stdout[-500:]}{done.stderr[-3000:]}"
        )
    return done.stdout


def plays(names: list[str], options: Any, port: int) -> tuple[dict[str, float], dict[str, dict[str, Any]]]:
    """Record cases with their causes; return the wall time of each and, by cause, what `bounds` returns."""
    walls, said = {}, {}
    with harness.recording_folder() as folder:
        target: Path = folder / "r.headway"
        cases = lost_programs.played(record(target, names, options, "no", port))
        recording = open_recording(target)
        for name, case in cases.items():
            walls[name] = float(case.end_ns - case.begin_ns)
            causes = lost_programs.meant(name)
            said[name] = bounds(target, lost_programs.window(recording, case), causes)
    return walls, said


def without(names: list[str], options: Any, removed: str, port: int) -> dict[str, float]:
    """Record cases without a cause and return the wall time of each."""
    with harness.recording_folder() as folder:
        cases = lost_programs.played(record(folder / "r.headway", names, options, removed, port))
    return {name: float(case.end_ns - case.begin_ns) for name, case in cases.items()}


def bounds(target: Path, window: tuple[int, int], causes: set[str]) -> dict[str, tuple[float, int, int]]:
    """Return by cause what `why` says of a window: the bound, the core time lost, and how many losses come before its first."""
    account = harness.headway("why", target, "--from", f"{window[0]}ns", "--to", f"{window[1]}ns")
    rows = {cause: [row for row in account["lost"] if row["cause"] == cause] for cause in causes}
    order = [row["cause"] for row in account["lost"]]
    place = {cause: order.index(cause) if cause in order else len(order) for cause in causes}
    return {cause: (together(mine), sum(row["core_ns"] for row in mine), place[cause]) for cause, mine in rows.items()}


def together(rows: list[dict[str, Any]]) -> float:
    """Return the bound when a cause vanishes at all its places: what each of them saves of the time, added up."""
    saved = sum(1 - 1 / (row["bound_speedup"] or 1) for row in rows)
    return 1 / max(1 - saved, 1 / LARGEST)


def parts(group: list[str]) -> list[str]:
    """Return what to remove from a group of cases, one after the other: all their causes, or each of a program's two."""
    return group[0].split("+") if "+" in group[0] else ["yes"]


def measure(group: list[str], options: Any, port: int) -> dict[str, results.Session]:
    """Record a group of cases with and without their causes; return what came of each."""
    (first,) = group[:1]
    if first in OUTSIDE:
        return {first: under_quota(options) if first == "quota" else from_the_start(options)}
    walls = {}
    walls["with"], said = plays(group, options, port)
    for which, removed in zip(("first", "second"), parts(group), strict=False):
        walls[which] = without(group, options, removed, port)
    return {name: {**{which: wall[name] for which, wall in walls.items()}, "said": said[name]} for name in group}


# --- causes outside of the program ---------------------------------------------------------------------------------------


def under_quota(options: Any) -> results.Session:
    """Return what came of threads that never block, in a cgroup with a CPU quota and without."""
    with harness.recording_folder() as folder, quota(QUOTA * len(os.sched_getaffinity(0))) as group:
        target: Path = folder / "r.headway"
        inside = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        case = lost_programs.played(record(target, [BUSY], options, "no", 0, inside))[BUSY]
        said = bounds(target, lost_programs.window(open_recording(target), case), {OUTSIDE["quota"]})
        wall = float(case.end_ns - case.begin_ns)
    return {"with": wall, "first": without([BUSY], options, "no", 0)[BUSY], "said": said}


@contextmanager
def quota(cores: float) -> Iterator[Path]:
    """Make a cgroup with a CPU quota, of version 1 or 2. Raises OSError where none can be made."""
    roots = [root for root in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")) if root.is_dir()]
    group = roots[0] / f"headway-bound-{os.getpid()}"
    group.mkdir()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{round(cores * 100_000)} 100000")
        else:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text(str(round(cores * 100_000)))
        yield group
    finally:
        group.rmdir()


def from_the_start(options: Any) -> results.Session:
    """Return what came of threads that never block, from the process's begin, and in a JVM that had started before."""
    with harness.recording_folder() as folder:
        target: Path = folder / "r.headway"
        case = lost_programs.played(record(target, [BUSY], options, "no", 0))[BUSY]
        recording = open_recording(target)
        begin = starts(recording) - recording.window_ns[0]
        said = bounds(target, (begin, case.end_ns - recording.window_ns[0]), {OUTSIDE["start"]})
        wall = float(case.end_ns - starts(recording))
    with harness.recording_folder() as folder:
        printed = record(folder / "r.headway", [BUSY], options, "start", 0)
        case = lost_programs.played(printed)[BUSY]
    return {"with": wall, "first": float(case.end_ns - lost_programs.began_ns(printed)), "said": said}


def starts(recording: Recording) -> int:
    """Return when the JVM's start began."""
    ((begin,),) = recording.query("SELECT min(start_ns) FROM jvm_phase WHERE kind = 'startup'").fetchall()
    return int(begin)


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeat", type=int, help="runs with and without each cause (12; 3 with --quick)")
    parser.add_argument("--rounds", type=int, default=12, help="rounds of each case (12)")
    parser.add_argument("--size", type=float, default=0.8, help="how large the causes are, 0 to 1 (0.8)")
    results.arguments(parser)
    options = parser.parse_args()
    repeat = options.repeat or (3 if options.quick else 12)
    names = results.chosen(options, (*CAUSES, *TWO, *OUTSIDE))
    kept = results.Results("lost_cores_bound", options)
    # A program of two causes has a JVM of its own, with and without: what is played before it warms it up.
    alone = [name for name in names if name in CAUSES]
    groups = [group for group in (alone, *([name] for name in names if name not in CAUSES)) if group]
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
            cause = OUTSIDE[part] if part in OUTSIDE else CAUSES[part]
            ratio = harness.ratio([run["with"] for run in runs], [run[which] for run in runs])
            gain, least, most = 1 / ratio.median, 1 / ratio.high, 1 / ratio.low
            bound = harness.bootstrap([run["said"][cause][0] for run in runs])
            lost = harness.bootstrap([float(run["said"][cause][1]) for run in runs])[0]
            place = harness.bootstrap([float(run["said"][cause][2]) for run in runs])[0]
            ranked.append((least, most, bound[0], lost, place))
            over = harness.bootstrap([run["said"][cause][0] * run[which] / run["with"] for run in runs])
            text = f"{name} without {cause}: gain {gain:.2f} [{least:.2f}, {most:.2f}], bound {bound[0]:.2f}"
            text += f", bound / gain {over[0]:.2f} [{over[1]:.2f}, {over[2]:.2f}], {len(runs)} runs"
            # Where core time was lost a bound is above 1: it is 1 where `why` says none, of waits that the kernel alone tells of.
            if bound[2] > 1:
                verdicts.append((text, over[2] >= 1))
            rows.append(
                [
                    f"{name}: {cause}",
                    f"{gain:.2f} [{least:.2f}, {most:.2f}]",
                    f"{bound[0]:.2f}" if bound[2] > 1 else "-",
                    f"{lost / 1e6:.0f}",
                ]
            )
            figures[f"{name} {cause}"] = {
                "gain": [gain, least, most],
                "bound": bound,
                "bound_by_gain": over,
                "lost_ns": lost,
            }
        if len(ranked) == 2:
            verdicts += order(name, *ranked)
    print(harness.table(["case: cause", "gain without it", "bound", "lost (ms)"], rows))
    return harness.finish(options, "lost_cores_bound", {"cases": figures, "sessions": sessions}, verdicts)


def order(name: str, one: tuple[float, ...], other: tuple[float, ...]) -> list[tuple[str, bool]]:
    """Return the verdict on the order of two causes: none where the program gains the same by either."""
    larger, smaller = (one, other) if one[0] > other[0] else (other, one)
    if larger[0] <= smaller[1]:
        return []
    by_bound, by_loss = ("right" if larger[at] >= smaller[at] else "wrong" for at in (2, 3))
    text = f"{name}: the cause that gives more comes first (by bounds {by_bound}, by lost core time {by_loss})"
    return [(text, larger[4] < smaller[4])]


if __name__ == "__main__":
    sys.exit(main())
