"""What a visit of a progress point costs, and what it costs a synchronized method that its thread settles before it returns.

One program does nothing but visits and uncontended synchronized calls, in compiled code, and says what CPU time each took. Runs
in turn: with a progress point on the method, and the lock in scope, against the same agent with neither. Nobody owes
anything, as between two experiments: what is measured is the look. Target: at most 10 ns each.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from headway.record.request.jvm_options import agent_library
from lib import harness, programs

TARGET_NS = 10.0
CLASS = "headway.workloads.VisitCost"


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU ns of one, without, and what instrumentation adds (median of the pairs, 95 % interval)."""

    what: str
    without_ns: float
    added_ns: float
    low_ns: float
    high_ns: float
    aa_low_ns: float
    aa_high_ns: float


def run(instrumented: bool) -> dict[str, Any]:
    """Run the program once, with the agent in it."""
    point = f"{CLASS}.visit" if instrumented else f"{CLASS}.main"
    scope = "headway.*" if instrumented else "nothing.*"
    pairs = {"progress": f"point={point}", "scope": scope, "speedup": "0", "period_us": "1000000"}
    spec = ";".join(f"{key}:{quote(value, safe='')}" for key, value in pairs.items())
    with harness.recording_folder() as folder:
        options = f"spool={quote(str(folder))},causal={quote(spec, safe='')}"
        java, *rest = programs.workload("VisitCost")
        words = [java, f"-agentpath:{agent_library()}={options}", *rest]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    return harness.last_json(done.stdout)


def cost(what: str, key: str, off: list[dict[str, Any]], on: list[dict[str, Any]]) -> Cost:
    """Return what the runs say: differences from the mean of the two neighbours."""
    before = [float(said[key]) / 1000 for said in off]
    after = [float(said[key]) / 1000 for said in on]
    added = [mine - (left + right) / 2 for mine, left, right in zip(after, before, before[1:], strict=False)]
    median, low, high = harness.bootstrap(added)
    _, aa_low, aa_high = harness.bootstrap([right - left for left, right in itertools.pairwise(before)])
    return Cost(what, min(before), median, low, high, aa_low, aa_high)


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--pairs", type=int, help="runs with points (15; 4 with --quick)")
    options = parser.parse_args()
    off, on = [run(False)], []
    for _ in range(options.pairs or (4 if options.quick else 15)):
        on.append(run(True))
        off.append(run(False))
        harness.progress(f"visit {on[-1]['visit_ps'] / 1000:.1f} ns, without {off[-1]['visit_ps'] / 1000:.1f} ns")
    costs = [cost("visit", "visit_ps", off, on), cost("synchronized", "lock_ps", off, on)]
    rows = [
        [
            each.what,
            f"{each.without_ns:.1f} ns",
            f"{each.added_ns:+.1f} ns [{each.low_ns:+.1f}, {each.high_ns:+.1f}]",
            f"[{each.aa_low_ns:+.1f}, {each.aa_high_ns:+.1f}]",
        ]
        for each in costs
    ]
    print(harness.table(["what", "without", "instrumented adds", "A/A noise"], rows))
    verdicts = [(f"{each.what}: {each.added_ns:.1f} ns, target 10 ns", each.added_ns <= TARGET_NS) for each in costs]
    return harness.finish(options, "causal_hook_cost", {"costs": costs}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
