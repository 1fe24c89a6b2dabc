"""Lists methods of the JDK whose code reads and writes no fields and no array elements, whatever their arguments.

Time in them is no sign of accesses that are not counted. What a method calls has frames of its own, and counts by those.

Checked    tests/e2e/numa/test_code_without_accesses.py: none has such an instruction in the class files of each JDK.
"""

from __future__ import annotations

from collections.abc import Mapping

_OF_NUMBERS = frozenset({"compare", "max", "min", "sum"})
_OF_BITS = _OF_NUMBERS | {
    "bitCount",
    "compareUnsigned",
    "divideUnsigned",
    "highestOneBit",
    "lowestOneBit",
    "numberOfLeadingZeros",
    "numberOfTrailingZeros",
    "remainderUnsigned",
    "reverse",
    "reverseBytes",
    "rotateLeft",
    "rotateRight",
    "signum",
}
_OF_INDEXES = frozenset({"checkIndex", "checkFromToIndex", "checkFromIndexSize"})
_FENCES = frozenset({"fullFence", "loadFence", "loadLoadFence", "storeFence", "storeStoreFence"})
_PARKING = frozenset({"park", "unpark", "allocateInstance"})

METHODS: Mapping[str, frozenset[str]] = {
    "java.lang.Object": frozenset({"<init>", "getClass", "hashCode", "notify", "notifyAll", "wait", "wait0"}),
    "java.lang.System": frozenset({"currentTimeMillis", "identityHashCode", "nanoTime"}),
    "java.lang.Thread": frozenset(
        {"currentCarrierThread", "currentThread", "onSpinWait", "sleep0", "sleepNanos0", "yield", "yield0"}
    ),
    "java.lang.Class": frozenset({"isAssignableFrom", "isInstance"}),
    "java.lang.Integer": _OF_BITS | {"toUnsignedLong"},
    "java.lang.Long": _OF_BITS,
    "java.lang.Short": frozenset({"compare", "reverseBytes", "toUnsignedInt", "toUnsignedLong"}),
    "java.lang.Byte": frozenset({"compare", "toUnsignedInt", "toUnsignedLong"}),
    "java.lang.Character": frozenset({"compare", "isHighSurrogate", "isLowSurrogate", "isSurrogate", "reverseBytes"}),
    "java.lang.Boolean": frozenset({"compare", "logicalAnd", "logicalOr", "logicalXor"}),
    "java.lang.Float": _OF_NUMBERS | {"floatToIntBits", "floatToRawIntBits", "intBitsToFloat", "isFinite"},
    "java.lang.Double": _OF_NUMBERS | {"doubleToLongBits", "doubleToRawLongBits", "isFinite", "longBitsToDouble"},
    "java.lang.invoke.VarHandle": frozenset(
        {"acquireFence", "fullFence", "loadLoadFence", "releaseFence", "storeStoreFence"}
    ),
    "java.lang.ref.Reference": frozenset({"reachabilityFence"}),
    "java.util.HashMap": frozenset({"hash"}),
    "java.util.Objects": _OF_INDEXES | {"equals", "hashCode", "isNull", "nonNull", "requireNonNull"},
    "java.util.concurrent.ConcurrentHashMap": frozenset({"spread"}),
    "jdk.internal.misc.Unsafe": _FENCES | _PARKING,
    "jdk.internal.util.Preconditions": _OF_INDEXES,
    "sun.misc.Unsafe": _FENCES | _PARKING,
}
"""By class, as names of samples' frames have them: methods, each with all that have its name."""


def accesses_nothing(class_name: str, method: str) -> bool:
    """Return whether the code of a method accesses no object; false also where that is not known."""
    return method in METHODS.get(class_name, ())
