"""The table of stack samples: what async-profiler wrote in each JVM, joined with the recording's threads.

`read` comes before the pass over the scheduling records; `weigh` sees each batch of that pass, `rows` come after it. A sample
of the CPU stands for what its thread had executed since its sample before, which the scheduling records tell exactly: timers
fire late, twice at once, or not at all below the kernel's tick, and async-profiler's file does not say so. Where nothing was
recorded of the scheduling, it stands for the interval. A wall sample stands for the time until its thread's next one: the
sampler's own thread has to wait for a CPU, too.

Samples are kept in memory while finalising, at about 40 bytes each: an hour of eight busy cores at 100 Hz is 120 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.errors import Notice
from headway.model import Kind
from headway.record.sample_files import STATES, SampleFile, Samples, read_sample_file
from headway.record.sample_weights import ExecutedAt, until_next
from headway.record.sampling import BY_TIME, files_of
from headway.record.thread_table import BIRTH_SLACK_NS, Threads
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

BATCH = 1 << 18
_FOREVER = 1 << 62


@dataclass(slots=True)
class SampleTables:
    """What one recording has of stack samples. `asked`: the key `sampling` of the manifest's draft, {} for nothing."""

    threads: Threads
    agents: Sequence[Mapping[str, Any]]
    window: tuple[int, int]
    asked: Mapping[str, Any]
    files: dict[int, SampleFile] = field(default_factory=dict)
    """By the agent's number."""
    samples: Samples = field(default_factory=Samples)
    """Of all JVMs, by thread and time; `thread` is a thread_id or -1, `stack` numbers the stacks of all files."""
    _executed: ExecutedAt | None = None

    def read(self) -> None:
        """Read the files that lie beside the agents'."""
        if not self.asked:
            return
        parts: list[Samples] = []
        stacks = 0
        for number, agent in enumerate(self.agents):
            file = read_sample_file(files_of(Path(agent["path"])), self.asked, stacks)
            self.files[number] = file
            stacks += file.stacks.count
            parts.append(self._identified(self.threads.pid_of_agent[number], file.samples))
        merged = Samples.joined(parts)
        self.samples = merged.where(np.lexsort((merged.ns, merged.thread)))
        self._executed = ExecutedAt(self.samples, self._is_of_cpu_time(), self.window[0])

    def _is_of_cpu_time(self) -> NDArray[np.bool_]:
        """Return which samples stand for CPU time of a known thread."""
        events = self.samples.events
        codes = [code for code, name in enumerate(events) if name in BY_TIME]
        return np.isin(self.samples.event, codes) & (self.samples.thread >= 0)

    def _identified(self, pid: int, samples: Samples) -> Samples:
        """Return a JVM's samples inside the window with their thread_id, without those of headway's own threads."""
        rows = [(row.ns_tid, row.start_ns, i) for i, row in enumerate(self.threads.rows) if row.pid == pid]
        rows.sort()
        tid, start, ids = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        ends = [self.threads.rows[i].end_ns for i in ids.tolist()]
        end = np.array([_FOREVER if each is None else each for each in ends], dtype=np.int64)
        own = np.array([row.kind is Kind.HEADWAY for row in self.threads.rows] + [False])
        # A tid may be used again: of its lives the last one that had begun by then.
        order = np.lexsort((samples.ns, samples.thread))
        samples = samples.where(order)
        begun = _last_before(tid, start - BIRTH_SLACK_NS, samples.thread, samples.ns)
        at = np.maximum(begun, 0)
        if len(ids):
            fits = (begun >= 0) & (tid[at] == samples.thread) & (samples.ns <= end[at] + BIRTH_SLACK_NS)
            samples.thread = np.where(fits, ids[at], -1)
        else:
            samples.thread = np.full(len(samples.ns), -1, dtype=np.int64)
        inside = (samples.ns >= self.window[0]) & (samples.ns <= self.window[1])
        return samples.where(np.flatnonzero(inside & ~own[samples.thread]))

    def weigh(self, batch: Mapping[str, Any]) -> None:
        """Take one batch of the scheduling records."""
        if self._executed is not None:
            self._executed.add(batch)

    def rows(self, first_stack: int) -> Iterator[pa.Table]:
        """Yield the rows of the table `sample` in order of time; `first_stack` is the stack_id of the first stack here."""
        import pyarrow as pa

        samples = self.samples
        if self._executed is not None:
            samples.weight = until_next(samples, self._executed.weights(samples.weight))
        order = np.argsort(samples.ns, kind="stable")
        names, states = pa.array(samples.events, pa.string()), pa.array(STATES, pa.string())
        for begin in range(0, len(order), BATCH):
            part = samples.where(order[begin : begin + BATCH])
            yield pa.table(
                {
                    "thread_id": pa.array(part.thread.astype(np.int32), mask=part.thread < 0),
                    "ns": part.ns,
                    "event": names.take(pa.array(part.event)),
                    "weight": part.weight,
                    "stack_id": pa.array((part.stack + first_stack).astype(np.int32), mask=part.stack < 0),
                    "state": states.take(pa.array(part.state, mask=part.state < 0)),
                }
            )

    @property
    def is_on(self) -> bool:
        """Return whether there may be rows."""
        return bool(self.files)

    # --- what the manifest says ---------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return the manifest's key `sampling`; docs/explanation/architecture.md explains it."""
        if not self.asked:
            return {}
        engines = sorted({file.engine for file in self.files.values() if file.engine})
        return {
            **self.asked,
            "engine": engines[0] if engines else None,
            "samples": len(self.samples.ns),
            "lost": sum(file.skipped for file in self.files.values()),
        }

    def notices(self) -> list[Notice]:
        """Return what a reader of samples must be told."""
        found: list[Notice] = []
        if self.asked and not self.agents:
            found.append(Notice.of("HW215"))
        for number, file in self.files.items():
            pid = self.threads.pid_of_agent[number]
            if file.problem:
                found.append(Notice.of("HW211", pid=pid, reason=file.problem))
            if file.event_problem:
                event = next((name for name in self.asked["events"] if name not in ("alloc", "wall")), "cpu")
                found.append(Notice.of("HW216", pid=pid, event=event, reason=file.event_problem))
            if file.lost_from_ns is not None:
                found.append(Notice.of("HW212", pid=pid, from_s=max(0, file.lost_from_ns - self.window[0]) / 1e9))
            if file.skipped:
                found.append(Notice.of("HW213", pid=pid, skipped=file.skipped, total=file.total))
            if file.damage:
                found.append(Notice.of("HW214", pid=pid, reason=file.damage))
        return found


def _last_before(tid: NDArray[np.int64], start: NDArray[np.int64], tids: Any, ns: Any) -> NDArray[np.int64]:
    """Return for each (tids, ns), sorted, the last index of the sorted (tid, start) that is not after it; -1: none."""
    both_tid, both_ns = np.concatenate([tid, tids]), np.concatenate([start, ns])
    is_query = np.arange(len(both_tid)) >= len(tid)
    order = np.lexsort((is_query, both_ns, both_tid))
    seen = np.cumsum(~is_query[order]) - 1
    return np.asarray(seen[is_query[order]], dtype=np.int64)


assert [column.name for column in TABLES["sample"].columns] == [
    "thread_id",
    "ns",
    "event",
    "weight",
    "stack_id",
    "state",
]
