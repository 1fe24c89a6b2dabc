"""The importer of JFR files, of the JDK and of async-profiler, also compressed with gzip."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.record.imports.importer import ImportOptions, SourceFile
from headway.record.imports.importing import JfrImport
from headway.record.imports.unpack import is_gzip, unpack
from headway.store.directory import pinned

_MAGIC = b"FLR\0"


class JfrImporter:
    """Makes samples, blocks, phases and counters of a JFR file, and a table of each of its events."""

    name = "jfr"
    file_type = "a JFR file (begins with FLR or is compressed with gzip, or is named .jfr)"

    def takes(self, file: SourceFile) -> bool:
        """Return whether it is a JFR file."""
        return file.is_gzip or file.head == _MAGIC or file.path.name.removesuffix(".gz").lower().endswith(".jfr")

    def write(self, source: Path, directory: Path, options: ImportOptions) -> None:
        """Write the recording of a file; one of a gzip file that is cut off or damaged is partial."""
        with _old_objects_apart():
            self._write(source, directory, options)

    def _write(self, source: Path, directory: Path, options: ImportOptions) -> None:
        if not is_gzip(source):
            JfrImport(source, source, directory, options).run()
            return
        scratch = pinned(directory) / ".unpacked.jfr"
        try:
            damage = unpack(source, scratch)
            JfrImport(scratch, source, directory, options, damage).run()
        finally:
            scratch.unlink(missing_ok=True)


@contextmanager
def _old_objects_apart() -> Iterator[None]:
    """Let the collector of cycles leave alone what there is already: modules, most of which it would go through again."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
