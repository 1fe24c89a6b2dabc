"""How long a million rows of locks take as JSON: by headway's writer, by Python's, by msgspec's and orjson's where installed.

    python benchmarks/lock_json.py [--rows 1000000] [--quick] [--json FILE]

The rows are like those of `headway locks --json`, a thousand different ones again and again; each writer indents by one, as that
does. CPU time, the least of five turns of all writers. Whether a writer gives the same bytes as Python's is shown beside.

Target: headway's writer takes at most half of the time of Python's, and gives the same bytes.
"""

from __future__ import annotations

import functools
import importlib
import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from headway.report.json.text import json_text
from lib import harness

TARGET = 0.5
TURNS = 5
DIFFERENT = 1000


def row(chance: random.Random, number: int) -> dict[str, Any]:
    """Return a row as locks.py writes them, its sites and wakers included; some names are not ASCII."""
    frames = tuple(f"org.acme.Worker{number % 7}.step{depth}" for depth in range(8))
    names = (
        *(
            "times_parked",
            "times_measured",
            "parked_now",
            "peak_parked",
            "parking_thread_time_ns",
            "parking_real_time_ns",
        ),
        *("first_ns", "last_ns", "average_parking_time_ns", "wait_time_ns", "lost_core_ns"),
    )
    return {
        "name": f"org.acme.Blätter@{number:x}",
        "class_name": "java.util.concurrent.locks.ReentrantLock$NonfairSync",
        "kind": "park",
        "contention": number % 2 == 0,
        "rule": {"id": "R1", "text": "a lock is asked for", "share": 1.0},
        "first_stack": frames,
        **{name: chance.randrange(10**12) for name in names},
        "real_time_util_pct": chance.random() * 100,
        "thread_time_util_pct": None,
        "sites": [{"line": frames[0], "stack": frames, "share": chance.random(), "wait_ns": chance.randrange(10**9)}],
        "wakers": [{"thread": f"pool-{number}", "tid": number, "share": chance.random(), "times": 3}],
        "holders": [],
        "chain": [],
    }


def writers() -> dict[str, Callable[[Any], bytes]]:
    """Return the writers that there are."""
    found: dict[str, Callable[[Any], bytes]] = {
        "headway": lambda value: json_text(value).encode(),
        "json": lambda value: json.dumps(value, indent=1, allow_nan=False).encode(),
    }
    for name in ("msgspec.json", "orjson"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if name == "orjson":  # which can indent by two, or not at all
            found[name] = functools.partial(module.dumps, option=module.OPT_INDENT_2)
        else:
            found[name] = functools.partial(_indented, module)
    return found


def _indented(module: Any, value: Any) -> bytes:
    return bytes(module.format(module.encode(value), indent=1))


def main() -> int:
    """Measure each writer and print."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--rows", type=int, help="(1,000,000; 100,000 with --quick)")
    options = parser.parse_args()
    count = options.rows or (100_000 if options.quick else 1_000_000)
    chance = random.Random(20251126)
    rows = [row(chance, number) for number in range(DIFFERENT)]
    every = writers()
    taken_s: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(TURNS):
        for name, write in every.items():
            begin = time.process_time()
            for number in range(count // TURNS):
                write(rows[number % DIFFERENT])
            taken_s[name].append((time.process_time() - begin) * TURNS)
    least_s = {name: min(each) for name, each in taken_s.items()}
    same = {name: all(write(each) == every["json"](each) for each in rows) for name, write in every.items()}
    shown = [f"{name} {s:.1f} s{'' if same[name] else ', other bytes'}" for name, s in least_s.items()]
    ratio = least_s["headway"] / least_s["json"]
    text = f"{count:,} rows: {'; '.join(shown)}; target half of json's time, the same bytes"
    return harness.finish(
        options, "lock_json", {"taken_s": taken_s, "same_bytes": same}, [(text, ratio <= TARGET and same["headway"])]
    )


if __name__ == "__main__":
    sys.exit(main())
