"""The class of data dependencies of a recorded program, from its accesses by the thread that wrote to the object last.

Question   how much of all accesses to objects reads, and writes, what another thread wrote last.
Method     sums of tables `access` and `access_writer` (docs/decisions/0018-last-writer.md), as shares of all accesses; the
           borders are those of published programs (`dependencies`).
Assumes    accesses of an unknown last writer are shared as often as the others of their kind. A class that does not hold both if
           none and if all of them are shared is not determined. Nor is one that the accesses of code that is not counted
           (the JDK's own, which published classes have in them) may change, nor one of which the accesses of a thread that works
           alone, as at the start, may be the cause (`uncounted_code`). Threads that take turns on few cores find more of what
           they wrote themselves than threads that run at once: what several of them write may then all be shared.
Wrong when the little that the JDK's own code writes is what other threads then read most.
Checked    tests/unit/analyses/numa/test_numa_sharing.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.analyses.numa.dependencies import dependencies_of
from headway.analyses.numa.tables import ProgramFigures
from headway.analyses.numa.types import DEPENDENCIES, ClassFinding
from headway.analyses.numa.uncounted_code import (
    MOST_TIMES,
    Shares,
    Uncounted,
    most_uncounted,
    serial_accesses,
    with_uncounted,
    without_serial,
)
from headway.model.object_owners import LAST_WRITER, OWNER_TABLES, has_unseen_writes, numbers_used_up

if TYPE_CHECKING:
    from headway.store import Recording

_KINDS = {"reads": ("tuple_reads", "array_reads"), "writes": ("tuple_writes", "array_writes")}
_COLUMNS = ("shared_read_pct", "shared_write_pct")
_REMEDY = "headway record --sample cpu:1ms --objects accesses --owner last-writer -o NAME.headway -- CMD"
_AT_ONCE = 0.9
"""The least share of the time ready to run in which threads do run; below it they take turns on too few cores."""

_PER_TURN = 0.1
"""Shared writes for each time that a thread got a core: with fewer, code is not what threads write by turns."""


@dataclass(frozen=True, slots=True)
class Together:
    """How far threads worked at the same time: the part of the work that one did while it alone was active, of each thread the
    part of its CPU time in which it was alone, and for which part of the time in which threads could run they ran.
    """

    serial_work: float = 0.0
    alone: Mapping[int, float] = field(default_factory=dict)
    ran: float = 1.0


def recorded_dependencies(
    recording: Recording, pid: int | None, parallelism: str | None, together: Together | None = None
) -> ClassFinding:
    """Return the class of the JVM with this pid; not determined where too little is known of who wrote last."""
    if not recording.has(OWNER_TABLES[LAST_WRITER][0]):
        return _open(f"which thread wrote last what another one reads is not recorded ({_REMEDY})")
    if pid is None:
        return _open("no thread of the program ran")
    shares = _shares(recording, pid)
    if shares is None:
        return _open(f"of no object that process {pid} accessed is it known which thread wrote to it last")
    least, likely, most = shares
    found = _class(likely, parallelism)
    if {_class(each, parallelism).answer for each in (least, most)} != {found.answer}:
        return _open(
            f"of the accesses {least[0]:.3g} to {most[0]:.3g} % read and {least[1]:.3g} to {most[1]:.3g} % write what another "
            "thread wrote last; of the rest the last writer is unknown"
        )
    if (reason := _may_differ(recording, pid, parallelism, likely, together or Together())) is not None:
        return _open(reason)
    for text in _left_out(recording, pid):
        found.add(text)
    return found


def _may_differ(
    recording: Recording, pid: int, parallelism: str | None, shares: Shares, together: Together
) -> str | None:
    """Return why the class of the counted accesses may not be the program's, and what would tell; None where it is."""
    answer = _class(shares, parallelism).answer
    counted = f"of the code in scope it is {answer} ({shares[0]:.3g} % shared reads, {shares[1]:.3g} % shared writes)"
    serial = min(together.serial_work, serial_accesses(recording, pid, together.alone))
    steady = _class(without_serial(shares, serial), parallelism).answer
    if steady != answer:
        return (
            f"{counted}, but up to {serial:.0%} of the accesses are of threads while they were active alone, as at a start: "
            f"without these it may be {steady}; give the program more to do in the part that counts ({_REMEDY})"
        )
    at_once = _at_once(recording, pid, shares)
    if together.ran < _AT_ONCE and (other := _class(at_once, parallelism).answer) != answer:
        return (
            f"{counted}, but its threads had cores for {together.ran:.0%} of the time in which they could run, and took turns: "
            f"at once they may share up to {at_once[0]:.3g} and {at_once[1]:.3g} %, which is {other}; record it with no more "
            f"threads than there are cores, and nothing beside it ({_REMEDY})"
        )
    uncounted = most_uncounted(recording, pid)
    if uncounted is None:
        return f"{counted}, but published classes count the JDK's own code, too: how much that does is not recorded ({_REMEDY})"
    if may_be := _classes_with(shares, uncounted.most_accesses, parallelism) - {answer}:
        return (
            f"{counted}, but {uncounted.share:.1%} of the workers' samples are in code that is not counted, as the JDK's own "
            f"({uncounted.samples:,} samples: it may do {uncounted.most_accesses:.0%} of the accesses): with that it may be "
            f"{' or '.join(sorted(may_be))}; {_what_would_tell(shares, uncounted, parallelism)}"
        )
    return None


