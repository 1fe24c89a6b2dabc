"""Recordings for other tools: a Perfetto trace, and tables as CSV.

Both are written in one pass over batches of rows, so their memory does not grow with the recording.
"""

from headway.report.export.perfetto import export_perfetto
from headway.report.export.tables import ALL_TABLES, export_csv

FORMATS = ("perfetto", "csv")

__all__ = ["ALL_TABLES", "FORMATS", "export_csv", "export_perfetto"]
