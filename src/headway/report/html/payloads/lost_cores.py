"""Where the cores went (report/html/lost_cores.py)."""

from __future__ import annotations

from typing import TypeAlias, TypedDict

from headway.analyses.common.causes import CAUSES

VOCABULARIES = {"CAUSES": ("Cause", tuple(CAUSES))}
Cause: TypeAlias = "str"


class LossPayload(TypedDict):
    """Core time lost to one cause at one place."""

    cause: str
    core_ns: int
    share: float
    method: str | None
    line: int | None
    lock: str | None
    thread: str | None
    pid: int | None
    threads: int
    """More than 1: so many of a pool, `thread` is what their names have in common."""
    bound: float | None
    """How much faster at most, were it gone; null where that can't be said."""
    likely: float | None
    """How much faster it would likely be, no more than the bound; null where that is not told."""
    evidence: list[str]


class MoreLosses(TypedDict):
    """What a list of losses leaves out."""

    losses: int
    core_ns: int


class AccountPayload(TypedDict):
    """Cores x time of a stretch, accounted for."""

    start_ns: int
    end_ns: int
    cores: float
    core_ns: int
    used_ns: int
    stolen_ns: int | None
    other_processes_ns: int | None
    lost_ns: int
    parts: list[tuple[str, str, int]]
    """Name, title and core time of who used them, who else had them, and of causes, largest first: `core_ns` in all."""
    losses: list[LossPayload]
    more: MoreLosses
    """What `losses` leaves out."""


class PhasePayload(TypedDict):
    """A stretch with about the same number of active threads."""

    number: int
    active: float
    account: AccountPayload


class BottlePayload(TypedDict):
    """A box of the bottle graph: a thread's part of the wall time, and the mean number of threads active beside it."""

    name: str
    kind: str
    height_ns: float
    width: float
    threads: int
    """How many threads it stands for."""


class CriticalPathPayload(TypedDict):
    """The critical path: by state (with its meaning) and by thread, ns."""

    length_ns: int
    states: list[tuple[str, str, int]]
    threads: list[tuple[str, int]]


class WhyView(TypedDict):
    """The account of the whole recording and of its phases."""

    account: AccountPayload
    phases: list[PhasePayload]
    bin_ns: int
    bins: dict[str, list[int]]
    """Core-ns per bin: "used_app" ..., "stolen", "other_processes", and the causes."""
    titles: dict[str, str]
    meanings: dict[str, str]
    bottles: list[BottlePayload]
    path: CriticalPathPayload | None