def _classes_with(shares: Shares, part: float, parallelism: str | None) -> set[str]:
    """Return which classes a program may have with uncounted accesses that are `part` of all."""
    return {str(_class(each, parallelism).answer) for each in with_uncounted(shares, part)}


def _what_would_tell(shares: Shares, uncounted: Uncounted, parallelism: str | None) -> str:
    """Return how many more samples would determine a class, if they are as these; or whether more may, or none would."""
    times = 2
    while times <= MOST_TIMES:
        if len(_classes_with(shares, uncounted.most_accesses_with(times), parallelism)) == 1:
            return f"{times} times as many samples would tell: give the program {times} times as much to do ({_REMEDY})"
        times *= 2
    if len(_classes_with(shares, uncounted.least_accesses, parallelism)) == 1:
        return f"a longer recording may tell: so few samples do not show how little that code does ({_REMEDY})"
    return "no longer recording would tell: headway does not count that code"


def _at_once(recording: Recording, pid: int, shares: Shares) -> Shares:
    """Return the most that threads may share where they run at once: all accesses of code in which they write by turns.

    Whoever writes by turns what others write does so once a turn at least: code with far fewer shared writes than
    there were turns is none of that.
    """
    by_code = f"""SELECT class_name FROM {OWNER_TABLES[LAST_WRITER][0]} WHERE pid = {pid} GROUP BY class_name
      HAVING sum(tuple_writes_shared + array_writes_shared) > {_PER_TURN * _turns(recording, pid)}"""
    reads, writes = (
        _sum(recording, "access", columns, pid, f"AND class_name IN ({by_code})") for columns in _KINDS.values()
    )
    total = max(1, sum(_sum(recording, "access", columns, pid) for columns in _KINDS.values()))
    all_writes = max(shares[1], 100 * writes / total)
    return min(shares[0] + 100 * reads / total, 100 - all_writes), all_writes


def _turns(recording: Recording, pid: int) -> int:
    """Return how many times threads that accessed objects were put on a core: that many turns they had."""
    text = """SELECT count(*) FROM slice WHERE running_ns > 0 AND thread_id IN (
      SELECT thread_id FROM access WHERE pid = $1 AND tuple_writes + array_writes > 0)"""
    return int(recording.query(text, (pid,)).fetchall()[0][0]) if recording.has("slice") else 0


def _left_out(recording: Recording, pid: int) -> list[str]:
    """Return what the last-writer rule leaves out, as `headway objects` says it in full: HW816, HW817 and HW818."""
    found = [
        "accesses are those of the code in scope in the whole recording, not of the JDK's own code; what that and native code "
        "write (collections, atomics) changes no last writer (HW816)"
    ]
    for jvm in (recording.manifest.extra.get("accesses") or {}).get("jvms") or ():
        if jvm.get("pid") != pid:
            continue
        if (numbers := numbers_used_up(jvm)) is not None:
            found.append(
                f"of objects after the first {numbers:,} no last writer is known: shares are those of older ones (HW817)"
            )
        if has_unseen_writes(jvm):
            found.append("code ran in scope whose writes change no last writer: more may be shared (HW818)")
    return found


def _open(reason: str) -> ClassFinding:
    found = ClassFinding(DEPENDENCIES)
    found.undetermined.append(f"data dependencies: {reason}")
    return found


def _class(shares: Shares, parallelism: str | None) -> ClassFinding:
    figures = ProgramFigures("", values=dict(zip(_COLUMNS, shares, strict=True)))
    return dependencies_of(figures, parallelism)


def _shares(recording: Recording, pid: int) -> tuple[Shares, Shares, Shares] | None:
    """Return the shares of reads and writes to objects that another thread wrote last, in percent: least, likely and most.

    They differ by the accesses whose last writer is unknown: counted as not shared, as often as the others, and all as shared.
    None without accesses.
    """
    all_of = [_sum(recording, "access", columns, pid) for columns in _KINDS.values()]
    own, others = (
        [
            _sum(recording, OWNER_TABLES[LAST_WRITER][0], [f"{each}_{whose}" for each in columns], pid)
            for columns in _KINDS.values()
        ]
        for whose in ("local", "shared")
    )
    total = sum(all_of)
    if not total or not sum(own) + sum(others):
        return None
    least: list[float] = []
    likely: list[float] = []
    most: list[float] = []
    for count, local, shared in zip(all_of, own, others, strict=True):
        unknown = max(0, count - local - shared)
        likely_unknown = unknown * shared / (local + shared) if local + shared else 0
        for found, of_unknown in ((least, 0), (likely, likely_unknown), (most, unknown)):
            found.append(round(100 * (shared + of_unknown) / total, 2))
    return (least[0], least[1]), (likely[0], likely[1]), (most[0], most[1])


def _sum(recording: Recording, table: str, columns: Sequence[str], pid: int, further: str = "") -> int:
    total = f"COALESCE(sum({' + '.join(f'{each}::HUGEINT' for each in columns)}), 0)"
    text = f"SELECT {total} FROM {table} WHERE pid = {pid} {further}"
    (found,) = recording.query(text).fetchall()[0]
    return int(found)
