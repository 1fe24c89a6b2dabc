"""`headway top --event cycles` where a recording counted cycles at each switch as well: its totals are those of the counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.builders import sample_builder
from support.builders.counted_slices import Ran, add_counts
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
WALL = 1000
PAIR = (("cycles", "instructions"),)
SAMPLES: list[sample_builder.Sample] = [
    (0, 100, 900, ("org.example.Main.main", "org.example.KMeans.assign")),
    (0, 300, 300, ("org.example.Main.main", "org.example.KMeans.tally")),
    (1, 350, 50, ("org.example.KMeans.assign",)),
]
THREADS = [
    FakeThread("app", 0, [("R", 400), ("B", 100), ("R", 500)], "main"),
    FakeThread("app", 0, [("R", 400), ("B", 600)], "worker"),
    FakeThread("gc", 0, [("R", 900)], "GC Thread#0"),
]


def cycles(ran: Ran) -> tuple[int, int] | None:
    """Return what each slice counted: of main 2 and then 4 a ns, of the others 3."""
    return (ran.running_ns * (3 if ran.thread else 2 if ran.start_ns < 400 else 4), 7)


def recorded(path: Path, counted: Callable[[Ran], tuple[int, ...] | None] = cycles) -> Path:
    sample_builder.write(path, THREADS, WALL, {"cycles": SAMPLES, "cache-misses": SAMPLES})
    add_counts(path, PAIR, counted)
    return path


def asked(run: Run, *words: object) -> Any:
    code, out, err = run(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def by_thread(found: Any) -> dict[str, int]:
    return {row["thread"]: row["weight"] for row in found["threads"]}


@pytest.mark.parametrize("window", [(), ("--from", "100ns", "--to", "700ns")])
def test_the_totals_of_samples_are_those_of_the_counts(run: Run, tmp_path: Path, window: tuple[str, ...]) -> None:
    path = recorded(tmp_path / "a.headway")
    found = asked(run, "top", path, "--event", "cycles", *window)
    counted = asked(run, "counters", path, *window)
    assert found["total"] == round(counted["total"]["cycles"]["value"])
    assert by_thread(found) == {row["name"]: round(row["counts"]["cycles"]["value"]) for row in counted["threads"]}


def test_samples_say_where_and_what_has_none_is_told(run: Run, tmp_path: Path) -> None:
    found = asked(run, "top", recorded(tmp_path / "a.headway"), "--event", "cycles", "--all")
    main, worker, gc = 2 * 400 + 4 * 500, 3 * 400, 3 * 900
    assert by_thread(found) == {"main": main, "worker": worker, "GC Thread#0": gc}
    own = {row["method"]: row["self"] for row in found["flat"]}
    assert own["assign"] == main * 900 // 1200 + worker
    assert own["tally"] == main * 300 // 1200
    (unsampled,) = (own[name] for name in own if "not sampled" in name)
    assert unsampled == found["without_sample"] == gc


def test_threads_whose_counts_are_not_known_have_their_samples_as_they_are(run: Run, tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.headway", lambda ran: None if ran.thread == 1 else cycles(ran))
    assert by_thread(asked(run, "top", path, "--event", "cycles"))["worker"] == 50


def test_an_event_that_was_only_sampled_has_the_sum_of_its_samples(run: Run, tmp_path: Path) -> None:
    found = asked(run, "top", recorded(tmp_path / "a.headway"), "--event", "cache-misses")
    assert found["total"] == 900 + 300 + 50
