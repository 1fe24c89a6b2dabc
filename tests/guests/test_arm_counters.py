"""What counts on a processor with counters: headway's counting part in an emulated aarch64 guest, where each count is known.

The guest has one cycle counter and six others. A cycle is an instruction there, and the clock is the number of instructions, so
that counts are exact and the same in every run. What the host decides by them (which events count, how counts of groups that took
turns are scaled) is decided by the same code as in a recording.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.by_runs import joined
from headway.analyses.counters.types import Figure
from headway.errors import HeadwayError
from headway.record.counters import events, groups, usable
from headway.record.counters.usable import Group, Usable
from headway.store import Recording, open_recording
from support.builders.counted_builder import CountedSlice, counted_recording
from support.builders.edited_manifest import edit
from support.drivers.arm_guest import ArmGuest, arm_guest, build_program, missing

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.timeout(600)]

SEED, PIECES = 77_777, 1_200
IN_TURN = (
    "instructions:u,cycles:u;r8:u,r11:u;r08:u,r011:u;r008:u,cpu-cycles:u;"
    "r0008:u,r0011:u;r00008:u,r00011:u;r000008:u,r000011:u;r0000008:u,r0000011:u"
)
"""Sixteen names of two events, in eight groups: three of them have room at a time. Without the kernel, whose work differs."""


def of_guest(asked: Sequence[Group]) -> str:
    """Return groups as the guest's program takes them."""
    return ";".join(
        ",".join(
            f"{e.type}:{e.config}:{e.config1}:{e.config2}:{e.user_only:d}:{e.kernel_only:d}:{e.exercise}" for e in group
        )
        for group in asked
    )


