"""The classes of a recorded program: what kind of parallelism it has, and what a recording leaves open.

Method     the rules of the classes (parallelism.py, dependencies.py), over what each thread of the program did: instructions
           where those of all threads are known, else CPU time. Of recorded iterations the last one, as published; else the whole
           recording, or the window that is asked for.
Assumes    the program has as many threads on another machine. Pools that go by the number of CPUs have not: where a node has more
           CPUs than the program had, a lack of workers decides nothing.
           Data dependencies are those of the whole recording, where who wrote last is recorded (recorded_sharing.py).
Checked    tests/unit/test_numa_recorded.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.by_thread import counts_by_thread
from headway.analyses.counters.iterations import between_marks, marks_of, windows_of
from headway.analyses.counters.layout import layout
from headway.analyses.counters.metrics import imbalance
from headway.analyses.counters.slices import slices
from headway.analyses.numa.advice import advice_of, guideline_of
from headway.analyses.numa.columns import ThreadRange
from headway.analyses.numa.dependencies import dependencies_of, locality_of
from headway.analyses.numa.nodes import Nodes, cores_per_node
from headway.analyses.numa.parallelism import note_serial_phase, parallelism_of
from headway.analyses.numa.recorded_figures import CPU_TIME, RecordedFigures, WorkerShare
from headway.analyses.numa.recorded_sharing import recorded_dependencies
from headway.analyses.numa.types import (
    DEPENDENCIES,
    IMBALANCED,
    LOCALITY,
    PARALLEL,
    PARALLELISM,
    SINGLE,
    TLP_BOUND,
    ClassFinding,
    NumaAnswer,
    ProgramClass,
)
from headway.analyses.scheduling.available_cores import known_cpus
from headway.analyses.scheduling.parallelism import parallelism
from headway.analyses.scheduling.thread_work import WORKER_SHARE, ProgramWork, program_work
from headway.errors import HeadwayError, Notice
from headway.errors.plurals import counted
from headway.model.iterations import METHOD

if TYPE_CHECKING:
    from headway.store import Recording

Window = tuple[int, int] | None
_DEFAULT_NODES = Nodes(2)
_APP = ("app",)
MOST_SERIAL = 0.5
"""Of the time in which any thread is active: with one alone for longer, a serial phase dominates (as of scala-stm-bench7)."""
_MOST_UNCOUNTED, _MOST_UNCOUNTED_OF_ALL = 0.01, 0.0001
"""Of a thread's CPU time, and of the program's: its instructions are known where less ran without counts, by either."""


def classify_recording(
    recording: Recording, window: Window = None, cores: int | None = None, nodes: Nodes | None = None
) -> NumaAnswer:
    """Return the classes of a recorded program on nodes of `cores` cores; None: as many as a node of its machine has.

    Where nothing says how many those are, no class of parallelism is determined.
    Raises HeadwayError HW400 where nothing says when threads ran.
    """
    machine = nodes or _DEFAULT_NODES
    notices: list[Notice] = []
    if cores is None:
        cores, why = _cores_of_a_node(recording, nodes)
        notices += [] if cores is None else [Notice.of("HW712", cores=counted(cores, "core"), why=why)]
    if window is None:
        window, told = _last_iteration(recording)
        notices += told
    work = program_work(recording, window)
    figures = figures_of(recording, work, window)
    found = _parallelism(figures, work, cores)
    _add_times(found, recording, window, cores, machine)
    _withdraw_what_cores_may_change(found, recording, cores)
    _withdraw_several_programs(found, work)
    dependencies = recorded_dependencies(recording, work.pid, found.answer)
    program = _program(figures, found, dependencies)
    return NumaAnswer(cores, (program,), None, (*recording.notices, *notices))


def _cores_of_a_node(recording: Recording, nodes: Nodes | None) -> tuple[int | None, str]:
    """Return how many cores a node is taken to have, and why so many; None where nothing says."""
    known, online = cores_per_node(recording, nodes), len(recording.manifest.host.cpus_online)
    if known is not None:
        whose = "of --nodes has" if nodes is not None and nodes.sets else "of the machine of the recording has"
        return known, f"as the largest {whose}"
    return online or None, "as the machine of the recording has in all: its nodes are not known"


def _parallelism(figures: RecordedFigures, work: ProgramWork, cores: int | None) -> ClassFinding:
    """Return the class; nothing is determined where no thread of a JVM worked, none is known as such, or the node is not."""
    if work.knows_java_threads and cores is not None:
        return parallelism_of(figures, cores)
    found = ClassFinding(PARALLELISM)
    if not work.threads:
        found.undetermined.append("parallelism: no thread of the program ran")
    elif work.knows_java_threads:
        found.undetermined.append("parallelism: how many cores a node has is not recorded (--cores-per-node says it)")
    else:
        found.undetermined.append("parallelism: which thread is main is not known, as recorded without headway's agent")
    return found


def _program(figures: RecordedFigures, found: ClassFinding, dependencies: ClassFinding) -> ProgramClass:
    """Return all three answers; of programs of one thread there are no dependencies, and locality is open but for these."""
    locality = ClassFinding(LOCALITY)
    if found.answer == SINGLE:
        dependencies, locality = dependencies_of(figures, SINGLE), locality_of(figures, SINGLE, None)
    else:
        locality.undetermined.append(
            "locality: one recording does not show what two nodes change; two do (headway numa ONE.headway TWO.headway)"
        )
    guideline = guideline_of(found.answer)
    return ProgramClass(
        application=figures.name,
        suite=None,
        findings={PARALLELISM: found, DEPENDENCIES: dependencies, LOCALITY: locality},
        guideline=guideline,
        advice=advice_of(guideline, dependencies.answer, locality.answer, [*found.causes, *dependencies.causes]),
        second_node=None,
        memory={},
        memory_intensive=None,
    )


def _last_iteration(recording: Recording) -> tuple[Window, tuple[Notice, ...]]:
    """Return the last recorded iteration; None where there are none, which is a notice where that weakens the class.

    Whoever attaches to a program leaves its start out: nothing is said of a warm-up then.
    """
    of_all = () if recording.manifest.attached else (Notice.of("HW713"),)
    marks = marks_of(recording, None)
    if not recording.manifest.extra.get("iterations") or marks.by == METHOD:
        return None, of_all
    try:
        rows = windows_of(recording, between_marks(recording, marks), marks, None, 1)
    except HeadwayError as error:
        return None, (error.notice,)
    key = rows.keys[0] if rows.keys else None
    return (None, of_all) if key is None else ((int(key["from_ns"]), int(key["to_ns"])), ())


def figures_of(recording: Recording, work: ProgramWork, window: Window) -> RecordedFigures:
    """Return the columns of table 6.1 for a recording: work of main, of auxiliary threads, workers, their imbalance."""
    amounts = {each.thread_id: float(each.cpu_ns) for each in work.threads}
    instructions = _instructions(recording, work, window)
    column = CPU_TIME if instructions is None else "imbalance_instructions_pct"
    amounts = instructions or amounts
    total = sum(amounts.values())
    main, workers, others = 0.0, [], []
    for each in work.threads:
        amount = amounts[each.thread_id]
        if each.role == "main":
            main += amount
        elif amount > WORKER_SHARE * total:
            workers.append((each.name, amount))
        else:
            others.append(amount)
    workers.sort(key=lambda each: -each[1])
    of_workers = sum(amount for _, amount in workers)
    found = RecordedFigures(Path(recording.path).stem)
    found.workers = tuple(WorkerShare(name, amount / of_workers) for name, amount in workers)
    found.values["workers"] = ThreadRange(len(workers), len(workers))
    if total:
        found.values["main_instructions_pct"] = round(100 * main / total, 1)
        found.values["auxiliary_instructions_pct"] = round(100 * sum(others) / total, 1)
    uneven = imbalance([amount for _, amount in workers])
    if uneven is not None:
        found.values[column] = round(100 * uneven, 1)
    return found


def _instructions(recording: Recording, work: ProgramWork, window: Window) -> dict[int, float] | None:
    """Return the instructions of each thread that worked; None where they are not known of all of them."""
    counts = counts_by_thread(recording, "instructions", window)
    found = {each.thread_id: counts.get(each.thread_id) for each in work.threads}
    known = {
        thread: figure.value for thread, figure in found.items() if figure is not None and figure.value is not None
    }
    if not known or len(known) < len(found):
        return None
    in_doubt = [thread for thread in known if counts[thread].high is None]
    return None if in_doubt and _lack_counts(recording, in_doubt, work, window) else known


def _lack_counts(recording: Recording, threads: list[int], work: ProgramWork, window: Window) -> bool:
    """Return whether any of some threads ran without counts for so long that its instructions are not known."""
    begin, end = (recording.window_ns[0] + each for each in window or (0, recording.wall_ns))
    ran, lacked = np.zeros(max(threads) + 1), np.zeros(max(threads) + 1)
    for each in slices(recording, layout(recording), begin, end, threads):
        inside = np.minimum(each.start_ns + each.running_ns, end) - np.maximum(each.start_ns, begin)
        lacks = ~each.is_known if each.stolen is None else ~each.is_known | each.stolen.any(axis=1)
        ran += np.bincount(each.thread_id, inside, len(ran))
        lacked += np.bincount(each.thread_id, inside * lacks, len(ran))
    return bool(np.any(lacked > np.maximum(_MOST_UNCOUNTED * ran, _MOST_UNCOUNTED_OF_ALL * work.cpu_ns)))


def _add_times(found: ClassFinding, recording: Recording, window: Window, cores: int | None, nodes: Nodes) -> None:
    """Add how many threads were active, and for how long: what there is to run on one node, and on more."""
    times = parallelism(recording, window, _APP)
    available = known_cpus(recording)
    used = (
        "" if available is None else f", which is {times.mean_running / available:.0%} of {counted(available, 'core')}"
    )
    text = f"on average {times.mean_active:.2f} threads were active and {times.mean_running:.2f} ran{used}"
    found.add(text, "mean_active", times.mean_active)
    busy = 1 - times.idle_share
    alone = times.serial_share / busy if busy > 0 else 0.0
    is_serial = alone > MOST_SERIAL and found.answer in (IMBALANCED, PARALLEL)
    text = f"for {alone:.0%} of the time with any active thread it was one alone"
    found.near(IMBALANCED if is_serial else None, text, "share_of_time_serial", alone, MOST_SERIAL)
    if is_serial:
        note_serial_phase(found)
    if nodes.count > 1 and cores is not None:
        beyond = sum(level.ns for level in times.levels if level.threads > cores) / max(1, times.wall_ns)
        text = f"for {beyond:.0%} of the time more threads were active than the {counted(cores, 'core')} of a node"
        found.add(text, "share_of_time_beyond_a_node", beyond)
    elif nodes.count == 1:
        found.undetermined.append("one node: there is no second one that could help")


def _withdraw_what_cores_may_change(found: ClassFinding, recording: Recording, cores: int | None) -> None:
    """Take back a lack of workers where the program had fewer cores than a node has: its pools may go by their number."""
    had = known_cpus(recording)
    if had is None or cores is None or had >= cores:
        return
    if found.answer == TLP_BOUND or (found.answer == SINGLE and had == 1):
        found.undetermined.append(
            f"parallelism: {found.answer} on the {counted(had, 'core')} that it had; pools that go by the number of cores "
            f"have more workers on a node of {cores}: record it there, or with so many threads"
        )
        found.answer = None
        found.causes.clear()


def _withdraw_several_programs(found: ClassFinding, work: ProgramWork) -> None:
    """Take back a class where several processes worked: classes are of one program."""
    share = work.share_of_other_processes
    if share > WORKER_SHARE:
        found.undetermined.append(
            f"parallelism: {share:.0%} of the work is of other processes than {work.pid}: record one alone (headway record --pid)"
        )
        found.answer = None
        found.causes.clear()
