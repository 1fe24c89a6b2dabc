"""Predicted against real program speedup, for programs whose lines can really be made faster (java/workloads, package causal).

Each line is really made 25, 50, 75 and 100 % faster in one warm program, in slices between unchanged ones; and `headway causal`
records the program as it is, with its experiments on that line, and predicts the same. A point is right if the two are within 5
points of each other. Target: nine of ten points. Of the others it says in which direction they are off, and whether their
intervals overlap: then it may be the noise of this measurement; they count as wrong all the same. What was really measured is
itself held against arithmetic, for the programs that have an exact answer (causal_arithmetic.py).

Rounds of these programs take about a millisecond, as long as the profiler's sampling period; --longer 4 makes all that is
done in them four times longer. Both are told apart in the result; and it says how many points headway itself says to be in doubt,
because visits take few sampling periods (HW642).
"""

from __future__ import annotations

import os
import resource
import sys
import time
from typing import Any

from lib import causal_arithmetic, causal_programs, harness, results
from lib.causal_programs import CASES, Gain

TARGET = 0.9
WITHIN = 5.0
SHORT_VISITS = "HW642"


def measure(name: str, options: Any) -> results.Session:
    """Measure one program: what is true, and what is predicted."""
    case = CASES[name]
    others = Others()
    real = causal_programs.truth(case, options.repeat, options.longer)
    points = []
    with harness.recording_folder() as folder:
        for number, line in enumerate(case.lines):
            target = causal_programs.target_of(case, line)
            words = ("--target", target, *(("--period", options.period) if options.period else ()))
            said = causal_programs.record(
                case, folder / f"{number}.headway", options.seconds, *words, longer=options.longer
            )
            curve = causal_programs.curve(said, case, line)
            warned = any(warning["id"] == SHORT_VISITS for warning in said["warnings"])
            for percent in case.speedups:
                true = real.gains[line, percent]
                at = real.real_pct.get((line, percent), float(percent))
                expected = causal_arithmetic.expected_pct(name, line, percent, len(os.sched_getaffinity(0)))
                points.append(
                    {**compared(line, percent, true, interpolated(curve, at)), "warned": warned, "arithmetic": expected}
                )
    return {
        "points": points,
        "seconds": options.seconds,
        "repeat": options.repeat,
        "longer": options.longer,
        "period": options.period,
        "others_pct": others.percent(),
    }


class Others:
    """What of the machine's cores others had while this measured: other processes, and the host of a virtual machine."""

    def __init__(self) -> None:
        """Begin to measure."""
        self._begin_ns = time.monotonic_ns()
        self._taken_ns = self._taken()

    @staticmethod
    def _taken() -> float:
        busy, stolen = harness.cpu_times(sorted(os.sched_getaffinity(0)))
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return busy + stolen - 1e9 * sum(each.ru_utime + each.ru_stime for each in used)

    def percent(self) -> float:
        """Return the share of all cores in percent, since the begin."""
        lasted_ns = (time.monotonic_ns() - self._begin_ns) * len(os.sched_getaffinity(0))
        return max(100 * (self._taken() - self._taken_ns) / lasted_ns, 0.0)


def compared(line: str, percent: int, true: Gain, said: Gain | None) -> dict[str, Any]:
    """Return what the result file keeps of one point."""
    return {
        "line": line,
        "percent": percent,
        "real": [true.percent, true.low, true.high],
        "predicted": None if said is None else [said.percent, said.low, said.high],
    }


def interpolated(curve: dict[int, Gain], at: float) -> Gain | None:
    """Return what a curve says at a virtual speedup that may lie between two of its points; (0 %, 0 %) is one of them."""
    known = {0: Gain(0, 0, 0), **curve}
    below = max((each for each in known if each <= at), default=None)
    above = min((each for each in known if each >= at), default=None)
    if below is None or above is None or above == 0:
        return None
    share = (at - below) / (above - below) if above > below else 0.0
    low, high = known[below], known[above]
    return Gain(*((1 - share) * a + share * b if share else a for a, b in zip(ends(low), ends(high), strict=True)))


def ends(gain: Gain) -> tuple[float, float, float]:
    """Return the figure and its interval."""
    return gain.percent, gain.low, gain.high


