"""Classes of programs by memory nodes, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.analyses.numa.types import DEPENDENCIES, LOCALITY, PARALLELISM, QUESTIONS

if TYPE_CHECKING:
    from headway.analyses.numa.types import NumaAnswer, ProgramClass


def numa_json(result: NumaAnswer) -> dict[str, Any]:
    """Return all programs in the order of the tables, and how they compare with a table of classes."""
    return {
        "cores_per_node": result.cores_per_node,
        "programs": [_program(each) for each in result.programs],
        "comparison": None if result.comparison is None else asdict(result.comparison),
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _program(each: ProgramClass) -> dict[str, Any]:
    return {
        "application": each.application,
        "suite": each.suite,
        "parallelism": each.answer(PARALLELISM),
        "data_dependencies": each.answer(DEPENDENCIES),
        "locality_bound": each.answer(LOCALITY),
        "near": {question: each.alternatives(question) for question in QUESTIONS},
        "root_causes": each.root_causes,
        "guideline": each.guideline,
        "advice": list(each.advice),
        "second_node": None if each.second_node is None else asdict(each.second_node),
        "evidence": [asdict(evidence) for evidence in each.evidence],
        "undetermined": each.undetermined,
        "memory": {column: asdict(placed) for column, placed in each.memory.items()},
        "memory_intensive": each.memory_intensive,
    }
