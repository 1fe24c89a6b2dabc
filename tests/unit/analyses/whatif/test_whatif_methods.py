"""`headway whatif --faster`: programs whose time with a faster method arithmetic knows, and what can't be asked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.types import Change, MethodChange, Predicted
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders import sample_builder
from support.builders.replay_builder import TIMED_FUTEX, Slice, write

pytestmark = pytest.mark.usefixtures("intervals_of_one_run")

Run = Callable[..., tuple[int, str, str]]
US = 1000
PARSE = ("java.lang.Thread.run", "com.acme.Main.run", "com.acme.Parser.parse", "com.acme.Lexer.next")
WRITE = ("java.lang.Thread.run", "com.acme.Main.run", "com.acme.Writer.put")
SLICES = [
    Slice(0, 0, 0, 0, 400),
    Slice(0, 400, 500, 500, 1000, blocked_in=TIMED_FUTEX, irq=True),
    Slice(1, 0, 0, 0, 400),
    Slice(1, 400, 1000, 1000, 1100, waker=0),
]
"""Thread 0 computes 400 and 500, and sleeps 100 in between; thread 1 computes 400, waits for its end, and computes 100."""
WALL = 1100
FIRST = {100 * i: PARSE if i <= 4 else WRITE for i in (1, 2, 3, 4, 6, 7, 8, 9, 10)}
"""A sample each 100 of CPU time: what thread 0 does before the sleep is parsing, after it writing."""
SECOND = {100: WRITE, 200: WRITE, 300: WRITE, 400: WRITE, 1100: PARSE}


def sampled(path: Path, *threads: Mapping[int, tuple[str, ...] | None]) -> Path:
    """Write a recording with CPU samples: by thread and time in microseconds the stack, None where it was not read."""
    given = threads or (FIRST, SECOND)
    taken = [(i, at * US, 100 * US, stack) for i, each in enumerate(given) for at, stack in each.items()]
    return write(path, SLICES, WALL, 2, tables=sample_builder.tables({"cpu": taken}), ended_by="duration")


def predicted(path: Path, *methods: tuple[str, float], **change: Any) -> Predicted:
    """Return the wall time when methods take parts of their CPU time."""
    asked = tuple(MethodChange(*each) for each in methods)
    (found,) = whatif(open_recording(path), [2], Change(1, methods=asked, **change)).predicted
    return found


def test_steps_in_which_a_method_ran_compute_less(tmp_path: Path) -> None:
    """Parsing takes 400 of thread 0 before its sleep, and 100 of thread 1 in the end; writing the 500 in between."""
    path = sampled(tmp_path / "a.headway")
    assert predicted(path, ("Parser.parse", 0.5)).wall_ns == (200 + 100 + 500 + 50) * US
    assert predicted(path, ("com.acme.Lexer.next", 0.5)).wall_ns == 850 * US
    assert predicted(path, ("Writer.put", 0.2)).wall_ns == (400 + 100 + 100 + 100) * US
    assert predicted(path, ("Main.run", 0.0)).wall_ns == 100 * US
    assert predicted(path, ("Parser.parse", 0.5), ("Writer.put", 0.2)).wall_ns == (200 + 100 + 100 + 50) * US
    assert predicted(path, ("Parser.parse", 0.5), clock=2.0).wall_ns == (100 + 100 + 250 + 25) * US


def test_the_interval_is_that_of_the_number_of_samples(tmp_path: Path) -> None:
    """5 of 14 samples are in the method: its CPU time is known to 1.96 times the root of (1 - 5/14) / 5."""
    found = predicted(sampled(tmp_path / "a.headway"), ("Parser.parse", 0.5))
    error = 1.96 * math.sqrt((1 - 5 / 14) / 5)
    assert found.high_ns == pytest.approx((1100 - 250 * (1 - error)) * US, rel=1e-6)
    assert found.low_ns == found.wall_ns  # whole steps are the method's: no more of them could be


def test_time_whose_stack_was_not_read_may_be_the_method_s(tmp_path: Path) -> None:
    path = sampled(tmp_path / "a.headway", {**FIRST, 700: None}, SECOND)
    found = predicted(path, ("Parser.parse", 0.5))
    assert (found.low_ns, found.wall_ns) == (800 * US, 850 * US)


@pytest.mark.parametrize(
    ("threads", "methods", "reason"),
    [
        ((FIRST, SECOND), [("Parser.prase", 0.5)], r"HW857.*there are: com.acme.Parser.parse"),
        ((FIRST, SECOND), [("arse", 0.5)], "HW857"),
        (({**FIRST, 700: None, 800: None}, SECOND), [("Parser.parse", 0.5)], "HW858.*14%"),
        ((FIRST,), [("Parser.parse", 0.5)], "HW858.*36%"),
        ((FIRST, SECOND), [("Parser.parse", 0.5), ("Lexer.next", 0.5)], "HW859.*Parser.parse and Lexer.next"),
        ((FIRST, SECOND), [("Parser.parse", 0.5), ("parse", 0.2)], "HW859"),
    ],
)
def test_a_change_that_cannot_be_asked_is_refused_by_name(
    tmp_path: Path, threads: Any, methods: list[tuple[str, float]], reason: str
) -> None:
    with pytest.raises(HeadwayError, match=reason):
        predicted(sampled(tmp_path / "a.headway", *threads), *methods)


def test_recordings_without_cpu_samples_say_how_to_record_them(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", SLICES, WALL, 2, ended_by="duration")
    code, _, err = run("whatif", path, "--faster", "A.b=50%")
    assert (code, "HW856" in err, "headway record --sample cpu" in err) == (1, True, True)


@pytest.mark.parametrize("value", ["A.b", "=50%", "A.b=100%", "A.b=-1", "A.b=nan"])
def test_a_change_of_a_method_that_says_nothing_is_wrong_usage(run: Run, tmp_path: Path, value: str) -> None:
    assert run("whatif", sampled(tmp_path / "a.headway"), "--faster", value)[0] == 2


def test_the_command_shows_the_change(run: Run, tmp_path: Path) -> None:
    path = sampled(tmp_path / "a.headway")
    code, out, _ = run("whatif", path, "--faster", "com.acme.Parser.parse=50%", "--json")
    answer = json.loads(out)
    assert code == 0
    assert [each["wall_ns"] for each in answer["changes"]] == [850 * US]
    assert answer["changes"][0]["change"]["methods"] == [{"method": "com.acme.Parser.parse", "part": 0.5}]
    shown = run("whatif", path, "--faster", "com.acme.Parser.parse=50%")[1]
    assert "Parser.parse in" in shown
    assert "50% of" in shown
