"""Labels of CPU samples: the region that a stack is in, whether it spins in a waiting loop, and its frame.

A stack belongs to the first region whose pattern is found in one of its frames, written Class.method (org.example.KMeans.assign);
the code that javac makes of a lambda goes by the method around it as well. A stack without any frame of a program's own (all
JDK, JVM, kernel) tells nothing: a pool's thread looks so between two tasks. Nor does one that begins at the stub to which a
virtual thread's frames return after a wait: those around them are in the heap, and any region may be among them. Frames of a
region that are left tell it all the same.

A sample counts as spinning by the first of these rules that fits:

    1  a frame is a call that exists to wait on a CPU: Thread.onSpinWait, Thread.yield, the JVM's TrySpin, SpinPause, SpinAcquire
    2  the innermost Java frame is where the JDK looks for work or others again and again: ForkJoinPool's scan, runWorker and
       awaitWork, Exchanger, Phaser.internalAwaitAdvance
    3  the innermost Java frame (the JDK's atomics left out) is of the program's own and called so: a method await, waitFor...,
       busyWait, spinWait, spinUntil, barrier, backoff ..., or any method of a class ...Barrier, ...SpinLock, ...Backoff
    4  its innermost own method has at least a fifth of its samples under rule 1: the loop around the yield

A compiled onSpinWait is one instruction and no frame, which is why rule 3 looks at names. The frames are shown with the figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common import patterns
from headway.analyses.waits.object_names import is_jdk, is_proxy
from headway.analyses.waits.tables.blocks import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording
    from headway.store.sweep import SweepRegion

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

OUTSIDE, SILENT = -1, -2
"""Labels of stacks that are in no region, and of those that tell nothing."""
EVENTS = ("cpu", "cycles", "instructions")
"""Events whose samples tell where the CPU time went, best first: what was imported may lack the first."""

RETURN_BARRIER = r"^(.*[.:])?[Cc]ont[_ ](thaw )?return[_ ]?[bB]arrier"
"""Found in the JVM's stub that a virtual thread's stack begins at once it has waited, until its innermost frames return; it is
called "Cont thaw return barrier" before JDK 25."""

_LAMBDA = re.compile(r"lambda\$(\w+)\$\d+")
_WAITS = re.compile(
    r"Thread\.(onSpinWait|yield0?$|SpinAcquire)|Thread::SpinAcquire|naked_yield|SpinPause|TrySpin|SpinYield"
)
_LOOKS = re.compile(
    r"java\.util\.concurrent\.(ForkJoinPool(\$WorkQueue)?\.(scan|runWorker|awaitWork|topLevelExec)|Exchanger\.\w+"
    r"|Phaser\.internalAwaitAdvance)"
)
_CALLED_SO = re.compile(
    r"(.*(Barrier|Spin[lL]ock|Back[oO]ff)\.\w+|.*\.((await|wait)([A-Z]\w*)?|spinning"
    r"|\w*([bB]usy_?[wW]ait|[sS]pin_?([wW]ait|[lL]ock|[uU]ntil|[wW]hile|[fF]or|[oO]n)|[bB]ack_?[oO]ff)\w*"
    r"|\w*[bB]arrier(_?([wW]ait|[aA]wait|[sS]ync)\w*)?))"
)
_ATOMICS = re.compile(r"java\.util\.concurrent\.atomic\.|java\.lang\.invoke\.|jdk\.internal\.|sun\.misc\.Unsafe")
_BARRIER = re.compile(RETURN_BARRIER)
_LONGEST_CALL = 256
"""So much of the end of a Class.method is looked at for what it is called: the pattern takes the square of that."""
_LOOP_SHARE = 5


@dataclass(frozen=True, eq=False)
class StackLabels:
    """The labels of each stack, by stack_id; the last row stands for samples without a known stack.

    `leaf` is its innermost frame, a place in `texts`; `own` and `root` are the innermost and the outermost method of the
    program's own, places in `methods`, -1 for none (`root` also where the outermost frames are lost). `waits`: rule 1 fits;
    `spins`: rule 1, 2 or 3.
    """

    label: Ints
    spins: Flags
    waits: Flags
    leaf: Ints
    own: Ints
    root: Ints
    texts: list[str]
    methods: list[str]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.label)


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """The samples of one event in order of time (ns from the recording's start), with the labels of their stacks."""

    event: str
    thread: Ints
    time: Ints
    weight: Ints
    stack: Ints
    label: Ints
    spins: Flags

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.time)


def plain_lambda(name: str) -> str:
    """Return a frame's method name; lambdas get the name of the method that defines them."""
    return _LAMBDA.sub(r"\1", name)


def is_found(pattern: re.Pattern[str], name: str) -> bool:
    """Return whether a region's pattern matches a frame's name, Class.method."""
    return bool(pattern.search(name)) or ("lambda$" in name and bool(pattern.search(plain_lambda(name))))


