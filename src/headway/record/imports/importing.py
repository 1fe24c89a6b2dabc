"""Imports a JFR file: samples, blocks, phases and counters in headway's tables, and every event in a table of its own.

One pass, in bounded memory; what can't be read is said, and the recording is then `partial`. Times are nanoseconds since
1970 by the clock of the file's first chunk, and the window is what its chunks cover.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headway import __version__
from headway.errors import HeadwayError, Notice
from headway.record.directory.completeness import Missing
from headway.record.imports.event_files import EventFiles
from headway.record.imports.importer import ImportOptions
from headway.record.imports.jvm_events import EVENTS, JvmEvents
from headway.record.imports.masking import masked_batch
from headway.record.imports.own_time import WORTH_SAYING
from headway.record.imports.sample_table import SampleTable
from headway.record.imports.threads import ThreadIds
from headway.record.imports.waits import WAITS, WaitTables
from headway.record.jfr.intervals import SCALED, FileIntervals, parse_ns
from headway.record.jfr.reader import EventBatch, FileTimes, JfrFile
from headway.record.jfr.samples import is_sample, sample_batch
from headway.store.directory import pinned
from headway.store.manifest import TableInfo, write_manifest
from headway.store.manifest_keys import FORMAT, VERSION
from headway.store.shared_texts import notices_of_cut_texts
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

_ONLY_SAMPLES = ("jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample", "profiler.WallClockSample")
"""These are rows of `sample` as a whole; of allocations the class is only in the event's own table."""
_NO_PROFILES = ("jdk.OldObjectSample",)
"""Samples that are of nothing that adds up: objects that live."""
ASYNC_PROFILER = "async-profiler"
_SHOWN = 3
"""Intervals that are named one by one."""
MOST_FRAMES, MOST_STACKS = 1_000_000, 8_000_000
"""Of these a file may have as many as it likes, and each is kept in memory; a program has some hundred thousand."""
_LIVES = {"jdk.ThreadStart": False, "jdk.ThreadEnd": True}


