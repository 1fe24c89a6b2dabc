"""What is known of who owns a monitor while virtual threads have left their carriers, by hand-made waits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headway.analyses.waits.tables import blocks
from headway.analyses.waits.threads import holders
from headway.analyses.waits.threads.thread_states import DOING
from headway.analyses.waits.threads.unmounted_owners import owned_while_unmounted
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

MONITOR, SLEEP = 0, 1
FIRST, SECOND, THIRD = -1, -2, -3


def load(folder: Path, *waits: Wait, facts: dict[str, object] | None = None) -> blocks.LockData:
    carrier = [FakeThread("carrier", 0, [("R", 1000)], "ForkJoinPool-1-worker-1")]
    classes = ("java.lang.Object", "java.lang.Thread.sleep")
    recording = LockRecording(
        carrier,
        waits,
        wall=1000,
        classes=classes,
        kinds=("monitor", "park"),
        no_objects=(SLEEP,),
        facts={"locks": facts or {}},
    )
    return blocks.load(open_recording(recording.write(folder / "a.headway")), None)


def sleeps(thread: int, start: int, end: int, *, owns: bool = True) -> Wait:
    return Wait(thread, SLEEP, start, end, owns_monitor=owns)


def owned(data: blocks.LockData) -> list[tuple[int | None, int, int, int]]:
    """Return who owns the monitor (by its Java id: 1001 is FIRST): presumed since when, known since and until when."""
    found = owned_while_unmounted(data.blocks)
    assert all(data.blockers.kind[row] == blocks.KINDS.index("monitor") for row in found.monitor)
    columns = (found.thread, found.presumed, found.start, found.end)
    return [(data.java_ids[who], *map(int, times)) for who, *times in zip(*columns, strict=True)]


def held_shares(data: blocks.LockData) -> dict[str, int]:
    """Return how long holders of the monitor are known while others wait, by how they are known."""
    contended = data.blocks.blocker == data.blocks.blocker[0]
    unit = np.where(contended, 0, -1)
    states = holders.holder_states(data, contended, unit, data.blocks.blocker[:1].astype(np.int64))
    known = {how: int(states.ns[states.seen_by == code].sum()) for code, how in enumerate(holders.SEEN_BY)}
    return {how: ns for how, ns in known.items() if ns}


def test_who_says_that_it_owns_a_monitor_is_presumed_to_have_had_it_since_it_waited_for_it(tmp_path: Path) -> None:
    data = load(tmp_path, Wait(FIRST, MONITOR, 10, 100), sleeps(FIRST, 150, 300), Wait(SECOND, MONITOR, 50, 320))
    assert owned(data) == [(1001, 100, 150, 300)]


def test_who_sleeps_without_the_monitor_is_no_owner(tmp_path: Path) -> None:
    data = load(
        tmp_path, Wait(FIRST, MONITOR, 10, 100), sleeps(FIRST, 150, 300, owns=False), Wait(SECOND, MONITOR, 50, 320)
    )
    assert owned(data) == []


def test_between_its_wait_and_its_sleep_a_holder_is_only_presumed(tmp_path: Path) -> None:
    data = load(tmp_path, Wait(FIRST, MONITOR, 10, 100), sleeps(FIRST, 150, 300), Wait(SECOND, MONITOR, 50, 500))
    assert held_shares(data) == {"hold": 150, "owner": 50}


def test_between_two_sleeps_a_holder_is_only_presumed(tmp_path: Path) -> None:
    slept = (sleeps(FIRST, 150, 300), sleeps(FIRST, 320, 400))
    data = load(tmp_path, Wait(FIRST, MONITOR, 10, 100), *slept, Wait(SECOND, MONITOR, 50, 500))
    assert owned(data) == [(1001, 100, 150, 300), (1001, 300, 320, 400)]
    assert held_shares(data) == {"hold": 150 + 80, "owner": 50 + 20}


@pytest.mark.parametrize("lost", [{"dropped": 1}, {"below_threshold": 1}, {"forgotten": 1}])
def test_where_records_of_waits_are_lost_it_may_be_another_monitor_that_is_owned(
    lost: dict[str, object], tmp_path: Path
) -> None:
    waits = (Wait(FIRST, MONITOR, 10, 100), sleeps(FIRST, 150, 300), Wait(SECOND, MONITOR, 50, 500))
    assert held_shares(load(tmp_path, *waits, facts=lost)) == {}


def test_where_another_thread_got_the_monitor_in_between_it_is_owned_since_the_sleep_began(tmp_path: Path) -> None:
    others = (Wait(SECOND, MONITOR, 20, 120), Wait(THIRD, MONITOR, 50, 320))
    data = load(tmp_path, Wait(FIRST, MONITOR, 10, 100), *others, sleeps(FIRST, 150, 300))
    assert owned(data) == [(1001, 150, 150, 300)]


def test_holders_are_known_to_sleep_and_before_and_afterwards_nothing_is_known(tmp_path: Path) -> None:
    data = load(tmp_path, Wait(FIRST, MONITOR, 10, 100), sleeps(FIRST, 150, 300), Wait(SECOND, MONITOR, 50, 500))
    contended = data.blocks.blocker == data.blocks.blocker[0]
    unit = np.where(contended, 0, -1)
    states = holders.holder_states(data, contended, unit, data.blocks.blocker[:1].astype(np.int64))
    by_state = {DOING[code]: int(states.ns[states.state == code].sum()) for code in set(states.state.tolist())}
    # FIRST waits from 10 to 100 and SECOND from 50 to 500; FIRST is known to hold from 100 to 300, and sleeps from 150 on.
    assert by_state == {"sleeping": 150, "unknown": 90 + 450 - 150}
    assert int(states.ns[states.holder >= 0].sum()) == 200


def test_who_says_that_it_owns_a_monitor_but_waited_for_none_before_owns_none_that_is_known(tmp_path: Path) -> None:
    """As where a recording begins later than the monitor was taken."""
    data = load(tmp_path, sleeps(FIRST, 150, 300), Wait(SECOND, MONITOR, 50, 320))
    assert owned(data) == []
