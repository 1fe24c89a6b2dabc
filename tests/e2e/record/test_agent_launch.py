"""Planned launches, run: every way in which people start Java gets the agent in, and the output stays the program's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from headway.record.request.jvm_options import plan_launch
from support.drivers.workloads import JAVAS, agent, java_command, read_spools, workloads_jar
from support.oracles.agent_reader import AgentSpool


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@pytest.fixture
def spool_dir(tmp_path: Path) -> Path:
    """A directory whose name is as awkward as names get."""
    directory = tmp_path / "a spool, 'with' \"quotes\"=and%sign"
    directory.mkdir()
    return directory


def launch(
    argv: list[str], spool_dir: Path, env: dict[str, str] | None = None, library: Path | None = None, **options: int
) -> tuple[subprocess.CompletedProcess[bytes], dict[int, AgentSpool]]:
    """Run a command as planned; assert that its output is what it is without headway, but for the JVM's own line."""
    base = {name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "JDK", "_JAVA"))}
    base.update(env or {})
    plain = subprocess.run(argv, env=base, capture_output=True)
    plan = plan_launch(argv, base, library or agent(), spool_dir, jvm_processors=options.get("processors"))
    done = subprocess.run(plan.argv, env=plan.env, capture_output=True)
    if plan.copy is not None:
        plan.copy.release()
        assert not plan.copy.directory.exists()
    said = [line for line in done.stderr.splitlines(True) if not line.startswith(b"Picked up JAVA_TOOL_OPTIONS")]
    assert (done.returncode, b"".join(said)) == (plain.returncode, plain.stderr)
    if plan.how == "arguments":
        assert done.stderr == plain.stderr
    return done, read_spools(spool_dir)


def test_a_class_on_the_class_path(java: Path, spool_dir: Path) -> None:
    done, spools = launch(java_command(java, "Exit", "code", 7), spool_dir)
    assert done.returncode == 7
    assert [spool.info["command"] for spool in spools.values()] == ["headway.workloads.Exit code 7"]


def test_asking_for_the_version_prints_the_same(java: Path, spool_dir: Path) -> None:
    _, spools = launch([str(java), "-version"], spool_dir)
    assert len(spools) == 1


def test_an_argument_file_and_jdk_java_options(java: Path, spool_dir: Path, tmp_path: Path) -> None:
    arguments = tmp_path / "arguments"
    arguments.write_text(f'-cp "{workloads_jar()}" headway.workloads.Exit code 3')
    done, spools = launch([str(java), f"@{arguments}"], spool_dir, {"JDK_JAVA_OPTIONS": "-Dsome=thing"})
    assert done.returncode == 3
    (spool,) = spools.values()
    assert "-Dsome=thing" in spool.info["flags"]


def test_a_class_data_archive_is_made_as_ever(tmp_path: Path, spool_dir: Path) -> None:
    option = f"-XX:ArchiveClassesAtExit={tmp_path / 'a.jsa'}"
    done, spools = launch(java_command(JAVAS["jdk17"], "Exit", "code", 0, jvm=(option, "-Xlog:cds=off")), spool_dir)
    assert (tmp_path / "a.jsa").exists()
    assert (done.returncode, spools) == (0, {})


def test_a_source_file(spool_dir: Path, tmp_path: Path) -> None:
    source = tmp_path / "Hello.java"
    source.write_text('class Hello { public static void main(String[] a) { System.out.println("hello"); } }')
    done, spools = launch([str(JAVAS["jdk17"]), str(source)], spool_dir)
    assert done.stdout == b"hello\n"
    assert len(spools) == 1


@pytest.mark.parametrize("command", [["javac", "-version"], ["sh", "-c", 'exec "$0" "$@"']])
def test_tools_and_wrappers_get_it_by_the_environment(command: list[str], java: Path, spool_dir: Path) -> None:
    argv = command if command[0] == "javac" else [*command, *java_command(java, "Exit", "code", 5)]
    done, spools = launch(argv, spool_dir)
    assert done.stderr.count(b"Picked up JAVA_TOOL_OPTIONS") == len(spools) == 1


def test_an_agent_in_an_awkward_directory(java: Path, spool_dir: Path) -> None:
    library = spool_dir / agent().name
    shutil.copy2(agent(), library)
    _, direct = launch(java_command(java, "Exit", "code", 5), spool_dir, library=library)
    _, both = launch(["sh", "-c", 'exec "$0" "$@"', *java_command(java, "Exit", "code", 5)], spool_dir, library=library)
    assert (len(direct), len(both)) == (1, 2)


def test_the_processor_count_reaches_children_too(java: Path, spool_dir: Path) -> None:
    plan = plan_launch(java_command(java, "ChildJvm", 5, "1"), os.environ, agent(), spool_dir, jvm_processors=3)
    subprocess.run(plan.argv, env=plan.env, capture_output=True, check=True)
    spools = read_spools(spool_dir)
    assert [spool.info["available_processors"] for spool in spools.values()] == ["3", "3"]


def test_a_command_that_is_no_java_at_all_is_left_as_it_is(spool_dir: Path) -> None:
    done, spools = launch(["echo", "hello"], spool_dir)
    assert (done.stdout, spools) == (b"hello\n", {})


@pytest.mark.other_users
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_command_that_becomes_another_user_starts_its_jvm_although_the_agent_is_roots_own(
    java: Path, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    library = Path(shutil.copy(agent(), private))
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    done, spools = launch([*become, str(java), "-version"], tmp_path, {"HOME": "/"}, library)
    assert done.returncode == 0
    assert spools == {}  # root's directory is not open to that user
