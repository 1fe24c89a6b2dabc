"""Profiles for other tools say what the profile says, whatever the frames are called."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.stacks.tree import StackColumns, build_tree
from headway.analyses.stacks.types import Frame, Profile, ThreadWeight
from headway.errors import HeadwayError
from headway.report.export import export_collapsed, export_pprof, export_speedscope
from support.oracles.pprof_schema import Profile as Pprof

THREADS = ("main", "worker\n;1\ud800", "")
HOSTILE = (
    *("a;b", "two words 12", "line\nbreak", "\r", "\x00", "\x1b[31mred", "\u2028", "\u202egnp", "\ud800", "\udfff;\n"),
    *("", " ", '"}],', "<script>", "a\\x3b", "x" * 3000, "ä€😀", "%s{}"),
)
Weights = Counter[tuple[str, ...]]


def profile_file(
    weights: dict[tuple[int, tuple[int, ...]], int], names: tuple[str, ...], unit: str = "ns"
) -> tuple[Profile, Profile]:
    """Merge {(thread, frames from the root down): weight} into a profile, and into the one with a root per thread."""
    frames = tuple(Frame("", name, 7 if i % 2 else None) for i, name in enumerate(names))
    begin = np.cumsum([0, *(len(path) for _, path in weights)])
    flat = np.array([frame for _, path in weights for frame in reversed(path)], dtype=np.int32)
    stacks = StackColumns(begin, flat, np.zeros(len(flat), np.int8))
    row, weight = np.arange(len(weights)), np.array(list(weights.values()), dtype=np.int64)
    root = np.array([thread for thread, _ in weights], dtype=np.int64) + len(frames)
    total = int(weight.sum())
    threads = (ThreadWeight(0, 1, "main", "app", total, len(weights)),)
    found = Profile(
        "cpu", unit, total, len(weights), 0, "ebpf", (0, 10**9), frames, build_tree(stacks, row, weight), threads, ()
    )
    with_threads = (*frames, *(Frame("", name) for name in THREADS))
    return found, replace(found, frames=with_threads, tree=build_tree(stacks, row, weight, root))


@pytest.fixture(scope="module")
def hostile() -> tuple[Profile, Profile, dict[tuple[int, tuple[int, ...]], int]]:
    """A profile in which every hostile name is somewhere in a stack."""
    paths: list[tuple[int, tuple[int, ...]]] = [(i % 3, (i, (i + 5) % len(HOSTILE), 3)) for i in range(len(HOSTILE))]
    weights = {path: 2**53 + i for i, path in enumerate(paths)}
    return (*profile_file(weights, HOSTILE), weights)


def spelled(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


# --- collapsed ---------------------------------------------------------------------------------------------------------


def read_collapsed(path: Path) -> list[tuple[list[str], int]]:
    """Read collapsed stacks as flamegraph.pl does: lines, the weight after the last space, frames between semicolons."""
    text = path.read_bytes().decode("utf-8")
    assert all(char.isprintable() or char == "\n" for char in text)
    lines = [line.rpartition(" ") for line in text.split("\n")[:-1]]
    assert len(lines) == len(text.splitlines())
    return [(frames.split(";"), int(weight)) for frames, _, weight in lines]


def test_collapsed_stacks_have_a_line_each_whatever_their_frames_are_called(hostile: Any, tmp_path: Path) -> None:
    found, _, weights = hostile
    lines = read_collapsed(export_collapsed(found, tmp_path / "x"))
    assert sorted((len(frames), weight) for frames, weight in lines) == sorted((3, each) for each in weights.values())
    first = {weight: frames for frames, weight in lines}
    assert first[2**53][0] == "a\\x3bb"
    assert first[2**53 + 2][0] == "line\\x0abreak"
    assert first[2**53 + 8][0] == "\\ud800"
    assert all(frames[2] == "\\x0d" or frames[2] for frames in first.values())


# --- pprof -------------------------------------------------------------------------------------------------------------


def read_pprof(path: Path) -> tuple[Any, Counter[tuple[str, tuple[str, ...]]]]:
    """Read a pprof file with protobuf's own runtime: the message, and {(thread, frames from the root down): weight}."""
    message = Pprof()
    message.ParseFromString(gzip.decompress(path.read_bytes()))
    known = Pprof.FromString(message.SerializeToString())
    known.DiscardUnknownFields()
    assert known.ByteSize() == message.ByteSize()
    text = message.string_table
    assert text[0] == ""
    functions = {each.id: each for each in message.function}
    locations = {each.id: each for each in message.location}
    assert 0 not in functions
    assert 0 not in locations
    assert (len(functions), len(locations)) == (len(message.function), len(message.location))
    mappings = {each.id for each in message.mapping}
    assert {each.mapping_id for each in message.location} == mappings
    found = Counter[tuple[str, tuple[str, ...]]]()
    for sample in message.sample:
        (label,) = sample.label
        assert text[label.key] == "thread"
        names = [text[functions[locations[number].line[0].function_id].name] for number in reversed(sample.location_id)]
        (weight,) = sample.value
        found[text[label.str], tuple(names)] += weight
    return message, found


