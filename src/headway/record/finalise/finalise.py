"""Converts a recording's spool into its tables: the last step of every recording, and of `headway recover`.

First the small things (births, names, Java threads), which give each thread its kind; then one native pass over the
scheduling records in order of time, which yields slices in batches and the levels of activity. Memory is bounded by the
batch and the number of threads, not by the length of the recording. The spool goes when the tables are complete.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.model.names import text
from headway.model.wire import HW_PH_GC_PAUSE, HW_PH_SHUTDOWN, HW_PH_STARTUP
from headway.record.directory.completeness import Missing
from headway.record.finalise import collections, endings, invariants
from headway.record.finalise.counter_rows import counter_rows, totals_by_cpu
from headway.record.finalise.found_notices import merged, notices_of
from headway.record.finalise.heap_node_rows import heap_node_rows
from headway.record.finalise.locks.lock_tables import LockTables
from headway.record.finalise.locks.mount_table import mount_rows
from headway.record.finalise.masking import with_masked_facts
from headway.record.finalise.objects.access_table import AccessTables
from headway.record.finalise.objects.allocation_table import AllocationTables
from headway.record.finalise.samples.sample_tables import SampleTables
from headway.record.finalise.samples.stack_tables import write_stacks
from headway.record.finalise.slice_pass import (
    ExecutedByCpu,
    PassProgress,
    SliceSink,
    SliceTable,
    run_pass,
    slice_writer,
)
from headway.record.finalise.threads import thread_table
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.checks.values import room_bytes
from headway.store.damage import no_spool
from headway.store.directory import pinned, remove_within
from headway.store.manifest import Manifest, TableInfo, read_manifest_json, write_manifest
from headway.store.manifest_keys import CAUSAL
from headway.store.manifest_types import LONGEST_NS
from headway.store.possible import NO_JVM, ImpossibleValueFilter
from headway.store.shared_texts import notices_of_cut_texts, shortened
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

_PHASES = {HW_PH_GC_PAUSE: "gc_pause", HW_PH_STARTUP: "startup", HW_PH_SHUTDOWN: "shutdown"}
Progress = Callable[[float], None]
_RECORDS_SHARE = 2
"""One part in so many of the memory for a recording's tables is for what agents wrote; of the rest, samples are most."""
_MOST_FACTS_BYTES = 16 << 20
"""So much of the manifest is what JVMs say of themselves; each has its share."""


def finalise(directory: Path | str, progress: Progress | None = None) -> Manifest:
    """Write the tables of the recording in `directory` from its spool, complete its manifest, remove the spool.

    `progress` is called now and then with the share that is done, 0 to 1.

    Raises HeadwayError HW301 (no recording), HW303 (manifest damaged) or HW308 (no spool), and OSError when a table can't
    be written; the spool then stays.
    """
    return build(Path(directory), progress or (lambda share: None), Missing())


def build(directory: Path, progress: Progress, missing: Missing) -> Manifest:
    """Do the work of `finalise`; where the recorder died, the window ends with the last record."""
    draft = read_manifest_json(directory)
    if draft.get("kind") == CAUSAL:
        return _build_causal(directory, progress, missing)
    decoder = _decoder(directory, draft)
    progress(0.0)
    sources = _sources(directory, draft, decoder, missing)
    facts: dict[str, Any] = {"window": {"start_ns": sources.window[0], "end_ns": sources.window[1]}}
    counted = counter_rows(directory / "spool")
    facts |= totals_by_cpu(draft, counted, sources.window)
    executed = ExecutedByCpu()
    tables, result = _read_slices(sources, decoder, [sources.locks, sources.samples, executed], progress)
    if result is not None:
        facts["other_ns"] = _other_ns(facts.get("busy_ns") or {}, executed.ns)
        facts |= _judge(result, sources.threads, sources.window, draft)
    possible = ImpossibleValueFilter(sources.window, sources.threads.pid_of_agent.values())
    tables |= _write_small(directory, sources.threads, sources.agents, result, possible)
    tables |= _write(directory, "counter", _rows("counter", counted))
    if heap_nodes := [*heap_node_rows(directory / "spool", sources.window)]:
        tables |= _write(directory, "heap_node", _rows("heap_node", heap_nodes))
    tables |= _write_of_agents(sources, tables, possible, lambda: progress(0.99))
    facts |= _facts_of_agents(sources)
    found = notices_of(facts, result, sources.agents) + sources.locks.notices() + sources.samples.notices()
    found += possible.notices() + notices_of_cut_texts(tables)
    wall_ns = sources.window[1] - sources.window[0]
    found += sources.allocations.notices(attached=bool(draft.get("attached")), wall_ns=wall_ns)
    found += sources.accesses.notices()
    facts["notices"] = merged(draft.get("notices") or [], found)
    plain = {name: info.as_json() for name, info in tables.items()}
    write_manifest(directory, {**draft, **facts, "tables": plain, "state": missing.state})
    remove_within(directory, "spool")
    progress(1.0)
    return Manifest.from_json(read_manifest_json(directory), directory)


