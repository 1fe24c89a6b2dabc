"""`headway import`: a recording out of a file of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli import out
from headway.cli.options import TimePoint, TimeType, keep_arguments_option
from headway.cli.recording import Progress
from headway.errors.plurals import counted
from headway.report.terminal.printing.text import printable


@click.command(
    name="import",
    short_help="Make a recording of a JFR file, or of other tools' files.",
    epilog="""\b
Examples:
  headway import production.jfr              # writes production.headway
  headway import app.jfr.gz -o app.headway && headway locks app.headway
  headway import cpu.collapsed --event cpu --interval 10ms -o cpu.headway
""",
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="NAME.headway", help="Default: FILE's name, here."
)
@click.option("--force", is_flag=True, help="Replace the recording if it is there.")
@keep_arguments_option
@click.option("--event", default="samples", show_default=True, metavar="NAME", help="What collapsed stacks count: cpu, "
              "wall, alloc, cycles ...")  # fmt: skip
@click.option("--interval", type=TimeType(), metavar="T", help="Time that a count of collapsed stacks stands for.")
def command(
    file: Path, output: Path | None, force: bool, keep_arguments: bool, event: str, interval: TimePoint | None
) -> int:
    """Make a recording of a file of another tool: a JFR file of the JDK (17 to 25) or of async-profiler, also one that was
    compressed with gzip; collapsed stacks; counters in CSV (columns threads, program, region, cycles, instructions,
    cache_misses).

    A JFR file gives locks, profiles, phases and threads, and each of its events as a table jfr_NAME for `headway query`.
    It does not know when threads ran: there is no parallelism and no wall-time prediction in it.
    """
    from headway.record.imports.bring_in import import_file
    from headway.record.imports.importer import ImportOptions

    if interval is not None and not interval.ns:
        raise click.UsageError(f"--interval {interval.text}: give a time above zero, such as 10ms")
    options = ImportOptions(event, interval.ns if interval else None, keep_arguments, Progress())
    output = output or Path(f"{Path(file.name.removesuffix('.gz')).stem}.headway")
    manifest = import_file(file, output, options, force=force)
    rows = {name: info.rows for name, info in manifest.tables.items() if info.rows}
    samples = (manifest.extra.get("import") or {}).get("samples")
    rows |= {"sample": samples} if samples else {}
    tables = len([name for name in rows if name.startswith("jfr_")])
    counts = [counted(rows[name], name) for name in ("sample", "block", "thread") if name in rows]
    counts += [f"{tables} tables of events"] if tables else []
    counts += [f"{rows['region_counter']} rows of counters"] if "region_counter" in rows else []
    out.echo(f"headway: imported {printable(str(output))} ({', '.join(counts)})", err=True)
    for notice in manifest.notices:
        out.echo_notice(notice)
    return 0
