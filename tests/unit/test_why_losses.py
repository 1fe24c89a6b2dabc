"""How long a loss was there, on recordings made by hand: what the bounds of the speedup stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.why import why
from headway.analyses.why_types import Loss, Why
from headway.store import open_recording
from made_locks import Made, Wait
from synthetic import FakeThread

CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
TAKE = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.ArrayBlockingQueue", "take"),
    ("org.example.Shop", "consume"),
)


def the(cause: str, found: Why) -> Loss:
    """Return the only loss to a cause."""
    (loss,) = (each for each in found.account.lost if each.cause == cause)
    return loss


@pytest.mark.parametrize("stolen", [0, 30])
def test_only_what_the_slow_stage_ran_within_the_window_vanishes_with_it(stolen: int, tmp_path: Path) -> None:
    made = Made(
        [
            FakeThread("app", 0, [("R", 300)], "producer", stolen=[stolen]),
            FakeThread("app", 0, [("R", 60), ("B", 239), ("R", 1)], "consumer"),
            FakeThread("app", 200, [("R", 60)], "other"),
        ],
        [Wait(1, 0, 60, 299, waker=0, waking=298, stack=0)],
        wall=300,
        classes=[CONDITION],
        stacks=[TAKE],
    )
    loss = the("starved_consumer", why(open_recording(made.write(tmp_path / "r")), window=(200, 300)))
    # The consumer waits for 99 of 100 ns. What others than the producer did, 60 ns and 1 ns, is left for two cores.
    assert loss.core_ns == 39
    assert loss.bound_speedup == pytest.approx(100 / ((60 + 1) / 2))
