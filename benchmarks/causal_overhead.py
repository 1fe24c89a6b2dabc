"""What causal profiling costs besides its delays: sampling, stacks, bookkeeping at locks, and counting visits.

One experiment at 0 %: all is done as always, and nobody is ever delayed. Each piece of work is a visit of a progress point
(in pmd and sunflow there are none). The agent is given to the JVM directly; the recorder, which reads a line a second, is
left out. Two launches of a JVM differ by a quarter by what its compilers do, and two attaches to one JVM by several percent,
more than what is measured here. So it is taken in parts, in one warm JVM that does the same work again and again:

- samples with all that is done for them, and telling of parks and wakings, on which the verdict is: runs with it off and on in
  turn (off, on, on, off) within one attach, with the code as it is (causal_switch.py). In both are the counting of visits (one a
  piece of work), what is told of sleeps, of monitors that are waited for and of `synchronized` methods' ends, a timer
  opened for each new thread, and one or two samples in a hundred, of threads that sleep or that began just now;
- attached to not attached, all in all: what is compiled anew, with call sites and a counter in it, is in here. It differs from
  attach to attach by more than all the rest: no interval is given for it;
- what attaching takes, once: its CPU time and that of the runs after it until their CPU times have settled, compilers included,
  beyond that of as many settled ones. Where a time limit ended that the table says so.

With --launches instead whole launches in turn, with the agent from the start and without: start-up and compilers included.

Compared is the CPU time of the whole JVM (but for its compilers once it is warm, which have then nothing to do), and its wall
time without stolen time. Every comparison comes with that of runs without among themselves (A/A), and the blocks without are
compared with the one before the agent was ever there: what it leaves behind is in no comparison.
Target: CPU time at most 5 % more in the mean over the programs.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from headway.record.agent.attach import attach
from headway.record.request.causal_spec import CausalOptions, Point
from headway.record.request.jvm_options import agent_library, agent_options
from lib import causal_switch, driven, harness, in_pairs, programs, results

TARGET = 1.05
PERCENT = 20  # of the work that takes some seconds: a run is half a second
LAUNCH_PERCENT = 60
WORKERS = harness.ROOT / "java" / "benchmarks" / "src" / "main" / "java" / "headway" / "bench" / "Workers.java"
PIECE = "piece.run(worker, item);"
Figure = Callable[[dict[str, int]], float]
FIGURES: dict[str, Figure] = {
    "cpu": lambda run: run["cpu_ns"] - run["jit_ns"],
    "wall": lambda run: run["corrected_wall_ns"],
}


def spec() -> str:
    """Return what is asked of the agent. Raises StopIteration if the programs' pieces of work are done elsewhere."""
    line = next(number for number, text in enumerate(WORKERS.read_text().splitlines(), 1) if text.strip() == PIECE)
    point = Point("piece", f"headway.bench.Workers:{line}")
    return CausalOptions(mode="end-to-end", speedup_pct=0, progress=(point,)).spec


# ---- warm -----------------------------------------------------------------------------------------------------------


@contextmanager
def profiled(program: driven.Driven, spool: Path) -> Iterator[int]:
    """Have the agent in the program while the body runs; gives the JVM's CPU ns for that. Raises HeadwayError if it fails."""
    spool.mkdir()
    before_ns = driven.process_cpu_ns(program.pid)
    agent = attach(program.pid, agent_library(), spool, causal=spec())
    try:
        yield driven.process_cpu_ns(program.pid) - before_ns
    finally:
        agent.detach()
        agent.close()


def samples_of(spool: Path) -> int:
    """Return the samples of a recording that is one experiment. Raises ValueError without one."""
    notes = [json.loads(line) for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines()]
    (experiment,) = [note for note in notes if note["t"] == "experiment"]
    return int(experiment["samples"])


def settled(program: driven.Driven, limit_s: float) -> driven.Block:
    """Return the runs until their CPU times have settled, and whether they have within `limit_s` seconds."""
    runs = program.settle(limit_s)
    is_settled = driven.is_settled([run.cpu_ns - run.jit_ns for run in runs])
    return {"is_settled": is_settled, **driven.block(runs, recorded=True)}


