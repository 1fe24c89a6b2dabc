"""Accounts from recordings that lack records: merged causes, sums only, and the notices that say so.

Question   what is still true of lost cores without locks, samples or privileges, from an imported file, after losses?
Method     what can't be told apart is merged and named so, never shared out by guess. With thread states the account is
           whole; causes are coarser: waiting_for_threads (a thread woke it, whatever it waited for), blocked (not even
           that), unknown. Without thread states (mode agent, imports) there are sums only: the CPU time of the process by
           the kernel, or the mean of the JVM's CPU load readings. They say what was used and what was lost; the cause of
           all of it is unknown.
Assumes    readings of the CPU load are spread evenly over the recording.
Wrong when the JVM's load was read a few times only: each reading is the mean since the one before, but the first and the
           last stretch have none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headway.analyses.common import causes
from headway.analyses.common.notices import recorded_notices
from headway.analyses.common.units import duration, percent
from headway.analyses.lost_cores.attach_doubts import ATTACHED
from headway.analyses.lost_cores.crowded import CROWDED
from headway.analyses.lost_cores.text import is_worth_a_line
from headway.analyses.lost_cores.types import TOGETHER, Account, Loss, Place, Why
from headway.analyses.scheduling.activity import checked_window, no_scheduling, wall_ns
from headway.analyses.scheduling.available_cores import known_cpus
from headway.analyses.waits.tables.blocks import has_locks
from headway.errors import HeadwayError, Notice
from headway.errors.message import NOTE
from headway.store.tables import TABLES

if TYPE_CHECKING:
    from headway.store import Recording

WORTH_SAYING = 0.01
"""Merged causes get their notice when they are this part of the core time."""
MILLIONTHS = 1_000_000
TOLERANCE = 0.001
"""An account that is off by more of its core time is marked."""
CALL = "blocked_in"
"""Column of the table slice that tells sleep from I/O from waiting for another thread."""


# --- with thread states ------------------------------------------------------------------------------------------------


def notices(recording: Recording, account: Account) -> tuple[Notice, ...]:
    """Return what makes a recording's account coarser, each with the command that would refine it."""
    found = []
    if recording.mode == "perf-switch":
        found.append(Notice.of("HW481", mode=recording.mode))
    merged = _share(account, causes.OTHERS_WAIT, causes.BLOCKED)
    if not has_locks(recording) and merged > WORTH_SAYING:
        found.append(Notice.of("HW480", share=percent(merged)))
    if not has_locks(recording) and (waits := _not_replayed(account)) > WORTH_SAYING:
        found.append(Notice.of("HW499", share=percent(waits)))
    if not recording.has("sample") and _share(account, causes.SERIAL, causes.LOCK, causes.IMBALANCE) > WORTH_SAYING:
        found.append(Notice.of("HW483"))
    if merged > WORTH_SAYING and recording.mode == "ebpf" and _lacks_calls(recording):
        what, merged_as = "the system calls that threads blocked in", "sleep and I/O count as blocked, but for parks"
        found.append(Notice.of("HW485", path=recording.path, what=what, merged=merged_as))
    marked = [loss for loss in account.lost if ATTACHED in loss.doubts]
    if marked:
        share = percent(sum(loss.core_ns for loss in marked) / (account.core_ns or 1))
        notice = Notice.of(ATTACHED, path=recording.path, losses=len(marked), share=share)
        found.append(notice if any(map(is_worth_a_line, marked)) else replace(notice, severity=NOTE))
    if any(CROWDED in loss.doubts for loss in account.lost):
        own_ns = sum(ns for kind, ns in account.used_ns.items() if kind != "headway")
        others, own = (percent(ns / (account.core_ns or 1)) for ns in (account.other_processes_ns or 0, own_ns))
        found.append(Notice.of(CROWDED, others=others, own=own))
    losses = recording.manifest.losses
    if losses.events and _share(account, causes.UNKNOWN) > 0:
        found.append(Notice.of("HW484", spans=losses.spans, share=percent(_share(account, causes.UNKNOWN))))
    if account.invariant_error > TOLERANCE:
        found.append(Notice.of("HW489", error=account.invariant_error))
    return tuple(found)


def _lacks_calls(recording: Recording) -> bool:
    """Return whether the recording was made before the system calls of blocked threads were recorded."""
    if not any(column.name == CALL for column in TABLES["slice"].columns) or "slice" not in recording.manifest.tables:
        return False
    import pyarrow.parquet as pq

    return CALL not in pq.read_schema(recording.file("slice")).names


