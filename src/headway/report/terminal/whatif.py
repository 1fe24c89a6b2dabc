"""`headway whatif` on the terminal: how well the unchanged run was replayed, and the wall time after each change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.common.causes import CAUSES
from headway.analyses.common.units import duration, percent, significant
from headway.analyses.whatif.predicted_run import CORES
from headway.errors.plurals import counted
from headway.report.terminal.console import print_line, print_table
from headway.report.terminal.lock_names import without_package
from headway.report.terminal.notices import ALL, print_notices
from headway.report.terminal.tables import make_table
from headway.report.terminal.whatif_account import predicted_text, render_predicted_accounts, title_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.whatif.types import UnchangedRun, WhatIf

_CORES = "for most of the time as many threads are ready as there are cores, or more"


def render_whatif(result: WhatIf, console: Console) -> None:
    """Print the replay of each unchanged run, the predictions, and what weakens them."""
    for each in result.replays:
        print_line(console, _replay_text(each), bullet="*")
    if result.refused is not None:
        print_notices(console, (result.refused, *result.notices), also=ALL)
        return
    print_table(console, _table(result))
    if result.tried is not None:
        print_line(
            console, f"the best of {counted(result.tried, 'change')} and pairs of changes that were tried", bullet=" "
        )
    for cause in dict.fromkeys(each.next_cause for each in result.predicted):
        if cause is not None:
            meaning = _CORES if cause == CORES else CAUSES[cause]
            print_line(console, f"{title_of(cause)}: {meaning}{_places(result, cause)}", bullet=" ")
    render_predicted_accounts(result.predicted, result.replays[0].recorded_cores, console)
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
        table.add_row(
            predicted_text(each, recorded), *which, *row, f"{significant(each.speedup)}x", title_of(each.next_cause)
        )
    return table


def _places(result: WhatIf, cause: str) -> str:
    found = dict.fromkeys(each.next_place for each in result.predicted if each.next_cause == cause and each.next_place)
    return f": {', '.join(map(without_package, found))}" if found else ""
