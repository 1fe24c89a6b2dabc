"""Turn the spool of a recording into its tables: the end of every recording, and what `headway recover` does.

First the small things (births, names, Java threads), which give each thread its kind; then one native pass over the
scheduling records in order of time, which yields slices in batches and the levels of activity. Memory is bounded by the
batch and the number of threads, not by the length of the recording. The spool goes when the tables are complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.record import endings, invariants, thread_table
from headway.record.lock_tables import LockTables
from headway.record.sample_tables import SampleTables
from headway.record.stack_tables import write_stacks
from headway.record.thread_table import Threads, text
from headway.store import packing
from headway.store.manifest import CAUSAL, Manifest, TableInfo, no_spool, read_manifest_json, write_manifest
from headway.store.packing import TICK_NS
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

BINS = 1200
"""Bins of `activity`: a multiple of what a profile over time shows."""
LEAST_BIN_NS = 1_000_000
BATCH = 1 << 18
_PHASES = {1: "gc_pause", 2: "startup", 3: "shutdown"}
Progress = Callable[[float], None]


def finalise(directory: Path | str, progress: Progress | None = None) -> Manifest:
    """Make the tables of the recording in `directory` from its spool, complete its manifest, remove the spool.

    `progress` is called now and then with the share that is done, 0 to 1.

    Raises HeadwayError HW301 (no recording), HW303 (manifest damaged) or HW308 (no spool), and OSError when a table can't
    be written; the spool then stays.
    """
    return build(Path(directory), progress or (lambda share: None), state="complete", to_the_last_record=False)


def build(directory: Path, progress: Progress, *, state: str, to_the_last_record: bool) -> Manifest:
    """Do what `finalise` says. `to_the_last_record`: the recorder died, so the window ends where the records do."""
    draft = read_manifest_json(directory)
    if draft.get("kind") == CAUSAL:
        from headway.record.causal_finalise import build_causal

        progress(0.0)
        made = build_causal(directory, state=state)
        progress(1.0)
        return made
    import pyarrow as pa

    from headway import _native  # type: ignore[attr-defined]

    spool = directory / "spool"
    if not spool.is_dir():
        raise no_spool(directory, draft)
    decoder = _native.Decoder(str(spool))
    progress(0.0)
    lives, agents = decoder.lifecycle(), decoder.agents()
    threads = thread_table.identify(lives, agents)
    window = _window(draft, lives, decoder.last_record_ns() if to_the_last_record else None)
    facts: dict[str, Any] = {"window": {"start_ns": window[0], "end_ns": window[1]}}
    tables: dict[str, TableInfo] = {}
    result: dict[str, Any] | None = None
    locks = LockTables(decoder.locks(), threads, agents, window, draft.get("locks") or {})
    locks.begin()
    samples = SampleTables(threads, agents, window, draft.get("sampling") or {})
    samples.read()
    if decoder.has_sched():
        codes = threads.kind_codes
        decoder.begin(*window, codes, max(LEAST_BIN_NS, -(-(window[1] - window[0]) // BINS)), TICK_NS)
        tables["slice"], executed = _write_slices(directory, decoder, window, progress, samples)
        facts["other_ns"] = _other_ns(draft.get("busy_ns"), executed)
        result = decoder.result()
        tables |= _write(directory, "activity", _activity(result))
        if result["cpu_gap"] is not None:
            tables |= _write(directory, "cpu_gap", pa.table(result["cpu_gap"]))
        facts |= _judge(result, threads, window, draft)
    tables |= _write_small(directory, threads, agents, result)
    tables |= _write(directory, "counter", _counters(spool))
    tables |= locks.write(directory, lambda: progress(0.99))
    tables |= write_stacks(directory, locks, samples, lambda: progress(0.99))
    ends = endings.begun(directory, tables), endings.gone(threads, window)
    tables |= _write(directory, "jvm_phase", _rows("jvm_phase", _phases(threads, agents, *ends)))
    facts["locks"] = locks.facts()
    facts["sampling"] = samples.facts()
    facts["jvms"] = [_jvm(threads.pid_of_agent[number], agent) for number, agent in enumerate(agents)]
    found = _notices(facts, result, agents) + locks.notices() + samples.notices()
    facts["notices"] = _merge(draft.get("notices") or [], found)
    plain = {name: {"rows": info.rows, "bytes": info.bytes} for name, info in tables.items()}
    write_manifest(directory, {**draft, **facts, "tables": plain, "state": state})
    shutil.rmtree(spool, ignore_errors=True)
    progress(1.0)
    return Manifest.from_json(read_manifest_json(directory), directory)


def _window(draft: Mapping[str, Any], lives: Mapping[str, Any], last_ns: int | None) -> tuple[int, int]:
    """Return the recorded span: from the command's exec (or the attach) to the root's exit (or the stop).

    The draft knows only when the recorder let go and when it noticed the end; the kernel's records know better.
    """
    window = draft.get("window") or {}
    start, end = int(window.get("start_ns", 0)), int(window.get("end_ns", 0))
    if last_ns is not None:
        end = max(start, last_ns)
    root = [i for i, tid in enumerate(lives["tid"].tolist()) if tid == draft.get("pid") == lives["pid"][i]]
    for i in root[-1:]:
        exec_at, end_at = int(lives["first_exec_at_ns"][i]), int(lives["end_ns"][i])
        if not draft.get("attached") and exec_at >= 0:
            start = exec_at
        if end_at >= 0 and (start < end_at < end or end <= start):
            end = end_at
    return start, max(start, end)


# --- the scheduling tables -------------------------------------------------------------------------------------------


def _write_slices(
    directory: Path, decoder: Any, window: tuple[int, int], progress: Progress, samples: SampleTables
) -> tuple[TableInfo, dict[int, int]]:
    """Write the table `slice`. Return what the manifest says of it, and how long the program executed on each CPU, in ns."""
    import numpy as np
    import pyarrow as pa

    schema = packing.schema()
    executed: dict[int, int] = {}
    with TableWriter(directory, TABLES["slice"]) as writer:
        for batch in iter(lambda: decoder.next(BATCH), None):
            ticks = np.full(len(batch["flags"]), TICK_NS, dtype=np.int16)
            samples.weigh(batch)
            writer.write_stored(pa.table({"tick_ns": ticks, **batch}, schema=schema))
            ran = batch["cpu"] >= 0
            ticks_per_cpu = np.bincount(batch["cpu"][ran], (batch["running_ticks"] - batch["stolen_ticks"])[ran])
            for cpu, total in enumerate(ticks_per_cpu.tolist()):
                executed[cpu] = executed.get(cpu, 0) + round(total) * TICK_NS
            at = int(batch["end_ticks"][-1]) * TICK_NS
            progress(min(0.99, max(0.0, (at - window[0]) / max(1, window[1] - window[0]))))
    return writer.info, executed


def _other_ns(busy_ns: Mapping[str, int] | None, executed: Mapping[int, int]) -> dict[str, int]:
    """Return how long each CPU worked for other processes, headway included: what it worked less what the program did.

    The kernel counts a CPU's work in clock ticks, so up to about 10 ms are noise.
    """
    return {cpu: max(0, ns - executed.get(int(cpu), 0)) for cpu, ns in (busy_ns or {}).items()}


def _activity(result: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    columns = dict(result["activity"])
    if result["is_perf"]:
        columns["stolen_ns"] = pa.nulls(len(columns["dur_ns"]), pa.int64())
    return pa.table(columns)


def _judge(
    result: Mapping[str, Any], threads: Threads, window: tuple[int, int], draft: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the manifest's keys about how far the scheduling records can be trusted."""
    checks = invariants.check(result, threads.rows, window)
    losses = result["losses"]
    return {
        "switches": result["switches"],
        "losses": {"events": sum(each[4] for each in losses), "spans": len(losses)},
        "invariants": [{"id": each.id, "ok": each.ok, "message": each.message} for each in checks],
        "decoder": {
            name: result[name]
            for name in (
                "records",
                "resyncs",
                "unreported",
                "unknown_wakers",
                "guesses",
                "late",
                "ignored",
                "unmatched",
                "bin_ns",
            )
        },
    }


