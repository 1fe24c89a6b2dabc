"""Notes of agents become the tables of a causal recording; runs of one command add up.

Every JVM's notes are kept, compressed, in runs/N/ of the recording, and the tables are made of all of them each time: so it
does not matter at which step a recorder dies, and `headway recover` is the same once more.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import Notice
from headway.record import causal_messages
from headway.record.causal_notes import Notes, read_notes
from headway.store.manifest import Manifest, TableInfo, no_spool, read_manifest_json, write_manifest
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

_FACTS = "run.json"


@dataclass(slots=True)
class Run:
    """One JVM's notes. `facts` are those of the command's run: exit_code, ended_by, attached ...; `number` is its number."""

    notes: Notes
    facts: dict[str, Any]
    number: int


def build_causal(directory: Path, *, state: str) -> Manifest:
    """Make the tables of the causal recording in `directory`, complete its manifest, remove the spool.

    Raises HeadwayError HW301, HW303 or HW308 (no spool), and OSError when a table can't be written; the notes then stay.
    """
    draft = read_manifest_json(directory)
    if not (directory / "spool").is_dir():
        raise no_spool(directory, draft)
    _keep_notes(directory, draft)
    runs = read_runs(directory)
    tables: dict[str, TableInfo] = {}
    for name, rows in table_rows(runs).items():
        tables[name] = _write(directory, name, rows)
    known = [each for each in draft.get("notices") or [] if each.get("id") not in causal_messages.OF_NOTES]
    found = [notice.as_json() for notice in _notices(directory, runs, draft)]
    plain = {name: {"rows": info.rows, "bytes": info.bytes} for name, info in tables.items()}
    jvms = [_jvm(run) for run in runs]
    facts = {"tables": plain, "notices": known + [each for each in found if each not in known], "jvms": jvms}
    write_manifest(directory, {**draft, **facts, "state": state})
    shutil.rmtree(directory / "spool", ignore_errors=True)
    return Manifest.from_json(read_manifest_json(directory), directory)


def next_run(directory: Path) -> int:
    """Return the number of a recording's next run of the command."""
    numbers = [int(path.name) for path in directory.glob("runs/*") if path.name.isdigit()]
    return max(numbers, default=-1) + 1