def verdict(point: dict[str, Any]) -> str:
    """Return what is to be said of a point."""
    if point["predicted"] is None:
        return "no prediction"
    off = point["predicted"][0] - point["real"][0]
    if abs(off) <= WITHIN:
        return "within"
    apart = point["predicted"][1] > point["real"][2] or point["predicted"][2] < point["real"][1]
    return f"{'above' if off > 0 else 'below'}{'' if apart else ', intervals overlap'}"


def summarise(sessions: dict[str, list[results.Session]]) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the tables, one for each length of rounds; return the figures and the verdicts."""
    figures: dict[str, Any] = {}
    verdicts = []
    for longer in sorted({session.get("longer", 1) for each in sessions.values() for session in each}):
        points = [
            (name, point)
            for name in sorted(sessions)
            for session in sessions[name]
            if session.get("longer", 1) == longer
            for point in session["points"]
        ]
        counts, verdict = judged(points, longer)
        exact, sound = against_arithmetic([point for _, point in points], longer)
        figures[f"longer {longer}"] = {**counts, **exact}
        verdicts += [verdict, sound] if exact["exact"] else [verdict]
    return figures, verdicts


def against_arithmetic(points: list[dict[str, Any]], longer: int) -> tuple[dict[str, int], tuple[str, bool]]:
    """Return how many of the measured gains are what arithmetic says, of those that have an exact answer, and the verdict."""
    exact = [point for point in points if point.get("arithmetic") is not None]
    right = sum(abs(point["real"][0] - point["arithmetic"]) <= WITHIN for point in exact)
    text = (
        f"rounds of {longer} ms or so: {right} of {len(exact)} measured gains within {WITHIN:.0f} of arithmetic; "
        "target nine of ten"
    )
    return {"exact": len(exact), "as_by_arithmetic": right}, (text, right >= TARGET * len(exact))


def judged(points: list[tuple[str, dict[str, Any]]], longer: int) -> tuple[dict[str, int], tuple[str, bool]]:
    """Print the table of all programs with rounds of one length; return the counts and the verdict."""
    rows, said = [], []
    for name, point in points:
        word = verdict(point)
        said.append(word)
        predicted = "-" if point["predicted"] is None else str(Gain(*point["predicted"]))
        exact = "-" if point.get("arithmetic") is None else f"{point['arithmetic']:+.1f}"
        rows.append(
            [f"{name}: {point['line']}", str(point["percent"]), exact, str(Gain(*point["real"])), predicted, word]
        )
    print(harness.table(["program: line", "faster by %", "by arithmetic, %", "real, %", "predicted, %", ""], rows))
    right = said.count("within")
    above, below = (sum(word.startswith(side) for word in said) for side in ("above", "below"))
    text = (
        f"rounds of {longer} ms or so: {right} of {len(said)} points within {WITHIN:.0f}; {above} above, {below} below, "
        f"{said.count('no prediction')} without one; target nine of ten"
    )
    doubted = [word for (_, point), word in zip(points, said, strict=True) if point.get("warned")]
    if doubted:
        text += f"; of {len(doubted)} with {SHORT_VISITS}, {doubted.count('within')} within"
    counts = {"points": len(said), "within": right, "above": above, "below": below, "warned": len(doubted)}
    return counts, (text, right >= TARGET * len(said))


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    results.arguments(parser)
    parser.add_argument("--repeat", type=int, help="slices with each change (12; 5 with --quick)")
    parser.add_argument("--seconds", type=float, help="recorded for each line (120; 40 with --quick)")
    parser.add_argument("--longer", type=int, default=1, metavar="N", help="make rounds so many times longer (1)")
    parser.add_argument("--period", default="", metavar="TIME", help="of samples (what headway takes by itself)")
    options = parser.parse_args()
    options.repeat = options.repeat or (5 if options.quick else 12)
    options.seconds = options.seconds or (40.0 if options.quick else 120.0)
    measured = results.Results("causal_accuracy", options)
    for name in results.chosen(options, tuple(CASES)):
        harness.progress(f"causal_accuracy: {name}, {len(CASES[name].lines)} lines")
        session = measure(name, options)
        measured.add(name, session)
        harness.progress(f"causal_accuracy: others had {session['others_pct']:.0f} % of the cores meanwhile")
    figures, verdicts = summarise(measured.sessions)
    return harness.finish(options, "causal_accuracy", {**figures, "sessions": measured.sessions}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
