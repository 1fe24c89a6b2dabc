"""A recording on disk: NAME.headway/ with manifest.json and one Parquet file per table.

Read one with `open_recording`; `tables.TABLES` explains every column; `writer` makes them.
"""

from headway.store.manifest import Manifest, read_manifest, write_manifest
from headway.store.reader import Recording, open_recording
from headway.store.tables import TABLES, Column, TableSchema

__all__ = [
    "TABLES",
    "Column",
    "Manifest",
    "Recording",
    "TableSchema",
    "open_recording",
    "read_manifest",
    "write_manifest",
]
