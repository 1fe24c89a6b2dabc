"""Counters read at every switch: against perf stat on the same run, CPU clocks, and an address that is written N times."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.types import Row
from headway.record.counters.events import known_names
from headway.store import open_recording
from support.drivers.breakpoint_traps import C_WRITE
from support.drivers.recording_cli import HEADWAY, headway, start_headway, wait_for

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mode ebpf needs root"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="reads the time stamp counter of x86"),
]

# Threads that compute, touch pages, sleep and write a watched address, each as often as it says on standard output.
PROGRAM = (
    """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
"""
    + C_WRITE
    + """
volatile long *watched;
static pthread_barrier_t ready, go;

static long ns_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long cpu_ns(void) { return ns_of(CLOCK_THREAD_CPUTIME_ID); }

struct job { int writes, pages, sleeps; long compute_ns; };

static void *work(void *given) {
  struct job *job = given;
  long tid = syscall(SYS_gettid);
  printf("started\\n");  // what the C library does when a thread prints first
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&go);
  long writes_ns = ns_of(CLOCK_MONOTONIC);
  for (int i = 0; i < job->writes; ++i) write_watched(watched, i);
  long wrote_ns = ns_of(CLOCK_MONOTONIC);
  char *pages = mmap(0, 4096L * (job->pages + 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(pages, 4096L * (job->pages + 1), MADV_NOHUGEPAGE);
  long touches_ns = ns_of(CLOCK_MONOTONIC);
  for (int i = 0; i < job->pages; ++i) pages[4096L * i] = 1;
  long touched_ns = ns_of(CLOCK_MONOTONIC);
  struct timespec shortly = {0, 100000};
  for (int i = 0; i < job->sleeps; ++i) nanosleep(&shortly, 0);
  while (cpu_ns() < job->compute_ns) {}
  printf("%ld %d %d %d %ld %ld %ld %ld\\n", tid, job->writes, job->pages, job->sleeps, writes_ns, wrote_ns, touches_ns,
         touched_ns);
  return 0;
}

int main(int argc, char **argv) {
  enum { THREADS = 3 };
  void *at = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  watched = at;
  write_watched(watched, 0);  // one write of the main thread
  struct job jobs[THREADS];
  pthread_t id[THREADS];
  pthread_barrier_init(&ready, 0, THREADS + 1);
  pthread_barrier_init(&go, 0, THREADS + 1);
  setvbuf(stdout, 0, _IOLBF, 0);
  for (int i = 0; i < THREADS; ++i) {
    jobs[i] = (struct job){1000 * (i + 1) + i, 700 * (i + 1), 30 * i, 200000000L};
    pthread_create(&id[i], 0, work, &jobs[i]);
  }
  pthread_barrier_wait(&ready);
  printf("pid %d\\n", getpid());
  while (access(argv[1], F_OK) != 0) usleep(10000);
  usleep(100000);  // the threads wait behind the barrier by now
  long go_ns = ns_of(CLOCK_MONOTONIC);
  unsigned long long go_tsc = __builtin_ia32_rdtsc();
  printf("go %ld\\n", go_ns);
  pthread_barrier_wait(&go);
  for (int i = 0; i < THREADS; ++i) pthread_join(id[i], 0);
  long took_ns = ns_of(CLOCK_MONOTONIC) - go_ns;
  printf("rate %.9f\\n", (double)(__builtin_ia32_rdtsc() - go_tsc) / took_ns);
  return 0;
}
"""
)
WATCHED = "mem:0x10000000/8:w"
COUNT = ("--allow-breakpoints", "--counters")


@dataclass(frozen=True)
class Thread:
    """What a thread says it did: how often, and from when until when it wrote and touched pages (CLOCK_MONOTONIC)."""

    tid: int
    writes: int
    pages: int
    sleeps: int
    writes_ns: int
    wrote_ns: int
    touches_ns: int
    touched_ns: int


@dataclass(frozen=True)
class Run:
    """A recording, what its threads said, and what perf counted of each from `go_ns` on (CLOCK_MONOTONIC)."""

    recording: Path
    said: tuple[Thread, ...]
    go_ns: int
    tsc_per_ns: float
    perf: dict[int, dict[str, float]]

    def counts(self, *words: object) -> Any:
        done = headway("counters", self.recording, "--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def since_go(self) -> dict[int, Row]:
        recording = open_recording(self.recording)
        window = (self.go_ns - recording.window_ns[0], recording.wall_ns)
        return {int(row.key["tid"]): row for row in counters(recording, window).rows}

    def without_counts(self, tid: int) -> list[tuple[int, int]]:
        """Return when a thread ran in slices without counts since `go_ns`: this kernel hides some switches (decision 0004)."""
        return (
            open_recording(self.recording)
            .query(
                "SELECT slice.start_ns, slice.start_ns + slice.running_ns FROM slice JOIN thread USING (thread_id) "
                f"WHERE slice.running_ns > 0 AND count_0 IS NULL AND tid = {tid} AND slice.start_ns >= {self.go_ns}"
            )
            .fetchall()
        )

    def lacks_counts(self, tid: int, begin_ns: int, end_ns: int) -> bool:
        """Return whether a slice without counts reaches into a span of time."""
        return any(start < end_ns and end > begin_ns for start, end in self.without_counts(tid))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "work.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", folder / "work", folder / "work.c"], check=True, timeout=120)
    return folder / "work"


@pytest.fixture(scope="module")
def run(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Record the program while `perf stat --per-thread` counts the same events of the same threads."""
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    return one_run(program, tmp_path_factory.mktemp("run"))


def one_run(program: Path, folder: Path) -> Run:
    path, table, go = folder / "a.headway", folder / "perf.csv", folder / "go"
    events = f"msr/tsc/,page-faults,context-switches;{WATCHED}"
    with start_headway("record", "--no-agent", *COUNT, events, "-o", path, "--", program, go) as recorder:
        assert recorder.stdout is not None
        lines = iter(recorder.stdout.readline, "")
        pid = next(line for line in lines if line.startswith("pid ")).split()[1]
        words = ["perf", "stat", "--per-thread", "-x", ";", "-e", "page-faults,context-switches,msr/tsc/", "-p", pid]
        with subprocess.Popen([*words, "-o", table], stdin=subprocess.DEVNULL) as perf:
            wait_for(lambda: perf_events_of(perf.pid) >= 12)  # three events of four threads
            go.touch()
            rest = recorder.stdout.read()
            perf.wait(60)
        assert recorder.wait(60) == 0
    rows = [line.split() for line in rest.splitlines()]
    said = tuple(Thread(*map(int, row)) for row in rows if len(row) == 8)
    go_ns = next(int(row[1]) for row in rows if row[0] == "go")
    rate = next(float(row[1]) for row in rows if row[0] == "rate")
    return Run(path, said, go_ns, rate, perf_counts(table))


def perf_events_of(pid: int) -> int:
    links = [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()]
    return sum("perf_event" in link for link in links)


def perf_counts(table: Path) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for row in csv.reader(table.read_text().splitlines(), delimiter=";"):
        if len(row) > 3 and "-" in row[0] and row[1].replace(".", "").isdigit():
            found.setdefault(int(row[0].rpartition("-")[2]), {})[row[3]] = float(row[1])
    return found


def by_tid(found: Any) -> dict[int, Any]:
    return {row["tid"]: row for row in found["threads"]}


def is_whole(row: Row) -> bool:
    """Return whether all slices of a thread have counts."""
    return row.counted_ns == row.cpu_ns


def compare_count(row: Row, event: str, truth: float, more: float = 0, missing: float = 0) -> None:
    """Compare a count with what it is to be, `more` than which it may be.

    Where slices lack their counts it is the least that there was, short of the truth by what they can have had, `missing`.
    """
    figure = row.counts[event]
    assert figure.value is not None
    assert figure.low == figure.value
    assert figure.high == (figure.value if is_whole(row) else None)
    assert truth - (0 if is_whole(row) else missing) <= figure.value <= truth + more


def test_slices_without_counts_are_those_whose_switch_the_kernel_hid(run: Run) -> None:
    lacking = sum(len(run.without_counts(thread.tid)) for thread in run.said)
    assert len(run.said) == 3
    assert lacking <= 2 * open_recording(run.recording).manifest.extra["decoder"]["unreported"]


def test_a_watched_address_counts_exactly_as_often_as_it_is_written(run: Run) -> None:
    """Also where slices lack their counts, unless the thread wrote in one of those."""
    rows = run.since_go()
    for thread in run.said:
        lacks = run.lacks_counts(thread.tid, thread.writes_ns, thread.wrote_ns)
        compare_count(rows[thread.tid], WATCHED, thread.writes, missing=thread.writes if lacks else 0)


def test_the_recording_says_how_long_before_and_after_it_slices_were_counted(run: Run) -> None:
    recording = open_recording(run.recording)
    counted, (begin, end) = recording.manifest.extra["counters"], recording.window_ns
    assert 0 < counted["from_ns"] < begin < end <= counted["until_ns"]


ONE_WRITE = (
    C_WRITE
    + """
#include <sys/mman.h>
#include <time.h>
int main(void) {
  volatile long *at = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  write_watched(at, 1);
  while (clock() < CLOCKS_PER_SEC / 20) {}
}
"""
)


def test_a_write_in_the_first_slice_of_a_program_is_never_an_exact_zero(tmp_path: Path) -> None:
    """Only it is written, and the slice that reaches over the border of the recorded span may well have that write."""
    program, path = tmp_path / "one", tmp_path / "a.headway"
    program.with_suffix(".c").write_text(ONE_WRITE)
    subprocess.run(["gcc", "-O1", "-static", "-o", program, program.with_suffix(".c")], check=True, timeout=120)
    done = headway("record", "--no-agent", "--mode", "ebpf", *COUNT, WATCHED, "-o", path, "--", program)
    assert done.returncode == 0, done.stderr
    recording = open_recording(path)
    (row,) = counters(recording).rows
    (first_ns,) = recording.query("SELECT min(start_ns) FROM slice WHERE running_ns > 0").fetchone() or (None,)
    assert first_ns is not None
    if (
        first_ns <= recording.window_ns[0]
    ):  # else nothing ran just then, and what was counted before is not the recording's
        figure = row.counts[WATCHED]
        assert figure.value is None or figure.high is None or (figure.low or 0) <= 1 <= figure.high, figure


def test_page_faults_are_those_that_perf_counts_of_the_same_run(run: Run) -> None:
    """Where slices lack their counts, those of the pages that the thread touched outside of them are there all the same."""
    rows = run.since_go()
    for thread in run.said:
        truth = run.perf[thread.tid]["page-faults"]
        assert thread.pages <= truth <= thread.pages + 10
        lacks = run.lacks_counts(thread.tid, thread.touches_ns, thread.touched_ns)
        compare_count(rows[thread.tid], "page-faults", truth, missing=truth if lacks else truth - thread.pages)


def test_context_switches_are_those_that_perf_counts_of_the_same_run(run: Run) -> None:
    rows = run.since_go()
    recording = open_recording(run.recording)
    for thread in run.said:
        row = rows[thread.tid]
        (slices,) = recording.query(
            f"SELECT count(*) FROM slice JOIN thread USING (thread_id) WHERE tid = {thread.tid} AND slice.running_ns > 0 "
            f"AND slice.start_ns >= {run.go_ns} AND count_0 IS NOT NULL"
        ).fetchone() or (None,)
        assert row.counts["context-switches"].value == slices  # each has the switch that brought its thread in
        # perf has those that took it away, but for the last, and those of a thread that is dead to perf and not yet gone.
        missing = len(run.without_counts(thread.tid)) + recording.manifest.extra["decoder"]["unreported"]
        truth = run.perf[thread.tid]["context-switches"]
        compare_count(row, "context-switches", truth, more=3, missing=missing)
        assert not is_whole(row) or slices >= thread.sleeps


def test_the_time_stamp_counter_is_within_three_in_a_thousand_of_perf_and_of_the_time_that_threads_run(
    run: Run,
) -> None:
    rows, rate = run.since_go(), run.tsc_per_ns
    for thread in run.said:
        row = rows[thread.tid]
        counted = row.counts["msr/tsc/"].value
        assert counted is not None
        assert counted == pytest.approx(rate * row.counted_ns, rel=0.003)
        # perf's changing of events at each switch, some microseconds, lies in the slices and not in perf's counts.
        switches = row.counts["context-switches"].value or 0
        most = 10_000 * rate * (switches + 2)
        missing = 1.003 * rate * (row.cpu_ns - row.counted_ns)
        compare_count(row, "msr/tsc/", run.perf[thread.tid]["msr/tsc/"], more=most, missing=missing)


def test_counts_by_kind_and_cpu_add_up_to_the_total_of_the_threads(run: Run) -> None:
    whole = run.counts()["total"]
    for by, key in (("kind", "kinds"), ("cpu", "cpus"), ("phase", "phases"), ("thread", "threads")):
        rows = run.counts("--by", by)[key]
        for event, figure in whole.items():
            total = sum(row["counts"][event]["value"] for row in rows)
            assert total == pytest.approx(figure["value"], rel=1e-9)


def test_a_window_holds_its_part(run: Run) -> None:
    first, second = run.counts("--to", "50%")["total"], run.counts("--from", "50%")["total"]
    whole = run.counts()["total"]
    for event in whole:
        assert first[event]["value"] + second[event]["value"] == pytest.approx(whole[event]["value"], rel=1e-9)


def test_a_process_that_never_leaves_its_cpu_has_its_counts_all_the_same(tmp_path: Path) -> None:
    spinning = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    with subprocess.Popen([sys.executable, "-c", spinning]) as child:
        try:
            path = tmp_path / "a.headway"
            done = headway(
                *(
                    "record",
                    "--no-agent",
                    "--counters",
                    "task-clock,msr/tsc/",
                    "--pid",
                    child.pid,
                    "--duration",
                    "1s",
                    "-o",
                    path,
                )
            )
            assert done.returncode == 0, done.stderr
        finally:
            child.kill()
    found = json.loads(headway("counters", path, "--json").stdout)
    row = next(each for each in found["threads"] if each["tid"] == child.pid)
    assert row["counted_ns"] > 0.9 * row["cpu_ns"]
    # Per CPU, task-clock is the time that passes while the thread has the CPU.
    assert row["counts"]["task-clock"]["value"] == pytest.approx(row["counted_ns"], rel=0.003)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("cyles", "HW103"),
        ("page-faults;mem:0x10000000/8:w", "HW124"),
        ("", "HW105"),
        ("page-faults;;cycles", "HW105"),
        (",".join(["r1"] * 1000), "HW105"),
    ],
)
def test_bad_groups_are_a_message_before_anything_starts(tmp_path: Path, groups: str, message: str) -> None:
    done = headway("record", "--counters", groups, "-o", tmp_path / "a.headway", "--", "touch", tmp_path / "started")
    assert done.returncode != 0
    assert message in done.stderr
    assert not (tmp_path / "started").exists()


