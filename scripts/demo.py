"""Record a real parallel program, print what headway finds and where the report is. Opens nothing.

The program is sunflow, a ray tracer (Debian's package), painting its own benchmark scene with four threads.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DRIVER = ROOT / "java" / "benchmarks" / "src" / "main" / "java" / "headway" / "bench"
FOLDER = ROOT / "build" / "demo"
JARS = tuple(Path("/usr/share/java", jar) for jar in ("sunflow.jar", "janino.jar", "commons-compiler.jar"))
THREADS = 4
EDGE_PIXELS = 160


def driver() -> Path:
    """Compile the little class that starts sunflow's benchmark; return its class folder."""
    classes = FOLDER / "classes"
    compiled = classes / "headway" / "bench" / "Sunflow.class"
    sources = [DRIVER / "Program.java", DRIVER / "Sunflow.java"]
    if not compiled.is_file() or compiled.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        subprocess.run(["javac", "-d", str(classes), *map(str, sources)], check=True)
    return classes


def main() -> int:
    """Record, print; return the exit code of `headway run`."""
    if not JARS[0].is_file():
        print("demo: sunflow is not installed. Run:  apt-get install sunflow", file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    class_path = ":".join(map(str, [driver(), *JARS]))
    program = [
        "java",
        "-Djava.awt.headless=true",
        "-cp",
        class_path,
        "headway.bench.Sunflow",
        str(THREADS),
        str(EDGE_PIXELS),
    ]
    print(f"demo: recording sunflow, a ray tracer, with {THREADS} threads\n", flush=True)
    return subprocess.run(
        [ROOT / ".venv" / "bin" / "headway", "run", "--locks", "--sample", "cpu", "--", *program],
        cwd=FOLDER,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
