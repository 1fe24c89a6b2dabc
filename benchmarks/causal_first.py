"""How long it takes until a causal recording has its first finding, on a program with 1,000 visits a second.

The program is the long and the short worker at a barrier; nobody names a line, so that the time is that of a user who knows
nothing. It is recorded for 15, 30, 45 ... seconds, each time anew, until the first line is significant, and is the right one.
Target: 60 s, in every repetition.
"""

from __future__ import annotations

import sys
from typing import Any

from lib import causal_programs, harness
from lib.causal_programs import CASES

TARGET_S = 60.0
STEP_S = 15.0
MOST_S = 180.0


def first(options: Any) -> tuple[float | None, float]:
    """Return after how many seconds the right line was found (None: not at all), and the visits in a second."""
    case = CASES["barrier"]
    seconds, rate = STEP_S, 0.0
    while seconds <= options.most:
        with harness.recording_folder() as folder:
            said = causal_programs.record(case, folder / "r.headway", seconds)
        rate = said["progress_points"][0]["hits"] / seconds
        found = [line["line"] for line in said["lines"] if line["significant"]]
        harness.progress(f"{seconds:.0f} s: {', '.join(found) or 'nothing'}")
        if found[:1] == [causal_programs.place("long")]:
            return seconds, rate
        seconds += STEP_S
    return None, rate


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeat", type=int, help="repetitions (5; 2 with --quick)")
    parser.add_argument("--most", type=float, default=MOST_S, metavar="S", help=f"give up after so long ({MOST_S:.0f})")
    options = parser.parse_args()
    times, rates = [], []
    for _ in range(options.repeat or (2 if options.quick else 5)):
        seconds, rate = first(options)
        times.append(seconds)
        rates.append(rate)
    said = ", ".join("none" if each is None else f"{each:.0f} s" for each in times)
    text = f"first finding, the right one, after {said} at {min(rates):.0f} to {max(rates):.0f} visits/s, target 60 s"
    reached = all(each is not None and each <= TARGET_S for each in times)
    return harness.finish(options, "causal_first", {"seconds": times, "visits_per_s": rates}, [(text, reached)])


if __name__ == "__main__":
    sys.exit(main())
