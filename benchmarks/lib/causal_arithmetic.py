"""Expected effects of faster lines by formula, for those programs of java/workloads (package causal) that have one.

Each is a formula of what one visit of the progress point takes: the longest of what goes on side by side, the sum of what
comes one after another, and never less than all CPU time of a visit divided among the cores. Handing over, waking and
switching take no time in it. Programs whose answer rests on the scheduler, the collector or a library have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Loads = Mapping[str, float]
"""What each line does in one round, in the unit of the program's source."""


def _cpu_us(cores: int, *loads: float) -> float:
    """Return the least time of a visit in which so much is computed."""
    return sum(loads) / cores


def _barrier(load: Loads, cores: int) -> float:
    return max(load["long"], load["short"], _cpu_us(cores, *load.values()))


def _halves(load: Loads, cores: int) -> float:
    return load["serial"] + max(load["parallel"], _cpu_us(cores, load["parallel"], load["parallel"]))


def _in_turn(load: Loads, _cores: int) -> float:
    return sum(load.values())


def _independent(load: Loads, cores: int) -> float:
    rest = 400
    visits_per_us = 1 / (load["first"] + rest) + 1 / (load["second"] + rest)
    return 1 / (visits_per_us * min(cores, 2) / 2)


def _contended_by_two(load: Loads, cores: int) -> float:
    return max(load["inside"], (load["inside"] + load["outside"]) / min(cores, 2))


def _pipeline(load: Loads, cores: int) -> float:
    return max(*load.values(), _cpu_us(cores, *load.values()))


def _fork_join(load: Loads, cores: int) -> float:
    """The one who forks takes the large task first, the other one the small ones; who is ready first takes of what is left."""
    small, tasks = load["small"], 4
    if cores < 2:
        return load["large"] + tasks * small
    return min(max(load["large"] + taken * small, (tasks - taken) * small) for taken in range(tasks + 1))


def _sleeper(load: Loads, _cores: int) -> float:
    return max(load["produce"], load["sleep"])


def _spinning(load: Loads, _cores: int) -> float:
    return max(load["work"], 500)


def _oversubscribed(load: Loads, cores: int) -> float:
    """Four threads with equal shares of the cores."""
    share, rest = min(cores / 4, 1), 1000
    return 1 / (share * (3 / (load["half"] + rest) + 1 / (load["mine"] + rest)))


def _virtual(load: Loads, cores: int) -> float:
    return _cpu_us(min(cores, 8), load["virtual half"], 1000)


TIMES: dict[str, tuple[dict[str, float], Callable[[Loads, int], float]]] = {
    "barrier": ({"long": 1000, "short": 500}, _barrier),
    "halves": ({"serial": 500, "parallel": 500}, _halves),
    "independent": ({"first": 1600, "second": 1600}, _independent),
    "alternating": ({"ping": 500, "pong": 500}, _in_turn),
    "alternating-monitor": ({"monitor ping": 500, "monitor pong": 500}, _in_turn),
    "contended-2": ({"inside": 800, "outside": 400}, _contended_by_two),
    "pipeline": ({"read": 300, "change": 800, "write": 300}, _pipeline),
    "forkjoin": ({"large": 800, "small": 100}, _fork_join),
    "sleeper": ({"sleep": 4000, "produce": 1000}, _sleeper),
    "spinning": ({"work": 1000, "spin": 2}, _spinning),
    "oversubscribed": ({"half": 1000, "mine": 1000}, _oversubscribed),
    "pipes": ({"ask": 500, "answer": 500}, _in_turn),
    "virtual": ({"virtual half": 1000}, _virtual),
}
"""By name of the case in causal_programs.CASES: what the lines do, and what a visit takes, in microseconds, on so many cores."""


def expected_pct(case: str, line: str, percent: float, cores: int) -> float | None:
    """Return the program's speedup in percent when `line` is `percent` faster; None where no formula is exact."""
    if case not in TIMES:
        return None
    loads, time_us = TIMES[case]
    changed = {**loads, line: loads[line] * (1 - percent / 100)}
    return 100 * (1 - time_us(changed, cores) / time_us(loads, cores))
