"""An account of lost cores in words: the sentence that says where cores x wall time went, and the names of places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.units import duration, percent, significant
from headway.analyses.why_types import TITLES, TOGETHER

if TYPE_CHECKING:
    from headway.analyses.why_types import Account, Loss, Place

SMALL = 0.001
"""What is less of the core time than this is not worth a word."""

_USERS = {
    "app": "the application",
    "gc": "GC",
    "jit": "the JIT",
    "vm": "the VM",
    "headway": "headway",
    TOGETHER: "the program",
}


def sentence(account: Account) -> str:
    """Return where cores x wall time went, in one sentence."""
    is_whole = float(account.cores).is_integer()
    number = f"{account.cores:.0f}" if is_whole else significant(account.cores)
    cores = f"{number} core{'' if account.cores == 1 else 's'}"
    total = account.core_ns or 1
    used = [
        f"{duration(ns)} by {_USERS.get(kind, kind)}"
        for kind, ns in account.used_ns.items()
        if ns > SMALL * total or kind in ("app", TOGETHER)
    ]
    parts = [used[0].replace(" by ", " used by ", 1), *used[1:]] if used else []
    taken = ((account.stolen_ns, "stolen by the host"), (account.other_processes_ns, "used by other processes"))
    parts += [f"{duration(ns)} {what}" for ns, what in taken if ns is not None and ns > SMALL * total]
    parts.append(f"{duration(account.lost_ns)} ({percent(account.lost_ns / total)}) lost")
    return f"{cores} x {duration(account.wall_ns)} = {_core_time(account.core_ns)}: {', '.join(parts)}."


def _core_time(ns: int) -> str:
    """Return core time in its own unit: two cores for one second are 2.00 core-s."""
    number, unit = duration(ns).rsplit(" ", 1) if ns < 100e9 else (significant(ns / 1e9), "s")
    return f"{number} core-{unit}"


def loss_sentence(loss: Loss) -> str:
    """Return a loss in one sentence."""
    place = place_text(loss.place)
    text = f"{duration(loss.core_ns)} ({percent(loss.share)}) were lost to {TITLES[loss.cause]}"
    text += f", {place}" if place else ""
    text += f" (in doubt: {', '.join(loss.doubts)})" if loss.doubts else ""
    if loss.bound_speedup is not None and loss.bound_speedup >= 1.005:
        text += f"; without it the program would be at most {significant(loss.bound_speedup)} times as fast"
    return f"{text}."


def place_text(place: Place) -> str:
    """Return a place as people name it, most telling first: the lock, the method, the thread."""
    method = None
    if place.method is not None:
        method = place.method if place.line is None else f"{place.method}:{place.line}"
    named = [each for each in (place.lock, method) if each]
    text = " at ".join(named)
    if place.thread:
        text = f"{text} ({place.thread})" if text else place.thread
    return text
