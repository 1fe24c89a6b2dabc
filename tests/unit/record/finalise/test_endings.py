"""When a JVM began to end: with its first wait for a shutdown hook."""

from __future__ import annotations

from pathlib import Path

from headway.record.finalise.endings import shutdown_started_ns
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

JOIN = (("java.lang.Object", "wait"), ("java.lang.Thread", "join"))
HOOKS = (*JOIN, ("java.lang.ApplicationShutdownHooks", "runHooks"), ("java.lang.Shutdown", "runHooks"))
OWN = (*JOIN, ("org.example.Shop", "runHooks"))


def recorded(path: Path, waits: list[Wait]) -> dict[int, int]:
    """Return when each JVM of a recording with these waits of its main thread began to end."""
    main = FakeThread("app", 0, [("R", 1000)], "main")
    lock_recording = LockRecording(
        [main], waits, wall=1000, classes=["java.lang.Thread"] * 3, kinds=["wait"] * 3, stacks=[HOOKS, OWN]
    )
    directory = lock_recording.write(path / "r")
    return shutdown_started_ns(directory, {each.stem for each in Path(directory).glob("*.parquet")})


def test_the_first_wait_for_a_hook_begins_the_end(tmp_path: Path) -> None:
    waits = [Wait(0, 0, 100, 200, stack=1), Wait(0, 1, 600, 700, stack=0), Wait(0, 2, 700, 900, stack=0)]
    (begin,) = recorded(tmp_path, waits).values()
    assert begin == ORIGIN + 600


def test_no_other_join_is_the_end_of_a_jvm(tmp_path: Path) -> None:
    assert recorded(tmp_path, [Wait(0, 0, 100, 200, stack=1)]) == {}


def test_without_records_of_locks_nothing_is_known(tmp_path: Path) -> None:
    assert shutdown_started_ns(tmp_path, {"slice", "thread"}) == {}
