"""The directory a recording is written to: made so that a start that fails leaves everything as it was."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Any

from headway.errors import HeadwayError
from headway.store import directory as directories
from headway.store.manifest import read_manifest_json
from headway.store.manifest_keys import FORMAT
from headway.store.recorder import live_recorder

_LEAST_FREE_BYTES = 12 << 20


class RecordingDir:
    """NAME.headway with an empty spool/ inside. Use as a context manager and `keep` it once the recording runs.

    An older recording that --force replaces is only moved aside until then: without `keep`, the new directory goes
    and the old one is back. What is not a recording is never moved or deleted.
    """

    def __init__(self, directory: Path, force: bool) -> None:
        """Name the directory; `force` allows to replace a recording that is there."""
        self.directory = Path(os.path.abspath(directory))
        self.spool = self.directory / "spool"
        self.inherited: dict[str, Any] = {}
        """What the manifest takes over from a recording that is continued."""
        self._force = force
        self._aside: Path | None = None
        self._is_created = False
        self._kept = False

    def __enter__(self) -> RecordingDir:
        """Make the directory.

        Raises HeadwayError HW305 (a recording is there), HW050 (something else is), HW307 (a recording at work) or
        HW006 (it can't be made, or there is no room), or HW317 (it is another user's, and this is root).
        """
        if os.path.lexists(self.directory):
            self._move_aside()
        try:
            directories.make_directory(self.directory)
            self._is_created = True
            self._make_spool()
            room = os.statvfs(directories.pinned(self.spool))
        except OSError as error:
            self._undo()
            raise HeadwayError("HW006", path=self.directory, reason=error.strerror or str(error)) from None
        except BaseException:
            self._undo()
            raise
        free = room.f_bavail * room.f_frsize
        if free < _LEAST_FREE_BYTES:
            self._undo()
            reason = f"only {free / 2**20:.1f} MiB are free, at least {_LEAST_FREE_BYTES >> 20} are needed"
            raise HeadwayError("HW006", path=self.directory, reason=reason)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take everything back unless `keep` was called."""
        if not self._kept:
            self._undo()

    def keep(self) -> None:
        """The recording runs: from now on it stays, whatever happens. What it replaces is deleted."""
        self._kept = True
        if self._aside is not None and self._aside.is_symlink():
            self._aside.unlink(missing_ok=True)  # the name alone, as it was the name that was replaced
        elif self._aside is not None:
            directories.remove_whole(self._aside)

    def _make_spool(self) -> None:
        with directories.opened_for_writing(self.directory) as fd:
            os.mkdir("spool", directories.directory_mode(), dir_fd=fd)

    def _move_aside(self) -> None:
        """Give the recording that is there another name, and hold it, so that nothing else is deleted in its place."""
        check_replaceable(self.directory, self._force)
        aside = self.directory.with_name(f".{self.directory.name}.replaced-{secrets.token_hex(6)}")
        try:
            if os.geteuid() == 0 or not self.directory.is_symlink():
                fd = os.dup(directories.open_own(self.directory, "rm -r"))
                directories.unpin(self.directory)
                directories.pin(aside, fd)
            _rename(self.directory, aside)
        except OSError as error:
            directories.unpin(aside)
            raise HeadwayError("HW006", path=self.directory, reason=error.strerror or str(error)) from None
        self._aside = aside

    def _undo(self) -> None:
        if self._is_created:
            directories.remove_whole(self.directory)
        if self._aside is not None:
            _rename(self._aside, self.directory)
            directories.unpin(self._aside)


def _rename(old: Path, new: Path) -> None:
    """Rename beside itself, without a way through links of strangers. Raises OSError."""
    with directories.open_entry(old) as place:
        os.rename(place.name, new.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)


def check_replaceable(path: Path, force: bool) -> None:
    """Raise HeadwayError HW050, HW305 or HW307 unless what is at `path` is a recording at rest and `force` is given."""
    try:
        manifest = read_manifest_json(path)
        is_recording = manifest.get("format") == FORMAT
    except HeadwayError:
        is_recording = False
    if not is_recording:
        raise HeadwayError("HW050", path=path)
    if not force:
        raise HeadwayError("HW305", path=path)
    recorder = live_recorder(manifest)
    if recorder is not None:
        raise HeadwayError("HW307", path=path, pid=recorder)
