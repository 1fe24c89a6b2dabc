"""What every command that takes `--counters` says to what it can't count, before anything is started or made."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
TOO_MANY = ",".join(f"r{number:x}" for number in range(1, 1001))
BAD = {
    "nonsense": ("HW103", "no event is called 'nonsense'; near: "),
    "cycles,instrutions": ("HW103", "near: instructions"),
    TOO_MANY: ("HW105", "1000 events in 1 group"),
    "cycles;": ("HW105", "a group is empty"),
    " ": ("HW105", "a group is empty"),
}


@pytest.mark.parametrize("counters", BAD, ids=["nonsense", "misspelt", "thousand", "empty-group", "blank"])
@pytest.mark.parametrize("command", ["record", "run", "sweep", "counters"])
def test_what_cannot_be_counted_is_refused_by_every_command_before_anything_starts(
    run: Run, tmp_path: Path, command: str, counters: str
) -> None:
    target, started = tmp_path / "made", tmp_path / "started"
    rest = {
        "record": ("-o", target, "--", "touch", started),
        "run": ("-o", target, "--", "touch", started),
        "sweep": ("--parallel", f"touch {started}", "--threads", "1", "-o", target),
        "counters": ("--pid", str(os.getppid())),
    }
    code, out, err = run(command, "--counters", counters, *rest[command])
    message, why = BAD[counters]
    assert (code, out, err.removeprefix("headway: ")[:5]) == (1, "", message)
    assert why in " ".join(err.split())
    assert not started.exists()
    assert not target.exists()
