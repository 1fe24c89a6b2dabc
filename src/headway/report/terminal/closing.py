"""What remains on the screen after `run`: how many cores of how many, what cost most and where, and what to do or ask next.

Three sentences in plain words, made of the account of the cores; the tables above them say the same with all figures.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from headway.analyses.common import causes
from headway.analyses.common.causes import TITLES
from headway.analyses.common.units import core_time, duration, percent, significant
from headway.analyses.lost_cores.text import (
    SMALL,
    cores_text,
    idle_sentence,
    is_worth_a_line,
    others_sentence,
    place_text,
)
from headway.errors.plurals import counted
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from headway.analyses.lost_cores.types import Account, Loss
    from headway.analyses.overview import Finding, Overview
    from headway.analyses.scheduling.recording_cost import RecordingCost
    from headway.analyses.scheduling.threads import Threads

LEAST_LOSS = 0.01
"""A loss is worth a sentence when it is this part of the core time,"""
LEAST_GAIN = 0.05
"""or when the program would likely be this much faster without it."""
LEAST_TIMED = 20
"""One call of a lock hook in 64 is timed: the number of those varies by its root, so fewer give no estimate of all."""
CROWDED = 0.5
"""Others kept a program from the cores when they had this part of them, and its threads were ready for this part of the time."""
BUSY = 0.7
"""A program that used this part of the cores is a matter of its code, not of its waiting."""
_NEXT = {
    **dict.fromkeys(
        (causes.LOCK, causes.CONDITION, causes.STARVED, causes.FULL, causes.CARRIERS),
        "headway locks {name}   (who held the lock, and what that thread did)",
    ),
    **dict.fromkeys(
        (causes.SERIAL, causes.IMBALANCE, causes.FEW, causes.OTHERS_WAIT),
        "headway critical-path {name}   (which threads and methods the run time consists of)",
    ),
    **dict.fromkeys(
        (causes.SLEEP, causes.IO, causes.BLOCKED),
        "headway top {name} --event off-cpu   (the code that slept or was in I/O)",
    ),
    **dict.fromkeys(
        (causes.GC, causes.SAFEPOINT),
        "headway run --sample cpu,alloc -- CMD   (of its recording headway top --event alloc says what allocates)",
    ),
    **dict.fromkeys(
        (causes.SCHEDULER, causes.QUOTA), "headway threads {name}   (which threads waited for a core, and how long)"
    ),
    **dict.fromkeys(
        (causes.START, causes.END, causes.JIT),
        "headway why {name}   (this run was short: in a longer one the JVM's start and end weigh less)",
    ),
}


def closing(found: Overview, name: str, cut: str = "") -> list[str]:
    """Return the three sentences; fewer where the recording has no account of the cores.

    `name`: of the recording; `cut`: what ended it before its program ended by itself, '' for a whole run.
    """
    if found.why is None:
        return []  # the findings say why nothing is known of the cores
    account = found.why.account
    first = _first(account)
    locks = next((each for each in found.findings if each.id == "locks"), None)
    kept = _kept_from_cores(found.threads, account, locks) if first is None and not idle_sentence(account) else ""
    following = _next(account, first, is_locks=locks is not None and not kept)
    return [
        _cores(account, cut),
        kept or _cost(account, first, locks),
        f"Next: {following.format(name=shlex.quote(name))}",
    ]


def cost_line(cost: RecordingCost) -> str:
    """Return what recording took of the program itself, by the agent's own clock; '' where nothing was recorded in it."""
    hooks = ""
    if cost.hooks_ns is not None and cost.timed < LEAST_TIMED:
        few = f"only {cost.timed} of their calls {'was' if cost.timed == 1 else 'were'} timed"
        few = few if cost.timed else "none of their calls was timed"
        hooks = f"what the lock hooks took is not known: {few}, as they were called seldom"
    elif cost.hooks_ns is not None:
        share = f", {percent(cost.hooks_ns / cost.program_ns)} of what it used" if cost.program_ns else ""
        timed = f"{counted(cost.timed, 'call')} timed"
        took = f"about {duration(cost.hooks_ns)} of its CPU time in the lock hooks ({timed}{share})"
        hooks = f"recording cost the program {took}"
    if not hooks and cost.samples is None:
        return ""
    sentences = [hooks] if hooks else []
    if cost.samples is not None:
        samples = counted(cost.samples, "CPU sample")
        sentences.append(f"{samples} interrupted the program's threads, at a cost that is not measured")
    sentences += [f"headway's own threads took {duration(cost.own_ns)} beside it"] if cost.own_ns else []
    return "; ".join(sentences)


def _first(account: Account) -> Loss | None:
    """Return the loss that comes first, if it is one to speak of; where its gain is not known, the largest."""
    first = next((loss for loss in account.lost if loss.share >= LEAST_LOSS or _is_worth(loss)), None)
    is_unknown = first is not None and first.likely_speedup is None and first.unknown_gain is None
    return max(account.lost, key=_core_ns) if is_unknown else first


def _core_ns(loss: Loss) -> int:
    return loss.core_ns


def _is_worth(loss: Loss) -> bool:
    """Return whether much would likely be gained without a loss, however little it lost, and the program can do without it."""
    return loss.ordering_speedup >= 1 + LEAST_GAIN and loss.cause not in causes.OF_THE_JVM


def _used(account: Account) -> int:
    return sum(ns for kind, ns in account.used_ns.items() if kind != "headway")