class JfrImport:
    """The import of one file into one recording directory."""

    def __init__(
        self, source: Path, shown: Path, directory: Path, options: ImportOptions, damage: Notice | None = None
    ) -> None:
        """Open `source`, called `shown` in messages. `damage`: why it is not all of the compressed file that it comes from.

        Raises HeadwayError as `JfrFile`.
        """
        self._keep_arguments = options.keep_arguments
        self._damage = damage
        self._shown = shown
        self._directory = directory
        self._progress = options.progress
        self._file = JfrFile(source, (), FileTimes.ONE_CLOCK, shown=shown, is_named=True)
        self._threads = ThreadIds(self._file)
        self._jvm = JvmEvents()
        self._sources: dict[str, int] = {}
        self._last_ns = 0
        self._rows = 0
        self._problems: list[str] = []
        """What the reader can't know."""
        self._intervals: dict[str, list[int]] = {}
        """What samples of each event of the file stand for, in turn: ns or counts."""
        self._estimates_ns: list[int] = []
        self._unused: dict[str, int] = {}
        """Events that are samples of something, and that headway makes no profile of: how many rows each has."""
        self._either = False
        self._not_known: tuple[str, ...] = ()
        """What `SampleTable` says of its samples under these names."""
        self._handlers_share = 0.0
        """Of the CPU time sampled, what async-profiler's signal handlers took."""

    def run(self) -> None:
        """Read the file and write the recording.

        Raises HeadwayError HW313 when nothing in it can be read, and OSError when a table can't be written.
        """
        tables: dict[str, TableInfo] = {}
        events = EventFiles(self._directory, self._threads)
        with (
            tempfile.TemporaryDirectory(prefix=".sorting-", dir=pinned(self._directory)) as folder,
            TableWriter(self._directory, TABLES["stack"]) as stacks,
        ):
            samples, waits = SampleTable(Path(folder)), WaitTables(Path(folder), self._threads)
            for batch in self._file:
                self._take(batch, samples, waits, events)
                stacks.write(rows := self._stacks())
                if _are_too_many(rows):
                    self._problems.append(
                        f"more than {MOST_FRAMES:,} different frames, or {MOST_STACKS:,} stacks: the rest is not read"
                    )
                    break
                self._progress(min(0.9, self._file.share_read))
            tables |= events.close()
            if not self._rows:
                first = next(iter(self._file.problems), "it has no events")
                raise HeadwayError("HW313", path=self._shown, reason=first)
            window = self._window()
            threads = self._threads.table(self._jvm.pid, window)
            if samples.rows:
                tables |= self._write_samples(samples)
            if self._has_locks(waits):
                tables |= waits.write(self._directory, self._jvm.pid, threads)
                self._note_waits(waits)
        tables["stack"] = stacks.info
        tables |= self._write_small(threads)
        if self._jvm.left_out:
            self._problems.append(
                f"more pauses, operations, CPU loads or settings than any JVM has: {self._jvm.left_out} are left out"
            )
        if writer_of(self._jvm.settings) == ASYNC_PROFILER:
            self._handlers_share = samples.cpu_weights.handlers_share(self._directory, self._file.frames())
        self._write_manifest(tables, window, events)
        self._progress(1.0)

    def _write_samples(self, samples: SampleTable) -> dict[str, TableInfo]:
        program_of = self._jvm.programs.of_chunks()
        intervals = FileIntervals(self._jvm.sampler_settings, program_of)
        if self._jvm.not_kept:
            self._problems.append(
                f"settings are told too often: what later samples stand for goes without {self._jvm.not_kept} of them"
            )
        self._intervals = {source: samples.intervals(source, intervals) for source in SCALED if source in self._sources}
        written = samples.write(self._directory, intervals, program_of)
        self._estimates_ns = list(samples.estimates_ns)
        if samples.out_of_range:
            self._problems.append(
                f"{samples.out_of_range} samples claim more than 64 bits hold in all: they count as nothing"
            )
        self._either, self._not_known = samples.either, tuple(samples.not_known)
        return written

    def _write_small(self, threads: pa.Table) -> dict[str, TableInfo]:
        rows = {
            "thread": threads,
            "frame": self._file.frames(),
            "jvm_phase": self._jvm.phases.table(self._jvm.pid),
            "jvm": self._jvm.jvm_rows(),
            "counter": self._jvm.loads.table(),
        }
        found: dict[str, TableInfo] = {}
        for name, table in rows.items():
            with TableWriter(self._directory, TABLES[name]) as writer:
                writer.write(table)
            found[name] = writer.info
        return found

    def _take(self, batch: EventBatch, samples: SampleTable, waits: WaitTables, events: EventFiles) -> None:
        if not self._keep_arguments:
            batch = masked_batch(batch)
        self._rows += batch.rows
        self._note_end(batch)
        if is_sample(batch.event):
            samples.add(sample_batch(batch), self._threads)
            self._sources[batch.event] = self._sources.get(batch.event, 0) + batch.rows
        elif _is_unused(batch):
            self._unused[batch.event] = self._unused.get(batch.event, 0) + batch.rows
        if batch.event in WAITS:
            waits.add(batch)
        if batch.event in EVENTS:
            self._jvm.take(batch)
        if batch.event in _LIVES:
            self._threads.note_life(batch, _LIVES[batch.event])
        if batch.event not in _ONLY_SAMPLES:
            events.write(batch)

    def _note_end(self, batch: EventBatch) -> None:
        """A chunk that was cut off does not say how long it is: its events do."""
        import numpy as np

        ends = batch.ints("startTime", 0)
        if "duration" in batch.columns:
            ends = ends + np.maximum(batch.ints("duration", 0), 0)
        self._last_ns = max(self._last_ns, int(ends.max()))

    def _stacks(self) -> pa.Table:
        import pyarrow as pa

        rows = self._file.stacks()
        return pa.table({**rows, "is_cut": pa.array(rows["is_cut"] != 0)})

    def _has_locks(self, waits: WaitTables) -> bool:
        """Return whether the file would have blocks if there were any: then none is a finding."""
        settings = self._jvm.settings
        return waits.rows > 0 or any(settings.get((event, "enabled")) == "true" for event in WAITS)

    def _note_waits(self, waits: WaitTables) -> None:
        if waits.not_followed:
            self._problems.append(
                f"more threads wait at a time than are counted: for {waits.not_followed} waits, how many waited at "
                "most, and for how long anyone did, is too low"
            )
        if waits.known_by_class_only:
            self._problems.append(
                f"more objects were waited for than are kept: {waits.known_by_class_only} waits are known by their class alone"
            )

    def _window(self) -> tuple[int, int]:
        chunks = self._file.chunks()
        start = min(chunk["base_ns"] for chunk in chunks)
        ends = [chunk["base_ns"] + chunk["dur_ns"] for chunk in chunks if not chunk["is_cut"]]
        end = max(ends, default=start)
        if any(chunk["is_cut"] for chunk in chunks) or end <= start:
            end = max(end, self._last_ns)
        # Hostile headers: a span has to be one that DuckDB can subtract.
        return (start, end) if start < end < start + (1 << 62) else (start, start + 1)

    @property
    def _problem_count(self) -> int:
        return self._file.problem_count + len(self._problems)

    # --- the manifest ------------------------------------------------------------------------------------------------

    def _write_manifest(self, tables: dict[str, TableInfo], window: tuple[int, int], events: EventFiles) -> None:
        settings = self._jvm.settings
        chunks = self._file.chunks()
        missing = Missing(
            file_is_cut_off=self._damage is not None, unread=self._problem_count, unwritten_events=events.left_out
        )
        writer = writer_of(settings)
        used = self._jvm.cores_used()
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "state": missing.state,
            "created_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "headway_version": __version__,
            "mode": "import",
            "command": self._jvm.command,
            "arguments_kept": self._keep_arguments,
            "pid": self._jvm.pid or None,
            "recorded_cores": self._jvm.cores,
            "window": {"start_ns": window[0], "end_ns": window[1]},
            "jvms": self._jvm.manifest(),
            "tables": {name: info.as_json() for name, info in tables.items()},
            "notices": [notice.as_json() for notice in self._notices(writer, settings, tables)],
            "import": {
                "file": str(self._shown),
                "source": f"a JFR file of {writer}",
                "clock": "nanoseconds since 1970 by the clock of the file's first chunk",
                "window": "what the file's chunks cover",
                "chunks": len(chunks),
                "versions": sorted({str(chunk["version"]) for chunk in chunks}),
                "events": sum(chunk["events"] for chunk in chunks),
                "problems": self._problem_count,
                "cores_used": used,
                "intervals": {source: values[:_SHOWN] for source, values in self._intervals.items()},
            },
        }
        if "blocker" in tables:
            manifest["locks"] = {"on": True, "stacks": tables["stack"].rows > 0, "capped_ns": None}
        write_manifest(self._directory, manifest)

    def _notices(self, writer: str, settings: dict[tuple[str, str], str], tables: dict[str, TableInfo]) -> list[Notice]:
        found = [Notice.of("HW221", path=self._shown, source=f"a JFR file of {writer}"), *notices_of_cut_texts(tables)]
        if self._problem_count:
            first = (self._file.problems + self._problems)[0]
            found.append(Notice.of("HW220", path=self._shown, count=self._problem_count, first=first))
        if "blocker" in tables:
            found.append(Notice.of("HW222", path=self._shown, which=_which_waits(settings)))
        if self._handlers_share >= WORTH_SAYING:
            found.append(Notice.of("HW225", path=self._shown, percent=f"{100 * self._handlers_share:.0f}"))
        if self._estimates_ns:
            found.append(Notice.of("HW223", path=self._shown, period=_intervals_text(self._estimates_ns)))
        if self._either:
            found.append(Notice.of("HW226", path=self._shown))
        if self._unused:
            events = [f"{event} ({rows:,})" for event, rows in sorted(self._unused.items())]
            found.append(Notice.of("HW227", path=self._shown, events=", ".join(events)))
        if self._not_known:
            found.append(Notice.of("HW228", path=self._shown, events=", ".join(self._not_known)))
        if self._damage is not None:
            found.append(self._damage)
        return found