@dataclass(frozen=True, slots=True)
class _Sources:
    """What tables are made of beside slices: threads, what agents wrote, and who gathers locks, samples and objects of it."""

    directory: Path
    threads: RecordedThreads
    agents: list[dict[str, Any]]
    window: tuple[int, int]
    locks: LockTables
    samples: SampleTables
    allocations: AllocationTables
    accesses: AccessTables


def _decoder(directory: Path, draft: Mapping[str, Any]) -> Any:
    """Return the decoder of a recording's spool. Raises HeadwayError HW308 where there is none."""
    from headway import _native

    spool = directory / "spool"
    if not pinned(spool).is_dir():
        raise no_spool(directory, draft)
    return _native.Decoder(str(pinned(spool)), room_bytes() // _RECORDS_SHARE)


def _sources(directory: Path, draft: Mapping[str, Any], decoder: Any, missing: Missing) -> _Sources:
    """Read the small things: births, names, Java threads, what agents wrote."""
    lives, agents = decoder.lifecycle(), with_masked_facts(decoder.agents(), draft)
    threads = thread_table.identify(lives, agents, is_of_kernel=decoder.has_sched())
    window = _window(draft, lives, decoder.last_record_ns() if missing.recorder_died else None)
    return _Sources(
        directory,
        threads,
        agents,
        window,
        LockTables(decoder.locks(), threads, agents, window, draft.get("locks") or {}),
        SampleTables(threads, agents, window, draft.get("sampling") or {}),
        AllocationTables(threads, agents, draft.get("objects") or {}),
        AccessTables(threads, agents),
    )


def _build_causal(directory: Path, progress: Progress, missing: Missing) -> Manifest:
    from headway.record.causal.tables import build_causal

    progress(0.0)
    manifest = build_causal(directory, missing)
    progress(1.0)
    return manifest


def _window(draft: Mapping[str, Any], lives: Mapping[str, Any], last_ns: int | None) -> tuple[int, int]:
    """Return the recorded span: from the command's exec (or the attach) to the root's exit (or the stop).

    The draft knows only when the recorder let go and when it noticed the end; the kernel's records know better. Where there are
    none an agent's do, whatever it says: at most as much of it as a recording may have.
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
    return start, min(max(start, end), start + LONGEST_NS)


# --- the scheduling tables -------------------------------------------------------------------------------------------


def _read_slices(
    sources: _Sources, decoder: Any, sinks: Sequence[SliceSink], progress: Progress
) -> tuple[dict[str, TableInfo], Mapping[str, Any] | None]:
    """Read the slices once for all who need them, and write the tables of scheduling; without scheduling there are none."""
    import pyarrow as pa

    directory, window, threads = sources.directory, sources.window, sources.threads
    with contextlib.ExitStack() as opened:
        if decoder.has_sched():
            slices = opened.enter_context(slice_writer(directory, decoder))
            sinks = [*sinks, SliceTable(slices), PassProgress(window, progress)]
        result = run_pass(decoder, sinks, window, threads.kind_codes, collections.spans(threads, sources.agents))
    if result is None:
        return {}, None
    tables = {"slice": slices.info, **_write(directory, "activity", _activity(result))}
    if result["cpu_gap"] is not None:
        tables |= _write(directory, "cpu_gap", pa.table(result["cpu_gap"]))
    return tables, result


def _other_ns(busy_ns: Mapping[str, int], executed: Mapping[int, int]) -> dict[str, int]:
    """Return how long each CPU worked for other processes, headway included: what it worked less what the program did.

    The kernel counts a CPU's work in clock ticks, so up to about 10 ms are noise.
    """
    return {cpu: max(0, ns - executed.get(int(cpu), 0)) for cpu, ns in busy_ns.items()}


def _activity(result: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    columns = dict(result["activity"])
    if result["is_perf"]:
        columns["stolen_ns"] = pa.nulls(len(columns["dur_ns"]), pa.int64())
    return pa.table(columns)


def _judge(
    result: Mapping[str, Any], threads: RecordedThreads, window: tuple[int, int], draft: Mapping[str, Any]
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


def _write(
    directory: Path,
    name: str,
    rows: pa.Table,
    possible: ImpossibleValueFilter | None = None,
    jvms: Sequence[int] | None = None,
) -> dict[str, TableInfo]:
    with TableWriter(directory, TABLES[name], possible) as writer:
        writer.write(rows, jvms)
    return {name: writer.info}


def _write_small(
    directory: Path,
    threads: RecordedThreads,
    agents: list[dict[str, Any]],
    result: Mapping[str, Any] | None,
    possible: ImpossibleValueFilter,
) -> dict[str, TableInfo]:
    totals, strays, losses = (result["threads"], result["strays"], result["losses"]) if result else (None, [], [])
    lossy = {number: each for number, each in enumerate(agents) if each["lost"]}
    jvms = [NO_JVM] * len(losses) + [threads.pid_of_agent[number] for number in lossy]
    losses = [
        *losses,
        *(("agent", -1, each["created_ns"], each["created_ns"], each["lost"]) for each in lossy.values()),
    ]
    of_losses = _rows("loss", ((s, c, a, max(0, b - a), n) for s, c, a, b, n in losses))
    return {
        **_write(directory, "thread", thread_table.table(threads, totals, strays), possible),
        **_write(directory, "jvm", _rows("jvm", _jvm_facts(threads, agents))),
        **_write(directory, "loss", of_losses, possible, jvms),
    }


def _write_of_agents(
    sources: _Sources,
    written: Mapping[str, TableInfo],
    possible: ImpossibleValueFilter,
    is_at_work: Callable[[], None],
) -> dict[str, TableInfo]:
    """Write the tables of what JVMs did: objects, locks, stacks, phases, mounts. `written`: those that there are by now."""
    directory, threads, agents = sources.directory, sources.threads, sources.agents
    tables = sources.allocations.write(directory, possible) | sources.accesses.write(directory, possible)
    tables |= sources.locks.write(directory, is_at_work, possible)
    tables |= write_stacks(directory, sources.locks, sources.samples, is_at_work, possible)
    shutdown_ns = endings.shutdown_started_ns(directory, {**written, **tables})
    phases = _phases(threads, agents, shutdown_ns, endings.process_exited_ns(threads, sources.window))
    tables |= _write(directory, "jvm_phase", _rows("jvm_phase", phases), possible)
    mounts = mount_rows(threads, agents, sources.window)
    return tables | (_write(directory, "mount", mounts, possible) if mounts.num_rows else {})


def _facts_of_agents(sources: _Sources) -> dict[str, Any]:
    """Return the manifest's keys about what agents recorded, and about their JVMs."""
    facts: dict[str, Any] = {"locks": sources.locks.facts(), "sampling": sources.samples.facts()}
    if objects := sources.allocations.facts():
        facts["objects"] = objects
    if accesses := sources.accesses.facts():
        facts["accesses"] = accesses
    agents, pid_of_agent = sources.agents, sources.threads.pid_of_agent
    facts["jvms"] = [_jvm(pid_of_agent[number], agent, len(agents)) for number, agent in enumerate(agents)]
    return facts


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
    threads: RecordedThreads, agents: list[dict[str, Any]], shutdown_ns: Mapping[int, int], exited_ns: Mapping[int, int]
) -> Iterator[tuple[int, int, int, str, str | None]]:
    """Yield the rows of jvm_phase; the end of a JVM is from the start of its shutdown to its exit."""
    for number, agent in enumerate(agents):
        pid = threads.pid_of_agent[number]
        for start_ns, end_ns, kind, cause in agent["phases"]:
            if kind not in _PHASES:
                continue
            if _PHASES[kind] == "shutdown":
                start, end = min(start_ns, shutdown_ns.get(pid, start_ns)), max(end_ns, exited_ns.get(pid, end_ns))
            else:
                start, end = start_ns, end_ns
            yield pid, start, end - start, _PHASES[kind], text(cause) or None


