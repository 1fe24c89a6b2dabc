"""`headway counters` as an analysis of the seam: what the counters counted, by thread, phase, region, lock, iteration ..."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from headway.analyses.counters.metrics import SETS
from headway.analyses.counters.types import BY
from headway.report.analysis import BaseAnalysis, Shown, View, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import IterationsType
from headway.report.selection import named_regions

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from headway.analyses.counters.types import Counters
    from headway.analyses.overview import Overview
    from headway.store import Recording

TOP = 20
"""Rows on the terminal unless all are asked for."""
_EVERY_SET = "all"


class CountersAnalysis(BaseAnalysis):
    """The analysis `counters`: what was counted while each thread ran."""

    name = "counters"
    summary = summary_of(name)
    help = """Tell what the counters of the CPUs and of the kernel counted.

    For recordings made with --counters. Each count is exact where its group
    counted all the time; a group that took turns with others is scaled, has an
    interval, and is withheld where it counted too little. An event that does
    not count here is absent, not zero. Where slices reach over the border of a window or a phase their
    counts are divided by time, and the interval says so. By lock it is what
    their holders counted from each contended acquire to the release. By
    region it is what the program's threads counted in its instances; by
    iteration what all threads did, with mean and spread. Recordings without
    eBPF have a total of each thread. With --pid it is what each thread of a
    running process counts now, recorded or not.
    """
    examples = (
        "headway counters app.headway",
        "headway counters app.headway --by phase --from 2s",
        "headway counters app.headway --by kind --json",
        "headway counters app.headway --by lock --all",
        "headway counters app.headway --by region --region 'kmeans=KMeans\\.assign'",
        "headway counters app.headway --by iteration --iterations gc --last 10",
        "headway counters --pid 4711 --interval 500ms",
    )

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --by, what it needs, --metrics and --all."""
        return (
            click.Option(
                ["--by"],
                type=click.Choice(BY),
                default="thread",
                show_default=True,
                help="What counts are divided by.",
            ),
            click.Option(
                ["--region", "regions"],
                multiple=True,
                metavar="NAME=RE",
                help="By region: stacks with a frame (Class.method) that matches, or the name of a sweep's region. Any number; "
                "none: those of the sweep that it is a run of, else all time with several threads at work.",
            ),
            click.Option(
                ["--iterations"],
                type=IterationsType(),
                metavar="MARKS",
                help="By iteration: gc (each System.gc() begins one), method=RE (stretches in it), marker=TEXT (lines that the "
                "recorder looked for). [as recorded, else gc]",
            ),
            click.Option(
                ["--last"],
                type=click.IntRange(1, 1_000_000),
                metavar="K",
                help="By iteration: only the last K of them.",
            ),
            click.Option(
                ["--metrics", "of_set"],
                type=click.Choice((*SETS, _EVERY_SET)),
                is_flag=False,
                flag_value=_EVERY_SET,
                default=_EVERY_SET,
                show_default=True,
                help="Only the metrics of this set.",
            ),
            click.Option(["--all", "show_all"], is_flag=True, help=f"List all rows, not only {TOP}."),
        )

    def check(self, path: Path | None, **options: Any) -> None:
        """Refuse options of another --by than the one that is asked for."""
        if options["regions"] and options["by"] != "region":
            raise click.UsageError("--region is about regions: add --by region")
        if (options["iterations"] is not None or options["last"] is not None) and options["by"] != "iteration":
            raise click.UsageError("--iterations and --last are about iterations: add --by iteration")

    def run(self, recording: Recording, window: Window, **options: Any) -> Shown[Counters]:
        """Return what was counted. Raises HeadwayError as `counters`, `counters_by_region` and `counters_by_iteration`."""
        of_set = None if options["of_set"] == _EVERY_SET else options["of_set"]
        return Shown(_asked(recording, window, of_set, options), options["show_all"])

    def to_json(self, result: Shown[Counters]) -> dict[str, Any]:
        """Return the stable form of the answer."""
        from headway.report.json.counters import counters_json

        return counters_json(result.answer)

    def render(self, result: Shown[Counters], console: Console, name: str) -> None:
        """Print counts and metrics, of the first rows or of all."""
        from headway.report.terminal.counters import render_counters

        render_counters(result.answer, console, None if result.show_all else TOP)

    def view(self, recording: Recording, found: Overview) -> View:
        """Return what was counted, by thread and over time."""
        from headway.report.html.counters import counters_view

        return counters_view(recording)


def _asked(recording: Recording, window: Window, of_set: str | None, options: dict[str, Any]) -> Counters:
    from headway.analyses.counters.analysis import counters
    from headway.analyses.counters.by_runs import has_runs, joined
    from headway.analyses.counters.totals.socket_units import socket_units
    from headway.analyses.counters.totals.thread_totals import has_thread_totals, thread_totals
    from headway.analyses.counters.totals.whole_cpus import only_whole_cpus, whole_cpus
    from headway.analyses.regions.counted import counters_by_iteration, counters_by_region

    by, whole = options["by"], whole_cpus(recording, of_set)
    units = socket_units(recording)
    if has_thread_totals(recording) and not (by == "cpu" and whole is not None):
        return replace(thread_totals(recording, by, window, of_set), sockets=units)
    if (whole is not None or units) and (alone := only_whole_cpus(recording, whole, by, window)) is not None:
        return replace(alone, sockets=units)

    def answer(run: Recording) -> Counters:
        if by == "region":
            return counters_by_region(run, named_regions(options["regions"], recording.path), window, of_set)
        if by == "iteration":
            return counters_by_iteration(run, options["iterations"], window, options["last"], of_set)
        return counters(run, window, by=by, of_set=of_set)

    found = joined(recording, answer, by, window) if has_runs(recording) else answer(recording)
    if window is not None:  # of a part of the recording there are no totals
        return found
    return replace(found, whole=whole if by == "cpu" else None, sockets=units)


COUNTERS = CountersAnalysis()