def _are_too_many(stacks: pa.Table) -> bool:
    """Return whether the last of the frames and stacks, which are numbered as they come, are beyond what is kept."""
    import pyarrow.compute as pc

    frame, stack = (pc.max(stacks[name]).as_py() or 0 for name in ("frame_id", "stack_id"))
    return bool(frame >= MOST_FRAMES or stack >= MOST_STACKS)


def _is_unused(batch: EventBatch) -> bool:
    """Return whether an event looks like stack samples of a profiler that headway does not know."""
    stack = batch.columns.get("stackTrace")
    is_sample_of_another = batch.event.endswith("Sample") and batch.event not in _NO_PROFILES
    return is_sample_of_another and stack is not None and stack.kind == "stack"


def writer_of(settings: dict[tuple[str, str], str]) -> str:
    """Return which program wrote a file with these settings."""
    if any(key in settings for key in (("jdk.ActiveRecording", "event"), ("jdk.ActiveRecording", "engine"))):
        return ASYNC_PROFILER
    return ASYNC_PROFILER if any(name == "engine" for _, name in settings) else "JDK Flight Recorder"


def _intervals_text(intervals_ns: list[int]) -> str:
    """Return intervals as a part of HW223."""
    texts = [f"{ns / 1e6:g} ms" for ns in sorted(intervals_ns)]
    return " or ".join(texts) if len(texts) <= _SHOWN else f"{texts[0]} to {texts[-1]}"


def _which_waits(settings: dict[tuple[str, str], str]) -> str:
    """Return which waits the file has by its settings, as a part of HW222."""
    thresholds = {value for (event, name), value in settings.items() if event in WAITS and name == "threshold"}
    lock = settings.get(("jdk.JavaMonitorEnter", "lock"))
    if lock is not None and parse_ns(lock):
        thresholds.add(f"{parse_ns(lock) / 1e6:g} ms")
    if thresholds and not any(map(parse_ns, thresholds)):
        return "every wait is"
    limits = sorted(filter(parse_ns, thresholds), key=parse_ns)
    return f"waits below {' or '.join(limits) or 'its threshold'} are not"
