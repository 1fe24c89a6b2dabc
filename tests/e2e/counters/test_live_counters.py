"""`headway counters --pid` on a program that says what it did: writes of a watched address, page faults, its own CPU time.

The commands are those of docs/how-to/count-events.md.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.drivers.breakpoint_traps import C_WRITE
from support.drivers.ordinary_user import OrdinaryUser, ordinary_user
from support.drivers.recording_cli import HEADWAY, Terminal, headway, start_headway

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="counts the kernel's events, which an ordinary user may not")

# Threads that wait for a line on standard input, then each write a watched address, touch pages, and say what the kernel
# accounted to them. One more is started by the line. They are there until the next line.
PROGRAM = (
    """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
"""
    + C_WRITE
    + """
static volatile long *watched;
static pthread_barrier_t go, end;
static int late_pages = 4000;

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

static void touch(int pages) {
  char *at = mmap(0, 4096L * pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(at, 4096L * pages, MADV_NOHUGEPAGE);
  for (int i = 0; i < pages; ++i) at[4096L * i] = 1;
}

static void *work(void *given) {
  printf("ready\\n");  // what the C library does when a thread prints first comes before
  long number = (long)given, before = faults();
  pthread_barrier_wait(&go);
  for (int i = 0; i < 1000 * number; ++i) write_watched(watched, i);
  touch(500 * number);
  printf("did %ld %ld %ld\\n", (long)syscall(SYS_gettid), 1000 * number, faults() - before);
  pthread_barrier_wait(&end);
  return 0;
}

static void *late(void *given) {
  usleep(400000);  // seen by now
  for (int i = 0; i < 77; ++i) write_watched(watched, i);
  printf("did %ld 77 -1\\n", (long)syscall(SYS_gettid));
  pthread_barrier_wait(&end);
  return 0;
}

int main(void) {
  enum { THREADS = 3 };
  char line[16];
  pthread_t id[THREADS + 1];
  watched = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  *watched = 0;
  setvbuf(stdout, 0, _IOLBF, 0);
  pthread_barrier_init(&go, 0, THREADS + 1);
  pthread_barrier_init(&end, 0, THREADS + 2);
  for (long i = 0; i < THREADS; ++i) pthread_create(&id[i], 0, work, (void *)(i + 1));
  if (fgets(line, sizeof line, stdin) == 0) return 1;
  pthread_barrier_wait(&go);
  pthread_create(&id[THREADS], 0, late, 0);
  if (fgets(line, sizeof line, stdin) == 0) return 1;
  pthread_barrier_wait(&end);
  for (int i = 0; i <= THREADS; ++i) pthread_join(id[i], 0);
  return 0;
}
"""
)
GO_WITH_A_RECORDING = "--by, --region, --iterations, --last, --from and --to go with a recording"
WATCHED = "mem:0x10000000/8:w"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    folder.chmod(0o755)
    (folder / "work.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", folder / "work", folder / "work.c"], check=True, timeout=120)
    return folder / "work"


@contextmanager
def running(words: list[Any], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start the program, and wait until its threads wait."""
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **options
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def say_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def lines_said(process: subprocess.Popen[str], many: int) -> list[list[int]]:
    """Return what threads say they did: thread, writes, page faults."""
    assert process.stdout is not None
    return [[int(word) for word in process.stdout.readline().split()[1:]] for _ in range(many)]


@dataclass
class Seen:
    """What was counted of each thread over all lines, and the ends of the intervals as long as they are known."""

    lines: list[Any] = field(default_factory=list)
    said: list[list[int]] = field(default_factory=list)
    code: int = -1
    errors: str = ""

    def total(self, tid: int, event: str) -> float:
        rows = (row for line in self.lines for row in line["threads"] if row["tid"] == tid)
        return sum(row["counts"][event]["value"] or 0 for row in rows)

    def highs(self, tid: int) -> list[float | None]:
        rows = (row for line in self.lines for row in line["threads"] if row["tid"] == tid)
        return [row["counts"]["page-faults"]["high"] for row in rows]


@pytest.fixture(scope="module")
def seen(program: Path) -> Seen:
    """Look at the program from before it begins until it ends."""
    found = Seen()
    asked = ("--counters", f"page-faults,task-clock;{WATCHED}", "--interval", "300ms", "--allow-breakpoints", "--json")
    with (
        running([program]) as process,
        start_headway("counters", "--pid", process.pid, *asked) as looking,
    ):
        assert looking.stdout is not None
        assert looking.stderr is not None
        found.lines.append(json.loads(looking.stdout.readline()))  # it counts
        say_go(process)
        found.said = lines_said(process, 4)
        found.lines.append(json.loads(looking.stdout.readline()))
        say_go(process)
        assert process.wait(60) == 0
        # Not communicate(), which knows nothing of lines that came together with one that was read.
        found.lines += map(json.loads, looking.stdout.read().splitlines())
        found.errors, found.code = looking.stderr.read(), looking.wait(100)
    return found


def test_a_watched_address_counts_exactly_as_often_as_each_thread_writes_it(seen: Seen) -> None:
    assert sorted(writes for _, writes, _ in seen.said) == [77, 1000, 2000, 3000]
    for tid, writes, _ in seen.said:
        assert seen.total(tid, WATCHED) == writes


def test_page_faults_are_those_that_the_kernel_accounts_to_each_thread(seen: Seen) -> None:
    """And some few at its end, which it can't say itself."""
    for tid, _, faults in seen.said:
        if faults >= 0:
            assert faults <= seen.total(tid, "page-faults") <= faults + 10


def test_the_task_clock_is_the_time_that_threads_run(seen: Seen) -> None:
    rows = [row for line in seen.lines for row in line["threads"]]
    assert len(rows) >= 4
    for row in rows:
        if row["counted_ns"] == 0:  # a thread that had run, and did not since it was first seen
            assert row["counts"]["task-clock"]["value"] is None
            continue
        assert row["counts"]["task-clock"]["value"] == pytest.approx(row["counted_ns"], rel=0.01, abs=20_000)


def test_a_thread_that_began_later_has_no_upper_end_when_it_is_first_seen_and_is_exact_then(seen: Seen) -> None:
    tid = next(tid for tid, _, faults in seen.said if faults < 0)
    first, *others = seen.highs(tid)
    assert first is None
    assert all(high is not None for high in others)


def test_the_end_of_the_program_ends_the_look_and_what_it_counted_last_is_told(seen: Seen) -> None:
    assert (seen.code, seen.errors) == (0, "")
    ends = [line["to_ns"] for line in seen.lines]
    assert [line["from_ns"] for line in seen.lines] == [0, *ends[:-1]]


def test_a_duration_ends_it_and_tables_go_through_a_pipe(program: Path) -> None:
    with running([program]) as process:
        words = ["counters", "--pid", process.pid, "--interval", "200ms", "--duration", "500ms"]
        done = subprocess.run([*HEADWAY, *map(str, words)], capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stderr) == (0, "")
        assert 1 <= done.stdout.count("Counts by thread") <= 3  # fewer where the machine is busy
        assert "\x1b" not in done.stdout
        assert process.poll() is None


def test_ctrl_c_ends_it_well(program: Path) -> None:
    with running([program]) as process:
        terminal = Terminal([*HEADWAY, "counters", "--pid", process.pid, "--interval", "200ms"])
        terminal.wait_for_text(b"Counts by thread")
        terminal.press(b"\x03")
        assert terminal.wait() == 0
        assert b"Traceback" not in terminal.output
        assert process.poll() is None


def test_threads_for_which_there_are_no_descriptors_are_told_and_counted_without_figures(program: Path) -> None:
    """96 allow two of the four threads 16 events each."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))

    events = ",".join(["task-clock", "page-faults", "minor-faults", "cpu-clock"])
    groups = ";".join([events] * 4)
    words = ["counters", "--pid", "0", "--counters", groups, "--duration", "300ms", "--json"]
    with running([program]) as process:
        words[2] = str(process.pid)
        done = subprocess.run([*HEADWAY, *words], capture_output=True, text=True, timeout=100, preexec_fn=few)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    (warning,) = json.loads(line)["warnings"]
    assert warning["id"] == "HW115"
    assert "2 threads" in warning["message"]
    assert "ulimit -n allows 96" in warning["message"]


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as created:
        yield created


def test_an_ordinary_user_counts_user_space_of_their_own_process_or_is_told_what_forbids_it(
    program: Path, user: OrdinaryUser
) -> None:
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    with running(user.argv([str(program)]), env=user.env, cwd=user.home) as process:
        done = user.headway("counters", "--pid", str(process.pid), "--duration", "300ms")
        asked = user.headway("counters", "--pid", str(process.pid), "--counters", "page-faults", "--duration", "300ms")
    if level <= 2:
        assert done.returncode == 0, done.stderr
        assert "page-faults:u" in done.stdout
    else:
        assert (done.returncode, done.stderr[:5]) == (1, "HW113")
    assert (asked.returncode == 0) == (level <= 1), asked.stderr
    if level > 1:
        assert asked.stderr.startswith("HW113")
        assert f"kernel.perf_event_paranoid is {level}" in asked.stderr


@pytest.mark.other_users
def test_an_ordinary_users_recording_counts_user_space_of_each_thread_without_memory_for_rings(
    user: OrdinaryUser,
) -> None:
    """Which user may lock no page (perf_event_mlock_kb is the kernel's allowance beside); counters need none."""
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        pytest.skip("an ordinary user may count nothing here")
    touch = "import mmap, resource as r; m = mmap.mmap(-1, 4096 * 3000)\nfor at in range(3000): m[4096 * at] = 1\n"
    program = [user.python, "-c", f"{touch}print(r.getrusage(r.RUSAGE_SELF).ru_minflt)"]
    words = ["record", "--no-agent", "--counters", "-o", "a.headway", "--", *program]
    done = user.run(["prlimit", "--memlock=0:0", user.python, "-m", "headway", *words])
    assert done.returncode == 0, done.stderr
    assert "HW108" in done.stderr
    assert "page-faults:u" not in done.stderr
    found = json.loads(user.headway("counters", "a.headway", "--json").stdout)
    faults = found["threads"][0]["counts"]["page-faults:u"]
    assert 3000 <= faults["low"] == faults["high"] <= int(done.stdout) + 100  # and those at its end


def test_a_process_of_another_user_is_refused_with_a_message(program: Path, user: OrdinaryUser) -> None:
    with running([program]) as process:
        done = user.headway("counters", "--pid", str(process.pid), "--duration", "1s")
    assert (done.returncode, done.stderr[:5]) == (1, "HW005")
    assert f"headway counters --pid {process.pid}" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pid", "1", "--by", "kind"], GO_WITH_A_RECORDING),
        (["--pid", "1", "--from", "1s"], GO_WITH_A_RECORDING),
        (["--pid", "1", "--region", "a=b"], GO_WITH_A_RECORDING),
        (["--pid", "1", "--last", "3"], GO_WITH_A_RECORDING),
        (["--pid", "1", "--interval", "0s"], "--interval 0s: give a time above zero"),
        (["--pid", "1", "--duration", "0s"], "--duration 0s: give a time above zero"),
        (["a.headway", "--interval", "1s"], "--interval, --duration, --counters and --allow-breakpoints go with --pid"),
        ([], "give either a recording, or --pid PID"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: list[str], said: str) -> None:
    done = headway("counters", *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_process_that_there_is_not_and_an_event_that_there_is_not_are_told() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    done = headway("counters", "--pid", ended.pid)
    assert (done.returncode, done.stderr[:5]) == (1, "HW004")
    done = headway("counters", "--pid", os.getpid(), "--counters", "cycels")
    assert (done.returncode, done.stderr[:5]) == (1, "HW103")


def test_an_address_is_watched_in_no_process_unless_its_breakpoint_may_end_it() -> None:
    done = headway("counters", "--pid", os.getpid(), "--counters", f"page-faults;{WATCHED}", "--duration", "100ms")
    assert (done.returncode, done.stderr[:5]) == (1, "HW124")


def test_a_stop_by_sigterm_ends_it_well(program: Path) -> None:
    with running([program]) as process, start_headway("counters", "--pid", process.pid, "--json") as looking:
        assert looking.stdout is not None
        looking.stdout.readline()
        looking.send_signal(signal.SIGTERM)
        assert looking.wait(60) == 0
        assert process.poll() is None
