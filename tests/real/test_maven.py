"""A Maven build by two threads of two modules one of which needs the other: why is it not twice as fast?"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.drivers.real_servers import asked, recorded, warnings_of

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF"),
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven"),
]
CLASSES = 150
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId><artifactId>{name}</artifactId><version>1</version>
  <properties><maven.compiler.release>17</maven.compiler.release></properties>
  {body}
</project>
"""
COMPILER = (
    "<build><plugins><plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-compiler-plugin</artifactId>"
    "<version>3.13.0</version></plugin></plugins></build>"
)


@dataclass
class Measured:
    """The recording; how long the two modules took, by Maven's own clock, and what it printed."""

    recording: Path
    took_ns: dict[str, float]
    output: str
    classes: int


def write_module(folder: Path, body: str) -> None:
    """Write a module of some classes."""
    sources = folder / "src" / "main" / "java" / folder.name
    sources.mkdir(parents=True)
    (folder / "pom.xml").write_text(POM.format(name=folder.name, body=body + COMPILER))
    for i in range(CLASSES):
        methods = "\n".join(f"  static int f{j}(int x) {{ return x * {j} + {i}; }}" for j in range(20))
        (sources / f"C{i}.java").write_text(f"package {folder.name};\npublic class C{i} {{\n{methods}\n}}\n")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("maven")
    base = "<groupId>shop</groupId><artifactId>base</artifactId><version>1</version>"
    needs = f"<dependencies><dependency>{base}</dependency></dependencies>"
    write_module(folder / "base", "")
    write_module(folder / "web", needs)
    modules = "<packaging>pom</packaging><modules><module>base</module><module>web</module></modules>"
    (folder / "pom.xml").write_text(POM.format(name="all", body=modules))
    words = ["mvn", "-B", "-o", "-T2", "-Dstyle.color=never", "-f", str(folder / "pom.xml"), "compile"]
    done = recorded(folder / "build.headway", words, "--locks", "--sample", "cpu")
    took = re.findall(r"^\[INFO\] (base|web) \.+ SUCCESS \[ *([\d.]+) s\]", done.stdout, re.MULTILINE)
    classes = len(list(folder.glob("*/target/classes/**/*.class")))
    return Measured(folder / "build.headway", {name: float(s) * 1e9 for name, s in took}, done.stdout, classes)


def builders(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows of the threads that build modules."""
    return [row for row in rows if str(row["name"]).startswith("BuilderThread")]


def test_the_critical_path_goes_through_both_modules_one_after_the_other(measured: Measured) -> None:
    path = asked(measured.recording, "critical-path")
    on_it = sum(int(str(row["ns"])) for row in builders(path["by_thread"]))
    assert on_it > 0.8 * sum(measured.took_ns.values()), (measured.took_ns, path["by_thread"])


def test_nothing_that_the_builders_wait_for_is_to_blame(measured: Measured) -> None:
    said = asked(measured.recording, "why")
    for cause in ("lock_contention", "io", "condition", "sleep", "starved_consumer"):
        assert said["by_cause"].get(cause, 0) < 0.05 * said["core_ns"], said["by_cause"]


def test_maven_builds_what_it_builds_without_headway(measured: Measured) -> None:
    assert set(measured.took_ns) == {"base", "web"}, measured.output
    assert measured.classes == 2 * CLASSES
    assert "BUILD SUCCESS" in measured.output


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
