"""Places a running program: finds its nodes, takes the right to place it, and runs the daemon until one of them ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.analyses.placement.algorithm_one import AlgorithmOne
from headway.analyses.placement.few_workers import FewWorkers, remote_share_of_all
from headway.analyses.placement.paired import PairedSpells
from headway.analyses.placement.types import Policy
from headway.errors import HeadwayError, Notice
from headway.placement.affinities import Affinities, Cpus, affinity_of, threads_of, usual_affinity
from headway.placement.daemon import Daemon, Ended
from headway.placement.mover import Mover
from headway.placement.nodes import allowed_by_cpuset, declared_nodes, home_node, machine_nodes, usable
from headway.placement.pages import memory_by_node, resident_bytes
from headway.placement.progress import CpuTime, ProgramProgress
from headway.placement.readings import MeasuredInterval, Readings
from headway.placement.single_daemon import placing
from headway.placement.types import NodeChoice, Record
from headway.record.machine.host import format_cpu_list, online_cpus
from headway.record.target_process.processes import Process, tree
from headway.record.target_process.rights import rights_of


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for. `nodes`: sets of CPUs that are declared as nodes, empty: those of the machine.

    `moves_memory`: threads that stay on a node get their memory there; of nodes that are declared nobody knows the memory.
    """

    policy: str = "headway"
    nodes: tuple[frozenset[int], ...] = ()
    is_dry: bool = False
    duration_s: float | None = None
    moves_memory: bool = False


def place(
    process: Process,
    request: Request,
    measure: Callable[[], ProgramProgress],
    emit: Callable[[Record], None],
    wait: Callable[[float], Ended],
) -> Notice | None:
    """Place a program until it ends or `wait` says so. Return a notice where there is nothing to do, and do nothing then.

    `measure`: gives what tells how much the program does. Raises HeadwayError.
    """
    with placing(process) as lock:
        found = places_of(process, request.nodes)
        if isinstance(found, Notice):
            return found
        progress = _progress(request, found, measure)
        try:
            _place(process, request, found, progress, lock, emit, wait)
        finally:
            progress.close()
    return None


def _progress(request: Request, places: NodeChoice, measure: Callable[[], ProgramProgress]) -> ProgramProgress:
    """Return what tells how much the program does, or that nothing does where its workers and memory tell where to keep it."""
    try:
        return measure()
    except HeadwayError as error:
        if error.notice.id != "HW723" or request.policy != "headway" or places.remote_share is None:
            raise
        return CpuTime()


def _place(
    process: Process,
    request: Request,
    places: NodeChoice,
    progress: ProgramProgress,
    lock: int,
    emit: Callable[[Record], None],
    wait: Callable[[float], Ended],
) -> None:
    mover = None
    if not request.is_dry:
        try:
            rights = rights_of(process.pid)
            if not process.is_alive:  # else they may be those of whoever has its number by now
                raise ProcessLookupError(process.pid)
            mover = Mover(_affinities(process, places), rights, (lock,), places.home.number)
        except (ProcessLookupError, FileNotFoundError):
            raise HeadwayError("HW004", pid=process.pid, reason="it has ended") from None
        except OSError as error:
            raise HeadwayError("HW736", pid=process.pid, reason=error.strerror or str(error)) from error
    excluded = frozenset({os.getpid()} | ({mover.pid} if mover is not None else set()))
    cores = len(places.home.cpus)
    by_time = request.policy == "headway"
    daemon = Daemon(
        places,
        _policy(request.policy, cores) if not isinstance(progress, CpuTime) else _by_workers(places, cores),
        Readings(process, progress, excluded),
        mover,
        MeasuredInterval.by_time if by_time else MeasuredInterval.by_cycles,
        emit,
        wait,
        request.duration_s,
        request.moves_memory and not places.is_declared,
        not isinstance(progress, CpuTime),
    )
    daemon.run()


def _policy(name: str, cores: int) -> Policy:
    if name == "headway":
        return PairedSpells(cores)
    return AlgorithmOne(cores, back_off=name == "paper-back-off")


def _by_workers(places: NodeChoice, cores: int) -> Policy:
    """Return the policy for a program of which nothing tells how fast it is."""
    share, cpus = places.remote_share, {node.number: len(node.cpus) for node in usable(machine_nodes(), places.base)}
    on_all = remote_share_of_all(cpus, places.memory_by_node or {})
    assert share is not None  # as is asked for before
    assert on_all is not None
    return FewWorkers(cores, share, on_all)


def _affinities(process: Process, places: NodeChoice) -> Affinities:
    return Affinities(process, places.base, places.home.cpus, places.undo_to, lambda: allowed_by_cpuset(process.pid))


def places_of(process: Process, declared: Sequence[frozenset[int]]) -> NodeChoice | Notice:
    """Return where a program may run; a notice where there is one place only. Raises HeadwayError HW004 or HW727."""
    online = frozenset(online_cpus())
    if missing := frozenset().union(*declared) - online:
        raise HeadwayError("HW727", cpus=format_cpu_list(set(missing)), online=format_cpu_list(set(online)))
    base = usual_affinity(process.pid)
    if base is None:
        raise HeadwayError("HW004", pid=process.pid, reason="it has ended")
    nodes = usable(declared_nodes(declared) if declared else machine_nodes(), base)
    if len(nodes) < 2:
        cpus = base & online
        return Notice.of("HW720", pid=process.pid, cpus=format_cpu_list(set(base)), next=_try_out(process.pid, cpus))
    memory = None if declared else memory_of(process.pid)
    home = home_node(nodes, resident_bytes(process.pid), _chosen_by(process.pid, base), memory)
    if home is None:
        return Notice.of("HW728", pid=process.pid)
    allowed = allowed_by_cpuset(process.pid)
    # Where nothing but its cpuset narrows the program, it gets what that allows later on, too.
    undo_to = frozenset(range(max(*online, *base) + 1)) | online if base == allowed else base
    return NodeChoice(base, home, len(nodes), undo_to, bool(declared), memory)


def _chosen_by(pid: int, base: Cpus) -> set[Cpus]:
    """Return the affinities that threads of a process have other than the usual one."""
    found = {affinity_of(tid) for tid in threads_of(pid)}
    return {each for each in found if each is not None and each != base}


def _try_out(pid: int, cpus: Cpus) -> str:
    """Return the command that declares a program's CPUs as nodes; of one CPU that which says where it may run."""
    first, *rest = sorted(cpus) or [0]
    if not rest:
        return f"taskset -acp {pid}   (the CPUs that its threads may use)"
    return f"headway place --pid {pid} --nodes {first}/{format_cpu_list(set(rest))}   (sets of CPUs as nodes, to try it out)"


def memory_of(pid: int) -> dict[int, int] | None:
    """Return how much memory of a process, with those below it, lies on each node; None where that is not known."""
    return memory_by_node((each, resident_bytes(each)) for each in tree(pid) if each != os.getpid())
