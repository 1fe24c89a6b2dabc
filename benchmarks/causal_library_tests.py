"""A real library's whole test suite under causal profiling: no test may fail that passes without.

Commons Lang's own tests (from Maven Central, with JUnit's console launcher), run plain and then under experiments that hold
threads up again and again, on each JDK. Compared is every test by its name and outcome, not only how many there are.

    python benchmarks/causal_library_tests.py              # all of them, several minutes
    python benchmarks/causal_library_tests.py --classes org.apache.commons.lang3.StringUtilsTest
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headway.record.request.jvm_options import agent_library, agent_options
from lib.library_tests import COMMONS_LANG, JAVAS, compared, fetch, run

SPEC = f"scope:{quote(COMMONS_LANG.scope, safe='')};experiment_ms:100"


def agent_counts(spool: Path) -> dict[str, int]:
    """Return samples, faults and delays by the agent's notes."""
    notes = [json.loads(line) for path in spool.glob("causal-*.jsonl") for line in path.read_bytes().splitlines()]
    health = [note for note in notes if note["t"] == "health"][-1]
    delay_ns = sum(note["delay_ns"] for note in notes if note["t"] == "experiment")
    return {"samples": health["samples"], "faults": health["faults"], "delay_ns": delay_ns}


def compare(java: Path, jars: list[Path], classes: list[str]) -> dict[str, Any]:
    """Run plain and profiled; tests that fail plain, too, are the library's own affair."""
    plain = run(java, jars, classes)
    with tempfile.TemporaryDirectory() as folder:
        spool = Path(folder)
        profiled = run(java, jars, classes, f"-agentpath:{agent_library()}={agent_options(spool, causal=SPEC)}")
        counts = agent_counts(spool)
    return {**compared(plain, profiled), **counts}


def main() -> int:
    """Print and keep the result; 1 when a test's outcome or the exit code changed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", nargs="*", default=[], help="only these")
    parser.add_argument("--jdk", choices=[*JAVAS], action="append", help="only on this one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the result there")
    options = parser.parse_args()
    jars = fetch(COMMONS_LANG)
    figures = {name: compare(JAVAS[name], jars, options.classes) for name in options.jdk or JAVAS}
    print(json.dumps(figures, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps({"benchmark": "causal_library_tests", **figures}) + "\n", encoding="utf-8")
    return int(any(each["changed"] or len(set(each["exit_codes"])) > 1 for each in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
