"""Programs with a parameter that really makes a change which `headway whatif` predicts from the recording before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from lib import programs
from support.drivers import real_programs, real_servers
from support.drivers.real_programs import Command

Made = Callable[[Path], Command]
LOCKS = ("--locks",)
SLEEPS = ("--sample", "wall:2ms")
METHODS = ("--sample", "cpu:2ms")
FIRST_LOCK = "{lock}"
"""In what is asked for: the place of the lock that `headway locks` names first."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program before and after a change, what `headway whatif` is asked for, and what is recorded for that.

    `cpus`: on how many it runs before and after. `cause`: of `headway why`, the one that is gone after the change; '' if none is.
    """

    before: Made
    after: Made
    asked: tuple[str, ...]
    recorded: tuple[str, ...] = ()
    cpus: tuple[int, int] = (2, 2)
    by_others: bool = False
    cause: str = ""


def anywhere(words: Sequence[object]) -> Made:
    """Return what makes the command of a program that needs no folder."""
    return lambda _folder: Command([str(word) for word in words])


def _own(**numbers: int) -> Made:
    """Return the program whose locks, sleeps, computing and garbage are numbers."""
    jar = programs.TARGET / "benchmarks.jar"
    words = ["java", "-XX:+UseSerialGC", "-cp", jar, "headway.bench.Adjustable"]
    return anywhere([*words, *(f"{name}={number}" for name, number in numbers.items())])


def _tasks(kind: str, *numbers: int) -> Made:
    """Return the program whose pool, queue or stages have their size as a parameter."""
    jar = programs.TARGET / "benchmarks.jar"
    return anywhere(["java", "-XX:+UseSerialGC", "-cp", jar, "headway.bench.AdjustableTasks", kind, *numbers])


def _bench(name: str, percent: int, *options: str, heap: str = "1g") -> Made:
    """Return one of the real programs of java/benchmarks, with more options for its JVM."""
    java, *rest = programs.command(name, percent=percent)
    return anywhere([java, *options, *(word.replace("1g", heap) if word.startswith("-Xm") else word for word in rest)])


def _back_off(mode: str) -> Made:
    _, *rest = programs.command("h2")
    class_path = rest[rest.index("-cp") + 1]
    return anywhere(["java", "-cp", class_path, "headway.bench.Backoff", 60, 4, 1, mode, 0, 500])


def _lucene(*arguments: object) -> Made:
    return anywhere(real_servers.command("LuceneIndex", 2, 3000, *arguments))


def _clients(database: str, tables: str, pause_ms: int) -> Made:
    url = real_programs.DATABASES[database]
    return anywhere(real_servers.command("TransactionLocks", url, 6, 100, pause_ms, tables))


def _pool(pause_ms: int) -> Made:
    return anywhere(real_servers.command("ConnectionPool", 8, 120, pause_ms))


def _script(locks: str, asleep_ms: int, tasks: int = 300) -> Made:
    java, *rest = real_programs.script(locks).words
    return anywhere([java, *rest[:-2], tasks, locks, asleep_ms])


_CLASSES, _METHODS = 12, 20
_METHOD = """
  static <T extends Comparable<T>> Map<String, List<T>> m%d(List<T> all, int n) {
    Map<String, List<T>> found = new TreeMap<>();
    all.stream().sorted().filter(each -> each.hashCode() > n).forEach(each -> found.computeIfAbsent(
        "k" + each.hashCode() %% 7, key -> new ArrayList<>()).add(each));
    for (int i = 0; i < n; i++) { switch (i %% 3) { case 0 -> found.remove("k" + i); default -> found.size(); } }
    return found;
  }
