"""The kinds of threads (application, GC, JIT, VM ...), defined here and nowhere else; C++ and TypeScript are made of it.

They are the closed vocabulary of `thread.kind`.
"""

from enum import StrEnum

from headway.model.wire import HW_BK_MONITOR, HW_BK_PARK, HW_BK_WAIT


class Kind(StrEnum):
    """The kind of a thread. Results by kind count CARRIER as APP and leave HEADWAY out."""

    APP = "app"
    GC = "gc"
    JIT = "jit"
    VM = "vm"
    CARRIER = "carrier"
    HEADWAY = "headway"

    @property
    def counted_as(self) -> "Kind":
        """Return the kind under which results count this one (carriers run application code)."""
        return Kind.APP if self is Kind.CARRIER else self


COUNTED = (Kind.APP.value, Kind.GC.value, Kind.JIT.value, Kind.VM.value)
"""The kinds that results tell apart, in the order in which native code numbers them from 0 (native/wire/thread_kinds.h)."""
NOT_COUNTED = 255
"""The number of threads that are in no result: headway's own."""
PROGRAM = (Kind.APP.value, Kind.CARRIER.value)
"""The kinds whose threads run the program's own code."""


def number_of(kind: Kind) -> int:
    """Return how native code numbers the kind of a thread."""
    counted = kind.counted_as.value
    return COUNTED.index(counted) if counted in COUNTED else NOT_COUNTED


BLOCKER_KINDS = {HW_BK_PARK: "park", HW_BK_MONITOR: "monitor", HW_BK_WAIT: "wait"}
"""What threads wait for each other in, by hw_blocker_kind: java.util.concurrent's parking, monitors, Object.wait."""
