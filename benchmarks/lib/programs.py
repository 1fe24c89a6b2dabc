"""The real programs that benchmarks measure: java/benchmarks, built by `make bench-programs`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "java" / "benchmarks" / "target"
WORKLOADS = Path(__file__).resolve().parents[2] / "java" / "workloads" / "target"
SUNFLOW = tuple(Path("/usr/share/java", jar) for jar in ("sunflow.jar", "janino.jar", "commons-compiler.jar"))
NAMES = ("batik", "fop", "h2", "jython", "luindex", "lusearch", "pmd", "rhino", "sunflow", "xalan")
THREADS = 4
PROCESSORS = 2  # what the JVM believes to have, on however many CPUs it runs


def available() -> tuple[str, ...]:
    """Return the installed programs; sunflow is a system package. Raises FileNotFoundError if none is built."""
    if not (TARGET / "benchmarks.jar").is_file():
        raise FileNotFoundError(f"{TARGET / 'benchmarks.jar'}: run 'make bench-programs'")
    return tuple(name for name in NAMES if name != "sunflow" or SUNFLOW[0].is_file())


def command(name: str, *, percent: int = 100, threads: int = THREADS, processors: int = PROCESSORS) -> list[str]:
    """Return the command that runs a program: its work and its threads are fixed, whatever it runs on."""
    class_path = os.pathsep.join([str(TARGET / "benchmarks.jar"), f"{TARGET}/lib/*", *map(str, SUNFLOW)])
    return [
        "java", f"-XX:ActiveProcessorCount={processors}", "-Xms1g", "-Xmx1g", "-Djava.awt.headless=true",
        "-cp", class_path, "headway.bench.Main", name, str(threads), str(percent),
    ]  # fmt: skip


def driven(name: str, percent: int, options: Sequence[str] = ()) -> list[str]:
    """Return the command of a program for driven.py, with more options for its JVM."""
    java, *rest = command(name, percent=percent)
    return [java, "-XX:-UseDynamicNumberOfCompilerThreads", *options, *rest]


def switchable(command: Sequence[str]) -> list[str]:
    """Return the command of a driven program in which what headway's call sites do can be switched (HookSwitch)."""
    java, *rest = command
    at = next(place for place, word in enumerate(rest) if word.startswith("headway."))
    class_path = rest.index("-cp") + 1
    rest[class_path] = os.pathsep.join([rest[class_path], str(TARGET / "benchmarks.jar")])
    opened = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"
    return [java, opened, *rest[:at], "headway.bench.HookSwitch", *rest[at:]]


def workload(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a program of java/workloads, by the name of its class."""
    return [
        "java",
        "-Xmx1g",
        "-cp",
        str(WORKLOADS / "workloads.jar"),
        f"headway.workloads.{name}",
        *map(str, arguments),
    ]
