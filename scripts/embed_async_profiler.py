"""Take async-profiler's libraries out of its jar and put them into src/headway/async_profiler/, for each kind of processor.

Which version, and the checksum of its jar, is told by java/pom.xml; Maven has fetched it (java/workloads/pom.xml). Raises
SystemExit if the jar is another one.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JAR = ROOT / "java" / "workloads" / "target" / "async-profiler.jar"
TARGET = ROOT / "src" / "headway" / "async_profiler"
PLATFORMS = ("linux-x64", "linux-arm64")
LIBRARY = "libheadway_async_profiler.so"


def pinned(name: str) -> str:
    """Return a property of java/pom.xml."""
    found = re.search(rf"<{re.escape(name)}>([^<]+)<", (ROOT / "java" / "pom.xml").read_text())
    if found is None:
        raise SystemExit(f"embed: java/pom.xml has no property {name}")
    return found[1]


def main() -> int:
    """Check the jar and unpack what is needed of it."""
    version, expected = pinned("async-profiler.version"), pinned("async-profiler.sha256")
    found = hashlib.sha256(JAR.read_bytes()).hexdigest()
    if found != expected:
        raise SystemExit(
            f"embed: {JAR.relative_to(ROOT)} is not async-profiler {version}: its SHA-256 is {found}, not {expected}"
        )
    with zipfile.ZipFile(JAR) as jar:
        for platform in PLATFORMS:
            library = TARGET / platform / LIBRARY
            library.parent.mkdir(parents=True, exist_ok=True)
            # Beside it first: a JVM may have the old one loaded, which must not change under it.
            replacement = library.with_suffix(".new")
            replacement.write_bytes(jar.read(f"{platform}/libasyncProfiler.so"))
            replacement.chmod(0o755)
            os.replace(replacement, library)
    print(f"build: async-profiler {version} for {', '.join(PLATFORMS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
