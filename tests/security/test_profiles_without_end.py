"""A small recording whose stacks, thread by thread, are a call tree that fills the memory: the lightest are put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headway.analyses.profile import analysis
from headway.analyses.profile.analysis import profile
from headway.cli.main import cli
from headway.store import open_recording
from support.builders import sample_builder
from support.builders.synthetic import FakeThread

THREADS, STACKS, DEPTH, WALL = 30, 4, 25, 10_000
LIGHTER = "(all lighter stacks)"


def weight_of(thread: int, stack: int) -> int:
    return 1000 * (stack + 1) + thread


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All threads have the same four stacks of 25 frames, of which none has a frame of another one: 3,000 calls by thread."""
    stacks = [tuple(f"S{stack}.m{depth}" for depth in range(DEPTH)) for stack in range(STACKS)]
    taken: list[sample_builder.Sample] = [
        (thread, 10 + stack, weight_of(thread, stack), stacks[stack])
        for thread in range(THREADS)
        for stack in range(STACKS)
    ]
    threads = [FakeThread("app", 0, [("B", WALL)], f"t{thread}") for thread in range(THREADS)]
    return sample_builder.write(tmp_path_factory.mktemp("profiles") / "a.headway", threads, WALL, {"alloc": taken})


@pytest.mark.parametrize(("name", "most"), [("MOST_NODES", 800), ("MOST_FRAMES", 800)])
def test_a_tree_has_no_more_calls_than_memory_is_for_and_sums_stay_exact(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    """20,000 threads with stacks of a thousand frames, 444 kB, took 2.8 GiB: each thread had nodes of its own."""
    recording = open_recording(path)
    whole = profile(recording, "alloc", by_thread=True)
    assert len(whole.tree) == THREADS * (1 + STACKS * DEPTH)
    assert "HW453" not in {each.id for each in whole.notices}
    monkeypatch.setattr(analysis, name, most)
    found = profile(recording, "alloc", by_thread=True)
    assert len(found.tree) <= most + 2 * THREADS
    assert found.total == whole.total == int(found.tree.self_weight.sum())
    assert found.threads == whole.threads
    roots = found.tree.depth == 0
    of_threads = dict(zip(found.tree.frame[roots].tolist(), found.tree.total_weight[roots].tolist(), strict=True))
    assert {found.frames[frame].text: weight for frame, weight in of_threads.items()} == {
        f"t{thread}": sum(weight_of(thread, stack) for stack in range(STACKS)) for thread in range(THREADS)
    }
    # The stacks that are left with their frames are the heaviest of all.
    depths = found.tree.depth[found.tree.self_weight > 0]
    weights = found.tree.self_weight[found.tree.self_weight > 0]
    kept = sorted(weights[depths == DEPTH].tolist())
    everything = sorted(weight_of(thread, stack) for thread in range(THREADS) for stack in range(STACKS))
    assert kept
    assert kept == everything[-len(kept) :]
    (notice,) = [each.message for each in found.notices if each.id == "HW453"]
    assert f"the {len(everything) - len(kept)} lightest stacks" in notice
    # All threads together have a hundred calls.
    assert len(profile(recording, "alloc").tree) == STACKS * DEPTH


def test_without_room_for_any_stack_each_thread_has_its_weight(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_NODES", 1)
    found = profile(open_recording(path), "alloc", by_thread=True)
    assert len(found.tree) == 2 * THREADS
    assert int(found.tree.self_weight.sum()) == found.total


@pytest.mark.parametrize("form", ["speedscope", "pprof", "collapsed"])
def test_an_export_says_once_that_stacks_are_put_together(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(analysis, "MOST_NODES", 90)
    target = tmp_path / "out"
    got = CliRunner().invoke(cli, ["export", str(path), "--format", form, "--event", "alloc", "-o", str(target)])
    assert got.exit_code == 0
    assert got.stderr.count("HW453") == 1
    if form == "speedscope":
        shown: dict[str, Any] = json.loads(target.read_text())
        assert LIGHTER in {frame["name"] for frame in shown["shared"]["frames"]}
        assert shown["profiles"][0]["endValue"] == sum(weight_of(t, s) for t in range(THREADS) for s in range(STACKS))
