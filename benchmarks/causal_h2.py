"""The published find: H2's clients sleep 1 to 10 ms after a failed transaction. Is the sleep found, and is its gain predicted?

A driver of ours (java/benchmarks, Backoff) runs the transactions of TPC-C in its mix. In one warm program, sleeps of full length
and of a thousandth alternate, a second each: that is the real gain. Recorded as it is, with nothing named but the progress point,
the line that sleeps must be the first finding, and its virtual speedup by 100 % must predict that gain within 5 points. Recorded
once more with a main thread that sleeps throughout (whose line is worth nothing), that line must not be found.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import harness
import programs

SOURCE = Path(__file__).resolve().parent.parent / "java/benchmarks/src/main/java/headway/bench/Backoff.java"
PROGRESS = "headway.bench.Backoff.committed"
SCOPE = "headway.bench.*"
WITHIN = 5.0


def place(name: str) -> str:
    """Return the line that sleeps, as results name it."""
    lines = SOURCE.read_text().splitlines()
    (number,) = (number for number, text in enumerate(lines, 1) if re.search(rf"// line: {name}$", text))
    return f"{SOURCE.name}:{number}"


def command(options: Any, seconds: int, mode: str) -> list[str]:
    """Return the command that runs the driver."""
    libraries = f"{programs.TARGET / 'benchmarks.jar'}:{programs.TARGET}/lib/*"
    words = [str(seconds), str(options.threads), str(options.warehouses), mode]
    return ["java", "-Xms1g", "-Xmx1g", "-cp", libraries, "headway.bench.Backoff", *words]


def real(options: Any) -> tuple[float, float, float]:
    """Return the gain in percent when sleeps are 1000 times shorter, and its interval."""
    words = command(options, 2 * options.turns + 1, "turns")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
    played = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    times = [each["wall_ns"] / max(each["transactions"], 1) for each in played]
    # The first turn has long sleeps, and so has the last.
    ratios, _ = harness.pair_ratios(times[::2], times[1::2])
    return harness.bootstrap([100 * (1 - ratio) for ratio in ratios])


def predicted(options: Any, mode: str) -> dict[str, Any]:
    """Return what a recording says that knows nothing of the sleep."""
    with harness.recording_folder() as folder:
        target = folder / "h2.headway"
        asked = ["causal", "--progress", PROGRESS, "--scope", SCOPE, "-o", str(target)]
        words = [str(harness.HEADWAY), *asked, "--", *command(options, options.seconds, mode)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
        said: dict[str, Any] = harness.headway("causal", target)
    return said


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--seconds", type=int, help="recorded (240; 90 with --quick)")
    parser.add_argument("--turns", type=int, help="with short sleeps, a second each (20; 8 with --quick)")
    parser.add_argument("--threads", type=int, default=2, help="clients (2)")
    parser.add_argument("--warehouses", type=int, default=1, help="warehouses (1)")
    options = parser.parse_args()
    options.seconds = options.seconds or (90 if options.quick else 240)
    options.turns = options.turns or (8 if options.quick else 20)
    harness.progress("causal_h2: sleeps of a thousandth, really")
    gain, low, high = real(options)
    harness.progress(f"causal_h2: recorded for {options.seconds} s")
    lines = predicted(options, "long")["lines"]
    harness.progress(f"causal_h2: with a main thread that sleeps, recorded for {options.seconds} s")
    watched = predicted(options, "watched")["lines"]
    others = [line["line"] for line in watched if line["significant"]]
    findings = [line["line"] for line in lines if line["significant"]]
    mine: dict[str, Any] = next((line for line in lines if line["line"] == place("backoff")), {"points": []})
    whole = [each for each in mine["points"] if each["virtual_speedup_pct"] == 100]
    told = whole[0]["program_speedup_pct"] if whole else None
    rows = [
        [line["line"], f"{line['samples_pct']:.1f}", "yes" if line["significant"] else "no", str(line["slope"])]
        for line in lines[:8]
    ]
    print(harness.table(["line", "samples, %", "significant", "slope"], rows))
    said = "nothing" if told is None else f"{told:+.1f} %"
    verdicts = [
        (
            f"first finding: {findings[0] if findings else 'none'}, the sleep is {place('backoff')}",
            findings[:1] == [place("backoff")],
        ),
        (f"a main thread that sleeps throughout, {place('watched')}, is no finding", place("watched") not in others),
        (
            f"sleeps 1000 times shorter: predicted {said}, measured {gain:+.1f} % [{low:+.1f}, {high:+.1f}], target within 5",
            told is not None and abs(told - gain) <= WITHIN,
        ),
    ]
    return harness.finish(
        options,
        "causal_h2",
        {"real": [gain, low, high], "predicted": told, "lines": lines, "watched": watched},
        verdicts,
    )


if __name__ == "__main__":
    sys.exit(main())