def _cores(account: Account, cut: str) -> str:
    wall = account.wall_ns or 1
    text = f"The program used {significant(_used(account) / wall)} of {cores_text(account.cores)}"
    text += f" on average, for {duration(account.wall_ns)}{f', {cut}' if cut else ''}"
    taken = ((account.stolen_ns or 0, "the host took"), (account.other_processes_ns or 0, "other processes had"))
    others = [f"{who} {significant(ns / wall)}" for ns, who in taken if ns >= 0.05 * account.core_ns]
    return f"{text}; {' and '.join(others)}." if others else f"{text}."


def _cost(account: Account, first: Loss | None, locks: Finding | None) -> str:
    if first is None and (idle := idle_sentence(account)):
        return idle
    if first is None and locks is not None:
        return _waited(locks)
    if first is None:
        return _little(account)
    place = place_text(first.place)
    at = f" at {place}" if first.place.method else f": {place}" if place else ""
    is_largest = first.share >= LEAST_LOSS and first.core_ns == max(map(_core_ns, account.lost))
    if first.unknown_gain is not None:
        most = "Most was lost to" if is_largest else "Much time went to"
        lost = f"{core_time(first.core_ns)} of core time ({percent(first.share)})"
        unknown = f"how much faster it would be without it is not known ({first.unknown_gain.id})"
        return f"{most} {TITLES[first.cause]}{at}: {lost}; {unknown}{_doubts(first)}."
    is_first = (first.likely_speedup or 1.0) >= max(each.likely_speedup or 1.0 for each in account.lost)
    gained = "Most would be gained without" if is_first else "Much would be gained without"
    most = "Most was lost to" if is_largest else gained
    text = f"{most} {TITLES[first.cause]}{at}: "
    lost = f"{core_time(first.core_ns)} of core time"
    faster = f"the program would likely be {significant(first.likely_speedup or 1.0)} times as fast"
    if first.share < LEAST_LOSS:  # so little core time alone would not explain the gain
        text += f"{faster}, although hardly a core stood idle for it ({lost})"
    else:
        is_faster = (first.likely_speedup or 1.0) >= 1 + LEAST_LOSS
        text += f"{lost} ({percent(first.share)}){f'; without it {faster}' if is_faster else ''}"
    return f"{text}{_doubts(first)}."


def _doubts(loss: Loss) -> str:
    return f" (in doubt: {', '.join(loss.doubts)})" if loss.doubts else ""


def _kept_from_cores(threads: Threads, account: Account, locks: Finding | None) -> str:
    """Return for how long threads waited for cores that others had, where that is more than all else; '' elsewhere.

    More threads than cores wait for each other, whatever others do: as long as their number explains, all added up.
    """
    rows = [each for each in threads.rows if each.kind in PROGRAM]
    ready_ns, ran_ns = sum(each.runnable_ns or 0 for each in rows), sum(each.running_ns or 0 for each in rows)
    waited_ns = 0 if locks is None else locks.figures.get("parking_thread_time_ns") or 0
    others_ns = account.other_processes_ns or 0
    own_ns = min(max(round(ran_ns + ready_ns - account.core_ns), 0), ready_ns)
    least_ns = max(ran_ns, waited_ns, CROWDED * account.wall_ns)
    if others_ns < CROWDED * account.core_ns or ready_ns - own_ns <= least_ns:
        return ""
    own = f" ({duration(own_ns)} of it for each other)" if own_ns else ""
    return (
        "Other programs kept it from the cores: its threads were ready to run, and waited for one, for "
        f"{duration(ready_ns)} in all{own}, and ran for {duration(ran_ns)}."
    )


def _little(account: Account) -> str:
    """Return what a program lost that lost little: nothing only where `why` lists nothing, either."""
    if _is_busy(account):
        return "Nothing of its own kept it from using them."
    listed = [loss for loss in account.lost if is_worth_a_line(loss)]
    if not listed:
        return "It lost nothing to speak of."
    most = max(listed, key=_core_ns)
    if most.share < SMALL:
        return "Nothing stands out in what it lost."
    return f"It lost little, most of it to {TITLES[most.cause]}: {core_time(most.core_ns)} of core time ({percent(most.share)})."


def _waited(locks: Finding) -> str:
    """Return for what lock threads waited although hardly a core stood idle, with what did stand idle for it."""
    text = f"{locks.text[0].lower()}{locks.text[1:]}"
    lost_ns = locks.figures["lost_core_ns"]
    if lost_ns is None:  # how many cores stood idle for it is not known
        return locks.text
    if lost_ns <= 0:
        return f"No core stood idle for it, but {text}"
    return f"Almost no core stood idle for it ({core_time(lost_ns)} of core time), but {text}"


def _is_busy(account: Account) -> bool:
    return _used(account) >= BUSY * account.core_ns


def _next(account: Account, first: Loss | None, *, is_locks: bool) -> str:
    question = _NEXT[causes.LOCK] if first is None and is_locks else _question(account, first)
    if others_sentence(account):
        return f"stop what else runs on this machine and record again; or as it is: {question}"
    return question


def _question(account: Account, first: Loss | None) -> str:
    if first is None or (_is_busy(account) and first.ordering_speedup < 1.1):
        return "headway top {name}   (the methods that the CPU time is spent in)"
    return _NEXT.get(first.cause, "headway why {name}   (every cause, with its evidence)")