def _keep_notes(directory: Path, draft: Mapping[str, Any]) -> None:
    """Move the notes in the spool to runs/N, whole or not at all; nothing when that was done before."""
    target = directory / "runs" / str(int(draft.get("causal_run", next_run(directory))))
    if target.exists():
        return
    scratch = target.with_name(f".{target.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for path in sorted((directory / "spool").glob("causal-*.jsonl")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as source, gzip.open(scratch / f"{path.name}.gz", "wb", compresslevel=6) as out:
                shutil.copyfileobj(source, out, 1 << 20)
    keys = ("exit_code", "signal", "ended_by", "attached", "window", "steal_ns")
    (scratch / _FACTS).write_text(json.dumps({**{key: draft.get(key) for key in keys}, **(draft.get("causal") or {})}))
    os.rename(scratch, target)


def read_runs(directory: Path) -> list[Run]:
    """Return every JVM's notes in a recording, in order of the runs and of their begin."""
    found = []
    for folder in sorted((each for each in directory.glob("runs/*") if each.name.isdigit()), key=lambda p: int(p.name)):
        try:
            facts = json.loads((folder / _FACTS).read_text())
        except (OSError, ValueError):
            facts = {}
        notes = [read_notes(path) for path in folder.glob("causal-*.jsonl*")]
        begun = sorted((each for each in notes if each.begin is not None), key=_begin_ns)
        found += [Run(each, facts, int(folder.name)) for each in begun]
    return found


def _begin_ns(notes: Notes) -> int:
    assert notes.begin is not None
    return int(notes.begin["ns"])


def _jvm(run: Run) -> dict[str, Any]:
    begin = run.notes.begin or {}
    return {"pid": begin["pid"], "version": begin["jdk"], "available_processors": begin["cores"]}


def _notices(directory: Path, runs: list[Run], draft: Mapping[str, Any]) -> Iterable[Notice]:
    if not runs:
        if not any(each.get("id") in causal_messages.NO_AGENT for each in draft.get("notices") or ()):
            yield Notice.of("HW611", reason="none noted that it began")
        return
    yield from causal_messages.of_runs([(run.notes, run.facts) for run in runs])
    beside = sum(bool(run.notes.experiments) for run in runs) - sum(
        bool(run.notes.experiments) for run in _compared(runs)
    )
    if beside:
        yield Notice.of("HW638", count=beside)
    damaged = sum(run.notes.damaged for run in runs)
    if damaged:
        yield Notice.of("HW618", count=damaged, path=directory)


# --- rows ------------------------------------------------------------------------------------------------------------

Rows = list[tuple[Any, ...]]


class _Lines:
    """Lines of all runs under one id each: the same by kind, class, method, file and number."""

    def __init__(self) -> None:
        self._ids: dict[tuple[Any, ...], int] = {}
        self._sums: list[list[int]] = []

    def id_of(self, notes: Notes, line: int) -> int | None:
        """Return the common id of a JVM's line; None: no line, or one that its notes do not name."""
        row = notes.lines.get(line)
        if row is None:
            return None
        key = (row["kind"], row["class"], row["method"], row["file"], max(0, row["line"]))
        if key not in self._ids:
            self._ids[key] = len(self._ids)
            self._sums.append([0, 0, 0])
        return self._ids[key]

    def add(self, line: int, sums: Iterable[int]) -> None:
        """Add CPU time, time blocked and samples."""
        self._sums[line] = [a + b for a, b in zip(self._sums[line], sums, strict=True)]

    def rows(self) -> Rows:
        """Return the table's rows. Samples fall on lines: a method that is a target has the sum of its own."""
        methods: dict[tuple[str, str], list[int]] = {}
        for (kind, class_name, method, *_), line in self._ids.items():
            if kind == "line":
                known = methods.get((class_name, method), [0, 0, 0])
                methods[class_name, method] = [a + b for a, b in zip(known, self._sums[line], strict=True)]
        for (kind, class_name, method, *_), line in self._ids.items():
            if kind == "method" and not any(self._sums[line]):
                self._sums[line] = methods.get((class_name, method), [0, 0, 0])
        return [(line, *key, *self._sums[line]) for key, line in self._ids.items()]


def _compared(runs: list[Run]) -> list[Run]:
    """Return the JVMs whose experiments count: end-to-end one for each run of the command, the one that worked most in scope.

    A build tool or a launcher is a JVM as well, of another length: compared with the program it would be a result.
    """
    most: dict[int, Run] = {}
    for run in runs:
        if run.notes.begin is not None and run.notes.begin["mode"] == "end-to-end":
            most[run.number] = max(most.get(run.number, run), run, key=_worked_ns)
    chosen = {id(run) for run in most.values()}
    return [run for run in runs if run.number not in most or id(run) in chosen]


def _worked_ns(run: Run) -> tuple[int, int]:
    """Return how long a JVM ran or slept in scope, and how long it lived."""
    begin_ns = run.notes.begin["ns"] if run.notes.begin is not None else run.notes.last_ns
    return sum(cpu_ns + ns for _, cpu_ns, ns, _ in run.notes.profile.get("lines", ())), run.notes.last_ns - begin_ns


def table_rows(runs: list[Run]) -> dict[str, Rows]:
    """Return the rows of every table of a causal recording."""
    names = ("causal_run", "causal_point", "causal_line", "experiment", "experiment_visit", "experiment_latency")
    rows: dict[str, Rows] = {}
    for name in (*names, "causal_health", "causal_near"):
        rows[name] = []
    lines = _Lines()
    compared = {id(run) for run in _compared(runs)}
    for number, run in enumerate(runs):
        rows["causal_run"].append(_run_row(number, run))
        rows["causal_point"] += _point_rows(number, run.notes)
        rows["causal_health"] += _health_rows(number, run.notes)
        rows["causal_near"] += [
            (number, each["name"], each["where"], each["reason"], ", ".join(each["near"]))
            for each in run.notes.near.values()
        ]
        for line, *sums in run.notes.profile.get("lines", ()):
            known = lines.id_of(run.notes, line)
            if known is not None:
                lines.add(known, sums)
        if id(run) in compared:
            _add_experiments(number, run.notes, lines, rows)
    rows["causal_line"] = lines.rows()
    return rows


def _run_row(number: int, run: Run) -> tuple[Any, ...]:
    begin, facts = run.notes.begin or {}, run.facts
    dur_ns = max(0, run.notes.last_ns - begin["ns"])
    exit_code = facts.get("exit_code")
    kept = (begin["timer"], begin["period_ns"], begin["mode"], exit_code, begin["cores"])
    return (number, begin["pid"], begin["ns"], dur_ns, *kept)


def _point_rows(number: int, notes: Notes) -> Rows:
    found: Rows = []
    for each in notes.points.values():
        rate = notes.rates.get(each["id"])
        variation = rate.variation if rate is not None else None
        named = (number, each["id"], each["name"], each["kind"], each["where"], notes.hits(each["id"]))
        found.append((*named, each["latency"], each["places"], variation, rate.grew_ns if rate is not None else None))
    return found


def _health_rows(number: int, notes: Notes) -> Rows:
    health: dict[str, int] = dict(notes.health)
    health.update({key: notes.profile[key] for key in ("out_of_scope_ns", "unread_ns") if key in notes.profile})
    return [(number, key, value) for key, value in health.items()]


def _add_experiments(number: int, notes: Notes, lines: _Lines, rows: dict[str, Rows]) -> None:
    """Add the experiments of one JVM; those of a line that its notes do not name have none (a baseline is one all the same)."""
    for each in notes.experiments:
        line = lines.id_of(notes, each["target"])
        if line is None and each["speedup_pct"]:
            continue
        times = tuple(
            each[key] for key in ("start_ns", "dur_ns", "delay_ns", "gc_ns", "gcs", "hits_ns", "all_hits_ns", "hits")
        )
        sampled = tuple(each[key] for key in ("samples", "sampled_ns", "waited_ns"))
        flags = (bool(each["spin"]), bool(each["complete"]), each["ran_ns"], each["stood_ns"], bool(each["control"]))
        rows["experiment"].append((number, each["id"], line, each["speedup_pct"], *times, *sampled, *flags))
        rows["experiment_visit"] += [(number, each["id"], *visit) for visit in each["visits"]]
        rows["experiment_latency"] += [(number, each["id"], *pair) for pair in each["latency"]]


def _write(directory: Path, name: str, rows: Rows) -> TableInfo:
    import pyarrow as pa

    from headway.store.writer import arrow_schema

    schema = arrow_schema(TABLES[name])
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(values, each.type) for values, each in zip(columns, schema, strict=True)]
    with TableWriter(directory, TABLES[name]) as writer:
        writer.write(pa.Table.from_arrays(arrays, schema=schema))
    return writer.info
