"""`headway whatif` on the terminal: how well the unchanged run was replayed, and the wall time after each change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.common.causes import BLOCKED, CAUSES, FEW, SERIAL
from headway.analyses.common.units import duration, percent, significant
from headway.analyses.whatif.predicted_run import CORES
from headway.errors.plurals import counted
from headway.report.terminal.lock_names import without_package
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import ALL, print_notices
from headway.report.terminal.printing.tables import make_table
from headway.report.terminal.whatif_account import limit_of, predicted_text, render_predicted_accounts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.whatif.types import Predicted, UnchangedRun, WhatIf

_CORES = "for most of the time as many threads are ready as there are cores, or more"
_READY = {
    SERIAL: "one thread is ready",
    FEW: "fewer threads are ready than there are cores",
    BLOCKED: "no thread is ready",
}
"""What the number of ready threads says of a run whose lost cores are not known."""


def render_whatif(result: WhatIf, console: Console) -> None:
    """Print the replay of each unchanged run, the predictions, and what weakens them."""
    if result.idleness is not None:
        print_line(console, result.idleness.sentence, bullet="*")
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
    limits = (f"{limit_of(each)}: {_meaning(each, result)}" for each in result.predicted if each.next_cause is not None)
    for text in dict.fromkeys(limits):
        print_line(console, text, bullet=" ")
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
    table.columns[0].overflow = "fold"  # two pairs may begin alike
    recorded = result.replays[0].recorded_cores
    for each in result.predicted:
        row = (duration(each.wall_ns), duration(each.low_ns), duration(each.high_ns))
        which = (Path(each.path).name,) if has_others else ()
        table.add_row(predicted_text(each, recorded), *which, *row, f"{significant(each.speedup)}x", limit_of(each))
    return table


def _meaning(each: Predicted, result: WhatIf) -> str:
    """Return what it means that a cause limits a predicted run, with its places; without an account, what is known of it."""
    cause = each.next_cause or ""
    if cause == CORES:
        return _CORES
    if each.without_account is None:
        return CAUSES[cause] + _places(result, cause)
    return (
        f"mostly {_READY[cause]}; what threads wait for then is not known without an account ({each.without_account})"
    )


def _places(result: WhatIf, cause: str) -> str:
    found = dict.fromkeys(each.next_place for each in result.predicted if each.next_cause == cause and each.next_place)
    return f": {', '.join(map(without_package, found))}" if found else ""
