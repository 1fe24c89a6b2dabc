"""Converts events about the JVM itself: collector pauses, safepoints, CPU load, versions and flags."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headway.record.imports.jvm_rows import LoadRows, PhaseRows
from headway.record.imports.programs import Programs
from headway.record.jfr.intervals import Setting, sampler_setting
from headway.record.jfr.reader import EventBatch

if TYPE_CHECKING:
    import pyarrow as pa

EVENTS = (
    *("jdk.GCPhasePause", "jdk.GarbageCollection", "jdk.ExecuteVMOperation", "jdk.CPULoad", "jdk.JVMInformation"),
    *("jdk.OSInformation", "jdk.CPUInformation", "jdk.ContainerConfiguration", "jdk.InitialSystemProperty"),
    "jdk.ActiveSetting",
)
MOST_SETTINGS = 200_000
"""Rows of settings of samplers that are kept: a chunk has about four."""
_MOST_NAMED_SETTINGS = 1 << 16
"""Settings of events that are kept, the last value of each: a JVM has about a thousand."""
_PROPERTIES = ("java.version", "java.vm.name", "java.vendor", "java.home", "os.version")


@dataclass(slots=True)
class JvmEvents:
    """Collects the rows of `EVENTS`: in a JVM's file they are few, in one that means harm there are millions."""

    phases: PhaseRows = field(default_factory=PhaseRows)
    loads: LoadRows = field(default_factory=LoadRows)
    facts: dict[str, str] = field(default_factory=dict)
    settings: dict[tuple[str, str], str] = field(default_factory=dict)  # (event, name) -> the last value
    sampler_settings: dict[int, list[Setting]] = field(default_factory=dict)  # by chunk
    not_kept: int = 0
    programs: Programs = field(default_factory=Programs)
    pid: int = 0
    cores: int | None = None
    _kept: int = 0
    _settings_left_out: int = 0
    _first: set[tuple[int, str, str]] = field(default_factory=set)

    def take(self, batch: EventBatch) -> None:
        """Add a batch of one of `EVENTS`."""
        {
            "jdk.GCPhasePause": self.phases.add_pauses,
            "jdk.GarbageCollection": self.phases.add_collections,
            "jdk.ExecuteVMOperation": self.phases.add_operations,
            "jdk.CPULoad": self.loads.add,
            "jdk.ActiveSetting": self._setting,
        }.get(batch.event, self._fact)(batch)

    @property
    def left_out(self) -> int:
        """Return how many events are not kept, as there are more than of any JVM."""
        return self.phases.left_out + self.loads.left_out + self._settings_left_out

    def _setting(self, batch: EventBatch) -> None:
        rows = list(zip(*map(batch.text_list, ("event", "name", "value")), strict=True))
        for event, name, value in rows:
            key = str(event), str(name)
            if len(self.settings) < _MOST_NAMED_SETTINGS or key in self.settings:
                self.settings[key] = str(value)
            else:
                self._settings_left_out += 1
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
        return self.loads.cores_used(self.cores)
