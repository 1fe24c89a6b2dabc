"""Is the speedup that `headway why` calls likely what real programs gain without the lock they wait for?

Each program (java/real: HikariCP, HSQLDB, H2, Log4j, Groovy) runs with one lock that its threads share, and with a large pool, a
row, a file or a lock for each thread, in turn. Both are recorded, the second without locks. The gain is how many times as fast
the whole recorded run would be if its part that the program times took as long as in the run without the shared lock.

Target: the likely speedup is within 20 % of the gain (the 95 % interval of likely / gain, run by run).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from lib import harness, results
from support.drivers import real_programs, real_servers
from support.drivers.real_programs import Command

WITHIN = 0.2
CAUSES = ("lock_contention", "condition")
"""What `headway why` calls a wait for a lock, or for whoever has it to say that it is free."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program whose threads share a lock, and the same where each has its own, each as what makes it in a folder."""

    shared: Callable[[Path], Command]
    own: Callable[[Path], Command]


def anywhere(command: Command) -> Callable[[Path], Command]:
    """Return what makes a command that writes no files."""
    return lambda _folder: command


CASES = {
    "hikaricp": Case(anywhere(real_programs.pool(2)), anywhere(real_programs.pool(real_programs.POOL_THREADS))),
    **{
        name: Case(*(anywhere(real_programs.transactions(name, tables)) for tables in ("shared", "own")))
        for name in real_programs.DATABASES
    },
    "log4j slow file": Case(
        lambda folder: real_programs.slow_logging(folder, "shared"),
        lambda folder: real_programs.slow_logging(folder, "own"),
    ),
    "log4j busy": Case(
        lambda folder: real_programs.busy_logging(folder, "shared"),
        lambda folder: real_programs.busy_logging(folder, "own"),
    ),
    "groovy": Case(anywhere(real_programs.script("shared")), anywhere(real_programs.script("own"))),
}


def part_ns(command: Command, target: Path, *options: str) -> int:
    """Record a program; return how long the part took that it times itself."""
    with command.beside():
        return int(real_servers.recorded(target, command.words, *options).stdout.split()[0])


def measure(case: Case) -> results.Session:
    """Return what a run with the lock and one without took, and the largest likely speedup that the first one's account names."""
    with harness.recording_folder() as folder:
        with_ns = part_ns(case.shared(folder), folder / "shared.headway", "--locks")
        account = harness.headway("why", folder / "shared.headway")
        without_ns = part_ns(case.own(folder), folder / "own.headway")
    likely = [row["likely_speedup"] or 1.0 for row in account["lost"] if row["cause"] in CAUSES]
    gain = max(1.0, account["wall_ns"] / (account["wall_ns"] - with_ns + without_ns))
    return {"gain": gain, "likely": max(likely, default=1.0), "with_ns": with_ns, "without_ns": without_ns}


def report(options: Any, sessions: dict[str, list[results.Session]]) -> int:
    """Print figures and verdicts; return 0 if the target is reached."""
    rows, verdicts = [], []
    for name, runs in sessions.items():
        gain, likely = (harness.bootstrap([run[key] for run in runs]) for key in ("gain", "likely"))
        middle, low, high = harness.bootstrap([run["likely"] / run["gain"] for run in runs])
        text = f"{name}: gain {gain[0]:.2f} [{gain[1]:.2f}, {gain[2]:.2f}], likely {likely[0]:.2f}"
        text += f", likely / gain {middle:.2f} [{low:.2f}, {high:.2f}], {len(runs)} runs"
        is_inside = low >= 1 - WITHIN and high <= 1 + WITHIN
        is_open = not is_inside and 1 - WITHIN <= middle <= 1 + WITHIN
        verdicts.append((text + ("; undecided: the interval goes beyond the target" if is_open else ""), is_inside))
        rows.append([name, f"{gain[0]:.2f} [{gain[1]:.2f}, {gain[2]:.2f}]", f"{likely[0]:.2f}", f"{middle:.2f}"])
    print(harness.table(["program", "gain without the lock", "likely", "likely / gain"], rows))
    return harness.finish(options, "real_gains", {"sessions": sessions}, verdicts)


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeat", type=int, help="runs with and without each lock (12; 3 with --quick)")
    results.arguments(parser)
    options = parser.parse_args()
    names = results.chosen(options, tuple(CASES))
    if names:
        real_servers.build()
    kept = results.Results("real_gains", options)
    for number in range((options.repeat or (3 if options.quick else 12)) if names else 0):
        for name in names:
            harness.progress(f"{name}, run {number + 1}")
            kept.add(name, measure(CASES[name]))
    return report(options, kept.sessions)


if __name__ == "__main__":
    sys.exit(main())