def warm(name: str, options: Any) -> results.Session:
    """Warm one program up; return its blocks before, between and after attaches, and for each of these its runs on and off."""
    words = programs.switchable(programs.driven(name, PERCENT))
    session: results.Session = {"off": [], "on": [], "attaching": [], "quads": []}
    with harness.recording_folder() as folder, driven.Driven(words) as program:
        session["warm_up_runs"] = program.warm_up(options.warm_up)

        def plain() -> None:
            session["off"].append(driven.block([program.run() for _ in range(options.runs)], False))

        plain()
        for number in range(options.attaches):
            spool = folder / str(number)
            with profiled(program, spool) as attach_cpu_ns:
                session["attaching"].append({"cpu_ns": attach_cpu_ns, **settled(program, options.settle)})
                quads = causal_switch.switched(program, options.pairs)
            session["on"].append({"recorded": True, "runs": [run for each in quads for run in each["on"]]})
            session["quads"].append(quads)
            settled(program, options.settle)
            plain()
    return session


# ---- from the launch on ---------------------------------------------------------------------------------------------


def launches(name: str, options: Any) -> results.Session:
    """Run one program in turn with and without the agent, from the launch to the end."""
    words = programs.command(name, percent=LAUNCH_PERCENT)

    def plain() -> harness.Run:
        return harness.run(words)

    def recorded() -> harness.Run:
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as spool:
            agent = agent_options(Path(spool), causal=spec())
            return harness.run([words[0], f"-agentpath:{agent_library()}={agent}", *words[1:]])

    before, after = harness.interleave(plain, recorded, options.pairs)
    return {"launches": True, "off": [driven.block([run], False) for run in before],
            "on": [driven.block([run], True) for run in after]}  # fmt: skip


# ---- what comes out -------------------------------------------------------------------------------------------------


def values(blocks: list[driven.Block], figure: str) -> list[float]:
    """Return a figure of each block: the median over its runs."""
    return [float(np.median([FIGURES[figure](run) for run in block["runs"]])) for block in blocks]


def pairs_of(sessions: list[results.Session], figure: str) -> tuple[list[float], list[float]]:
    """Return the ratios with to without, and those of two blocks without, over all sessions of a program."""
    both = [harness.pair_ratios(values(each["off"], figure), values(each["on"], figure)) for each in sessions]
    return [ratio for ratios, _ in both for ratio in ratios], [ratio for _, same in both for ratio in same]


def switched_pairs(sessions: list[results.Session], figure: str) -> tuple[list[float], list[float]]:
    """Return the ratios on to off of each four runs, and those of the runs with it off where two fours meet, of a program."""
    of, ratios, same = FIGURES[figure], [], []
    for quads in (each for session in sessions for each in session["quads"]):
        off, on = ([[of(run) for run in each[state]] for each in quads] for state in ("off", "on"))
        ratios += [
            float(np.exp(np.mean(np.log(after)) - np.mean(np.log(before))))
            for before, after in zip(off, on, strict=True)
        ]
        same += [begin[0] / end[1] for end, begin in itertools.pairwise(off)]
    return ratios, same


def left_behind(sessions: list[results.Session]) -> float:
    """Return the CPU time of blocks without the agent, as a multiple of that of the block before it was ever there (median)."""
    every = [values(each["off"], "cpu") for each in sessions]
    return float(np.median([later / first for first, *others in every for later in others]))


def attach_ns(sessions: list[results.Session]) -> float:
    """Return what attaching took once, CPU ns: itself, and of the runs after it what settled ones do not take (median)."""
    found = []
    for each in sessions:
        for begin, then in zip(each["attaching"], each["on"], strict=True):
            usual = float(np.median([run["cpu_ns"] - run["jit_ns"] for run in then["runs"]]))
            found.append(begin["cpu_ns"] + sum(run["cpu_ns"] - usual for run in begin["runs"]))
    return float(np.median(found))


