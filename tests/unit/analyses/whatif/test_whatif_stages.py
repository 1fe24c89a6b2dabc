"""`headway whatif --queue` and `--balanced`: runs whose time arithmetic knows, their names, and what can't be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.types import BalanceChange, Change, MethodChange, QueueChange, WhatIf
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders.edited_manifest import take_tables_as_they_are
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
PARK = (("jdk.internal.misc.Unsafe", "park"), ("java.util.concurrent.locks.LockSupport", "park"))
PUTS = (*PARK, (CONDITION, "await"), ("java.util.concurrent.ArrayBlockingQueue", "put"), ("com.acme.Reader", "run"))
HANDS_OVER = (*PARK, ("java.util.concurrent.SynchronousQueue", "put"), ("com.acme.Reader", "run"))
AWAITS = (
    *PARK,
    (CONDITION, "await"),
    ("java.util.concurrent.CyclicBarrier", "dowait"),
    ("java.util.concurrent.CyclicBarrier", "await"),
    ("com.acme.Frame", "render"),
)
QUEUE, PLACE = "com.acme.Reader.run:4", "com.acme.Frame.render:5"
FULL = LockRecording(
    threads=[
        FakeThread(states=[("R", 10), ("B", 90), ("R", 200)], name="reader"),
        FakeThread(states=[("R", 150)], name="user"),
    ],
    waits=[Wait(0, 0, 10, 100, waker=1, waking=100, stack=0)],
    wall=300,
    classes=[CONDITION],
    stacks=[PUTS],
    wakers={0: [(1, 1)]},
    facts={"recorded_cores": 2, "ended_by": "duration"},
)
"""A thread waits for room from 10 to 100, and computes 200 after that."""
STAGE = LockRecording(
    threads=[
        FakeThread(states=[("R", 1000), ("B", 2000), ("R", 10)], name="part-1"),
        FakeThread(states=[("R", 3010)], name="part-2"),
    ],
    waits=[Wait(0, 0, 1000, 3000, waker=1, waking=3000, stack=0)],
    wall=3010,
    classes=[CONDITION],
    stacks=[AWAITS],
    wakers={0: [(1, 1)]},
    facts={"recorded_cores": 2, "ended_by": "duration"},
)
"""Parts of 1,000 and 3,000 between barriers; then each thread computes 10."""


def asked(recording: LockRecording, folder: Path, **change: object) -> WhatIf:
    path = recording.write(folder / "a.headway")
    return whatif(open_recording(path), [2], Change(1, **change))  # type: ignore[arg-type]


def refused(recording: LockRecording, folder: Path, **change: object) -> str:
    with pytest.raises(HeadwayError) as caught:
        asked(recording, folder, **change)
    return str(caught.value)


@pytest.mark.parametrize("name", [QUEUE, "Reader.run:4", "Condition@1000", "1000"])
def test_with_room_for_all_a_thread_does_not_wait_for_room(tmp_path: Path, name: str) -> None:
    found = asked(FULL, tmp_path, queues=(QueueChange(name, 10),))
    (after,) = found.predicted
    assert (after.wall_ns, after.most_ahead) == (210, 1)
    assert after.high_ns >= 300  # how much room there was is not recorded
    assert "HW887" in {each.id for each in found.notices}


def test_a_stage_that_a_virtual_thread_ended_is_refused(tmp_path: Path) -> None:
    """It is none of the threads whose steps are known."""
    (wait,) = STAGE.waits
    reason = refused(replace(STAGE, waits=[replace(wait, waker=-1)]), tmp_path, balanced=(BalanceChange(PLACE),))
    assert "HW889" in reason
    assert "virtual threads" in reason


def test_a_thread_whose_record_is_lost_has_no_part_that_is_known(tmp_path: Path) -> None:
    path = STAGE.write(tmp_path / "a.headway")
    rows = pq.read_table(path / "block.parquet")
    wakers = pa.array([300] * rows.num_rows, rows.schema.field("waker_thread_id").type)
    pq.write_table(
        rows.set_column(rows.column_names.index("waker_thread_id"), "waker_thread_id", wakers), path / "block.parquet"
    )
    take_tables_as_they_are(path)
    with pytest.raises(HeadwayError, match="HW889"):
        whatif(open_recording(path), [2], Change(1, balanced=(BalanceChange(PLACE),)))


def test_a_queue_that_would_be_full_again_is_said_to_need_more_room(tmp_path: Path) -> None:
    found = asked(FULL, tmp_path, queues=(QueueChange(QUEUE, 1),))
    (notice,) = (each for each in found.notices if each.id == "HW891")
    assert f"--queue '{QUEUE}=10'" in notice.remedy


def test_of_several_queues_it_is_said_that_room_lacks_where_all_of_it_together_is_too_little(tmp_path: Path) -> None:
    """One wait is ahead of all queues, whichever it is of: room for 1 in one of them may be enough."""
    found = asked(FULL, tmp_path, queues=(QueueChange(QUEUE, 1), QueueChange("Condition@1000", 5)))
    ids = {each.id for each in found.notices}
    assert ("HW887" in ids, "HW891" in ids) == (True, False)


def test_a_queue_that_nobody_waited_for_room_in_is_refused_with_those_there_are(tmp_path: Path) -> None:
    reason = refused(FULL, tmp_path, queues=(QueueChange("Reader.runs:4", 10),))
    assert "HW884" in reason
    assert QUEUE in reason


def test_a_queue_that_would_be_refused_is_not_offered(tmp_path: Path) -> None:
    unknown = replace(FULL, wakers={}, waits=[Wait(0, 0, 10, 100, stack=0)])
    reason = refused(unknown, tmp_path, queues=(QueueChange("Reader.runs:4", 10),))
    assert "HW884" in reason
    assert QUEUE not in reason
    assert "of no other is it known" in reason


def test_a_queue_without_room_is_refused(tmp_path: Path) -> None:
    recording = replace(FULL, stacks=[HANDS_OVER], classes=["java.util.concurrent.SynchronousQueue$TransferStack"])
    assert "HW885" in refused(recording, tmp_path, queues=(QueueChange("Reader.run:3", 10),))


def test_room_that_nobody_is_known_to_have_made_is_refused(tmp_path: Path) -> None:
    unknown = replace(FULL, wakers={}, waits=[Wait(0, 0, 10, 100, stack=0)])
    assert "HW885" in refused(unknown, tmp_path, queues=(QueueChange(QUEUE, 10),))


@pytest.mark.parametrize("name", [PLACE, "Frame.render:5"])
def test_equal_parts_of_a_stage_take_their_mean(tmp_path: Path, name: str) -> None:
    """Each 2,000, then 10. What a thread computes in one go before and after a stage's end is shortened alike."""
    found = asked(STAGE, tmp_path, balanced=(BalanceChange(name),))
    assert found.predicted[0].wall_ns == pytest.approx(2010, abs=10)
    assert "HW890" in {each.id for each in found.notices}


