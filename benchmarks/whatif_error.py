"""How far replayed wall times are from measured ones: unchanged, on 1 core from 2 and on 2 from 1.

Each program is recorded on one CPU and on two (`record --cpus`, the JVM believes to have two), cold and whole. Figures:

- unchanged: the replay of the run as the machine was, against what was measured, the median of each program. Above 5 %
  `headway whatif` refuses.
- other cores: predicted from the recording on k1 CPUs, against the recording on k2 without what host and others took
  (`quiet_ns` there). Where they took little (FREE) also against what was measured there, as `headway walltime` is.
- interval: how often the quiet run there lies between `low_ns` and `high_ns` of that prediction.
- same work: the same, had the program used as much CPU time there: what is left is the replay's own error.

Cold JVMs compile more of their work later on one core: the work itself differs, in these figures as in walltime_cold_error.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean, median
from typing import Any

from lib import harness, programs

FREE = 0.04
"""So much of its CPU time others may have taken from a run that is compared as it was measured."""
TARGET_UNCHANGED = 0.02
TARGET_CORES = 0.0411
TARGET_COVERED = 0.85


def record(name: str, cpus: list[int], target: Path, percent: int) -> None:
    """Record a whole run of a program."""
    places = ",".join(map(str, cpus))
    command = [str(harness.HEADWAY), "record", "--force", "-o", str(target), "--cpus", places, "--"]
    harness.run([*command, *programs.command(name, percent=percent)], cpus, recorded=True)


def asked(path: Path, k: int) -> dict[str, Any]:
    """Return what whatif and walltime say of a recording on `k` cores, in seconds."""
    said = harness.headway("whatif", path, "--cores", str(k))
    other = harness.headway("walltime", path, "--cores", str(k))
    predicted = next(iter(said["changes"]), None)
    return {
        "measured": said["measured_ns"] / 1e9,
        "unchanged_error": None if said["replay_error_pct"] is None else said["replay_error_pct"] / 100,
        "work": harness.headway("query", path, "SELECT sum(exec_ns) AS ns FROM thread WHERE kind <> 'headway'")[0][
            "ns"
        ],
        "quiet": (said["recordings"][0]["quiet_ns"] or 0) / 1e9,
        "refused": said["refused"] and said["refused"]["id"],
        "whatif": predicted and predicted["wall_ns"] / 1e9,
        "low": predicted and predicted["low_ns"] / 1e9,
        "high": predicted and predicted["high_ns"] / 1e9,
        "walltime": (other["predictions"][0]["corrected_ns"] or 0) / 1e9,
    }


def one_round(names: tuple[str, ...], folder: Path, percent: int) -> dict[str, Any]:
    """Record each program on one CPU and on two, and ask both recordings about the other number."""
    cpus = harness.machine()["cpus"][:2]
    found: dict[str, Any] = {"programs": {}}
    for name in names:
        for k in (1, 2):
            record(name, cpus[:k], folder / f"{name}-{k}.headway", percent)
        found["programs"][name] = {k: asked(folder / f"{name}-{k}.headway", 3 - k) for k in (1, 2)}
    return found


def errors(rounds: list[dict[str, Any]], k1: int, which: str) -> list[float]:
    """Return, of each round and program, the prediction from k1 over the quiet run on the other number of cores, less 1."""
    pairs = [(each[k1][which], each[3 - k1]["quiet"]) for round_ in rounds for each in round_["programs"].values()]
    return [predicted / quiet - 1 for predicted, quiet in pairs if predicted and quiet]


def same_work_errors(rounds: list[dict[str, Any]], k1: int, which: str) -> list[float]:
    """Return the same for a prediction scaled by the CPU time that the program used on the other number of cores."""
    pairs = [(each[k1], each[3 - k1]) for round_ in rounds for each in round_["programs"].values()]
    return [one[which] * to["work"] / one["work"] / to["quiet"] - 1 for one, to in pairs if one[which] and to["quiet"]]


def measured_errors(rounds: list[dict[str, Any]], k1: int, which: str) -> list[float]:
    """Return the same over what was measured, where others took little of the run."""
    pairs = [(each[k1][which], each[3 - k1]) for round_ in rounds for each in round_["programs"].values()]
    free = [(p, to["measured"]) for p, to in pairs if p and to["quiet"] and to["measured"] / to["quiet"] - 1 <= FREE]
    return [predicted / measured - 1 for predicted, measured in free]


def covered(rounds: list[dict[str, Any]]) -> tuple[str, bool]:
    """Return a line on how many quiet runs lie in the interval predicted for them, and whether enough do."""
    pairs = [
        (each[k], each[3 - k]["quiet"]) for round_ in rounds for each in round_["programs"].values() for k in (1, 2)
    ]
    lies = [one["low"] <= quiet <= one["high"] for one, quiet in pairs if one["low"] and quiet]
    share = mean(lies) if lies else 0.0
    text = f"whatif, interval covers the quiet run: {100 * share:.0f} % of {len(lies)}, target {100 * TARGET_COVERED:.0f} %"
    return text, share >= TARGET_COVERED


def unchanged(rounds: list[dict[str, Any]]) -> tuple[str, bool]:
    """Return a line on the replays of unchanged runs, and whether each program's is within the target, two refused at most."""
    off: dict[str, float] = {}
    for name in rounds[0]["programs"]:
        found = [round_["programs"][name][k]["unchanged_error"] for round_ in rounds for k in (1, 2)]
        known = [abs(each) for each in found if each is not None]
        off[name] = median(known) if known else 1.0
    most = max(off, key=lambda name: off[name])
    refused = [name for name in off if any(round_["programs"][name][k]["refused"] for round_ in rounds for k in (1, 2))]
    text = (
        f"unchanged, {len(off)} programs: mean {100 * mean(off.values()):.2f} %, worst {100 * off[most]:.2f} % ({most})"
    )
    is_reached = len(refused) <= 2 and all(off[name] <= TARGET_UNCHANGED for name in off if name not in refused)
    return f"{text}, refused {', '.join(refused) or 'none'}, target {100 * TARGET_UNCHANGED:.0f} % each", is_reached


