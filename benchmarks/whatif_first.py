"""Does `headway whatif` name the better one of two changes first, in programs that lose time to two known causes?

Each program (lib/two_causes.py) is recorded, with locks and samples, and `whatif` ranks changes of it. Then it runs without each
of its causes, and what that takes is measured as in whatif_changes.py. Of the two changes the one that comes first in the ranking
should be the one that really took less. Where both took the same, within SAME, either may come first. The ranking has
other changes, too (more cores, methods that hold the named ones); these are passed over.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

from lib import harness, results
from lib.changed_programs import anywhere
from lib.two_causes import CASES, TwoCauses, first_named
from whatif_changes import after, record

TARGET = 0.9
"""18 of 20."""
SAME = 0.03
RECORDED = ("--locks", "--sample", "cpu:2ms,wall:2ms")


def measure(case: TwoCauses) -> results.Session:
    """Return which change is named first, and how long the program takes without each cause, in seconds."""
    cpus = harness.machine()["cpus"][:2]
    with harness.recording_folder() as folder:
        path = folder / "with" / "a.headway"
        record(anywhere(case.command()), path, cpus, RECORDED)
        said = harness.headway("whatif", path)
        found: results.Session = {
            "first": first_named(said["changes"], case.causes, len(cpus)),
            "refused": said["refused"] and said["refused"]["id"],
            "warnings": [each["id"] for each in said["warnings"]],
            "before": said["measured_ns"] / 1e9,
        }
        for cause in case.causes:
            changed = folder / cause / "a.headway"
            record(anywhere(case.command(cause)), changed, cpus, ())
            found[cause] = after(changed, len(cpus))["after"]
    return found


def outcome(name: str, runs: list[results.Session]) -> str:
    """Return whether the change that most runs' rankings name first is the better one: right, wrong, or refused."""
    one, other = CASES[name].causes
    named = [each["first"] for each in runs if each["first"] is not None]
    if not named:
        return "refused" if any(each["refused"] for each in runs) else "wrong"
    first = max((one, other), key=named.count)
    took = {cause: median(each[cause] for each in runs) for cause in (one, other)}
    return "right" if took[first] <= (1 + SAME) * min(took.values()) else "wrong"


def report(options: Any, sessions: dict[str, list[results.Session]]) -> int:
    """Print figures and verdicts; return 0 if the target is reached."""
    rows, outcomes = [], []
    for name, runs in sessions.items():
        took = [f"{median(each[cause] for each in runs):.2f}" for cause in CASES[name].causes]
        outcomes.append(outcome(name, runs))
        named = "/".join(str(each["first"] or each["refused"] or "-") for each in runs)
        rows.append([name, f"{median(each['before'] for each in runs):.2f}", *took, named, outcomes[-1]])
    print(harness.table(["causes", "before s", "without 1st", "without 2nd", "named first", "is"], rows))
    right, refused = outcomes.count("right"), outcomes.count("refused")
    text = f"the better change first in {right} of {len(outcomes)} programs, {refused} refused; target 18 of 20"
    return harness.finish(
        options, "whatif_first", {"sessions": sessions}, [(text, right >= TARGET * max(len(outcomes), 1))]
    )


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--rounds", type=int, help="runs of each program (1)")
    results.arguments(parser)
    options = parser.parse_args()
    if len(harness.machine()["cpus"]) < 2:
        parser.error("needs two CPUs")
    names = results.chosen(options, tuple(CASES))
    kept = results.Results("whatif_first", options)
    for number in range(options.rounds or 1):
        for name in names:
            harness.progress(f"{name}, round {number + 1}")
            kept.add(name, measure(CASES[name]))
    return report(options, kept.sessions)


if __name__ == "__main__":
    sys.exit(main())
