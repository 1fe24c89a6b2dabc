"""Finds the code in which threads stood when headway first looked: of a platform thread's sleep or I/O nothing else tells it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headway.analyses.common import causes
from headway.analyses.waits.classification.roles import NATIVE_STATE, SLEEP_STATE
from headway.analyses.waits.object_names import is_jdk, is_proxy
from headway.analyses.waits.tables.wait_stacks import frame_text
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.store import Recording

_STATES = {causes.SLEEP: SLEEP_STATE, causes.IO: NATIVE_STATE}


def seen_at(recording: Recording, threads: Sequence[int], cause: str) -> list[str]:
    """Return a clause: the line in which most of some threads slept, or waited for I/O, when headway first looked; else none."""
    if not threads or not recording.has("waiting_stack"):
        return []
    rows = recording.query(
        "SELECT w.thread_id, f.class_name, f.method, f.line FROM waiting_stack w"
        " JOIN stack s USING (stack_id) JOIN frame f USING (frame_id)"
        f" WHERE w.state = '{_STATES[cause]}' AND w.thread_id IN ({', '.join(map(str, threads))})"
        " ORDER BY w.thread_id, s.depth"
    ).fetchall()
    place_of: dict[int, str] = {}
    for thread, class_name, method, line in rows:
        if not is_jdk(class_name) and not is_proxy(class_name):
            place_of.setdefault(thread, frame_text((class_name, method, line)))
    if not place_of:
        return []
    ((place, count),) = Counter(place_of.values()).most_common(1)
    who = counted(count, "thread")
    return [f"when headway first looked, {who} of {len(place_of)} that did so stood in {place}"]
