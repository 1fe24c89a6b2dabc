"""What recording its locks costs a server whose threads park all the time.

Requests come by a queue to worker threads, and the client waits for the answer. `tpcc`: each is a transaction of TPC-C in H2, in
memory; `orders`: one of two small transactions in H2; `queue`: 40 microseconds of computing in place of the database: far more
parks than a server has. The published overhead is that of SPECjbb2013 at 15,213 requests a second on 16 cores: at least a
millisecond of CPU time a request, more than any of these.

One warm JVM per program does the same work again and again. All cores are busy, so throughput is cores over CPU time per
request: the figure is the CPU time of the JVM (kernel probes and agent run on it) and of the recorder beside it, without the
JVM's compilers. Wall time, without what the host stole, holds the pauses of the machine too. It is taken in two parts:

- recorded without locks against plain: blocks of runs in turn, attached and not. No class of the JDK changes, so no code is
  compiled anew;
- locks recorded against not, within one recording with locks: run by run in turn, by the switch that headway's call sites
  look at (HookSwitch). For what an attach with locks changes in classes has the JVM throw compiled code out, and what
  it compiles instead is up to 15 % faster or slower for as long as the attach lasts: no number of attaches that takes minutes
  gets that below 1 %. Left out is thereby what a call site costs that is in but switched off, a look at a static field
  (decision 0005: below a nanosecond), and what attaching itself takes, once (startup.py). Contended monitors are
  recorded all the time; these programs have none. While locks are switched off their allowances of stacks grow, by two each
  at most; a run with them takes some thirty besides: the figure is too high by about 0.02 % of the CPU time.

Each is compared with the mean of its two neighbours, so that a machine that slows down for a minute slows down all; the
neighbours among each other (A/A) tell the noise. The product of the two is what a recording with locks costs.
Target: not distinguishable from 0 with an interval narrower than +-1 %, else at most 1 %. Each of the three has a verdict for its
locks, and one for all that is recorded with them; what recording costs by itself has a target of its own, too (overhead.py).
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lib import driven, harness, programs, results

TARGET = 1.01
NARROW = 0.01
CLIENTS, WORKERS = 32, 8
NAMES = ("tpcc", "orders", "queue")
PERCENT = 20
"""Of the programs' work: a run takes about half a second."""
REQUESTS_PER_ITEM = 50
"""Of the programs on H2."""

Figure = Callable[[dict[str, int]], float]
FIGURES: dict[str, Figure] = {
    "cpu_with_recorder": lambda run: run["cpu_ns"] - run["jit_ns"] + run["recorder_ns"],
    "cpu": lambda run: run["cpu_ns"] - run["jit_ns"],
    "wall": lambda run: run["corrected_wall_ns"],
}


def command(name: str) -> list[str]:
    """Return the command of a program that can be driven, and its locks' recording switched."""
    if name != "queue":
        java, *rest = programs.command(name, percent=PERCENT)
    else:
        java, *rest = programs.workload("QueueServer", CLIENTS, WORKERS, 22 * PERCENT, 20_000, "array")
    return programs.switchable([java, "-XX:-UseDynamicNumberOfCompilerThreads", *rest])


# ---- taking the runs ------------------------------------------------------------------------------------------------


def recorded_and_not(
    program: driven.Driven, folder: Path, options: Any
) -> tuple[list[driven.Block], list[driven.Block]]:
    """Return blocks that are not recorded, and those between them that are, without locks: for a third of the time."""
    deadline = time.monotonic() + options.seconds / 3

    def block(recorder: driven.Recorder | None) -> driven.Block:
        program.run(recorder)
        return driven.block([program.run(recorder) for _ in range(options.runs)], recorder is not None)

    off, on = [block(None)], []
    while time.monotonic() < deadline:
        target = folder / "without.headway"
        with program.recorded(target, "--no-locks") as recorder:
            on.append(block(recorder))
        shutil.rmtree(target)
        off.append(block(None))
    return off, on


def switched(program: driven.Driven, folder: Path, options: Any) -> dict[str, Any]:
    """Return runs without and with their locks recorded, in turn, in one recording, and the waits of one run."""
    target = folder / "locks.headway"
    with program.recorded(target, "--locks") as recorder:
        program.warm_up(options.warm_up)  # what is thrown out at the attach is compiled again
        begin_ns, end_ns = (int(program.run(recorder).own_output["end_ns"]) for _ in range(2))
        deadline = time.monotonic() + options.seconds / 2

        def run(on: bool) -> driven.Block:
            program.tell("locks on" if on else "locks off")
            return driven.block([program.run(recorder)], on)

        off, on = [run(False)], []
        while time.monotonic() < deadline:
            on.append(run(True))
            off.append(run(False))
        program.tell("locks on")
    counted = waits(target, begin_ns, end_ns)
    shutil.rmtree(target)
    return {"off": off, "on": on, "waits": counted}


def requests(said: dict[str, Any]) -> int:
    """Return how many requests a run had, by what the program says of itself."""
    return int(said["requests"]) if "requests" in said else int(said["items"]) * REQUESTS_PER_ITEM


def waits(target: Path, begin_ns: int, end_ns: int) -> dict[str, int]:
    """Return the waits in a recording that begin in a time span, by kind: parks, contended monitors, Object.wait."""
    from headway.store import open_recording

    recording = open_recording(target)
    rows = recording.query(
        f"SELECT kind, count(*) FROM block WHERE start_ns BETWEEN {begin_ns} AND {end_ns} GROUP BY kind"
    ).fetchall()
    recording.close()
    return {str(kind): int(count) for kind, count in rows}


