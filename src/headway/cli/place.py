"""`headway place`: a daemon that keeps a program on one memory node or on all, as measured; or simulates such policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import out
from headway.cli.options import Command, TimeType, json_option, print_json
from headway.report.commands import summary_of
from headway.report.parameter_types import NodesType

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.analyses.numa.nodes import Nodes
    from headway.placement.types import Record

PUBLISHED = "published"
MOST_SEEDS = 50
DEFAULT_SEEDS = 3


def placing_options(command: Command) -> Command:
    """Give a command the options that say where to place a program, and how its progress is measured."""
    file_help = "A file to which the program appends: its lines are the units of work. [instructions]"
    nodes_help = "Sets of CPUs that are taken for memory nodes, such as 0-7/8-15. [those of the machine]"
    event_help = "An event of 'headway record --counters' that is a unit of work."
    pages_help = "Move memory as well: to the node on which threads stay, and back at the end."
    for option in (
        click.option("--move-pages", "moves_memory", is_flag=True, help=pages_help),
        click.option("--progress-event", "event", metavar="EVENT", help=event_help),
        click.option("--progress-file", "file", type=click.Path(path_type=Path), metavar="FILE", help=file_help),
        click.option("--nodes", type=NodesType(), metavar="CPUS", help=nodes_help),
    ):
        command = option(command)
    return command


@click.command(
    name="place",
    short_help=summary_of("place"),
    epilog="""\b
Examples:
  headway place --pid 1234
  headway place --pid 1234 --progress-file access.log --dry-run
  headway place --simulate published
  headway place --simulate programs.csv --policy headway --json
  headway place --show placed.jsonl
""",
)
@click.option("--pid", type=int, metavar="PID", help="A running program of your own, with the processes below it.")
@placing_options
@click.option("--dry-run", "is_dry", is_flag=True, help="Only say what it would do first, and end then.")
@click.option("--duration", type=TimeType(), metavar="T", help="End after this time, not at Ctrl-C.")
@click.option(
    "--simulate",
    "model",
    metavar="MODEL",
    help="Move nothing: 'published', or FILE.csv with the columns application and all_nodes_speedup.",
)
@click.option(
    "--show",
    "records",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show what an earlier 'headway place --json' wrote: when the program was where, why, and what came of it.",
)
@click.option(
    "--policy",
    type=click.Choice(["all", "paper", "paper-back-off", "headway"]),
    metavar="NAME",
    help="headway, paper or paper-back-off; with --simulate also all. [headway; with --simulate all]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    metavar="N",
    help=f"With --simulate: runs of each, of other noise. [{DEFAULT_SEEDS}]",
)
@json_option
def command(
    model: str | None, records: Path | None, policy: str | None, seeds: int | None, as_json: bool, **options: Any
) -> None:
    """Keep a program on one memory node, or let it use all.

    A running program (--pid) is moved by the affinity of its threads, and only where that makes it faster: headway measures how
    fast it is on one node and on all, with confidence intervals. With --move-pages its memory follows its threads. Ctrl-C,
    and the end of headway however it comes, put all back. Each decision is a line; with --json one of JSON.

    --simulate says what policies would have done with programs whose speed on all nodes, relative to one, is known.
    `published` are 15 programs of DaCapo and Renaissance.
    """
    if [model, records, options["pid"]].count(None) != 2:
        raise click.UsageError("give one of --pid PID, --simulate MODEL and --show FILE")
    if options["pid"] is None:
        live = [f"--{name}" for name in ("nodes", "duration") if options[name] is not None]
        live += ["--dry-run"] if options["is_dry"] else []
        live += ["--progress-file"] if options["file"] is not None else []
        live += ["--progress-event"] if options["event"] is not None else []
        live += ["--move-pages"] if options["moves_memory"] else []
        if live:
            raise click.UsageError(f"{', '.join(live)} goes with --pid")
    if model is not None:
        _simulate(model, policy or "all", seeds or DEFAULT_SEEDS, as_json=as_json)
        return
    if seeds is not None or policy == "all":
        raise click.UsageError("--seeds and --policy all go with --simulate")
    if records is not None:
        if policy is not None:
            raise click.UsageError("--policy goes with --pid and --simulate")
        _show(records, as_json=as_json)
        return
    _place(policy or "headway", as_json=as_json, **options)


def _simulate(model: str, policy: str, seeds: int, *, as_json: bool) -> None:
    """Print what policies would have done."""
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


def _show(path: Path, *, as_json: bool) -> None:
    """Print what was recorded of placing programs."""
    from headway.analyses.placement.records import read_placements

    found = read_placements(path)
    if as_json:
        from headway.report.json.placement import placed_json

        print_json(placed_json(found))
        return
    from headway.report.terminal import make_console
    from headway.report.terminal.placement import render_placed

    render_placed(found, make_console())


def _place(policy: str, *, as_json: bool, pid: int, **options: Any) -> None:
    """Place a running program until it ends, the duration is over, or somebody asks to end."""
    from headway.cli.live import ended_by_signals, over, process_descriptor, seconds
    from headway.placement.place import Request, place
    from headway.placement.progress import progress_of
    from headway.record.session.plan import running_process

    one_progress(options["file"], options["event"])
    nodes = declared(options["nodes"])
    memory_of_nodes(nodes, options["moves_memory"])
    request = Request(
        policy,
        nodes,
        options["is_dry"],
        None if options["duration"] is None else seconds(options["duration"], 0, "--duration"),
        options["moves_memory"],
    )
    process = running_process(pid, "place")
    with ended_by_signals() as ended, process_descriptor(process) as descriptor:
        found = place(
            process,
            request,
            lambda: progress_of(options["file"], options["event"]),
            record_printer(as_json=as_json),
            lambda wait_s: over(ended, descriptor, wait_s),  # type: ignore[arg-type,return-value]
        )
    if found is not None:
        out.echo_notice(found)


def declared(nodes: Nodes | None) -> tuple[frozenset[int], ...]:
    """Return the sets of CPUs of --nodes. Raises click.UsageError where it is only a number."""
    if nodes is not None and not nodes.sets:
        raise click.UsageError("--nodes: give the CPUs of each node, such as 0-7/8-15")
    return () if nodes is None else nodes.sets


def memory_of_nodes(nodes: tuple[frozenset[int], ...], moves_memory: bool) -> None:
    """Raise click.UsageError where memory is to be moved between nodes that are declared."""
    if nodes and moves_memory:
        raise click.UsageError("--move-pages goes with the machine's own nodes: sets of CPUs (--nodes) have no memory")


def one_progress(file: Path | None, event: str | None) -> None:
    """Raise click.UsageError where two options name a measure of progress."""
    if file is not None and event is not None:
        raise click.UsageError("give --progress-file or --progress-event, not both")


def record_printer(*, as_json: bool, err: bool = False) -> Callable[[Record], None]:
    """Return what prints a record as a line: for people with the time since the first, or JSON."""
    first_ns: list[int] = []

    def show(record: Record) -> None:
        first_ns.append(record.at_ns)
        if as_json:
            from headway.report.json.text import json_text, one_line

            out.echo(one_line(json_text(record.as_json())), err=err)
        else:
            lead = "headway: " if err else ""
            out.echo(f"{lead}{(record.at_ns - first_ns[0]) / 1e9:8.1f}s  {record.text}", err=err)

    return show
