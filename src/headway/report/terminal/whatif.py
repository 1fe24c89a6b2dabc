"""`headway whatif` on the terminal: how well the unchanged run was replayed, and the wall time after each change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent, significant
from headway.analyses.whatif.types import WHOLE_CORES, Change
from headway.errors.plurals import counted
from headway.report.terminal.console import print_line, print_table
from headway.report.terminal.lock_names import without_package
from headway.report.terminal.notices import ALL, print_notices
from headway.report.terminal.tables import make_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.whatif.types import Predicted, UnchangedRun, WhatIf

_LIMITS = {
    "lock": "threads wait for a lock while cores are free",
    "cores": "more threads are ready than there are cores, or as many",
    "serial": "one thread is ready, and there are more cores",
    "waiting": "no thread is ready: sleep, I/O, what comes from outside",
    "threads": "fewer threads are ready than there are cores",
}


def render_whatif(result: WhatIf, console: Console) -> None:
    """Print the replay of each unchanged run, the predictions, and what weakens them."""
    for each in result.replays:
        print_line(console, _replay_text(each), bullet="*")
    if result.refused is not None:
        print_notices(console, (result.refused, *result.notices), also=ALL)
        return
    print_table(console, _table(result))
    for cause in dict.fromkeys(each.next_cause for each in result.predicted):
        if cause is not None:
            print_line(console, f"{cause}: {_LIMITS[cause]}{_places(result, cause)}", bullet=" ")
    print_notices(console, result.notices, also=ALL)


def _replay_text(each: UnchangedRun) -> str:
    name, cores = Path(each.path).name, counted(each.recorded_cores, "core")
    text = f"{name}: {duration(each.measured_ns)} measured on {cores}"
    if each.replayed_ns is None or each.quiet_ns is None or each.error is None:
        return f"{text}; it can't be replayed"
    off = f"{duration(each.replayed_ns)} replayed ({percent(abs(each.error))} off)"
    return f"{text}, {off}; {duration(each.quiet_ns)} on a machine that runs nothing else"


def _table(result: WhatIf) -> Table:
    has_others = len(result.replays) > 1
    table = make_table(
        ("change", "left"),
        *((("recording", "left"),) if has_others else ()),
        ("time", "right"),
        ("from", "right"),
        ("to", "right"),
        ("speedup", "right"),
        ("limited by", "left"),
        title="Wall time after a change, on a machine that runs nothing else",
    )
    recorded = result.replays[0].recorded_cores
    for each in result.predicted:
        row = (duration(each.wall_ns), duration(each.low_ns), duration(each.high_ns))
        which = (Path(each.path).name,) if has_others else ()
        table.add_row(_change(each, recorded), *which, *row, f"{significant(each.speedup)}x", each.next_cause or "")
    return table


def _change(each: Predicted, recorded_cores: int) -> str:
    change = each.change
    is_only_cores = change == Change(change.cores) and not each.together
    parts = [
        *([counted(change.cores, "core")] if is_only_cores or change.cores != recorded_cores else []),
        *(["together"] if each.together else []),
        *([change.smt.text] if change.smt != WHOLE_CORES else []),
        *([f"{change.clock:g}x clock"] if change.clock != 1 else []),
        *([f"{change.io:g}x I/O"] if change.io != 1 else []),
        *([] if change.has_gc else ["no collections"]),
        *[replace(lock, lock=without_package(lock.lock)).text for lock in change.locks],
        *[sleep.text for sleep in change.sleeps],
        *[replace(method, method=without_package(method.method)).text for method in change.methods],
    ]
    return ", ".join(parts)


def _places(result: WhatIf, cause: str) -> str:
    found = dict.fromkeys(each.next_place for each in result.predicted if each.next_cause == cause and each.next_place)
    return f": {', '.join(map(without_package, found))}" if found else ""
