"""How much of a program's accesses may be missing from their counts, and what shares of shared accesses that leaves possible.

Question   may the class of data dependencies of the counted accesses be another one than that of all accesses?
Method     CPU samples of the threads that have more than 4 % of the counted accesses: how many have, as the innermost Java
           method, one of a class that counts nothing (the JDK's own code, classes out of scope). Samples in the code that counts
           are left out, and those in the JVM, in native code (which no published figure counts), in mathematics and other methods
           that access no object (`code_without_accesses`), and in the loading of classes, which published iterations have behind
           them. What uncounted code may share is then tried in full: all of it reads, or writes, of what others wrote, or
           nothing.
Assumes    counted code is up to SLOWED times as slow as it is otherwise, beside what the counting itself takes: so much more of
           the accesses may be uncounted than of the samples. Samples fall evenly; their share has a 95 % interval.
Checked    tests/unit/analyses/numa/test_numa_sharing.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from headway.analyses.common.uncertainty import interval_of_share
from headway.analyses.numa.code_without_accesses import accesses_nothing
from headway.analyses.scheduling.thread_work import WORKER_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.store import Recording

SLOWED = 4.0
"""Times as slow, taken as the most: counts and look-ups themselves are not in it, only what they keep compilers from doing."""
Shares = tuple[float, float]
"""Percent of all accesses that are shared reads, and shared writes."""
OF_THE_JDK = ("java.", "jdk.", "sun.", "com.sun.")
"""How names of classes begin that never count: as `is_counted` of native/agent/objects/accesses.cpp has them."""
BY_DEFAULT_OUT_OF_SCOPE = (*OF_THE_JDK, "javax.", "kotlin.", "scala.", "headway.api.")
"""How names begin that are out of scope where none is given: as native/agent/core/scope.cpp has them."""
HIDDEN = "$$Lambda"
"""In the names of classes of lambdas' own objects, which never count."""
MATHEMATICS = ("java.lang.Math", "java.lang.StrictMath")
"""Names of samples' frames whose code accesses no Java objects: it needs no counts."""
COPYING = (
    "java.lang.System",
    "java.lang.Object",
    "java.lang.reflect.Array",
    "jdk.internal.misc.Unsafe",
    "sun.misc.Unsafe",
)
"""Their native methods copy or access objects for Java code, but for those that access nothing (`code_without_accesses`)."""
MOST_LOADING = 0.1
"""Of the samples: loading and linking classes is done once, and no part of published iterations, unless it is more than that."""
MOST_TIMES = 64
"""So many times as many samples are thought of, to tell whether they would determine a class."""
_SAMPLES = f"""
    WITH worker AS (
      SELECT thread_id FROM access WHERE pid = $1 GROUP BY thread_id
      HAVING sum(tuple_reads::DOUBLE + tuple_writes + array_reads + array_writes) > {WORKER_SHARE} * (
        SELECT sum(tuple_reads::DOUBLE + tuple_writes + array_reads + array_writes) FROM access WHERE pid = $1)),
    taken AS (
      SELECT stack_id, count(*) AS samples FROM sample JOIN worker ON sample.thread_id IS NOT DISTINCT FROM worker.thread_id
      WHERE event = 'cpu' AND stack_id IS NOT NULL GROUP BY stack_id),
    framed AS (
      SELECT stack_id, samples, class_name, method, kind, depth
      FROM taken JOIN stack USING (stack_id) JOIN frame USING (frame_id)),
    innermost AS (
      SELECT stack_id, any_value(samples) AS samples, arg_min(kind, depth) AS innermost_kind,
        arg_min(class_name, depth) AS library, arg_min(method, depth) AS method,
        arg_min(class_name, depth) FILTER (kind IN ('java', 'interpreted', 'inlined', 'c1')) AS class_name,
        arg_min(method, depth) FILTER (kind IN ('java', 'interpreted', 'inlined', 'c1')) AS java_method,
        bool_or(class_name LIKE 'java.lang.HeadwayCount%') AS counts,
        bool_or((class_name = 'java.lang.ClassLoader' AND method = 'loadClass')
          OR class_name = 'java.lang.invoke.MethodHandleNatives') AS loads FROM framed GROUP BY stack_id)
    SELECT class_name, java_method, innermost_kind = 'native' AND (library <> '' OR method LIKE '/%') AS is_native, loads,
      sum(samples)
    FROM innermost WHERE NOT counts AND class_name IS NOT NULL AND innermost_kind NOT IN ('jvm', 'kernel') GROUP BY ALL"""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Of so many of the workers' samples that many were in code that is not counted."""

    samples: int
    outside: int

    @property
    def share(self) -> float:
        """Return the share of the samples."""
        return self.outside / self.samples

    @property
    def most_accesses(self) -> float:
        """Return the most of all accesses that may be made by such code."""
        return self.most_accesses_with(1)

    def most_accesses_with(self, times: int) -> float:
        """Return what `most_accesses` were with so many times as many samples, of the same share."""
        _, most = interval_of_share(times * self.outside, times * self.samples)
        return _accesses_of(most)

    @property
    def least_accesses(self) -> float:
        """Return what `most_accesses` were with samples without end, if the share of them is the least that these allow."""
        least, _ = interval_of_share(self.outside, self.samples)
        return _accesses_of(least)


