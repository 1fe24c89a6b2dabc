"""What `make` promises: a wheel that runs without a compiler, and a demo on a program written by others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "-q", "--no-index", "--no-deps", wheel], check=True)
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


def test_the_wheel_is_named_after_the_glibc_it_needs(wheel: Path) -> None:
    named = re.search(r"manylinux_2_(\d+)_", wheel.name)
    assert named
    assert int(named[1]) <= int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])  # type: ignore[union-attr]


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
    assert again.stdout == "", f"the first said {first.stdout!r}, the second {again.stdout!r}"


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
