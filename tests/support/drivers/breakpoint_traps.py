"""Lets test programs write watched addresses exactly as often as breakpoints count, SIGTRAPs or not.

On virtual machines a hit of a breakpoint may come without its reason: the kernel then sends SIGTRAP, as for an INT1 instruction,
and no breakpoint counts it (message HW124). The programs outlive that, and write once more, or say how many hits they had.
"""

from __future__ import annotations

C_WRITE = """
#include <signal.h>
static __thread volatile int traps;
static void on_trap(int number) { (void)number; ++traps; }
__attribute__((constructor)) static void outlive_traps(void) { signal(SIGTRAP, on_trap); }
static void write_watched(volatile long *at, long value) {
  int before;
  do {
    before = traps;
    *at = value;
  } while (traps != before);
}
"""
"""For programs in C: write_watched(at, value), which any breakpoint at `at` counts once."""

PYTHON_TRAPS = """
import signal
traps = []
signal.signal(signal.SIGTRAP, lambda *_: traps.append(1))
"""
"""For programs in Python, which handle signals on the main thread: `len(traps)` is how many SIGTRAPs the process has had."""