def unsettled(sessions: list[results.Session]) -> str:
    """Return how many of the attaches had not settled when their time was over."""
    ends = [begin["is_settled"] for each in sessions for begin in each["attaching"]]
    return f"{ends.count(False)} of {len(ends)}"


def summarise(sessions: dict[str, list[results.Session]]) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and the verdict. Raises SystemExit where the file holds both parts."""
    cold = [bool(each.get("launches")) for every in sessions.values() for each in every]
    if any(cold) and not all(cold):
        raise SystemExit("causal_overhead: launches and warm programs need a file each")
    if not any(cold) and not all("quads" in each for every in sessions.values() for each in every):
        raise SystemExit(
            "causal_overhead: the file holds sessions of before it was switched within an attach: begin a new one"
        )
    pairs = pairs_of if any(cold) else switched_pairs
    figures: dict[str, Any] = {
        name: {figure: harness.ratio_of(*pairs(every, figure)) for figure in FIGURES}
        for name, every in sorted(sessions.items())
    }
    head = ["program", "CPU", "A/A noise", "wall, steal-corrected"]
    rows = [
        [name, each["cpu"].percent(), each["cpu"].noise(), each["wall"].percent()] for name, each in figures.items()
    ]
    if not any(cold):
        head += ["attached to not", "left behind", "attach, once", "not settled"]
        for row in rows:
            row += beside(figures[row[0]], sessions[row[0]])
    print(harness.table(head, rows))
    mean, low, high = harness.mean_over_programs({name: pairs(sessions[name], "cpu")[0] for name in figures})
    whole = {"mean": mean, "low": low, "high": high}
    same = {name: pairs(sessions[name], "cpu")[1] for name in figures}
    if all(same.values()):
        whole |= dict(zip(("aa", "aa_low", "aa_high"), harness.mean_over_programs(same), strict=True))
        print(f"A/A: {interval(whole['aa'], whole['aa_low'], whole['aa_high'])} in the mean")
    what = "launches" if any(cold) else "programs"
    text = f"mean {interval(mean, low, high)} more CPU time, {len(figures)} {what}, target +5 %"
    return {"programs": figures, "mean": whole}, [harness.against(text, mean, high, TARGET)]


def interval(value: float, low: float, high: float) -> str:
    """Return ratios for example as '+1.2 % [+0.5, +1.9]'."""
    return f"{100 * value - 100:+.1f} % [{100 * low - 100:+.1f}, {100 * high - 100:+.1f}]"


def beside(figures: dict[str, Any], sessions: list[results.Session]) -> list[str]:
    """Return a warm program's other columns, and add what is in them to its figures."""
    once, rest = attach_ns(sessions), left_behind(sessions)
    attached = float(np.median(pairs_of(sessions, "cpu")[0]))
    figures |= {"attach_ns": once, "left_behind": rest, "attached": attached}
    percents = [f"{100 * each - 100:+.1f} %" for each in (attached, rest)]
    return [*percents, f"{once / 1e9:.2f} s", unsettled(sessions)]


def measure(name: str, options: Any) -> results.Session:
    """Measure one program, in the part that was asked for."""
    return launches(name, options) if options.launches else warm(name, options)


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = in_pairs.arguments(
        __doc__, "fours of runs of each attach (12; 8 with --quick), or launches (12; 4 with --quick)"
    )
    parser.add_argument(
        "--settle", type=float, metavar="S", default=20.0, help="after an attach or its end, at most (20)"
    )
    parser.add_argument("--attaches", type=int, help="to each program, each with its --pairs (3; 1 with --quick)")
    parser.add_argument("--launches", action="store_true", help="whole launches, start-up and compilers included")
    options = parser.parse_args()
    options.pairs = options.pairs or ((4 if options.launches else 8) if options.quick else 12)
    options.attaches = options.attaches or (1 if options.quick else 3)
    return in_pairs.carry_out("causal_overhead", options, measure, summarise)


if __name__ == "__main__":
    sys.exit(main())
