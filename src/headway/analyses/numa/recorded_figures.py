"""What the classes of a recorded program go by: as of tables, and what totals don't tell, the work of each worker by itself."""

from __future__ import annotations

from dataclasses import dataclass

from headway.analyses.numa.tables import ProgramFigures

CPU_TIME = "imbalance_cpu_time_pct"
"""Imbalance of the workers' CPU time: what there is where instructions are not counted; no published table has it."""


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """The name of a worker, and its share of all workers' work (0..1)."""

    name: str
    share: float


@dataclass(slots=True)
class RecordedFigures(ProgramFigures):
    """Figures of one recorded program, the workers that do most of the work first."""

    workers: tuple[WorkerShare, ...] = ()


@dataclass(slots=True)
class CrewFigures(RecordedFigures):
    """Figures of workers that work at the same time, one of several crews. Times: ns from the start of the recording.

    `work`: what each of them did, instructions or ns.
    """

    from_ns: int = 0
    to_ns: int = 0
    work: tuple[float, ...] = ()


def workers_of(program: ProgramFigures) -> tuple[WorkerShare, ...]:
    """Return what each worker did; nothing where only totals are known."""
    return program.workers if isinstance(program, RecordedFigures) else ()