def verdict(text: str, found: list[float], target: float) -> tuple[str, bool]:
    """Return a line of the summary, and whether the target is reached."""
    if not found:
        return f"{text}: no figure", False
    off = [abs(each) for each in found]
    values = f"mean {100 * mean(off):.2f} %, median {100 * median(off):.2f} %, worst {100 * max(off):.2f} %"
    return f"{text}: {values} of {len(off)}, target {100 * target:.2f} %", mean(off) <= target


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--rounds", type=int, help="recordings per program and number of cores (3; 1 with --quick)")
    parser.add_argument("--percent", type=int, default=20, help="how much work: 100 takes some seconds")
    parser.add_argument("--programs", default=",".join(programs.available()), help="with commas")
    options = parser.parse_args()
    names = tuple(filter(None, options.programs.split(",")))
    if len(harness.machine()["cpus"]) < 2:
        parser.error("needs two CPUs")
    rounds = []
    with harness.recording_folder() as folder:
        for number in range(options.rounds or (1 if options.quick else 3)):
            harness.progress(f"what-if error: round {number + 1}")
            rounds.append(one_round(names, folder, options.percent))
    verdicts = [unchanged(rounds)]
    for k1, k2 in ((1, 2), (2, 1)):
        for which in ("whatif", "walltime"):
            verdicts.append(
                verdict(f"{which} {k1} to {k2}, against the quiet run", errors(rounds, k1, which), TARGET_CORES)
            )
            same = same_work_errors(rounds, k1, which)
            verdicts.append(verdict(f"{which} {k1} to {k2}, the same work", same, TARGET_CORES))
            found = measured_errors(rounds, k1, which)
            if found:
                verdicts.append(verdict(f"{which} {k1} to {k2}, as measured on free CPUs", found, TARGET_CORES))
    verdicts.append(covered(rounds))
    return harness.finish(options, "whatif_error", {"rounds": rounds}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
