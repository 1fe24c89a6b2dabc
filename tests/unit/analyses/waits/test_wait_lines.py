"""The line that a wait is named by: the program's own, else the JDK's code that takes a lock, never a line of the lock itself."""

from __future__ import annotations

import pytest

from headway.analyses.waits.tables.wait_stacks import line_of_frames

Frame = tuple[str, str, int | None]
LOCKS = "java.util.concurrent.locks"
PARK: list[Frame] = [("jdk.internal.misc.Unsafe", "park", -2), (f"{LOCKS}.LockSupport", "park", 211)]
ACQUIRE: list[Frame] = [
    *PARK,
    (f"{LOCKS}.AbstractQueuedSynchronizer", "acquire", 715),
    (f"{LOCKS}.ReentrantLock$Sync", "lock", 153),
    (f"{LOCKS}.ReentrantLock", "lock", 322),
]
RELEASE: list[Frame] = [
    (f"{LOCKS}.LockSupport", "unpark", 177),
    (f"{LOCKS}.AbstractQueuedSynchronizer", "signalNext", 639),
    (f"{LOCKS}.AbstractQueuedSynchronizer", "release", 1059),
    (f"{LOCKS}.ReentrantLock", "unlock", 494),
]
POOL: list[Frame] = [
    ("java.util.concurrent.ThreadPoolExecutor", "processWorkerExit", 1016),
    ("java.util.concurrent.ThreadPoolExecutor$Worker", "run", 635),
    ("java.lang.Thread", "run", 840),
]
OWN: list[Frame] = [("java.util.concurrent.ArrayBlockingQueue", "put", 361), ("org.example.Store", "put", 42)]


@pytest.mark.parametrize(
    ("frames", "line"),
    [
        ([*ACQUIRE, *OWN], "org.example.Store.put:42"),
        ([*RELEASE, *OWN], "org.example.Store.put:42"),
        ([*ACQUIRE, *POOL], "java.util.concurrent.ThreadPoolExecutor.processWorkerExit:1016"),
        ([*RELEASE, *POOL], "java.util.concurrent.ThreadPoolExecutor.processWorkerExit:1016"),
        (ACQUIRE, f"{LOCKS}.ReentrantLock$Sync.lock:153"),  # nothing else was kept of the stack
        (RELEASE, f"{LOCKS}.LockSupport.unpark:177"),
        (PARK, "(stack not known)"),
        ([], "(stack not known)"),
    ],
)
def test_a_wait_is_named_by_who_uses_the_lock(frames: list[Frame], line: str) -> None:
    assert line_of_frames(frames) == line
