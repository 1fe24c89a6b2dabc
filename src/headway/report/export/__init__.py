"""Recordings for other tools: a Perfetto trace, tables as CSV, profiles as pprof, speedscope or collapsed stacks, and
experiments as Coz writes them.

The first two are written in one pass over batches of rows, so their memory does not grow with the recording; that of a profile
grows with its distinct stacks.
"""

from headway.report.export.collapsed import export_collapsed
from headway.report.export.coz import export_coz
from headway.report.export.perfetto import export_perfetto
from headway.report.export.pprof import export_pprof
from headway.report.export.speedscope import export_speedscope
from headway.report.export.tables import ALL_TABLES, export_csv

__all__ = [
    "ALL_TABLES",
    "export_collapsed",
    "export_coz",
    "export_csv",
    "export_perfetto",
    "export_pprof",
    "export_speedscope",
]