def readings(words: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return value, enabled_ns and running_ns of each event."""
    return [(int(value), int(enabled), int(ran)) for value, enabled, ran in (word.split(",") for word in words)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_program(tmp_path_factory.mktemp("guest"))


@pytest.fixture(scope="module")
def guest(program: Path) -> Iterator[ArmGuest]:
    with arm_guest(program) as running:
        yield running


def tried_in(guest: ArmGuest, how: str, asked: Sequence[Group]) -> list[list[dict[str, int]]]:
    """Return what the known loop makes of groups in the guest, as headway is told of it on a machine of its own."""
    keys = ("errno", "first", "second", "enabled_ns", "running_ns")
    rows = guest.ask(f"{how} {of_guest(asked)}")
    return [
        [dict(zip(keys, map(int, word.split(",")), strict=True)) for word in row.split()]
        for row, _ in zip(rows, asked, strict=True)
    ]


@pytest.fixture
def there(guest: ArmGuest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArmGuest:
    """Let headway try its events in the guest, and read the guest's counting units and CPUs."""

    for line in guest.ask("devices"):
        _, path, *text = line.split(" ", 2)
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{''.join(text)}\n")
    monkeypatch.setattr(usable, "_tried", partial(tried_in, guest, "try"))
    monkeypatch.setattr(usable, "DEVICES", tmp_path)
    monkeypatch.setattr(usable, "online_cpus", lambda: [0])
    monkeypatch.setattr(events, "DEVICES", tmp_path)
    return guest


def usable_there(text: str) -> Usable:
    options = groups.parse(text)
    return usable.usable(options.groups, is_default=options.is_default)


def names(found: Usable) -> list[list[str]]:
    return [[each.name for each in group] for group in found.groups]


def reasons(found: Usable) -> dict[str, str]:
    return {each.event: each.reason for each in found.absent}


@pytest.mark.parametrize("event", ["instructions:u", "cycles:u", "r8:u", "r11:u", "armv8_pmuv3/inst_retired/:u"])
def test_a_loop_of_known_instructions_counts_exactly(there: ArmGuest, event: str) -> None:
    times = (1, 2, 1_000, 1_000_000, 3_333_333)
    rows = there.ask(f"loop {of_guest([(events.event(event),)])} {' '.join(map(str, times))}")
    counted = [readings(row.split())[0] for row in rows]
    for (before, after), (value, more) in zip(pairwise(times), pairwise(value for value, *_ in counted), strict=True):
        assert more - value == 2 * (after - before)
    assert all(ran == enabled > 0 for _, enabled, ran in counted)


def test_events_that_open_and_read_zero_are_absent_and_never_zero(there: ArmGuest) -> None:
    found = usable_there("cycles,instructions,r3;r4;task-clock")
    assert names(found) == [["cycles", "instructions"], ["task-clock"]]
    assert found.step == "CPI"
    zero = "it opens, and reads zero in a loop that makes it count"
    assert reasons(found) == {"r3": zero, "r4": zero}


def test_what_the_processor_lacks_is_absent_with_that_reason(there: ArmGuest) -> None:
    found = usable_there("instructions,branch-misses,LLC-load-misses")
    assert names(found) == [["instructions"]]
    no_such = "this processor or kernel has no such event"
    assert reasons(found) == {"branch-misses": no_such, "LLC-load-misses": no_such}


def test_by_default_the_groups_are_those_that_count_there(there: ArmGuest) -> None:
    found = usable_there(groups.DEFAULT)
    assert found.step == "CPI"
    assert names(found)[0] == ["cycles", "instructions"]
    assert [group for group in names(found) if not {*group} & {"cycles", "instructions"}] == [
        ["task-clock", "page-faults", "context-switches"]
    ]
    assert {"branches", "cache-misses", "dTLB-load-misses"} <= {*reasons(found)}


def test_events_whose_counters_others_have_are_absent_with_that_reason(
    there: ArmGuest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usable, "_tried", partial(tried_in, there, "try-stolen"))
    found = usable_there("instructions;task-clock")
    assert names(found) == [["task-clock"]]
    assert reasons(found)["instructions"].startswith("it never got a counter: others have them")


def test_a_group_larger_than_the_counters_is_refused(there: ArmGuest) -> None:
    """Seven events but cycles do not fit the six counters: such a group opens, and never counts."""
    instructions = [f"r{'0' * zeros}8" for zeros in range(7)]
    assert names(usable_there(",".join(["cycles", *instructions[:6]]))) == [["cycles", *instructions[:6]]]
    with pytest.raises(HeadwayError) as refused:
        usable_there(",".join(instructions))
    assert refused.value.notice.id == "HW104"


def test_how_many_counters_there_are_is_told(there: ArmGuest) -> None:
    assert usable.at_once([events.event("task-clock"), events.event("instructions")]) == 6
    assert not usable._takes_turns(events.event("instructions"))


def test_an_event_that_the_kernel_refuses_is_named_with_its_cpu(there: ArmGuest) -> None:
    """On every CPU, as a recording opens them."""
    refused = there.ask(f"loop {of_guest([(events.event('branch-misses'),)])} 1")
    assert refused[0].split()[:2] == ["refused", str(errno.ENOENT)]
    assert refused[0].endswith("on CPU 0")


@dataclass(frozen=True)
class Run:
    """A run of the guest's program. Readings are of a piece, then of an event, as `readings` gives them."""

    start_ns: list[int]
    pieces: list[list[tuple[int, int, int]]]

    def slices(self) -> list[CountedSlice]:
        """Return the pieces of a run of groups in turn as a recording has the slices of a thread."""
        firsts, found = range(0, 16, 2), []
        for start_ns, piece in zip(self.start_ns, self.pieces, strict=True):
            running_ns = piece[0][1]
            did_ns = [min(running_ns, running_ns - enabled + ran if ran else 0) for _, enabled, ran in piece]
            uncounted_ns = tuple(running_ns - did_ns[first] for first in firsts)
            counts = tuple(value for value, *_ in piece)
            since_ns = start_ns - self.start_ns[0]
            found.append(CountedSlice(0, 0, since_ns, running_ns, counts, uncounted_ns))
        return found


def names_in_turn() -> list[list[str]]:
    return [[each.name for each in group] for group in groups.parse(IN_TURN).groups]


def run_program(guest: ArmGuest, asked: Sequence[Group]) -> Run:
    rows = [line.split() for line in guest.ask(f"program {of_guest(asked)} {SEED} {PIECES}")]
    return Run([int(row[0]) for row in rows], [readings(row[1:]) for row in rows])


@pytest.fixture(scope="module")
def alone(guest: ArmGuest) -> Run:
    """The program with one group, which has counters all the time."""
    return run_program(guest, groups.parse("instructions:u,cycles:u").groups)


@pytest.fixture(scope="module")
def in_turn(guest: ArmGuest) -> Run:
    """The same with eight groups, three of which have counters at a time."""
    return run_program(guest, groups.parse(IN_TURN).groups)


@dataclass(frozen=True)
class Scaled:
    """What `headway counters` says of the events of the second run, and what was counted in the first."""

    recording: Recording
    slices: list[CountedSlice]
    truth: list[int]

    def windows(self, windows: int) -> list[tuple[Figure, int]]:
        """Return the figure of each event in each of so many parts of the run, and the count that it stands for."""
        size, found = PIECES // windows, []
        for first in range(0, PIECES, size):
            window = self.slices[first].start_ns, self.slices[first + size - 1].end_ns
            truth = sum(self.truth[first : first + size])
            found += [(figure, truth) for figure in counters(self.recording, window).total.counts.values()]
        assert len(found) == 16 * windows
        return found


@pytest.fixture(scope="module")
def scaled(in_turn: Run, alone: Run, tmp_path_factory: pytest.TempPathFactory) -> Scaled:
    slices = in_turn.slices()
    path = counted_recording(
        tmp_path_factory.mktemp("scaled") / "a.headway", slices, slices[-1].end_ns + 1, names_in_turn()
    )
    return Scaled(open_recording(path), slices, [piece[0][0] for piece in alone.pieces])


def test_a_group_counts_together_and_alone_all_the_time(alone: Run) -> None:
    for instructions, cycles in alone.pieces:
        assert instructions[0] == cycles[0]
        assert instructions[1] == instructions[2]


def test_groups_beyond_the_counters_take_turns(in_turn: Run) -> None:
    """All of them, each for about its part of the time; none counts while it has no counters."""
    could = [sum(piece[i][1] for piece in in_turn.pieces) for i in range(16)]
    did = [sum(piece[i][2] for piece in in_turn.pieces) for i in range(16)]
    shares = [ran / enabled for ran, enabled in zip(did, could, strict=True)]
    assert 2.9 <= sum(shares[::2]) <= 3.1
    assert all(0.25 <= share <= 0.5 for share in shares)
    for piece in in_turn.pieces:
        assert all(value == 0 for value, _, ran in piece if ran == 0)


def test_of_a_single_piece_the_groups_that_had_no_turn_are_withheld(in_turn: Run, tmp_path: Path) -> None:
    first = in_turn.slices()[:1]
    path = counted_recording(tmp_path / "a.headway", first, first[0].end_ns, names_in_turn())
    counts = counters(open_recording(path)).total.counts
    without = [figure for figure, (_, _, ran) in zip(counts.values(), in_turn.pieces[0], strict=True) if not ran]
    assert without == [Figure(None, None, None, "its group never counted while this ran")] * len(without)
    assert without


def test_scaled_counts_are_within_two_percent_of_those_of_a_run_with_one_group(scaled: Scaled) -> None:
    """Published (PerfUtil, table 4.1), of counts above three million: 2.9 % on average, 0.2 % in the median."""
    errors = [abs(figure.value / truth - 1) for figure, truth in scaled.windows(1) if figure.value is not None]
    assert len(errors) == 16
    assert mean(errors) <= 0.02


def test_ninety_percent_of_the_intervals_of_scaled_counts_hold_the_count(scaled: Scaled) -> None:
    """Those of six parts of the run, which are far wider than that of the whole: of half a second each."""
    found = scaled.windows(6)
    assert mean(figure.low is not None and figure.low <= truth <= (figure.high or 0) for figure, truth in found) >= 0.9


def test_scaling_leans_to_no_side(scaled: Scaled) -> None:
    """Were each slice scaled by itself, counts would be half of what they are."""
    leaning = [figure.value / truth - 1 for figure, truth in scaled.windows(6) if figure.value is not None]
    assert abs(mean(leaning)) <= 0.01


def test_a_run_of_one_group_and_one_of_all_in_turn_agree(in_turn: Run, alone: Run, tmp_path: Path) -> None:
    """As `record --counters-by-runs` has them: a run in which a group has the counters for itself, and one of all groups."""
    path, names = tmp_path / "a.headway", names_in_turn()
    (path / "repeats").mkdir(parents=True)
    slices = [
        CountedSlice(0, 0, start - alone.start_ns[0], piece[0][1], tuple(value for value, *_ in piece))
        for start, piece in zip(alone.start_ns, alone.pieces, strict=True)
    ]
    counted_recording(path, slices, slices[-1].end_ns + 1, names[:1])
    edit(path, counters_by_runs={"run": 1, "of": 2, "in_turn": False})
    last, turns = path / "repeats" / "2.headway", in_turn.slices()
    counted_recording(last, turns, turns[-1].end_ns + 1, names)
    edit(last, counters_by_runs={"run": 2, "of": 2, "in_turn": True})
    found = joined(open_recording(path), counters, "thread", None)
    truth = sum(piece[0][0] for piece in alone.pieces)
    assert {event: figure.value for event, figure in found.total.counts.items()} == dict.fromkeys(names[0], truth)
    assert found.by_runs is not None
    assert found.by_runs.took_turns
    differences = found.by_runs.differences
    assert [*differences] == names[0]
    assert all(each is not None and abs(each) <= 0.02 for each in differences.values())


STOLEN_PIECES, ROUNDS = (45, 60, 45), 2_500_000
"""Before another tool has the counters, meanwhile and afterwards, of 5 ms each; what the tool does takes the six counters."""


def test_what_ran_while_another_tool_had_the_counters_is_not_known_and_the_rest_is_exact(
    guest: ArmGuest, tmp_path: Path
) -> None:
    """The kernel gives the counters to pinned events first, as `perf stat -e EVENT:D` has them."""
    asked = groups.parse("instructions:u,cycles:u;task-clock").groups
    rows = [
        line.split() for line in guest.ask(f"stolen {of_guest(asked)} {' '.join(map(str, (*STOLEN_PIECES, ROUNDS)))}")
    ]
    before, meanwhile, _ = STOLEN_PIECES
    slices, seen = [], []
    for row in rows:
        first, _, clock = (readings(row[1:])[place] for place in range(3))
        counts = tuple(value for value, *_ in readings(row[1:]))
        since_ns, ran_ns = int(row[0]) - int(rows[0][0]), clock[1]
        slices.append(CountedSlice(0, 0, since_ns, ran_ns, counts, (first[1] - first[2], 0)))
        seen.append(first[0])
    assert len({*seen[:before], *seen[before + meanwhile :]}) == 1  # each piece is the same
    assert seen[0] >= 2 * ROUNDS
    assert {*seen[before : before + meanwhile]} == {0}
    names = [["instructions:u", "cycles:u"], ["task-clock"]]
    path = counted_recording(tmp_path / "a.headway", slices, slices[-1].end_ns + 1, names)
    found = counters(open_recording(path))
    assert found.total.counts["instructions:u"] == Figure(sum(seen), sum(seen), None)
    clock_ns = sum(each.counts[2] for each in slices if each.counts)
    assert found.total.counts["task-clock"] == Figure(clock_ns, clock_ns, clock_ns)
    (notice,) = (each for each in found.notices if each.id == "HW121")
    assert "instructions:u, cycles:u" in notice.message


def test_counters_go_on_after_the_machine_was_suspended(guest: ArmGuest) -> None:
    """To idle, the one way that this machine has: its clock goes on meanwhile, and nothing is counted but what suspends it."""
    asked = groups.parse("instructions:u,cycles:u;task-clock").groups
    slept, asleep, awake = guest.ask(f"suspend {of_guest(asked)} {ROUNDS}")
    assert int(slept) < 1_000_000  # else HW122 would be said: record/machine/suspends.py goes by the same two clocks
    (instructions, enabled, ran), *_ = readings(asleep.split())
    assert enabled == ran > 1_000_000_000
    assert instructions < ROUNDS
    (instructions, enabled, ran), *_ = readings(awake.split())
    assert 2 * ROUNDS <= instructions <= 2 * ROUNDS + 10_000
    assert enabled == ran > 0


def test_counters_of_a_cpu_that_was_offline_stand_still_when_it_is_back(program: Path) -> None:
    """What sched.bpf.c goes by: neither their times nor their counts go on, so that what they read then is no count."""
    asked = groups.parse("cycles;task-clock,page-faults").groups
    with arm_guest(program, two_cpus=True) as guest:
        offline, after = (readings(line.split()) for line in guest.ask(f"offline {of_guest(asked)}"))
    assert all(enabled > 0 for _, enabled, _ in offline)
    assert after == [(0, 0, 0)] * 3
