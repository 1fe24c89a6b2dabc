"""The programs that sweeps are judged by compute the same however many threads they have, and measure what they promise."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.drivers.workloads import JAVAS, java_command, run


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def said_by(java: Path, program: str, *arguments: object) -> dict[str, Any]:
    """Run a program alone and return its last line, the only one after the marker."""
    done = run(java, program, *arguments, spool_dir=None)
    assert (done.code, done.stderr) == (0, b"")
    marker, said = done.lines
    assert marker["event"] == "measuring"
    assert marker["ns"] <= said["begin_ns"] < said["end_ns"] == said["begin_ns"] + said["wall_ns"]
    return said


def phases(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the program measured of its phases, by name; the sums are checked on the way."""
    for phase in said["sequential"] + said["parallel"]:
        assert max(phase["cpu_ns"]) <= phase["busiest_ns"] <= sum(phase["cpu_ns"]), phase
        assert len(phase["cpu_ns"]) == (1 if phase in said["sequential"] else said["threads"]), phase
        assert 0 < phase["wall_ns"] <= said["wall_ns"], phase
    return {phase["name"]: phase for phase in said["sequential"] + said["parallel"]}


def test_every_version_of_k_means_finds_the_same_clusters(java: Path) -> None:
    size = (2, 3, 4000, 1)  # rounds, steps, points, rounds to warm up
    alone = said_by(java, "kmeans.KMeans", "sequential-arrays", 1, *size)
    assert [each["name"] for each in alone["parallel"]] == ["assign"]
    others = [("sequential-lists", 1), ("1", 3), ("2", 2), ("3", 1), ("3", 3), ("4", 2), ("5", 3)]
    for version, threads in others:
        said = said_by(java, "kmeans.KMeans", version, threads, *size)
        assert said["checksum"] == pytest.approx(alone["checksum"], rel=1e-12), version
        found = phases(said)
        assert (said["threads"], found["load"]["instances"], found["assign"]["instances"]) == (threads, 2, 6)
        in_parallel = {each["name"] for each in said["parallel"]}
        assert ("tally" in in_parallel) == (version in "345"), version


def test_the_locked_version_takes_its_lock_once_for_each_batch(java: Path) -> None:
    said = said_by(java, "kmeans.KMeans", 3, 2, 2, 3, 10_000, 1)
    assert said["lock_count"] == [24, 24], "two rounds of three steps, in each four of eight batches"
    assert all(0 < waited < said["wall_ns"] for waited in said["lock_wait_ns"])


def test_molecules_move_alike_in_every_version(java: Path) -> None:
    size = (5, 8, 1)  # steps, particles along an edge, steps to warm up
    alone = said_by(java, "md.MolecularDynamics", "sequential", 1, *size)
    for version, threads in (("balanced", 2), ("memory-bound", 3), ("unbalanced", 4)):
        said = said_by(java, "md.MolecularDynamics", version, threads, *size)
        assert said["checksum"] == pytest.approx(alone["checksum"], rel=1e-9), version
        assert {name: each["instances"] for name, each in phases(said).items()} == {"force": 5, "move": 5}


def test_the_unbalanced_molecules_keep_one_thread_busiest(java: Path) -> None:
    said = said_by(java, "md.MolecularDynamics", "unbalanced", 2, 20, 16, 20)
    busy, idle = phases(said)["force"]["cpu_ns"]
    assert busy > 3 * idle > 0, "ten times as many particles"


def test_the_picture_is_the_same_however_its_barrier_waits(java: Path) -> None:
    size = (4, 60, 1)  # frames, lines, frames to warm up
    alone = said_by(java, "raytracer.RayTracer", "sequential", 1, *size)
    for version, threads in (("spinning", 2), ("cyclic", 2), ("cyclic", 5)):
        said = said_by(java, "raytracer.RayTracer", version, threads, *size)
        assert said["checksum"] == pytest.approx(alone["checksum"], rel=1e-9), version
        found = phases(said)
        assert found["render"]["instances"] == found["barrier"]["instances"] == 4
        sky, *_, ground = found["render"]["cpu_ns"]
        assert 0 < sky < ground, "all spheres are below"
        assert found["barrier"]["waited_ns"][0] > 0


@pytest.mark.parametrize("limit", ["none", "sequential", "imbalance", "spin", "lock", "overhead"])
def test_a_known_limit_is_as_large_as_it_says(java: Path, limit: str) -> None:
    said = said_by(java, "KnownLimit", limit, 2, 0.8, 4, 5000, 2)
    found = phases(said)
    first, second = found["work"]["cpu_ns"]
    assert found["work"]["instances"] == 4
    assert ("serial" in found) == (limit == "sequential")
    if limit == "sequential":
        serial = sum(found["serial"]["cpu_ns"])
        assert 0.7 < serial / (serial + first + second) < 0.9
    elif limit == "imbalance":
        assert 0.7 < first / (first + second) < 0.9
    elif limit == "lock":
        assert said["lock_count"] == [16, 16], "four pieces in each of four rounds"


def test_a_sequential_program_has_one_thread_and_no_overhead(java: Path) -> None:
    found: dict[int, list[int]] = {0: [], 2: []}
    for threads in (0, 2) * 3:  # a neighbour of this machine may make one run take half as much CPU time more
        cpu_ns = phases(said_by(java, "KnownLimit", "overhead", threads, 1.0, 4, 5000, 2))["work"]["cpu_ns"]
        assert len(cpu_ns) == max(1, threads)
        found[threads].append(sum(cpu_ns))
    assert 1.5 < min(found[2]) / min(found[0]) < 2.7


def test_a_driven_program_measures_its_rounds_once_for_each_line_and_ends_with_its_input(java: Path) -> None:
    command = java_command(java, "KnownLimit", "lock", 2, 0.5, 3, 10, 1, "driven")
    done = subprocess.run(command, input=b"run\nrun\n", capture_output=True, timeout=60, check=True)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["begin_ns"] < first["end_ns"] <= second["begin_ns"] < second["end_ns"]
    for said in (first, second):  # what one of them measured is not in the other
        assert said["lock_count"] == [12, 12], "four pieces in each of three rounds"
        assert [each["instances"] for each in said["parallel"]] == [3]
