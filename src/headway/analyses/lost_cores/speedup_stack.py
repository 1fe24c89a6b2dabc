"""The speedup stack of one recording: what keeps the speedup below the number of cores.

Question   of all cores, on how many did the program do its own work, and what has the rest?
Method     Sartor, Du Bois, Eyerman, Eeckhout, ISPASS 2017: the account of `why` divided by the wall time, so that the parts
           add up to the number of cores. At the bottom the cores that the application used (what a program of that work
           would reach without overhead of its parallel version), then what the JVM used, what others took, then one part
           per cause of loss.
Assumes    that the application's work is the same on one core: what parallelising added is in the base (`headway sweep` tells).
Wrong when the account is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common.causes import IDLE, TITLES
from headway.analyses.lost_cores.types import TOGETHER, USED

if TYPE_CHECKING:
    from headway.analyses.lost_cores.types import Account

BASE = "used_app"
STOLEN, OTHERS, LEFT_OVER = "stolen", "other_processes", "left_over"
PART_TITLES = {
    BASE: "application",
    "used_gc": "GC",
    "used_jit": "JIT",
    "used_vm": "JVM",
    "used_headway": "headway",
    f"used_{TOGETHER}": "the program",
    STOLEN: "stolen by the host",
    OTHERS: "other processes",
    LEFT_OVER: "not accounted for",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the stack: `name` is a cause, or a key of Why.bins; `cores` its height, starting at `bottom`."""

    name: str
    title: str
    bottom: float
    cores: float
    core_ns: int


@dataclass(frozen=True, slots=True)
class SpeedupStack:
    """Parts from the bottom upwards: the application, the JVM, others, then losses, the largest first. They add up to `cores`.

    `base` is the height of the first part: the mean number of cores that worked for the
    application (for the program, where that is not told apart).
    """

    cores: float
    wall_ns: int
    base: float
    parts: tuple[Part, ...]


def speedup_stack(account: Account) -> SpeedupStack:
    """Build the stack of an account (of all, or of a phase). Parts without height are left out, except the base."""
    causes: dict[str, int] = {}
    for loss in account.lost:
        causes[loss.cause] = causes.get(loss.cause, 0) + loss.core_ns
    kinds = (TOGETHER,) if TOGETHER in account.used_ns else USED
    sizes = {f"used_{kind}": account.used_ns.get(kind, 0) for kind in kinds}
    sizes |= {STOLEN: account.stolen_ns or 0, OTHERS: account.other_processes_ns or 0, IDLE: account.idle_ns}
    sizes |= dict(sorted(causes.items(), key=lambda item: (-item[1], item[0])))
    sizes[LEFT_OVER] = account.core_ns - sum(sizes.values())
    parts: list[Part] = []
    bottom = 0.0
    for name, core_ns in sizes.items():
        if core_ns == 0 and parts:
            continue
        height = core_ns / max(account.wall_ns, 1)
        parts.append(Part(name, PART_TITLES.get(name) or TITLES.get(name, name), bottom, height, core_ns))
        bottom += height
    return SpeedupStack(account.cores, account.wall_ns, parts[0].cores, tuple(parts))
