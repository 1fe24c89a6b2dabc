"""Whatever the program does, states tile each thread's life, levels tile the recording, and both tell the same.

Random programs are played on a few CPUs; the records a kernel would write go to the decoder, and the player's own account,
kept as plain lists of intervals, is the oracle.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import _native
from support.builders.spool_builder import DEAD, DISK, SLEEP, Spool, decode

State = tuple[str, int, int]
ON_ITS_WAY_NS = 1_000_000
"""Who was woken in the act of falling asleep, this shortly before the end of the recording, counts as runnable."""


@dataclass
class Player:
    """Plays threads on CPUs: `truth[thread]` is what each did, as (state, begin, end)."""

    random: random.Random
    cpus: int
    spool: Spool = field(default_factory=Spool)
    now: int = 1000
    threads: int = 0
    on_cpu: dict[int, int] = field(default_factory=dict)
    state: dict[int, tuple[str, int]] = field(default_factory=dict)
    exec_ns: dict[int, int] = field(default_factory=dict)
    truth: dict[int, list[State]] = field(default_factory=dict)
    woken_in_vain: set[int] = field(default_factory=set)  # since they were last put on a CPU
    doubtful: set[tuple[int, int]] = field(default_factory=set)  # (thread, begin) of sleeps that follow such a waking

    def step(self) -> None:
        self.now += self.random.choice([1, 7, 300, 40_000])
        cpu = self.random.randrange(self.cpus)
        ready = [each for each, (state, _) in self.state.items() if state == "runnable"]
        asleep = [each for each, (state, _) in self.state.items() if state in ("sleeping", "uninterruptible")]
        choice = self.random.random()
        if self.threads == 0 or (choice < 0.05 and self.threads < 12):
            self.be_born()
        elif asleep and choice < 0.35:
            self.wake(self.random.choice(asleep), cpu)
        elif choice < 0.4:
            self.wake_in_vain(cpu)
        else:
            self.switch(cpu, self.random.choice(ready) if ready and choice < 0.9 else None)

    def tid(self, thread: int) -> int:
        return 100 + thread

    def be_born(self) -> None:
        thread, self.threads = self.threads, self.threads + 1
        self.spool.fork(self.now, self.tid(thread))
        self.now += 1
        self.spool.waking(self.now, 0, self.tid(thread), new=True)
        self.truth[thread] = []
        self.exec_ns[thread] = 0
        self.state[thread] = ("runnable", self.now)

    def wake(self, thread: int, cpu: int) -> None:
        waker = self.on_cpu.get(cpu)
        self.spool.waking(self.now, cpu, self.tid(thread), by=None if waker is None else self.tid(waker))
        self.become(thread, "runnable")

    def wake_in_vain(self, cpu: int) -> None:
        """The kernel records a waking of a thread that is about to sleep but sees its condition and goes on."""
        if cpu in self.on_cpu:
            self.spool.waking(self.now, (cpu + 1) % self.cpus, self.tid(self.on_cpu[cpu]))
            self.woken_in_vain.add(self.on_cpu[cpu])

    def switch(self, cpu: int, into: int | None) -> None:
        out = self.on_cpu.pop(cpu, None)
        if out is None and into is None:
            return
        code, preempt, after = SLEEP, False, "runnable"
        if out is not None:
            fate = self.random.random()
            if fate < 0.5:
                code, after = self.random.choice([(SLEEP, "sleeping"), (DISK, "uninterruptible")])
            elif fate < 0.9:
                code, preempt = self.random.choice([0, SLEEP]), True
            else:
                code, after = DEAD, "dead"
                self.spool.exit(self.now, self.tid(out))
            ran = self.now - self.state[out][1]
            self.exec_ns[out] += self.random.randint(0, ran)
        into = None if into == out else into
        old, new = (None if each is None else self.tid(each) for each in (out, into))
        exec_ns = None if out is None else self.exec_ns[out]
        self.spool.switch(self.now, cpu, old, new, code, preempt, exec_ns)
        if out is not None:
            self.become(out, after)
            if out in self.woken_in_vain and code in (SLEEP, DISK) and not preempt:
                self.doubtful.add((out, self.now))
            self.woken_in_vain.discard(out)
        if into is not None:
            self.become(into, "running")
            self.on_cpu[cpu] = into

    def become(self, thread: int, state: str) -> None:
        before, since = self.state[thread]
        self.truth[thread].append((before, since, self.now))
        self.state[thread] = (state, self.now)

    def states(self, thread: int, window: tuple[int, int]) -> list[State]:
        """Return the thread's states inside a window, joined where a state merely goes on."""
        last, since = self.state[thread]
        found: list[State] = []
        for state, begin, end in [*self.truth[thread], (last, since, 1 << 60)]:
            if (thread, begin) in self.doubtful and begin < window[1] < end and window[1] - begin < ON_ITS_WAY_NS:
                state = "runnable"  # the records up to here can't tell that the waking was in vain
            begin, end = max(begin, window[0]), min(end, window[1])
            if end <= begin or state == "dead":
                continue
            if found and found[-1][0] == state and found[-1][2] == begin:
                found[-1] = (state, found[-1][1], end)
            else:
                found.append((state, begin, end))
        return found


