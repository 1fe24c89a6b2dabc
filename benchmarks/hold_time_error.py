"""How far the hold times of contended locks are from what the program measured itself in the same run.

The paper's two patterns, 64 threads, locks held by sleeping: three of 4, 16 and 64 ms taken equally often, and two of 32 ms
taken 3:1; with java.util.concurrent's locks and with monitors. Compared are means over the contended acquisitions: headway's
true hold time with the program's own, until its time is over (then whoever gets a lock gives it back at once). Contended:
others were queued when it was got; with java.util.concurrent's locks also what the acquirer itself had to queue for. The
paper's estimate is shown beside it. Target: at most 2 % for each lock.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import harness, programs

TARGET = 0.02
OPEN_LOCKS = "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED"
PATTERNS = {"LargeCriticalSection": (1, 1, 1), "FrequentLock": (1, 1)}
THREADS = 64


@dataclass(frozen=True, slots=True)
class Figure:
    """One lock: means in ns. `seen` of the program's `contended` acquisitions have a hold in the recording."""

    lock: str
    contended: int
    seen: int
    own_ns: float
    found_ns: float | None
    estimate_ns: float | None
    times_parked: int

    @property
    def error(self) -> float | None:
        """Return how far the true hold time is off, as a share of the program's own; None where there is none."""
        return None if self.found_ns is None else self.found_ns / self.own_ns - 1

    @property
    def estimate_error(self) -> float | None:
        """Return the same of the paper's estimate."""
        return None if self.estimate_ns is None else self.estimate_ns / self.own_ns - 1


def command(pattern: str, kind: str, seconds: float, log: Path) -> list[str]:
    """Return the command of one pattern."""
    java, *rest = programs.workload(pattern, kind, seconds, *PATTERNS[pattern], THREADS, log)
    return [java, OPEN_LOCKS, *rest]


def contended_holds(log: Path, kind: str, stop_ns: int) -> dict[str, list[int]]:
    """Return the lengths of the program's contended acquisitions until `stop_ns`, by lock.

    Whoever had to queue asked before the one before gave the lock back.
    """
    held: dict[str, list[tuple[int, int, int, bool]]] = defaultdict(list)
    with log.open() as lines:
        for row in csv.DictReader(lines):
            held[row["lock"]].append(
                (int(row["acquired_ns"]), int(row["released_ns"]), int(row["asked_ns"]), row["queued"] == "1")
            )
    found: dict[str, list[int]] = {}
    for lock, all_of_it in held.items():
        free_ns, found[lock] = 0, []
        for acquired, released, asked, queued in sorted(all_of_it):
            if acquired < stop_ns and (queued or (kind == "juc" and asked < free_ns)):
                found[lock].append(released - acquired)
            free_ns = released
    return found


def measure(pattern: str, kind: str, seconds: float) -> list[Figure]:
    """Record one pattern and compare each lock."""
    with harness.recording_folder() as folder:
        target, log = folder / "r.headway", folder / "log.csv"
        words = [str(harness.HEADWAY), "record", "--locks", "-o", str(target), "--"]
        printed = harness.run(
            [*words, *command(pattern, kind, seconds, log)], recorded=True, clocks=lambda _: (0, 0)
        ).own_output
        own = contended_holds(log, kind, printed["stop_ns"])
        begin_ns = json.loads((target / "manifest.json").read_text())["window"]["start_ns"]
        rows = locks_of(target, "--to", f"{printed['stop_ns'] - begin_ns}ns")
        return [compare(lock, own[lock["name"]], rows) for lock in printed["locks"]]


def locks_of(recording: Path, *options: str) -> list[dict[str, Any]]:
    """Return the rows of `headway locks --json`, one for each object."""
    printed = harness.headway("locks", recording, "--by", "lock", *options)
    return list(printed["locks"] if isinstance(printed, dict) else printed)


def compare(lock: dict[str, Any], own: Sequence[int], rows: Sequence[dict[str, Any]]) -> Figure:
    """Compare what the program and headway say about one lock."""
    (row,) = (row for row in rows if row["identity_hash"] == lock["identity_hash"] and row["kind"] != "wait")
    hold = row["true_hold_time_ns"]
    return Figure(
        lock=lock["name"],
        contended=len(own),
        seen=hold["count"] if hold else 0,
        own_ns=sum(own) / len(own),
        found_ns=hold["mean"] if hold else None,
        estimate_ns=row["average_hold_time_ns"],
        times_parked=row["times_parked"],
    )


def cell(share: float | None) -> str:
    """Return a share as '+0.4 %'."""
    return "-" if share is None else f"{100 * share:+.2f} %"


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--seconds", type=float, help="length of each run (100, as published; 25 with --quick)")
    parser.add_argument("--kinds", default="juc,monitor", help="only these, with commas")
    options = parser.parse_args()
    seconds = options.seconds or (25 if options.quick else 100)
    rows, figures, verdicts = [], {}, []
    for pattern in PATTERNS:
        for kind in options.kinds.split(","):
            harness.progress(f"hold times: {pattern}, {kind}, {seconds:g} s")
            for each in measure(pattern, kind, seconds):
                name = f"{kind} {each.lock}"
                own = f"{each.own_ns / 1e6:.3f}"
                seen = f"{each.seen}/{each.contended}"
                rows.append([name, str(each.times_parked), seen, own, cell(each.error), cell(each.estimate_error)])
                figures[name] = {"figure": each, "error": each.error, "estimate_error": each.estimate_error}
                reached = each.error is not None and abs(each.error) <= TARGET
                verdicts.append((f"{name}: {cell(each.error)}, target 2 %", reached))
    head = ["lock", "times parked", "holds seen", "own mean (ms)", "true hold time", "the paper's estimate"]
    print(harness.table(head, rows))
    return harness.finish(options, "hold_time_error", {"seconds": seconds, "locks": figures}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
