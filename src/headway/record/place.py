"""The directory a recording is written to: made so that a start that fails leaves everything as it was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any

from headway.errors import HeadwayError
from headway.record.processes import Process
from headway.store.manifest import FORMAT, read_manifest_json

_LEAST_FREE_BYTES = 12 << 20


class Place:
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
        self._made = False
        self._kept = False

    def __enter__(self) -> Place:
        """Make the directory.

        Raises HeadwayError HW305 (a recording is there), HW050 (something else is), HW307 (a recording at work) or
        HW006 (it can't be made, or there is no room).
        """
        if os.path.lexists(self.directory):
            self._move_aside()
        try:
            self.directory.mkdir()
            self._made = True
            self.spool.mkdir()
            room = os.statvfs(self.spool)
        except OSError as error:
            self._undo()
            raise HeadwayError("HW006", path=self.directory, reason=error.strerror or str(error)) from None
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
        if self._aside is not None:
            _delete(self._aside)

    def _move_aside(self) -> None:
        check_replaceable(self.directory, self._force)
        self._aside = self.directory.with_name(f".{self.directory.name}.replaced-{os.getpid()}")
        try:
            os.rename(self.directory, self._aside)
        except OSError as error:
            self._aside = None
            raise HeadwayError("HW006", path=self.directory, reason=error.strerror or str(error)) from None

    def _undo(self) -> None:
        if self._made:
            shutil.rmtree(self.directory, ignore_errors=True)
        if self._aside is not None:
            os.rename(self._aside, self.directory)


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


def live_recorder(manifest: dict[str, object]) -> int | None:
    """Return the pid of the headway that still makes the recording with this manifest, or None.

    The pid alone would not do: it may belong to another process by now, or come from before a reboot.
    """
    pid, ticks = manifest.get("recorder_pid"), manifest.get("recorder_start_ticks")
    if manifest.get("state") != "recording" or not isinstance(pid, int) or not isinstance(ticks, int):
        return None
    if manifest.get("boot_id") != boot_id():
        return None
    return pid if Process(pid, ticks).is_alive else None


def boot_id() -> str:
    """Return the kernel's random id of this boot: start times are comparable only within one."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _delete(path: Path) -> None:
    if path.is_symlink():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)
