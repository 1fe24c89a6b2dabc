"""`headway numa` of recordings with accesses by last writer: classes of data dependencies, and where they stay open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from headway.analyses.numa.recorded_sharing import Together, recorded_dependencies
from headway.analyses.numa.types import SHARED_WRITES
from headway.analyses.numa.uncounted_code import is_in_scope, with_uncounted, without_serial
from headway.store import Recording, open_recording
from headway.store.writer import write_recording
from support.builders.recording_builder import ONE_THREAD

KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes")
Sums = tuple[int, int, int, int]
Samples = tuple[tuple[str, int], ...]
"""Class, method (`run` where it has none) and kind of the innermost frame, as `Order/java` or `Order::pay/java`, above one of
`Order`, and how many samples are there."""
NO_JDK: Samples = (("Order/java", 20_000),)


def recorded(
    path: Path, counts: Sums, local: Sums, shared: Sums, *, pid: int = 1, jvms: Sequence[object] = (),
    samples: Samples = NO_JDK, more: Mapping[str, dict[str, list[object]]] | None = None,
) -> Recording:  # fmt: skip
    """Write a recording of one row of accesses, and one of another process that would change every class."""
    keys = {"pid": [pid, 9], "thread_id": [0, None], "java_id": [1, -2], "class_name": ["Order", "Order"]}
    access = keys | {kind: [count, 1_000_000] for kind, count in zip(KINDS, counts, strict=True)}
    access |= {"static_reads": [77, 0], "static_writes": [77, 0]}
    owned = keys | {
        f"{kind}_{whose}": [count, 500_000]
        for whose, sums in (("local", local), ("shared", shared))
        for kind, count in zip(KINDS, sums, strict=True)
    }
    tables = {"thread": {**ONE_THREAD, "from_snapshot": [False]}, "access": access, "access_writer": owned}
    tables |= {**(sampled(samples) if samples else {}), **(more or {})}
    facts = {"window": {"start_ns": 0, "end_ns": 1_000_000}, "mode": "agent", "accesses": {"jvms": list(jvms)}}
    return open_recording(write_recording(path, facts, {name: pa.table(rows) for name, rows in tables.items()}))


def sampled(samples: Samples) -> dict[str, dict[str, list[object]]]:
    """Return the tables of CPU samples of thread 0, each of a stack of two frames, and of one that accesses nothing."""
    frames = [("Order", "java"), *((of.split("/")[0], of.split("/")[1]) for of, _ in samples)]
    named = [name.partition("::")[::2] for name, _ in frames]
    stacks = [stack for stack, (_, count) in enumerate(samples) for _ in range(count)]
    return {
        "frame": {
            "frame_id": [*range(len(frames))],
            "class_name": [name for name, _ in named],
            "method": [method or "run" for _, method in named],
            "line": [None] * len(frames),
            "kind": [kind for _, kind in frames],
        },
        "stack": {
            "stack_id": [stack for stack in range(len(samples)) for _ in range(2)],
            "depth": [0, 1] * len(samples),
            "frame_id": [frame for stack in range(len(samples)) for frame in (stack + 1, 0)],
            "is_cut": [False, False] * len(samples),
        },
        "sample": {
            "thread_id": [0] * len(stacks),
            "ns": [*range(len(stacks))],
            "event": ["cpu"] * len(stacks),
            "weight": [1] * len(stacks),
            "stack_id": [*stacks],
            "state": [None] * len(stacks),
        },
    }


@pytest.mark.parametrize(
    ("shared", "expected"),
    [
        ((20, 10, 20, 5), "data-parallel"),  # 4 % x 1.5 %
        ((200, 0, 100, 5), "read-only"),  # 30 % x 0.5 %
        ((200, 20, 100, 10), "read-write"),  # 30 % x 3 %
    ],
)
def test_the_class_follows_from_what_another_thread_wrote_last(shared: Sums, expected: str, tmp_path: Path) -> None:
    counts = (500, 100, 300, 100)
    local = tuple(count - each for count, each in zip(counts, shared, strict=True))
    found = recorded_dependencies(recorded(tmp_path / "a.headway", counts, local, shared), 1, "explicitly-parallel")  # type: ignore[arg-type]
    assert found.answer == expected
    assert (SHARED_WRITES in found.causes) == (expected == "read-write")
    assert not found.undetermined


def test_a_class_that_the_unknown_accesses_may_change_is_open_and_bounds_are_said(tmp_path: Path) -> None:
    """Of 1,000 accesses 400 reads and 100 writes are unknown: 2 to 42 % shared reads, 1 to 11 % shared writes."""
    counts, local, shared = (500, 100, 300, 100), (280, 50, 100, 40), (20, 5, 0, 5)
    found = recorded_dependencies(recorded(tmp_path / "a.headway", counts, local, shared), 1, None)
    assert found.answer is None
    (reason,) = found.undetermined
    assert "2 to 42 % read and 1 to 11 % write" in reason


def test_unknown_accesses_that_change_no_class_leave_it_determined(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (200, 50, 90, 60), (300, 50, 200, 40)
    found = recorded_dependencies(recorded(tmp_path / "a.headway", counts, local, shared), 1, None)
    assert found.answer == "read-write"


def test_what_the_rule_of_the_last_writer_leaves_out_is_said_with_the_class(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (480, 90, 280, 95), (20, 10, 20, 5)
    for jvms, ids in (
        ([{"pid": 1, "object_ids": 5}, {"pid": 9, "object_ids": 1 << 28, "has_unnoted": True}], ["HW816"]),
        ([{"pid": 1, "object_ids": 1 << 28, "has_unnoted": True}], ["HW816", "HW817", "HW818"]),
    ):
        recording = recorded(tmp_path / f"{len(ids)}.headway", counts, local, shared, jvms=jvms)
        found = recorded_dependencies(recording, 1, "explicitly-parallel")
        said = " ".join(each.text for each in found.evidence)
        assert found.answer == "data-parallel"
        assert [each for each in ("HW816", "HW817", "HW818") if each in said] == ids


def test_without_a_known_last_writer_and_for_another_process_nothing_is_determined(tmp_path: Path) -> None:
    nothing = (0, 0, 0, 0)
    recording = recorded(tmp_path / "a.headway", (5, 5, 5, 5), nothing, nothing)
    for pid in (1, 2):
        assert "of no object" in recorded_dependencies(recording, pid, None).undetermined[0]
    assert "no thread of the program ran" in recorded_dependencies(recording, None, None).undetermined[0]


def test_owners_without_accesses_as_somebody_may_have_made_them_determine_nothing(tmp_path: Path) -> None:
    nothing, some = (0, 0, 0, 0), (5, 5, 5, 5)
    recording = recorded(tmp_path / "a.headway", nothing, some, some)
    assert recorded_dependencies(recording, 1, None).answer is None


def test_what_the_jdk_did_is_not_counted_and_leaves_a_class_open_that_it_may_change(tmp_path: Path) -> None:
    """Four of every hundred samples may be a seventh of all accesses, and those may be what other threads wrote."""
    counts, local, shared = (500, 100, 300, 100), (300, 100, 200, 100), (200, 0, 100, 0)
    jdk: Samples = (("Order/java", 9_600), ("java.util.HashMap/java", 400))
    found = recorded_dependencies(recorded(tmp_path / "jdk.headway", counts, local, shared, samples=jdk), 1, None)
    (reason,) = found.undetermined
    assert found.answer is None
    assert "of the code in scope it is read-only" in reason
    assert "4.0% of the workers' samples are in code that is not counted" in reason
    assert "may be read-write" in reason


def test_samples_of_the_counting_and_in_the_jvm_say_nothing_of_what_is_not_counted(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (300, 100, 200, 100), (200, 0, 100, 0)
    beside: Samples = (*NO_JDK, ("java.lang.HeadwayCount0/inlined", 50_000), ("libjvm.so/jvm", 5_000))
    found = recorded_dependencies(recorded(tmp_path / "a.headway", counts, local, shared, samples=beside), 1, None)
    assert found.answer == "read-only"


def test_without_samples_nobody_knows_what_the_jdk_did(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (300, 100, 200, 100), (200, 0, 100, 0)
    found = recorded_dependencies(recorded(tmp_path / "a.headway", counts, local, shared, samples=()), 1, None)
    assert found.answer is None
    assert "headway record --sample cpu" in found.undetermined[0]


def test_few_samples_do_not_show_that_the_jdk_did_hardly_anything(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (300, 100, 200, 100), (200, 0, 100, 0)
    few: Samples = (("Order/java", 100),)
    assert recorded_dependencies(
        recorded(tmp_path / "a.headway", counts, local, shared, samples=few), 1, None
    ).undetermined


def test_a_long_start_of_one_thread_does_not_make_a_program_data_parallel(tmp_path: Path) -> None:
    """3 % shared reads of all accesses are 30 % of those that are left without nine tenths of the work."""
    counts, local, shared = (500, 100, 300, 100), (480, 100, 290, 100), (20, 0, 10, 0)
    recording = recorded(tmp_path / "a.headway", counts, local, shared)
    assert recorded_dependencies(recording, 1, "explicitly-parallel").answer == "data-parallel"
    found = recorded_dependencies(recording, 1, "explicitly-parallel", Together(0.9, {0: 0.8}))
    assert found.answer is None
    assert "up to 90% of the accesses are of threads while they were active alone" in found.undetermined[0]


def test_a_start_without_accesses_leaves_a_class_as_it_is(tmp_path: Path) -> None:
    """Nine tenths of the work are of a thread that was alone, and the one that accessed all objects hardly ever was."""
    counts, local, shared = (500, 100, 300, 100), (480, 100, 290, 100), (20, 0, 10, 0)
    recording = recorded(tmp_path / "a.headway", counts, local, shared)
    for alone in ({}, {7: 1.0}, {0: 0.05}):
        found = recorded_dependencies(recording, 1, "explicitly-parallel", Together(0.9, alone))
        assert found.answer == "data-parallel", alone


def test_threads_that_took_turns_may_share_more_of_what_they_write_by_turns(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (300, 99, 200, 100), (200, 1, 100, 0)
    recording = recorded(tmp_path / "a.headway", counts, local, shared)
    assert recorded_dependencies(recording, 1, None, Together(ran=0.95)).answer == "read-only"
    found = recorded_dependencies(recording, 1, None, Together(ran=0.5))
    assert found.answer is None
    assert "had cores for 50% of the time in which they could run" in found.undetermined[0]
    assert "up to 80 and 20 %, which is read-write" in found.undetermined[0]
    steady = recorded(tmp_path / "b.headway", counts, (300, 100, 200, 100), (200, 0, 100, 0))
    assert recorded_dependencies(steady, 1, None, Together(ran=0.5)).answer == "read-only"


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ((("java.lang.Math/java", 5_000),), "read-only"),  # accesses no object
        ((("java.lang.Long::bitCount/inlined", 5_000),), "read-only"),
        ((("java.lang.Thread::onSpinWait/java", 5_000),), "read-only"),
        ((("java.lang.Long::longValue/inlined", 5_000),), None),
        ((("com.acme.Rules/java", 5_000),), "read-only"),  # in scope, and has no access
        ((("kotlin.text.Regex/java", 5_000),), None),
        ((("com.acme.Rules$$Lambda$3.0x7f/java", 5_000),), None),
    ],
)
def test_what_has_no_count_is_uncounted_only_where_it_may_access_objects(
    beside: Samples, expected: str | None, tmp_path: Path
) -> None:
    counts, local, shared = (500, 100, 300, 100), (300, 100, 200, 100), (200, 0, 100, 0)
    nothing = dict.fromkeys(("classes_left_out", "methods_left_out", "loaded_before"), 0)
    path = tmp_path / "a.headway"
    recording = recorded(path, counts, local, shared, samples=(*NO_JDK, *beside), jvms=[{"pid": 1, **nothing}])
    assert recorded_dependencies(recording, 1, None).answer == expected


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        ("jdk.internal.misc.Unsafe::park", "read-only"),
        ("java.lang.System::nanoTime", "read-only"),
        ("java.io.RandomAccessFile::readBytes", "read-only"),  # native code that copies nothing for Java code
        ("java.lang.System::arraycopy", None),
        ("jdk.internal.misc.Unsafe::copyMemory", None),
        ("java.lang.Object::clone", None),
    ],
)
def test_native_methods_that_copy_are_uncounted_and_those_that_park_access_nothing(
    native: str, expected: str | None, tmp_path: Path
) -> None:
    """As such samples are: native code of a library, called by a frame of the method that is native."""
    counts, local, shared = (500, 100, 300, 100), (300, 100, 200, 100), (200, 0, 100, 0)
    path = tmp_path / "a.headway"
    tables = sampled((*NO_JDK, (f"{native}/java", 5_000)))
    tables["frame"] |= {
        "frame_id": [0, 1, 2, 3],
        "class_name": [*tables["frame"]["class_name"], "libc.so.6"],
        "method": [*tables["frame"]["method"], "wait"],
        "line": [None] * 4,
        "kind": [*tables["frame"]["kind"], "native"],
    }
    tables["stack"] |= {
        "stack_id": [0, 0, 1, 1, 1],
        "depth": [0, 1, 0, 1, 2],
        "frame_id": [1, 0, 3, 2, 0],
        "is_cut": [False] * 5,
    }
    found = recorded_dependencies(recorded(path, counts, local, shared, samples=(), more=tables), 1, None)
    assert found.answer == expected


def test_where_classes_were_left_out_those_without_counts_are_uncounted(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (300, 100, 200, 100), (200, 0, 100, 0)
    jvm = {"pid": 1, "classes_left_out": 1, "methods_left_out": 0, "loaded_before": 0}
    samples: Samples = (*NO_JDK, ("com.acme.Rules/java", 5_000))
    recording = recorded(tmp_path / "a.headway", counts, local, shared, samples=samples, jvms=[jvm])
    assert recorded_dependencies(recording, 1, None).answer is None


def test_the_samples_that_are_missing_are_named_and_so_many_determine_the_class(tmp_path: Path) -> None:
    counts, local, shared = (500, 100, 300, 100), (490, 100, 290, 100), (10, 0, 10, 0)
    few, many = ((("Order/java", count * 400), ("java.util.HashMap/java", count)) for count in (1, 4))
    (reason,) = recorded_dependencies(
        recorded(tmp_path / "few.headway", counts, local, shared, samples=few), 1, None
    ).undetermined
    assert "4 times as many samples would tell: give the program 4 times as much to do (headway record" in reason
    found = recorded_dependencies(recorded(tmp_path / "many.headway", counts, local, shared, samples=many), 1, None)
    assert found.answer == "data-parallel"


@pytest.mark.parametrize(
    ("outside", "samples", "said"),
    [
        (1, 546, "a longer recording may tell"),  # the share may be a thirtieth of it
        (160, 4_000, "no longer recording would tell"),  # a twenty-fifth, whatever comes
    ],
)
def test_one_sample_by_chance_is_no_reason_to_call_a_longer_recording_useless(
    outside: int, samples: int, said: str, tmp_path: Path
) -> None:
    """Of half of the accesses being shared reads, three quarters of a percent of shared writes make another class."""
    counts, local, shared = (500, 100, 300, 100), (200, 100, 90, 100), (300, 0, 210, 0)
    few = (("Order/java", samples - outside), ("java.util.HashMap/java", outside))
    (reason,) = recorded_dependencies(
        recorded(tmp_path / "a.headway", counts, local, shared, samples=few), 1, None
    ).undetermined
    assert said in reason


def test_names_in_scope_are_those_that_the_agent_counts() -> None:
    assert is_in_scope("com.acme.Order", ())
    assert not is_in_scope("java.util.HashMap", ())
    assert not is_in_scope("kotlin.collections.MapsKt", ())
    assert is_in_scope("com.acme.deep.Order$1", ("com.acme.*",))
    assert not is_in_scope("com.acm.Order", ("com.acme.*",))
    assert is_in_scope("kotlin.collections.MapsKt", ("*",))
    assert not is_in_scope("java.util.HashMap", ("*",))


def test_shares_with_more_accesses_are_tried_at_their_worst() -> None:
    """Of one access in ten nothing is known: of every split into reads and writes none has a larger product."""
    shares, part = (30.0, 1.0), 0.1
    tried = with_uncounted(shares, part)
    assert tried[0] == pytest.approx((27.0, 0.9))
    splits = [(27 + 10 - each / 100) * (0.9 + each / 100) for each in range(1001)]
    assert max(reads * writes for reads, writes in tried) == pytest.approx(max(splits))
    assert without_serial(shares, 0.5) == pytest.approx((60.0, 2.0))
    assert sum(without_serial(shares, 1.0)) == pytest.approx(100.0)
