"""What an agent tells of threads it can't profile, clocks it can't read, and threads that sleep together or with a lock.

Counts are known beforehand; times are compared with what the program measured itself, or with other figures of the same samples.
"""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.asked_program import PROGRAMS, AskedProgram, line_of
from support.drivers.workloads import JAVAS, agent, compile_java

MOST_LENT = 0.3  # of a brief wait: what it runs before it has given the lock back, and when it has it again
ACCOUNTS = 1 << 15
PROBES = 256
"""As in native/agent/causal/ledger/ledger.h: places of accounts, and at how many of them a thread looks."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the programs; their class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    sources = [PROGRAMS / f"{name}.java" for name in ("Sleepers", "Rules")]
    compile_java(out, *sources)
    return out


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def started(java: Path, classes: Path, spool: Path, spec: str, *words: object) -> AskedProgram:
    program = AskedProgram(java, classes, f"-agentpath:{agent()}={agent_options(spool, causal=spec)}", *words)
    assert program.ready == "ready"
    return program


def notes_of(spool: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines()]
    return [note for note in lines if note["t"] == kind]


def covered_ns(spans: list[tuple[int, int]]) -> int:
    """Return how long at least one of some spans, in order of their begin, lasted."""
    found, until = 0, 0
    for begin, end in spans:
        found += max(end - max(begin, until), 0)
        until = max(until, end)
    return found


def test_threads_that_find_no_account_are_counted(java: Path, classes: Path, tmp_path: Path) -> None:
    crowd, strays = PROBES + 150, 50
    with started(java, classes, tmp_path, "speedup:0", "Sleepers", 0) as program:
        # Accounts lie by thread ids: these take more places in a row than a thread looks at, ...
        program.ask(f"crowd {crowd}")
        # ... and the next ones come to lie on the same places.
        program.ask(f"skip {ACCOUNTS - crowd + 10}")
        program.ask(f"crowd {strays}")
        program.ask("disperse")
        program.end()
    health = notes_of(tmp_path, "health")[-1]
    # Some find a place after all: a thread of the JVM has an id and no account.
    assert 0 < health["unprofiled_threads"] <= strays
    assert health["threads"] > crowd + strays


def test_waits_for_cores_that_a_program_without_descriptors_cannot_tell_are_counted(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    spec = f"target:{quote('line=Rules:' + str(line_of('Rules', 'faster')), safe='')};speedup:100"
    with started(java, classes, tmp_path, spec, "Rules") as program:
        pid = program.process.pid
        program.ask("timed sleep")  # its classes are loaded
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, hard))
        for _ in range(5):
            program.ask("timed sleep")  # who slept owes what the line ran meanwhile, and looks at its clocks
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        program.end()
    health = notes_of(tmp_path, "health")[-1]
    assert 5 <= health["unknown_run_delays"] < health["run_delays"]


def test_threads_that_sleep_in_one_line_at_once_count_once_for_the_delay_and_each_for_the_sum(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    sleepers, millis = 4, 700
    number = line_of("Sleepers", "together")
    spec = f"target:{quote(f'line=Sleepers:{number}', safe='')};speedup:0"
    with started(java, classes, tmp_path, spec, "Sleepers", 0) as program:
        _, *times = program.ask(f"together {sleepers} {millis}").split()
        program.end()
    slept = sorted(zip(map(int, times[::2]), map(int, times[1::2]), strict=True))
    (experiment,) = notes_of(tmp_path, "experiment")
    # The program's clock goes on until a thread has a core again. Each sleep is told in parts of a tenth of a millisecond.
    assert 0.99 * sleepers * millis * 1e6 <= experiment["all_hits_ns"] <= sum(end - begin for begin, end in slept)
    assert 0.99 * millis * 1e6 <= experiment["hits_ns"] <= covered_ns(slept)
    ids = [note["id"] for note in notes_of(tmp_path, "line") if note["line"] == number]
    lines = notes_of(tmp_path, "profile")[-1]["lines"]
    profiled_ns = sum(cpu_ns + blocked_ns for line, cpu_ns, blocked_ns, _ in lines if line in ids)
    # Of the same samples: all but what was before the experiment, or in parts of a tenth of a millisecond.
    assert 0.8 * profiled_ns <= experiment["all_hits_ns"] <= profiled_ns


def test_who_parks_with_a_lock_hits_and_who_gives_it_back_does_not(java: Path, classes: Path, tmp_path: Path) -> None:
    spec = f"target:{quote('lock=Sleepers.Held', safe='')};speedup:0;scope:Sleepers"
    with started(java, classes, tmp_path, spec, "Sleepers", 0) as program:
        held_ns = 0
        for _ in range(3):
            held_ns += int(program.ask("hold 150").split()[1])
            assert program.ask("lend 150") == "lend"
        program.end()
    (experiment,) = notes_of(tmp_path, "experiment")
    assert notes_of(tmp_path, "problem") == []
    # A thread may lose its core in the lock, before and after it parks; that is in the program's time, and not in the wait's.
    assert 0.8 * held_ns <= experiment["hits_ns"] <= 1.05 * held_ns
    assert held_ns >= 6 * 150_000_000


def test_cpu_time_of_a_wait_that_gives_the_lock_back_is_not_in_its_section(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    spec = f"target:{quote('lock=Sleepers.Held', safe='')};speedup:0;scope:Sleepers"
    with started(java, classes, tmp_path, spec, "Sleepers", 0) as program:
        lent_ns = int(program.ask("brief 600").split()[1])
        kept_ns = int(program.ask("keep 300").split()[1])
        program.end()
    (experiment,) = notes_of(tmp_path, "experiment")
    assert 0.8 * kept_ns <= experiment["hits_ns"] <= 1.05 * kept_ns + MOST_LENT * lent_ns
