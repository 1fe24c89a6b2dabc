"""`headway parallelism`: T_j of a recording, as tables or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import options
from headway.cli.options import KindsType, TimePoint, TimeType

if TYPE_CHECKING:
    from headway.analyses.parallelism import Level, Parallelism


def to_json(result: Parallelism) -> dict[str, Any]:
    """Return the stable form of a result; keys may be added, never changed."""

    def rows(levels: tuple[Level, ...], key: str) -> list[dict[str, int | None]]:
        return [{key: level.threads, "ns": level.ns, "corrected_ns": level.corrected_ns} for level in levels]

    return {
        "wall_ns": result.wall_ns,
        "corrected_wall_ns": result.corrected_wall_ns,
        "from_ns": result.window_ns[0],
        "to_ns": result.window_ns[1],
        "mode": result.mode,
        "kinds": list(result.kinds),
        "mean_active": result.mean_active,
        "max_active": result.max_active,
        "mean_running": result.mean_running,
        "max_running": result.max_running,
        "idle_share": result.idle_share,
        "serial_share": result.serial_share,
        "percentiles": {str(p): threads for p, threads in result.percentiles.items()},
        "stolen_core_ns": result.stolen_core_ns,
        "running_core_ns": dict(result.running_core_ns),
        "levels": rows(result.levels, "active"),
        "running_levels": rows(result.running_levels, "running"),
        "by_kind": {kind: rows(levels, "active") for kind, levels in result.by_kind.items()},
        "running_by_kind": {kind: rows(levels, "running") for kind, levels in result.running_by_kind.items()},
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _print(result: Parallelism) -> None:
    from headway.analyses.units import duration, percent, significant
    from headway.report import terminal
    from headway.report.terminal import tables

    console = terminal.make_console()
    middle = result.percentiles
    console.print(f"{significant(result.mean_active)} threads active on average, {result.max_active} at most")
    console.print(f"{significant(result.mean_running)} running on average, {result.max_running} at most")
    console.print(
        f"one thread alone for {percent(result.serial_share)} of the time, none for {percent(result.idle_share)}"
    )
    console.print(f"half of the time at most {middle[50]} active, {middle[5]} to {middle[95]} for nine tenths of it")
    console.print(f"wall time {duration(result.wall_ns)}, mode {result.mode}")
    terminal.print_table(console, tables.levels_table(result))
    terminal.print_table(console, tables.kinds_table(result))
    terminal.print_notices(console, result.notices)


@click.command(
    epilog="""\b
Examples:
  headway parallelism app.headway
  headway parallelism app.headway --from 2s --to 50%
  headway parallelism app.headway --kind app --json
"""
)
@options.recording_argument
@click.option("--from", "start", type=TimeType(), metavar="T", help="Begin of the window: 1.5s, 200ms, 2m, 25% ...")
@click.option("--to", "end", type=TimeType(), metavar="T", help="End of the window.")
@click.option("--kind", "kinds", type=KindsType(), metavar="LIST", help="Count only these: app,gc,jit,vm.")
@options.json_option
def command(
    recording_path: Path, start: TimePoint | None, end: TimePoint | None, kinds: tuple[str, ...] | None, as_json: bool
) -> None:
    """Tell for how long how many threads were active (running or runnable)."""
    from headway.analyses import activity, parallelism
    from headway.store import open_recording

    recording = open_recording(recording_path)
    window = options.resolve_window(start, end, activity.wall_ns(recording))
    result = parallelism.parallelism(recording, window, kinds)
    if as_json:
        options.print_json(to_json(result))
    else:
        _print(result)
