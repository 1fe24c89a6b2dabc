"""Groups of causes that are measured alike: told by phases of a JVM, by the kernel alone, by calls of threads, by replays."""

from headway.analyses.common import causes
from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.gains.bounds import VANISHING

NAMES = tuple(CAUSES)
PHASES = {causes.GC: "gc_pause", causes.START: "startup", causes.END: "shutdown", causes.SAFEPOINT: "safepoint"}
STILL = (*PHASES, causes.UNKNOWN)
"""Causes while which the program does not run."""
OF_THE_KERNEL = (causes.OTHERS_WAIT, causes.BLOCKED, causes.JIT)
OF_THREADS = (causes.GC, causes.SAFEPOINT)
"""Beside pauses, these are waits for a thread of the JVM, of which the kernel alone tells."""
CALLS = (causes.SLEEP, causes.IO)
REPLAYED = VANISHING | {causes.CARRIERS}
"""Causes whose likely gain a replay tells."""
OF_THE_MACHINE = (*PHASES, causes.UNKNOWN, causes.SCHEDULER, causes.QUOTA)
"""Causes that are not of the program's own threads, which others would give way to."""
