"""`headway whatif` as an analysis of the seam: how long it would take after a change, by replaying the recording."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import CoresType, FactorType, OfLockType, PoolType, QueueType, SleepType, SmtType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.whatif.grid import Grid
    from headway.analyses.whatif.types import LockChange, WhatIf
    from headway.report.section import Section
    from headway.store import Recording


class WhatIfAnalysis(BaseAnalysis):
    """Replays a recording on other cores, beside another one, without a lock, or with something faster."""

    name = "whatif"
    summary = summary_of(name)
    help = """Replay a recording as if something were different, and predict the wall time.

    Without options it tries changes, alone and the best of them in pairs, and ranks them by what they gain: no waiting for a
    lock or a connection, no collections, faster I/O, twice the cores, no sleep, a faster method.

    The unchanged run is replayed first; if that differs from the run by more than 5 %, nothing is predicted. Predictions are
    for a machine that runs nothing else. Changes given together are made together; with --together those of locks,
    sleeps, methods, pools, queues, waits and stages are made in the first recording, all others in both."""
    examples = (
        "headway whatif app.headway",
        "headway whatif app.headway --cores 1,2,4,8",
        "headway whatif app.headway --without-lock com.acme.Cache.get:42 --explain",
        "headway whatif app.headway --shorter-hold com.acme.Cache.get:42=50%",
        "headway whatif app.headway --no-sleep Poller.run=0.001",
        "headway whatif app.headway --faster com.acme.Parser.parse=50%",
        "headway whatif app.headway --pool pool-1=16",
        "headway whatif app.headway --queue com.acme.Reader.run:12=1000",
        "headway whatif app.headway --no-wait com.acme.Store.borrow:20",
        "headway whatif app.headway --balanced com.acme.Frame.render:30",
        "headway whatif app.headway --cores 8 --smt 2=1.25",
        "headway whatif app.headway --no-gc --clock 0.8",
        "headway whatif a.headway --together b.headway --cores 4 --json",
    )
    has_window = False
    section_needs = ("slice",)

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return the changes that can be made."""
        explain = (
            "What each predicted run loses its cores to, its locks and critical path, and what a further change gains."
        )
        return (
            *_of_the_machine(),
            *_of_locks(),
            *_of_the_program(),
            click.Option(["--explain"], is_flag=True, help=explain),
        )

    def run(self, recording: Recording, window: Window, **options: Any) -> WhatIf | Grid | None:
        """Return the predictions; for the report, which has no options, its grid.

        Raises HeadwayError as `whatif` of analyses.whatif.analysis, and `open_recording`.
        """
        if not options:
            from headway.analyses.whatif.grid import grid

            return grid(recording)
        from headway.analyses.lost_cores.idleness import idleness

        return dataclasses.replace(self._predicted(recording, **options), idleness=idleness(recording))

    def _predicted(self, recording: Recording, **options: Any) -> WhatIf:
        from headway.analyses.whatif.analysis import whatif
        from headway.analyses.whatif.ranking import ranking
        from headway.analyses.whatif.types import (
            WHOLE_CORES,
            BalanceChange,
            Change,
            MethodChange,
            PoolChange,
            QueueChange,
            SleepChange,
            WaitChange,
        )
        from headway.store import open_recording

        faster = {"clock": options["clock"], "io": options["faster_io"]}
        sleeps = tuple(SleepChange(place, seconds) for place, seconds in options["no_sleep"])
        methods = tuple(MethodChange(method, part) for method, part in options["faster"])
        change = Change(
            1,
            **faster,
            has_gc=not options["no_gc"],
            locks=_lock_changes(options),
            sleeps=sleeps,
            methods=methods,
            smt=options["smt"] or WHOLE_CORES,
            pools=tuple(PoolChange(pool, workers) for pool, workers in options["pool"]),
            queues=tuple(QueueChange(queue, room) for queue, room in options["queue"]),
            balanced=tuple(BalanceChange(place) for place in options["balanced"]),
            waits=tuple(WaitChange(place) for place in options["no_wait"]),
        )
        cores = options["cores"] or (recording.manifest.recorded_cores or 1,)
        explain = options["explain"]
        if options["together"] is None:
            is_open = change == Change(1) and not options["cores"]
            if is_open:
                return ranking(recording, is_explained=explain)
            return whatif(recording, cores, change, is_explained=explain)
        with contextlib.closing(open_recording(options["together"])) as beside:
            return whatif(recording, cores, change, beside, is_explained=explain)

    def to_json(self, result: WhatIf) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.whatif import whatif_json

        return whatif_json(result)

    def section(self, result: Grid | None) -> Section | None:
        """Return the grid: numbers of cores by the best changes."""
        from headway.report.analyses.whatif_section import whatif_section

        return whatif_section(result)

    def render(self, result: WhatIf, console: Console, name: str) -> None:
        """Print how well the unchanged run was replayed, and the predictions."""
        from headway.report.terminal.whatif import render_whatif

        render_whatif(result, console)