def test_a_place_that_is_named_twice_has_its_parts_made_equal_once(tmp_path: Path) -> None:
    found = asked(STAGE, tmp_path, balanced=(BalanceChange(PLACE), BalanceChange("Frame.render:5")))
    assert found.predicted[0].wall_ns == pytest.approx(2010, abs=10)


def test_a_place_at_which_nobody_waits_for_others_is_refused_with_those_there_are(tmp_path: Path) -> None:
    reason = refused(STAGE, tmp_path, balanced=(BalanceChange("Frame.rendr:5"),))
    assert "HW888" in reason
    assert PLACE in reason


def test_a_stage_of_one_thread_has_no_parts_to_make_equal(tmp_path: Path) -> None:
    alone = replace(STAGE, wakers={}, waits=[Wait(0, 0, 1000, 3000, stack=0)])
    assert "HW889" in refused(alone, tmp_path, balanced=(BalanceChange(PLACE),))


def test_equal_parts_are_not_asked_together_with_a_faster_method(tmp_path: Path) -> None:
    both = {"balanced": (BalanceChange(PLACE),), "methods": (MethodChange("Frame.render", 0.5),)}
    assert "HW886" in refused(STAGE, tmp_path, **both)


def test_the_command_line_takes_queues_and_stages_and_prints_and_serialises_them(tmp_path: Path, run: Run) -> None:
    full, stage = FULL.write(tmp_path / "a.headway"), STAGE.write(tmp_path / "b.headway")
    (change,) = json.loads(run("whatif", full, "--queue", f"{QUEUE}=10", "--json")[1])["changes"]
    assert change["change"]["queues"] == [{"queue": QUEUE, "room": 10}]
    (change,) = json.loads(run("whatif", stage, "--balanced", PLACE, "--json")[1])["changes"]
    assert change["change"]["balanced"] == [{"place": PLACE}]
    assert "room for 10 in Reader.run:4" in run("whatif", full, "--queue", f"{QUEUE}=10", "--explain")[1]
    assert "equal parts at Frame.render:5" in run("whatif", stage, "--balanced", PLACE, "--explain")[1]


@pytest.mark.parametrize("text", ["A.b:1", "=4", "A.b:1=0", "A.b:1=x", "A.b:1=99999999999"])
def test_what_is_no_queue_and_room_is_a_usage_error(tmp_path: Path, run: Run, text: str) -> None:
    assert run("whatif", FULL.write(tmp_path / "a.headway"), "--queue", text)[0] == 2
