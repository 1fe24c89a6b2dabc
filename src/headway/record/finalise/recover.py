"""Finalises a recording whose recorder died, from the records written until then (`headway recover`)."""

from __future__ import annotations

from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.agent.left_behind import fetch_left_behind
from headway.record.directory.completeness import Missing
from headway.record.finalise.finalise import Progress, build
from headway.record.request.agent_copies import remove_unused
from headway.store import directory as directories
from headway.store.damage import no_spool
from headway.store.directory import pinned
from headway.store.files import remove_unfinished
from headway.store.manifest import Manifest, read_manifest_json, write_manifest
from headway.store.recorder import boot_id, live_recorder


def recover(directory: Path | str, progress: Progress | None = None) -> Manifest:
    """Write the tables of a recording left in state `recording`, or whose finalising failed.

    The result has state `partial` when its recorder died: it then ends with the last record in the spool.

    Raises HeadwayError HW301 (no recording), HW302 (a newer version), HW303 (manifest damaged), HW307 (its recorder is still at
    work), HW308 (nothing to recover), HW309 (the tables can't be written; the spool stays) or HW317 (as root, one of another
    user's).
    """
    directory = Path(directory)
    read_manifest_json(directory)  # says what is wrong with what is no recording at all
    remove_unused()
    with directories.temporary_pins():
        try:
            directories.open_own(directory, "headway recover")
        except OSError as error:
            raise HeadwayError("HW301", path=directory, reason=error.strerror or str(error)) from None
        return _recover(directory, progress)


def _recover(directory: Path, progress: Progress | None) -> Manifest:
    draft = read_manifest_json(directory)
    Manifest.from_json(draft, directory)  # says which value is not what it should be
    recorder = live_recorder(draft)
    if recorder is not None:
        raise HeadwayError("HW307", path=directory, pid=recorder)
    if not directories.pin_below(directory / "spool", "headway recover"):
        raise no_spool(directory, draft)
    remove_unfinished(directory)
    died = draft.get("ended_by", "recorder-died") == "recorder-died"
    if died:
        notice = Notice.of("HW205").as_json()
        notices = [each for each in draft.get("notices") or [] if each.get("id") != notice["id"]]
        if draft.get("boot_id") == boot_id():  # else its processes are none of this machine's
            notices += [each.as_json() for each in fetch_left_behind(draft, pinned(directory / "spool"))]
        draft = {key: value for key, value in draft.items() if key != "agents_elsewhere"}
        write_manifest(directory, {**draft, "ended_by": "recorder-died", "notices": [*notices, notice]})
    try:
        return build(directory, progress or (lambda share: None), Missing(recorder_died=died))
    except OSError as error:
        reason = error.strerror or str(error)
        raise HeadwayError("HW309", path=error.filename or directory, reason=reason, directory=directory) from error
