"""Finalise a recording whose recorder died, from what it had written by then."""

from __future__ import annotations

from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.finalise import Progress, build
from headway.record.place import live_recorder
from headway.store.manifest import Manifest, no_spool, read_manifest_json, write_manifest


def recover(directory: Path | str, progress: Progress | None = None) -> Manifest:
    """Make the tables of a recording that was left in state `recording`, or whose finalising failed.

    The result has state `partial` when its recorder died: it then ends with the last record in the spool.

    Raises HeadwayError HW301 (no recording), HW303 (manifest damaged), HW307 (its recorder is still at work), HW308
    (nothing to recover) or HW309 (the tables can't be written; the spool stays).
    """
    directory = Path(directory)
    draft = read_manifest_json(directory)
    recorder = live_recorder(draft)
    if recorder is not None:
        raise HeadwayError("HW307", path=directory, pid=recorder)
    if not (directory / "spool").is_dir():
        raise no_spool(directory, draft)
    died = draft.get("ended_by", "recorder-died") == "recorder-died"
    if died:
        notice = Notice.of("HW205").as_json()
        notices = [each for each in draft.get("notices") or [] if each.get("id") != notice["id"]]
        write_manifest(directory, {**draft, "ended_by": "recorder-died", "notices": [*notices, notice]})
    try:
        return build(
            directory,
            progress or (lambda share: None),
            state="partial" if died else "complete",
            to_the_last_record=died,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise HeadwayError("HW309", path=error.filename or directory, reason=reason, directory=directory) from error
