"""How fast a JFR file becomes a recording, in how much memory, and against the JDK's own reader on the same file.

Two real files, one of the JDK and one of async-profiler where its library is there, of a minute or two of a busy server (the
program `orders`: requests by a queue, transactions in H2), one chunk each: the JDK begins another at 12 MB, async-profiler at
100. A longer file is the same chunks again and again, as a long recording has them. Each measurement is a process of its own
on one CPU: CPU time of all its threads, the interpreter's start and imports apart, and the peak of its memory. `jfr print
--json` writes to /dev/null. Targets: 50 MB per CPU second; 20 times the speed of `jfr print --json` by CPU time and by wall
time; at most 1 GiB of memory, however long the file.

With `--files` the two files are kept in a folder, and those that it has already are used: jdk.jfr and profiler.jfr.

With `--once` a file of --mb (thousands, say) is imported once instead, and every event must be there as often as its chunks are.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from lib import harness, programs

TARGET_MB_PER_S = 50.0
TARGET_RATIO = 20.0
MOST_MIB = 1024
"""Peak memory: the interpreter and its libraries take 150 of it."""
JAVA = Path("/usr/lib/jvm/java-17-openjdk-amd64/bin")
PROFILER = harness.ROOT / "java/workloads/target/async-profiler.jar"
MB = 1_000_000
WORKERS, PERCENT = 8, 600
"""Of the server: about 9 MB of the JDK's, one chunk, and 11 MB of async-profiler's."""


def one(kind: str, path: Path) -> None:
    """Read (or import) a file in this process and print what it took, as JSON."""
    import duckdb  # noqa: F401 - what the imports take is no part of the figure
    import pyarrow.compute  # noqa: F401
    import pyarrow.parquet as pq

    from headway.record.imports.bring_in import import_file
    from headway.record.jfr.reader import JfrFile

    pq.ParquetFile  # noqa: B018
    target = path.with_suffix(".headway")
    shutil.rmtree(target, ignore_errors=True)
    begin_cpu, begin = time.process_time_ns(), time.monotonic_ns()
    rows = 0
    if kind == "read":
        file = JfrFile(path)
        for batch in file:
            rows += batch.rows
            file.stacks()
    else:
        rows = sum(table.rows for table in import_file(path, target).tables.values())
    took = {"cpu_ns": time.process_time_ns() - begin_cpu, "wall_ns": time.monotonic_ns() - begin, "rows": rows}
    print(json.dumps({**took, "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def measured(kind: str, path: Path) -> dict[str, Any]:
    """Run one step in a process of its own, and return what it printed."""
    command = ["taskset", "-c", "0", sys.executable, __file__, "--one", kind, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    found["mb_per_s"] = path.stat().st_size / MB / (found["cpu_ns"] / 1e9)
    return found


def printed(path: Path) -> dict[str, float]:
    """Return what `jfr print --json` takes, on one CPU like the others."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
    command = ["taskset", "-c", "0", str(JAVA / "jfr"), "print", "--json", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"cpu_ns": cpu_s * 1e9, "wall_ns": float(time.monotonic_ns() - begin)}


def jdk_file(path: Path, percent: int = PERCENT) -> None:
    """Return a file of the JDK with every wait and allocation buffer of a busy server."""
    waits = ("ThreadPark", "JavaMonitorEnter", "JavaMonitorWait", "ThreadSleep")
    more = [f"jdk.{name}#threshold=0ms" for name in waits]
    more += [f"jdk.ObjectAllocation{name}TLAB#enabled=true" for name in ("InNew", "Outside")]
    recording = f"-XX:StartFlightRecording:filename={path},settings=profile,{','.join(more)}"
    run_server(recording, "-Xlog:jfr*=off", percent=percent)


def profiler_file(path: Path) -> None:
    """Return a file of async-profiler with many samples; None without its library."""
    if not PROFILER.exists():
        return
    machine = "linux-arm64" if os.uname().machine == "aarch64" else "linux-x64"
    library = path.with_name("libasyncProfiler.so")
    with zipfile.ZipFile(PROFILER) as jar:
        library.write_bytes(jar.read(f"{machine}/{library.name}"))
    run_server(
        f"-agentpath:{library}=start,event=ctimer,interval=1ms,wall=1ms,alloc=64k,lock=0,clock=monotonic,file={path}"
    )


def run_server(*options: str, percent: int = PERCENT) -> None:
    """Run the program of lock_overhead.py that is a server of orders, on H2."""
    java, *rest = programs.command("orders", percent=percent, threads=WORKERS)
    command = [str(JAVA / java), *options, *rest]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


LATER_NS = 100_000_000_000
"""By so much each repetition is later: a jump of the wall clock after which the reader takes the chunk's own time."""


def repeats_in(path: Path, size_mb: float) -> int:
    """Return how often a file of this size repeats the chunks of another one."""
    return max(1, round(size_mb * MB / path.stat().st_size))


def repeated(path: Path, size_mb: float) -> Path:
    """Return a file that repeats the chunks of another one, each time later, until it has that size."""
    data = bytearray(path.read_bytes())
    starts, at = [], 0
    while at < len(data):
        starts.append(at)
        at += int.from_bytes(data[at + 8 : at + 16], "big")
    longer = path.with_name(f"{path.stem}-{size_mb:g}mb.jfr")
    with open(longer, "wb") as out:
        for _ in range(repeats_in(path, size_mb)):
            out.write(data)
            for start in starts:
                later = int.from_bytes(data[start + 32 : start + 40], "big") + LATER_NS
                data[start + 32 : start + 40] = later.to_bytes(8, "big")
    return longer


