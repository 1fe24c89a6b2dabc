"""Build dist/headway-*.whl: one wheel for Python 3.11, one for every later Python, each for manylinux_2_28 and one processor.

    make wheel     the one for the Python that runs here
    make wheels    all that this machine can build: for x86_64 and aarch64; what it lacks for the others is named

What is Python is packed once; beside it go the two shared objects that cmake made for the processor and the Python, stripped.
Each wheel is checked by the ELF headers of all that is in it: nothing but glibc may be needed, and of it nothing newer than
2.28. Raises SystemExit with the reason if a wheel needs more.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
OLDEST_GLIBC = (2, 28)
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
CROSS_PACKAGES = ("libbpf-dev", "libelf-dev", "zlib1g-dev")


@dataclass(frozen=True)
class Kind:
    """What a wheel is for: Pythons (3.11, or 3.12 and later by the stable ABI) and a processor."""

    stable_abi: bool
    processor: str

    @property
    def tag(self) -> str:
        """The end of the wheel's name."""
        pythons = "cp312-abi3" if self.stable_abi else "cp311-cp311"
        return f"{pythons}-manylinux_{OLDEST_GLIBC[0]}_{OLDEST_GLIBC[1]}_{self.processor}"

    @property
    def module(self) -> str:
        """The file name of headway._native, as those Pythons look for it."""
        return "_native.abi3.so" if self.stable_abi else f"_native.cpython-311-{self.processor}-linux-gnu.so"

    @property
    def build(self) -> Path:
        """Where cmake builds for that processor; for this machine's it is where `make native` does."""
        return ROOT / "build" / ("native" if self.processor == platform.machine() else f"native-{self.processor}")


