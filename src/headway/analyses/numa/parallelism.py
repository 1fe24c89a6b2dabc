"""The class of parallelism of a program: from the number of its workers, their imbalance, and the work of its main thread.

Method     Papadakis, PhD thesis, Manchester 2022, section 6.2 (five classes, figure 6.1) and 7.3 (borders of 80 % for the main
           thread's work and 90 % for extreme imbalance, 4 % of the work for a worker).
Imbalance  Equation 6.1: standard deviation over mean of the workers' values, of all workers, not of a sample. Of N workers it is
           at most sqrt(N - 1), when one does everything; the largest share of one of them is at most
           (1 + I sqrt(N - 1)) / N (Samuelson 1968), and just that where all others are equal.
Beyond     What the author tells of three programs that look imbalanced and are not is detected by what their figures allow:
           one worker that does next to nothing beside equal ones, and crews as large as the node one after another. Totals
           allow other readings too, so the other class is always named with these.
           Of a recorded program each worker's work is known, and used instead of what totals allow.
Checked    tests/golden/test_numa_classes.py, tests/unit/analyses/numa/test_numa_recorded.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from headway.analyses.counters.metrics import imbalance
from headway.analyses.numa.columns import ThreadRange
from headway.analyses.numa.recorded_figures import CPU_TIME, WorkerShare, workers_of
from headway.analyses.numa.tables import ProgramFigures
from headway.analyses.numa.types import (
    EMBARRASSING,
    FEW_WORKERS,
    IMBALANCED,
    NEAR,
    ONE_WORKER,
    OUTLIER,
    PARALLEL,
    PARALLELISM,
    SERIAL,
    SEVERAL,
    SINGLE,
    TLP_BOUND,
    ClassFinding,
    near_border,
)
from headway.errors.plurals import counted

MAIN_BORDER = 80.0
"""Percent of all instructions: a main thread that does more leaves nothing to others (section 7.3.4)."""
MAIN_MARGIN = 5.0
HALF = 50.0
WORKER_BORDER = 4.0
"""Percent of all instructions: a thread that does more is a worker (section 7.3.3)."""
BALANCED = 10.0
"""Percent of imbalance; the published programs leave room from 2 (balanced ones) to 25 (the least of the others)."""
EXTREME = 90.0
"""Percent of imbalance that one dominant worker makes at least (section 7.3.4)."""
MAJORITY = 0.5
"""Share of the workers' work: who may do more than this of it may be the only one that counts."""
SERIAL_MAIN = 2.0
"""How many times as much as a worker the main thread does at least where work is said to be serial."""
FEWEST_CREWS = 3
FEWEST_EQUAL = 3
"""So many workers that are alike make one that is not an outlier."""
_ROUNDING = 0.005
_NUMBER = re.compile(r"[-#_ ]*\d*$")
_NO_ROLE = ("", "Thread")
OF_THE_REST = "imbalance_of_the_rest"
"""What the evidence for an outlier goes by: the imbalance of all workers but that one, percent."""
WHILE_MAIN_WORKS = "whether the workers wait while main works: figures by phase would show it"
IN_TIME = (
    "root cause of the imbalance: work that differs from worker to worker, serial phases, or several workloads one after the "
    "other; totals by thread don't tell, figures by phase would"
)


def parallelism_of(program: ProgramFigures, cores: int) -> ClassFinding:
    """Return the class of parallelism on a node of `cores` cores."""
    found = ClassFinding(PARALLELISM)
    workers, main = program.range("workers"), program.number("main_instructions_pct")
    if workers is None:
        _without_workers(found, main)
    elif not _is_single(found, workers, main) and not _are_few(found, workers, main, cores):
        _by_balance(found, program, workers, cores)
        _other_imbalances(found, program)
        _serial_main(found, workers, main)
    return found


def _without_workers(found: ClassFinding, main: float | None) -> None:
    if main is not None and main > MAIN_BORDER + MAIN_MARGIN:
        found.answer = SINGLE
        found.add(_main_text(main), "main_instructions_pct", main, MAIN_BORDER)
        return
    found.undetermined.append("parallelism: the number of workers is not known (column workers)")


def _main_text(main: float) -> str:
    return f"the main thread does {main:g} % of the work, over {MAIN_BORDER:g} % leaves nothing to others"


