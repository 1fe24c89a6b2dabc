"""Headway's own formats as the seam for exporters has them (report/exporter.py); what writes one is imported when it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway.report.exporter import Needs, Source


@dataclass(frozen=True, slots=True)
class Format:
    """A format of headway's own; `writer` takes what is exported, the path, and whether a file there may be replaced."""

    name: str
    suffix: str
    summary: str
    needs: Needs
    writer: Callable[[Source, Path | str, bool], Path]

    def write(self, source: Source, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write the file, as the seam says."""
        return self.writer(source, path, overwrite)


def _perfetto(source: Source, path: Path | str, overwrite: bool) -> Path:
    from headway.report.export import export_perfetto

    return export_perfetto(source.recording, path, overwrite=overwrite)


def _csv(source: Source, path: Path | str, overwrite: bool) -> Path:
    from headway.report.export import export_csv

    default = "thread_objects" if source.recording.has("thread_objects") else "thread_state"
    table = source.table or default
    return export_csv(source.recording, path, table=table, overwrite=overwrite, raw_text=source.raw_text)


def _collapsed(source: Source, path: Path | str, overwrite: bool) -> Path:
    from headway.report.export import export_collapsed

    return export_collapsed(source.profile(), path, overwrite=overwrite)


def _pprof(source: Source, path: Path | str, overwrite: bool) -> Path:
    from headway.report.export import export_pprof

    by_line = source.profile(by_thread=True, by_line=True)
    return export_pprof(by_line, path, program=source.recording.path.name, overwrite=overwrite)


def _speedscope(source: Source, path: Path | str, overwrite: bool) -> Path:
    from headway.report.export import export_speedscope

    by_thread, name = source.profile(by_thread=True), source.recording.path.name
    return export_speedscope(source.profile(), by_thread, path, name=name, overwrite=overwrite)


def _coz(source: Source, path: Path | str, overwrite: bool) -> Path:
    from headway.report.export import export_coz

    return export_coz(source.recording, path, overwrite=overwrite)


_TRACE = "a trace with the kernel's scheduling events, JVM phases and counters"
COLLAPSED = Format("collapsed", ".collapsed", "a profile of one event as collapsed stacks", "profile", _collapsed)
COZ = Format("coz", ".coz", "the experiments of headway causal, for Coz's viewer", "experiments", _coz)
CSV = Format("csv", ".csv", "a table", "tables", _csv)
PERFETTO = Format("perfetto", ".perfetto-trace", _TRACE, "recording", _perfetto)
PPROF = Format("pprof", ".pb.gz", "a profile of one event for pprof", "profile", _pprof)
SPEEDSCOPE = Format("speedscope", ".speedscope.json", "a profile of one event for speedscope", "profile", _speedscope)
FORMATS = (COLLAPSED, COZ, CSV, PERFETTO, PPROF, SPEEDSCOPE)
