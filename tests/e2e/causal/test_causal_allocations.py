"""Compiled code has the JVM allocate, through stubs that HotSpot does not walk from: that time is the allocating line's.

The truth is the program's own: CPU time by the thread's clock, of each kind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.drivers.sampled_lines import SampledLines, run_sampled
from support.drivers.workloads import JAVAS, JDK_21, compile_java

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "Allocations.java"
JVMS = {**JAVAS, **({"jdk21": JDK_21} if JDK_21.exists() else {})}
WARM_UP = 0.05
"""What is sampled in the interpreter, before the first compilation."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, PROGRAM)
    return out


@pytest.fixture(scope="module", params=JVMS)
def run(request: pytest.FixtureRequest, classes: Path, tmp_path_factory: pytest.TempPathFactory) -> SampledLines:
    return run_sampled(JVMS[request.param], classes, PROGRAM.stem, tmp_path_factory.mktemp("spool"))


def test_the_time_of_allocations_is_that_of_the_lines_that_allocate(run: SampledLines) -> None:
    noise = run.noise(0.2)
    assert noise < 0.15
    assert all(abs(seen - share) < noise for seen, share in run.shares().values()), run.shares()


def test_hardly_a_stack_of_allocating_code_stays_unread(run: SampledLines) -> None:
    health = run.last("health")
    assert run.unread_share < WARM_UP, health["unread"]
    assert health["faults"] == 0
