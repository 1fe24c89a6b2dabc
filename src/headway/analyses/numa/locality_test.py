"""Does a program lose locality on two memory nodes: the same program, recorded on one node and spread over two.

Method     Papadakis, PhD thesis, Manchester 2022, section 6.4: the change of the last-level cache's miss rates, with as many
           cores on both, so that nothing else differs. Beside them wall and CPU time of the two runs: with as many cores, CPU
           time for the same work grows by what memory costs more.
Assumes    both runs do the same work: the same command, from begin to end. Where threads ran is what slices say.
Wrong when one run differs from another anyway: each is one run, and nothing here says how much runs differ.
Unknown    Locality, where miss rates are not recorded on both, or cores differ, and more than a few loads are remote on two
           nodes: times alone don't tell it from anything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.totals.thread_totals import has_thread_totals, thread_totals
from headway.analyses.numa.advice import advice_of
from headway.analyses.numa.dependencies import locality_of
from headway.analyses.numa.nodes import Nodes, shares_by_node
from headway.analyses.numa.published import second_node_of
from headway.analyses.numa.recorded import classify_recording
from headway.analyses.numa.same_program import difference_of_runs
from headway.analyses.numa.tables import ProgramFigures
from headway.analyses.numa.types import (
    DEPENDENCIES,
    LOCALITY,
    NO,
    PARALLELISM,
    YES,
    ClassFinding,
    LocalityTest,
    NodeRun,
    NumaAnswer,
    joined,
    near_border,
)
from headway.analyses.scheduling.thread_work import program_work
from headway.errors import HeadwayError
from headway.model.counter_ladder import plain_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.store import Recording

_RATES = (("read", "LLC-load-misses", "LLC-loads"), ("write", "LLC-store-misses", "LLC-stores"))
_REMOTE = ("remote", "node-load-misses", "node-loads")
"""Name, numerator and denominator of the share of loads that another node's memory served (section 6.4.1, figure 6.4)."""
REMOTE = 10.0
"""Percent: a program with fewer remote loads on two nodes keeps its threads and their memory together."""


def locality_test(one: Recording, two: Recording, cores: int | None = None, nodes: Nodes | None = None) -> NumaAnswer:
    """Return the classes of a program by its recording on one node, with locality by the one on two.

    Raises HeadwayError HW710 where the two are not whole runs of the same program, HW711 where the first did not run on one node,
    or the second not on several; HW400 where nothing says when threads ran.
    """
    reason = difference_of_runs(one, two)
    if reason:
        raise HeadwayError("HW710", path=one.path, other=two.path, reason=reason)
    runs = (_run(one, nodes), _run(two, nodes))
    _refuse_other_nodes(*runs)
    answer = classify_recording(one, None, cores, nodes)
    test = LocalityTest(*runs, runs[0].wall_ns / runs[1].wall_ns, runs[1].cpu_ns / runs[0].cpu_ns)
    (program,) = answer.programs
    found = program.findings[LOCALITY]
    if program.answer(PARALLELISM) != "single-threaded":
        found = _locality(test, program.application, program.answer(PARALLELISM), program.answer(DEPENDENCIES))
    causes = [*program.root_causes, *found.causes]
    advice = advice_of(program.guideline, program.answer(DEPENDENCIES), found.answer, causes, program.known)
    classes = (program.answer(PARALLELISM), program.answer(DEPENDENCIES), found.answer)
    findings = {**program.findings, LOCALITY: found}
    program = replace(program, findings=findings, advice=advice, second_node=second_node_of("", classes))
    notices = tuple(dict.fromkeys((*answer.notices, *two.notices)))
    return replace(answer, programs=(program,), locality_test=test, notices=notices)