def test_pprof_reads_every_stack_of_every_thread_with_its_weight(hostile: Any, tmp_path: Path) -> None:
    _, by_thread, weights = hostile
    message, found = read_pprof(export_pprof(by_thread, tmp_path / "x.pb.gz", program="a.headway"))
    assert found == Counter(
        {
            (spelled(THREADS[thread]), tuple(text(HOSTILE, frame) for frame in path)): weight
            for (thread, path), weight in weights.items()
        }
    )
    kind = message.sample_type[0]
    assert (message.string_table[kind.type], message.string_table[kind.unit]) == ("cpu", "nanoseconds")
    assert message.duration_nanos == 10**9
    names = {each.id: message.string_table[each.name] for each in message.function}
    assert {(names[each.line[0].function_id], each.line[0].line) for each in message.location} == {
        (text(HOSTILE, frame), 7 if frame % 2 else 0) for frame in range(len(HOSTILE))
    }


def text(names: tuple[str, ...], frame: int) -> str:
    """Return what a frame is called in pprof: without its line, which has a field of its own."""
    return spelled(names[frame])


def test_the_same_profile_gives_the_same_bytes(hostile: Any, tmp_path: Path) -> None:
    _, by_thread, _ = hostile
    first, second = (export_pprof(by_thread, tmp_path / name, program="a").read_bytes() for name in ("a", "b"))
    assert first == second


# --- speedscope --------------------------------------------------------------------------------------------------------


def read_speedscope(path: Path) -> tuple[Any, list[Counter[tuple[str, ...]]]]:
    """Read a speedscope file, checking what its schema asks for: {frames from the root down: weight} per profile."""
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = content["shared"]["frames"]
    assert all(set(each) <= {"name", "file", "line", "col"} and isinstance(each["name"], str) for each in frames)
    found = []
    for profile in content["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled"
        assert profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        weights = Weights()
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            weights[tuple(frames[number]["name"] for number in stack)] += weight
        found.append(weights)
    return content, found


def test_speedscope_has_all_threads_together_and_each_by_itself(hostile: Any, tmp_path: Path) -> None:
    found, by_thread, weights = hostile
    content, profiles = read_speedscope(export_speedscope(found, by_thread, tmp_path / "x", name="a.headway"))
    expected = Weights()
    per_thread = {spelled(name): Weights() for name in THREADS}
    for (thread, path), weight in weights.items():
        names = tuple(spelled(found.frames[frame].text) for frame in path)
        expected[names] += weight
        per_thread[spelled(THREADS[thread])][names] += weight
    assert profiles[0] == expected
    assert {each["name"]: profiles[i + 1] for i, each in enumerate(content["profiles"][1:])} == per_thread


# --- all of them -------------------------------------------------------------------------------------------------------

stacks = st.dictionaries(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple)),
    st.integers(1, 2**58),
    min_size=1,
    max_size=12,
)


@settings(max_examples=30)
@given(weights=stacks, unit=st.sampled_from(["ns", "bytes", "count"]))
def test_every_format_holds_the_same_weights(
    tmp_path_factory: pytest.TempPathFactory, weights: dict[tuple[int, tuple[int, ...]], int], unit: str
) -> None:
    names = ("a", "b", "c;", "d d")
    found, by_thread = profile_file(weights, names, unit)
    folder = tmp_path_factory.mktemp("e")
    merged = Counter[tuple[int, ...]]()
    for (_, path), weight in weights.items():
        merged[path] += weight
    collapsed = read_collapsed(export_collapsed(found, folder / "c"))
    shown = [each.text.replace(";", "\\x3b") for each in found.frames]
    assert {tuple(frames): weight for frames, weight in collapsed} == {
        tuple(shown[frame] for frame in path): weight for path, weight in merged.items()
    }
    _, samples = read_pprof(export_pprof(by_thread, folder / "p", program="x"))
    assert samples == Counter(
        {(spelled(THREADS[thread]), tuple(names[f] for f in path)): each for (thread, path), each in weights.items()}
    )
    _, profiles = read_speedscope(export_speedscope(found, by_thread, folder / "s", name="x"))
    assert profiles[0].total() == sum(each.total() for each in profiles[1:]) == found.total


Write = Callable[[Profile, Profile, Path, bool], Path]
WRITERS: dict[str, Write] = {
    "collapsed": lambda found, _, path, force: export_collapsed(found, path, overwrite=force),
    "pprof": lambda _, by_thread, path, force: export_pprof(by_thread, path, program="x", overwrite=force),
    "speedscope": lambda found, by_thread, path, force: export_speedscope(
        found, by_thread, path, name="x", overwrite=force
    ),
}


@pytest.mark.parametrize("form", WRITERS)
def test_an_export_of_stacks_never_overwrites_unless_told_to(form: str, hostile: Any, tmp_path: Path) -> None:
    found, by_thread, _ = hostile
    target = tmp_path / "out"
    target.write_text("mine")
    with pytest.raises(HeadwayError, match="HW500"):
        WRITERS[form](found, by_thread, target, False)
    assert target.read_text() == "mine"
    WRITERS[form](found, by_thread, target, True)
    assert target.read_bytes() != b"mine"
    assert os.listdir(tmp_path) == ["out"]
    with pytest.raises(HeadwayError, match="HW501"):
        WRITERS[form](found, by_thread, tmp_path / "no" / "out", False)
