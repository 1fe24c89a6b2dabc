"""Code that Kotlin has inlined: it belongs to the line where it was written, by the class's source map.

The class is javac's, given a map as kotlinc writes them. benchmarks/causal_languages.py has kotlinc's own, and Scala.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.asked_program import PROGRAMS, AskedProgram, line_of
from support.drivers.workloads import JAVAS, agent

BIN = JAVAS["jdk17"].parent
ROUNDS = 400
WRITTEN = 8  # in Tools.kt
OWN_LINES = 60  # the file is said to be no longer
FROM_TOOLS, FROM_LIBRARY, FROM_OWN = 61, 62, 63  # the numbers that stand for it
Note = dict[str, Any]


def line(mark: str) -> int:
    return line_of("Inlined", mark)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program, as if three of its lines were inlined."""
    out = tmp_path_factory.mktemp("classes")
    subprocess.run([BIN / "javac", "-g", "-d", out, PROGRAMS / "Inlined.java"], check=True)
    smap = out / "map.txt"
    smap.write_text(
        "SMAP\nInlined.java\nKotlin\n*S Kotlin\n*F\n+ 1 Inlined.java\nInlined\n+ 2 Tools.kt\nTools\n+ 3 _Arrays.kt\n"
        f"kotlin/collections/ArraysKt\n*L\n1#1,{OWN_LINES}:1\n{WRITTEN}#2:{FROM_TOOLS}\n1863#3:{FROM_LIBRARY}\n"
        f"{line('own')}#1:{FROM_OWN}\n*S KotlinDebug\n*F\n+ 1 Inlined.java\nInlined\n*L\n{line('calls')}#1:{FROM_TOOLS}\n"
        f"{line('calls the library')}#1:{FROM_LIBRARY}\n{line('calls its own')}#1:{FROM_OWN}\n*E\n"
    )
    numbers = {"from Tools": FROM_TOOLS, "from the library": FROM_LIBRARY, "from its own": FROM_OWN}
    export = "--add-exports=java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED"
    command = [str(BIN / "java"), export, str(PROGRAMS / "AddSourceMap.java"), str(out / "Inlined.class"), str(smap)]
    pairs = [f"{line(mark)}={number}" for mark, number in numbers.items()]
    subprocess.run([*command, *pairs], check=True)
    return out


@pytest.mark.parametrize("jdk", JAVAS)
def test_inlined_code_counts_and_runs_where_it_was_written(jdk: str, classes: Path, tmp_path: Path) -> None:
    expected = {
        f"Tools:{WRITTEN}": ROUNDS,  # no class of that name is ever loaded
        f"Tools.kt:{WRITTEN}": ROUNDS,
        f"Inlined:{line('own')}": 2 * ROUNDS,  # called and inlined
        f"Inlined:{line('calls')}": ROUNDS,
        f"Inlined.java:{line('calls its own')}": ROUNDS,
    }
    spec = ";".join([*(f"progress:{quote(f'{place}={place}', safe='')}" for place in expected), "speedup:0"])
    option = f"-agentpath:{agent()}={agent_options(tmp_path, causal=spec)}"
    with AskedProgram(JAVAS[jdk], classes, option, "Inlined") as program:
        assert program.ready == "ready"
        assert program.ask(f"work {ROUNDS}") == "work"
        program.end()
    (path,) = tmp_path.glob("causal-*.jsonl")
    notes: list[Note] = [json.loads(text) for text in path.read_text().splitlines()]

    names = {note["id"]: note["name"] for note in notes if note["t"] == "point"}
    hits: list[list[int]] = [note["points"] for note in notes if note["t"] == "hits"][-1]
    assert {names[point]: count for point, count in hits} == expected

    found = {(note["class"], note["file"], note["line"]): note["id"] for note in notes if note["t"] == "line"}
    samples: list[list[int]] = [note["lines"] for note in notes if note["t"] == "profile"][-1]
    cpu_ns = {identity: ran_ns for identity, ran_ns, *_ in samples}
    written = found["Tools", "Tools.kt", WRITTEN]
    called = found["Inlined", "Inlined.java", line("calls the library")]  # what is out of scope counts for its caller
    both_ns = cpu_ns[written] + cpu_ns[called]
    assert min(cpu_ns[written], cpu_ns[called]) > both_ns / 4  # they do the same
    assert all(number <= OWN_LINES for _class, _file, number in found)