def _jvm_facts(threads: RecordedThreads, agents: list[dict[str, Any]]) -> Iterator[tuple[int, str, str]]:
    for number, agent in enumerate(agents):
        for key, value in agent["facts"]:
            yield threads.pid_of_agent[number], text(key), text(value)


def _jvm(pid: int, agent: Mapping[str, Any], jvms: int) -> dict[str, Any]:
    """Return the manifest's entry for one of so many JVMs: {pid, version, vm, flags, available_processors} and what else it said.

    Table `jvm` has it whole: a manifest that is too long could not be read again.
    """
    most_bytes = _MOST_FACTS_BYTES // (5 * jvms)
    facts = {text(key): _within(text(value), most_bytes) for key, value in agent["facts"]}
    processors = facts.get("available_processors", "")
    return {
        "pid": pid,
        "version": facts.get("java.version"),
        "vm": facts.get("java.vm.name"),
        "flags": facts.get("flags"),
        "available_processors": int(processors) if re.fullmatch(r"[0-9]{1,9}", processors) else None,
        "gc": facts.get("gc"),
        "command": facts.get("command"),
        "virtual_threads": agent["virtual_threads"],
    }


def _within(value: str, most_bytes: int) -> str:
    """Return a text that ends in "..." where it has more bytes in JSON, where one character may be six."""
    is_long = len(value) * 6 > most_bytes and len(json.dumps(value, ensure_ascii=False).encode()) > most_bytes
    return shortened(value, most_bytes // 6) if is_long else value
