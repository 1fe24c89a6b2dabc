"""The efficiency metrics of the POP methodology (Performance Optimisation and Productivity), computed from the model.

Question   how well N threads are used, in the terms of the POP Centre of Excellence (pop-coe.eu, "Performance metrics").
Method     overall = parallel * computation; parallel = useful CPU time / (N * wall) = load balance * communication, where
           load balance = mean / maximum over the threads of their CPU time, and communication is the rest: waiting for locks,
           for each other, for a CPU, and spinning. Computation scaling = instructions * IPC * frequency, each sequential
           over parallel; POP's reference is a run with few processes, here it is the sequential program.
Assumes    the N threads are those that work. More threads than N may share the work (a main thread beside the workers): the
           busiest one then counts as having had the mean, at least, for balance is never better than 1.
Wrong when threads do not live as long as the run (pools that grow): maximum and mean are then over unlike threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.analyses.regions.primitives import RunPrimitives
from headway.analyses.speedups.equations import ratio
from headway.analyses.speedups.model import Model
from headway.analyses.speedups.parts import value_or_zero, without_spinning
from headway.analyses.speedups.types import Pop


def pop(model: Model, runs: Sequence[RunPrimitives]) -> Pop | None:
    """Return the POP efficiencies of a model pooled from `runs`; None without parallel time or work."""
    time = model.time()
    work = sum(part.work for part in model.parts)
    sequential_work = sum(part.sequential_work for part in model.parts)
    if not time or not work:
        return None
    busiest = [run.busiest_cpu_ns for run in runs]
    parallel = ratio(work, model.threads * time)
    balance = None
    if busiest and all(busiest):
        cpu = sum(value_or_zero(sums["cpu_ns"]) for sums in model.parallel.values())
        most = max(model.threads * sum(value_or_zero(each) for each in busiest), cpu * len(busiest))
        balance = ratio(cpu * len(busiest), most)
    instructions = ipc = frequency = None
    if model.counters and all(part.is_counted for part in model.parts):
        _, i_s, cc_s = _sum(model, sequential=True)
        _, i_p, cc_p = _sum(model, sequential=False)
        if min(i_s, cc_s, i_p, cc_p) > 0:
            instructions, ipc = float(ratio(i_s, i_p)), float(ratio(cc_s * i_p, i_s * cc_p))
            frequency = float(ratio(sequential_work * cc_p, cc_s * work))
    return Pop(
        overall=float(parallel * ratio(sequential_work, work)),
        parallel=float(parallel),
        load_balance=None if balance is None else float(balance),
        communication=float(ratio(parallel, balance)) if balance else None,
        computation=float(ratio(sequential_work, work)),
        instructions=instructions,
        ipc=ipc,
        frequency=frequency,
    )


def _sum(model: Model, *, sequential: bool) -> tuple[float, float, float]:
    program = model.sequential if sequential else model.parallel
    rows = [without_spinning(sums) for sums in program.values()]
    return (float(sum(r[0] for r in rows)), float(sum(r[1] for r in rows)), float(sum(r[2] for r in rows)))
