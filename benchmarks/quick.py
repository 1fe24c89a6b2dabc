"""Run every benchmark with few repetitions, one after another, and keep what they say in build/bench."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "build" / "bench"


def benchmarks() -> list[Path]:
    """Return the benchmark programs: the files here that have --quick and --json."""
    others = (path for path in HERE.glob("*.py") if path.name != "quick.py")
    return sorted(path for path in others if re.search(r"harness\.arguments\(|\"--quick\"", path.read_text()))


def main() -> int:
    """Run all; return 0 if every target is reached."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    failed = []
    for program in benchmarks():
        begin = time.monotonic()
        print(f"\n=== {program.stem}", flush=True)
        command = [sys.executable, str(program), "--quick", "--json", str(RESULTS / f"{program.stem}.json")]
        if subprocess.run(command, check=False).returncode != 0:
            failed.append(program.stem)
        print(f"({time.monotonic() - begin:.0f} s)", flush=True)
    print("\n" + (f"missed: {', '.join(failed)}" if failed else "every target reached"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
