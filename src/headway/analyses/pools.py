"""Which thread pools follow the number of processors?

The JVM sizes its GC and fork/join pools by availableProcessors(), and many programs do the same. A pool gives itself away
by its size: as many threads of one name (numbers apart) as the JVM saw processors; the common fork/join pool has one less,
for the caller helps. Two processors make that a weak sign and one makes it none, so there the answer errs to 'follows'.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.store import Recording

_COMMON_POOL = "ForkJoinPool.commonPool-worker-#"


@dataclass(frozen=True, slots=True)
class Pools:
    """The JVM saw `seen` processors; `app` and `gc` say whose threads follow that number, `text` names them."""

    seen: int
    app: bool
    gc: bool
    text: str


def find(recording: Recording) -> Pools | None:
    """Return the pools that follow the processors; None when none does, no JVM said what it saw, or it was told.

    A JVM that was told its number of processors (ActiveProcessorCount) sees the same on any machine.
    """
    seen = [int(jvm["available_processors"]) for jvm in recording.manifest.jvms if jvm.get("available_processors")]
    if not seen or _told(recording):
        return None
    processors = max(seen)
    if processors == 1:
        return Pools(1, True, False, "may size its pools by that")
    names = recording.query("SELECT name, kind FROM thread WHERE kind IN ('app', 'gc', 'carrier')").fetchall()
    sizes = Counter((_stem(name), kind) for name, kind in names)
    gc = any(kind == "gc" and size >= 2 for (_, kind), size in sizes.items()) and not _has(
        recording, "ParallelGCThreads"
    )
    app = [stem for (stem, kind), size in sizes.items() if kind != "gc" and size == _expected(stem, processors)]
    carriers = any(kind == "carrier" for _, kind in sizes)
    named = [*(f"'{stem}'" for stem in app[:3]), *(["GC"] if gc else []), *(["carriers"] if carriers else [])]
    return Pools(processors, bool(app) or carriers, gc, f"sizes {' and '.join(named)} by that") if named else None


def _stem(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _expected(stem: str, processors: int) -> int:
    return max(1, processors - 1) if stem == _COMMON_POOL else processors


def _told(recording: Recording) -> bool:
    return bool(recording.manifest.extra.get("jvm_processors")) or _has(recording, "ActiveProcessorCount")


def _has(recording: Recording, option: str) -> bool:
    """Return whether a JVM option was set to a number, on the command line or by what the JVM said of its flags."""
    places = [" ".join(recording.manifest.command), *(str(jvm.get("flags", "")) for jvm in recording.manifest.jvms)]
    return any(re.search(rf"-XX:{option}=\d", place) for place in places)