def _is_single(found: ClassFinding, workers: ThreadRange, main: float | None) -> bool:
    """Tell whether one thread does nearly everything, or nobody can tell as no thread counts as a worker."""
    if workers.high == 0 and main is not None and main <= HALF:
        found.undetermined.append(
            f"parallelism: no thread has more than {WORKER_BORDER:g} % of the work, main {main:g} %: where that many threads "
            "share it, workers have to be counted in another way"
        )
        return True
    if workers.high == 0 or (workers.high == 1 and (main or 0.0) <= WORKER_BORDER):
        found.answer = SINGLE
        text = "no thread beside main does more than 4 % of the work" if workers.high == 0 else "one worker does it all"
        found.add(text, "workers", workers.high, 1)
        return True
    if main is None:
        return False
    is_single, is_near = main > MAIN_BORDER, abs(main - MAIN_BORDER) <= MAIN_MARGIN
    if is_single or is_near:
        found.answer = SINGLE if is_single else None
        other = (TLP_BOUND if is_single else SINGLE) if is_near else None
        found.near(other, _main_text(main), "main_instructions_pct", main, MAIN_BORDER)
    return is_single


def _takes_part(workers: ThreadRange, main: float | None) -> bool:
    """Tell whether the main thread works like a worker: it does no less than their mean, but for what balanced ones differ.

    So it is with parallel streams, whose pool has one thread less than there are cores, as the caller works too.
    """
    if main is None or main <= WORKER_BORDER:
        return False
    return main >= (100 - main) / workers.high * (1 - BALANCED / 100)


def _are_few(found: ClassFinding, workers: ThreadRange, main: float | None, cores: int) -> bool:
    """Tell whether there are fewer threads at work than a node has cores."""
    takes_part = _takes_part(workers, main)
    low, high = workers.low + takes_part, workers.high + takes_part
    working = "1 thread works" if high == 1 else f"{ThreadRange(low, high).text} threads work"
    text = f"{working}, a node has {counted(cores, 'core')}"
    if takes_part:
        text += f" (main, with {main:g} % of the work, is one of them)"
    is_few = high < cores
    if is_few:
        found.answer = TLP_BOUND
        found.causes.append(FEW_WORKERS)
        found.add(text, "workers", high, cores)
    else:
        is_near = low < cores or (takes_part and workers.high < cores)
        found.near(TLP_BOUND if is_near else None, text, "workers", high, cores)
    return is_few


def _by_balance(found: ClassFinding, program: ProgramFigures, workers: ThreadRange, cores: int) -> None:
    """Tell balanced workers from imbalanced ones, and from one that does most of the work."""
    columns = (
        ("imbalance_instructions_pct", "instructions"),
        ("imbalance_cycles_pct", "cycles"),
        (CPU_TIME, "CPU time"),
    )
    known = ((name, words, program.number(name)) for name, words in columns)
    metric, what, percent = next((each for each in known if each[2] is not None), (*columns[0], None))
    if percent is None:
        found.undetermined.append(
            f"parallelism: {IMBALANCED}, {EMBARRASSING} or {PARALLEL}; the imbalance of the workers' instructions is not known"
        )
        return
    text = f"imbalance of {what} {percent:g} %, balanced is up to {BALANCED:g} %"
    is_near = near_border(percent, BALANCED)
    if percent <= BALANCED:
        found.answer = PARALLEL
        found.near(IMBALANCED if is_near else None, text, metric, percent, BALANCED)
        return
    if is_near:
        found.near(PARALLEL, text, metric, percent, BALANCED)
    else:
        found.add(text, metric, percent, BALANCED)
    each = workers_of(program)
    if _one_dominates(found, percent, workers, each):
        return
    if _is_outlier_of(found, each, cores) if each else _may_hide_balance(found, percent, workers, cores):
        return
    found.answer = IMBALANCED
    found.undetermined.append(IN_TIME)


def _other_imbalances(found: ClassFinding, program: ProgramFigures) -> None:
    """Note the imbalances that the class does not go by: where they differ, workers' instructions take unlike time, or memory."""
    for name, what in (("imbalance_cycles_pct", "cycles"), ("imbalance_object_accesses_pct", "accesses to objects")):
        percent = program.number(name)
        if percent is not None and all(each.metric != name for each in found.evidence):
            found.add(f"imbalance of {what} {percent:g} %", name, percent)


def largest_share(percent: float, workers: float) -> float:
    """Return what one of so many workers can do at most of their work, by equation 6.1."""
    return min(1.0, (1 + percent / 100 * math.sqrt(workers - 1)) / workers)