MANY = (
    C_WRITE
    + """
#include <pthread.h>
#include <sys/mman.h>
enum { THREADS = 10000 };
static volatile long *watched;
static pthread_barrier_t all;
static void *work(void *given) {
  pthread_barrier_wait(&all);
  write_watched(watched, (long)given);
  return 0;
}
int main(void) {
  static pthread_t id[THREADS];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 16);
  watched = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  pthread_barrier_init(&all, 0, THREADS + 1);
  for (long i = 0; i < THREADS; ++i) if (pthread_create(&id[i], &small, work, (void *)i)) return 1;
  pthread_barrier_wait(&all);
  for (long i = 0; i < THREADS; ++i) pthread_join(id[i], 0);
}
"""
)


def test_each_of_10000_threads_that_are_there_at_once_has_its_own_count(tmp_path: Path) -> None:
    """And no descriptor of its own: some hundreds are enough for all."""
    path, program = tmp_path / "a.headway", tmp_path / "many"
    program.with_suffix(".c").write_text(MANY)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, program.with_suffix(".c")], check=True, timeout=120)
    words = [*HEADWAY, "record", "--no-agent", "--mode", "ebpf", *COUNT, WATCHED, "-o", path, "--", program]
    script = f"ulimit -n {200 + 8 * (os.cpu_count() or 1)}; exec {shlex.join(map(str, words))}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    threads = [row for row in counters(open_recording(path)).rows if row.key["tid"] != row.key["pid"]]
    assert len(threads) == 10_000
    counts = [row.counts[WATCHED].value for row in threads if is_whole(row)]
    hidden = open_recording(path).manifest.extra["decoder"]["unreported"]  # switches (decision 0004)
    assert len(threads) - len(counts) <= 2 * hidden
    assert {*counts} <= {1}


