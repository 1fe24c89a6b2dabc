"""Recordings of accesses with more classes, threads and pairs than an answer lists: owners and nodes are read of those alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headway.analyses.objects import accesses as accesses_module
from headway.analyses.objects import nodes as nodes_module
from headway.analyses.objects import owners as owners_module
from headway.analyses.objects.accesses import access_notices, accesses
from headway.analyses.objects.analysis import objects
from headway.cli import options
from headway.cli.main import cli
from headway.report.analyses.object_nodes import between_table
from headway.report.json.objects import objects_json
from headway.store import open_recording
from support.builders import synthetic
from support.builders.extreme_recordings import write_rows
from support.builders.synthetic import FakeThread

WALL, CLASSES, MOST = 1000, 40, 7
KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Class number i is accessed by 100 + i times by each kind, i of them of own objects; one sample in each, to node i % 2."""
    threads = [FakeThread("app", 0, [("R", WALL)], f"t{number}") for number in range(CLASSES)]
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("access", "access_owner", "access_node", "access_pair")
    }
    rows["access_node_pair"] = []
    node: dict[str, Any] = {"kind": "tuple_reads", "cpu_node": 0, "samples": 1, "accesses": 1000}
    for number in range(CLASSES):
        which = {"pid": 100, "thread_id": number, "java_id": number + 1}
        key = {**which, "class_name": f"C{number}"}
        rows["access"].append({**key, **dict.fromkeys(KINDS, 100 + number), "static_reads": 0, "static_writes": 0})
        own = {f"{kind}_{whose}": number if whose == "local" else 0 for whose in ("local", "shared") for kind in KINDS}
        rows["access_owner"].append({**key, **own})
        rows["access_node"].append({**key, **node, "page_node": number % 2})
        pair = {**which, "owner_thread_id": number, "owner_java_id": number + 1}
        rows["access_pair"].append({**pair, **dict.fromkeys(KINDS, 100 + number)})
        rows["access_node_pair"].append({**pair, **node, "page_node": number % 2, "rule": "allocator"})
    tables = {
        "thread": [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(threads)],
        "slice": [row for i, thread in enumerate(threads) for row in synthetic.slices_of(i, thread)],
        "activity": synthetic.activity_rows(threads, WALL, 50),
        **rows,
    }
    path = tmp_path_factory.mktemp("accesses") / "a.headway"
    return write_rows(path, tables, WALL, accesses={"jvms": []})


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each query gave out, where an answer lists a few groups."""
    for module in (accesses_module, owners_module):
        monkeypatch.setattr(module, "MOST_GROUPS", MOST)
    return []


@pytest.mark.parametrize("by", ["class", "thread", "thread-class"])
def test_the_groups_with_most_accesses_have_their_owners_and_nodes(many: Path, by: Any, fetched: list[int]) -> None:
    recording = open_recording(many)
    found = accesses(recording, by)
    assert found is not None
    first = range(CLASSES - 1, CLASSES - 1 - MOST, -1)
    numbers = [
        each.thread_id if each.thread_id is not None else int((each.class_name or "")[1:]) for each in found.groups
    ]
    assert numbers == [*first]
    assert found.left_out == CLASSES - MOST
    for number, group in zip(numbers, found.groups, strict=True):
        assert group.owned is not None
        assert (group.owned.local.together, group.owned.unknown.together) == (4 * number, 4 * 100)
        assert group.nodes is not None
        assert (group.nodes.local.together, group.nodes.remote.together) == ((1, 0) if number % 2 == 0 else (0, 1))
    assert [pair.thread_id for pair in found.pairs] == [*first]
    assert all(pair.nodes is not None and pair.nodes.together == 1 for pair in found.pairs)
    # Sums are of all, and what is left out is said.
    assert found.nodes is not None
    assert found.nodes.together == CLASSES
    assert found.owned is not None
    assert found.owned.local.together == 4 * sum(range(CLASSES))
    left = [each.message for each in access_notices(recording, found, None) if each.id == "HW849"]
    assert len(left) == 2
    assert all(f"{CLASSES - MOST}" in each for each in left)


@pytest.mark.parametrize("by", ["class", "thread", "thread-class"])
def test_no_more_groups_of_owners_and_nodes_are_read_than_are_listed(
    many: Path, by: Any, fetched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million classes they took more than 1 GiB, of which 65,536 were shown."""
    for module, name in (
        (accesses_module, "owned_by_group"),
        (accesses_module, "nodes_by_group"),
        (owners_module, "nodes_by_pair"),
    ):
        real = getattr(nodes_module if "nodes" in name else owners_module, name)

        def noted(*words: Any, real: Any = real) -> Any:
            found = real(*words)
            fetched.append(len(found))
            return found

        monkeypatch.setattr(module, name, noted)
    accesses(open_recording(many), by)
    assert sorted(fetched) == [1, 1, MOST, MOST, MOST]


def test_of_more_pairs_of_memory_nodes_than_an_answer_has_those_with_most_samples_are_there(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording may name 65,536 pairs and more: each was a row on the terminal and in the report."""
    everything = accesses(open_recording(many), "class")
    assert everything is not None
    monkeypatch.setattr(nodes_module, "MOST_BETWEEN", 1)
    found = accesses(open_recording(many), "class")
    assert found is not None
    assert (len(everything.between), everything.more_between) == (2, 0)
    assert (found.between, found.more_between) == (everything.between[:1], 1)
    assert found.nodes == everything.nodes
    assert between_table(found).rows == between_table(everything).rows[:1]
    monkeypatch.setattr(accesses_module, "MOST_BETWEEN", 1)
    (notice,) = [each.message for each in access_notices(open_recording(many), found, None) if each.id == "HW849"]
    assert notice == "of pairs of memory nodes the 1 largest row is shown and 1 smaller ones are left out"


@pytest.mark.parametrize("by", ["class", "thread", "thread-class", "pair"])
def test_all_groups_are_printed_as_they_are_found(many: Path, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command builds them while it prints them, some characters at a time."""
    monkeypatch.setattr(options, "_CHARACTERS_AT_ONCE", 100)
    got = CliRunner().invoke(cli, ["objects", str(many), *(["--matrix"] if by == "pair" else ["--by", by]), "--json"])
    assert got.exit_code == 0
    assert got.stdout == json.dumps(objects_json(objects(open_recording(many), by)), indent=1) + "\n"
