"""A sweep of recordings made by hand: 4,000 ns of work, of which nine tenths are shared among threads, a bit unevenly."""

from __future__ import annotations

from pathlib import Path

import made_samples
from headway.store.sweep import Sweep, SweepRegion, SweepRun, write_sweep
from synthetic import FakeThread

EVERY = 20
MAIN = ("java.lang.Thread.run0", "org.example.App.main")
WORK = ("java.lang.Thread.run", "org.example.App.work")
ALONE = (*MAIN, "org.example.App.work")
EVIL = "</script><script>window.hacked=1</script>\u202eevil"


def _samples(thread: int, begin: int, end: int, stack: tuple[str, ...]) -> list[made_samples.Sample]:
    return [(thread, ns, EVERY, stack) for ns in range(begin + EVERY // 2, end, EVERY)]


def _alone(path: Path) -> int:
    threads = [FakeThread("app", 0, [("R", 4000)], "main")]
    samples = _samples(0, 0, 400, MAIN) + _samples(0, 400, 4000, ALONE)
    made_samples.write(path, threads, 4000, {"cpu": samples, "alloc": samples[::50]})
    return 4000


def _parallel(path: Path, n: int) -> int:
    """Workers work in turn 0, 20, 40, ... ns longer than their share of 3,600 ns, beside 400 ns of the main thread."""
    shares = [3600 // n // EVERY * EVERY + EVERY * i for i in range(n)]
    wall = 400 + max(shares)
    threads = [FakeThread("app", 0, [("R", 400), ("B", wall - 400)], "main")]
    threads += [FakeThread("app", 400, [("R", share)], f"worker-{i}") for i, share in enumerate(shares)]
    samples = _samples(0, 0, 400, (*MAIN, EVIL))
    for i, share in enumerate(shares):
        samples += _samples(i + 1, 400, 400 + share, WORK)
    made_samples.write(path, threads, wall, {"cpu": sorted(samples, key=lambda s: s[1])})
    return wall


def make(path: Path, threads: tuple[int, ...] = (1, 2, 4), repeat: int = 2) -> Sweep:
    """Write a sweep and return it. Every second run is a plain one, and takes as long as the recorded ones."""
    (path / "runs").mkdir(parents=True)
    runs = []
    for number in range(1, repeat + 1):
        for program, n in (("sequential", 1), *(("parallel", n) for n in threads)):
            name = f"runs/{program}-{n}-{number}.headway"
            wall = _alone(path / name) if program == "sequential" else _parallel(path / name, n)
            plain = SweepRun(program, n, number, False, "complete", 0, wall, 4000)  # type: ignore[arg-type]
            recorded = SweepRun(program, n, number, True, "complete", 0, wall + 10 * number, 4000, name)  # type: ignore[arg-type]
            runs += [plain, recorded]
    regions = (SweepRegion("work", r"App\.work"),)
    sweep = Sweep(path, "par {threads}", f"seq {EVIL}", threads, repeat, regions, runs=tuple(runs), cores=8)
    write_sweep(sweep)
    return sweep
