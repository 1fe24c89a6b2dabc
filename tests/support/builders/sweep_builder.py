"""Builds a sweep with recordings: 4,000 ns of work, nine tenths of it divided among threads, slightly unevenly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from headway.store.sweep import Sweep, SweepRegion, SweepRun, write_sweep
from support.builders import sample_builder
from support.builders.lock_builder import LOCK_CLASS, Wait
from support.builders.region_builder import JOIN_STACK, LOCK_STACK, STACKS, ParallelRun
from support.builders.synthetic import FakeThread

EVERY = 20
MAIN = ("java.lang.Thread.run0", "org.example.App.main")
WORK = ("java.lang.Thread.run", "org.example.App.work")
ALONE = (*MAIN, "org.example.App.work")
WARM = (*MAIN, "org.example.App.warm")
EVIL = "</script><script>window.hacked=1</script>\u202eevil"


@dataclass(frozen=True)
class Shape:
    """What a sweep's programs do, in ns; all multiples of EVERY.

    work: CPU time of the parallel program's workers together; the sequential one has 3,600 for the same. locked: what each worker
    waits for a lock, half-way; 0: locks are not recorded. warm_up: what the main thread of both does first, and the sweep leaves
    out. is_cut: the sequential program's thread is switched where its region begins. events: what was sampled of the CPU;
    in_turn: recorded runs take one of them each, by their numbers.
    """

    work: int = 3600
    locked: int = 0
    warm_up: int = 0
    events: tuple[str, ...] = ("cpu",)
    in_turn: bool = False
    is_cut: bool = False

    def of_run(self, number: int) -> Shape:
        """Return the shape of the recorded runs with a number, from 1."""
        return replace(self, events=(self.events[(number - 1) % len(self.events)],)) if self.in_turn else self


def _samples(thread: int, begin: int, end: int, stack: tuple[str, ...]) -> list[sample_builder.Sample]:
    return [(thread, ns, EVERY, stack) for ns in range(begin + EVERY // 2, end, EVERY)]


def _alone(path: Path, shape: Shape) -> int:
    begin, wall = shape.warm_up, shape.warm_up + 4000
    border = begin + 400 + 1  # half-way between the samples on both sides of it
    runs = [("R", border), ("R", wall - border)] if shape.is_cut else [("R", wall)]
    threads = [FakeThread("app", 0, runs, "main")]
    samples = _samples(0, 0, begin, WARM) + _samples(0, begin, begin + 400, MAIN)
    samples += _samples(0, begin + 400, wall, ALONE)
    sample_builder.write(path, threads, wall, {**dict.fromkeys(shape.events, samples), "alloc": samples[::50]})
    return wall


def _parallel(path: Path, n: int, shape: Shape) -> int:
    """Workers work in turn 0, 20, 40, ... ns longer than their share of the work, beside 400 ns of the main thread."""
    shares = [shape.work // n // EVERY * EVERY + EVERY * i for i in range(n)]
    begin = shape.warm_up + 400
    wall = begin + max(shares) + shape.locked
    threads = [FakeThread("app", 0, [("R", begin), ("B", wall - begin)], "main")]
    samples = _samples(0, 0, shape.warm_up, WARM) + _samples(0, shape.warm_up, begin, (*MAIN, EVIL))
    waits = [Wait(0, 1, begin, wall, stack=JOIN_STACK)]
    for i, share in enumerate(shares, start=1):
        half = share // 2 // EVERY * EVERY
        waits.append(Wait(i, 0, begin + half, begin + half + shape.locked, owner=i % n + 1, stack=LOCK_STACK))
        parts = [("R", half), ("B", shape.locked), ("R", share - half)] if shape.locked else [("R", share)]
        threads.append(FakeThread("app", begin, parts, f"worker-{i - 1}"))
        samples += _samples(i, begin, begin + half, WORK)
        samples += _samples(i, begin + half + shape.locked, begin + share + shape.locked, WORK)
    taken = dict.fromkeys(shape.events, sorted(samples, key=lambda s: s[1]))
    if shape.locked:
        classes = (LOCK_CLASS, "java.lang.Thread")
        run = ParallelRun(
            threads, waits, wall=wall, kinds=("park", "wait"), classes=classes, stacks=STACKS, samples=taken
        )
        run.write(path)
    else:
        sample_builder.write(path, threads, wall, taken)
    return wall


def make(path: Path, threads: tuple[int, ...] = (1, 2, 4), repeat: int = 2, shape: Shape | None = None) -> Sweep:
    """Write a sweep and return it. Every second run is plain, and takes as long as the recorded one."""
    shape = shape or Shape()
    (path / "runs").mkdir(parents=True)
    runs = []
    for number in range(1, repeat + 1):
        for program, n in (("sequential", 1), *(("parallel", n) for n in threads)):
            name = f"runs/{program}-{n}-{number}.headway"
            own = shape.of_run(number)
            wall = _alone(path / name, own) if program == "sequential" else _parallel(path / name, n, own)
            warm_up = shape.warm_up or None
            plain = SweepRun(program, n, number, False, "complete", 0, wall, 4000, None, warm_up)  # type: ignore[arg-type]
            recorded = SweepRun(program, n, number, True, "complete", 0, wall + 10 * number, 4000, name, warm_up)  # type: ignore[arg-type]
            runs += [plain, recorded]
    regions = (SweepRegion("work", r"App\.work"),)
    sweep = Sweep(path, "par {threads}", f"seq {EVIL}", threads, repeat, regions, runs=tuple(runs), cores=8)
    write_sweep(sweep)
    return sweep
