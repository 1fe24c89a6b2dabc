"""Counts by virtual thread: an address that each of them writes as often as it says, on carriers that they share."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.drivers.breakpoint_traps import C_WRITE
from support.drivers.recording_cli import headway, javas
from support.drivers.workloads import compile_java

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mode ebpf needs root")

PROGRAMS = Path(__file__).parents[2] / "programs"
WATCHED = "mem:0x10000000/8:w"
LIBRARY = f"""
#define _GNU_SOURCE
{C_WRITE}
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile long *watched;

__attribute__((constructor)) static void map(void) {{
  void *at = (void *)0x10000000;
  watched = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if ((void *)watched != at) abort();
}}

void Java_VirtualWrites_write(void *jni, void *type, int times, unsigned char apart) {{
  struct timespec shortly = {{0, 50000}};
  for (int i = 0; i < times; ++i) {{
    if (apart) nanosleep(&shortly, 0);
    write_watched(watched, i);
  }}
  if (apart) nanosleep(&shortly, 0);
}}
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("program")
    (folder / "writes.c").write_text(LIBRARY)
    library = folder / "libwrites.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, folder / "writes.c"], check=True, timeout=120)
    compile_java(folder, PROGRAMS / "VirtualWrites.java")
    jvm = ["-Djdk.virtualThreadScheduler.parallelism=2", "--enable-native-access=ALL-UNNAMED"]
    return [str(javas()[1]), *jvm, "-cp", str(folder), "VirtualWrites", str(library)]


def test_each_virtual_thread_counts_what_it_wrote_itself(command: list[str], tmp_path: Path) -> None:
    """Slices that lie within a mount are exact; of those that are shared the bounds hold what it says."""
    path = tmp_path / "a.headway"
    done = headway(
        "record", "--allow-breakpoints", "--counters", WATCHED, "--virtual-threads", "-o", path, "--", *command
    )
    assert done.returncode == 0, done.stderr
    said = [line.split() for line in done.stdout.splitlines() if re.fullmatch(r"(apart|together) \d+ \d+", line)]
    assert len(said) == 6
    found = counters_of(path)
    rows = {row["java_id"]: row for row in found["threads"] if row["kind"] == "virtual"}
    certain = []
    for way, java_id, writes in said:
        row, truth = rows[int(java_id)], int(writes)
        count = row["counts"][WATCHED]
        # A switch that this kernel hides (decision 0004: one of some hundred) takes the counts of what is around it.
        is_whole = row["counted_ns"] == row["cpu_ns"]
        assert (count["high"] is None) != is_whole
        assert count["low"] - 1e-9 <= truth <= (count["high"] if is_whole else math.inf) + 1e-9
        if way == "apart":
            assert count["low"] > truth / 2
            certain += [(count["low"], truth)] if is_whole else []
    # These slept before and after each write, so that none was in a slice in which another one was mounted as well: what is
    # certain is all of it. What those that share its last slice wrote in that one may be above.
    assert certain, "of three threads that switch 12 to 56 times one has counts of all its slices"
    assert [low for low, _ in certain] == pytest.approx([truth for _, truth in certain], rel=1e-12)
    values = sum(row["counts"][WATCHED]["value"] or 0 for row in found["threads"])
    assert values == pytest.approx(found["total"][WATCHED]["value"])
    written, total = sum(int(writes) for *_, writes in said), found["total"][WATCHED]
    assert written / 2 < total["low"] <= written
    is_whole = all(row["counted_ns"] == row["cpu_ns"] for row in found["threads"])
    assert total["value"] == written if is_whole else total["high"] is None


def test_without_mounts_carriers_have_all_of_it(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    done = headway("record", "--allow-breakpoints", "--counters", WATCHED, "-o", path, "--", *command)
    assert done.returncode == 0, done.stderr
    kinds = {row["kind"] for row in counters_of(path)["threads"] if row["counts"][WATCHED]["value"]}
    assert kinds == {"carrier"}


def counters_of(path: Path) -> Any:
    done = headway("counters", path, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
