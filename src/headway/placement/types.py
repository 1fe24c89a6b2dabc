"""What placing a program needs to know, and the records of what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from headway.analyses.placement.types import Placement
from headway.placement.affinities import Cpus
from headway.placement.nodes import MemoryNode

Event = Literal["start", "decision", "spell", "memory", "note", "end"]


@dataclass(frozen=True, slots=True)
class Record:
    """Something that was decided or found. `at_ns`: CLOCK_MONOTONIC. `text`: the same for people; `facts`: for programs."""

    event: Event
    at_ns: int
    text: str
    facts: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return it by name."""
        return {"event": self.event, "at_ns": self.at_ns, "text": self.text, **self.facts}


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """Where a program may run: `base` as it was started, `home` the node to keep it on. `undo_to`: what gives `base` back.

    `memory_by_node`: bytes of its memory at the start, without files; None where not known, as of declared nodes.
    """

    base: Cpus
    home: MemoryNode
    nodes: int
    undo_to: Cpus
    is_declared: bool
    memory_by_node: dict[int, int] | None = None

    def text(self, placement: Placement) -> str:
        """Return a placement in words."""
        return f"node {self.home.number}" if placement == "one" else "all nodes"

    @property
    def remote_share(self) -> float | None:
        """Return the share of its memory that it would read from other nodes if it was kept on one; None where not known."""
        total = sum((self.memory_by_node or {}).values())
        return 1 - (self.memory_by_node or {}).get(self.home.number, 0) / total if total else None
