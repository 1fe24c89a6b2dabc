"""The parts of `headway place --pid`: nodes and which to keep a program on, what tells progress, whose affinity is whose."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway.analyses.placement.types import ALL, ONE, Decision, Observation, Placement
from headway.errors import HeadwayError, Notice
from headway.placement import pages
from headway.placement.affinities import Affinities, start_of, usual_affinity
from headway.placement.daemon import Daemon
from headway.placement.mover import HOME, LOOK, Mover
from headway.placement.nodes import MemoryNode, declared_nodes, home_node, machine_nodes, usable
from headway.placement.place import places_of
from headway.placement.progress import BY_CYCLES, Done, Events, Lines, progress_of
from headway.placement.readings import FEWEST_UNITS, MeasuredInterval, Readings
from headway.placement.single_daemon import placing
from headway.placement.types import NodeChoice, Record
from headway.record.collect.thread_counters import countable_if_any
from headway.record.counters.groups import parse
from headway.record.machine.host import online_cpus
from headway.record.target_process.processes import Process
from headway.record.target_process.rights import rights_of

CPUS = frozenset(os.sched_getaffinity(0))
GIB = 1 << 30


def test_nodes_of_the_machine_are_those_that_have_cpus(tmp_path: Path) -> None:
    for number, cpus, total in ((0, "0-1,4", 8), (1, "", 4), (2, "2-3", 16)):
        node = tmp_path / f"node{number}"
        node.mkdir()
        (node / "cpulist").write_text(f"{cpus}\n")
        (node / "meminfo").write_text(
            f"Node {number} MemTotal:       {total} kB\nNode {number} MemFree:        {total - 1} kB\n"
        )
    assert machine_nodes(tmp_path) == [
        MemoryNode(0, frozenset({0, 1, 4}), 8 << 10, 7 << 10),
        MemoryNode(2, frozenset({2, 3}), 16 << 10, 15 << 10),
    ]
    found = usable(machine_nodes(tmp_path), {1, 4, 9})
    assert [(each.number, each.cpus) for each in found] == [(0, frozenset({1, 4}))]
    assert sum(len(each.cpus) for each in machine_nodes()) == len(online_cpus())


def test_memory_that_the_kernel_keeps_of_files_is_free_for_programs(tmp_path: Path) -> None:
    """After a while nearly all of a machine's memory has files in it."""
    node = tmp_path / "node0"
    node.mkdir()
    (node / "cpulist").write_text("0\n")
    rows = {"MemTotal": 1000, "MemFree": 10, "MemUsed": 990, "Active": 700, "Active(file)": 300, "Inactive(file)": 400}
    (node / "meminfo").write_text("".join(f"Node 0 {key}:    {value} kB\n" for key, value in rows.items()))
    assert machine_nodes(tmp_path) == [MemoryNode(0, frozenset({0}), 1000 << 10, 710 << 10)]


def test_a_program_is_kept_on_a_node_that_holds_it_with_the_most_cpus_then_the_most_free_memory() -> None:
    small = MemoryNode(0, frozenset(range(8)), 4 * GIB, 4 * GIB)
    full = MemoryNode(1, frozenset(range(8, 12)), 64 * GIB, 1 * GIB)
    free = MemoryNode(2, frozenset(range(12, 16)), 64 * GIB, 9 * GIB)
    assert home_node([small, full, free], 1 * GIB, ()) == small
    assert home_node([small, full, free], 5 * GIB, ()) == free
    assert home_node([small, full, free], 1 * GIB, (), {full.number: 2, free.number: 1}) == small
    assert home_node([small, full, free], 5 * GIB, (), {full.number: 2, free.number: 1}) == full
    halves = {full.number: 3 * GIB + 1, free.number: 3 * GIB - 1}
    assert home_node([full, free], 6 * GIB, (), halves) == free  # the other one has no room for the rest
    assert home_node([full, free], 6 * GIB, (), {full.number: 5 * GIB, free.number: 1 * GIB}) == full
    assert home_node([small, full, free], 65 * GIB, ()) is None
    assert home_node([small, full, free], 1 * GIB, [small.cpus]) == free
    first, second = declared_nodes([frozenset({0}), frozenset({1})])
    assert home_node([first, second], 1 << 50, ()) == first


