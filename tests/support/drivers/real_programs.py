"""Commands of real programs (java/real) whose threads share a lock, or have one each."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from support.drivers.busy_machine import AHEAD
from support.drivers.real_servers import CLASS_PATH, ROOT, command
from support.drivers.recording_cli import JAVA_17

POOL_THREADS, POOL_REQUESTS = 16, 80
CLIENTS, TRANSACTIONS, THINK_MS = 6, 60, 4
DATABASES = {"hsqldb": "jdbc:hsqldb:mem:bank", "h2": "jdbc:h2:mem:bank;LOCK_TIMEOUT=60000"}
LOGGING_THREADS, MESSAGES, LENGTH = 8, 75, 4000
BUSY_MESSAGES, BUSY_LENGTH = 30_000, 400
SCRIPT = ROOT / "java" / "real" / "src" / "main" / "groovy" / "SharedCache.groovy"
SCRIPT_THREADS, TASKS = 4, 300
READ_BYTES, PAUSE_S = 4096, 0.002
READER = """
import sys, threading, time
def read(path):
    with open(path, "rb", buffering=0) as pipe:
        while got := pipe.read(int(sys.argv[1])):
            taken.append(len(got))
            time.sleep(float(sys.argv[2]))
taken = []
readers = [threading.Thread(target=read, args=(path,)) for path in sys.argv[3:]]
for reader in readers:
    reader.start()
for reader in readers:
    reader.join()
print(sum(taken))
"""
"""Takes so many bytes at a time from pipes, with a pause after each, and prints how many there were."""


def _nothing() -> AbstractContextManager[list[int]]:
    return contextlib.nullcontext([])


@dataclass(frozen=True)
class Command:
    """A command line, and what runs beside it: a context manager that gives how many bytes slow files took in the end."""

    words: list[str]
    beside: Callable[[], AbstractContextManager[list[int]]] = _nothing


def pool(connections: int) -> Command:
    """Return sixteen threads that borrow from a HikariCP pool of so many connections."""
    return Command(command("ConnectionPool", connections, POOL_REQUESTS))


def transactions(database: str, tables: str) -> Command:
    """Return clients that update one row of a database (`shared`), or each one of its own (`own`)."""
    return Command(command("TransactionLocks", DATABASES[database], CLIENTS, TRANSACTIONS, THINK_MS, tables))


def script(locks: str) -> Command:
    """Return a Groovy script whose tasks take one lock (`shared`), or each its own (`own`)."""
    words = [JAVA_17, "-cp", CLASS_PATH, "groovy.ui.GroovyMain", str(SCRIPT), str(SCRIPT_THREADS), str(TASKS), locks]
    return Command(words)


def slow_logging(folder: Path, mode: str) -> Command:
    """Return threads that log to a slow file (`shared`), to one each (`own`), or to a queue before a slow file (`queue`)."""
    log = folder / f"{mode}.log"
    files = LOGGING_THREADS if mode == "own" else 1
    words = command("LogWriter", LOGGING_THREADS, MESSAGES, LENGTH, log, mode)
    return Command(words, lambda: slow_files([Path(f"{log}{number}") for number in range(files)]))


def busy_logging(folder: Path, mode: str) -> Command:
    """Return threads that compute and log to a file that takes all at once, `shared` or their `own`."""
    return Command(command("LogWriter", LOGGING_THREADS, BUSY_MESSAGES, BUSY_LENGTH, folder / f"{mode}.log", mode))


@contextlib.contextmanager
def slow_files(paths: list[Path]) -> Iterator[list[int]]:
    """Make pipes that take so much at a time, as a slow disk does; gives how much they took in the end."""
    for path in paths:
        os.mkfifo(path)
    taken: list[int] = []
    words = [sys.executable, "-c", READER, str(READ_BYTES), str(PAUSE_S), *map(str, paths)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **AHEAD) as readers:
        try:
            yield taken
        finally:
            # One that nobody wrote to would wait for ever.
            for path in paths:
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
            output, _ = readers.communicate(timeout=60)
            taken.append(int(output))
            for path in paths:
                path.unlink()
