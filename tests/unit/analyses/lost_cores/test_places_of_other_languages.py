"""Where a program of another language than Java waits: in its own code, not in the runtime that calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.locks.analysis import locks
from headway.analyses.lost_cores.analysis import why
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

CALLED = {
    "Groovy": (
        ("java.lang.invoke.LambdaForm$DMH", "invokeVirtual"),
        ("org.codehaus.groovy.vmplugin.v8.IndyInterface", "fromCache"),
        ("SharedCache$_run_closure1", "doCall"),
        ("org.codehaus.groovy.reflection.CachedMethod", "invoke"),
        ("groovy.lang.MetaClassImpl", "invokeMethod"),
        ("groovy.lang.Closure", "call"),
    ),
    "Scala": (("scala.runtime.java8.JFunction0$mcV$sp", "apply"), ("shop.Cart", "add"), ("scala.runtime.Lazy", "run")),
}


@pytest.mark.parametrize("language", CALLED)
def test_the_place_is_the_programs_own_code(language: str, tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [
            FakeThread("app", 0, [("R", 100)], "holder"),
            FakeThread("app", 0, [("R", 10), ("B", 80), ("R", 10)], "waiter"),
        ],
        [Wait(1, 0, 10, 90, waker=0, waking=89, stack=0)],
        [LockHold(0, 0, 5, 89)],
        wall=100,
        stacks=[(*LOCK_FRAMES, *CALLED[language])],
    )
    recording = open_recording(lock_recording.write(tmp_path / "r"))
    own = {"Groovy": "SharedCache$_run_closure1.doCall", "Scala": "shop.Cart.add"}[language]
    lost = next(each for each in why(recording).account.lost if each.cause == "lock_contention")
    assert lost.place.method == own
    (row,) = locks(recording).rows
    assert (row.place or "").partition(":")[0] == own
