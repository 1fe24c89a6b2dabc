"""The speedup stack at N threads: the speedup and the loss to each limit, which add up to N.

Question   what the threads' time is lost to, as shares of the parallel program's run time: a stack that can be read off.
Method     Sartor, Du Bois, Eyerman and Eeckhout, ISPASS 2017 (after Eyerman et al., ISPASS 2012): the parallel program has N
           threads for T_P each; a component is the thread time lost to something over T_P, the base is T_S / T_P. What the
           sequential program loses to the same thing is no loss of the parallel one, so it is taken off.
Exact      the components add up to N: sum = (T_S + N T_P - T_S) / T_P. A component may be below 0: the parallel program then
           loses less to it than the sequential one (as with their "positive interference"). A wait that is not known is no
           component: its time is in `waiting`.
Against    possible speedups (`speedup_model`): those say what a fix would bring, this says what is lost; losses add up,
           gains do not.
"""

from __future__ import annotations

from headway.analyses.speedups.equations import Number, ratio
from headway.analyses.speedups.model import LIMITS, Model
from headway.analyses.speedups.parts import ABSENT, BUSY, WAITS, RegionPart, Sums, value_or_zero

SPEEDUP = "speedup"


def stack(model: Model) -> dict[str, Number]:
    """Return the height of each limit and of the base, `speedup`; they sum to the number of threads. Empty if T_P is 0."""
    time = model.time()
    if not time:
        return {}
    losses: dict[str, Number] = {}
    for part in model.parts:
        for limit, loss in _losses(model, part).items():
            losses[limit] = losses.get(limit, 0) + loss
    components = {SPEEDUP: ratio(model.sequential_time, time)}
    return components | {limit: ratio(losses[limit], time) for limit in LIMITS if limit in losses}


def _losses(model: Model, part: RegionPart) -> dict[str, Number]:
    """Return the thread time that a part loses to each limit, less what the sequential program loses to it there."""
    sequential = model.sequential.get(part.name, ABSENT)
    parallel = model.parallel.get(part.name, ABSENT)
    losses = _inflation(part)
    unknown: Number = 0
    for limit, made_of in WAITS.items():
        loss = sum(value_or_zero(parallel[name]) - value_or_zero(sequential[name]) for name in made_of)
        if any(all(program[name] is None for name in made_of) for program in (sequential, parallel)):
            unknown += loss  # what only one program knows counts as the other's does: as waiting
        else:
            losses[limit] = loss
    idle_threads = 1 if part.is_rest else model.threads
    idle = part.idle * idle_threads - (value_or_zero(sequential["wall_ns"]) - _busy(sequential))
    losses["waiting"] = value_or_zero(parallel["io_ns"]) - value_or_zero(sequential["io_ns"]) + idle + unknown
    if part.is_rest:
        losses["parallel_fraction"] = (part.busiest + part.idle) * model.threads - part.busy - part.idle
    else:
        losses["load_balance"] = part.busiest * model.threads - part.busy
    return losses


def _inflation(part: RegionPart) -> dict[str, Number]:
    """Split work - sequential work over the limits that make it up, one after another."""
    losses: dict[str, Number] = {}
    reached = part.sequential_work
    for index, (limit, efficiency) in enumerate(part.inflation.items()):
        is_last = index == len(part.inflation) - 1
        after = part.work if is_last or not efficiency else ratio(reached, efficiency)
        losses[limit] = after - reached
        reached = after
        if not efficiency:
            break
    return losses


def _busy(sums: Sums) -> Number:
    return sum(value_or_zero(sums[name]) for name in BUSY)