def load_stacks(recording: Recording, regions: Sequence[SweepRegion]) -> StackLabels:
    """Load and label every stack of a recording."""
    frames = _FrameLabels(recording, regions)
    rows = recording.query("SELECT stack_id, frame_id FROM stack ORDER BY stack_id, depth").fetchnumpy()
    stacks = _Rows(whole(rows["stack_id"]), np.searchsorted(frames.ids, whole(rows["frame_id"])))
    is_lost = stacks.first(frames.is_barrier) >= 0
    label = np.where((stacks.first(frames.is_own) >= 0) & ~is_lost, OUTSIDE, SILENT)
    region = np.full(stacks.count, len(regions), np.int64)
    np.minimum.at(region, stacks.stack, frames.region[stacks.frame])
    java = stacks.first(frames.is_java & ~frames.is_atomic)
    waits = stacks.first(frames.waits) >= 0
    return StackLabels(
        label=np.where(region < len(regions), region, label),
        spins=waits | _per_stack(frames.looks | (frames.called_so & frames.is_own), java, False),
        waits=waits,
        leaf=_per_stack(
            np.arange(len(frames.ids)), stacks.first(np.ones(len(frames.ids), dtype=bool)), len(frames.ids)
        ),
        own=_per_stack(frames.method, stacks.first(frames.is_own), -1),
        root=np.where(is_lost, -1, _per_stack(frames.method, stacks.last(frames.is_own), -1)),
        texts=frames.texts,
        methods=frames.methods,
    )


def load_samples(recording: Recording, stacks: StackLabels, event: str | None = None) -> LabelledSamples | None:
    """Load the samples of an event, or of the event that shows CPU time best; None where there are none."""
    if not recording.has("sample"):
        return None
    if event is None:
        there = {row[0] for row in recording.query("SELECT DISTINCT event FROM sample").fetchall()}
        event = next((each for each in EVENTS if each in there), None)
        if event is None:
            return None
    rows = recording.query(
        "SELECT thread_id, ns, weight, stack_id FROM sample WHERE event = $1 ORDER BY ns", (event,)
    ).fetchnumpy()
    if not len(rows["ns"]):
        return None
    stack = whole(rows["stack_id"])
    stack = np.where((stack < 0) | (stack >= len(stacks)), len(stacks) - 1, stack)
    weight = whole(rows["weight"])
    spins = stacks.spins[stack] | _loops(stacks, stack, weight)
    time = whole(rows["ns"]) - recording.window_ns[0]
    return LabelledSamples(event, whole(rows["thread_id"]), time, weight, stack, stacks.label[stack], spins)


def _loops(stacks: StackLabels, stack: Ints, weight: Ints) -> Flags:
    """Return rule 4: samples whose innermost own method waits on a CPU for at least a fifth of its time."""
    own = stacks.own[stack]
    known = own >= 0
    of_method = np.bincount(own[known], weights=weight[known], minlength=len(stacks.methods) + 1)
    waiting = known & stacks.waits[stack]
    of_waiting = np.bincount(own[waiting], weights=weight[waiting], minlength=len(stacks.methods) + 1)
    loops = (of_waiting > 0) & (of_waiting * _LOOP_SHARE >= of_method)
    return known & loops[own]


def _per_stack(values: NDArray[Any], frame: Ints, otherwise: int | bool) -> NDArray[Any]:
    """Return a value per stack from values per frame; `otherwise` for stacks without such a frame (-1)."""
    return np.append(values, otherwise)[frame]


class _Rows:
    """The rows of the table stack, innermost frame first; `frame` is a place among the frames."""

    def __init__(self, stack: Ints, frame: Ints) -> None:
        self.stack, self.frame = stack, frame
        self.count = int(stack.max(initial=-1)) + 2

    def first(self, wanted: Flags) -> Ints:
        """Return each stack's innermost frame that satisfies a condition, -1 for none."""
        return self._taken(np.flatnonzero(wanted[self.frame])[::-1])

    def last(self, wanted: Flags) -> Ints:
        """Return each stack's outermost frame that satisfies a condition, -1 for none."""
        return self._taken(np.flatnonzero(wanted[self.frame]))

    def _taken(self, rows: Ints) -> Ints:
        found = np.full(self.count, -1, np.int64)
        found[self.stack[rows]] = self.frame[rows]  # of several the last one stays
        return found


class _FrameLabels:
    """The labels of each frame of a recording. `region`: index of the first pattern that matches, else the number of patterns."""

    def __init__(self, recording: Recording, regions: Sequence[SweepRegion]) -> None:
        rows = recording.query(
            "SELECT frame_id, class_name, method, line, kind FROM frame ORDER BY frame_id"
        ).fetchall()
        names = [_text(row[1], row[2], None) for row in rows]
        self.ids = np.array([row[0] for row in rows], np.int64)
        self.texts = [_text(*row[1:4]) for row in rows] + ["(not known)"]
        self.is_java = _flags(row[4] not in ("native", "jvm", "kernel") for row in rows)
        self.is_own = self.is_java & _flags(row[1] and not is_jdk(row[1]) and not is_proxy(row[1]) for row in rows)
        self.is_atomic = _flags(_ATOMICS.match(name) for name in names)
        self.is_barrier = _flags(_BARRIER.search(name) for name in names)
        self.waits = _flags(_WAITS.search(name) for name in names)
        self.looks = _flags(_LOOKS.match(name) for name in names)
        self.called_so = _flags(_CALLED_SO.fullmatch(".".join(name.split(".")[-2:])[-_LONGEST_CALL:]) for name in names)
        self.methods = sorted(set(names))
        place = {name: i for i, name in enumerate(self.methods)}
        self.method = np.array([place[name] for name in names], np.int64)
        self.region = np.full(len(names), len(regions), np.int64)
        for number, region in reversed([*enumerate(regions)]):
            pattern = re.compile(region.pattern)
            with patterns.in_time(region.pattern, recording.path):
                self.region[_flags(is_found(pattern, name) for name in names)] = number


def _flags(values: Iterable[object]) -> Flags:
    return np.array([bool(each) for each in values], dtype=bool)


def _text(class_name: str, method: str, line: int | None) -> str:
    name = f"{class_name}.{method}" if class_name else method
    return name if line is None or line < 0 else f"{name}:{line}"
