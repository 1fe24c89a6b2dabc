"""Keeps what a build prints in a file, and prints how far it is every 15 seconds: "build: native: 40 of 155 done".

    cmake --build build/native 2>&1 | python scripts/show_progress.py build/native.log "build: native"

How far it is comes from the lines of Ninja ("[40/155] Building ..."); others are only kept. The caller shows the file when the
build fails.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

EVERY_S = 15.0
STEP = re.compile(r"\[(\d+)/(\d+)\] ")


def main() -> int:
    """Copy standard input to the file; print how far the build is."""
    log, what = Path(sys.argv[1]), sys.argv[2]
    shown_s = time.monotonic()
    with log.open("w", encoding="utf-8") as kept:
        for line in sys.stdin:
            kept.write(line)
            kept.flush()
            step = STEP.match(line)
            if step is not None and time.monotonic() - shown_s >= EVERY_S:
                shown_s = time.monotonic()
                print(f"{what}: {step[1]} of {step[2]} done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
