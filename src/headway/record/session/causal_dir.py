"""The directory of a causal recording, which accumulates runs of the same command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.model.secrets import masked_words
from headway.record.causal.tables import next_run
from headway.record.directory.recording_dir import RecordingDir
from headway.record.request.causal_spec import CausalOptions, differences
from headway.store import directory as directories
from headway.store.manifest import read_manifest_json, write_manifest
from headway.store.manifest_keys import CAUSAL
from headway.store.recorder import live_recorder, not_finalised


class CausalPlace(RecordingDir):
    """NAME.headway with an empty spool/ for the next run, beside the notes of earlier runs.

    Undone, an earlier recording is as it was.
    """

    def __init__(self, directory: Path, force: bool, options: CausalOptions, command: Sequence[str]) -> None:
        """Name the directory; `force` replaces whatever recording is there."""
        super().__init__(directory, force)
        self._options = options
        self._command = list(command)
        self._before: dict[str, Any] | None = None

    def __enter__(self) -> CausalPlace:
        """Make the directory, or its spool. Raises as RecordingDir does, and HeadwayError HW304 or HW610."""
        known = self._known()
        if known is None or self._force:
            super().__enter__()
            self.inherited = {"causal_run": next_run(self.directory)}
            return self
        check_addable(self.directory, known, self._options, self._command)
        try:
            directories.open_own(self.directory, "headway causal")
            self._make_spool()
        except OSError as error:
            raise HeadwayError("HW006", path=self.directory, reason=error.strerror or str(error)) from None
        self._before = known
        kept: dict[str, Any] = {key: known[key] for key in ("tables", "notices", "jvms") if key in known}
        self.inherited = {**kept, "causal_run": next_run(self.directory)}
        return self

    def _known(self) -> dict[str, Any] | None:
        """Return the manifest of a causal recording that is there."""
        try:
            manifest = read_manifest_json(self.directory)
        except HeadwayError:
            return None
        return manifest if manifest.get("kind") == CAUSAL else None

    def _undo(self) -> None:
        if self._before is not None:
            directories.remove_within(self.directory, "spool")
            write_manifest(self.directory, self._before)
        else:
            super()._undo()


def check_addable(path: Path, known: dict[str, Any], options: CausalOptions, command: Sequence[str]) -> None:
    """Raise HeadwayError HW304, HW307 or HW610 unless runs of `command` can be added to the recording `known`."""
    recorder = live_recorder(known)
    if recorder is not None:
        raise HeadwayError("HW307", path=path, pid=recorder)
    if known.get("state") == "recording" or (path / "spool").exists():
        raise not_finalised(path, known)
    if masked_words(map(str, known.get("command") or ())) != masked_words(command):  # a manifest has them masked
        raise HeadwayError("HW610", path=path, what="another command")
    if found := differences(known.get("causal") or {}, options):
        raise HeadwayError("HW610", path=path, what=f"the same command with other {' and '.join(found)}")