def _accesses_of(share: float) -> float:
    """Return the most of all accesses that code may make which has a share of the time."""
    return SLOWED * share / (1 + (SLOWED - 1) * share)


def most_uncounted(recording: Recording, pid: int) -> Uncounted | None:
    """Return what part of the accesses the JDK's own code may have made, which is not counted; None: no samples tell."""
    if not all(recording.has(table) for table in ("sample", "stack", "frame")):
        return None
    names = "SELECT DISTINCT class_name FROM access WHERE pid = $1"
    counted = {str(name) for (name,) in recording.query(names, (pid,)).fetchall()}
    scope = [str(each) for each in (recording.manifest.extra.get("objects") or {}).get("scope") or ()]
    all_count = _all_in_scope_count(recording.manifest.extra.get("accesses") or {}, pid)
    inside = outside = loading = 0
    for class_name, method, is_native, loads, samples in recording.query(_SAMPLES, (pid,)).fetchall():
        if (
            class_name in MATHEMATICS
            or accesses_nothing(class_name, method)
            or (is_native and class_name not in COPYING)
        ):
            continue
        if class_name in counted or (all_count and is_in_scope(class_name, scope)):
            inside += int(samples)
        elif loads:
            loading += int(samples)
        else:
            outside += int(samples)
    if loading > MOST_LOADING * (inside + outside + loading):
        outside += loading
    return Uncounted(inside + outside, outside) if inside + outside else None


def is_in_scope(class_name: str, scope: Sequence[str]) -> bool:
    """Return whether the accesses of a class's code are counted if it has any."""
    if HIDDEN in class_name or class_name.startswith(OF_THE_JDK):
        return False
    if not scope:
        return not class_name.startswith(BY_DEFAULT_OUT_OF_SCOPE)
    return any(fnmatchcase(class_name, _only_stars(glob)) for glob in scope)


def _only_stars(glob: str) -> str:
    """Return a glob in which `*` alone means more than itself."""
    return "".join(f"[{letter}]" if letter in "?[" else letter for letter in glob)


def _all_in_scope_count(accesses: Mapping[str, Any], pid: int) -> bool:
    """Return whether a class in scope without counts has nothing to count: no class, nor method, was left out."""
    left_out = ("classes_left_out", "methods_left_out", "loaded_before")
    agents = [jvm for jvm in accesses.get("jvms") or () if jvm.get("pid") == pid]
    return bool(agents) and all(jvm.get(key) == 0 for jvm in agents for key in left_out)


def serial_accesses(recording: Recording, pid: int, alone: Mapping[int, float]) -> float:
    """Return the most of all accesses that threads may have made while they were alone.

    `alone`: of a thread's CPU time the part in which it was; what it does then may access more than it does otherwise.
    """
    text = """SELECT thread_id, sum(tuple_reads::DOUBLE + tuple_writes + array_reads + array_writes) FROM access
      WHERE pid = $1 GROUP BY thread_id"""
    by_thread = [(thread, float(count)) for thread, count in recording.query(text, (pid,)).fetchall()]
    total = sum(count for _, count in by_thread)
    parts = ((count, alone.get(thread, 0.0)) for thread, count in by_thread if thread is not None)
    serial = sum(count * SLOWED * part / (1 + (SLOWED - 1) * part) for count, part in parts)
    return serial / total if total else 0.0


def with_uncounted(shares: Shares, part: float) -> tuple[Shares, ...]:
    """Return what the shares may be with more accesses, which are `part` of all then.

    They are shared not at all, or all as reads, all as writes, or as reads and writes so that most is read of what others write.
    """
    reads, writes = (each * (1 - part) for each in shares)
    more = 100 * part
    written = min(more, max(0.0, (reads + more - writes) / 2))
    return (reads, writes), (reads + more, writes), (reads, writes + more), (reads + more - written, writes + written)


def without_serial(shares: Shares, part: float) -> Shares:
    """Return the shares without accesses that are `part` of all, none of them shared."""
    together = sum(shares)
    factor = min(1 / (1 - part) if part < 1 else float("inf"), 100 / together if together else 1.0)
    return shares[0] * factor, shares[1] * factor