def test_a_node_without_memory_holds_no_program_but_its_cpus_are_there_to_run_on(tmp_path: Path) -> None:
    for number, cpus, total in ((0, "0-3", 0), (1, "4-7", 8 << 20)):
        node = tmp_path / f"node{number}"
        node.mkdir()
        (node / "cpulist").write_text(f"{cpus}\n")
        (node / "meminfo").write_text(f"Node {number} MemTotal: {total} kB\nNode {number} MemFree: {total} kB\n")
    nodes = machine_nodes(tmp_path)
    assert [(each.number, each.memory_bytes) for each in nodes] == [(0, 0), (1, 8 * GIB)]
    assert len(usable(nodes, range(8))) == 2
    assert home_node(nodes, 1 * GIB, (), {1: GIB}) == nodes[1]
    assert home_node(nodes[:1], 0, ()) is None


def test_cpus_that_are_not_online_make_no_node() -> None:
    myself = Process.of(os.getpid())
    assert myself is not None
    with pytest.raises(HeadwayError) as caught:
        places_of(myself, [frozenset({min(CPUS)}), frozenset({4000})])
    assert caught.value.notice.id == "HW727"
    assert "CPUs 4000 are not online" in caught.value.notice.message
    found = places_of(myself, [CPUS, frozenset()])
    assert isinstance(found, Notice)
    assert found.id == "HW720"
    first, *rest = sorted(CPUS)
    if rest:
        assert found.remedy.startswith(f"headway place --pid {myself.pid} --nodes {first}/")


# --- progress -----------------------------------------------------------------------------------------------------------


def test_lines_that_are_appended_are_counted_and_a_file_that_is_replaced_or_cut_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("old\nold\n")
    lines = Lines(path)
    assert lines.done(()) == Done(0)
    with path.open("a") as log:
        log.write("one\ntwo\nthr")
    assert lines.done(()) == Done(2)
    with path.open("a") as log:
        log.write("ee\n" + "x\n" * 100_000)
    assert lines.done(()) == Done(100_003)
    path.write_text("")
    assert lines.done(()) is None
    (tmp_path / "new").write_text("rotated\n")
    (tmp_path / "new").rename(path)
    assert lines.done(()) is None
    with path.open("a") as log:
        log.write("again\n")
    assert lines.done(()) == Done(100_004)
    lines.close()


def test_a_file_may_appear_later_where_the_program_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with pytest.raises(HeadwayError) as caught:
        Lines(path)
    assert (caught.value.notice.id, str(path) in caught.value.notice.message) == ("HW724", True)
    lines = Lines(path, may_appear=True)
    assert lines.done(()) is None
    path.write_text("one\n")
    assert lines.done(()) == Done(1)
    lines.close()


def test_a_pipe_and_a_directory_tell_no_progress_and_nothing_waits_for_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(HeadwayError) as caught:
            Lines(path)
        assert caught.value.notice.id == "HW724"