def play(seed: int, cpus: int, steps: int) -> Player:
    player = Player(random.Random(seed), cpus)
    for _ in range(steps):
        player.step()
    return player


def levels_of(states: list[list[State]], window: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Count (active, running) between every two borders: slow, and too simple to be wrong."""
    inside = (ns for each in states for _, begin, end in each for ns in (begin, end) if window[0] < ns < window[1])
    borders = sorted({*window, *inside})
    found: dict[tuple[int, int], int] = {}
    for begin, end in itertools.pairwise(borders):
        now = [s for each in states for s, b, e in each if b <= begin and end <= e]
        level = (now.count("running") + now.count("runnable"), now.count("running"))
        found[level] = found.get(level, 0) + end - begin
    return found


def joined(states: list[State]) -> list[State]:
    found: list[State] = []
    for state, begin, end in states:
        if found and found[-1][0] == state and found[-1][2] == begin:
            found[-1] = (state, found[-1][1], end)
        else:
            found.append((state, begin, end))
    return found


programs = st.tuples(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 250))


def window_of(player: Player, cut: bool) -> tuple[int, int]:
    third = (player.now - 1000) // 3
    return (1000 + third, player.now - third) if cut else (1000, player.now)


@settings(max_examples=150)
@given(programs, st.booleans())
def test_every_thread_did_what_the_player_made_it_do(program: tuple[int, int, int], cut: bool) -> None:
    player = play(*program)
    window = window_of(player, cut)
    with tempfile.TemporaryDirectory() as folder:
        got = decode(player.spool, Path(folder), window)
    states = [got.states(thread) for thread in range(player.threads)]
    assert [joined(each) for each in states] == [player.states(thread, window) for thread in range(player.threads)]
    assert (got.result["resyncs"], got.result["gaps"], got.result["ignored"]) == (0, 0, 0)


@settings(max_examples=100)
@given(programs, st.booleans())
def test_levels_are_those_counted_moment_by_moment(program: tuple[int, int, int], cut: bool) -> None:
    player = play(*program)
    window = window_of(player, cut)
    with tempfile.TemporaryDirectory() as folder:
        got = decode(player.spool, Path(folder), window, bin_ns=max(1, (window[1] - window[0]) // 7))
    wanted = levels_of([player.states(thread, window) for thread in range(player.threads)], window)
    assert got.levels() == wanted
    assert sum(got.levels().values()) == window[1] - window[0]


@settings(max_examples=60)
@given(programs)
def test_a_bottle_graph_has_the_height_width_and_area_of_its_definition(program: tuple[int, int, int]) -> None:
    player = play(*program)
    window = window_of(player, cut=False)
    with tempfile.TemporaryDirectory() as folder:
        got = decode(player.spool, Path(folder), window)
    states = [player.states(thread, window) for thread in range(player.threads)]
    borders = sorted({*window, *(ns for each in states for _, begin, end in each for ns in (begin, end))})
    height, parallelism = [0.0] * len(states), [0] * len(states)
    for begin, end in itertools.pairwise(borders):
        now = {i: s for i, each in enumerate(states) for s, b, e in each if b <= begin and end <= e}
        active = [i for i, state in now.items() if state in ("running", "runnable")]
        for i in active:
            height[i] += (end - begin) / len(active)
            parallelism[i] += (end - begin) * len(active) if now[i] == "running" else 0
    totals = got.result["threads"]
    np.testing.assert_allclose(totals["height_ns"][: len(height)], height, rtol=1e-12, atol=1e-6)
    assert totals["active_while_running"].tolist() == parallelism
    area = [sum(e - b for s, b, e in each if s in ("running", "runnable")) for each in states]
    assert totals["active_ns"].tolist() == area


@settings(max_examples=60)
@given(programs, st.integers(1, 50), st.integers(1, 100))
def test_few_rows_and_small_batches_change_no_sum(program: tuple[int, int, int], rows: int, batch: int) -> None:
    player = play(*program)
    window = window_of(player, cut=False)
    with tempfile.TemporaryDirectory() as folder:
        path = player.spool.write(Path(folder))
        whole = decode(path, path, window)
        bounded = decode(path, path, window, bin_ns=1 << 12, max_activity_rows=rows, batch=batch)
    assert bounded.slices == whole.slices
    assert bounded.levels() == whole.levels()
    stolen = [each.result["activity"]["stolen_ns"].sum() for each in (whole, bounded)]
    assert stolen[0] == stolen[1] == sum(row.stolen or 0 for row in whole.slices)


@settings(max_examples=80)
@given(programs, st.booleans(), st.integers(1, 9))
def test_the_sweep_over_slices_finds_what_the_pass_over_records_found(
    program: tuple[int, int, int], cut: bool, bins: int
) -> None:
    player = play(*program)
    window, part = window_of(player, cut=False), window_of(player, cut)
    with tempfile.TemporaryDirectory() as folder:
        path = player.spool.write(Path(folder))
        got = decode(path, path, window)
    slices = got.slices
    again = _native.integrate_parallelism(
        thread_id=np.array([row.thread for row in slices], dtype=np.int32),
        start_ns=np.array([row.start for row in slices], dtype=np.int64),
        runnable_ns=np.array([row.runnable for row in slices], dtype=np.int64),
        running_ns=np.array([row.running for row in slices], dtype=np.int64),
        stolen_ns=np.array([row.stolen for row in slices], dtype=np.int64),
        kinds=np.zeros(player.threads, dtype=np.uint8),
        from_ns=part[0],
        to_ns=part[1],
        bin_ns=max(1, (part[1] - part[0]) // bins),
    )
    got.result["activity"] = again["activity"]
    assert got.levels() == levels_of([player.states(thread, window) for thread in range(player.threads)], part)
    begins = again["activity"]["bin_start_ns"].tolist()
    assert begins == sorted(begins)
    assert all(part[0] <= begin < max(part[1], part[0] + 1) for begin in begins)


@settings(max_examples=60)
@given(programs, st.data())
def test_lost_records_are_noticed_and_leave_whole_tables(program: tuple[int, int, int], data: st.DataObject) -> None:
    """Drop any records: states still tile, levels still add up, and whatever was put right was counted."""
    player = play(*program)
    window = window_of(player, cut=False)
    for records in player.spool.sched.values():
        lost = data.draw(st.sets(st.integers(0, max(0, len(records) - 1)), max_size=20))
        records[:] = [record for i, record in enumerate(records) if i not in lost]
    with tempfile.TemporaryDirectory() as folder:
        got = decode(player.spool, Path(folder), window)
    totals = got.result["threads"]
    assert got.result["gaps"] == 0
    assert sum(got.levels().values()) == window[1] - window[0]
    assert sum(ns * level[1] for level, ns in got.levels().items()) == int(totals["running_ns"].sum())
    assert sum(ns * level[0] for level, ns in got.levels().items()) == int(
        (totals["running_ns"] + totals["runnable_ns"]).sum()
    )
    assert all(level[1] <= player.cpus for level in got.levels())


@settings(max_examples=150)
@given(programs, st.data())
def test_a_damaged_spool_is_decoded_as_far_as_it_goes(program: tuple[int, int, int], data: st.DataObject) -> None:
    player = play(*program)
    window = window_of(player, cut=False)
    with tempfile.TemporaryDirectory() as folder:
        path = player.spool.write(Path(folder))
        for file in sorted(path.glob("*.spool")):
            content = bytearray(file.read_bytes())
            for _ in range(data.draw(st.integers(0, 6))):
                at = data.draw(st.integers(0, len(content) - 1))
                content[at] = data.draw(st.integers(0, 255))
            file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        got = decode(path, path, window)
    assert got.result["gaps"] == 0
    assert sum(got.levels().values()) == window[1] - window[0]
