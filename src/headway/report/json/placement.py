"""Simulated policies of placement, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.analyses.placement.analysis import assumptions
from headway.analyses.placement.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Sequence

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