def _one_dominates(found: ClassFinding, percent: float, workers: ThreadRange, each: tuple[WorkerShare, ...]) -> bool:
    """Tell whether one worker does most of the work, or may do it where totals alone are known."""
    share = each[0].share if each else largest_share(percent, workers.high)
    does = f"{each[0].name} does" if each else "one of them does at most"
    text = f"of {workers.text} workers' work {does} {100 * share:.0f} %"
    is_extreme = percent > EXTREME and share > MAJORITY
    is_near = near_border(share, MAJORITY) and percent * NEAR >= EXTREME
    found.near(
        (IMBALANCED if is_extreme else EMBARRASSING) if is_near else None,
        text,
        "largest_share_of_one_worker",
        share,
        MAJORITY,
    )
    if is_extreme:
        found.answer = EMBARRASSING
        found.causes.append(ONE_WORKER)
    return is_extreme


def _may_hide_balance(found: ClassFinding, percent: float, workers: ThreadRange, cores: int) -> bool:
    """Tell whether totals allow that the workers are balanced, but for one, or each crew in itself."""
    return _is_outlier(found, percent, workers, cores) or _are_crews(found, percent, workers, cores)


def _is_outlier_of(found: ClassFinding, each: tuple[WorkerShare, ...], cores: int) -> bool:
    """Tell whether recorded workers are balanced, and fill the node, without one that has another role."""
    if len(each) - 1 < max(cores, FEWEST_EQUAL):
        return False
    for one, rest in ((each[0], each[1:]), (each[-1], each[:-1])):
        left = 100 * (imbalance([worker.share for worker in rest]) or 0.0)
        # The work is that of the equal ones, and the program does not name this one as it names them.
        if left <= BALANCED and one.share <= 1 - MAJORITY and not _has_role_of(one, rest):
            found.answer = PARALLEL
            found.causes.append(OUTLIER)
            text = (
                f"without {one.name}, which does {100 * one.share:.1f} % of their work, the imbalance is {left:.1f} %"
            )
            found.near(IMBALANCED if near_border(left, BALANCED) else None, text, OF_THE_REST, left, BALANCED)
            return True
    return False


def _has_role_of(one: WorkerShare, rest: Sequence[WorkerShare]) -> bool:
    """Return whether a worker is named as others are but for its number: then it has more work, and not another role.

    Names that the JVM gives to threads without one tell nothing.
    """
    role = _NUMBER.sub("", one.name)
    return role not in _NO_ROLE and any(_NUMBER.sub("", each.name) == role for each in rest)


def _is_outlier(found: ClassFinding, percent: float, workers: ThreadRange, cores: int) -> bool:
    """Tell whether one worker that does next to nothing, beside equal ones that fill the node, explains all imbalance."""
    count = workers.high
    if workers.low != count or count - 1 < cores:
        return False
    share = (1 - percent / 100 * math.sqrt(count - 1)) / count
    if not -_ROUNDING <= share <= WORKER_BORDER / 100:
        return False
    found.answer = PARALLEL
    found.causes.append(OUTLIER)
    text = (
        f"{count - 1:g} equal workers and one with {100 * max(share, 0.0):.1f} % of the work, no worker by the rule of "
        f"{WORKER_BORDER:g} %, have this imbalance"
    )
    found.near(IMBALANCED, text, "share_of_the_outlier", max(share, 0.0), WORKER_BORDER / 100)
    found.undetermined.append("whether all workers but one are equal: totals allow it, figures by thread would show it")
    return True


def _are_crews(found: ClassFinding, percent: float, workers: ThreadRange, cores: int) -> bool:
    """Tell whether the workers can be crews as large as the node, one after another, each balanced in itself."""
    count = workers.high
    crews = count / cores
    if workers.low != count or crews < FEWEST_CREWS or count % cores or percent / 100 > math.sqrt(crews - 1):
        return False
    found.answer = PARALLEL
    found.causes.append(SEVERAL)
    text = f"{count:g} workers, in every run, are {crews:g} crews of {cores}: workloads one after another that differ can have it"
    found.near(IMBALANCED, text, "crews", crews, FEWEST_CREWS)
    found.undetermined.append(
        f"whether the {count:g} workers are crews one after another, and each is balanced: figures by phase would show it"
    )
    return True


def _serial_main(found: ClassFinding, workers: ThreadRange, main: float | None) -> None:
    """Note a main thread that does far more than a worker: if the workers wait for it, that is a serial phase."""
    if main is None or main <= WORKER_BORDER:
        return
    times = main / ((100 - main) / workers.high) if main < 100 else math.inf
    if times >= SERIAL_MAIN:
        found.causes.append(SERIAL)
        found.add(
            f"main does {main:g} % of the work, {times:.1f} times as much as a worker", "main_instructions_pct", main
        )
        found.undetermined.append(WHILE_MAIN_WORKS)
