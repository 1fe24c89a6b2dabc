"""The 15 published parallel programs on the simulated machine: headway's policy against its targets, and what of the published
mechanism the model shows (figures 7.4 and 7.5 as the text tells them, tables 7.1 and 7.2) and what it does not.

Simulations are the same on every machine: noise comes from seeds, and no time is measured.
"""

from __future__ import annotations

import csv
import re
import statistics
from pathlib import Path

import pytest

from headway.analyses.numa.published import published
from headway.analyses.placement.analysis import POLICIES, simulate_programs
from headway.analyses.placement.machine import fixed_seconds
from headway.analyses.placement.programs import published_models
from headway.analyses.placement.types import Simulated, Simulation

STEADY = ("sunflow", "xalan", "naive-bayes", "philosophers", "lusearch")
"""Programs with 28 to 42 migrations in table 7.1: one an iteration."""
MOVED_WITHIN_ITERATIONS = {"akka-uct", "future-genetic", "db-shootout", "h2"}  # 6 to 12 an iteration
NEVER_MOVED = ("pmd", "reactors")
"""Programs that are never moved in table 7.1, which the models are made for."""
CRITICAL = {9: 0.700, 13: 0.560}
"""Spearman's rank correlation of so many pairs that chance exceeds in 5 of 100 cases, either way."""
BALANCE = Path(__file__).parent / "numa_parallelism_balance.csv"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "numa.md"


@pytest.fixture(scope="module")
def simulations() -> dict[str, Simulation]:
    found = simulate_programs(published_models(), list(POLICIES), seeds=2)
    return {each.policy: each for each in found}


def by_name(found: Simulation) -> dict[str, Simulated]:
    return {each.application: each for each in found.programs}


def test_the_models_are_the_fifteen_programs_and_the_best_fixed_placement_gives_what_their_speeds_say(
    simulations: dict[str, Simulation],
) -> None:
    models = published_models()
    speeds = {
        each.name: each.figures["all_nodes_speedup"] for each in published() if "default_migrations" in each.figures
    }
    assert {each.name: each.speed_on_all for each in models} == speeds
    assert len(models) == 15
    best = statistics.geometric_mean(max(1 / speed, 1) for speed in speeds.values())
    assert best == pytest.approx(1.246, abs=0.0005)
    for each in models:
        phases = each.phases(0)
        assert fixed_seconds(phases, "one") / fixed_seconds(phases, "all") == pytest.approx(each.speed_on_all)
    assert all(each.best_fixed == pytest.approx(best) for each in simulations.values())


def test_headways_policy_meets_its_targets(simulations: dict[str, Simulation]) -> None:
    found = simulations["headway"]
    assert found.geometric_mean >= 1.19
    assert found.worst >= 0.97
    assert found.median_of_best >= 0.97
    assert max(by_name(found)[name].migrations for name in STEADY) <= 3


def test_the_published_policy_gains_and_loses_where_the_text_says(simulations: dict[str, Simulation]) -> None:
    paper = by_name(simulations["paper"])
    assert simulations["paper"].geometric_mean > 1  # 1.08x published
    assert all(paper[name].speedup > 1 for name in ("scrabble", "fj-kmeans", "reactors", "db-shootout"))
    assert all(paper[name].speedup < 1 for name in ("naive-bayes", "sunflow", "xalan", "lusearch"))


def test_back_off_gains_more_and_moves_less(simulations: dict[str, Simulation]) -> None:
    paper, back_off = by_name(simulations["paper"]), by_name(simulations["paper-back-off"])
    assert (
        simulations["paper-back-off"].geometric_mean > simulations["paper"].geometric_mean
    )  # 1.11x and 1.08x published
    for name in ("naive-bayes", "sunflow"):  # 0.66x to 1.01x, and 0.72x to 0.98x
        assert back_off[name].speedup > paper[name].speedup + 0.05
    assert all(back_off[name].migrations <= paper[name].migrations for name in paper)
    assert max(back_off[name].migrations for name in STEADY) <= 7  # lusearch has 22 in table 7.2: not reproduced


def test_steady_programs_are_moved_about_once_an_iteration_without_back_off(simulations: dict[str, Simulation]) -> None:
    """Table 7.1 has 28 to 42 for them in 30 to 40 iterations; philosophers (41) is kept on one node in the model."""
    paper = by_name(simulations["paper"])
    for name in ("sunflow", "xalan", "naive-bayes", "lusearch"):
        printed = next(each.figures["default_migrations"] for each in published() if each.name == name)
        assert printed / 2 <= paper[name].migrations <= 2 * printed


