"""`headway import`: a recording out of a file of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import TimePoint, TimeType
from headway.cli.recording import Progress


@click.command(
    name="import",
    short_help="Make a recording of a JFR file, or of other tools' files.",
    epilog="""\b
Examples:
  headway import production.jfr -o production.headway
  headway import app.jfr.gz -o app.headway && headway locks app.headway
  headway import cpu.collapsed --event cpu --interval 10ms -o cpu.headway
""",
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="NAME.headway", help="What to write."
)
@click.option("--force", is_flag=True, help="Replace the recording if it is there.")
@click.option("--event", default="samples", show_default=True, metavar="NAME", help="What collapsed stacks count: cpu, "
              "wall, alloc, cycles ...")  # fmt: skip
@click.option("--interval", type=TimeType(), metavar="T", help="Time that a count of collapsed stacks stands for.")
def command(file: Path, output: Path, force: bool, event: str, interval: TimePoint | None) -> int:
    """Make a recording of a file of another tool: a JFR file of the JDK (17 to 25) or of async-profiler, also one that was
    compressed with gzip; collapsed stacks; counters in CSV (columns threads, program, region, cycles, instructions,
    cache_misses).

    A JFR file gives locks, profiles, phases and threads, and each of its events as a table jfr_NAME for `headway query`.
    It does not know when threads ran: there is no parallelism and no wall-time prediction in it.
    """
    from headway.record.jfr.bring_in import import_file

    if interval is not None and not interval.ns:
        raise click.UsageError(f"--interval {interval.text}: give a time above zero, such as 10ms")
    manifest = import_file(
        file, output, force=force, event=event, interval_ns=interval.ns if interval else None, progress=Progress()
    )
    rows = {name: info.rows for name, info in manifest.tables.items() if info.rows}
    tables = len([name for name in rows if name.startswith("jfr_")])
    told = [f"{rows[name]} {name}s" for name in ("sample", "block", "thread") if name in rows]
    told += [f"{tables} tables of events"] if tables else []
    told += [f"{rows['region_counter']} rows of counters"] if "region_counter" in rows else []
    click.echo(f"headway: imported {output} ({', '.join(told)})", err=True)
    for notice in manifest.notices:
        click.echo(f"{notice.id}: {notice.message}", err=True)
    return 0
