"""Coz's profile format: one record a line, fields key=value after tabs, as Coz 0.2 writes it and its viewer reads it.

    startup, shutdown         time=NS                          begin and end of a run
    experiment                selected=LINE speedup=FRACTION duration=NS selected-samples=N
    throughput-point          name=POINT delta=VISITS          of the experiment above
    latency-point             name=POINT arrivals=N departures=N difference=IN FLIGHT
    runtime, samples          time=NS; location=LINE count=N   of all runs, for the correction of phases

`duration` is the effective one, delays taken out. Coz compares a line's experiments with those at 0 % *on the same line*;
ours are with the ones beside them, whatever line they were on: so an experiment at 0 % is written once for every line that it
stands beside. `difference` is a whole number in this format: the mean number in flight, rounded. Results of Coz's viewer differ
from ours by what neighbours and phases are for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.analyses.causal import pairs
from headway.analyses.causal.data import read
from headway.errors import HeadwayError
from headway.report.output import new_file
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headway.analyses.causal.data import Data
    from headway.store import Recording


def export_coz(recording: Recording, path: Path | str, *, overwrite: bool = False) -> Path:
    """Write a causal recording's experiments in Coz's format.

    Raises HeadwayError HW635 for another recording, HW500 or HW501 (see `new_file`).
    """
    if not recording.manifest.is_causal:
        raise HeadwayError("HW635", path=recording.path)
    data = read(recording)
    with new_file(path, overwrite=overwrite) as out:
        for line in coz_lines(data):
            out.write(f"{line}\n".encode())
    return Path(path)


def coz_lines(data: Data) -> Iterator[str]:
    """Yield the records."""
    columns = data.columns
    beside = _beside(data)
    rows_of: dict[int, list[int]] = {int(run): [] for run in data.runs}
    for row, run in enumerate(columns["run"].tolist()):
        rows_of[run].append(row)
    for rows in rows_of.values():
        if not rows:
            continue
        yield f"startup\ttime={columns['start_ns'][rows[0]]}"
        for row in rows:
            for line in beside.get(row, []):
                yield from _experiment(data, row, line)
        yield f"shutdown\ttime={columns['start_ns'][rows[-1]] + columns['dur_ns'][rows[-1]]}"
    yield f"runtime\ttime={data.recorded_ns}"
    for facts in data.lines.values():
        if facts["samples"]:
            yield f"samples\tlocation={coz_name(facts)}\tcount={facts['samples']}"


def coz_name(facts: Mapping[str, Any]) -> str:
    """Return a line as Coz names it: folder/File.java:42; other targets by what they are, with their package.

    Coz adds up what has one name, so that different targets must have different ones.
    """
    kind, class_name, number = facts["kind"], str(facts["class_name"]), facts["line_number"] or 0
    if kind == "line" and number > 0:
        *outer, short = class_name.split(".")
        name = "/".join([*outer, f"{facts['file'] or short.split('$')[0]}:{number}"])
    elif kind in ("line", "method"):  # a class without line numbers goes by its methods
        name = f"{class_name}.{facts['method']}"
    elif kind == "lock":
        name = f"lock {class_name}:{number}" if number > 0 else f"lock {class_name}"
    else:
        name = "GC pauses"
    return printable(name)


def _beside(data: Data) -> dict[int, list[int]]:
    """Return the lines under which each experiment is written: its own; at 0 % those of its neighbours."""
    compared, _ = pairs.pairs(data, pairs.usable(data))
    found: dict[int, list[int]] = {}
    for treated, *neighbours in zip(
        compared.treated.tolist(), compared.before.tolist(), compared.after.tolist(), strict=True
    ):
        line = int(data.columns["line"][treated])
        if line not in data.lines:
            continue
        for row in (treated, *neighbours):
            if row >= 0 and line not in found.setdefault(row, []):
                found[row].append(line)
    return found


def _experiment(data: Data, row: int, line: int) -> Iterator[str]:
    columns = data.columns
    effective_ns = int(columns["effective_ns"][row])
    is_of_line = columns["line"][row] == line
    yield "\t".join(
        (
            "experiment",
            f"selected={coz_name(data.lines[line])}",
            f"speedup={columns['speedup_pct'][row] / 100:.2f}",
            f"duration={effective_ns}",
            f"selected-samples={columns['hits'][row] if is_of_line else 0}",
        )
    )
    for measured in data.measures:
        name, visits = printable(measured.name), round(float(measured.visits[row]))
        if measured.measure == "latency":
            difference = round(float(measured.time_ns[row]) / max(effective_ns, 1))
            yield f"latency-point\tname={name}\tarrivals={visits}\tdepartures={visits}\tdifference={difference}"
        else:
            yield f"throughput-point\tname={name}\tdelta={visits}"
