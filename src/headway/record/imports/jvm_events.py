"""Converts events about the JVM itself: collector pauses, safepoints, CPU load, versions and flags."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headway.record.imports.programs import Programs
from headway.record.jfr.intervals import Setting, sampler_setting
from headway.record.jfr.reader import NONE, EventBatch

if TYPE_CHECKING:
    import pyarrow as pa

EVENTS = (
    *("jdk.GCPhasePause", "jdk.GarbageCollection", "jdk.ExecuteVMOperation", "jdk.CPULoad", "jdk.JVMInformation"),
    *("jdk.OSInformation", "jdk.CPUInformation", "jdk.ContainerConfiguration", "jdk.InitialSystemProperty"),
    "jdk.ActiveSetting",
)
MILLIONTHS = 1_000_000
MOST_SETTINGS = 200_000
"""Rows of settings of samplers that are kept: a chunk has about four."""
_LOADS = {"jvmUser": "cpu_load_jvm_user", "jvmSystem": "cpu_load_jvm_system", "machineTotal": "cpu_load_machine"}
_PROPERTIES = ("java.version", "java.vm.name", "java.vendor", "java.home", "os.version")


@dataclass(slots=True)
class JvmEvents:
    """Collects the rows of `EVENTS`, which are few."""

    pauses: list[tuple[int, int, int]] = field(default_factory=list)  # start, length, id of the collection
    collections: dict[int, tuple[int, int, str | None]] = field(default_factory=dict)  # id -> start, pauses, cause
    safepoints: list[tuple[int, int, str | None]] = field(default_factory=list)
    loads: list[tuple[int, str, int]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    settings: dict[tuple[str, str], str] = field(default_factory=dict)  # (event, name) -> the last value
    sampler_settings: dict[int, list[Setting]] = field(default_factory=dict)  # by chunk
    not_kept: int = 0
    programs: Programs = field(default_factory=Programs)
    pid: int = 0
    cores: int | None = None
    _kept: int = 0
    _first: set[tuple[int, str, str]] = field(default_factory=set)

    def take(self, batch: EventBatch) -> None:
        """Add a batch of one of `EVENTS`."""
        {
            "jdk.GCPhasePause": self._pause,
            "jdk.GarbageCollection": self._collection,
            "jdk.ExecuteVMOperation": self._operation,
            "jdk.CPULoad": self._load,
            "jdk.ActiveSetting": self._setting,
        }.get(batch.event, self._fact)(batch)

    def _pause(self, batch: EventBatch) -> None:
        self.pauses += zip(*(batch.ints(name, 0).tolist() for name in ("startTime", "duration", "gcId")), strict=True)

    def _collection(self, batch: EventBatch) -> None:
        """Of the length of a collection only its pauses: a concurrent one goes on beside the program."""
        import numpy as np

        starts, numbers = batch.ints("startTime", 0).tolist(), batch.ints("gcId", 0).tolist()
        pauses = batch.ints("sumOfPauses")
        lengths = np.where(pauses == NONE, batch.ints("duration", 0), pauses).tolist()
        causes = batch.text_list("cause")
        self.collections |= dict(zip(numbers, zip(starts, lengths, causes, strict=True), strict=True))

    def _operation(self, batch: EventBatch) -> None:
        starts, lengths = batch.ints("startTime", 0).tolist(), batch.ints("duration", 0).tolist()
        names, at_safepoint = batch.text_list("operation"), batch.ints("safepoint", 0).tolist()
        rows = zip(starts, lengths, names, at_safepoint, strict=True)
        self.safepoints += [(start, length, name) for start, length, name, stopped in rows if stopped]

    def _load(self, batch: EventBatch) -> None:
        for field_name, event in _LOADS.items():
            column = batch.columns.get(field_name)
            if column is not None and column.kind == "real":
                rows = zip(batch.ints("startTime").tolist(), column.values.tolist(), strict=True)
                self.loads += [(ns, event, round(min(max(share, 0.0), 1.0) * MILLIONTHS)) for ns, share in rows]

    def _setting(self, batch: EventBatch) -> None:
        rows = list(zip(*map(batch.text_list, ("event", "name", "value")), strict=True))
        self.settings |= {(str(event), str(name)): str(value) for event, name, value in rows}
        starts_ns, at = batch.ints("startTime", 0).tolist(), 0
        for chunk, count in batch.chunks:
            for place in range(at, at + count):
                setting = sampler_setting(starts_ns[place], *rows[place])
                if setting is not None:
                    self._keep(chunk, setting)
            at += count

    def _keep(self, chunk: int, setting: Setting) -> None:
        key = chunk, setting.event, setting.name
        if self._kept >= MOST_SETTINGS and key in self._first:
            self.not_kept += 1
            return
        self._first.add(key)  # a chunk has few of these
        self.sampler_settings.setdefault(chunk, []).append(setting)
        self._kept += 1

    def _fact(self, batch: EventBatch) -> None:
        if batch.event == "jdk.InitialSystemProperty":
            found = dict(zip(*map(batch.text_list, ("key", "value")), strict=True))
            self.facts |= {key: str(found[key]) for key in _PROPERTIES if found.get(key)}
            return
        last = batch.rows - 1
        for name, column in batch.columns.items():
            if column.kind == "text":
                value = batch.text_list(name)[last]
                if value and name not in ("eventThread", "stackTrace"):
                    self.facts[f"{batch.event.removeprefix('jdk.')}.{name}"] = str(value)
        if batch.event == "jdk.JVMInformation":
            self.pid = max(0, int(batch.ints("pid", 0)[last])) & 0x7FFFFFFF
            self.programs.note(batch)
        cores = int(batch.ints("effectiveCpuCount", 0)[last]) or int(batch.ints("hwThreads", 0)[last])
        if 0 < cores < 1 << 16 and (self.cores is None or batch.event == "jdk.ContainerConfiguration"):
            self.cores = cores

    # --- what becomes of them ----------------------------------------------------------------------------------------

    def phases(self) -> pa.Table:
        """Return the rows of `jvm_phase`: pauses and safepoints.

        Where single pauses are not told, those of a collection are one at its begin.
        """
        import pyarrow as pa

        rows: list[tuple[int, int, str, str | None]] = []
        for start, length, number in self.pauses:
            rows.append((start, length, "gc_pause", self.collections.get(number, (0, 0, None))[2]))
        if not self.pauses:
            rows += [(start, length, "gc_pause", cause) for start, length, cause in self.collections.values()]
        rows += [(start, length, "safepoint", name) for start, length, name in self.safepoints]
        rows.sort(key=lambda row: row[:3])
        columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
        return pa.table(
            {
                "pid": pa.array([self.pid] * len(rows), pa.int32()),
                "start_ns": pa.array(columns[0], pa.int64()),
                "dur_ns": pa.array([max(0, each) for each in columns[1]], pa.int64()),
                "kind": pa.array(columns[2], pa.string()),
                "cause": pa.array(columns[3], pa.string()),
            }
        )

    def counters(self) -> pa.Table:
        """Return the rows of `counter`."""
        import pyarrow as pa

        rows = sorted(row for row in self.loads if row[0] != NONE)
        return pa.table(
            {
                "ns": pa.array([row[0] for row in rows], pa.int64()),
                "event": pa.array([row[1] for row in rows], pa.string()),
                "cpu": pa.array([-1] * len(rows), pa.int16()),
                "value": pa.array([row[2] for row in rows], pa.int64()),
            }
        )

    def jvm_rows(self) -> pa.Table:
        """Return the rows of `jvm`."""
        import pyarrow as pa

        keys = sorted(self.facts)
        return pa.table(
            {
                "pid": pa.array([self.pid] * len(keys), pa.int32()),
                "key": pa.array(keys, pa.string()),
                "value": pa.array([self.facts[key] for key in keys], pa.string()),
            }
        )

    def manifest(self) -> list[dict[str, Any]]:
        """Return the manifest's entry for the JVM, if the file has any information about it."""
        version = self.facts.get("java.version") or self.facts.get("JVMInformation.jvmVersion")
        vm = self.facts.get("JVMInformation.jvmName") or self.facts.get("java.vm.name")
        flags = self.facts.get("JVMInformation.jvmArguments")
        if not (version or vm):
            return []
        return [{"pid": self.pid, "version": version, "vm": vm, "flags": flags, "available_processors": self.cores}]

    @property
    def command(self) -> list[str]:
        """Return java's arguments as far as the file has them."""
        text = self.facts.get("JVMInformation.javaArguments", "")
        try:
            return shlex.split(text)
        except ValueError:
            return text.split()

    def cores_used(self) -> dict[str, float] | None:
        """Return how many cores the JVM used, mean and peak of its CPU load readings; None without readings."""
        if self.cores is None:
            return None
        sums: dict[int, int] = defaultdict(int)
        for ns, event, share in self.loads:
            if event != _LOADS["machineTotal"]:
                sums[ns] += share
        used = [share * self.cores / MILLIONTHS for share in sums.values()]
        if not used:
            return None
        return {"mean": sum(used) / len(used), "peak": max(used), "readings": len(used), "cores": self.cores}
