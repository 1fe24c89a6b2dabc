"""The analyses and exporters that there are: headway's own, and those that installed packages add by entry points.

Nothing is imported until it is used: names come from the tables below and from the metadata of installed packages.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.report.commands import COMMANDS
from headway.report.formats import FORMATS

if TYPE_CHECKING:
    from headway.report.analysis import Analysis
    from headway.report.exporter import Exporter

ANALYSES = "headway.analyses"
EXPORTERS = "headway.exporters"
"""Groups of entry points: NAME = "module:object" each."""


@dataclass(frozen=True)
class Plugin:
    """A named object that is imported when it is asked for. `package`: who added it, "" for headway itself."""

    name: str
    target: str
    package: str = ""

    @cached_property
    def value(self) -> Any:
        """Import the object. Raises HeadwayError HW510 when that fails, whatever for."""
        module, _, attribute = self.target.partition(":")
        with self.named():
            return getattr(importlib.import_module(module), attribute)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Raise HeadwayError HW510, which names the package, for what fails in its code, exits included."""
        from click import Abort, ClickException
        from click.exceptions import Exit

        try:
            yield
        except (HeadwayError, BrokenPipeError, ClickException, Abort, Exit):
            raise
        except (Exception, SystemExit) as error:
            if not self.package or str(error) == "Query interrupted":  # DuckDB's word for Ctrl-C
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARACTERS]
            raise HeadwayError("HW510", name=self.name, package=self.package, reason=reason) from error


_REASON_CHARACTERS = 300


_OWN_ANALYSES = (
    Plugin("parallelism", "headway.report.analyses.parallelism:PARALLELISM"),
    Plugin("walltime", "headway.report.analyses.walltime:WALLTIME"),
    Plugin("whatif", "headway.report.analyses.whatif:WHATIF"),
    Plugin("locks", "headway.report.analyses.locks:LOCKS"),
    Plugin("threads", "headway.report.analyses.threads:THREADS"),
    Plugin("top", "headway.report.analyses.profile:TOP"),
    Plugin("why", "headway.report.analyses.lost_cores:WHY"),
    Plugin("critical-path", "headway.report.analyses.critical_path:CRITICAL_PATH"),
    Plugin("speedups", "headway.report.analyses.speedups:SPEEDUPS"),
    Plugin("counters", "headway.report.analyses.counters:COUNTERS"),
    Plugin("numa", "headway.report.analyses.numa:NUMA"),
    Plugin("numa-map", "headway.report.analyses.numa_map:NUMA_MAP"),
    Plugin("objects", "headway.report.analyses.objects:OBJECTS"),
    Plugin("memory", "headway.report.analyses.memory:MEMORY"),
    Plugin("notes", "headway.report.analyses.notes:NOTES"),
)
"""In the order in which `headway run` prints what they have to say."""
_OWN_EXPORTERS = tuple(Plugin(each.name, f"headway.report.formats:{each.name.upper()}") for each in FORMATS)


def _entry_points(group: str) -> list[metadata.EntryPoint]:
    """Return the entry points of a group; a package whose metadata can't be read has none."""
    try:
        return list(metadata.entry_points(group=group))
    except Exception:  # one of any package, which need not have to do with headway
        found: list[metadata.EntryPoint] = []
        for package in metadata.distributions():
            with contextlib.suppress(Exception):
                found += package.entry_points.select(group=group)
        return found


def added(group: str, taken: tuple[str, ...]) -> list[Plugin]:
    """Return what installed packages add to a group, by name; names that are taken, or twice there, are left out."""
    found: dict[str, Plugin] = {}
    for entry in sorted(_entry_points(group), key=lambda each: each.name):
        package = entry.dist.name if entry.dist is not None else "?"
        if entry.name not in taken:
            found.setdefault(entry.name, Plugin(entry.name, entry.value, package))
    return list(found.values())


def own_analyses() -> tuple[Plugin, ...]:
    """Return headway's own analyses."""
    return _OWN_ANALYSES


def added_analyses() -> list[Plugin]:
    """Return the analyses of other packages; none has the name of a command of headway's."""
    return added(ANALYSES, tuple(each.name for each in COMMANDS))


def analysis(plugin: Plugin) -> Analysis[Any]:
    """Return the analysis of a plugin. Raises HeadwayError HW510."""
    value: Analysis[Any] = plugin.value
    return value


def exporters() -> list[Plugin]:
    """Return all exporters, in the order of their names."""
    return sorted(
        (*_OWN_EXPORTERS, *added(EXPORTERS, tuple(each.name for each in _OWN_EXPORTERS))), key=lambda each: each.name
    )


def exporter(plugin: Plugin) -> Exporter:
    """Return the exporter of a plugin. Raises HeadwayError HW510."""
    value: Exporter = plugin.value
    return value
