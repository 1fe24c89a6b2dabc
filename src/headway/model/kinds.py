"""What a thread is for: the closed vocabulary of `thread.kind`."""

from enum import StrEnum


class Kind(StrEnum):
    """What a thread is for. `by_kind` results fold CARRIER into APP and leave HEADWAY out."""

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
