"""Converts agents' notes into the tables of a causal recording; runs of one command accumulate.

Every JVM's notes are kept, compressed, in runs/N/ of the recording, and the tables are made of all of them each time: so it
does not matter at which step a recorder dies, and `headway recover` is the same once more.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import Notice
from headway.model.names import LARGEST_WHOLE_NUMBER, whole_number
from headway.record.causal import messages
from headway.record.causal.note_files import read_all
from headway.record.causal.notes import Notes
from headway.record.directory.completeness import Missing
from headway.store.damage import no_spool
from headway.store.directory import directory_mode, opened_for_writing, pinned, remove_within
from headway.store.files import open_new, open_ordinary, parse_json, read_bytes, write_text
from headway.store.manifest import Manifest, TableInfo, read_manifest_json, write_manifest
from headway.store.shared_texts import notices_of_cut_texts
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

_FACTS = "run.json"
_LONGEST_NS = 1 << 55
"""A year: an agent's times are its own, and many may say that they ran for ever."""
_MOST_NOTICES = 300
"""Agents can be wrong in any number of ways, and a manifest is 64 MiB at most (store/manifest.py)."""


@dataclass(slots=True)
class Run:
    """One JVM's notes. `facts` are those of the command's run number `number`: exit_code, ended_by, attached ..."""

    notes: Notes
    facts: dict[str, Any]
    number: int


def build_causal(directory: Path, missing: Missing) -> Manifest:
    """Write the tables of the causal recording in `directory`, complete its manifest, remove the spool.

    Raises HeadwayError HW301, HW303 or HW308 (no spool), and OSError when a table can't be written; the notes then stay.
    """
    draft = read_manifest_json(directory)
    if not pinned(directory / "spool").is_dir():
        raise no_spool(directory, draft)
    _keep_notes(directory, draft)
    runs = read_runs(directory)
    tables: dict[str, TableInfo] = {}
    for name, rows in table_rows(runs).items():
        tables[name] = _write(directory, name, rows)
    known = [each for each in draft.get("notices") or [] if each.get("id") not in messages.OF_NOTES]
    notices = (*notices_of_cut_texts(tables), *_notices(directory, runs, draft))
    if len(notices) > _MOST_NOTICES:
        notices = (*notices[: _MOST_NOTICES - 1], Notice.of("HW654", count=len(notices) - _MOST_NOTICES + 1))
    found = [notice.as_json() for notice in notices]
    plain = {name: info.as_json() for name, info in tables.items()}
    jvms = [_jvm(run) for run in runs]
    facts = {"tables": plain, "notices": known + [each for each in found if each not in known], "jvms": jvms}
    write_manifest(directory, {**draft, **facts, "state": missing.state})
    remove_within(directory, "spool")
    return Manifest.from_json(read_manifest_json(directory), directory)


def next_run(directory: Path) -> int:
    """Return the number of the recording's next run, behind all others that it has."""
    folders = _run_folders(directory)
    number = max(folders, default=-1) + 1
    if number > LARGEST_WHOLE_NUMBER:  # a stranger's recording: a run of that number would never be found again
        number = next(each for each in range(len(folders) + 1) if each not in folders)
    return number


def _run_folders(directory: Path) -> dict[int, Path]:
    """Return the folder of each run by its number."""
    named = ((whole_number(path.name), path) for path in pinned(directory).glob("runs/*"))
    return {number: path for number, path in named if number is not None}


def _keep_notes(directory: Path, draft: Mapping[str, Any]) -> None:
    """Move the notes in the spool to runs/N, whole or not at all; nothing when that was done before."""
    wanted = draft.get("causal_run")
    is_number = type(wanted) is int and 0 <= wanted <= LARGEST_WHOLE_NUMBER
    name = str(wanted if is_number else next_run(directory))
    with opened_for_writing(directory) as fd, contextlib.suppress(FileExistsError):
        os.mkdir("runs", directory_mode(), dir_fd=fd)
    runs = directory / "runs"
    if pinned(runs / name).exists():
        return
    scratch = runs / f".{name}.new"
    remove_within(runs, scratch.name)
    with opened_for_writing(runs) as fd:
        os.mkdir(scratch.name, directory_mode(), dir_fd=fd)
    for path in sorted(pinned(directory / "spool").glob("causal-*.jsonl")):
        try:
            notes = open_ordinary(path)
        except OSError:  # a link, a FIFO: nothing that an agent makes
            continue
        with (
            open(notes, "rb") as source,
            open(open_new(scratch, f"{path.name}.gz"), "wb") as kept,
            gzip.GzipFile("", "wb", 6, kept) as out,
        ):
            shutil.copyfileobj(source, out, 1 << 20)
    keys = ("exit_code", "signal", "ended_by", "attached", "window", "steal_ns")
    facts = {**{key: draft.get(key) for key in keys}, **(draft.get("causal") or {})}
    write_text(scratch, _FACTS, json.dumps(facts))
    with opened_for_writing(runs) as fd:
        os.rename(scratch.name, name, src_dir_fd=fd, dst_dir_fd=fd)


