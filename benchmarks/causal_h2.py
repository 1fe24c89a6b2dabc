"""The published find: H2's clients sleep 1 to 10 ms after a failed transaction. Is the sleep found, and is its gain predicted?

A driver of ours (java/benchmarks, Backoff) runs the transactions of TPC-C in its mix. In one warm program, sleeps of full length
and of a thousandth alternate, a second each: that is the real gain. Recorded as it is, with nothing named but the progress point,
the line that sleeps must be the first finding, and its virtual speedup by 100 % must predict that gain within 5 points. Recorded
once more with a main thread that sleeps throughout (whose line is worth nothing), that line must not be found.

Turns are short (--turn-ms): this program differs from second to second by a third of its rate, and what two turns beside each
other have in common cancels. Both gains are ratios of sums, so that they are of the same thing. --named records once only,
with the sleep as the target: all experiments are on it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lib import harness, programs

SOURCE = Path(__file__).resolve().parent.parent / "java/benchmarks/src/main/java/headway/bench/Backoff.java"
PROGRESS = "headway.bench.Backoff.committed"
DRIVER = "headway.bench."
SCOPES = (f"{DRIVER}*", "org.h2.*")
"""As in the source: H2's lines are to be had for themselves, else they all count for the few of the driver that call it."""
WITHIN = 5.0


def place(name: str) -> str:
    """Return the line that sleeps, as results name it."""
    lines = SOURCE.read_text().splitlines()
    (number,) = (number for number, text in enumerate(lines, 1) if re.search(rf"// line: {name}$", text))
    return f"{SOURCE.name}:{number}"


def command(options: Any, seconds: int, mode: str) -> list[str]:
    """Return the command that runs the driver."""
    libraries = f"{programs.TARGET / 'benchmarks.jar'}:{programs.TARGET}/lib/*"
    words = [str(seconds), str(options.threads), str(options.warehouses), mode, str(options.turn_ms)]
    return ["java", "-Xms1g", "-Xmx1g", "-cp", libraries, "headway.bench.Backoff", *words]


def real(options: Any) -> tuple[float, float, float]:
    """Return the gain in percent when sleeps are 1000 times shorter, and its interval."""
    words = command(options, 2 * options.turns + 1, "turns")  # as many unchanged ones, and one more
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
    played = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return gain_of([each["transactions"] * 1e9 / each["wall_ns"] for each in played])


def gain_of(rates: Sequence[float]) -> tuple[float, float, float]:
    """Return by how much less time a transaction takes in every second turn, in percent, and the 95 % interval.

    The first turn is an unchanged one, and so is the last. Means of rates, as the estimator of a recording has them; turns are
    drawn with the unchanged ones beside them.
    """
    changed = np.asarray(rates[1::2])
    around = (np.asarray(rates[:-1:2]) + np.asarray(rates[2::2])) / 2
    draws = np.random.default_rng(20260101).integers(len(changed), size=(harness.RESAMPLES, len(changed)))
    low, high = np.percentile(100 * (1 - around[draws].sum(axis=1) / changed[draws].sum(axis=1)), [2.5, 97.5])
    return float(100 * (1 - around.sum() / changed.sum())), float(low), float(high)


def predicted(options: Any, mode: str) -> list[dict[str, Any]]:
    """Return the lines of a recording, which knows of the sleep only if that is named."""
    line = f"line:{DRIVER}{place('backoff').replace('.java', '')}"
    with harness.recording_folder() as folder:
        target = folder / "h2.headway"
        named = ["--target", line] if options.named else []
        scopes = [word for scope in SCOPES for word in ("--scope", scope)]
        asked = ["causal", "--progress", PROGRESS, *scopes, *named, "-o", str(target)]
        words = [str(harness.HEADWAY), *asked, "--", *command(options, options.seconds, mode)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
        lines: list[dict[str, Any]] = harness.headway("causal", target)["lines"]
    return lines


def row(line: dict[str, Any]) -> list[str]:
    """Return a line's row of the table."""
    slope = "-" if line["slope"] is None else f"{line['slope']:.2f}"
    shares = [f"{line['samples_pct']:.1f}", f"{line['blocked_pct']:.1f}"]
    return [line["line"], *shares, "yes" if line["significant"] else "no", slope]


def options_of_run() -> Any:
    """Return what the command line asks for."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--seconds", type=int, help="recorded (240; 90 with --quick)")
    parser.add_argument(
        "--turns", type=int, help="with short sleeps, and as many with long ones (400; 100 with --quick)"
    )
    parser.add_argument("--turn-ms", type=int, default=200, help="length of a turn (200)")
    parser.add_argument("--threads", type=int, default=2, help="clients (2)")
    parser.add_argument("--warehouses", type=int, default=1, help="warehouses (1)")
    parser.add_argument("--named", action="store_true", help="record once only, with the sleep as the target")
    options = parser.parse_args()
    options.seconds = options.seconds or (90 if options.quick else 240)
    options.turns = options.turns or (100 if options.quick else 400)
    return options


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    options = options_of_run()
    harness.progress("causal_h2: sleeps of a thousandth, really")
    gain, low, high = real(options)
    harness.progress(f"causal_h2: {gain:+.1f} % [{low:+.1f}, {high:+.1f}]; recorded for {options.seconds} s")
    lines = predicted(options, "long")
    watched: list[dict[str, Any]] = []
    if not options.named:
        harness.progress(f"causal_h2: with a main thread that sleeps, recorded for {options.seconds} s")
        watched = predicted(options, "watched")
    others = [line["line"] for line in watched if line["significant"]]
    findings = [line["line"] for line in lines if line["significant"]]
    mine: dict[str, Any] = next((line for line in lines if line["line"] == place("backoff")), {"points": []})
    whole = [each for each in mine["points"] if each["virtual_speedup_pct"] == 100]
    predicted_pct = whole[0]["program_speedup_pct"] if whole else None
    rows = [row(line) for line in lines[:8]]
    print(harness.table(["line", "running, %", "asleep, %", "significant", "slope"], rows))
    said = (
        "nothing"
        if predicted_pct is None
        else f"{predicted_pct:+.1f} % [{whole[0]['low_pct']:+.1f}, {whole[0]['high_pct']:+.1f}]"
    )
    verdicts = [
        (
            f"first finding: {findings[0] if findings else 'none'}, the sleep is {place('backoff')}",
            findings[:1] == [place("backoff")],
        ),
        (
            f"sleeps 1000 times shorter: predicted {said}, measured {gain:+.1f} % [{low:+.1f}, {high:+.1f}], target within 5",
            predicted_pct is not None and abs(predicted_pct - gain) <= WITHIN,
        ),
    ]
    if not options.named:
        found = place("watched") in others
        verdicts.append((f"a main thread that sleeps throughout, {place('watched')}, is no finding", not found))
    return harness.finish(
        options,
        "causal_h2",
        {"real": [gain, low, high], "predicted": predicted_pct, "lines": lines, "watched": watched},
        verdicts,
    )


if __name__ == "__main__":
    sys.exit(main())
