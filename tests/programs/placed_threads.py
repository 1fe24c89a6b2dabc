"""A program with threads that only wait: it starts more, starts processes, and narrows a thread itself, as it is told on stdin.

It answers each line: `thread` and `process` with the number of a new thread or process, `narrow CPU` with the number of a thread
that has chosen that CPU, `unit N` after it has appended N lines to the file that is its argument.
"""

import functools
import os
import sys
import threading
from collections.abc import Callable

FOREVER = threading.Event()


def started(work: Callable[[], object]) -> int | None:
    """Start a thread that does something and then waits for ever; return its number."""
    known = threading.Event()

    def run() -> None:
        work()
        known.set()
        FOREVER.wait()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    known.wait()
    return thread.native_id


def process() -> int:
    """Start a process that waits until this one has ended; return its number."""
    pid = os.fork()
    if pid == 0:
        while os.getppid() != 1:
            FOREVER.wait(0.5)
        os._exit(0)
    return pid


for _ in range(3):
    started(int)
print("ready", flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    if word == "thread":
        print(started(int), flush=True)
    elif word == "process":
        print(process(), flush=True)
    elif word == "narrow":
        print(started(functools.partial(os.sched_setaffinity, 0, {int(rest[0])})), flush=True)
    elif word == "unit":
        with open(sys.argv[1], "a") as log:
            log.write("done\n" * int(rest[0]))
        print(rest[0], flush=True)