def test_a_file_is_not_opened_before_it_is_known_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes the log may put a link to a device in its place: to open one may start it, rewind it, or take a terminal."""
    path = tmp_path / "log"
    path.write_text("one\n")
    lines = Lines(path)
    path.unlink()
    path.symlink_to("/dev/null")
    opened = []
    open_of = os.open

    def noted(name: str, flags: int, *args: int, **more: int) -> int:
        fd = open_of(name, flags, *args, **more)
        if not flags & os.O_PATH:
            opened.append(os.path.realpath(f"/proc/self/fd/{fd}"))
        return fd

    monkeypatch.setattr(os, "open", noted)
    with pytest.raises(HeadwayError) as caught:
        lines.done(())
    assert caught.value.notice.id == "HW724"
    assert "/dev/null" not in opened


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a link of another user")
def test_root_follows_no_link_of_another_user_to_a_file_of_progress(tmp_path: Path) -> None:
    mine, link, theirs = tmp_path / "mine", tmp_path / "link", tmp_path / "theirs"
    mine.write_text("one\n")
    link.symlink_to("mine")
    assert Lines(link).done(()) == Done(0)
    theirs.symlink_to("mine")
    os.chown(theirs, 65534, 65534, follow_symlinks=False)
    with pytest.raises(HeadwayError) as caught:
        Lines(theirs)
    assert caught.value.notice.id == "HW724"


def test_without_a_progress_point_instructions_tell_and_where_they_do_not_count_it_is_refused_by_name() -> None:
    groups = countable_if_any(parse(BY_CYCLES)).groups
    if groups and groups[0][-1].name == "instructions":
        assert progress_of(None, None).name == "the event instructions"
        return
    with pytest.raises(HeadwayError) as caught:
        progress_of(None, None)
    assert caught.value.notice.id == "HW723"


def test_several_events_or_unknown_ones_tell_no_progress() -> None:
    for text, message in (("page-faults,context-switches", "HW105"), ("no-such-event", "HW103")):
        with pytest.raises(HeadwayError) as caught:
            progress_of(None, text)
        assert caught.value.notice.id == message


FAULTS = """
import mmap, sys
for line in sys.stdin:
    for _ in range(int(line)):
        part = mmap.mmap(-1, 4096)
        part[0] = 1
        part.close()
    print("done", flush=True)
"""


def test_an_event_of_the_programs_threads_is_counted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FAULTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = Process.of(process.pid)
        assert found is not None
        print(1, file=process.stdin, flush=True)
        process.stdout.readline()
        progress = progress_of(None, "page-faults")
        before = progress.done([found])
        print(2000, file=process.stdin, flush=True)
        process.stdout.readline()
        after = progress.done([found])
        progress.close()
        assert before is not None
        assert after is not None
        assert 2000 <= after.units - before.units < 2200
        process.kill()


THREADS = """
import sys, threading
for line in sys.stdin:
    for _ in range(int(line)):
        over = threading.Event()
        threads = [threading.Thread(target=over.wait) for _ in range(20)]
        for each in threads:
            each.start()
        print("there", flush=True)
        sys.stdin.readline()
        over.set()
        for each in threads:
            each.join()
        print("ended", flush=True)
        sys.stdin.readline()
"""


def test_of_threads_that_have_ended_their_counts_stay_and_nothing_else() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = Process.of(process.pid)
        assert found is not None
        progress = progress_of(None, "context-switches")
        assert isinstance(progress, Events)
        progress.done([found])
        print(5, file=process.stdin, flush=True)
        counts = []
        for _ in range(10):
            process.stdout.readline()
            done = progress.done([found])
            assert done is not None
            counts.append(done.units)
            print(file=process.stdin, flush=True)
        assert sum(map(len, progress._last.values())) <= 21
        assert counts == sorted(counts)
        assert counts[-1] - counts[0] >= 4 * 20  # each thread of the last four rounds gave its CPU back at its wait
        process.kill()
        process.wait()
        progress.done([])
        assert not progress._last
        progress.close()


# --- readings -----------------------------------------------------------------------------------------------------------


@dataclass
class Counted:
    """Units of work, as a test says."""

    name: str = "units"
    units: float = 0.0
    closed: int = 0

    def done(self, processes: object) -> Done:
        return Done(self.units)

    def close(self) -> None:
        self.closed += 1


SPINNING = """
import os, sys
for _ in range(3):
    if os.fork() == 0:
        while os.getppid() != 1:
            pass
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


def ran_ns(pids: list[int]) -> list[int]:
    return [int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids]


