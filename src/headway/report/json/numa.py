"""Classes of programs by memory nodes, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.analyses.numa.types import DEPENDENCIES, LOCALITY, PARALLELISM, QUESTIONS

if TYPE_CHECKING:
    from headway.analyses.numa.types import LocalityTest, NodeRun, NumaAnswer, ProgramClass


def numa_json(result: NumaAnswer) -> dict[str, Any]:
    """Return all programs in the order of the tables, and how they compare with a table of classes."""
    return {
        "cores_per_node": result.cores_per_node,
        "programs": [_program(each) for each in result.programs],
        "comparison": None if result.comparison is None else asdict(result.comparison),
        "locality_test": None if result.locality_test is None else _test(result.locality_test),
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _test(test: LocalityTest) -> dict[str, Any]:
    return {
        "one": _run(test.one),
        "two": _run(test.two),
        "speedup": test.speedup,
        "cpu_growth": test.cpu_growth,
        "as_many_cores": test.has_as_many_cores,
    }


def _run(run: NodeRun) -> dict[str, Any]:
    return {
        "path": run.path,
        "nodes": list(run.nodes),
        "cores": run.cores,
        "wall_ns": run.wall_ns,
        "cpu_ns": run.cpu_ns,
        "llc_read_miss_pct": run.miss_pct.get("read"),
        "llc_write_miss_pct": run.miss_pct.get("write"),
        "remote_load_pct": run.miss_pct.get("remote"),
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
        "phases": [asdict(phase) for phase in each.phases],
        "memory": {column: asdict(placed) for column, placed in each.memory.items()},
        "memory_intensive": each.memory_intensive,
    }
