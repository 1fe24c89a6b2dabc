"""How far predicted wall times are from measured ones for whole runs of cold JVMs, k1 = 1 to k2 = 2 and k1 = 2 to k2 = 1.

These runs take some seconds, and a third of their CPU time goes into compiling. On one core that comes later, so the program
does more of its work in slower code: the model's first assumption, the same work on any number of cores, does not hold, and
`headway walltime` warns of it (HW425). What the model itself is worth is measured by walltime_error.py, on warm programs.

The JVM always believes to have the same number of processors; `taskset` and `record --cpus` say how many it really gets, as
in the paper (Peternier et al., ICPE 2013, section 4). Rounds are interleaved: recorded on one core, recorded on two, and
without recording on each. A prediction is the median over the recordings at k1. It is compared three ways: raw, with the wall
time of the runs without recording; raw, with the wall time of the recordings at k2; and both without what the host stole
(`corrected_ns` with `corrected_measured_ns`). Target: mean absolute relative error <= 4.11 %, the paper's for k2 = 2.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from lib import harness, programs

TARGET = 0.0411
DIRECTIONS = ((1, 2), (2, 1))


@dataclass(slots=True)
class Program:
    """What the rounds gave for one program, per number of cores: seconds of wall time in ns."""

    name: str
    plain_ns: dict[int, list[int]] = field(default_factory=lambda: {1: [], 2: []})
    measured_ns: dict[int, list[int]] = field(default_factory=lambda: {1: [], 2: []})
    corrected_measured_ns: dict[int, list[int]] = field(default_factory=lambda: {1: [], 2: []})
    predicted_ns: dict[int, list[int]] = field(default_factory=lambda: {1: [], 2: []})  # by k1, for the other count
    corrected_predicted_ns: dict[int, list[int]] = field(default_factory=lambda: {1: [], 2: []})
    withheld: list[str] = field(default_factory=list)

    def error(self, k1: int, k2: int, kind: str) -> float | None:
        """Return the relative error of the median prediction from k1 for k2; kind: plain, recorded, corrected."""
        predicted = self.corrected_predicted_ns[k1] if kind == "corrected" else self.predicted_ns[k1]
        measured = {"plain": self.plain_ns, "recorded": self.measured_ns, "corrected": self.corrected_measured_ns}[
            kind
        ][k2]
        return median(predicted) / median(measured) - 1 if predicted and measured else None


def record(program: Program, cpus: list[int], folder: Path, percent: int) -> None:
    """Record the program on `cpus` and take its measured time, and the prediction for the other number of cores."""
    k1 = len(cpus)
    target = folder / f"{program.name}-{k1}.headway"
    command = programs.command(program.name, percent=percent)
    places = ",".join(map(str, cpus))
    harness.run(
        [str(harness.HEADWAY), "record", "--force", "-o", str(target), "--cpus", places, "--", *command],
        cpus,
        recorded=True,
    )
    said = harness.headway("walltime", target, "--cores", str(3 - k1))
    prediction = said["predictions"][0]
    program.measured_ns[k1].append(said["measured_ns"])
    if said.get("corrected_measured_ns"):
        program.corrected_measured_ns[k1].append(said["corrected_measured_ns"])
    if prediction["ns"] is None:
        program.withheld.append(f"{k1} to {3 - k1}: {prediction['withheld']}")
        return
    program.predicted_ns[k1].append(prediction["ns"])
    if prediction.get("corrected_ns"):
        program.corrected_predicted_ns[k1].append(prediction["corrected_ns"])


def measure(name: str, rounds: int, percent: int, plain: bool) -> Program:
    """Run the interleaved rounds of one program."""
    program = Program(name)
    one, two = harness.machine()["cpus"][:1], harness.machine()["cpus"][:2]
    with harness.recording_folder() as folder:
        for _ in range(rounds):
            for cpus in (one, two):
                record(program, cpus, folder, percent)
                if plain:
                    # The whole command, as a recording's window: start-up and exit are part of the program.
                    program.plain_ns[len(cpus)].append(
                        harness.run(programs.command(name, percent=percent), cpus).span_ns
                    )
    return program


def shown(value: float | None) -> str:
    """Return a relative error for people."""
    return "-" if value is None else f"{100 * value:+.1f} %"


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--rounds", type=int, help="recordings per program and number of cores (5; 3 with --quick)")
    parser.add_argument("--percent", type=int, default=100, help="how much work: 100 takes some seconds")
    parser.add_argument("--programs", default="", help="only these, with commas")
    parser.add_argument("--no-plain", action="store_true", help="leave out the runs without recording: half the time")
    options = parser.parse_args()
    names = tuple(filter(None, options.programs.split(","))) or programs.available()
    if len(harness.machine()["cpus"]) < 2:
        parser.error("needs two CPUs")
    rounds = options.rounds or (3 if options.quick else 5)
    results = []
    for name in names:
        harness.progress(f"wall-time error, cold: {name}, {rounds} rounds")
        results.append(measure(name, rounds, options.percent, not options.no_plain))
    kinds = [kind for kind in ("plain", "recorded", "corrected") if kind != "plain" or not options.no_plain]
    columns = [(k1, k2, kind) for k1, k2 in DIRECTIONS for kind in kinds]
    rows = [[p.name, *(shown(p.error(*column)) for column in columns)] for p in results]
    print(harness.table(["program", *(f"{k1}->{k2} {kind}" for k1, k2, kind in columns)], rows))
    for program in results:
        for reason in program.withheld:
            print(f"withheld: {program.name}, {reason}")
    means, verdicts = {}, []
    for k1, k2, kind in columns:
        errors = [abs(e) for p in results if (e := p.error(k1, k2, kind)) is not None]
        if not errors:
            verdicts.append((f"{k1}->{k2} {kind}: no figure", False))
            continue
        mean, low, high = harness.bootstrap(errors, np.mean)
        means[f"{k1}->{k2} {kind}"] = {"mean": mean, "low": low, "high": high, "programs": len(errors)}
        interval = f"[{100 * low:.2f}, {100 * high:.2f}], {len(errors)} programs"
        text = f"{k1}->{k2} {kind}: mean absolute error {100 * mean:.2f} % {interval}, target 4.11 %"
        verdicts.append((text, mean <= TARGET))
    return harness.finish(options, "walltime_cold_error", {"programs": results, "means": means}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