def measure(name: str, options: Any) -> results.Session:
    """Warm one program up and take its runs, and how much the kernel says it used itself."""
    with harness.recording_folder() as folder, driven.Driven(command(name)) as program:
        warm = program.warm_up(options.warm_up)
        count = requests(program.run().own_output)
        plain, recorded = recorded_and_not(program, folder, options)
        kernel = driven.kernel_cost(program, options.runs, folder)
        if kernel:
            kernel["runs"] = options.runs
        locks = switched(program, folder, options)
    return {"warm_up_runs": warm, "requests": count, "plain": plain, "recorded": recorded, "kernel": kernel, **locks}


# ---- what comes out -------------------------------------------------------------------------------------------------


def values(blocks: Sequence[driven.Block], figure: Figure) -> list[float]:
    """Return a figure of each block: the median over its runs."""
    return [float(np.median([figure(run) for run in each["runs"]])) for each in blocks]


def product(
    first: harness.Ratio, firsts: Sequence[float], second: harness.Ratio, seconds: Sequence[float]
) -> harness.Ratio:
    """Return the product of two median ratios, with its interval: the pairs of each are drawn anew, by themselves."""
    generator = np.random.default_rng(20260101)
    draws = [
        np.median(generator.choice(np.asarray(ratios), size=(harness.RESAMPLES, len(ratios))), axis=1)
        for ratios in (firsts, seconds)
    ]
    low, high = np.percentile(draws[0] * draws[1], [2.5, 97.5])
    noise = (first.aa_low + second.aa_low - 1, first.aa_high + second.aa_high - 1)
    pairs = min(first.pairs, second.pairs)
    return harness.Ratio(first.median * second.median, low, high, first.aa_median * second.aa_median, *noise, pairs)


def of_program(sessions: Sequence[results.Session]) -> dict[str, dict[str, harness.Ratio]]:
    """Return the ratios of one program over all its sessions, by figure and by what is compared."""
    found: dict[str, dict[str, harness.Ratio]] = {}
    for name, figure in FIGURES.items():
        pooled: dict[str, tuple[list[float], list[float]]] = {"recorded": ([], []), "locks_to_recorded": ([], [])}
        for each in sessions:
            for key, (off, on) in {"recorded": ("plain", "recorded"), "locks_to_recorded": ("off", "on")}.items():
                pair = harness.pair_ratios(values(each[off], figure), values(each[on], figure))
                for whole, part in zip(pooled[key], pair, strict=True):
                    whole += part
        found[name] = {key: harness.ratio_of(*ratios) for key, ratios in pooled.items()}
        found[name]["locks"] = product(
            found[name]["recorded"],
            pooled["recorded"][0],
            found[name]["locks_to_recorded"],
            pooled["locks_to_recorded"][0],
        )
    return found


def of_a_request(session: results.Session) -> str:
    """Return as text what a request takes where nothing is recorded: its CPU time and its waits."""
    count = session["requests"]
    cpu_ns = np.median(values(session["plain"], FIGURES["cpu"])) / count
    told = ", ".join(f"{waited / count:.2f} {kind}s" for kind, waited in sorted(session["waits"].items()))
    kernel = session["kernel"]
    if kernel:
        told += (
            f"; {kernel['ns'] / kernel['runs'] / count / 1e3:.2f} us of recording it are the kernel's, by its own clock"
        )
    return f"a request takes {cpu_ns / 1e3:.1f} us of CPU time, with {told}"


def verdicts_on(name: str, of: dict[str, dict[str, harness.Ratio]]) -> list[tuple[str, bool]]:
    """Return the verdicts on a program: what its locks cost it, and all that is recorded with them."""
    found = []
    for key, what in (("locks_to_recorded", "locks"), ("locks", "the recording with locks")):
        cost = of["cpu_with_recorder"][key]
        text = f"{name}: {what} {cost.percent()} CPU time per request, recorder included; target +1 %"
        if cost.low <= 1 <= cost.high and (cost.high - cost.low) / 2 <= NARROW:
            found.append((f"{text} or not distinguishable from 0", True))
        else:
            found.append(harness.against(text, cost.median, cost.high, TARGET))
    return found


def summarise(sessions: dict[str, list[results.Session]]) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and the verdicts."""
    figures = {name: of_program(sessions[name]) for name in NAMES if name in sessions}
    compared = {"recorded": "recorded", "locks": "with locks", "locks_to_recorded": "locks to recorded"}
    rows = [
        [f"{name}, {text}", *(each[figure][key].percent() for figure in FIGURES),
         each["cpu_with_recorder"][key].noise(), str(each["cpu"][key].pairs)]
        for name, each in figures.items() for key, text in compared.items()
    ]  # fmt: skip
    print(harness.table(["program", "CPU + recorder", "CPU", "wall, steal-corrected", "A/A noise", "pairs"], rows))
    for name in figures:
        print(f"{name}: {of_a_request(sessions[name][-1])}")
    verdicts = [each for name, of in figures.items() for each in verdicts_on(name, of)]
    return {"programs": figures}, verdicts


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    results.arguments(parser)
    parser.add_argument("--seconds", type=float, help="for each program, warm-up included (240; 60 with --quick)")
    parser.add_argument("--runs", type=int, default=4, help="runs per attached block, half a second each (4)")
    parser.add_argument("--warm-up", type=float, metavar="S", default=30.0, help="at most so many seconds (30)")
    options = parser.parse_args()
    options.seconds = options.seconds or (60.0 if options.quick else 240.0)
    measured = results.Results("lock_overhead", options)
    for name in results.chosen(options, NAMES):
        harness.progress(f"lock_overhead: {name}, {options.seconds:g} s")
        measured.add(name, measure(name, options))
    figures, verdicts = summarise(measured.sessions)
    return harness.finish(options, "lock_overhead", {**figures, "sessions": measured.sessions}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
