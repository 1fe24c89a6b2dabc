"""Which event of the CPU each recorded run of a sweep samples, if there are several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.record.request.sampling import is_counted
from headway.record.series.sweep_plan import order
from headway.record.series.sweep_turns import COUNTED, PLAIN, default_sample, sampled_in, turns
from headway.store.sweep import read_sweep

Run = Callable[..., tuple[int, str, str]]
OF_CPU = {"cpu": "cpu:1ms", "cpu-clock": "cpu-clock:2ms", "cycles": "cycles", "instructions": "instructions:5m"}
BESIDE = {"alloc": "alloc:1m", "wall": "wall"}


@given(
    st.lists(st.sampled_from([*OF_CPU, *BESIDE]), unique=True).filter(lambda names: set(names) & set(OF_CPU)),
    st.integers(1, 50),
)
def test_runs_take_the_events_of_the_cpu_in_the_order_given_beside_all_others(names: list[str], repeat: int) -> None:
    text = ",".join({**OF_CPU, **BESIDE}[name] for name in names)
    waiting = [name for name in names if name in OF_CPU]
    for number in range(1, repeat + 1):
        waiting.append(first := waiting.pop(0))
        options = sampled_in(text, number)
        assert Counter(event.name for event in options.events) == Counter([first, *(set(names) & set(BESIDE))])
        assert options.of_cpu is not None
        assert options.of_cpu.interval == {"cpu": 10**6, "cpu-clock": 2 * 10**6, "cycles": 10**7}.get(first, 5 * 10**6)


@pytest.mark.parametrize("threads", [(1, 2), (2, 4, 8)])
def test_all_runs_of_a_block_are_sampled_alike(threads: tuple[int, ...]) -> None:
    runs = [run for run in order(True, threads, 7, 3) if run.recorded]
    size = len(threads) + 1
    for place in range(0, len(runs), size):
        assert len({sampled_in(COUNTED, run.number) for run in runs[place : place + size]}) == 1
    assert Counter(str(sampled_in(COUNTED, run.number)) for run in runs).most_common()[-1][1] == 2 * size


def test_counters_are_sampled_unasked_only_where_there_are_some_and_enough_runs() -> None:
    assert [default_sample(repeat, is_counted=False) for repeat in (1, 2, 3, 5)] == [PLAIN] * 4
    assert [default_sample(repeat, is_counted=True) for repeat in (1, 2, 3, 5)] == [PLAIN, PLAIN, COUNTED, COUNTED]
    assert [each.of_cpu.name for each in turns(COUNTED) if each.of_cpu] == ["cpu", "cycles", "instructions"]


@pytest.mark.parametrize("repeat", [2, 3])
def test_what_is_sampled_unasked_is_kept_for_the_runs_that_are_made_later(
    repeat: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--parallel", "false {threads}", "--threads", "1", "--repeat", repeat, "-o", "a.sweep")
    run("sweep", *words)
    assert read_sweep(tmp_path / "a.sweep").sample == default_sample(repeat, is_counted=is_counted())
