"""How much of a program's work each of its threads does: the main thread, workers, and the others.

Question   who of the program's threads works, and how much of all their work is each one's.
Method     Papadakis, PhD thesis, Manchester 2022, section 7.3.3: a thread with more than 4 % of the work is a worker. Work is CPU
           time; of a part of a recording, that of the slices in it. Threads of the JVM (collectors, compilers) do no work of
           the program.
Assumes    the main thread is the first Java thread of the JVM whose threads work most.
Wrong when virtual threads do the work: it is their carriers' then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from headway.analyses.scheduling.activity import has_scheduling, no_scheduling
from headway.model.kinds import PROGRAM
from headway.model.names import is_main_thread

if TYPE_CHECKING:
    from headway.store import Recording

Role: TypeAlias = Literal["main", "worker", "auxiliary"]
WORKER_SHARE = 0.04
"""Of all work: a thread that does more is a worker."""

_OF_ALL = "SELECT thread_id, running_ns AS ns FROM thread"
_OF_PART = """SELECT thread_id,
  sum(least(start_ns + running_ns, $2) - greatest(start_ns, $1))::BIGINT AS ns
  FROM slice WHERE running_ns > 0 AND start_ns < $2 AND start_ns + running_ns > $1 GROUP BY thread_id"""


@dataclass(frozen=True, slots=True)
class ThreadWork:
    """One thread of the program, and its CPU time."""

    thread_id: int
    pid: int
    name: str
    cpu_ns: int
    role: Role


@dataclass(frozen=True, slots=True)
class ProgramWork:
    """All threads of the program that ran, the busiest first. `pid`: the process whose threads work most, None without any.

    `knows_java_threads`: its threads have their numbers of the JVM, so that the main one is known.
    """

    threads: tuple[ThreadWork, ...]
    pid: int | None
    knows_java_threads: bool = True

    @property
    def cpu_ns(self) -> int:
        """Return the CPU time of all of them."""
        return sum(each.cpu_ns for each in self.threads)

    @property
    def workers(self) -> tuple[ThreadWork, ...]:
        """Return the threads that do more than 4 % of the work, the main thread left out."""
        return tuple(each for each in self.threads if each.role == "worker")

    @property
    def share_of_other_processes(self) -> float:
        """Return which part of the work is not of `pid`."""
        return sum(each.cpu_ns for each in self.threads if each.pid != self.pid) / max(1, self.cpu_ns)

    def share(self, role: Role) -> float:
        """Return which part of the work threads of a role do."""
        return sum(each.cpu_ns for each in self.threads if each.role == role) / max(1, self.cpu_ns)


def program_work(recording: Recording, window: tuple[int, int] | None = None) -> ProgramWork:
    """Return how much each thread of the program worked, in a window (ns from the start) or in all.

    Raises HeadwayError HW400 where nothing says when threads ran.
    """
    if not has_scheduling(recording):
        raise no_scheduling(recording)
    origin = recording.window_ns[0]
    times, facts = (_OF_ALL, []) if window is None else (_OF_PART, [origin + each for each in window])
    kinds = ", ".join(f"'{kind}'" for kind in PROGRAM)
    rows = recording.query(
        f"""SELECT t.thread_id, t.pid, t.name, t.java_id, w.ns FROM thread t JOIN ({times}) w USING (thread_id)
          WHERE t.kind IN ({kinds}) AND w.ns > 0 ORDER BY w.ns DESC, t.thread_id""",
        facts,
    ).fetchall()
    by_process: dict[int, int] = {}
    for _, pid, _, _, ns in rows:
        by_process[pid] = by_process.get(pid, 0) + ns
    busiest = max(by_process, key=by_process.__getitem__, default=None)
    total = sum(by_process.values())

    def role(pid: int, name: str, java_id: int | None, ns: int) -> Role:
        if pid == busiest and is_main_thread(java_id, name):
            return "main"
        return "worker" if ns > WORKER_SHARE * total else "auxiliary"

    threads = (
        ThreadWork(thread, pid, name, ns, role(pid, name, java_id, ns)) for thread, pid, name, java_id, ns in rows
    )
    is_known = any(java_id is not None for _, pid, _, java_id, _ in rows if pid == busiest)
    return ProgramWork(tuple(threads), busiest, is_known)
