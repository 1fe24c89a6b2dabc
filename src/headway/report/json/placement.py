"""Simulated policies, and records of placing, as JSON: the stable form (docs/reference/json.md). Keys may be added only."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.analyses.placement.analysis import assumptions
from headway.analyses.placement.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.placement.records import PlacedProgram
    from headway.analyses.placement.types import Simulation


def placement_json(found: Sequence[Simulation], seeds: int) -> dict[str, Any]:
    """Return each policy with its programs, and what the model takes for granted."""
    return {
        "simulated": True,
        "seeds": seeds,
        "assumptions": list(assumptions(Machine())),
        "policies": [asdict(each) for each in found],
        "warnings": [],
    }


def placed_json(found: Sequence[PlacedProgram]) -> dict[str, Any]:
    """Return what was recorded of placing programs."""
    return {
        "placed": [
            {
                **asdict(each),
                "notes": [{"at_ns": at_ns, "text": text} for at_ns, text in each.notes],
                "moves": each.moves,
                "on_one_share": each.on_one_share,
            }
            for each in found
        ],
        "warnings": [],
    }
