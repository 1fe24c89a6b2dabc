"""The cost of recording for the recorded program: CPU time of lock hooks and of headway's threads, and the number of samples.

Question   how much CPU time did headway's hooks and samples take on the program's own threads, and its own threads beside them?
Method     the agent times one call in 64 of its lock hooks by the CPU clock of the thread that is in it, and lets it stand for
           all (native/agent/locks/hook_cost.h); samples are counted; headway's own threads are in the kernel's record.
Assumes    nothing of samples: nobody times a signal handler that must not be disturbed, so they are told by number.
Wrong when a JVM was killed: what its hooks took is not known then. Not in it: class files that got hooks at the start, and the
           few instructions by which Java code enters a hook.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.model.names import whole_number

if TYPE_CHECKING:
    from headway.store import Recording


@dataclass(frozen=True, slots=True)
class RecordingCost:
    """CPU time of lock hooks (`hooks_ns`, None: not known or no locks; `timed` calls stand for all), the number of CPU samples
    (None: none were asked for), what the program's threads used in all, and headway's own threads (None: not known).
    """

    hooks_ns: int | None
    timed: int
    samples: int | None
    program_ns: int | None
    own_ns: int | None


def recording_cost(recording: Recording) -> RecordingCost:
    """Return what recording cost the program.

    Raises HeadwayError HW303 or HW306 when a table can't be read.
    """
    facts = dict[str, int]()
    if recording.has("jvm"):
        rows = recording.query(
            "SELECT key, value FROM jvm WHERE key IN ('locks.hooks_ns', 'locks.hooks_timed')"
        ).fetchall()
        for key, value in rows:
            if (number := whole_number(str(value))) is not None:
                facts[key] = facts.get(key, 0) + number
    used = dict(
        recording.query("SELECT kind = 'headway', sum(running_ns) FROM thread GROUP BY 1").fetchall()
    )  # null: not known
    samples = None
    if (recording.manifest.extra.get("sampling") or {}).get("events") and recording.has("sample"):
        row = recording.query("SELECT count(*) FROM sample WHERE event = 'cpu'").fetchone()
        samples = int(row[0]) if row else None
    return RecordingCost(
        hooks_ns=facts.get("locks.hooks_ns"),
        timed=facts.get("locks.hooks_timed", 0),
        samples=samples,
        program_ns=None if used.get(False) is None else int(used[False]),
        own_ns=None if used.get(True) is None else int(used[True]),
    )
