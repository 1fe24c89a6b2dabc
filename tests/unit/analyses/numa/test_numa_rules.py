"""Rules of the classes of programs, on figures worked out by hand, and equation 6.1 against threads that have such figures."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest

from headway.analyses.numa.analysis import classify, classify_tables
from headway.analyses.numa.columns import ThreadRange
from headway.analyses.numa.parallelism import largest_share
from headway.analyses.numa.tables import ProgramFigures
from headway.analyses.numa.types import ProgramClass


def program(workers: int | tuple[int, int], **figures: float) -> ProgramFigures:
    low, high = workers if isinstance(workers, tuple) else (workers, workers)
    return ProgramFigures("p", values={"workers": ThreadRange(low, high), **figures})


def classes(workers: int | tuple[int, int], imbalance: float, main: float = 0.0, cores: int = 8) -> ProgramClass:
    figures = {"imbalance_instructions_pct": imbalance, "main_instructions_pct": main}
    return classify(program(workers, **figures), cores)


def parallel(*arguments: Any, **options: Any) -> tuple[str | None, list[str]]:
    found = classes(*arguments, **options)
    return found.answer("parallelism"), found.alternatives("parallelism")


def percent(shares: list[float]) -> float:
    """Return equation 6.1 of the work of threads."""
    return 100 * statistics.pstdev(shares) / statistics.fmean(shares)


def test_the_largest_share_of_one_worker_is_never_above_the_bound_and_meets_it_where_the_others_are_equal() -> None:
    draw = random.Random(61)
    for _ in range(500):
        shares = [draw.expovariate(1.0) ** draw.choice((0.2, 1, 3)) for _ in range(draw.randint(2, 40))]
        bound = largest_share(percent(shares), len(shares))
        assert max(shares) / sum(shares) <= bound + 1e-12
    for workers, share in ((2, 0.9), (8, 0.63), (30, 0.5)):
        shares = [share, *[(1 - share) / (workers - 1)] * (workers - 1)]
        assert largest_share(percent(shares), workers) == pytest.approx(share)


def test_one_worker_that_does_most_is_told_from_many_that_differ() -> None:
    assert parallel(8, percent([8.0, *[2 / 7] * 7])) == ("embarrassingly-imbalanced", [])  # 80 % of the work
    assert parallel(8, percent([3.0, 1, 1, 1, 1, 1, 1, 1])) == ("imbalanced", [])  # 30 %
    assert parallel(8, percent([4.7, *[5.3 / 7] * 7])) == ("imbalanced", ["embarrassingly-imbalanced"])  # 47 %


def test_balanced_workers_are_parallel_and_near_the_border_both_are_named() -> None:
    assert parallel(8, 0) == ("explicitly-parallel", [])
    assert parallel(8, 9) == ("explicitly-parallel", ["imbalanced"])
    assert parallel(8, 11) == ("imbalanced", ["explicitly-parallel"])
    assert parallel(8, 30) == ("imbalanced", [])


def test_fewer_threads_than_cores_are_too_few_whatever_their_balance() -> None:
    assert parallel(7, 0) == ("tlp-bound", [])
    assert parallel(7, 200) == ("tlp-bound", [])
    assert parallel((4, 12), 0) == ("explicitly-parallel", ["tlp-bound"])
    assert parallel(16, 0, cores=32) == ("tlp-bound", [])
    assert parallel(4, 0, cores=4) == ("explicitly-parallel", [])


def test_a_main_thread_that_works_like_a_worker_is_one() -> None:
    assert parallel(7, 2, main=12.5) == ("explicitly-parallel", ["tlp-bound"])  # eight equal shares
    assert parallel(7, 2, main=5)[0] == "tlp-bound"  # main does a third of what a worker does
    assert parallel(6, 2, main=14)[0] == "tlp-bound"  # seven threads


def test_one_thread_that_does_it_all_is_single() -> None:
    assert parallel(0, 0, main=85)[0] == "single-threaded"
    assert parallel(1, 0, main=1)[0] == "single-threaded"
    assert parallel(8, 0, main=95) == ("single-threaded", [])
    assert parallel(8, 0, main=82) == ("single-threaded", ["tlp-bound"])
    assert parallel(8, 0, main=78) == ("explicitly-parallel", ["single-threaded"])
    found = classes(0, 0, main=10)  # a hundred threads with one percent each are no single one
    assert (found.answer("parallelism"), found.guideline, len(found.undetermined)) == (None, None, 3)
    found = classes(0, 0, main=100)
    assert (found.answer("data_dependencies"), found.answer("locality_bound"), found.undetermined) == (None, None, [])


@pytest.mark.parametrize(("main", "answer"), [(95, "single-threaded"), (82, None), (30, None)])
def test_without_a_number_of_workers_only_a_main_thread_far_over_the_border_tells(
    main: float, answer: str | None
) -> None:
    found = classify(ProgramFigures("p", values={"main_instructions_pct": main, "imbalance_instructions_pct": 1}), 8)
    assert found.answer("parallelism") == answer
    assert any("workers is not known" in each for each in found.undetermined) == (answer is None)


def test_an_idle_worker_beside_equal_ones_that_fill_the_node_is_an_outlier() -> None:
    nine = [*[1.0] * 8, 0.1]
    found = classes(9, percent(nine))
    assert found.answer("parallelism") == "explicitly-parallel"
    assert (found.root_causes, found.alternatives("parallelism")) == (["outlier-thread"], ["imbalanced"])
    assert parallel(8, percent([*[1.0] * 7, 0.1]))[0] == "imbalanced"  # seven don't fill a node of eight
    assert parallel(9, percent([*[1.0] * 8, 0.5]))[0] == "imbalanced"  # it does 6 % of the work: it is a worker
    assert parallel((9, 10), percent(nine))[0] == "imbalanced"


def test_crews_as_large_as_the_node_may_be_workloads_one_after_the_other() -> None:
    crews = percent([*[1.0] * 8, *[2.0] * 8, *[5.0] * 8])
    found = classes(24, crews)
    assert (found.answer("parallelism"), found.root_causes) == ("explicitly-parallel", ["several-workloads"])
    assert found.alternatives("parallelism") == ["imbalanced"]
    assert parallel(25, crews)[0] == "imbalanced"
    assert parallel((24, 32), crews)[0] == "imbalanced"
    assert parallel(16, percent([*[1.0] * 8, *[3.0] * 8]))[0] == "imbalanced"  # as well a pool of twice the cores


def test_main_that_does_far_more_than_a_worker_may_be_a_serial_phase() -> None:
    assert classes(8, 1, main=29).root_causes == ["serial-phase"]
    assert classes(8, 1, main=12).root_causes == []
    assert any("while main works" in each for each in classes(8, 1, main=29).undetermined)


def dependencies(reads: float, writes: float) -> tuple[str | None, list[str]]:
    found = classify(program(8, shared_read_pct=reads, shared_write_pct=writes), 8)
    return found.answer("data_dependencies"), found.alternatives("data_dependencies")


def test_data_are_shared_where_what_is_written_is_read_as_well() -> None:
    assert dependencies(50, 3) == ("read-write", [])
    assert dependencies(50, 0.1) == ("read-only", [])
    assert dependencies(1, 0.2) == ("data-parallel", [])
    assert dependencies(4.5, 0) == ("data-parallel", ["read-only"])
    assert dependencies(5.5, 0) == ("read-only", ["data-parallel"])
    assert dependencies(40, 1) == ("read-write", ["read-only"])
    assert dependencies(40, 0.9) == ("read-only", ["read-write"])


def test_more_misses_of_writes_are_put_down_to_sharing_where_there_is_some() -> None:
    misses = {
        "read_single_node_pct": 10,
        "read_dual_node_pct": 30,
        "write_single_node_pct": 20,
        "write_dual_node_pct": 50,
    }
    found = classify(program(8, shared_read_pct=50, shared_write_pct=3, **misses), 8)
    assert (found.answer("locality_bound"), found.root_causes) == ("no", ["shared-writes"])
    found = classify(program(8, shared_read_pct=50, shared_write_pct=0, **misses), 8)
    assert (found.answer("locality_bound"), found.root_causes) == ("yes", ["irregular-accesses"])
    found = classify(program(8, shared_read_pct=50, shared_write_pct=0, **{**misses, "write_dual_node_pct": 20}), 8)
    assert (found.answer("locality_bound"), found.root_causes) == ("no", ["write-conflicts"])
    found = classify(program(8, shared_read_pct=50, shared_write_pct=0, **{**misses, "write_dual_node_pct": 36}), 8)
    assert (found.answer("locality_bound"), found.alternatives("locality_bound")) == ("yes", ["no"])


def test_an_imbalance_that_so_many_threads_can_not_have_is_not_used(tmp_path: Any) -> None:
    table = tmp_path / "x.csv"
    table.write_text(
        "application,main_instructions_pct,workers,imbalance_instructions_pct,imbalance_cycles_pct\na,0,8,265,1\nb,0,8,266,1\n"
    )
    answer = classify_tables([table], 8)
    assert [each.answer("parallelism") for each in answer.programs] == [
        "embarrassingly-imbalanced",
        "explicitly-parallel",
    ]
    assert [notice.id for notice in answer.notices] == ["HW705"]
    assert "b: imbalance_instructions_pct is 266, of 8 threads it is at most 265; it" in answer.notices[0].message


def test_advice_is_of_the_class_and_of_the_causes() -> None:
    few = classes(2, 0).advice
    assert few[0].startswith("keep it on one node")
    assert any("more threads" in each for each in few)
    assert any("numactl" in each for each in few)
    parallel = classify(program(8, imbalance_instructions_pct=1, shared_read_pct=1, shared_write_pct=0), 8).advice
    assert parallel[0].startswith("a second node may help or hurt")
    assert any("UseNUMA" in each for each in parallel)
