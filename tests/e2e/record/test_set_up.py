"""What `make` promises: a wheel that runs without a compiler, and a demo on a program written by others."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WORKLOADS = ROOT / "java" / "workloads" / "target" / "workloads.jar"


@pytest.fixture(scope="module")
def wheel() -> Path:
    done = subprocess.run(["make", "wheel"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (ROOT / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def clean_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of a new environment that has the wheel, and of the project's only its dependencies."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
    ]  # to have one of its own would take longer than all else
    subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", wheel], check=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    return folder / "bin"


def test_the_wheel_records_and_reports_without_any_compiler(clean_python: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    java = shutil.which("java")
    assert java
    (tools / "java").symlink_to(java)
    env = {"PATH": str(tools), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    where = subprocess.run(
        [clean_python / "python", "-c", "import headway; print(headway.__file__)"],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(clean_python.parent) in where.stdout, "the wheel's own code is what runs"
    helped = subprocess.run([clean_python / "headway", "--help"], env=env, capture_output=True, text=True, check=True)
    assert "headway run -- java -jar app.jar" in helped.stdout
    command = ["java", "-cp", str(WORKLOADS), "headway.workloads.ForkJoin"]
    done = subprocess.run(
        [clean_python / "headway", "run", "-o", "a.headway", "--", *command],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.html").stat().st_size > 50_000
    asked: list[str | Path] = [clean_python / "headway", "threads", "a.headway", "--json"]
    threads = subprocess.run(asked, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert '"main"' in threads.stdout


def needs(library: Path) -> tuple[set[str], set[str]]:
    """Return which libraries it names, and the versions of the symbols it takes from them (readelf's list of symbols)."""
    said = subprocess.run(
        ["readelf", "-W", "-d", "--dyn-syms", library], capture_output=True, text=True, check=True
    ).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", said)), set(re.findall(r" UND \S+@(\S+)", said))


def assert_old_enough(library: Path) -> None:
    """Check that it runs on manylinux_2_28: of glibc nothing newer, of libstdc++ and libgcc nothing at all (they are inside)."""
    libraries, versions = needs(library)
    assert {re.sub(r"[-_.].*", "", name) for name in libraries} <= {
        "libc",
        "libm",
        "libpthread",
        "libdl",
        "librt",
        "ld",
    }
    assert versions, "readelf shows versions"
    for version in versions:
        numbers = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        assert numbers, f"{library.name} needs {version}"
        assert (int(numbers[1]), int(numbers[2])) <= (2, 28), f"{library.name} needs {version}"


def test_nothing_in_the_wheel_needs_more_than_its_name_says(wheel: Path, tmp_path: Path) -> None:
    tag = "cp312-abi3" if sys.version_info >= (3, 12) else "cp311-cp311"
    assert wheel.name.endswith(f"-{tag}-manylinux_2_28_{platform.machine()}.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    libraries = sorted(tmp_path.rglob("*.so"))
    assert {"libheadway_agent.so", "libheadway_async_profiler.so"} < {library.name for library in libraries}
    assert len(libraries) == 4
    for library in libraries:
        assert_old_enough(library)


def test_what_was_built_for_other_pythons_and_processors_needs_no_more() -> None:
    """`make wheels` takes too long for a test; what it left is looked at."""
    patterns = ("*/native/python/abi3/_native.abi3.so", "native-*/native/python/_native*.so")
    found = [library for pattern in patterns for library in (ROOT / "build").glob(pattern)]
    if not found:
        pytest.skip("make wheels was not run here: there is nothing to look at")
    for library in found:
        assert_old_enough(library)


def test_a_wheel_with_code_for_another_processor_is_refused(wheel: Path, tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    from make_wheel import Kind, check

    here = platform.machine()
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[here]
    check(wheel, Kind(sys.version_info >= (3, 12), here))
    changed = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(changed, "w") as copy:
        for name in archive.namelist():
            data = bytearray(archive.read(name))
            if name == "headway/libheadway_agent.so":
                data[18:20] = {"x86_64": 62, "aarch64": 183}[other].to_bytes(2, "little")
            copy.writestr(name, bytes(data))
    with pytest.raises(SystemExit, match=f"libheadway_agent.so is for {other}, not {here}"):
        check(changed, Kind(sys.version_info >= (3, 12), here))


def test_a_library_that_needs_more_is_refused_with_what_it_needs() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    from make_wheel import too_new

    _, versions = needs(Path(sys.executable).resolve())
    newer = {version for version in versions if re.fullmatch(r"GLIBC_2\.(29|[3-9]\d)", version)}
    assert newer, "the Python that runs here was built here"
    assert set(too_new(Path(sys.executable).resolve())) >= newer


@pytest.mark.skipif(not Path("/usr/share/java/sunflow.jar").is_file(), reason="sunflow is Debian's package")
def test_the_demo_records_a_real_program_and_says_where_its_report_is() -> None:
    done = subprocess.run(["make", "demo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout + done.stderr
    report = re.search(r"report +(\S+\.html)", said)
    assert report, said
    page = (ROOT / "build" / "demo" / report[1]).resolve()
    assert page.stat().st_size > 50_000


def test_a_set_up_that_has_nothing_to_do_changes_nothing() -> None:
    first = subprocess.run(["make", "setup"], cwd=ROOT, capture_output=True, text=True, check=True)
    again = subprocess.run(["make", "setup"], cwd=ROOT, capture_output=True, text=True, check=True)
    done = "setup: done. Next: .venv/bin/headway doctor, then .venv/bin/headway run -- java -jar app.jar\n"
    assert first.stdout.endswith(done), "it says what one has, and what to run"
    assert again.stdout == done, f"the first said {first.stdout!r}, the second {again.stdout!r}"


def test_without_root_set_up_prints_the_one_command_that_installs_what_is_missing(tmp_path: Path) -> None:
    """As an ordinary user, on a system where one package is missing."""
    scripts = tmp_path / "scripts"
    shutil.copytree(ROOT / "scripts", scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "apt-packages.txt").write_text("hello  command:no-such-tool\ngit  command:git\n")
    tmp_path.chmod(0o755)
    program = ["bash", str(scripts / "install-system-packages.sh")]
    if os.geteuid() == 0:
        for parent in tmp_path.parents[:3]:
            parent.chmod(parent.stat().st_mode | 0o055)
        program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *program]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sudo apt-get update && sudo apt-get install -y --no-install-recommends hello\n" in done.stderr
    assert "git" not in done.stderr.split("recommends", 1)[1]
