"""Formats figures for people: three significant digits, in the unit that fits."""

from __future__ import annotations


def duration(ns: float) -> str:
    """Format a time in ns for people: '950 ns', '1.25 ms', '3.20 s', '12 min 5 s'."""
    if ns < 0:
        return f"-{duration(-ns)}"
    for unit, size, next_size in (("ns", 1, 1e3), ("us", 1e3, 1e6), ("ms", 1e6, 1e9), ("s", 1e9, 120e9)):
        # Rounded first: 999.9996 ms is 1.00 s.
        if float(f"{ns:.3g}") < next_size:
            return f"{significant(ns / size)} {unit}"
    minutes, seconds = divmod(round(ns / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def core_time(ns: float) -> str:
    """Format lost core time for people: less than a microsecond is less than the clocks of cores and locks can tell."""
    return "<1 us" if 0 < ns < 1e3 else duration(ns)


def significant(value: float) -> str:
    """Format a number with at most three significant digits, never with an exponent: '0.05', '1.25', '83.1', '12346'."""
    if value == 0 or abs(value) < 5e-4:
        return "0"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100:
        return f"{value:.0f}"
    return f"{rounded:.2f}" if abs(rounded) < 10 else f"{rounded:.1f}"


def percent(share: float) -> str:
    """Format a share 0..1 as a percentage: '0%', '<0.1%', '4.2%', '37%'."""
    value = share * 100
    if 0 < value < 0.1:
        return "<0.1%"
    return f"{value:.0f}%" if value >= 9.95 or value == 0 else f"{value:.1f}%"


def size(count: float) -> str:
    """Format a number of bytes for people: '950 B', '1.25 KiB', '83.1 MiB', '2.40 GiB'."""
    for unit in ("B", "KiB", "MiB"):
        if float(f"{count:.3g}") < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{significant(count)} {unit}"
        count /= 1024
    return f"{significant(count)} GiB"