def wait_until_they_shared_evenly(pids: list[int], before: list[int]) -> None:
    """Wait until each has run for half as long as any other, and a tenth of a second: a busy machine may take its time."""
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        ran = [now - then for now, then in zip(ran_ns(pids), before, strict=True)]
        if min(ran) > max(10**8, max(ran) / 2):
            return
        time.sleep(0.02)
    raise AssertionError("processes that compute did not share the CPUs for a minute")


def test_a_reading_has_the_cpu_time_of_every_process_and_goes_on_until_enough_was_done() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SPINNING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        root = Process.of(process.pid)
        assert root is not None
        units = Counted()
        readings = Readings(root, units)
        spinning = [int(pid) for pid in Path(f"/proc/{root.pid}/task/{root.pid}/children").read_text().split()]
        before = ran_ns(spinning)
        readings.begin()
        units.units = FEWEST_UNITS - 1
        assert readings.read() is None
        units.units += 1
        wait_until_they_shared_evenly(spinning, before)
        found = readings.read()
        assert found is not None
        assert (found.units, found.cycles) == (FEWEST_UNITS, None)
        assert found.seconds >= 0.1
        assert found.workers == 3
        assert 2 <= found.active <= 3.01  # they share the CPUs as the kernel likes it
        assert found.main_pct < 5
        assert 0 < found.cpu_ns <= 1.05e9 * found.seconds * os.cpu_count()  # type: ignore[operator]
        assert found.by_time(ONE).cpi == pytest.approx(found.seconds / FEWEST_UNITS)
        assert found.by_cycles(ALL).cpi == pytest.approx(found.cpu_ns / FEWEST_UNITS)
        process.kill()


def test_a_share_that_wanders_is_of_one_phase_and_one_that_jumps_is_of_another(sleeper: Process) -> None:
    readings = Readings(sleeper, Counted())
    shares = [0.5, 0.62, 0.41, 0.69, 0.9, 0.8, 1.0, 0.3, 0.45]
    assert [readings._steady(share) for share in shares] == [0.5, 0.5, 0.5, 0.5, 0.9, 0.9, 0.9, 0.3, 0.3]


# --- affinities ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def sleeper() -> Iterator[Process]:
    with subprocess.Popen(["sleep", "60"]) as process:
        found = Process.of(process.pid)
        assert found is not None
        yield found
        process.kill()


needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="takes two CPUs")


@needs_two
def test_an_answer_to_an_earlier_question_is_none_to_the_last_one(sleeper: Process) -> None:
    mover = Mover(Affinities(sleeper, CPUS, frozenset({min(CPUS)}), CPUS, lambda: CPUS), rights_of(sleeper.pid))
    assert mover.ask(HOME).moved == 1
    mover._socket.sendall(LOOK)  # as after a question whose answer was not waited for
    assert mover.undo().moved == 1
    assert mover.memory is None
    assert os.sched_getaffinity(sleeper.pid) == CPUS


@needs_two
def test_what_the_system_takes_away_is_not_taken_for_a_choice_of_the_program(sleeper: Process) -> None:
    first, *_ = sorted(CPUS)
    home = frozenset({first})
    allowed = [CPUS]
    mine = Affinities(sleeper, CPUS, home, CPUS, lambda: allowed[0])
    mine.begin()
    assert mine.to_home().moved == 1
    os.sched_setaffinity(sleeper.pid, CPUS - home)  # as a cpuset does that no longer has the CPU
    allowed[0] = CPUS - home
    moved = mine.undo()
    assert (moved.left_alone, moved.is_complete) == (0, True)


@needs_two
def test_a_choice_of_the_program_is_left_alone_even_if_it_is_all_cpus_or_those_of_the_node(sleeper: Process) -> None:
    first, *_ = sorted(CPUS)
    home = frozenset({first})
    mine = Affinities(sleeper, CPUS, home, CPUS, lambda: CPUS)
    mine.begin()
    mine.to_home()
    os.sched_setaffinity(sleeper.pid, CPUS)
    assert (mine.look().moved, mine.look().left_alone) == (0, 1)
    assert os.sched_getaffinity(sleeper.pid) == CPUS
    other = Affinities(sleeper, CPUS, home, CPUS, lambda: CPUS)
    other.begin()
    os.sched_setaffinity(sleeper.pid, home)
    assert (other.look().moved, other.look().left_alone) == (0, 1)
    assert other.undo().moved == 0
    assert os.sched_getaffinity(sleeper.pid) == home


