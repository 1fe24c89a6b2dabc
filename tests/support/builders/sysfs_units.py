"""Makes a tree of counting units as /sys/bus/event_source/devices has them, with cpumask, of events that this machine counts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_SOFTWARE = {"type": "1", "format/event": "config:0-63"}


def make_units(devices: Path, units: Mapping[str, Mapping[str, str]]) -> Path:
    """Write the files of some units below `devices`, each path with its text, and return the folder."""
    for unit, files in units.items():
        for path, text in files.items():
            (devices / unit / path).parent.mkdir(parents=True, exist_ok=True)
            (devices / unit / path).write_text(f"{text}\n")
    return devices


def software_unit(cpumask: str) -> dict[str, str]:
    """Return the files of a unit whose events are the kernel's clock and page faults: these can be opened on any CPU.

    In ms, as an energy meter's are in Joules: sysfs says what one count is.
    """
    clock = {"events/clock": "event=0x0", "events/clock.scale": "1e-06", "events/clock.unit": "ms"}
    faults = {"events/faults": "event=0x2", "events/never": "event=0x8"}  # emulation faults: none on this processor
    return {**_SOFTWARE, "cpumask": cpumask, **clock, **faults, "events/none": "event=0x4000"}


def time_stamp_unit(cpumask: str) -> dict[str, str]:
    """Return the files of a unit that counts as the PMU `msr` of this machine does: the time stamp counter."""
    msr = Path("/sys/bus/event_source/devices/msr")
    return {
        "type": (msr / "type").read_text().strip(),
        "format/event": (msr / "format/event").read_text().strip(),
        "cpumask": cpumask,
        "events/ticks": (msr / "events/tsc").read_text().strip(),
    }
