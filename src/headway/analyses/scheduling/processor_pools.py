"""Detects thread pools whose size follows the number of processors.

The JVM sizes its GC and fork/join pools by availableProcessors(), and many programs do the same. A pool gives itself away
by its size: as many threads of a JVM with one name (numbers apart) as it saw processors; the common fork/join pool has one
less, for the caller helps. Processes without a JVM (what a script runs before it) have none, and its threads have numbers. Two
processors make that a weak sign and one makes it none, so there the answer errs to 'follows'.
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
    """Pools of that kind: the JVM saw `seen` processors; `app` and `gc` say whose threads follow it, `text` names them."""

    seen: int
    app: bool
    gc: bool
    text: str


def find(recording: Recording) -> Pools | None:
    """Return the pools that follow the processors; None when there are none, or the JVM's processor count is unknown or was set.

    A JVM that was told its number of processors (ActiveProcessorCount) sees the same on any machine.
    """
    seen = [int(jvm["available_processors"]) for jvm in recording.manifest.jvms if jvm.get("available_processors")]
    if not seen or _count_was_set(recording):
        return None
    processors = max(seen)
    if processors == 1:
        return Pools(1, True, False, "may size its pools by that")
    jvms = ", ".join(str(int(jvm["pid"])) for jvm in recording.manifest.jvms if jvm.get("pid") is not None)
    names = recording.query(
        f"SELECT name, kind, pid FROM thread WHERE kind IN ('app', 'gc', 'carrier') AND pid IN ({jvms or 'NULL'})"
    ).fetchall()
    sizes = Counter((_stem(name), kind, pid) for name, kind, pid in names)
    gc = any(kind == "gc" and size >= 2 for (_, kind, _), size in sizes.items()) and not _has(
        recording, "ParallelGCThreads"
    )
    app = list(
        dict.fromkeys(
            stem
            for (stem, kind, _), size in sizes.items()
            if kind != "gc" and "#" in stem and size == _expected(stem, processors)
        )
    )
    carriers = any(kind == "carrier" for _, kind, _ in sizes)
    named = [*(f"'{stem}'" for stem in app[:3]), *(["GC"] if gc else []), *(["carriers"] if carriers else [])]
    return Pools(processors, bool(app) or carriers, gc, f"sizes {' and '.join(named)} by that") if named else None


def _stem(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _expected(stem: str, processors: int) -> int:
    return max(1, processors - 1) if stem == _COMMON_POOL else processors


def _count_was_set(recording: Recording) -> bool:
    return bool(recording.manifest.extra.get("jvm_processors")) or _has(recording, "ActiveProcessorCount")


def _has(recording: Recording, option: str) -> bool:
    """Return whether a JVM option was set to a number, on the command line or by what the JVM said of its flags."""
    places = [" ".join(recording.manifest.command), *(str(jvm.get("flags", "")) for jvm in recording.manifest.jvms)]
    return any(re.search(rf"-XX:{option}=\d", place) for place in places)