def test_run_counts_as_record_does_and_shows_the_command_that_tells(tmp_path: Path) -> None:
    done = headway("run", "--counters", "page-faults,task-clock", "--no-agent", "--", "sleep", "0.1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    path = next(tmp_path.glob("*.headway"))
    found = json.loads(headway("counters", path, "--json").stdout)
    assert [group["events"] for group in found["groups"]] == [["page-faults", "task-clock"]]
    assert found["total"]["page-faults"]["value"] > 0


@pytest.mark.parametrize("mode", ["perf-switch", "agent"])
def test_in_modes_without_ebpf_each_thread_is_counted_as_a_whole(program: Path, tmp_path: Path, mode: str) -> None:
    """The threads wait until they are counted: in mode agent every event that the recorder has open is a counter."""
    path, go = tmp_path / "a.headway", tmp_path / "go"
    words = ("--no-agent", "--mode", mode, *COUNT, f"{WATCHED},page-faults", "-o", path, "--", program, go)
    with start_headway("record", *words) as recorder:
        assert recorder.stdout is not None
        assert recorder.stderr is not None
        main = int(next(line for line in iter(recorder.stdout.readline, "") if line.startswith("pid ")).split()[1])
        wait_for(lambda: perf_events_of(recorder.pid) >= 8)  # two events of four threads
        go.touch()
        rest, err = recorder.stdout.read(), recorder.stderr.read()
    assert recorder.returncode == 0, err
    assert f"HW108: --counters: each thread is counted as a whole, as the recording is made in mode {mode}" in err
    said = {int(row[0]): (int(row[1]), int(row[2])) for row in map(str.split, rest.splitlines()) if len(row) == 8}
    rows = by_tid(json.loads(headway("counters", path, "--json").stdout))
    assert rows[main]["counts"][WATCHED] == {"value": 1, "low": 1, "high": 1}
    assert len(said) == 3
    for tid, (writes, pages) in said.items():
        if mode == "perf-switch" and (tid not in rows or rows[tid]["counts"][WATCHED]["value"] is None):
            continue  # it ended before the recorder had a CPU: the events that it had open were those of switches
        counted = rows[tid]["counts"]
        is_whole = rows[tid]["counted_ns"] == rows[tid]["cpu_ns"]
        assert counted[WATCHED]["high"] == (writes if is_whole else None)
        assert counted[WATCHED]["value"] == writes if mode == "agent" else counted[WATCHED]["value"] <= writes
        assert counted["page-faults"]["value"] >= (pages if mode == "agent" else 0)
    refused = headway("counters", path, "--by", "phase")
    assert (refused.returncode, refused.stderr[:5]) == (1, "HW123")


def test_in_a_mode_without_ebpf_too_few_descriptors_are_told_and_the_program_runs(tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    events = ",".join(["page-faults", "task-clock", "context-switches", "cpu-migrations"])
    words = ["record", "--no-agent", "--mode", "perf-switch", "--counters", ";".join([events] * 4), "-o", str(path)]
    script = f"ulimit -n 100; exec {shlex.join([sys.executable, '-m', 'headway', *words, '--', 'echo', 'it ran'])}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "it ran\n"), done.stderr
    assert "ulimit -n allows 100" in " ".join(done.stderr.split())
    assert headway("counters", path).stderr.startswith("HW109")
    assert headway("threads", path).returncode == 0


def test_an_event_that_never_counts_here_is_told_at_the_start_and_the_rest_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    words = ("--no-agent", "--counters", "page-faults;r7fffffffffffffff", "-o", path, "--", "true")
    done = headway("record", *words)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "HW107: not counted here: r7fffffffffffffff (" in said
    found = json.loads(headway("counters", path, "--json").stdout)
    assert [each["event"] for each in found["absent"]] == ["r7fffffffffffffff"]
    assert f"r7fffffffffffffff ({found['absent'][0]['reason']})" in said
    assert {*found["total"]} == {"page-faults"}


def test_too_few_descriptors_for_the_counters_leave_a_recording_without_them(tmp_path: Path) -> None:
    """Every counter takes one on each CPU; the others of the recorder fit."""
    path = tmp_path / "a.headway"
    events = ",".join(["page-faults", "task-clock", "context-switches", "cpu-migrations"])
    groups = ";".join([events] * 4)
    needed = 16 * (os.cpu_count() or 1) + 40  # so many are there, but then none is left for the recorder's files
    words = ["record", "--no-agent", "--mode", "ebpf", "--counters", groups, "-o", str(path), "--", "echo", "it ran"]
    script = f"ulimit -n {needed}; exec {shlex.join([sys.executable, '-m', 'headway', *words])}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "it ran\n"), done.stderr
    assert "HW107" in done.stderr
    assert "too many open files" in done.stderr
    refused = headway("counters", path)
    assert "too many open files" in refused.stderr
    assert headway("threads", path).returncode == 0  # all else is there


def test_doctor_says_of_every_event_whether_it_counts_here_or_why_not(tmp_path: Path) -> None:
    counters_here = json.loads(headway("doctor", "--json").stdout)["counters"]
    absent = {each["event"]: each["reason"] for each in counters_here["absent"]}
    assert {*counters_here["counted"]} | {*absent} == {*known_names()}
    assert not {*counters_here["counted"]} & {*absent}
    assert {"page-faults", "task-clock", "context-switches"} <= {*counters_here["counted"]}
    assert all(absent.values())
    opens = subprocess.run(
        ["perf", "stat", "-x", ";", "-e", "cycles", "true"], capture_output=True, text=True, check=False
    )
    assert ("cycles" in absent) == ("<not supported>" in opens.stderr)


def test_without_counters_nothing_of_them_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    assert headway("record", "--no-agent", "-o", path, "--", "true").returncode == 0
    assert "counters" not in json.loads((path / "manifest.json").read_text())
    columns = open_recording(path).query("SELECT count(count_0), count(uncounted_0) FROM slice").fetchone()
    assert columns == (0, 0)
    refused = headway("counters", path)
    assert refused.returncode == 1
    assert "HW109" in refused.stderr


def test_what_does_not_count_here_is_absent_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    done = headway("record", "--no-agent", "--counters", "--force", "-o", path, "--", "true")
    assert done.returncode == 0, done.stderr
    found = json.loads(headway("counters", path, "--json").stdout)
    counted = {event for group in found["groups"] for event in group["events"]}
    absent = {each["event"]: each["reason"] for each in found["absent"]}
    assert {"task-clock", "page-faults"} <= counted
    assert not counted & absent.keys()
    assert "cycles" in counted or absent["cycles"]
    assert found["step"] == ("CPI" if {"cycles", "instructions"} <= counted else "software clocks")
    assert {*found["total"]} == counted


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "count-events.md").read_text(encoding="utf-8")
    block = next(part for part in page.split("```sh\n") if "--counters -o app.headway" in part).partition("```")[0]
    for line in block.replace("java -jar app.jar", "sleep 2.2").splitlines():
        words = shlex.split(line)
        assert words[0] == "headway"
        done = headway(*words[1:], cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