def _of_the_machine() -> tuple[click.Option, ...]:
    """Return the options that change the machine, or what else runs on it."""
    cores = "Numbers of cores, such as 1,2,4,8; the recorded one where another change is asked for."
    return (
        click.Option(["--cores"], type=CoresType(), metavar="LIST", help=cores),
        click.Option(
            ["--together"],
            type=click.Path(path_type=Path),
            metavar="OTHER.headway",
            help="Both programs at once, each with threads as it had them: alone and together.",
        ),
        click.Option(["--clock"], type=FactorType(), default=1.0, metavar="FACTOR", help="CPUs FACTOR times as fast."),
        click.Option(
            ["--faster-io"], type=FactorType(), default=1.0, metavar="FACTOR", help="I/O FACTOR times as fast."
        ),
        click.Option(
            ["--smt"],
            type=SmtType(),
            metavar="K=FACTOR",
            help="--cores counts logical CPUs, K of a core, which with all of them busy does FACTOR times as much.",
        ),
        click.Option(["--no-gc"], is_flag=True, help="As if nothing had to be collected."),
    )


def _of_locks() -> tuple[click.Option, ...]:
    """Return the options that change locks."""
    return (
        click.Option(
            ["--without-lock"],
            multiple=True,
            metavar="LOCK",
            help="Nobody waits for LOCK: an object or place as `headway locks` prints it. Needs --locks recorded.",
        ),
        click.Option(
            ["--shorter-hold"],
            multiple=True,
            type=OfLockType(is_part=True),
            metavar="LOCK=PART",
            help="LOCK is released after PART (50%) of what threads do with it; the rest they do without.",
        ),
        click.Option(
            ["--split-lock"],
            multiple=True,
            type=OfLockType(is_part=False),
            metavar="LOCK=N",
            help="N locks instead of LOCK; who needs which is left to chance.",
        ),
    )


def _of_the_program() -> tuple[click.Option, ...]:
    """Return the options that change what threads do, and how many share a task."""
    return (
        click.Option(
            ["--no-sleep"],
            multiple=True,
            type=SleepType(),
            metavar="REGEX=SECONDS",
            help="Sleeps whose place (Class.method:line; needs --sample wall) or else thread matches last so long.",
        ),
        click.Option(
            ["--faster"],
            multiple=True,
            type=OfLockType(is_part=True, what="METHOD"),
            metavar="METHOD=PART",
            help="METHOD (Class.method), with what it calls, takes PART (50%) of its CPU time. Needs --sample cpu.",
        ),
        click.Option(
            ["--pool"],
            multiple=True,
            type=PoolType(),
            metavar="NAME=N",
            help="N workers in the fixed thread pool whose threads are called NAME. Needs --locks recorded.",
        ),
        click.Option(
            ["--queue"],
            multiple=True,
            type=QueueType(),
            metavar="NAME=N",
            help="Room for N in the queue in which threads wait for room at NAME (line or object). Needs --locks recorded.",
        ),
        click.Option(
            ["--no-wait"],
            multiple=True,
            metavar="PLACE",
            help="Nobody waits at PLACE (a line or method) for a connection, a permit or what else several threads may have at "
            "once: there are enough. Needs --locks recorded.",
        ),
        click.Option(
            ["--balanced"],
            multiple=True,
            metavar="PLACE",
            help="Equal parts of the parallel stages that threads wait for at PLACE (a line). Needs --locks recorded.",
        ),
    )


def _lock_changes(options: dict[str, Any]) -> tuple[LockChange, ...]:
    from headway.analyses.whatif.types import LockChange

    return (
        *(LockChange(lock, is_removed=True) for lock in options["without_lock"]),
        *(LockChange(lock, held_part=part) for lock, part in options["shorter_hold"]),
        *(LockChange(lock, parts=int(parts)) for lock, parts in options["split_lock"]),
    )


WHATIF = WhatIfAnalysis()