def rows_of(directory: Path) -> dict[str, int]:
    """Return how many rows the tables have that hold one row per event of the file."""
    tables = json.loads((directory / "manifest.json").read_text())["tables"]
    return {
        name: each["rows"] for name, each in tables.items() if name.startswith("jfr_") or name in ("sample", "block")
    }


def once(name: str, path: Path, size_mb: float) -> dict[str, Any]:
    """Import one long file; say what it took and whether every row came."""
    measured("import", path)
    long = repeated(path, size_mb)
    found = measured("import", long)
    expected = {
        table: rows * repeats_in(path, size_mb) for table, rows in rows_of(path.with_suffix(".headway")).items()
    }
    got = rows_of(long.with_suffix(".headway"))
    return {
        "file": name,
        "mb": long.stat().st_size / MB,
        "rows": found["rows"],
        "import_mb_per_s": found["mb_per_s"],
        "wall_s": found["wall_ns"] / 1e9,
        "long_peak_mib": found["peak_kib"] / 1024,
        "wrong": {table: (got.get(table), rows) for table, rows in expected.items() if got.get(table) != rows},
    }


def compare(name: str, path: Path, size_mb: float, runs: int) -> dict[str, Any]:
    """Compare headway's reader with the JDK's on one file."""
    short, long = repeated(path, size_mb), repeated(path, 4 * size_mb)
    reads = [measured("read", short) for _ in range(runs)]
    imports = [measured("import", short) for _ in range(runs)]
    theirs, small = [], repeated(path, size_mb / 4)
    ours = [measured("import", small) for _ in range(runs)]
    for _ in range(runs):
        theirs.append(printed(small))

    def ratio(key: str) -> float:
        return float(statistics.median(each[key] for each in theirs) / statistics.median(each[key] for each in ours))

    bigger = measured("import", long)
    return {
        "file": name,
        "mb": short.stat().st_size / MB,
        "rows": imports[0]["rows"],
        "read_mb_per_s": statistics.median(each["mb_per_s"] for each in reads),
        "import_mb_per_s": statistics.median(each["mb_per_s"] for each in imports),
        "long_import_mb_per_s": bigger["mb_per_s"],
        "ratio_cpu": ratio("cpu_ns"),
        "ratio_wall": ratio("wall_ns"),
        "peak_mib": imports[0]["peak_kib"] / 1024,
        "long_peak_mib": bigger["peak_kib"] / 1024,
    }


FILES = {"jdk": ("JDK 17", jdk_file), "profiler": ("async-profiler", profiler_file)}


def made(kind: str, folder: Path, kept: Path | None) -> Path:
    """Return the file of that kind in the folder: the one that is kept, or a new one; there may be none."""
    path = folder / f"{kind}.jfr"
    if kept is not None and (kept / path.name).exists():
        shutil.copy(kept / path.name, path)
        return path
    FILES[kind][1](path)
    if kept is not None and path.exists():
        kept.mkdir(exist_ok=True)
        shutil.copy(path, kept)
    return path


def report_once(arguments: argparse.Namespace, folder: Path) -> int:
    """Print what the import of one long file took."""
    row = once(FILES[arguments.once][0], made(arguments.once, folder, arguments.files), arguments.mb)
    print(
        f"{row['file']}: {row['mb']:.0f} MB, {row['rows']} rows in {row['wall_s']:.0f} s, {row['import_mb_per_s']:.0f} MB "
        f"per CPU second, peak {row['long_peak_mib']:.0f} MiB; "
        + (f"wrong: {row['wrong']}" if row["wrong"] else "every row is there")
    )
    if arguments.json:
        arguments.json.write_text(json.dumps({"jfr_import_once": [row]}, indent=1))
    return 0 if not row["wrong"] and row["long_peak_mib"] <= MOST_MIB else 1


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "FILE"), help=argparse.SUPPRESS)
    parser.add_argument("--mb", type=float, default=100.0, help="length of the file")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--once", choices=("jdk", "profiler"), help="import one file of that kind and length, and check it"
    )
    parser.add_argument(
        "--files", type=Path, metavar="FOLDER", help="keep the files there, or use those that are there"
    )
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], Path(arguments.one[1]))
        return 0
    found = []
    with tempfile.TemporaryDirectory() as folder:
        if arguments.once:
            return report_once(arguments, Path(folder))
        for kind, (name, _) in FILES.items():
            path = made(kind, Path(folder), arguments.files)
            if path.exists():
                found.append(compare(name, path, arguments.mb, arguments.runs))
    for row in found:
        print(
            f"{row['file']}: {row['mb']:.0f} MB, {row['rows']} rows; MB per CPU second: read {row['read_mb_per_s']:.0f}, "
            f"import {row['import_mb_per_s']:.0f} (four times as long: {row['long_import_mb_per_s']:.0f}); against jfr print "
            f"--json: {row['ratio_cpu']:.1f} times by CPU time, {row['ratio_wall']:.1f} by wall time; "
            f"peak {row['peak_mib']:.0f} MiB, four times as long {row['long_peak_mib']:.0f} MiB"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps({"jfr_import": found}, indent=1))
    good = all(
        row["import_mb_per_s"] >= TARGET_MB_PER_S
        and min(row["ratio_cpu"], row["ratio_wall"]) >= TARGET_RATIO
        and row["long_peak_mib"] <= MOST_MIB
        for row in found
    )
    print(
        f"targets {'reached' if good else 'missed'}: {TARGET_MB_PER_S:g} MB/s, {TARGET_RATIO:g} times, bounded memory"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
