"""`headway place --simulate`: its answer as text and JSON, and tables that can't be simulated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
TABLE = """application,parallelism,all_nodes_speedup
fast,explicitly-parallel,1.5
slow,imbalanced,0.5
few,tlp-bound,0.9
none,,
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "programs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_programs_of_a_table_are_simulated_by_their_speeds(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    code, out, err = run("place", "--simulate", path, "--seeds", 1, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert [each["policy"] for each in said["policies"]] == ["paper", "paper-back-off", "headway"]
    assert (said["simulated"], said["seeds"], said["warnings"]) == (True, 1, [])
    assert len(said["assumptions"]) == 5
    for policy in said["policies"]:
        programs = {each["application"]: each for each in policy["programs"]}
        assert [*programs] == ["fast", "slow", "few"]
        best = [programs[name]["best_fixed"] for name in programs]
        assert best == pytest.approx([1, 2, 1 / 0.9])
        assert policy["worst"] == min(each["speedup"] for each in programs.values())
    headway = {each["application"]: each for each in said["policies"][2]["programs"]}
    assert headway["slow"]["speedup"] > 1.9
    assert headway["fast"]["on_all_share"] > 0.9
    assert headway["few"]["speedup"] > 1.05


def test_one_policy_can_be_chosen_and_the_terminal_says_what_is_assumed(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    code, out, _ = run("place", "--simulate", path, "--policy", "headway", "--seeds", 1)
    assert code == 0
    assert "* headway: " in out
    assert "paper" not in out
    assert "What the model assumes" in out
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("application,workers\na,8\n", "no program has a figure in a column all_nodes_speedup"),
        ("application,all_nodes_speedup\na,0\n", "a is 0 times as fast"),
        ("application,all_nodes_speedup\na,1000\n", "a is 1000 times as fast"),
        ("application,all_nodes_speedup\na,nan\n", "all_nodes_speedup: "),
        ("application,all_nodes_speedup\n" + "".join(f"p{each},1\n" for each in range(101)), "101 programs"),
        ("", "it is empty"),
        ("name,speed\na,1\n", "no column application or program"),
        ("application,speed\na,1\n", "none of its columns has a known name"),
        (None, "No such file or directory"),
    ],
)
def test_a_table_that_can_not_be_simulated_is_an_error_about_what_is_simulated(
    run: Run, tmp_path: Path, text: str | None, reason: str
) -> None:
    path = tmp_path / "programs.csv" if text is None else write(tmp_path, text)
    code, out, err = run("place", "--simulate", path)
    assert (code, out) == (1, "")
    message, why, remedy = err.splitlines()
    assert message.startswith("HW709: ")
    assert reason in message
    assert "all_nodes_speedup" in why
    assert remedy == "  next: headway place --help"


def test_without_something_to_simulate_it_is_wrong_usage(run: Run) -> None:
    assert run("place")[0] == 2
    assert run("place", "--simulate", "published", "--policy", "best")[0] == 2
    assert run("place", "--simulate", "published", "--show", "a.jsonl")[0] == 2
    for words in (("--show", "a.jsonl", "--move-pages"), ("--pid", "1", "--nodes", "0/1", "--move-pages")):
        code, _, err = run("place", *words)
        assert code == 2
        assert "--move-pages" in err
    assert run("run", "--move-pages", "--", "true")[0] == 2
