"""`headway memory` as an analysis of the seam: how a program uses memory, beside published programs."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, Section, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import IterationsType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.memory.types import MemoryAnswer
    from headway.store import Recording

DEFAULT_LAST = 10


class MemoryAnalysis(BaseAnalysis):
    """The analysis `memory`: how a program uses memory, beside published programs."""

    name = "memory"
    summary = summary_of(name)
    help = """Tell how a program uses memory: what it allocates, executes and misses.

    What is allocated needs a recording with --objects allocations, reads
    for each write one with --objects accesses, and instructions and misses
    one with --counters. Figures of allocations and counters stand beside
    those of 31 published programs (DaCapo and Renaissance on 8 cores). What
    is not recorded is named, with its reason and the recording that would
    have it. Where iterations are recorded, figures of counters are the mean
    of the last ones. Counting accesses slows a program down: a second
    recording, of the same program without them, has the time for rates.
    """
    examples = (
        "headway record --objects allocations -o app.headway -- java -jar app.jar",
        "headway memory app.headway",
        "headway memory accesses.headway app.headway",
        "headway memory app.headway --iterations gc --last 5",
        "headway memory app.headway --json",
    )
    has_window = False
    section_needs = ("allocation",)

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return a second recording, --iterations and --last."""
        return (
            click.Argument(["other"], type=click.Path(path_type=Path), required=False, metavar="[TIMED.headway]"),
            click.Option(
                ["--iterations"],
                type=IterationsType(),
                metavar="MARKS",
                help="What tells iterations apart, as in 'headway counters'. [as recorded; else all is one]",
            ),
            click.Option(
                ["--last"],
                type=click.IntRange(1, 1_000_000),
                default=DEFAULT_LAST,
                show_default=True,
                metavar="K",
                help="With iterations: the last K of them.",
            ),
        )

    def run(self, recording: Recording, window: Window, **options: Any) -> MemoryAnswer:
        """Return the figures. Raises HeadwayError as `memory` of analyses.memory.analysis."""
        from headway.analyses.memory.analysis import memory

        marks, last = options.get("iterations"), options.get("last", DEFAULT_LAST)
        if options.get("other") is None:
            return memory(recording, marks, last)
        from headway.store import open_recording

        with contextlib.closing(open_recording(options["other"])) as timed:
            return memory(recording, marks, last, timed)

    def to_json(self, result: MemoryAnswer) -> dict[str, Any]:
        """Return the stable form of all figures."""
        from headway.report.json.memory import memory_json

        return memory_json(result)

    def section(self, result: MemoryAnswer) -> Section:
        """Return what is known as a table, and as sentences what is not, with its reason."""
        from headway.report.analyses.memory_texts import gap_texts, head_sentences, scatter, tables

        texts = [*gap_texts(result)]
        after = [remedy for _, remedy in texts[1:]] + [""]
        gaps = [  # what gives several figures is said once, after the last of them
            f"{text} Next: {remedy}" if remedy and remedy != following else text
            for (text, remedy), following in zip(texts, after, strict=True)
        ]
        return Section("Memory", (*head_sentences(result), *gaps), tables(result), result.notices, scatter(result))

    def render(self, result: MemoryAnswer, console: Console, name: str) -> None:
        """Print the known figures as a table, then what is not known."""
        from headway.report.terminal.memory import render_memory

        render_memory(result, console)


MEMORY = MemoryAnalysis()
