"""What threads allocate in each iteration of a program that has threads of its own in each, as CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java

ROUNDS, ARRAYS, LENGTH = 4, 1000, 7
OF_THE_JVM = 50
"""Arrays that the JDK may allocate on a thread of the program."""


@pytest.mark.parametrize("jdk", JAVAS)
def test_each_thread_of_one_iteration_has_its_number_and_what_it_allocated(jdk: str, tmp_path: Path) -> None:
    compile_java(tmp_path, PROGRAMS / "RoundThreads.java")
    path, out = tmp_path / "a.headway", tmp_path / "a.csv"
    program = [JAVAS[jdk], "-XX:+UseSerialGC", "-cp", tmp_path, "RoundThreads", ROUNDS]
    done = headway("record", "--objects", "allocations", "--iterations", "gc", "-o", path, "--", *program)
    assert done.returncode == 0, done.stderr
    assert headway("export", path, "--format", "csv", "-o", out).returncode == 0
    with open(out, newline="", encoding="utf-8") as file:
        rows = {row["thread_name"]: row for row in csv.DictReader(file)}
    assert rows["main"]["iteration"] == ""
    for number in range(1, ROUNDS + 1):
        row = rows[f"round-{number}"]
        assert row["iteration"] == str(number)
        assert 0 <= int(row["array_allocations"]) - number * ARRAYS <= OF_THE_JVM
        assert int(row["array_total_length"]) >= number * ARRAYS * LENGTH
        assert int(row["array_total_size"]) >= number * ARRAYS * (16 + 4 * LENGTH)
