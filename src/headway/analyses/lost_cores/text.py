"""Texts about accounts of lost cores: the sentence on where cores x wall time went, losses, names of places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.causes import TITLES
from headway.analyses.common.units import duration, percent, significant
from headway.analyses.lost_cores.types import TOGETHER
from headway.errors.plurals import counted, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.analyses.lost_cores.types import Account, Loss, Place

SMALL = 0.001
"""What is less of the core time than this is not worth a word."""
LARGE_BOUND = 1.5
"""So large a gain may be a cause that is looked for, where nothing more is known of it."""
SMALL_GAIN = 0.02
"""What would likely gain as much is worth a word, however little core time it lost: others may have used the idle cores."""
WORTH = 0.05
"""A program that was idle for less of the time is none that waits for work."""
SHOWN = 3
"""Groups of idle threads that a sentence names."""

_USERS = {
    "app": "the application",
    "gc": "GC",
    "jit": "the JIT",
    "vm": "the VM",
    "headway": "headway",
    TOGETHER: "the program",
}


def is_worth_a_line(loss: Loss) -> bool:
    """Return whether a loss is shown to people in a line of its own.

    It is for its core time, for what would likely be gained without it, or, where that is unknown, for what could be at most.
    """
    may_be_large = loss.unknown_gain is not None and (loss.bound_speedup or 1.0) >= LARGE_BOUND
    return loss.share >= SMALL or loss.ordering_speedup >= 1 + SMALL_GAIN or may_be_large


def idle_sentence(account: Account) -> str:
    """Return how much of the time the whole program waited for work from outside, and who waited; '' if hardly any."""
    if account.outside_ns < WORTH * max(account.wall_ns, 1):
        return ""
    text = f"The program waited for work from outside for {percent(account.outside_ns / account.wall_ns)} of the time"
    shown = [f"{each.name} ({each.role})" for each in account.idle[:SHOWN]]
    more = len(account.idle) - len(shown)
    who = f"{', '.join(shown)}{f' and {more} more' if more > 0 else ''}"
    return f"{text}: {who}." if shown else f"{text}."


def interval_text(loss: Loss) -> str:
    """Return between which limits a loss's likely gain lies; '' where that is not predicted, next to nothing, or at its bound."""
    if loss.likely_interval is None or (loss.likely_speedup or 1) < 1 + SMALL_GAIN:
        return ""
    low, high = (significant(each) for each in loss.likely_interval)
    return f"Without it the run would be {low} to {high} times as fast, by a replay of it" if low != high else ""


def polling_text(late_ns: int) -> str:
    """Return that a thread sleeps until others are done, and for how long it slept after that in all."""
    return (
        "It sleeps in a loop until other threads are done, and so waits for them; a join would have noticed"
        f" {duration(late_ns)} earlier in all, which is the most that is gained without sleep"
    )


def refused_gain_text(reason: str) -> str:
    """Return that nothing is known of a gain, as a replay of the run is refused for a reason (the id of a message)."""
    return f"How much faster it would be is not known: a replay of the run without it is refused ({reason})"


def others_sentence(account: Account) -> str:
    """Return whose the cores were, if not the program's: then all else is about a machine that was busy with others; else ''.

    Who has the cores while the program waits for work from outside takes nothing from it.
    """
    others = account.other_processes_ns or 0
    used = sum(account.used_ns.values())
    meanwhile = others * (1 - account.outside_ns / (account.wall_ns or 1))
    if meanwhile <= max(used, account.lost_ns, account.stolen_ns or 0):
        return ""
    total = account.core_ns or 1
    text = f"Other processes had the cores for {percent(others / total)} of the core time, the program for"
    return f"{text} {percent(used / total)}: close what else runs on the machine, and record again."


def sentence(account: Account) -> str:
    """Return the account in a sentence: how much core time there was, who used it, how much was idle and lost, in one unit."""
    cores = cores_text(account.cores)
    total = account.core_ns or 1
    unit = duration(total).rsplit(" ", 1)[1] if total < 100e9 else "s"

    def time(ns: int) -> str:
        return _in_unit(ns, unit)

    used = [
        f"{time(ns)} by {_USERS.get(kind, kind)}"
        for kind, ns in account.used_ns.items()
        if ns > SMALL * total or kind in ("app", TOGETHER)
    ]
    parts = [used[0].replace(" by ", " used by ", 1), *used[1:]] if used else []
    taken = ((account.stolen_ns, "stolen by the host"), (account.other_processes_ns, "used by other processes"))
    parts += [f"{time(ns)} {what}" for ns, what in taken if ns is not None and ns > SMALL * total]
    if account.idle_ns > SMALL * total:
        parts.append(f"{time(account.idle_ns)} ({percent(account.idle_ns / total)}) idle")
    parts.append(f"{time(account.lost_ns)} ({percent(account.lost_ns / total)}) lost")
    number, unit = time(account.core_ns).rsplit(" ", 1)
    return f"{cores} x {time(account.wall_ns)} = {number} core-{unit}: {', '.join(parts)}."


def cores_text(cores: float) -> str:
    """Return a number of cores: 1 core, 2 cores, 1.50 cores."""
    number = f"{cores:.0f}" if float(cores).is_integer() else significant(cores)
    return f"{number} {'core' if cores == 1 else plural('core')}"


def _in_unit(ns: int, unit: str) -> str:
    """Format a time in a given unit, to a hundredth of it, so that times of one sentence can be compared."""
    count = ns / {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    return f"<0.01 {unit}" if 0 < count < 0.005 else f"{significant(count)} {unit}"


def loss_sentence(loss: Loss) -> str:
    """Return a loss in one sentence."""
    place = place_text(loss.place)
    text = f"{duration(loss.core_ns)} ({percent(loss.share)}) were lost to {TITLES[loss.cause]}"
    text += f", {place}" if place else ""
    text += f" (in doubt: {', '.join(loss.doubts)})" if loss.doubts else ""
    if loss.bound_speedup is not None and loss.bound_speedup >= 1.005:
        text += f"; without it the program would be at most {significant(loss.bound_speedup)} times as fast"
    return f"{text}."


def holders_cpi_sentence(figures: Mapping[str, float | int | str | None]) -> str:
    """Return a sentence with the cycles per instruction of the threads that held a lock; '' where it is not known."""
    value, low, high = (figures.get(name) for name in ("held_cpi", "held_cpi_low", "held_cpi_high"))
    return f"An instruction took its holders {cpi_text(value, low, high)} cycles" if isinstance(value, float) else ""


def cpi_text(value: float, low: object, high: object) -> str:
    """Return cycles per instruction with the interval, where it is not exact: '1.25', '~1.25 (1.1 to 1.4)', '~1.25'."""
    if not isinstance(low, float) or not isinstance(high, float):
        return f"~{significant(value)}"
    return significant(value) if low == high else f"~{significant(value)} ({significant(low)} to {significant(high)})"


def place_text(place: Place) -> str:
    """Return a place's name for people, most specific first: the method and line, the lock, the thread."""
    text = ", ".join(each for each in (method_text(place), place.lock) if each)
    if thread := thread_text(place):
        text = f"{text} ({thread})" if text else thread
    return text


def thread_text(place: Place) -> str:
    """Return a place's thread, or its pool: '10 threads exec-*'; '' for none."""
    if not place.thread:
        return ""
    return f"{counted(place.threads, 'thread')} {place.thread}" if place.threads > 1 else place.thread


def method_text(place: Place) -> str:
    """Return Class.method:line of a place; '' where it is not known."""
    if place.method is None:
        return ""
    return place.method if place.line is None else f"{place.method}:{place.line}"
