"""`headway walltime` on the terminal: the measured time, and the predicted ones with what their intervals cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, significant
from headway.analyses.scheduling.work_growth import growth_text
from headway.errors.plurals import counted
from headway.report.terminal.printing.console import print_line, print_table, print_withholding_reasons
from headway.report.terminal.printing.notices import ALL, print_notices
from headway.report.terminal.printing.tables import UNKNOWN, make_table, time_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.scheduling.walltime import Prediction, Walltime


def render_walltime(result: Walltime, console: Console) -> None:
    """Print what was measured, the predictions, why some are withheld, and what weakens the figures."""
    if result.idleness is not None:
        print_line(console, result.idleness.sentence, bullet="*")
    runs = f", mean of {result.runs} runs" if result.runs > 1 else ""
    cores = counted(result.recorded_cores, "core")
    console.print(f"{duration(result.measured_ns)} measured on {cores}{runs}")
    if result.critical_ns > 0:
        console.print(floor_text(result))
    if result.growth is not None:
        other = counted(result.growth.other_cores, "core")
        print_line(console, f"work on {other}: {growth_text(result.growth)} as on {cores}", bullet="*")
    print_predictions(result, console)
    for interval in dict.fromkeys(each.interval for each in result.predictions if each.low_ns is not None):
        which = [each.cores for each in result.predictions if each.interval == interval]
        cores = f"{', '.join(map(str, which))} {'core' if which == [1] else 'cores'}"
        print_line(console, f"from-to on {cores} covers: {interval}", bullet=" ")
    print_notices(console, result.notices, also=ALL)


def floor_text(result: Walltime) -> str:
    """Return what no number of cores gets below: as doubtful as the predictions are."""
    text = f"by the model no number of cores takes it below {duration(result.critical_ns)}"
    low_ns = result.critical_low_ns
    if low_ns is None or low_ns >= result.critical_ns:
        return text
    return f"{text}; with what the intervals cover, not below {duration(low_ns)}"


def print_predictions(result: Walltime, console: Console) -> None:
    """Print the predictions, and why some are withheld."""
    print_table(console, walltime_table(result))
    print_withholding_reasons(console, result.predictions)


def walltime_table(result: Walltime) -> Table:
    """Predictions by number of cores."""
    table = make_table(
        ("cores", "right"),
        ("time", "right"),
        ("from", "right"),
        ("to", "right"),
        ("speedup", "right"),
        ("ideal", "right"),
        ("no steal", "right"),
        ("", "left"),
        title="Wall time by number of cores",
    )
    for each, ideal in zip(result.predictions, result.ideal_ns, strict=True):
        table.add_row(*_prediction(each, ideal, result))
    return table


def _prediction(each: Prediction, ideal_ns: int, result: Walltime) -> tuple[str, ...]:
    if each.ns is None:
        return str(each.cores), "withheld", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, ""
    return (
        str(each.cores),
        duration(each.ns),
        time_text(each.low_ns),
        time_text(each.high_ns),
        f"{significant(result.measured_ns / each.ns)}x" if each.ns else UNKNOWN,
        duration(ideal_ns),
        time_text(each.corrected_ns),
        "measured" if each.cores == result.recorded_cores else "",
    )
