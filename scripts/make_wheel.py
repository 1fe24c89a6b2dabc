"""Build dist/headway-*.whl and check that nothing but glibc is needed to run it; its file name says how new a glibc.

The check reads the ELF headers of what is inside: every shared library it names must come with glibc, and the newest symbol
version it uses becomes the platform tag (manylinux_2_NN). Raises SystemExit with the reason if the wheel needs more.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
GLIBC = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
NEEDED_FILES = (
    "headway/libheadway_agent.so",
    "headway/report/html/app.html",
    "headway/async_profiler/linux-x64/libheadway_async_profiler.so",
    "headway/async_profiler/linux-arm64/libheadway_async_profiler.so",
    "headway/async_profiler/LICENSE",
)


def newest_glibc(library: Path) -> tuple[int, int]:
    """Return the newest GLIBC_ version that `library` uses. Raises SystemExit if it needs a library that is not glibc's."""
    text = subprocess.run(["objdump", "-p", str(library)], capture_output=True, text=True, check=True).stdout
    foreign = set(re.findall(r"NEEDED\s+(\S+)", text)) - GLIBC
    if foreign:
        raise SystemExit(f"wheel: {library.name} needs {', '.join(sorted(foreign))}, which is not glibc's")
    versions = [(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", text)]
    return max(versions, default=(2, 17))


def check(wheel: Path) -> tuple[int, int]:
    """Check what is in the wheel; return the glibc that it needs."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        missing = [name for name in NEEDED_FILES if name not in names]
        if missing or not any(name.startswith("headway/_native") for name in names):
            raise SystemExit(f"wheel: lacks {', '.join(missing) or 'headway/_native'}: run 'make build'")
        archive.extractall(folder)
        return max(newest_glibc(library) for library in Path(folder).rglob("*.so*"))


def main() -> int:
    """Build, check, name; print the wheel's path."""
    shutil.rmtree(DIST, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(DIST),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    (wheel,) = DIST.glob("*.whl")
    major, minor = check(wheel)
    tag = f"manylinux_{major}_{minor}_{platform.machine()}"
    subprocess.run(
        [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, str(wheel)],
        check=True,
        capture_output=True,
    )
    (wheel,) = DIST.glob("*.whl")
    print(f"{wheel.relative_to(ROOT)}  ({wheel.stat().st_size / 1e6:.1f} MB, needs glibc {major}.{minor})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
