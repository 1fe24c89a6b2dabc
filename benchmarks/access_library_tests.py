"""Real libraries' whole test suites while their accesses are counted: no test may fail that passes without.

Commons Lang and Commons Collections, from Maven Central, run plain and then with all accesses of all classes counted, by owner,
cache line and memory node. Compared is every test by its name and outcome.

    python benchmarks/access_library_tests.py              # all of them, an hour
    python benchmarks/access_library_tests.py --jdk jdk17 --library commons-collections4 --objects accesses,owners
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from headway.record.request.jvm_options import agent_library, agent_options
from headway.record.request.objects import parse
from lib.library_tests import COMMONS_COLLECTIONS, COMMONS_LANG, JAVAS, Library, compared, fetch, run

LIBRARIES = {each.name: each for each in (COMMONS_LANG, COMMONS_COLLECTIONS)}
OBJECTS, OWNERS = "accesses,lines,nodes", "allocator,last-writer"


def compare(java: Path, library: Library, objects: str, classes: list[str]) -> dict[str, Any]:
    """Run a suite plain and counted."""
    jars = fetch(library)
    plain = run(java, jars, classes)
    owner = OWNERS if objects == OBJECTS else None
    with tempfile.TemporaryDirectory() as folder:
        options = agent_options(Path(folder), objects=parse(objects, owner=owner))
        counted = run(java, jars, classes, f"-agentpath:{agent_library()}={options}")
        is_recorded = any(b"accesses_end" in path.read_bytes() for path in Path(folder).glob("agent-*.spool"))
    return {**compared(plain, counted), "is_recorded": is_recorded}


def main() -> int:
    """Print and keep the result; 1 where a test's outcome or the exit code changed, or nothing was recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", nargs="*", default=[], help="only these")
    parser.add_argument("--jdk", choices=[*JAVAS], action="append", help="only on this one")
    parser.add_argument("--library", choices=[*LIBRARIES], action="append", help="only this one")
    parser.add_argument(
        "--objects", default=OBJECTS, help="what is counted (default: by cache line, node and both owners)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the result there")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for jdk in options.jdk or JAVAS:
        for name in options.library or LIBRARIES:
            figures[f"{jdk} {name}"] = compare(JAVAS[jdk], LIBRARIES[name], options.objects, options.classes)
    print(json.dumps(figures, indent=2))
    if options.json is not None:
        kept = {"benchmark": "access_library_tests", "objects": options.objects, "suites": figures}
        options.json.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    return int(
        any(each["changed"] or len(set(each["exit_codes"])) > 1 or not each["is_recorded"] for each in figures.values())
    )


if __name__ == "__main__":
    sys.exit(main())
