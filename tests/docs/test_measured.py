"""What the docs claim to be measured is what benchmarks/results holds, row by row."""

from __future__ import annotations

import json
import re
from pathlib import Path

import measured
import pytest

PAGE = measured.TRUST.read_text(encoding="utf-8")
RUNS = measured.read_runs()


def table() -> list[list[str]]:
    """Return the cells of the page's table of claims."""
    part = PAGE.split("<!-- measured:begin -->\n")[1].split("<!-- measured:end -->")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in part.splitlines()[2:]]


def test_the_generated_parts_are_what_the_results_give() -> None:
    assert measured.stale() == []


def test_the_table_is_short() -> None:
    assert 20 <= len(table()) <= 25


def test_every_figure_and_verdict_of_the_table_is_one_of_a_kept_run() -> None:
    kept = {
        (run.benchmark, run.date, run.commit, figure.text): figure.verdict
        for runs in RUNS.values()
        for run in runs
        for figure in run.figures
    }
    for claim, shown, _target, verdict, _machine, when in table():
        name = re.search(r"\(\[(\w+)\]", claim)
        assert name, claim
        date, commit = when.replace("`", "").split(", ")
        verdicts = {text: word for (*key, text), word in kept.items() if key == [name[1], date, commit]}
        rest = shown
        for text in sorted((text for row in measured.rows() if row.claim.text in claim for text in row.shown), key=len):
            assert any(text in whole for whole in verdicts), f"{claim}: {text}"
            rest = rest.replace(text, "", 1)
        assert not rest.strip("; "), f"{claim}: {rest} is in no result"
        assert verdict in verdicts.values()


def test_every_target_that_is_not_reached_is_among_the_known_misses() -> None:
    misses = PAGE.split("<!-- misses:begin -->\n")[1].split("<!-- misses:end -->")[0]
    for row in measured.rows():
        assert (f"**{row.claim.text}**" in misses) == (row.verdict in ("open", "missed"))


def test_a_target_that_is_missed_without_a_cause_is_refused() -> None:
    run = measured.read_run(
        "overhead",
        {
            "date": "2026-01-01",
            "commit": "0" * 9,
            "machine": {"cpu": "", "cpus": 2},
            "options": "",
            "conditions": "",
            "figures": [{"figure": "mean +9 %", "target": "1 %", "verdict": "missed"}],
        },
    )
    with pytest.raises(SystemExit, match="has to say the cause"):
        measured.row_of(measured.Claim("cheap", "overhead", ("mean.*",), ""), [run])


def test_the_newest_run_of_all_programs_makes_the_row() -> None:
    def body(date: str, figure: str, partial: bool = False) -> dict[str, object]:
        return {
            "date": date,
            "commit": "0" * 9,
            "machine": {"cpu": "AMD EPYC", "cpus": [0, 1]},
            "options": "--quick",
            "conditions": "",
            "partial": partial,
            "figures": [{"figure": figure, "target": "9 %", "verdict": "reached"}],
        }

    runs = [
        measured.read_run("overhead", body("2026-01-01", "mean 1 %")),
        measured.read_run("overhead", body("2026-01-02", "mean 2 %")),
        measured.read_run("overhead", body("2026-01-03", "mean 3 %", partial=True)),
        measured.read_run("overhead", body("2026-01-04", "most 4 %")),
    ]
    row = measured.row_of(measured.Claim("cheap", "overhead", ("mean.*",), ""), runs)
    assert (row.shown, row.run.date, row.run.machine) == (("mean 2 %",), "2026-01-02", "2 CPUs (AMD EPYC)")


def test_what_a_benchmark_wrote_is_kept_with_its_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    written = {
        "benchmark": "overhead --quick",
        "machine": {"cpu": "AMD EPYC", "cpus": [0, 1], "kernel": "6.18", "load": 0.1},
        "verdicts": [
            {"text": "mean +0.50 % [+0.10, +0.90], target +0.70 %; undecided: the interval is wider", "reached": False},
            {"text": "0 records lost, target 0", "reached": True},
        ],
    }
    (tmp_path / "overhead.json").write_text(json.dumps(written))
    measured.keep(tmp_path / "overhead.json", "quiet", False)
    (run,) = measured.read_runs()["overhead"]
    assert run.command == "benchmarks/overhead.py --quick"
    assert run.figures == (
        measured.Figure("mean +0.50 % [+0.10, +0.90]", "+0.70 %", "open", "the interval is wider"),
        measured.Figure("0 records lost", "0", "reached"),
    )


def test_what_profilers_cost_beside_each_other_is_a_table_of_the_readme() -> None:
    verdict = {
        "text": "JFR profile: CPU of a request +1.0 % [+0.2, +1.8], +1.0 % [+0.2, +1.8] with the profiler's own; "
        "saw 97.0 % of the computing, not asked of the waits; no target",
        "reached": True,
    }
    body = {
        "date": "2026-01-01",
        "commit": "0" * 9,
        "machine": {"cpu": "AMD EPYC", "cpus": 2},
        "options": "",
        "conditions": "",
        "figures": [measured.figure_of(verdict)],
    }
    part = measured.beside_part([measured.read_run("beside_others", body)])
    assert part.endswith("| JFR profile | +1.0 % [+0.2, +1.8] | +1.0 % [+0.2, +1.8] | 97.0 % | not measured |\n")
    assert measured.beside_part([]) == ""


def test_a_cost_that_equal_blocks_of_the_same_run_differ_by_is_marked() -> None:
    assert measured.beside_noise("-5.50 % [-10.63, -0.37]", 8.29) == "-5.50 % [-10.63, -0.37]: noise ±8.3 %"
    assert measured.beside_noise("+8.50 % [+0.60, +15.70]", 8.29).endswith("noise ±8.3 %")
    assert measured.beside_noise("+12.0 % [+9.0, +15.0]", 8.29) == "+12.0 % [+9.0, +15.0]"
    assert measured.beside_noise("+1.0 % [+0.2, +1.8]", 0.0) == "+1.0 % [+0.2, +1.8]"
    conditions = "busy; two blocks without a profiler differ by +0.25 % [-8.29, +3.44]; the rest"
    found = measured.NOISE.search(conditions)
    assert found is not None
    assert found.groups() == ("-8.29", "+3.44")