# --- the small tables ------------------------------------------------------------------------------------------------


def _write(directory: Path, name: str, rows: pa.Table) -> dict[str, TableInfo]:
    with TableWriter(directory, TABLES[name]) as writer:
        writer.write(rows)
    return {name: writer.info}


def _write_small(
    directory: Path, threads: Threads, agents: list[dict[str, Any]], result: Mapping[str, Any] | None
) -> dict[str, TableInfo]:
    totals, strays, losses = (result["threads"], result["strays"], result["losses"]) if result else (None, [], [])
    agent_losses = [("agent", -1, each["created_ns"], each["created_ns"], each["lost"]) for each in agents]
    losses = [*losses, *(each for each in agent_losses if each[4])]
    return {
        **_write(directory, "thread", thread_table.table(threads, totals, strays)),
        **_write(directory, "jvm", _rows("jvm", _jvm_facts(threads, agents))),
        **_write(directory, "loss", _rows("loss", ((s, c, a, max(0, b - a), n) for s, c, a, b, n in losses))),
    }


def _rows(name: str, rows: Any) -> pa.Table:
    """Return rows (tuples in the table's column order) as a table."""
    import pyarrow as pa

    names = [column.name for column in TABLES[name].columns]
    gathered = list(rows)
    if not gathered:
        from headway.store.writer import arrow_schema

        return arrow_schema(TABLES[name]).empty_table()
    return pa.table({each: list(values) for each, values in zip(names, zip(*gathered, strict=True), strict=True)})


