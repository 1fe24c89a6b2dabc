"""Are all parks kept when there are 200,000 of them a second?

Threads park at a given rate, each park with the permit at hand so that the rate does not depend on how fast threads are
switched; the program counts its parks. Target: a row of the table block for each of them; or where the stream of single events
was capped, exact sums, and the time from when on events are missing is stated.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from lib import harness, programs

RATE = 200_000
THREADS = 2


@dataclass(frozen=True, slots=True)
class Figure:
    """What the program counted, and what the recording holds of it."""

    parks: int
    per_second: float
    events: int
    summed: int
    lost: int
    capped: bool  # and says so
    bytes_per_park: float


def measure(rate: int, seconds: float) -> Figure:
    """Record the program once at one rate."""
    from headway.store import open_recording

    with harness.recording_folder() as folder:
        target: Path = folder / "r.headway"
        words = [str(harness.HEADWAY), "record", "--locks", "-o", str(target), "--"]
        program = programs.workload("ParkStorm", THREADS, rate, seconds)
        printed = harness.run([*words, *program], recorded=True, clocks=lambda _: (0, 0)).own_output
        manifest = json.loads((target / "manifest.json").read_text())
        recording = open_recording(target)
        ids = ", ".join(map(str, printed["java_ids"]))
        hashes = ", ".join(map(str, printed["identity_hashes"]))
        ((events,),) = recording.query(
            f"SELECT count(*) FROM block WHERE kind = 'park' AND java_id IN ({ids})"
        ).fetchall()
        ((summed,),) = recording.query(
            f"SELECT sum(times_parked) FROM blocker WHERE kind = 'park' AND identity_hash IN ({hashes})"
        ).fetchall()
        recording.close()
        parks = sum(printed["parks"])
        return Figure(
            parks=parks,
            per_second=parks / (printed["end_ns"] - printed["begin_ns"]) * 1e9,
            events=int(events),
            summed=int(summed or 0),
            lost=int(manifest["losses"]["events"]),
            capped=any("lock" in notice["message"].lower() for notice in manifest["notices"]),
            bytes_per_park=manifest["tables"].get("block", {}).get("bytes", 0) / max(1, events),
        )


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--seconds", type=float, help="length of the run (20; 5 with --quick)")
    parser.add_argument("--rate", type=int, default=RATE, help="parks per second")
    options = parser.parse_args()
    seconds = options.seconds or (5 if options.quick else 20)
    harness.progress(f"lock rate: {options.rate} parks/s for {seconds:g} s")
    figure = measure(options.rate, seconds)
    head = ["parks", "per second", "rows of block", "in the sums", "lost", "capped and said so", "bytes/park"]
    row = [f"{figure.parks:,}", f"{figure.per_second:,.0f}", f"{figure.events:,}", f"{figure.summed:,}"]
    print(harness.table(head, [[*row, str(figure.lost), str(figure.capped), f"{figure.bytes_per_park:.1f}"]]))
    verdicts = [
        (f"{figure.events:,} of {figure.parks:,} parks have a row, or the cap is stated",
         figure.events == figure.parks or figure.capped),
        (f"the sums hold {figure.summed:,} of {figure.parks:,}", figure.summed == figure.parks),
        (f"{figure.per_second:,.0f} parks/s, meant {options.rate:,}", figure.per_second >= 0.95 * options.rate),
    ]  # fmt: skip
    return harness.finish(options, "lock_rate", {"figure": figure}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
