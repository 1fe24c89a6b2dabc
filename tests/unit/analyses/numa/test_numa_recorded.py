"""`headway numa` of recordings: classes by what each thread did, what stays open, and pairs of recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.numa.locality_test import locality_test
from headway.analyses.numa.nodes import Nodes
from headway.analyses.numa.recorded import classify_recording
from headway.analyses.numa.types import LOCALITY, PARALLELISM, NumaAnswer
from headway.errors import HeadwayError
from headway.report.json.numa import numa_json
from headway.report.terminal.numa import class_sentences
from headway.store import open_recording
from support.builders.counted_builder import PID
from support.builders.edited_manifest import edit
from support.builders.memory_builder import Worker, memory_recording

Run = Callable[..., tuple[int, str, str]]
S = 1_000_000_000
CYCLES = (("cycles", "instructions"),)
LLC = (("LLC-loads", "LLC-load-misses", "LLC-stores", "LLC-store-misses"),)


def threads(main: float, workers: Sequence[float], **facts: Any) -> list[Worker]:
    """Return main and workers by their CPU seconds; the counts of each are as its time."""
    found = [Worker("main", 1, round(main * S), (round(main * S), round(main * S)))]
    for n, seconds in enumerate(workers):
        found.append(
            Worker(f"Thread-{n}", 20 + n, round(seconds * S), (round(seconds * S), round(seconds * S)), cpu=n % 8)
        )
    return found


def host(cpus: int, per_node: int) -> dict[str, Any]:
    topology = [
        {"cpu": n, "core": n, "package": n // per_node, "node": n // per_node, "smt_siblings": []} for n in range(cpus)
    ]
    return {"cpus_online": [*range(cpus)], "topology": topology}


def recorded(path: Path, of: list[Worker], groups: Sequence[Sequence[str]] = CYCLES, **facts: Any) -> Path:
    whole = {"ended_by": "exit", "exit_code": 0, "affinity": [*range(16)], "recorded_cores": 16, "host": host(16, 8)}
    return memory_recording(path, of, 10 * S, groups, allocations=False, **{**whole, **facts})


def asked(path: Path, **how: Any) -> NumaAnswer:
    return classify_recording(open_recording(path), **how)


def said(path: Path, **how: Any) -> dict[str, str]:
    """Return the texts of the notices by their id."""
    return {notice.id: notice.message for notice in asked(path, **how).notices}


@pytest.mark.parametrize(
    ("main", "workers", "expected", "causes"),
    [
        (5, [], "single-threaded", []),
        (9, [0.3, 0.3], "single-threaded", []),
        (0.1, [1, 1, 1], "tlp-bound", ["too-few-workers"]),
        (0.1, [1] * 8, "explicitly-parallel", []),
        (0.1, [1, 1.5] * 4, "imbalanced", ["non-uniform-work"]),
        (0.1, [9, *[0.7] * 7], "embarrassingly-imbalanced", ["one-worker-dominates"]),
        (0.1, [1.9, *[1] * 8], "explicitly-parallel", ["outlier-thread"]),
        (0.1, [*[1] * 8, 0.45], "explicitly-parallel", ["outlier-thread"]),
        (0.1, [1.9, *[1] * 7], "imbalanced", ["non-uniform-work"]),
    ],
)
def test_the_class_follows_from_what_each_thread_did(
    main: float, workers: list[float], expected: str, causes: list[str], tmp_path: Path
) -> None:
    (program,) = asked(recorded(tmp_path / "a.headway", threads(main, workers)), cores=8).programs
    assert program.answer(PARALLELISM) == expected
    assert program.root_causes == causes


def test_instructions_go_before_cpu_time(tmp_path: Path) -> None:
    uneven = [*threads(0.1, []), *(Worker(f"w{n}", 20 + n, S, (S, (n + 3) * S // 4)) for n in range(8))]
    (program,) = asked(recorded(tmp_path / "a.headway", uneven), cores=8).programs
    assert program.answer(PARALLELISM) == "imbalanced"
    assert "imbalance_instructions_pct" in {each.metric for each in program.evidence}
    (program,) = asked(recorded(tmp_path / "b.headway", uneven, ()), cores=8).programs
    assert program.answer(PARALLELISM) == "explicitly-parallel"
    assert "imbalance_cpu_time_pct" in {each.metric for each in program.evidence}


@pytest.mark.parametrize(("unknown_ms", "metric"), [(500, "imbalance_cpu_time_pct"), (5, "imbalance_instructions_pct")])
def test_equal_workers_one_of_which_has_counts_in_part_only_are_balanced(
    unknown_ms: int, metric: str, tmp_path: Path
) -> None:
    """Its least count would make it look like one that does half as much as the others."""
    main, first, *others = threads(0.1, [1] * 8)
    unknown_ns = unknown_ms * S // 1000
    first = replace(first, uncounted_ns=unknown_ns, counts=(S - unknown_ns,) * 2)
    (program,) = asked(recorded(tmp_path / "a.headway", [main, first, *others]), cores=8).programs
    assert program.answer(PARALLELISM) == "explicitly-parallel"
    assert metric in {each.metric for each in program.evidence}


def test_a_thread_that_hardly_works_does_not_take_the_counts_of_all_away(tmp_path: Path) -> None:
    """What an attach finds running has no counts until it is switched for the first time."""
    ended = Worker("ended", 90, 20_000, (1, 1), uncounted_ns=10_000)
    (program,) = asked(recorded(tmp_path / "a.headway", [*threads(0.1, [1] * 8), ended]), cores=8).programs
    assert "imbalance_instructions_pct" in {each.metric for each in program.evidence}


def test_a_serial_phase_that_lasts_longer_than_all_else_is_a_root_cause(tmp_path: Path) -> None:
    """One thread alone for three seconds, then eight for one: by totals they are balanced."""
    alone = Worker("main", 1, 3 * S, (3 * S, 3 * S))
    crew = [Worker(f"w{n}", 20 + n, S, (S, S), cpu=n, start_ns=3 * S) for n in range(8)]
    (program,) = asked(recorded(tmp_path / "a.headway", [alone, *crew]), cores=8).programs
    assert program.answer(PARALLELISM) == "explicitly-parallel"
    assert program.alternatives(PARALLELISM) == ["imbalanced"]
    assert "serial-phase" in program.root_causes
    by_metric = {each.metric: each.value for each in program.evidence}
    assert by_metric["share_of_time_serial"] == pytest.approx(0.75)
    (sentence,) = (text for text in class_sentences(program) if text.startswith("Parallelism"))
    assert "for 75% of the time with any active thread it was one alone (near to imbalanced)" in sentence
    assert sentence.count("near to") == 2


def test_a_serial_phase_that_is_found_is_not_said_to_be_unknown(tmp_path: Path) -> None:
    """Of workers that differ as well, both are named."""
    alone = Worker("first", 19, 3 * S, (3 * S, 3 * S))
    times = [int(each * S) for each in (2.0, 0.4, 1.5, 0.8, 1.1)]
    crew = [Worker(f"w{n}", 20 + n, ns, (ns, ns), cpu=n, start_ns=3 * S) for n, ns in enumerate(times)]
    (program,) = asked(recorded(tmp_path / "a.headway", [alone, *crew]), cores=2).programs
    assert program.answer(PARALLELISM) == "imbalanced"
    assert "serial-phase" in program.root_causes
    assert "non-uniform-work" in program.root_causes
    assert not any(text.startswith("root cause of the imbalance") for text in program.undetermined)
    assert any("86% of what one thread does alone is first's" in text for text in program.advice)
    assert not any("main" in text for text in program.advice)


def test_a_program_that_did_not_run_or_whose_threads_are_unknown_has_no_class(tmp_path: Path) -> None:
    asleep = [Worker("main", 1, 0), Worker("GC Thread#0", 0, S, (S, S), kind="gc")]
    (program,) = asked(recorded(tmp_path / "a.headway", asleep), cores=8).programs
    assert program.answer(PARALLELISM) is None
    assert "parallelism: no thread of the program ran" in program.undetermined
    unknown = [replace(each, java_id=None) for each in threads(0.1, [1] * 8)]
    (program,) = asked(recorded(tmp_path / "b.headway", unknown), cores=8).programs
    assert program.answer(PARALLELISM) is None
    assert program.guideline is None
    assert any("which thread is main is not known" in text for text in program.undetermined)


def test_the_cores_of_a_node_are_those_of_the_recorded_machine(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.headway", threads(0.1, [1] * 8))
    assert asked(path).cores_per_node == 8
    assert asked(path, nodes=Nodes(2, (frozenset({0, 1}), frozenset({2, 3})))).cores_per_node == 2
    assert asked(path, cores=12).cores_per_node == 12


def test_the_cores_of_a_node_are_said_to_be_what_they_are_taken_from(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.headway", threads(0.1, [1] * 8))
    assert said(path)["HW712"].endswith("8 cores, as the largest of the machine of the recording has")
    declared = Nodes(2, (frozenset({0, 1}), frozenset({2, 3})))
    assert said(path, nodes=declared)["HW712"].endswith("2 cores, as the largest of --nodes has")
    edit(path, host={"cpus_online": [*range(12)]}, affinity=[0, 1], recorded_cores=2)
    assert asked(path).cores_per_node == 12
    assert "12 cores, as the machine of the recording has in all" in said(path)["HW712"]


def test_without_the_cores_of_a_node_nothing_is_determined(run: Run, tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.headway", threads(0.1, [1] * 8), host={})
    found = asked(path)
    (program,) = found.programs
    assert (found.cores_per_node, program.answer(PARALLELISM), program.guideline) == (None, None, None)
    assert any("how many cores a node has is not recorded" in text for text in program.undetermined)
    assert "HW712" not in said(path)
    code, text, _ = run("numa", path)
    assert code == 0
    assert "how many cores a node has" in " ".join(text.split())


def test_of_a_program_that_was_attached_to_no_warm_up_is_said_to_be_in_the_class(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.headway", threads(0.1, [1] * 8))
    assert "HW713" in said(path)
    edit(path, attached=True)
    assert "HW713" not in said(path)


def test_few_workers_on_fewer_cores_than_a_node_has_decide_nothing(tmp_path: Path) -> None:
    """A pool that goes by the number of cores has as many workers as there are."""
    path = recorded(tmp_path / "a.headway", threads(0.1, [1] * 4), affinity=[0, 1, 2, 3], recorded_cores=4)
    (program,) = asked(path, cores=8).programs
    assert program.answer(PARALLELISM) is None
    assert program.guideline is None
    assert any("go by the number of cores" in text for text in program.undetermined)


def test_dependencies_and_locality_stay_open_and_are_not_asked_of_one_thread(tmp_path: Path) -> None:
    (program,) = asked(recorded(tmp_path / "a.headway", threads(0.1, [1] * 8)), cores=8).programs
    assert [text.split(":")[0] for text in program.undetermined] == ["data dependencies", "locality"]
    (single,) = asked(recorded(tmp_path / "b.headway", threads(5, [])), cores=8).programs
    assert not single.undetermined


def test_two_recordings_of_a_program_say_how_fast_it_is_on_two_nodes(tmp_path: Path) -> None:
    on: dict[str, Any] = {"affinity": [*range(8)], "recorded_cores": 8}
    one = recorded(tmp_path / "one.headway", threads(0.1, [1] * 8), **on)
    spread = [*threads(0.1, [1] * 7), Worker("w7", 30, 2 * S, (S, S), cpu=8)]
    two = recorded(tmp_path / "two.headway", spread, **on)
    found = locality_test(open_recording(one), open_recording(two), 8)
    test = found.locality_test
    assert test is not None
    assert (test.one.nodes, test.two.nodes) == ((0,), (0, 1))
    assert test.speedup == pytest.approx(1)
    assert test.cpu_growth == pytest.approx(9.1 / 8.1)
    (program,) = found.programs
    assert program.answer(LOCALITY) is None
    assert any("are not recorded in both" in text for text in program.undetermined)


def test_miss_rates_of_both_are_told_but_without_accesses_decide_nothing(tmp_path: Path) -> None:
    def run(path: Path, misses: int, cpu: int) -> Path:
        workers = [
            Worker(f"w{n}", 20 + n, S, (1000, misses, 500, 2 * misses), cpu=n if n < 7 else cpu) for n in range(8)
        ]
        return recorded(path, workers, LLC, affinity=[*range(8)], recorded_cores=8)

    one, two = run(tmp_path / "one.headway", 20, 7), run(tmp_path / "two.headway", 70, 8)
    (program,) = locality_test(open_recording(one), open_recording(two), 8).programs
    assert program.answer(LOCALITY) is None
    assert "reads +5 points, writes +20 points" in " ".join(each.text for each in program.evidence)


@pytest.mark.parametrize(
    ("remote", "answer", "near"), [(40, "no", []), (90, "no", ["yes"]), (110, None, ["no"]), (400, None, [])]
)
def test_a_program_that_hardly_loads_from_the_other_node_is_not_bound_by_locality(
    remote: int, answer: str | None, near: list[str], tmp_path: Path
) -> None:
    """Of a thousand loads that memory serves. Whether cores are as many does not matter."""
    one = recorded(tmp_path / "one.headway", threads(0.1, [1] * 8), affinity=[*range(8)], recorded_cores=8)
    workers = [Worker(f"w{n}", 20 + n, S, (1000, remote), cpu=n if n < 7 else 8) for n in range(8)]
    two = recorded(tmp_path / "two.headway", workers, (("node-loads", "node-load-misses"),))
    found = locality_test(open_recording(one), open_recording(two), 8)
    (program,) = found.programs
    assert (program.answer(LOCALITY), program.alternatives(LOCALITY)) == (answer, near)
    assert any(text.startswith("locality") for text in program.undetermined) == (answer is None)
    assert found.locality_test is not None
    assert numa_json(found)["locality_test"]["two"]["remote_load_pct"] == remote / 10


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"command": ["java", "Other"]}, "App beside Other"),
        ({"command": ["java", "App", "-x"]}, "only one has -x"),
        ({"exit_code": 1}, "not a run from begin to end"),
        ({"ended_by": "duration"}, "not a run from begin to end"),
        ({"attached": True}, "was attached to"),
    ],
)
def test_recordings_that_are_not_the_same_run_are_refused(facts: dict[str, Any], says: str, tmp_path: Path) -> None:
    one, two = (recorded(tmp_path / f"{name}.headway", threads(0.1, [1] * 8)) for name in ("one", "two"))
    edit(two, **facts)
    with pytest.raises(HeadwayError) as error:
        locality_test(open_recording(one), open_recording(two))
    assert error.value.notice.id == "HW710"
    assert says in error.value.notice.message


@pytest.mark.parametrize(
    "command",
    [
        "numactl --interleave=all java App",
        "nice -n 5 numactl -N 0,1 -i all /usr/bin/numactl --localalloc java App",
        "taskset -c 0-3 chrt -f 10 ionice -c 2 java App",
    ],
)
def test_what_places_a_program_is_not_part_of_it(command: str, tmp_path: Path) -> None:
    one, two = (recorded(tmp_path / f"{name}.headway", threads(0.1, [1] * 8)) for name in ("one", "two"))
    edit(two, command=command.split())
    with pytest.raises(HeadwayError) as error:
        locality_test(open_recording(one), open_recording(two))
    assert error.value.notice.id == "HW711"  # the same program; both ran on one node
    assert "ran on node 0" in error.value.notice.message


@pytest.mark.parametrize("before", ["env JDK_JAVA_OPTIONS=-Xmx1g", "sudo", "taskset -c 0-3 env A=b"])
def test_what_may_change_the_program_is_part_of_it(before: str, tmp_path: Path) -> None:
    one, two = (recorded(tmp_path / f"{name}.headway", threads(0.1, [1] * 8)) for name in ("one", "two"))
    edit(two, command=[*before.split(), "java", "App"])
    with pytest.raises(HeadwayError) as error:
        locality_test(open_recording(one), open_recording(two))
    assert error.value.notice.id == "HW710"


def test_a_program_that_did_not_run_ran_on_no_known_cpu(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one.headway", [Worker("main", 1, 0)], ())
    two = recorded(tmp_path / "two.headway", threads(0.1, [1] * 8))
    with pytest.raises(HeadwayError) as error:
        locality_test(open_recording(one), open_recording(two))
    assert "ran on no CPU that is known" in error.value.notice.message


def test_cores_that_are_not_recorded_are_not_as_many(tmp_path: Path) -> None:
    unknown: dict[str, Any] = {"affinity": [], "recorded_cores": None}
    one = recorded(tmp_path / "one.headway", threads(0.1, [1] * 8), **unknown)
    two = recorded(tmp_path / "two.headway", [*threads(0.1, [1] * 7), Worker("w7", 30, S, (S, S), cpu=8)], **unknown)
    found = locality_test(open_recording(one), open_recording(two), 8)
    assert found.locality_test is not None
    assert not found.locality_test.has_as_many_cores
    assert any("how many cores the program had" in text for text in found.programs[0].undetermined)


def test_miss_rates_of_whole_threads_are_told_as_well(tmp_path: Path) -> None:
    on: dict[str, Any] = {"affinity": [*range(8)], "recorded_cores": 8}

    def run(path: Path, misses: int, cpu: int) -> Path:
        of = [*threads(0.1, [1] * 7), Worker("w7", 30, S, cpu=cpu)]
        totals = [[count, S, S] for count in (1000, misses, 500, 2 * misses)]
        row = {"pid": PID, "tid": PID, "name": "main", "kind": "app", "uncounted_ns": 0, "totals": totals}
        counted = {"step": "software clocks", "groups": [{"events": [*LLC[0]]}], "absent": [], "threads": [row]}
        nothing = {"step": "none", "groups": [], "absent": []}
        facts = {"mode": "perf-switch", "counters": nothing, "thread_counters": counted}
        return recorded(path, of, (), **on, **facts)

    one, two = run(tmp_path / "one.headway", 20, 7), run(tmp_path / "two.headway", 70, 8)
    test = locality_test(open_recording(one), open_recording(two), 8).locality_test
    assert test is not None
    assert (test.one.miss_pct, test.two.miss_pct) == ({"read": 2, "write": 8}, {"read": 7, "write": 28})


def test_recordings_the_wrong_way_round_are_refused(tmp_path: Path) -> None:
    spread = recorded(tmp_path / "two.headway", [*threads(0.1, [1] * 8), Worker("w8", 40, S, (S, S), cpu=9)])
    one = recorded(tmp_path / "one.headway", threads(0.1, [1] * 8))
    with pytest.raises(HeadwayError) as error:
        locality_test(open_recording(spread), open_recording(one))
    assert error.value.notice.id == "HW711"


def test_a_recording_without_scheduling_is_refused(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.headway", threads(0.1, [1] * 8), (), mode="agent")
    with pytest.raises(HeadwayError) as error:
        asked(path)
    assert error.value.notice.id == "HW400"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give either NAME.headway"),
        (("--table", "t.csv", "--nodes", "2"), "--nodes is about recordings"),
        (("--table", "t.csv", "--from", "1s"), "--from and --to select a part of a recording"),
        (("a.headway", "--program", "h2"), "--program is about tables"),
        (("a.headway", "--nodes", "0-3/3-5"), "a CPU in two nodes"),
        (("a.headway", "--nodes", "x"), "no number of nodes"),
        (("a.headway", "--nodes", "0"), "nodes are separated by /"),
    ],
)
def test_words_that_do_not_go_together_are_wrong_usage(words: tuple[str, ...], says: str, run: Run) -> None:
    code, _, text = run("numa", *words)
    assert code == 2
    assert says in " ".join(text.split())
