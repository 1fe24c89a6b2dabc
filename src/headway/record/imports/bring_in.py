"""Imports a file (`headway import`): finds the importer of its kind, which makes a recording directory of it."""

from __future__ import annotations

from pathlib import Path

from headway.errors import HeadwayError
from headway.record.directory.recording_dir import RecordingDir
from headway.record.imports.collapsed import CollapsedImporter
from headway.record.imports.counters_csv import CountersImporter
from headway.record.imports.importer import Importer, ImportOptions, SourceFile
from headway.record.imports.jfr_file import JfrImporter
from headway.record.imports.unpack import is_gzip
from headway.store import directory as directories
from headway.store.files import open_named
from headway.store.manifest import Manifest, read_manifest

IMPORTERS: tuple[Importer, ...] = (JfrImporter(), CountersImporter(), CollapsedImporter())
"""Each is asked in turn whether it takes a file."""


def import_file(
    source: Path, directory: Path, options: ImportOptions | None = None, *, force: bool = False
) -> Manifest:
    """Convert another tool's file into a recording.

    Raises HeadwayError HW305, HW050, HW006, HW307 or HW317 (the output), HW310 to HW315 (the input), and OSError.
    """
    importer = importer_of(source)
    with directories.temporary_pins(), RecordingDir(directory, force) as place:
        directories.remove_within(place.directory, "spool")
        importer.write(source, place.directory, options or ImportOptions())
        place.keep()
        return read_manifest(directory)


def importer_of(source: Path) -> Importer:
    """Return the importer of a file.

    Raises HeadwayError HW315 (no file that can be read), HW313 (none takes it), HW312 (a compression that is not gzip).
    """
    try:
        with open(open_named(source), "rb") as opened:
            head = opened.read(4)
        file = SourceFile(source, head, is_gzip(source))
    except FileNotFoundError:
        raise HeadwayError("HW315", path=source, reason="there is no such file") from None
    except OSError as error:
        raise HeadwayError("HW315", path=source, reason=error.strerror or str(error)) from None
    for importer in IMPORTERS:
        if importer.takes(file):
            return importer
    kinds = ", nor ".join(importer.file_type for importer in IMPORTERS)
    raise HeadwayError("HW313", path=source, reason=f"it is neither {kinds}")
