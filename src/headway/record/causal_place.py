"""Where a causal recording is written to: as any, but that runs of the same command add up in one that is there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.record.causal_finalise import next_run
from headway.record.causal_spec import CausalOptions, differences
from headway.record.place import Place, live_recorder
from headway.store.manifest import CAUSAL, read_manifest_json, write_manifest


class CausalPlace(Place):
    """NAME.headway with an empty spool/ inside, beside what earlier runs left.

    Undone, an earlier recording is as it was.
    """

    def __init__(self, directory: Path, force: bool, options: CausalOptions, command: Sequence[str]) -> None:
        """Name the directory; `force` replaces a recording that is there, whatever it is."""
        super().__init__(directory, force)
        self._options = options
        self._command = list(command)
        self._before: dict[str, Any] | None = None

    def __enter__(self) -> CausalPlace:
        """Make the directory, or its spool. Raises as Place does, and HeadwayError HW304 or HW610."""
        known = self._known()
        if known is None or self._force:
            super().__enter__()
            self.inherited = {"causal_run": next_run(self.directory)}
            return self
        check_addable(self.directory, known, self._options, self._command)
        try:
            self.spool.mkdir()
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
            shutil.rmtree(self.spool, ignore_errors=True)
            write_manifest(self.directory, self._before)
        else:
            super()._undo()


def check_addable(path: Path, known: dict[str, Any], options: CausalOptions, command: Sequence[str]) -> None:
    """Raise HeadwayError HW304, HW307 or HW610 unless runs of `command` can be added to the recording `known`."""
    recorder = live_recorder(known)
    if recorder is not None:
        raise HeadwayError("HW307", path=path, pid=recorder)
    if known.get("state") == "recording" or (path / "spool").exists():
        raise HeadwayError("HW304", path=path)
    if known.get("command") != list(command):
        raise HeadwayError("HW610", path=path, what="another command")
    if found := differences(known.get("causal") or {}, options):
        raise HeadwayError("HW610", path=path, what=f"the same command with other {' and '.join(found)}")