def read_runs(directory: Path) -> list[Run]:
    """Return the notes of every JVM in a recording, in order of runs and of start."""
    found = []
    folders = sorted(_run_folders(directory).items())
    files = {number: [*folder.glob("causal-*.jsonl*")] for number, folder in folders}
    notes_of_file = read_all([path for paths in files.values() for path in paths])
    for number, folder in folders:
        try:
            facts = parse_json(read_bytes(folder / _FACTS))
        except (OSError, ValueError):
            facts = {}
        facts = _as_asked(facts) if isinstance(facts, dict) else {}
        notes = [notes_of_file[path] for path in files[number]]
        begun = sorted((each for each in notes if each.begin is not None), key=_begin_ns)
        found += [Run(each, facts, number) for each in begun]
    return found


def _as_asked(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a run's facts with nothing in the request that no recorder wrote: the recording may be a stranger's."""

    def listed(key: str) -> list[Any]:
        return found if isinstance(found := facts.get(key), list) else []

    progress = [each for each in listed("progress") if isinstance(each, dict) and isinstance(each.get("name"), str)]
    return {
        **facts,
        "progress": [{**each, "where": each.get("where")} for each in progress],
        "scope": [each for each in listed("scope") if isinstance(each, str)],
        "target": target if isinstance(target := facts.get("target"), str) else "",
        "warmup_ms": warmup_ms if type(warmup_ms := facts.get("warmup_ms")) is int else 0,
    }


def _begin_ns(notes: Notes) -> int:
    assert notes.begin is not None
    return int(notes.begin["ns"])


def _jvm(run: Run) -> dict[str, Any]:
    begin = run.notes.begin or {}
    return {"pid": begin["pid"], "version": begin["jdk"], "available_processors": begin["cores"]}


def _notices(directory: Path, runs: list[Run], draft: Mapping[str, Any]) -> Iterable[Notice]:
    if not runs:
        if not any(each.get("id") in messages.NO_AGENT for each in draft.get("notices") or ()):
            yield Notice.of("HW611", reason="none noted that it began")
        return
    # What is said of all of them comes first: of single points there may be more messages than a manifest has room for.
    beside = sum(bool(run.notes.experiments) for run in runs) - sum(
        bool(run.notes.experiments) for run in _compared(runs)
    )
    if beside:
        yield Notice.of("HW638", count=beside)
    if damaged := sum(run.notes.damaged for run in runs):
        yield Notice.of("HW618", count=damaged, path=directory)
    if left_out := sum(run.notes.left_out_latencies for run in runs):
        yield Notice.of("HW653", count=left_out)
    yield from messages.of_runs([(run.notes, run.facts) for run in runs])


# --- rows ------------------------------------------------------------------------------------------------------------

Rows = list[tuple[Any, ...]]


class _Lines:
    """The lines of all runs with common ids: equal kind, class, method, file and number mean the same line."""

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
    dur_ns = min(max(0, run.notes.last_ns - begin["ns"]), _LONGEST_NS)
    exit_code = facts.get("exit_code")
    if type(exit_code) is not int or not -(1 << 31) <= exit_code < 1 << 31:  # of a stranger's recording
        exit_code = None
    kept = (begin["timer"], begin["period_ns"], begin["mode"], exit_code, begin["cores"])
    return (number, begin["pid"], begin["ns"], dur_ns, *kept)


def _point_rows(number: int, notes: Notes) -> Rows:
    found: Rows = []
    for each in notes.points.values():
        rate = notes.rates.get(each["id"])
        variation = rate.variation if rate is not None else None
        named = (number, each["id"], each["name"], each["kind"], each["where"], notes.hits(each["id"]))
        found.append(
            (
                *(*named, each["latency"], each["places"], variation, rate.grew_ns if rate is not None else None),
                *_on_stacks(notes, each["where"]),
            )
        )
    return found


def _on_stacks(notes: Notes, where: str) -> tuple[float | None, float | None]:
    """Return the share of the sampled stacks that a method ("C.m", "C.m(int)") is on, and how many frames in scope are around it.

    None, None: stacks were not looked at. A method of fewer than one stack in two hundred is not told of: 0, and no depth.
    """
    if notes.stacks == 0:
        return None, None
    class_name, _, method = where.partition("(")[0].rpartition(".")
    stacks, outer = notes.callers.get((class_name, method), (0, 0))
    return stacks / notes.stacks, outer / stacks if stacks else None


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
