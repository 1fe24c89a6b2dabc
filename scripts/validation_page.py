"""Makes docs/reference/validation.md: how far predictions were from what was measured then, from benchmarks/results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

CHANGES = "whatif_changes"
CHECKED = {
    CHANGES: "Wall time after a change, from the recording before, against the program in which a parameter makes that change.",
    "whatif_error": "The replay of unchanged runs; other numbers of cores.",
    "whatif_first": "Which of two changes is ranked first, against the runs of programs with two causes without each of these.",
    "whatif_together": "Two programs at once on two CPUs, from a recording of each alone.",
    "walltime_error": "Wall time of warm programs on another number of cores, from how many threads were active.",
    "speedup_error": "Speedups of the published case studies.",
    "real_gains": "Gains that `headway why` calls likely, against the same program with a lock for each thread.",
    "lost_cores_bound": "Bounds of gains, against the gain when the cause is removed.",
    "causal_accuracy": "Program speedups from virtual speedups, against the same line really made faster.",
}
"""Benchmarks that compare predictions with what was measured, and what each compares."""
HEAD = """# Predictions and what was measured

Predictions are compared with programs in which the change was really made, and with other runs of the same program. Each table
is the newest whole run of one benchmark, or of a part of it where there is none; earlier ones are in the
[history](benchmark-history.md). [Benchmarks](benchmarks.md) says how to run them.

All machines had two CPUs. **Predictions for more than two cores were compared with a reference simulator of small random
programs, event by event, and with published tables alone**: on such machines headway's figures are not validated.
"""


def page(made_by: str, runs: Mapping[str, Sequence[Any]], results: Path, cell: Callable[[str], str]) -> str:
    """Return the page from runs as `measured.read_runs` has them; `cell` makes text safe in a table."""
    parts = [made_by, HEAD]
    for benchmark, what in CHECKED.items():
        parts.append(f"\n## {benchmark}\n\n{what}\n\n")
        kept = runs.get(benchmark, ())
        if not kept:
            parts.append("Not measured yet.\n")
            continue
        at = max((i for i, run in enumerate(kept) if not run.is_partial), default=len(kept) - 1)
        parts.append(_run(kept[at], cell))
        if benchmark == CHANGES:
            line = (results / f"{CHANGES}.jsonl").read_text(encoding="utf-8").splitlines()[at]
            parts.append(_changes(json.loads(line)["changes"], cell))
    return "".join(parts)


def _run(run: Any, cell: Callable[[str], str]) -> str:
    where = f"{run.date}, `{run.commit}`, {run.machine}: `{run.command}`"
    where += f"; {run.conditions}" if run.conditions else ""
    where += "; a part of the programs" if run.is_partial else ""
    lines = [f"{where}.\n", "| figure | target | verdict |", "| --- | --- | --- |"]
    lines += [f"| {cell(each.text)} | {cell(each.target)} | {each.verdict} |" for each in run.figures]
    return "\n".join(lines) + "\n"


def _changes(changes: Sequence[Mapping[str, Any]], cell: Callable[[str], str]) -> str:
    """Return the table of single changes: seconds before, predicted with its interval, and measured."""
    lines = [
        "\nSeconds before the change, predicted, and measured after it; medians. Programs written by others are marked *.\n",
        "| change | asked for | before | predicted [interval] | measured | error |",
        "| --- " * 6 + "|",
    ]
    for each in changes:
        name = cell(each["change"]) + (" *" if each["by_others"] else "")
        if "error_pct" in each:
            predicted = f"{each['predicted_s']} [{each['low_s']}, {each['high_s']}]"
            figures = f"{each['before_s']} | {predicted} | {each['after_s']} | {each['error_pct']:+.1f} %"
        else:
            reasons = ", ".join(sorted({reason.partition(":")[0] for reason in each["refused"]}))
            figures = f"- | refused: {cell(reasons)} | {each['after_s']} | -"
        lines.append(f"| {name} | `{cell(each['asked'])}` | {figures} |")
    return "\n".join(lines) + "\n"
