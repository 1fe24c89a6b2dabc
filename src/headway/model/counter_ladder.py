"""The ladder of what counters allow: each recording stands on one step of it, by the groups of events that it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

TOP_DOWN, CPI, SOFTWARE_CLOCKS, NONE = "top-down", "CPI", "software clocks", "none"
STEPS: Mapping[str, str] = {
    TOP_DOWN: "where the slots of the pipeline went, and everything below",
    CPI: "cycles and instructions, hence what an instruction takes",
    SOFTWARE_CLOCKS: "the kernel's clocks and events; nothing of the processor",
    NONE: "nothing",
}
"""What each step tells, the best first."""
SLOTS = ("topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound")
"""The events of top-down level 1, as perf's sysfs calls them."""
SLOTS_BELOW = ("topdown-heavy-ops", "topdown-br-mispredict", "topdown-fetch-lat", "topdown-mem-bound")
"""Those of level 2: of each event of level 1 a part, where the processor counts it."""
OTHER_NAMES: Mapping[str, str] = {"cpu-cycles": "cycles", "branch-instructions": "branches"}
"""Names of the same event that perf has beside the usual one."""


CLOCKS = ("task-clock", "cpu-clock")
"""Events that count ns of running time."""


def by_reason(absent: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return events that are not counted (event, reason) by reason: most have one in common."""
    found: dict[str, list[str]] = {}
    for event, reason in absent:
        found.setdefault(reason, []).append(event)
    return found


def with_unit(event: str) -> str:
    """Return an event's name for people, with the unit of what is no number of times."""
    return f"{event} (ns)" if plain_name(event) in CLOCKS else event


def plain_name(event: str) -> str:
    """Return an event's name without :u or :k, and of several names the usual one."""
    plain = event.removesuffix(":u").removesuffix(":k")
    for each in (*SLOTS, *SLOTS_BELOW):
        if plain.rstrip("/").endswith(each):
            return each
    return OTHER_NAMES.get(plain, plain)


def step_of(groups: Sequence[Sequence[str]]) -> str:
    """Return on which step a recording with such groups stands: what can be divided is in one group."""
    plain = [{*map(plain_name, group)} for group in groups]
    if any({*SLOTS} <= group for group in plain):
        return TOP_DOWN
    if any({"cycles", "instructions"} <= group for group in plain):
        return CPI
    return SOFTWARE_CLOCKS if any(plain) else NONE