def _phases(
    threads: Threads, agents: list[dict[str, Any]], begun: Mapping[int, int], gone: Mapping[int, int]
) -> Iterator[tuple[int, int, int, str, str | None]]:
    """Yield the rows of jvm_phase; the end of a JVM takes from when it began, to when its process was gone."""
    for number, agent in enumerate(agents):
        pid = threads.pid_of_agent[number]
        for start_ns, end_ns, kind, cause in agent["phases"]:
            if kind not in _PHASES:
                continue
            if _PHASES[kind] == "shutdown":
                start, end = min(start_ns, begun.get(pid, start_ns)), max(end_ns, gone.get(pid, end_ns))
            else:
                start, end = start_ns, end_ns
            yield pid, start, end - start, _PHASES[kind], text(cause) or None


def _jvm_facts(threads: Threads, agents: list[dict[str, Any]]) -> Iterator[tuple[int, str, str]]:
    for number, agent in enumerate(agents):
        for key, value in agent["facts"]:
            yield threads.pid_of_agent[number], text(key), text(value)


def _jvm(pid: int, agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest's entry for one JVM: {pid, version, vm, flags, available_processors} and what else it said."""
    facts = {text(key): text(value) for key, value in agent["facts"]}
    processors = facts.get("available_processors", "")
    return {
        "pid": pid,
        "version": facts.get("java.version"),
        "vm": facts.get("java.vm.name"),
        "flags": facts.get("flags"),
        "available_processors": int(processors) if processors.isdigit() else None,
        "gc": facts.get("gc"),
        "command": facts.get("command"),
        "virtual_threads": agent["virtual_threads"],
    }


def _counters(spool: Path) -> pa.Table:
    """Read counters.jsonl; a line that its writer's death cut off is left out."""
    rows = []
    path = spool / "counters.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            rows.append((int(row["ns"]), str(row["event"]), int(row["cpu"]), int(row["value"])))
        except (ValueError, KeyError, TypeError):
            continue
    return _rows("counter", rows)


# --- what a reader must be told --------------------------------------------------------------------------------------


def _notices(facts: Mapping[str, Any], result: Mapping[str, Any] | None, agents: list[dict[str, Any]]) -> list[Notice]:
    found = []
    if result is not None:
        losses = facts["losses"]
        if losses["events"]:
            found.append(Notice.of("HW200", events=losses["events"], spans=losses["spans"]))
        broken = [each["message"] for each in facts["invariants"] if not each["ok"]]
        found += [Notice.of("HW201", message=message) for message in broken]
        count = _strays_inside(result)
        if count:
            found.append(Notice.of("HW202", count=count))
        found += [Notice.of("HW203", problem=problem) for problem in result["problems"]]
    lost = sum(agent["lost"] for agent in agents)
    if lost:
        found.append(Notice.of("HW204", count=lost))
    return found


def _strays_inside(result: Mapping[str, Any]) -> int:
    """Return how many threads of unknown birth have any time inside the window: some end before an attach is complete."""
    totals, count = result["threads"], len(result["strays"])
    if not count:
        return 0
    own = totals["running_ns"] + totals["runnable_ns"] + totals["blocked_ns"]
    return int((own[-count:] > 0).sum())


def _merge(known: list[dict[str, str]], added: list[Notice]) -> list[dict[str, str]]:
    return known + [notice.as_json() for notice in added if notice.as_json() not in known]
