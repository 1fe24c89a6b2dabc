"""Where code holds locks, found in class files: against what the source says of its lines, by the compiler's line tables."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import _native_for_tests
from support.drivers.workloads import JAVAS

SOURCE = Path(__file__).resolve().parents[2] / "programs" / "Sections.java"
WHOLE_METHOD = 1 << 16
"""Longer than any."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method by javap: the bytecode indices of its instructions, and where the code of which line begins."""

    name: str
    descriptor: str
    instructions: tuple[int, ...]
    starts: tuple[tuple[int, int], ...]

    def line_of(self, at: int) -> int:
        return max((start, line) for line, start in self.starts if start <= at)[1]


def methods_of(class_file: Path) -> list[Method]:
    javap = JAVAS["jdk17"].with_name("javap")
    text = subprocess.run(
        [javap, "-p", "-c", "-l", "-s", class_file], capture_output=True, text=True, check=True
    ).stdout
    found = []
    for part in re.split(r"\n(?=  \S.*\);?.*\n    descriptor)", text)[1:]:
        name = re.search(r"([\w$.]+)\(", part)
        descriptor = re.search(r"descriptor: (\S+)", part)
        assert name is not None
        assert descriptor is not None
        found.append(
            Method(
                name[1],
                descriptor[1],
                tuple(int(at) for at in re.findall(r"^ +(\d+): [a-z]\w*", part, re.MULTILINE)),
                tuple((int(line), int(at)) for line, at in re.findall(r"line (\d+): (\d+)", part)),
            )
        )
    return found


def said_of_lines() -> dict[int, set[str]]:
    """Return the classes of the locks that each marked line of the source is to be run with."""
    said = {}
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        marked = re.search(r"; // (free|held: (.*))$|{ // (free|held: (.*))$", line)
        if marked:
            said[number] = set((marked[2] or marked[4] or "").split())
    return said


@pytest.fixture(scope="module", params=["11", "17"])
def class_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the class as it is compiled for two versions: newer ones make other code of switches and lambdas."""
    out = tmp_path_factory.mktemp("classes")
    javac = JAVAS["jdk17"].with_name("javac")
    subprocess.run([javac, "-g", "--release", request.param, "-d", out, SOURCE], check=True)
    return out / "Sections.class"


def test_every_instruction_of_a_marked_line_is_in_the_sections_that_the_source_says(class_file: Path) -> None:
    sections = _native_for_tests.causal_lock_sections(class_file.read_bytes())
    said = said_of_lines()
    seen = set()
    for method in methods_of(class_file):
        own = [each for each in sections if each[:2] == (method.name.encode(), method.descriptor.encode())]
        for at in method.instructions:
            line = method.line_of(at)
            if line not in said:
                continue
            seen.add(line)
            held = {lock.decode() for _, _, lock, _, stretches in own if any(a <= at < b for a, b in stretches)}
            assert held == said[line], f"line {line}, {method.name} at {at}"
    assert seen == set(said)
    assert len(seen) > 40


def test_a_section_is_called_by_the_line_on_which_its_lock_is_taken(class_file: Path) -> None:
    taken = {
        line
        for _, _, _, line, held in _native_for_tests.causal_lock_sections(class_file.read_bytes())
        if held[0][1] < WHOLE_METHOD
    }
    text = SOURCE.read_text().splitlines()
    takes = re.compile(r"synchronized \(|\block\(\)|lockInterruptibly\(|tryLock\(|stamped\.writeLock\(")
    assert taken == {number for number, line in enumerate(text, 1) if takes.search(line) and "unlock" not in line}


def test_a_damaged_class_file_has_no_sections_or_some_but_does_no_harm(class_file: Path) -> None:
    whole = class_file.read_bytes()
    for at in range(0, len(whole), 3):
        _native_for_tests.causal_lock_sections(whole[:at])
        _native_for_tests.causal_lock_sections(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
