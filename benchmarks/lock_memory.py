"""How much resident memory the program takes more when its locks are recorded.

A queue server whose threads park all the time, with a heap that is resident from the start, runs with and without
`record --locks` in turn. Its resident set is read from /proc/PID/smaps_rollup all the time; a run's figure is the median. Shown
too: what of it is the program's own (anonymous), and what is pages of headway's files that the kernel may take back.
Target: at most 0.3 % more.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lib import harness, programs

TARGET = 1.003
SAMPLE_S = 0.05
FIELDS = ("Rss", "Anonymous", "Pss")


@dataclass(frozen=True, slots=True)
class Memory:
    """Medians over one run, in KiB."""

    rss: float
    anonymous: float
    pss: float
    samples: int


def command(heap_mb: int, requests: int) -> list[str]:
    """Return the queue server's command, its heap resident from the start."""
    java, *rest = programs.workload("QueueServer", 32, 8, requests)
    rest.remove("-Xmx1g")
    return [java, f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-XX:+AlwaysPreTouch", *rest]


def java_below(pid: int) -> int | None:
    """Return the JVM among a process and its children; None if there is none yet. Raises OSError when all is over."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in (pid, *map(int, children)):
        if Path(f"/proc/{each}/comm").read_text().strip() == "java":
            return each
    return None


def resident(pid: int) -> dict[str, int]:
    """Return sums over all mappings of a process, in KiB. Raises OSError when it has ended."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        if name in FIELDS:
            found[name] = int(rest.split()[0])
    return found


def sample(words: Sequence[str]) -> Memory:
    """Run a command to its end and look at its JVM's memory meanwhile. Raises RuntimeError with its output if it fails."""
    samples: list[dict[str, int]] = []
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        jvm: int | None = None
        while process.poll() is None:
            try:
                jvm = jvm or java_below(process.pid)
                if jvm and (now := resident(jvm)):
                    samples.append(now)
            except OSError:
                pass  # the JVM has ended, or is not yet there
            time.sleep(SAMPLE_S)
        output.seek(0)
        if process.returncode != 0 or not samples:
            raise RuntimeError(f"{' '.join(words)}\nended with {process.returncode}:\n{output.read()[-3000:]}")
    later = samples[len(samples) // 3 :]  # the first third is start-up and warming up
    rss, anonymous, pss = (statistics.median(each[name] for each in later) for name in FIELDS)
    return Memory(rss, anonymous, pss, len(later))


def measure(heap_mb: int, requests: int, pairs: int, extra: Sequence[str]) -> tuple[list[Memory], list[Memory]]:
    """Run the program `pairs` times recorded, each between two runs without."""
    program, number = command(heap_mb, requests), itertools.count(1)
    with harness.recording_folder() as folder:

        def recorded() -> Memory:
            target = folder / f"{next(number)}.headway"
            return sample([str(harness.HEADWAY), "record", *extra, "-o", str(target), "--", *program])

        plain, treated = [sample(program)], []
        for _ in range(pairs):
            treated.append(recorded())
            plain.append(sample(program))
        return plain, treated


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--pairs", type=int, help="recorded runs (10; 3 with --quick)")
    parser.add_argument("--heap-mb", type=int, default=2048, help="the program's heap (2048; the paper's had 8 GiB)")
    parser.add_argument("--requests", type=int, default=8000, help="per client; each parks about four times")
    options = parser.parse_args()
    pairs = options.pairs or (3 if options.quick else 10)
    rows, figures = [], {}
    for name, extra in (
        ("--locks", ["--locks"]),
        ("--locks --forget-dead", ["--locks", "--forget-dead"]),
        ("without locks", ["--no-locks"]),
    ):
        harness.progress(f"lock memory: {name}, {pairs} pairs")
        off, on = measure(options.heap_mb, options.requests, pairs, extra)
        rss, anonymous = (
            harness.ratio([getattr(each, field) for each in off], [getattr(each, field) for each in on])
            for field in ("rss", "anonymous")
        )
        median_mb = statistics.median(each.rss for each in on) / 1024
        rows.append([name, f"{median_mb:.0f}", rss.percent(), anonymous.percent(), rss.noise()])
        figures[name] = {"rss": rss, "anonymous": anonymous, "off": off, "on": on}
    print(harness.table(["recorded", "MiB", "resident", "its anonymous part", "A/A noise"], rows))
    main_figure = figures["--locks"]["rss"]
    assert isinstance(main_figure, harness.Ratio)
    verdicts = [(f"resident memory {main_figure.percent()}, target +0.30 %", main_figure.median <= TARGET)]
    return harness.finish(options, "lock_memory", {"heap_mb": options.heap_mb, "recorded": figures}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
