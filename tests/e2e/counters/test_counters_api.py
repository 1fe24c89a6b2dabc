"""Counters that a program reads by headway.api.Counters: beside the kernel's own files on the thread, and without the agent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from support.drivers.asked_program import PROGRAMS, AskedProgram
from support.drivers.workloads import JAVAS, ROOT, agent

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="counts what only root may")

UNKNOWN = "-1"


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    jar = ROOT / "java" / "api" / "target" / "headway-api.jar"
    classes = tmp_path_factory.mktemp("counters")
    javac: list[str | Path] = [JAVAS["jdk17"].with_name("javac"), "--release", "17", "-cp", jar, "-d", classes]
    subprocess.run([*javac, PROGRAMS / "CountersApi.java"], check=True)
    return f"{classes}:{jar}"


def recorded(java: Path, class_path: str, spool: Path) -> AskedProgram:
    spool.mkdir()
    return AskedProgram(java, class_path, f"-agentpath:{agent()}=spool={quote(str(spool))}", "CountersApi")


def asked(program: AskedProgram, request: str) -> list[str]:
    return program.ask(request).split("|")


def test_a_thread_s_counts_lie_between_what_the_kernel_says_just_inside_and_just_outside(
    java: Path, class_path: str, tmp_path: Path
) -> None:
    with recorded(java, class_path, tmp_path / "spool") as program:
        for _ in range(3):
            counting, reason, *numbers = asked(program, "thread")
            assert (counting, reason) == ("true", "")
            faults_within, faults, faults_around, cpu_within, cpu, wall, in_user_space = map(int, numbers)
            assert 0 < faults_within <= faults <= faults_around
            # Each switch's own time is no thread's to one of these clocks, and what the host took is the thread's to perf's.
            assert 0 < 0.98 * cpu_within <= cpu <= 1.01 * wall
            assert 0 < in_user_space <= faults
        counting, *numbers = asked(program, "by cpu")
        assert counting == "true"
        within, total, around = map(int, numbers)
        assert 0 < within <= total <= around
        program.end()


def test_a_cpu_s_clock_is_the_wall_clock_and_the_machine_s_that_of_all_cpus(
    java: Path, class_path: str, tmp_path: Path
) -> None:
    with recorded(java, class_path, tmp_path / "spool") as program:
        of_cpu, of_all, *numbers = asked(program, "cpus")
        assert (of_cpu, of_all) == ("true", "true")
        inner_ns, cpu_ns, all_ns, outer_ns = map(int, numbers)
        online = os.sysconf("SC_NPROCESSORS_ONLN")
        assert 0.99 * inner_ns <= cpu_ns <= 1.01 * outer_ns
        assert 0.99 * inner_ns * online <= all_ns <= 1.01 * outer_ns * online
        program.end()


def test_groups_are_refused_with_a_reason_and_give_their_descriptors_back(
    java: Path, class_path: str, tmp_path: Path
) -> None:
    with recorded(java, class_path, tmp_path / "spool") as program:
        asked(program, "many")  # what the JVM itself opens at first is not the groups'
        opened, reason, after_close, again, left = asked(program, "many")
        assert 0 < int(opened) <= 512
        assert reason == "event page-faults: too many descriptors"
        assert (after_close, again, left) == (UNKNOWN, "true", "1")
        assert asked(program, "page-fault") == [
            "false", "event page-fault: there is no generic event and no raw code of that name", UNKNOWN
        ]  # fmt: skip
        assert asked(program, ",".join(["page-faults"] * 17))[:2] == ["false", "more than 16 events in a group"]
        assert asked(program, "page-faults:k,rffffffffffffffff0")[0] == "false"
        if java == JAVAS["jdk25"]:
            assert asked(program, "virtual") == ["false", "a virtual thread shares its carrier with others", UNKNOWN]
        program.end()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_read_into_an_array_of_the_callers_allocates_nothing(
    java: Path, class_path: str, tmp_path: Path, is_recorded: bool
) -> None:
    """By the JVM's own account of what the thread allocated, which sees the new array of each other read."""
    program = (
        recorded(java, class_path, tmp_path / "spool") if is_recorded else AskedProgram(java, class_path, "CountersApi")
    )
    with program:
        counting, *numbers = asked(program, "allocated")
        into_mine, into_new = map(int, numbers)
        assert counting == ("true" if is_recorded else "false")
        assert into_mine == 0
        assert into_new >= 10_000 * 2 * 8
        program.end()


def test_without_the_agent_nothing_is_counted_and_nothing_is_printed(java: Path, class_path: str) -> None:
    with AskedProgram(java, class_path, "CountersApi") as program:
        assert asked(program, "page-faults") == ["false", "headway's agent is not in this JVM", UNKNOWN]
        program.end()


def test_headway_that_attaches_before_the_first_use_counts(class_path: str, tmp_path: Path) -> None:
    """On JDK 17: the other one has no jcmd, and warns of the agents that jcmd loads."""
    (tmp_path / "spool").mkdir()
    with AskedProgram(JAVAS["jdk17"], class_path, "CountersApi") as program:
        program.attach(f"spool={tmp_path / 'spool'}")
        counting, reason, count = asked(program, "page-faults")
        assert (counting, reason) == ("true", "")
        assert int(count) >= 0
        program.end()
