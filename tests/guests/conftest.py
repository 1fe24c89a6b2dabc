"""The guest of two memory nodes with one CPU each, which the tests that need it share."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.drivers import numa_guest
from support.drivers.workloads import compile_java

PROGRAMS = Path(__file__).parents[1] / "programs"


@pytest.fixture(scope="session")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[numa_guest.NumaGuest]:
    """Boot it, with the programs that its stages run; skip where it can't be."""
    if lacks := numa_guest.missing():
        pytest.skip(lacks)
    folder = tmp_path_factory.mktemp("numa")
    compile_java(folder, PROGRAMS / "NodeWork.java")
    compile_java(folder, PROGRAMS / "NodeAccesses.java")
    command = ["gcc", "-O1", "-pthread", "-o", str(folder / "touches"), str(PROGRAMS / "touches_on_cpus.c")]
    subprocess.run(command, check=True, timeout=120)
    python = numa_guest.REPOSITORY / ".venv" / "bin" / "python"
    with numa_guest.numa_guest(folder, [python, "-B", Path(__file__).parent / "stages_in_guest.py", folder]) as guest:
        yield guest
