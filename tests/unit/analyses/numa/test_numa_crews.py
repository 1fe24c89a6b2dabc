"""`headway numa` of recordings whose workers are several crews, and what an imbalance of recorded workers comes from."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.numa.crews import work_over_time
from headway.analyses.numa.recorded import classify_recording
from headway.analyses.numa.types import PARALLELISM, ProgramClass
from headway.analyses.scheduling.thread_work import program_work
from headway.report.json.numa import numa_json
from headway.store import Recording, open_recording
from support.builders.edited_manifest import edit
from support.builders.memory_builder import Worker, memory_recording

S = 1_000_000_000
IN_TIME = "root cause of the imbalance"


def crew(begin_s: float, seconds: Sequence[float], first: int = 0) -> list[Worker]:
    """Return workers that begin together, each alone on a CPU for so long. `first`: the number of the first."""
    return [
        Worker(f"w{first + n}", 100 + first + n, round(each * S), (1, 1), cpu=n, start_ns=round(begin_s * S))
        for n, each in enumerate(seconds)
    ]


def recorded(path: Path, of: list[Worker], main_s: float = 0.01) -> Recording:
    threads = [Worker("main", 1, round(main_s * S), (1, 1), cpu=15), *of]
    end = max(each.start_ns + each.cpu_ns for each in threads)
    facts: dict[str, Any] = {"affinity": [*range(16)], "recorded_cores": 16}
    return open_recording(memory_recording(path, threads, end, (), allocations=False, **facts))


def classified(path: Path, of: list[Worker], cores: int = 8, main_s: float = 0.01) -> ProgramClass:
    (program,) = classify_recording(recorded(path, of, main_s), cores=cores).programs
    return program


def spread(mean: float, percent: float, count: int = 8) -> list[float]:
    """Return the work of so many workers that have this mean and this imbalance: half of them more, half of them less."""
    off = mean * percent / 100
    return [mean + off, mean - off] * (count // 2)


def test_workers_that_begin_when_others_have_ended_are_another_crew(tmp_path: Path) -> None:
    threads = [*crew(0, [2] * 8), *crew(2.2, [1] * 8, 8), *crew(3.2, [3] * 8, 16)]
    recording = recorded(tmp_path / "a.headway", threads)
    crews = work_over_time(recording, program_work(recording)).crews()
    assert [sorted(each.threads) for each in crews] == [[*range(first, first + 8)] for first in (1, 9, 17)]
    for found, (begin, end) in zip(crews, ((0, 2), (2.2, 3.2), (3.2, 6.2)), strict=True):
        assert found.from_ns == pytest.approx(begin * S, abs=6.2 * S / 128)
        assert found.to_ns == pytest.approx(end * S, abs=6.2 * S / 128)


@pytest.mark.parametrize(
    "threads",
    [
        crew(0, [1, 2, 3, 4, 5, 6, 7, 8]),  # they begin together, and end one after the other
        [*crew(0, [2] * 4), *crew(1, [2] * 4, 4), *crew(2, [2] * 4, 8)],  # half of the time is common to two
        [worker for n in range(40) for worker in crew(n * 0.1, [0.8], n)],  # a thread for each task, eight at a time
    ],
)
def test_workers_whose_times_overlap_are_one_crew(threads: list[Worker], tmp_path: Path) -> None:
    recording = recorded(tmp_path / "a.headway", threads)
    (only,) = work_over_time(recording, program_work(recording)).crews()
    assert len(only.threads) == len(threads)


def test_cpu_time_by_part_of_the_window_adds_up_to_that_of_the_threads(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "a.headway", [*crew(0.123456789, [1.7, 0.3]), *crew(1.9, [0.011], 2)])
    found = work_over_time(recording, program_work(recording))
    assert {thread: int(row.sum()) for thread, row in zip(found.threads, found.cpu_ns, strict=True)} == {
        each.thread_id: each.cpu_ns for each in program_work(recording).threads
    }
    window = (S // 2, S)
    part = work_over_time(recording, program_work(recording, window), window)
    assert int(part.cpu_ns.sum()) == program_work(recording, window).cpu_ns


def test_three_workloads_as_those_of_db_shootout_are_parallel_and_named_as_several(tmp_path: Path) -> None:
    """Section 6.2.4: 88 % of imbalance in all, 5, 25 and 36 % in MapDB, ChronicleMap and MvStore."""
    crews = [spread(1, 5), spread(3, 25), spread(0.5, 36)]
    starts = (0, 1.1, 5.0)
    threads = [
        each for n, (begin, work) in enumerate(zip(starts, crews, strict=True)) for each in crew(begin, work, 8 * n)
    ]
    found = classified(tmp_path / "a.headway", threads)
    every = [each for work in crews for each in work]
    of_all = 100 * statistics.pstdev(every) / statistics.fmean(every)
    assert of_all > 70
    assert (found.answer(PARALLELISM), found.alternatives(PARALLELISM)) == ("explicitly-parallel", ["imbalanced"])
    assert "several-workloads" in found.root_causes
    assert not any(IN_TIME in text for text in found.undetermined)
    texts = " ".join(each.text for each in found.evidence)
    assert f"3 crews of 8 workers, one after another; imbalance in each: 5, 25 and 36 %, of all {of_all:.0f} %" in texts
    assert [(each.workers, each.imbalance_pct, each.parallelism) for each in found.phases] == [
        (8, 5.0, "explicitly-parallel"), (8, 25.0, "imbalanced"), (8, 36.0, "imbalanced"),
    ]  # fmt: skip


def test_crews_that_are_alike_are_one_workload_whose_threads_are_made_anew(tmp_path: Path) -> None:
    """Of ten pools of eight threads none has a thread with 4 % of the work."""
    threads = [each for n in range(10) for each in crew(n, [0.9] * 8, 8 * n)]
    found = classified(tmp_path / "a.headway", threads)
    assert found.answer(PARALLELISM) == "explicitly-parallel"
    assert found.alternatives(PARALLELISM) == []
    assert "several-workloads" not in found.root_causes
    assert {each.parallelism for each in found.phases} == {"explicitly-parallel"}


def test_crews_that_are_too_small_for_a_node_are_too_few_however_many_threads_there_are_in_all(tmp_path: Path) -> None:
    threads = [each for n in range(4) for each in crew(n, [0.9] * 3, 3 * n)]
    found = classified(tmp_path / "a.headway", threads)
    assert (found.answer(PARALLELISM), found.guideline) == ("tlp-bound", "G1")
    assert "too-few-workers" in found.root_causes


def test_a_phase_of_another_class_than_the_program_is_named(tmp_path: Path) -> None:
    threads = [*crew(0, [3] * 8), *crew(3.1, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 8)]
    found = classified(tmp_path / "a.headway", threads)
    assert found.answer(PARALLELISM) == "explicitly-parallel"
    assert "imbalanced" in found.alternatives(PARALLELISM)
    assert [each.parallelism for each in found.phases] == ["explicitly-parallel", "imbalanced"]
    assert any("3.1" in each.text and "is imbalanced" in each.text for each in found.evidence)


@pytest.mark.parametrize(
    ("names", "parallelism", "cause"),
    [
        (
            ["Thread-7", *[f"Thread-{n}" for n in range(7)]],
            "explicitly-parallel",
            "outlier-thread",
        ),  # nobody named them
        (["camera", *[f"philosopher-{n}" for n in range(7)]], "explicitly-parallel", "outlier-thread"),
        (["pool-1-thread-8", *[f"pool-1-thread-{n}" for n in range(7)]], "imbalanced", "non-uniform-work"),
        (["worker 8", *[f"worker {n}" for n in range(7)]], "imbalanced", "non-uniform-work"),
    ],
)
def test_a_worker_that_is_named_like_its_equals_has_more_work_and_no_other_role(
    names: list[str], parallelism: str, cause: str, tmp_path: Path
) -> None:
    threads = [replace(each, name=name) for name, each in zip(names, crew(0, [1.8, *[1] * 7]), strict=True)]
    found = classified(tmp_path / "a.headway", threads, cores=7)
    assert (found.answer(PARALLELISM), found.root_causes) == (parallelism, [cause])


@pytest.mark.parametrize(("begins_s", "causes"), [((3.0, 3.0, 3.0), ["serial-phase"]), ((0.0, 0.7, 1.5), [])])
def test_main_that_does_more_than_a_worker_is_a_serial_phase_only_if_it_is_alone_meanwhile(
    begins_s: tuple[float, ...], causes: list[str], tmp_path: Path
) -> None:
    threads = [each for n, begin_s in enumerate(begins_s) for each in crew(begin_s, [1.4] * 4, 4 * n)]
    found = classified(tmp_path / "a.headway", threads, main_s=2.9)
    assert found.answer(PARALLELISM) == "explicitly-parallel"
    assert found.root_causes == causes
    assert not any("while main works" in text for text in found.undetermined)


def test_workers_that_are_unequal_while_they_work_together_have_work_that_differs(tmp_path: Path) -> None:
    found = classified(tmp_path / "a.headway", crew(0, [1, 1.5, 2, 2.5, 3, 3.5, 4, 3.9]))
    assert found.answer(PARALLELISM) == "imbalanced"
    assert found.root_causes == ["non-uniform-work"]
    assert not any(IN_TIME in text for text in found.undetermined)
    (text,) = (each.text for each in found.evidence if each.metric == "imbalance_while_several_pct")
    assert "w6 does 18." in text
    assert "w0 does 4." in text


def test_a_worker_that_goes_on_when_all_others_have_ended_has_more_work_and_is_no_serial_phase(tmp_path: Path) -> None:
    found = classified(tmp_path / "a.headway", crew(0, [1.9, *[1] * 7]))
    assert found.root_causes == ["non-uniform-work"]
    (text,) = (each.text for each in found.evidence if each.metric == "imbalance_while_several_pct")
    assert "w0 does 21." in text


def test_workers_that_are_equal_while_several_work_are_unequal_by_a_serial_phase(tmp_path: Path) -> None:
    """As of scala-stm-bench7: one of them works alone for most of the time, then all do as much."""
    first, *others = crew(3, [1] * 8)
    alone = Worker("w0", 100, 4 * S, (1, 1), cpu=0)
    found = classified(tmp_path / "a.headway", [alone, *others])
    assert found.answer(PARALLELISM) == "imbalanced"
    assert found.root_causes == ["serial-phase"]
    assert not any(IN_TIME in text for text in found.undetermined)
    assert first.start_ns == 3 * S


def test_many_equal_threads_are_workers_though_none_has_4_percent_of_the_work(tmp_path: Path) -> None:
    found = classified(tmp_path / "a.headway", [*crew(0, [1] * 60), *crew(0, [0.002] * 5, 60)])
    assert found.answer(PARALLELISM) == "explicitly-parallel"
    assert next(each.value for each in found.evidence if each.metric == "workers") == 60
    busier = classified(tmp_path / "b.headway", [*crew(0, [3]), *crew(0, [1] * 60, 1)])
    assert next(each.value for each in busier.evidence if each.metric == "workers") == 61


def test_without_slices_the_cause_of_an_imbalance_stays_open(tmp_path: Path) -> None:
    path = Path(recorded(tmp_path / "a.headway", crew(0, [1, 2, 3, 4] * 2)).path)
    (path / "slice.parquet").unlink()
    tables = json.loads((path / "manifest.json").read_text())["tables"]
    edit(path, tables={name: rows for name, rows in tables.items() if name != "slice"})
    (program,) = classify_recording(open_recording(path), cores=8).programs
    assert program.answer(PARALLELISM) == "imbalanced"
    assert any(IN_TIME in text for text in program.undetermined)


def test_a_worker_with_another_role_in_each_crew_is_named(tmp_path: Path) -> None:
    threads = []
    for n in (0, 1):
        other, *equals = crew(1.2 * n, [0.3, *[1] * 8], 9 * n)
        threads += [replace(other, name=f"camera of {n}"), *equals]
    found = classified(tmp_path / "a.headway", threads)
    assert (found.answer(PARALLELISM), found.root_causes) == ("explicitly-parallel", ["outlier-thread"])
    assert [each.text for each in found.evidence if each.metric == "imbalance_of_the_rest"] == [
        "without camera of 0, which does 3.6 % of their work, the imbalance is 0.0 %"
    ]
    assert any("without camera of 0" in text for text in found.advice)


def test_workers_of_another_process_have_no_part_in_what_the_program_s_do_while_several_work(tmp_path: Path) -> None:
    others = [replace(each, pid=4100) for each in crew(0, [5, 1, 1], 8)]
    found = classified(tmp_path / "a.headway", [*crew(0, [1, 1.5, 2, 2.5, 3, 3.5, 4, 3.9]), *others])
    (text,) = (each.text for each in found.evidence if each.metric == "imbalance_while_several_pct")
    assert "w6 does 19." in text
    assert any("of the work is of other processes" in each for each in found.undetermined)


def test_the_last_crew_ends_no_later_than_the_recording(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "a.headway", [*crew(0, [2] * 8), *crew(2.2, [0.41] * 8, 8)])
    last = work_over_time(recording, program_work(recording)).crews()[-1]
    assert last.to_ns == recording.wall_ns


def test_phases_are_in_the_json(tmp_path: Path) -> None:
    threads = [*crew(0, [2] * 8), *crew(2.2, [1] * 8, 8)]
    answer = classify_recording(recorded(tmp_path / "a.headway", threads), cores=8)
    (program,) = numa_json(answer)["programs"]
    assert [{*each} for each in program["phases"]] == [
        {"from_ns", "to_ns", "workers", "imbalance_pct", "parallelism"}
    ] * 2
