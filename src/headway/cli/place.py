"""`headway place`: what policies would have done that keep a program on one memory node, or let it use all."""

from __future__ import annotations

import click

from headway.cli.options import json_option, print_json
from headway.report.commands import summary_of

PUBLISHED = "published"
MOST_SEEDS = 50


@click.command(
    name="place",
    short_help=summary_of("place"),
    epilog="""\b
Examples:
  headway place --simulate published
  headway place --simulate programs.csv --policy headway --json
""",
)
@click.option(
    "--simulate",
    "model",
    required=True,
    metavar="MODEL",
    help="'published', or FILE.csv with the columns application and all_nodes_speedup.",
)
@click.option(
    "--policy",
    type=click.Choice(["all", "paper", "paper-back-off", "headway"]),
    default="all",
    show_default=True,
    help="Which policy.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    default=3,
    show_default=True,
    metavar="N",
    help="Runs of each, of other noise.",
)
@json_option
def command(model: str, policy: str, seeds: int, as_json: bool) -> None:
    """Simulate policies that place a program on one of two memory nodes or on both.

    Programs are models: how fast they are on all nodes, relative to one. Published are 15 of DaCapo and Renaissance. Policies:
    the published one, by cycles per instruction, without and with back-off, and headway's, by paired spells with an interval.
    Nothing is moved on this machine.
    """
    from headway.analyses.placement.analysis import POLICIES, simulate_programs
    from headway.analyses.placement.programs import models_of_table, published_models

    models = published_models() if model == PUBLISHED else models_of_table(model)
    found = simulate_programs(models, list(POLICIES) if policy == "all" else [policy], seeds)
    if as_json:
        from headway.report.json.placement import placement_json

        print_json(placement_json(found, seeds))
        return
    from headway.report.terminal import make_console
    from headway.report.terminal.placement import render_placement

    render_placement(found, seeds, make_console())