def _locality(test: LocalityTest, name: str, parallelism: str | None, dependencies: str | None) -> ClassFinding:
    """Return what the two runs say of locality: the rule of tables where both miss rates are there, with as many cores."""
    figures = ProgramFigures(name)
    for run, where in ((test.one, "single"), (test.two, "dual")):
        figures.values |= {
            f"{kind}_{where}_node_pct": run.miss_pct[kind] for kind, *_ in _RATES if kind in run.miss_pct
        }
    if test.has_as_many_cores and all(kind in run.miss_pct for run in (test.one, test.two) for kind, *_ in _RATES):
        found = locality_of(figures, parallelism, dependencies)
    else:
        found = ClassFinding(LOCALITY)
        lacks = "the miss rates of the last-level cache, of loads and of stores, are not recorded in both"
        if not (test.one.cores and test.two.cores):
            lacks = "how many cores the program had is not recorded in both"
        elif not test.has_as_many_cores:
            lacks = f"{test.one.cores} cores beside {test.two.cores}: what more cores give can't be told from what memory takes"
        _by_remote_loads(found, test.two, lacks)
    found.add(f"on two nodes it is {test.speedup:.2f} times as fast as on one", "speed_on_two_nodes", test.speedup)
    grown = f"CPU time is {test.cpu_growth:.2f} times that on one node"
    found.add(f"{grown}; of one run each, how much runs differ is not known", "cpu_time_on_two_nodes", test.cpu_growth)
    return found


def _by_remote_loads(found: ClassFinding, two: NodeRun, lacks: str) -> None:
    """Determine locality where hardly any loads are remote on two nodes; many do not tell what they come from."""
    remote = two.miss_pct.get(_REMOTE[0])
    if remote is None or remote > REMOTE:
        found.undetermined.append(f"locality: {lacks}")
    if remote is not None:
        is_few = remote <= REMOTE
        found.answer = NO if is_few else None
        other = (YES if is_few else NO) if near_border(remote, REMOTE) else None
        text = (
            f"on two nodes {remote:g} % of the loads from memory are from the other node's, up to {REMOTE:g} % are few"
        )
        found.near(other, text, "remote_loads_pct", remote, REMOTE)


def _run(recording: Recording, nodes: Nodes | None) -> NodeRun:
    """Return what a recording says of where a program ran, and how long it took."""
    work = program_work(recording)
    where = shares_by_node(recording, nodes)
    return NodeRun(
        str(recording.path),
        tuple(sorted(node for node in where if node is not None)),
        None not in where,
        len(recording.manifest.affinity) or recording.manifest.recorded_cores or 0,
        max(1, recording.wall_ns),
        max(1, work.cpu_ns),
        _miss_rates(recording),
    )


def _miss_rates(recording: Recording) -> Mapping[str, float]:
    """Return the miss rates of the last-level cache in percent, of loads and of stores, where they were counted."""
    try:
        is_whole = has_thread_totals(recording)  # without eBPF
        counted = thread_totals(recording, "kind") if is_whole else counters(recording, by="kind")
    except HeadwayError:  # HW109: nothing was counted
        return {}
    found = {}
    for group in counted.groups:  # what takes turns with others was counted at other times
        names = {plain_name(event): event for event in group.events}
        for kind, misses, accesses in (*_RATES, _REMOTE):
            if kind not in found and misses in names and accesses in names:
                above, below = (counted.total.counts[names[each]].value for each in (misses, accesses))
                if above is not None and below:
                    found[kind] = round(100 * above / below, 2)
    return found


def _refuse_other_nodes(one: NodeRun, two: NodeRun) -> None:
    """Raise HW711 where the first did not run on one node, or the second not on several."""
    for run, is_right, needed in (
        (one, len(one.nodes) == 1, "one node in the first recording"),
        (two, len(two.nodes) > 1, "two nodes in the second recording"),
    ):
        where = f"node {joined(run.nodes)}" if run.nodes else "no CPU that is known"
        if not run.is_known:
            raise HeadwayError("HW711", path=run.path, nodes="CPUs whose node is not known", needed=needed)
        if not is_right:
            raise HeadwayError("HW711", path=run.path, nodes=where, needed=needed)
