"""`headway import`: which kind of file it is, and the directory that it becomes a recording in."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.jfr.collapsed import import_collapsed
from headway.record.jfr.counters_csv import import_counters
from headway.record.jfr.importing import JfrImport
from headway.record.jfr.unpack import is_gzip, unpack
from headway.record.place import Place
from headway.store.manifest import Manifest, read_manifest, read_manifest_json, write_manifest

Progress = Callable[[float], None]


def import_file(
    source: Path,
    directory: Path,
    *,
    force: bool = False,
    event: str = "samples",
    interval_ns: int | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Make a recording of a file of another tool; `event` and `interval_ns` say what collapsed stacks count.

    Raises HeadwayError HW305, HW050, HW006 or HW307 (the output), HW310 to HW315 (the input), and OSError.
    """
    kind = kind_of(source)
    with Place(directory, force) as place:
        place.spool.rmdir()
        if kind == "jfr":
            _import_jfr(source, place.directory, progress or (lambda share: None))
        elif kind == "csv":
            import_counters(source, place.directory)
        else:
            import_collapsed(source, place.directory, event, interval_ns)
        place.keep()
    return read_manifest(directory)


def kind_of(source: Path) -> str:
    """Return jfr, csv or collapsed: by what the file begins with, then by its name.

    Raises HeadwayError HW315 (no file that can be read), HW313 (neither), HW312 (a compression that is not gzip).
    """
    try:
        with open(source, "rb") as file:
            head = file.read(4)
        packed = is_gzip(source)
    except FileNotFoundError:
        raise HeadwayError("HW315", path=source, reason="there is no such file") from None
    except OSError as error:
        raise HeadwayError("HW315", path=source, reason=error.strerror or str(error)) from None
    name = source.name.removesuffix(".gz").lower()
    if packed or head == b"FLR\0" or name.endswith(".jfr"):
        return "jfr"
    if name.endswith(".csv"):
        return "csv"
    if name.endswith((".collapsed", ".folded", ".txt")):
        return "collapsed"
    raise HeadwayError("HW313", path=source, reason="it is no JFR file, and not named .csv or .collapsed")


@contextmanager
def _old_objects_apart() -> Iterator[None]:
    """Let the collector of cycles leave alone what there is already: modules, most of which it would go through again."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@_old_objects_apart()
def _import_jfr(source: Path, directory: Path, progress: Progress) -> None:
    if not is_gzip(source):
        JfrImport(source, source, directory, progress).run()
        return
    scratch = directory / ".unpacked.jfr"
    try:
        notice: Notice | None = unpack(source, scratch)
        JfrImport(scratch, source, directory, progress).run()
    finally:
        scratch.unlink(missing_ok=True)
    if notice is not None:
        from headway.record.draft import amend  # knows all of recording, which most imports do without

        amend(directory, notices=[notice])
        write_manifest(directory, {**read_manifest_json(directory), "state": "partial"})