FAMILY = """
import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


@needs_two
def test_the_machines_processes_are_looked_at_once_however_many_the_program_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = []
    list_of = os.listdir

    def counted(path: str) -> list[str]:
        looks.append(path)
        return list_of(path)

    command = [sys.executable, "-c", FAMILY, "20"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        root = Process.of(process.pid)
        assert root is not None
        mine = Affinities(root, CPUS, frozenset({min(CPUS)}), CPUS, lambda: CPUS)
        mine.begin()
        monkeypatch.setattr(os, "listdir", counted)
        assert len(dict(mine._threads())) == 21
        assert looks.count("/proc") == 1
        monkeypatch.undo()
        process.communicate()


def test_the_usual_affinity_is_that_of_most_threads() -> None:
    assert usual_affinity(os.getpid()) == CPUS
    narrowed, over = threading.Event(), threading.Event()

    def narrow() -> None:
        os.sched_setaffinity(0, {min(CPUS)})
        narrowed.set()
        over.wait()

    thread = threading.Thread(target=narrow)
    others = [threading.Thread(target=over.wait) for _ in range(3)]
    for each in (thread, *others):
        each.start()
    narrowed.wait()
    assert usual_affinity(os.getpid()) == CPUS
    over.set()
    for each in (thread, *others):
        each.join()
    assert usual_affinity(1 << 22) is None
    assert start_of(os.getpid(), 1 << 22) is None


LOCKED = """
import fcntl, os, sys
lock = os.open(f"/proc/{sys.argv[1]}/environ", os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
if os.fork():
    os._exit(0)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_number_that_whoever_took_the_lock_no_longer_has_is_nobodys(sleeper: Process) -> None:
    command = [sys.executable, "-c", LOCKED, str(sleeper.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        process.wait()
        with pytest.raises(HeadwayError) as caught, placing(sleeper):
            pass
        assert caught.value.notice.id == "HW722"
        assert caught.value.notice.message == f"another process places process {sleeper.pid} already"


# --- the daemon ---------------------------------------------------------------------------------------------------------


@dataclass
class Scripted:
    """A policy that decides as a test says."""

    script: list[tuple[Placement, str]]
    seen: list[Observation] = field(default_factory=list)

    def first(self) -> Decision:
        return Decision(ALL, 0.01, "as it was started")

    def decide(self, seen: Observation) -> Decision:
        self.seen.append(seen)
        placement, why = self.script.pop(0)
        return Decision(placement, 0.01, why)


def test_a_decision_is_a_record_when_it_is_another_one_and_a_dry_run_ends_where_it_would_move(
    sleeper: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.placement.daemon.COLD_S", 0.0)
    units, records = Counted(), list[Record]()
    script: list[tuple[Placement, str]] = [(ALL, "settles"), (ALL, "settles"), (ALL, "compares"), (ONE, "to compare")]
    policy = Scripted(script)
    places = NodeChoice(CPUS, MemoryNode(0, frozenset({min(CPUS)})), 2, CPUS, is_declared=True)

    def wait(seconds: float) -> str:
        units.units += 100
        time.sleep(seconds)
        return ""

    daemon = Daemon(
        places,
        policy,
        Readings(sleeper, units),
        None,
        MeasuredInterval.by_time,
        records.append,
        wait,  # type: ignore[arg-type]
    )
    daemon.run()
    assert [(each.event, each.text) for each in records if each.event in ("decision", "end")] == [
        ("decision", "would stay on all nodes: as it was started"),
        ("decision", "would stay on all nodes: settles"),
        ("decision", "would stay on all nodes: compares"),
        ("decision", "would move to node 0: to compare"),
        ("end", "end: a dry run moves nothing, so that there is nothing more to tell"),
    ]
    assert len(policy.seen) == 4
    (spell,) = [each.facts for each in records if each.event == "spell"]
    costs = [each.cpi for each in policy.seen]
    assert (spell["placement"], spell["readings"]) == (ALL, 4)
    assert spell["seconds_per_unit"] == pytest.approx(sum(costs) / 4)
    measured = [each.facts["measured"]["seconds_per_unit"] for each in records if "measured" in each.facts]
    assert measured == pytest.approx([costs[0], costs[2], costs[3]])
    assert units.closed == 1
    assert [each.at_ns for each in records] == sorted(each.at_ns for each in records)


def test_memory_of_processes_is_that_of_its_mappings_without_files() -> None:
    """What the kernel writes: 4 KiB pages, huge pages, files, shared memory, a file whose name looks like an answer."""
    lines = {
        "7f0000000000 default heap anon=5 dirty=5 N0=2 N1=3 kernelpagesize_kB=4": {0: 8192, 1: 12288},
        "7f0000200000 bind:1 anon=1 dirty=1 N1=1 kernelpagesize_kB=2048": {1: 2 << 20},
        "7f0000600000 default file=/usr/lib/libc.so.6 mapped=9 mapmax=40 N0=9 kernelpagesize_kB=4": {},
        "7f0000700000 default file=/tmp/N7=9\\040kernelpagesize_kB=4 anon=1 N0=1 kernelpagesize_kB=4": {},
        "7f0000800000 default": {},
        "40000000000 default file=/memfd:java_heap\\040(deleted) dirty=3 mapmax=3 active=0 N1=3 kernelpagesize_kB=4": {
            1: 12288
        },
        "7f0000900000 default file=/dev/zero\\040(deleted) dirty=2 active=0 N0=2 kernelpagesize_kB=4": {0: 8192},
        "7f0000a00000 default file=/SYSV00000000\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4": {0: 4096},
        "7f0000b00000 default file=/home/memfd:x dirty=1 N0=1 kernelpagesize_kB=4": {},
    }
    assert {line: pages._of_mapping(line.encode()) for line in lines} == lines


def test_memory_that_processes_share_is_memory_of_the_program() -> None:
    """As ZGC's heap is. The rest of this process changes by less than a tenth of it meanwhile."""
    size = 64 << 20
    before = pages.memory_by_node([(os.getpid(), 1)])
    if before is None:
        pytest.skip("the kernel does not say on which nodes memory is")
    number = os.memfd_create("shared")
    os.truncate(number, size)
    with mmap.mmap(number, size) as shared:
        for at in range(0, size, mmap.PAGESIZE):
            shared[at] = 1
        after = pages.memory_by_node([(os.getpid(), 1)])
    os.close(number)
    assert after is not None
    assert sum(after.values()) - sum(before.values()) == pytest.approx(size, rel=0.1)


def test_memory_of_large_processes_and_of_none_is_not_known() -> None:
    found = pages.memory_by_node([(os.getpid(), 1)])
    assert found is None or sum(found.values()) > 0
    assert pages.memory_by_node([(os.getpid(), pages.MOST_BYTES + 1)]) is None
    assert pages.memory_by_node([]) is None


def test_memory_of_a_program_that_has_just_begun_chooses_no_node() -> None:
    """A few pages would keep it from the node that has free memory."""
    with subprocess.Popen(["sleep", "60"]) as child:
        assert pages.memory_by_node([(child.pid, 1)]) is None
        child.kill()


def test_memory_that_the_kernel_does_not_count_in_time_or_in_too_many_mappings_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "LIMIT_S", 0.0)
    assert pages.memory_by_node([(os.getpid(), 1)]) is None
    monkeypatch.setattr(pages, "LIMIT_S", 5.0)
    monkeypatch.setattr(pages, "MOST_MAPPINGS", 3)
    assert pages.memory_by_node([(os.getpid(), 1)]) is None
