"""Writes the table `sample`: async-profiler's samples of each JVM, joined with the recording's threads.

`read` comes before the pass over the scheduling records; `weigh` sees each batch of that pass, `rows` come after it. A sample
of the CPU stands for what its thread had executed since its sample before (the first one: since the sampler began), which the
scheduling records tell exactly: timers fire late, twice at once, or not at all below the kernel's tick, and async-profiler's
file does not say so. Where nothing was recorded of the scheduling, it stands for the interval. A wall sample stands for the
time until its thread's next one: the sampler's own thread has to wait for a CPU, too.

Samples are kept in memory while finalising, at about 40 bytes each: an hour of eight busy cores at 100 Hz is 120 MB.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.errors import Notice
from headway.model import Kind
from headway.record.finalise.samples.sample_files import ROW_BYTES, STATES, FileSamples, SampleFile, read_sample_file
from headway.record.finalise.samples.sample_weights import ExecutedAt, until_next
from headway.record.finalise.threads.thread_lives import ThreadLives
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.record.request.sampling import BY_TIME, files_of
from headway.store.checks.values import room_bytes
from headway.store.shared_texts import MOST_BYTES
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

BATCH = 1 << 18
FEW_SKIPPED = 0.01
"""Less than this share of a JVM's samples being skipped changes no figure that anybody would act upon."""


@dataclass(slots=True)
class SampleTables:
    """The stack samples of one recording. `asked`: the key `sampling` of the manifest's draft, {} for nothing."""

    threads: RecordedThreads
    agents: Sequence[Mapping[str, Any]]
    window: tuple[int, int]
    asked: Mapping[str, Any]
    files: dict[int, SampleFile] = field(default_factory=dict)
    """By the agent's number."""
    samples: FileSamples = field(default_factory=FileSamples)
    """Of all JVMs, by thread and time; `thread` is a thread_id or -1, `stack` numbers the stacks of all files."""
    _executed: ExecutedAt | None = None

    def begin(self) -> None:
        """Read the sample files beside the agents' files: slices tell what their samples stand for."""
        if not self.asked:
            return
        parts: list[FileSamples] = []
        stacks, left, names_left = 0, room_bytes() // ROW_BYTES, MOST_BYTES
        of_agents = [files_of(Path(agent["path"])) for agent in self.agents]
        smallest_first = sorted(range(len(of_agents)), key=lambda number: _disk_bytes(of_agents[number]))
        for jvms_left, number in zip(range(len(of_agents), 0, -1), smallest_first, strict=True):
            share, names = left // jvms_left, names_left // jvms_left  # one JVM's file costs no other's samples
            file = read_sample_file(of_agents[number], self.asked, stacks, share, names)
            left -= min(share, file.rows)
            names_left -= min(names, file.name_bytes)
            self.files[number] = file
            stacks += file.stacks.count
            parts.append(self._identified(self.threads.pid_of_agent[number], file.samples))
        merged = FileSamples.joined(parts)
        self.samples = merged.where(np.lexsort((merged.ns, merged.thread)))
        self._executed = ExecutedAt(self.samples, self._is_of_cpu_time(), self.window[0], self._sampled_from())

    def _sampled_from(self) -> NDArray[np.int64]:
        """Return for each thread_id when the sampler of its JVM had begun; 0: nobody knows."""
        began = {self.threads.pid_of_agent[number]: file.started_ns for number, file in self.files.items()}
        return np.array([began.get(row.pid, 0) for row in self.threads.rows], dtype=np.int64)

    def _is_of_cpu_time(self) -> NDArray[np.bool_]:
        """Return which samples stand for CPU time of a known thread."""
        events = self.samples.events
        codes = [code for code, name in enumerate(events) if name in BY_TIME]
        return np.isin(self.samples.event, codes) & (self.samples.thread >= 0)

    def _identified(self, pid: int, samples: FileSamples) -> FileSamples:
        """Return a JVM's samples inside the window with their thread_id, without those of headway's own threads."""
        lives = ThreadLives(self.threads, pid)
        ids = lives.ids[:-1].tolist()
        own = np.array([i for i in ids if self.threads.rows[i].kind is Kind.HEADWAY], dtype=np.int64)
        samples = samples.where(np.lexsort((samples.ns, samples.thread)))
        samples.thread = lives.ids[lives.at(samples.thread, samples.ns)]
        inside = (samples.ns >= self.window[0]) & (samples.ns <= self.window[1])
        return samples.where(np.flatnonzero(inside & ~np.isin(samples.thread, own)))

    def slices(self, batch: Mapping[str, Any]) -> None:
        """Take a batch of slices (slice_pass.py)."""
        if self._executed is not None:
            self._executed.add(batch)

    def end(self) -> None:
        """Do nothing: `rows` weighs the samples."""

    def rows(self, first_stack: int) -> Iterator[pa.Table]:
        """Yield the rows of `sample` in order of time; `first_stack` is the stack_id of the first stack here."""
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
        """Return the notices that belong to all sample figures."""
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
            if file.lost_from_ns is not None and file.lost_from_ns <= self.window[1]:  # not of what comes after the end
                found.append(Notice.of("HW212", pid=pid, from_s=max(0, file.lost_from_ns - self.window[0]) / 1e9))
            if file.skipped:
                few = "HW233" if file.skipped < FEW_SKIPPED * file.total else "HW213"
                found.append(Notice.of(few, pid=pid, skipped=file.skipped, total=file.total))
            if file.has_old_code and any(event != "alloc" for event in self.asked["events"]):
                found.append(Notice.of("HW232", pid=pid))
            if file.damage:
                found.append(Notice.of("HW214", pid=pid, reason=file.damage))
        return found


def _disk_bytes(files: Sequence[Path]) -> int:
    """Return how much of the disk these files take; what can't be seen takes nothing."""
    total = 0
    for file in files:
        with contextlib.suppress(OSError):
            total += file.lstat().st_blocks * 512
    return total


assert [column.name for column in TABLES["sample"].columns] == [
    "thread_id",
    "ns",
    "event",
    "weight",
    "stack_id",
    "state",
]
