"""The page that says how far predictions were from what was measured is what benchmarks/results gives."""

from __future__ import annotations

import json
from pathlib import Path

import measured
import validation_page

PAGE = measured.VALIDATION.read_text(encoding="utf-8")
CHANGED = {
    "change": "a lock removed",
    "asked": "--without-lock A.b:1",
    "by_others": True,
    "refused": [],
    "before_s": 2.0,
    "predicted_s": 1.0,
    "low_s": 0.9,
    "high_s": 1.1,
    "after_s": 1.05,
    "error_pct": -4.8,
    "is_covered": True,
}
REFUSED = {"change": "B", "asked": "--no-gc", "by_others": False, "refused": ["HW822: too far off"], "after_s": 3.0}
RUN = {
    "date": "2026-01-01",
    "commit": "abc",
    "machine": {"cpu": "", "cpus": 2},
    "options": "",
    "conditions": "",
    "figures": [{"figure": "median error 4.8 %", "target": "5 %", "verdict": "reached"}],
    "changes": [CHANGED, REFUSED],
}


def test_the_page_is_what_the_results_give() -> None:
    assert measured.validation() == PAGE


def test_the_page_says_what_was_never_compared_with_a_machine() -> None:
    assert "Predictions for more than two cores were compared with a reference simulator" in " ".join(PAGE.split())


def test_the_machines_had_as_many_cpus_as_the_page_says() -> None:
    assert "All machines had two CPUs." in PAGE
    runs = measured.read_runs()
    machines = {run.machine for benchmark in validation_page.CHECKED for run in runs.get(benchmark, ())}
    assert {each.split()[0] for each in machines} == {"2"}


def test_every_benchmark_that_compares_predictions_is_on_the_page() -> None:
    for benchmark in validation_page.CHECKED:
        assert f"\n## {benchmark}\n" in PAGE
        assert (measured.ROOT / "benchmarks" / f"{benchmark}.py").is_file()


def test_each_change_is_a_row_of_the_newest_whole_run(tmp_path: Path) -> None:
    part = {**RUN, "partial": True, "changes": []}
    lines = [json.dumps(RUN), json.dumps(part)]
    (tmp_path / "whatif_changes.jsonl").write_text("\n".join(lines), encoding="utf-8")
    runs = {"whatif_changes": [measured.read_run("whatif_changes", each) for each in (RUN, part)]}
    page = validation_page.page("", runs, tmp_path, measured.cell)
    assert "| a lock removed * | `--without-lock A.b:1` | 2.0 | 1.0 [0.9, 1.1] | 1.05 | -4.8 % |" in page
    assert "| B | `--no-gc` | - | refused: HW822 | 3.0 | - |" in page
