"""The classes of a recorded program: what kind of parallelism it has, and what a recording leaves open.

Method     the rules of the classes (parallelism.py, dependencies.py), over what each thread of the program did: instructions
           where those of all threads are known, else CPU time. Of recorded iterations the last one, as published; else the whole
           recording, or the window that is asked for.
Assumes    the program has as many threads on another machine. Pools that go by the number of CPUs have not: where a node has more
           CPUs than the program had, a lack of workers decides nothing.
           Data dependencies are those of the whole recording, where who wrote last is recorded (recorded_sharing.py).
Checked    tests/unit/analyses/numa/test_numa_recorded.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headway.analyses.counters.course.iterations import between_marks, marks_of, windows_of
from headway.analyses.numa.advice import advice_of, guideline_of
from headway.analyses.numa.crews import WorkOverTime, work_over_time
from headway.analyses.numa.dependencies import dependencies_of, locality_of
from headway.analyses.numa.nodes import Nodes, cores_per_node
from headway.analyses.numa.published import second_node_of
from headway.analyses.numa.recorded_crews import class_by_crews, crew_figures, note_cause
from headway.analyses.numa.recorded_figures import RecordedFigures
from headway.analyses.numa.recorded_places import LOCKS, places_of
from headway.analyses.numa.recorded_sharing import Together, recorded_dependencies
from headway.analyses.numa.recorded_work import RecordedWork, Window, recorded_work
from headway.analyses.numa.types import (
    DEPENDENCIES,
    IMBALANCED,
    LOCALITY,
    PARALLEL,
    PARALLELISM,
    SERIAL,
    SINGLE,
    TLP_BOUND,
    ClassFinding,
    Known,
    NumaAnswer,
    PhaseClass,
    ProgramClass,
)
from headway.analyses.scheduling.available_cores import known_cpus
from headway.analyses.scheduling.parallelism import parallelism
from headway.analyses.scheduling.thread_work import WORKER_SHARE, ProgramWork, program_work
from headway.errors import HeadwayError, Notice
from headway.errors.plurals import counted
from headway.model.iterations import METHOD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.store import Recording

_DEFAULT_NODES = Nodes(2)
_APP = ("app",)
MOST_SERIAL = 0.5
"""Of the time in which any thread is active: with one alone for longer, a serial phase dominates (as of scala-stm-bench7)."""


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
    did = recorded_work(recording, work, window)
    over_time = work_over_time(recording, work, window)
    found, phases = _parallelism(did, over_time, work, cores)
    _add_times(found, recording, window, cores, machine)
    _withdraw_what_cores_may_change(found, recording, cores)
    _withdraw_several_programs(found, work)
    of_all = over_time if window is None else work_over_time(recording, program_work(recording), None)
    dependencies = _dependencies(recording, did.figures, work, found, of_all)
    causes = [*found.causes, *dependencies.causes]
    places = places_of(recording, window, work, over_time, did.workers, found, causes)
    program = _program(did.figures, found, dependencies, _known(recording, work.pid, places))
    program = replace(program, phases=phases if found.answer is not None else ())
    return NumaAnswer(cores, (program,), None, (*recording.notices, *notices))


def _cores_of_a_node(recording: Recording, nodes: Nodes | None) -> tuple[int | None, str]:
    """Return how many cores a node is taken to have, and why so many; None where nothing says."""
    known, online = cores_per_node(recording, nodes), len(recording.manifest.host.cpus_online)
    if known is not None:
        whose = "of --nodes has" if nodes is not None and nodes.sets else "of the machine of the recording has"
        return known, f"as the largest {whose}"
    return online or None, "as the machine of the recording has in all: its nodes are not known"


def _parallelism(
    did: RecordedWork, over_time: WorkOverTime, work: ProgramWork, cores: int | None
) -> tuple[ClassFinding, tuple[PhaseClass, ...]]:
    """Return the class, and that of each crew where there are several.

    Nothing is determined where no thread of a JVM worked, none is known as such, or the node is not.
    """
    if work.knows_java_threads and cores is not None:
        names = {each.thread_id: each.name for each in work.threads}
        crews = crew_figures(over_time, did.amounts, names, did.column)
        found, phases = class_by_crews(did.figures, crews, did.column, cores)
        workers = [(each, names[each]) for crew in over_time.crews() for each in crew.threads] if crews else did.workers
        note_cause(found, over_time, workers)
        return found, phases
    found = ClassFinding(PARALLELISM)
    if not work.threads:
        found.undetermined.append("parallelism: no thread of the program ran")
    elif work.knows_java_threads:
        found.undetermined.append("parallelism: how many cores a node has is not recorded (--cores-per-node says it)")
    else:
        found.undetermined.append("parallelism: which thread is main is not known, as recorded without headway's agent")
    return found, ()


def _dependencies(
    recording: Recording, figures: RecordedFigures, work: ProgramWork, found: ClassFinding, over_time: WorkOverTime
) -> ClassFinding:
    """Return the class of data dependencies; of programs of one thread it is not asked, whatever is recorded.

    `over_time`: of the whole recording, as accesses are.
    """
    if found.answer == SINGLE:
        return dependencies_of(figures, SINGLE)
    times = parallelism(recording, None, _APP)
    alone = times.serial_share / times.mean_active if times.mean_active > 0 else 0.0
    ran = times.mean_running / times.mean_active if times.mean_active > 0 else 1.0
    together = Together(min(1.0, alone), over_time.alone_by_thread(), ran)
    return recorded_dependencies(recording, work.pid, found.answer, together)


def _known(recording: Recording, pid: int | None, places: Mapping[str, str]) -> Known:
    """Return what advice depends on beside the classes: where causes are, the kernel's balancing, and the JVM's collector."""
    keys = "key IN ('gc', 'flags')"
    said = dict(recording.query(f"SELECT key, value FROM jvm WHERE {keys} AND pid = $1", (pid or 0,)).fetchall())
    balances = recording.manifest.host.extra.get("numa_balancing")
    return Known(
        places=places,
        lock=places.get(LOCKS, ""),
        balances=balances if isinstance(balances, bool) else None,
        gc=str(said.get("gc") or ""),
        has_numa=any(word.endswith("+UseNUMA") for word in str(said.get("flags") or "").split()),
    )


def _program(figures: RecordedFigures, found: ClassFinding, dependencies: ClassFinding, known: Known) -> ProgramClass:
    """Return all three answers; locality is open, but for programs of one thread."""
    locality = ClassFinding(LOCALITY)
    if found.answer == SINGLE:
        locality = locality_of(figures, SINGLE, None)
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
        advice=advice_of(guideline, dependencies.answer, locality.answer, [*found.causes, *dependencies.causes], known),
        second_node=second_node_of("", (found.answer, dependencies.answer, locality.answer)),
        memory={},
        memory_intensive=None,
        known=known,
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
    if is_serial and SERIAL not in found.causes:
        found.causes.append(SERIAL)
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