def _not_replayed(account: Account) -> float:
    """Return the part of the core time that was lost to waits of which only a bound is known."""
    unknown = [each for each in account.lost if each.likely_speedup is None and each.unknown_gain is None]
    waits = [each for each in unknown if each.bound_speedup is not None]
    return sum(loss.core_ns for loss in waits) / (account.core_ns or 1)


def _share(account: Account, *names: str) -> float:
    """Return the part of the core time that was lost to some causes."""
    return sum(loss.core_ns for loss in account.lost if loss.cause in names) / (account.core_ns or 1)


# --- without thread states ---------------------------------------------------------------------------------------------


def of_sums(recording: Recording, cores: int | None, window: tuple[int, int] | None, phase: int | None) -> Why:
    """Return the account of a recording without thread states: only used and lost in total.

    Raises HeadwayError HW400 or HW450 where not even that is known, or for a part of the recording; HW488 for a phase.
    """
    window, length = checked_window(recording, window), wall_ns(recording)
    if phase is not None:
        raise HeadwayError("HW488", path=recording.path, phase=phase, phases="none: they are found by thread states")
    number = cores or known_cpus(recording)
    used = _used(recording, length)
    if used is None or number is None or window != (0, length):
        raise no_scheduling(recording)
    core_ns = number * length
    used = min(used, core_ns)
    stolen, other = _taken(recording, length, used)
    stolen = None if stolen is None else min(stolen, core_ns - used)
    other = None if other is None else min(other, core_ns - used - (stolen or 0))
    lost = core_ns - used - (stolen or 0) - (other or 0)
    loss = Loss(causes.UNKNOWN, lost, lost / core_ns, Place(), None, _evidence(recording, length))
    rows = (loss,) if lost > 0 else ()
    account = Account(0, length, float(number), {TOGETHER: used}, stolen, other, rows, 0.0)
    bins = {
        f"used_{TOGETHER}": [used],
        causes.UNKNOWN: [lost],
        "stolen": [stolen or 0],
        "other_processes": [other or 0],
    }
    notice = Notice.of("HW482", path=recording.path)
    by_cause = tuple((each.cause, each.core_ns) for each in rows)
    return Why(account, by_cause, (), length, bins, recording.mode, (*recorded_notices(recording), notice))


def _used(recording: Recording, length: int) -> int | None:
    """Return the CPU time of the program and its JVM, whoever of their threads used it."""
    usage = recording.manifest.extra.get("rusage") or {}
    if usage.get("user_ns") is not None:
        return int(usage["user_ns"]) + int(usage.get("system_ns") or 0)
    imported = recording.manifest.extra.get("import") or {}
    cores_used = imported.get("cores_used") or {}
    if cores_used.get("mean") is not None:
        return round(float(cores_used["mean"]) * length)
    return None


def _taken(recording: Recording, length: int, used: int) -> tuple[int | None, int | None]:
    """Return what the host stole and what other processes used, as far as it is known."""
    manifest = recording.manifest
    if recording.mode != "import":
        stolen = sum(manifest.steal_ns.values()) if manifest.steal_ns else None
        busy = manifest.extra.get("busy_ns") or {}
        return stolen, max(0, sum(busy.values()) - used) if busy else None
    row = recording.query("SELECT avg(value) FROM counter WHERE event = 'cpu_load_machine'").fetchone()
    if row is None or row[0] is None or not manifest.recorded_cores:
        return None, None
    machine = float(row[0]) / MILLIONTHS * manifest.recorded_cores * length
    return None, max(0, round(machine) - used)


def _evidence(recording: Recording, length: int) -> tuple[str, ...]:
    """Return what else is known of the time."""
    found = []
    row = recording.query("SELECT count(*), sum(dur_ns) FROM jvm_phase WHERE kind = 'gc_pause'").fetchone()
    if row is not None and row[0]:
        share = percent(min(1.0, int(row[1]) / length))
        found.append(f"{row[0]} GC pauses took {duration(int(row[1]))} of it ({share} of the wall time)")
    row = recording.query("SELECT count(*) FILTER (NOT coalesce(is_repark, false)), sum(dur_ns) FROM block").fetchone()
    if row is not None and row[0]:
        found.append(f"threads waited {duration(int(row[1]))} in {row[0]} waits for locks, queues and timers")
    return tuple(found)
