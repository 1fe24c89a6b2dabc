"""Accesses by memory node: from the samples in an agent's records to shares, answers and what is said of them."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.objects.analysis import objects
from headway.analyses.objects.nodes import share_of
from headway.analyses.objects.types import Grouping
from headway.record.request.objects import parse
from headway.report.analyses.objects import OBJECTS
from headway.report.analysis import Shown
from headway.report.json.objects import objects_json
from headway.report.terminal import make_console
from headway.store import Recording
from support.builders.access_agent import COMPLETE, accessing_agent, finished
from support.builders.allocation_spool_builder import AllocatingAgent
from support.builders.node_agent import ARRAY_READ, PAIR, TUPLE_READ, TUPLE_WRITE, UNKNOWN, WITH_NODES, sampled

Z = 1.959963984540054


def agent_of_two_nodes() -> AllocatingAgent:
    """Return a JVM of two threads: main reads fields, w1 writes them and reads elements of arrays."""
    agent = accessing_agent(WITH_NODES | {b"access_owners": b"allocator"})
    agent.accessed(1, 1, 1, (100_000, 0, 0, 0, 0, 0))
    agent.accessed(21, 1, 2, (0, 50_000, 40_000, 0, 0, 7))
    for samples in (3, 30, 12):  # sums: the one with the most samples is the last
        sampled(agent, 1, TUPLE_READ, (0, 1), samples)
    sampled(agent, 1, TUPLE_READ, (0, 0), 60)
    sampled(agent, 1, TUPLE_READ, (1, UNKNOWN), 10)
    sampled(agent, 21, TUPLE_WRITE, (1, 1), 20, accesses=25_000)
    sampled(agent, 21, ARRAY_READ, (1, 0), 40)
    agent.paired(1, 21, 1, (100_000, 0, 0, 0))
    sampled(agent, 1, TUPLE_READ, (0, 1), 30, of=21, record_type=PAIR)
    sampled(agent, 1, TUPLE_READ, (0, 0), 60, of=21, record_type=PAIR)
    return agent


def answer(recording: Recording, by: Grouping = "thread") -> dict[str, Any]:
    return objects_json(objects(recording, by))


@pytest.fixture
def recorded(tmp_path: Path) -> Recording:
    return finished(tmp_path, agent_of_two_nodes())


def test_accesses_of_each_kind_are_local_and_remote_as_the_samples_are_and_the_rest_is_unknown(
    recorded: Recording,
) -> None:
    accesses = answer(recorded)["accesses"]
    assert accesses["tuple"]["read"] == {"count": 100_000, "local": 60_000, "remote": 30_000, "unknown": 10_000}
    assert accesses["tuple"]["write"] == {"count": 50_000, "local": 25_000, "remote": 0, "unknown": 25_000}
    assert accesses["array"]["read"] == {"count": 40_000, "local": 0, "remote": 40_000, "unknown": 0}
    main, worker = accesses["groups"]
    assert (main["thread"], main["nodes"]["samples"], main["nodes"]["samples_unknown"]) == ("main", 100, 10)
    assert main["nodes"]["remote_share"] == pytest.approx(30 / 90)
    assert worker["nodes"]["remote_share"] == pytest.approx(40 / 60)
    assert accesses["nodes"]["remote_share"] == pytest.approx(70 / 150)


def test_pairs_of_thread_and_owner_and_of_nodes_have_their_samples(recorded: Recording) -> None:
    found = answer(recorded, "node")
    (pair,) = (each for each in found["pairs"] if each["owner"] == "w1")
    assert (pair["accessor"], pair["nodes"]["remote_share"]) == ("main", pytest.approx(30 / 90))
    between = {(each["cpu_node"], each["page_node"]): each["samples"] for each in found["nodes"]}
    assert between == {(0, 0): 60, (1, 0): 40, (0, 1): 30, (1, 1): 20, (1, None): 10}


def test_the_published_table_has_local_and_remote_accesses_of_each_thread(recorded: Recording) -> None:
    found = recorded.query("SELECT * FROM thread_objects")
    names = [column[0] for column in found.description or ()]
    rows = {row["java_id"]: row for row in (dict(zip(names, each, strict=True)) for each in found.fetchall())}
    assert [rows[1][f"tuple_read_{where}"] for where in ("local", "remote")] == [60_000, 30_000]
    assert [rows[21][f"tuple_write_{where}"] for where in ("local", "remote")] == [25_000, 0]
    assert [rows[21][f"array_read_{where}"] for where in ("local", "remote")] == [0, 40_000]
    assert [rows[21][f"tuple_read_{where}"] for where in ("local", "remote")] == [
        None,
        None,
    ]  # nothing of it was sampled


@pytest.mark.parametrize(("part", "of"), [(0, 1), (0, 500), (1, 3), (50, 100), (999, 1000), (7, 7)])
def test_the_ends_of_an_interval_are_the_shares_that_are_just_as_likely_as_the_limit_allows(part: int, of: int) -> None:
    """Where the seen share is z standard deviations from the true one, by the score test."""
    share = share_of(part, of)
    assert share is not None
    for end in {share.low, share.high} - {0.0, 1.0}:
        assert abs(part / of - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / of), rel=1e-9)
    assert share.low <= part / of <= share.high
    assert (share.low == 0) == (part == 0)
    assert (share.high == 1) == (part == of)


def test_no_sample_is_no_share() -> None:
    assert share_of(0, 0) is None


def test_people_read_the_share_with_its_interval_and_how_many_are_unknown(recorded: Recording) -> None:
    out = io.StringIO()
    OBJECTS.render(Shown(objects(recorded, "node"), False), make_console(out), "a.headway")
    said = " ".join(out.getvalue().split())
    assert "About 47% (39% to 55%) of the accesses go to memory of another node than the CPU's, by 150 samples." in said
    assert "Of 10 of 160 samples the node is unknown." in said
    assert "HW868" in said


@pytest.mark.parametrize(
    "bad",
    [
        {"java_id": 0},
        {"java_id": 2**63},
        {"kind": 4},
        {"nodes": (1024, 0)},
        {"nodes": (0, 5000)},
        {"accesses": 4},
        {"accesses": 2**59},
        {"of": 2**63},
    ],
)
def test_samples_that_no_agent_can_have_taken_are_left_out(bad: dict[str, Any], tmp_path: Path) -> None:
    agent = accessing_agent(WITH_NODES)
    agent.accessed(1, 1, 1, (9, 0, 0, 0, 0, 0))
    sampled(agent, **{"java_id": 1, "kind": 0, "nodes": (0, 0), "samples": 5, **bad})
    assert answer(finished(tmp_path, agent))["nodes"] is None


@pytest.mark.parametrize(
    ("facts", "notice"),
    [
        ({b"access_nodes": b"unknown"}, "HW865"),
        ({b"accesses_coverage": b"classes=1,node_samples_refused=7"}, "HW866"),
        ({b"accesses_coverage": b"classes=1,node_samples_left_out=7"}, "HW867"),
    ],
)
def test_what_was_not_seen_is_said(facts: dict[bytes, bytes], notice: str, tmp_path: Path) -> None:
    agent = accessing_agent(WITH_NODES | facts)
    assert notice in {each.id for each in objects(finished(tmp_path, agent)).notices}


def test_a_recording_without_nodes_has_none(tmp_path: Path) -> None:
    agent = accessing_agent(COMPLETE)
    agent.accessed(1, 1, 1, (9, 0, 0, 0, 0, 0))
    found = answer(finished(tmp_path, agent))
    assert found["nodes"] is found["accesses"]["nodes"] is None
    assert found["accesses"]["tuple"]["read"] == {"count": 9, "local": 0, "remote": 0, "unknown": 9}


def test_nodes_are_asked_for_beside_lines_and_owners() -> None:
    assert parse("accesses,nodes").agent_parts == ["accesses=1", "access_nodes=1"]
    wanted = ["accesses=1", "access_owners=1", "access_lines=1", "access_nodes=1"]
    assert parse("accesses,lines,nodes,owners").agent_parts == wanted