@pytest.mark.parametrize(
    ("policy", "column", "of_all", "of_once_an_iteration"),
    [("paper", "default_migrations", -0.26, -0.02), ("paper-back-off", "backoff_migrations", 0.52, 0.60)],
)
def test_that_the_order_of_migrations_is_no_nearer_to_the_published_one_than_by_chance_is_said_on_the_page(
    simulations: dict[str, Simulation], policy: str, column: str, of_all: float, of_once_an_iteration: float
) -> None:
    """Without the programs whose zero is put in: with them it is 0.44 and 0.79 of eleven, which shows nothing.

    The simulation is the same on every machine, and so are its correlations. Where they change the model has changed, and
    where they come nearer than chance the page has to be mended.
    """
    found = by_name(simulations[policy])
    printed = {each.name: each.figures for each in published() if column in each.figures}
    names = [name for name in printed if name not in NEVER_MOVED]
    some = [name for name in names if name not in MOVED_WITHIN_ITERATIONS]
    for compared, known in ((names, of_all), (some, of_once_an_iteration)):
        correlation = rank_correlation(
            [found[name].migrations for name in compared], [printed[name][column] for name in compared]
        )
        assert correlation == pytest.approx(known, abs=0.005)
        assert abs(correlation) < CRITICAL[len(compared)]
    assert "nor which programs are moved more often than others" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("column", ["default_migrations", "backoff_migrations"])
def test_no_published_figure_that_a_model_can_be_made_of_orders_programs_as_their_migrations_do(column: str) -> None:
    """So the order of tables 7.1 and 7.2 comes from what is not published: how the CPI of each program changes within 200 ms."""
    programs = [each.figures for each in published() if each.figures.get(column)]
    with open(BALANCE, encoding="utf-8", newline="") as file:
        balance = {row["application"]: row for row in csv.DictReader(file)}
    names = [each.name for each in published() if each.figures.get(column)]
    seconds = [each["objects_k"] / each["objects_k_per_s"] for each in programs]
    known = {
        "speed on all nodes": [each["all_nodes_speedup"] for each in programs],
        "iterations": [each["iterations"] for each in programs],
        "seconds of an iteration": seconds,
        "seconds in all": [each["iterations"] * length for each, length in zip(programs, seconds, strict=True)],
        "cycles per instruction": [each["cpi"] for each in programs],
        **{
            name: [float(balance[each][name]) for each in names]
            for name in ("main_instructions_pct", "imbalance_instructions_pct", "imbalance_cycles_pct")
        },
    }
    for figure, values in known.items():
        correlation = rank_correlation(values, [each[column] for each in programs])
        assert abs(correlation) < CRITICAL[len(programs)], (figure, correlation)


def test_the_page_has_the_figures_of_the_simulation(simulations: dict[str, Simulation]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row.split("|")] for row in page.splitlines() if row.count("|") == 6]
    for policy, column in (("paper", 3), ("paper-back-off", 4), ("headway", 5)):
        found = simulations[policy]
        moves = sorted(round(by_name(found)[name].migrations) for name in STEADY)
        cell = {row[1]: row[column].split(" (")[0] for row in rows}
        assert cell["geometric mean"] == f"{found.geometric_mean:.2f}x"
        assert cell["worst program"] == f"{found.worst:.2f}x"
        least, most = (cell["moves of steady programs"].split(" to ") * 2)[:2]
        assert [int(least), int(most)] == [moves[0], moves[-1]]


def test_the_page_says_of_which_programs_only_a_part_is_simulated() -> None:
    page = PAGE.read_text(encoding="utf-8")
    whole = {
        each.name: round(each.figures["iterations"]) for each in published() if "default_migrations" in each.figures
    }
    cut = {each.name: each.iterations for each in published_models() if each.iterations != whole[each.name]}
    said = re.search(r"A simulated program ends with.*?All others have all\.", page, re.DOTALL)
    assert said is not None
    found = re.findall(r"`([\w-]+)` (?:has )?(\d+) of (?:its )?(\d+)", said[0])
    assert {name: (int(some), int(total)) for name, some, total in found} == {
        name: (some, whole[name]) for name, some in cut.items()
    }


def rank_correlation(one: list[float], other: list[float]) -> float:
    return statistics.correlation(ranks(one), ranks(other))


def ranks(values: list[float]) -> list[float]:
    return [sum(each < value for each in values) + sum(each == value for each in values) / 2 for value in values]


def test_programs_that_the_mechanism_takes_for_no_parallel_ones_are_never_moved_by_it(
    simulations: dict[str, Simulation],
) -> None:
    for policy in ("paper", "paper-back-off"):
        for name in NEVER_MOVED:
            assert by_name(simulations[policy])[name].migrations == 0