"""


def _javac(*options: str) -> Made:
    """Return the compiler of the JDK, with generated classes."""

    def command_in(folder: Path) -> Command:
        sources = []
        for i in range(_CLASSES):
            body = "".join(_METHOD % number for number in range(_METHODS))
            source = folder / f"C{i}.java"
            source.write_text(f"import java.util.*;\npublic class C{i} {{{body}}}\n", encoding="utf-8")
            sources.append(str(source))
        classes = folder / "classes"
        return Command(["javac", *(f"-J{option}" for option in options), "-d", str(classes), *sources])

    return command_in


_SMALL = ("-XX:+UseSerialGC", "-XX:+UseTransparentHugePages", "-Xmn6m")
_LARGER = ("-XX:+UseSerialGC", "-XX:+UseTransparentHugePages", "-Xmn256m")
_FOR_ALL = ("-XX:+UseSerialGC", "-XX:+UseTransparentHugePages", "-Xmn2500m")
"""No collections are left, and all memory is touched for the first time: that may take longer than to collect it."""
_LOCK = "lock_contention"
_WITHOUT_LOCK = ("--without-lock", FIRST_LOCK)
_LOCKED = {"threads": 4, "rounds": 150, "held": 3000, "after": 2000}

CASES: dict[str, Case] = {
    "a lock removed": Case(_own(**_LOCKED), _own(**_LOCKED, locks=0), _WITHOUT_LOCK, LOCKS, cause=_LOCK),
    "a lock removed from threads that sleep": Case(
        _own(threads=4, rounds=100, held=1500, sleep=5), _own(threads=4, rounds=100, held=1500, sleep=5, locks=0),
        _WITHOUT_LOCK, LOCKS, cause=_LOCK,
    ),
    "a lock released after half": Case(
        _own(**_LOCKED), _own(**{**_LOCKED, "held": 1500, "after": 3500}), ("--shorter-hold", f"{FIRST_LOCK}=50%"), LOCKS
    ),
    "a lock split in four": Case(_own(**_LOCKED), _own(**_LOCKED, locks=4), ("--split-lock", f"{FIRST_LOCK}=4"), LOCKS),
    "sleeps of 20 ms to 2 ms": Case(
        _own(threads=2, rounds=100, parse=3000, sleep=20), _own(threads=2, rounds=100, parse=3000, sleep=2),
        ("--no-sleep", "Adjustable.rest=0.002"), SLEEPS,
    ),
    "a method in a fifth": Case(
        _own(threads=4, rounds=100, parse=5000, after=3000), _own(threads=4, rounds=100, parse=1000, after=3000),
        ("--faster", "Adjustable.parse=20%"), METHODS,
    ),
    "a method of one thread in a half": Case(
        _own(threads=1, rounds=200, parse=6000, after=3000), _own(threads=1, rounds=200, parse=3000, after=3000),
        ("--faster", "Adjustable.parse=50%"), METHODS,
    ),
    "equal threads: one CPU to two": Case(
        _own(threads=4, rounds=150, parse=3000), _own(threads=4, rounds=150, parse=3000), ("--cores", "2"), (), (1, 2)
    ),
    "threads with a lock: two CPUs to one": Case(
        _own(**_LOCKED), _own(**_LOCKED), ("--cores", "1"), LOCKS, (2, 1)
    ),
    "a pool of eight to two": Case(
        _tasks("pool", 8, 48, 5), _tasks("pool", 2, 48, 5), ("--pool", "pool-1=2"), LOCKS
    ),
    "a pool of two to six": Case(
        _tasks("pool", 2, 48, 0), _tasks("pool", 6, 48, 0), ("--pool", "pool-1=6"), LOCKS
    ),
    "room for one in a queue to a thousand": Case(
        _tasks("queue", 1, 30), _tasks("queue", 1000, 30), ("--queue", "AdjustableTasks.make:73=1000"), LOCKS,
        cause="full_producer",
    ),
    "a stage of one large part to equal parts": Case(
        _tasks("stages", 70, 200), _tasks("stages", 25, 200), ("--balanced", "AdjustableTasks.takePart:97"), LOCKS,
        cause="imbalance",
    ),
    "Log4j: a file each": Case(
        lambda folder: real_programs.busy_logging(folder, "shared"),
        lambda folder: real_programs.busy_logging(folder, "own"), _WITHOUT_LOCK, LOCKS, by_others=True, cause=_LOCK,
    ),
    "Log4j: a slow file each": Case(
        lambda folder: real_programs.slow_logging(folder, "shared"),
        lambda folder: real_programs.slow_logging(folder, "own"), _WITHOUT_LOCK, LOCKS, by_others=True, cause=_LOCK,
    ),
    "Groovy: a lock each": Case(_script("shared", 5), _script("own", 5), _WITHOUT_LOCK, LOCKS, by_others=True, cause=_LOCK),
    "Groovy: shorter sleeps": Case(
        _script("own", 20, 400), _script("own", 5, 400), ("--no-sleep", "SharedCache=0.005"), SLEEPS, by_others=True
    ),
    "H2: shorter pauses": Case(
        _clients("h2", "own", 20), _clients("h2", "own", 5), ("--no-sleep", "TransactionLocks.transfer=0.005"), SLEEPS,
        by_others=True,
    ),
    "H2 with one row: shorter pauses": Case(
        _clients("h2", "shared", 5), _clients("h2", "shared", 2), ("--no-sleep", "TransactionLocks.transfer=0.002"), SLEEPS,
        by_others=True,
    ),
    "HSQLDB with one row: shorter pauses": Case(
        _clients("hsqldb", "shared", 5), _clients("hsqldb", "shared", 2),
        ("--no-sleep", "TransactionLocks.transfer=0.002"), SLEEPS, by_others=True,
    ),
    "HikariCP: faster queries": Case(
        _pool(10), _pool(4), ("--no-sleep", "ConnectionPool.pause=0.004"), SLEEPS, by_others=True
    ),
    "HikariCP: a connection each": Case(
        anywhere(real_programs.pool(2).words), anywhere(real_programs.pool(real_programs.POOL_THREADS).words),
        ("--no-wait", FIRST_LOCK), LOCKS, by_others=True, cause=_LOCK,
    ),
    "H2: shorter back-off": Case(
        _back_off("long"), _back_off("short"), ("--no-sleep", "Backoff.backOff=0.000006"), SLEEPS, by_others=True
    ),
    "Lucene: segments left apart": Case(
        _lucene(), _lucene("apart"), ("--faster", "IndexWriter.mergeMiddle=0%"), METHODS, by_others=True
    ),
    "javac: few collections": Case(
        _javac(*_SMALL), _javac(*_LARGER, "-Xms3g", "-Xmx3g"), ("--no-gc",), by_others=True, cause="gc_pause"
    ),
    "javac: a heap for all": Case(
        _javac(*_SMALL), _javac(*_FOR_ALL, "-Xms3g", "-Xmx3g"), ("--no-gc",), by_others=True, cause="gc_pause"
    ),
    "xalan: few collections": Case(
        _bench("xalan", 20, *_SMALL), _bench("xalan", 20, *_LARGER, heap="3g"), ("--no-gc",), by_others=True, cause="gc_pause"
    ),
    "xalan: a heap for all": Case(
        _bench("xalan", 20, *_SMALL), _bench("xalan", 20, *_FOR_ALL, heap="3g"), ("--no-gc",), by_others=True, cause="gc_pause"
    ),
    "jython: few collections": Case(
        _bench("jython", 20, *_SMALL), _bench("jython", 20, *_LARGER, heap="3g"), ("--no-gc",), by_others=True, cause="gc_pause"
    ),
    "jython: a heap for all": Case(
        _bench("jython", 20, *_SMALL), _bench("jython", 20, *_FOR_ALL, heap="3g"), ("--no-gc",), by_others=True, cause="gc_pause"
    ),
    "sunflow: two CPUs to one": Case(
        _bench("sunflow", 40), _bench("sunflow", 40), ("--cores", "1"), (), (2, 1), by_others=True
    ),
    "lusearch: one CPU to two": Case(
        _bench("lusearch", 20), _bench("lusearch", 20), ("--cores", "2"), (), (1, 2), by_others=True
    ),
    "xalan: two CPUs to one": Case(
        _bench("xalan", 25), _bench("xalan", 25), ("--cores", "1"), (), (2, 1), by_others=True
    ),
}  # fmt: skip