def quiet(*command: object, cwd: Path = ROOT) -> None:
    """Run a command; show what it says only if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"wheel: {' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def too_new(library: Path) -> list[str]:
    """Return what `library` needs beyond glibc 2.28: other libraries, and newer symbol versions."""
    text = subprocess.run(["readelf", "-dVW", str(library)], capture_output=True, text=True, check=True).stdout
    foreign = set(re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", text)) - GLIBC
    versions = {(int(major), int(minor)) for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)}
    newer = [f"GLIBC_{major}.{minor}" for major, minor in sorted(versions) if (major, minor) > OLDEST_GLIBC]
    return sorted(foreign) + newer


PROCESSORS = {62: "x86_64", 183: "aarch64"}
"""By the number of a processor in an ELF header (e_machine)."""
ELSEWHERE = {"linux-x64": "x86_64", "linux-arm64": "aarch64"}
"""Folders of libraries that every wheel has for one processor each."""


def processor_of(library: Path) -> str:
    """Return the processor that a shared object is for, by its ELF header."""
    with library.open("rb") as file:
        head = file.read(20)
    return PROCESSORS.get(int.from_bytes(head[18:20], "little"), "another processor")


def check(wheel: Path, kind: Kind) -> None:
    """Check what is in the wheel.

    Raises SystemExit if it lacks a file, needs what its name does not promise, or has code for another processor.
    """
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        missing = [name for name in (*NEEDED_FILES, f"headway/{kind.module}") if name not in names]
        if missing:
            raise SystemExit(f"wheel: lacks {', '.join(missing)}: run 'make build'")
        archive.extractall(folder)
        for library in Path(folder).rglob("*.so*"):
            processor = ELSEWHERE.get(library.parent.name, kind.processor)
            if processor_of(library) != processor:
                raise SystemExit(
                    f"wheel: {library.name} is for {processor_of(library)}, not {processor}: rm -r {kind.build}"
                )
            if beyond := too_new(library):
                raise SystemExit(f"wheel: {library.name} needs {', '.join(beyond)}, which is not in glibc 2.28")


def newer_python_headers() -> Path | None:
    """Return the folder with Python.h of a CPython from 3.12 on, if this machine has one."""
    said = "import sys,sysconfig; print(sys.version_info >= (3, 12), sysconfig.get_paths()['include'])"
    candidates: Iterator[str | Path | None] = iter(
        [
            sys.executable,
            *(shutil.which(f"python3.{minor}") for minor in range(12, 16)),
            *sorted(Path.home().glob(".pyenv/versions/3.1[2-9].*/bin/python3")),
        ]
    )
    for python in filter(None, candidates):
        done = subprocess.run([str(python), "-c", said], capture_output=True, text=True, check=False)
        new_enough, _, include = done.stdout.strip().partition(" ")
        if done.returncode == 0 and new_enough == "True" and (Path(include) / "Python.h").is_file():
            return Path(include)
    return None


def lacking(kind: Kind) -> str:
    """Return what this machine lacks to build a wheel of that kind; an empty text if nothing."""
    if kind.stable_abi and newer_python_headers() is None:
        return "a Python from 3.12 on, with its headers"
    if not kind.stable_abi and sys.version_info[:2] != (3, 11):
        return "Python 3.11 in .venv (make setup BASE_PYTHON=python3.11)"
    if kind.processor != platform.machine() and shutil.which(f"{kind.processor}-linux-gnu-g++") is None:
        return f"the package g++-{kind.processor}-linux-gnu"
    return ""


def fetch_cross_libraries(processor: str) -> None:
    """Put the other processor's libbpf, libelf and zlib into build/cross: apt fetches them, nothing is installed."""
    target = ROOT / "build" / "cross" / processor
    if (target / "complete").exists():
        return
    apt = ROOT / "build" / "cross" / "apt"
    (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (apt / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    architecture = {"aarch64": "arm64", "x86_64": "amd64"}[processor]
    settings = {
        "Dir::State::lists": apt / "lists",
        "Dir::Cache": apt,
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "root",  # or apt's own user could not write into our folder
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    quiet("apt-get", *options, "update")
    quiet("apt-get", *options, "download", *CROSS_PACKAGES, cwd=apt)
    for package in apt.glob(f"*_{architecture}.deb"):
        quiet("dpkg", "-x", package, target)
    (target / "complete").touch()


def build_native(kind: Kind, jobs: str) -> tuple[Path, Path]:
    """Build the module and the agent for that kind; return both files, unstripped."""
    options: list[object] = []
    if kind.processor != platform.machine():
        fetch_cross_libraries(kind.processor)
        options += [f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'scripts' / f'{kind.processor}.cmake'}"]
        options += [f"-DPython_INCLUDE_DIR={sysconfig.get_paths()['include']}"]
    if kind.stable_abi:
        options += [f"-DHEADWAY_ABI3_INCLUDE={newer_python_headers()}"]
    target = "_native_abi3" if kind.stable_abi else "_native"
    lock = ROOT / "build" / "native.lock"
    configure = ["-S", ROOT, "-B", kind.build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}", *options]
    quiet("flock", lock, "cmake", *configure)
    quiet("flock", lock, "cmake", "--build", kind.build, "-j", jobs, "--target", target, "headway_agent")
    folder = kind.build / "native"
    module = folder / "python" / ("abi3" if kind.stable_abi else ".") / kind.module
    return module, folder / "agent" / "libheadway_agent.so"


def pack_python(folder: Path) -> Path:
    """Pack what is not native, and unpack it again; return the folder that a wheel is made from."""
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    quiet(*pip, "--config-settings", "wheel.cmake=false", "-w", folder, ROOT)
    (plain,) = folder.glob("*.whl")
    quiet(sys.executable, "-m", "wheel", "unpack", "-d", folder / "unpacked", plain)
    (unpacked,) = (folder / "unpacked").iterdir()
    return unpacked


def make(kind: Kind, python_part: Path, jobs: str) -> Path:
    """Make one wheel in dist/ and check it; return its path."""
    libraries = build_native(kind, jobs)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / python_part.name
        shutil.copytree(python_part, folder)
        for library in libraries:
            packed = folder / "headway" / library.name
            quiet("llvm-strip", "--strip-unneeded", library, "-o", packed)
            packed.chmod(0o755)
        (about,) = folder.glob("*.dist-info/WHEEL")
        kept = [line for line in about.read_text().splitlines() if not line.startswith(("Tag:", "Root-Is-Purelib:"))]
        lines = [line for line in kept if line] + ["Root-Is-Purelib: false", f"Tag: {kind.tag}", ""]
        about.write_text("\n".join(lines))
        quiet(sys.executable, "-m", "wheel", "pack", "-d", DIST, folder)
    (wheel,) = DIST.glob(f"headway-*-{kind.tag}.whl")
    check(wheel, kind)
    return wheel


def main() -> int:
    """Build, check, and print each wheel's path; and what could not be built, with the reason."""
    parser = argparse.ArgumentParser(description="build wheels into dist/")
    parser.add_argument("--all", action="store_true", help="every wheel that this machine can build")
    parser.add_argument("--jobs", default="", help="how many files to compile at a time")
    asked = parser.parse_args()
    here = Kind(sys.version_info >= (3, 12), platform.machine())
    kinds = [Kind(stable, processor) for processor in ("x86_64", "aarch64") for stable in (False, True)]
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    jobs = asked.jobs or subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as temporary:
        python_part = pack_python(Path(temporary))
        for kind in kinds if asked.all else [here]:
            if lack := lacking(kind):
                print(f"wheel: not for {kind.tag}: this machine lacks {lack}")
                continue
            wheel = make(kind, python_part, jobs)
            print(f"{wheel.relative_to(ROOT)}  ({wheel.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
