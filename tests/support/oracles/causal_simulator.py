"""A small machine of cores, threads and locks, on which a program runs as it is, with a line really made faster, or with
that line made faster virtually, by the delays that the ledger inside the agent orders.

All times are integers, nanoseconds of the simulated machine. Nothing here depends on the computer's own time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support import _native_for_tests

MS = 1_000_000
QUANTUM_NS = 1 * MS  # CPU time between two samples of a thread
SLICE_NS = 3 * MS  # CPU time after which the scheduler takes the core away, if others wait for it
MOST_BEHIND_NS = 1000 * MS  # that a thread pays of what is added while it pays, as in settle.cpp
LITTLE_NS = 10_000
DEBT_FREE = 999  # no thread has this number

Op = tuple[Any, ...]
# ("run", line, ns)  ("sleep", ns)  ("sleep", ns, line)  ("lock", name)  ("unlock", name)  ("park",)  ("park", limit_ns)
# ("unpark", thread)  ("start", thread)  ("join", thread)  ("visit",)
# ("outside", ns): asleep for data from outside, where nothing is told and nothing is paid
# ("try", name, ns, line): takes the lock, or sleeps that long in the line and tries again


@dataclass(frozen=True)
class Program:
    """Thread 1 begins; others begin when they are started."""

    threads: Mapping[int, Sequence[Op]]
    cores: int = 4

    def time_in(self, line: str) -> int:
        return sum(op[2] for ops in self.threads.values() for op in ops if op[0] == "run" and op[1] == line)

    def visits_of(self, line: str) -> int:
        return sum(op[0] == "run" and op[1] == line for ops in self.threads.values() for op in ops)


@dataclass
class Result:
    """What came of a run: when it ended, and what was visited."""

    effective_ns: int  # until all threads have ended, inserted delays apart
    visits_ns: list[int] = field(default_factory=list)  # effective time at each "visit"
    delay_ns: int = 0


@dataclass
class Virtual:
    """How the line is made faster; `without` names rules that are not followed.

    Sleeps in the line are told of when they begin; without "tell sleeps" they hit while they last, without "look at sleeps" too
    when they have ended. Payers sleep; with `spin` they burn CPU time; with `awake` they wait by the wall's clock and offer
    their core to others at each look, so that the kernel counts them as waiting for a core wherever there is none left for them.
    """

    line: str
    speedup: float
    spin: bool = False
    awake: bool = False
    oversleep_ns: int = 0
    without: frozenset[str] = frozenset()


@dataclass
class _Thread:
    number: int
    ops: Sequence[Op]
    at: int = 0
    left_ns: int = -1  # of the operation it is in; -1: not begun
    cpu_ns: int = 0
    run_delay_ns: int = 0
    sampled_ns: int = 0  # CPU time since its last sample, without paying
    sliced_ns: int = 0
    pay_ns: int = 0  # left to spin
    pays_asked_ns: int = 0
    pay_from_ns: int = 0
    paid_ns: int = 0  # in this operation, or for this sample, after the first payment
    has_paid: bool = False
    wakes_ns: int | None = None  # asleep until then
    why_asleep: str = ""
    sleeps_in: str = ""
    untold_ns: int = 0  # of its sleep in the line that is made faster
    has_permit: bool = False
    ending: Any = None  # of the wait that it has just been woken from
    is_blocked: bool = False
    is_over: bool = False


class Machine:
    """The simulated machine: cores, threads, locks and their clock."""

    def __init__(
        self, program: Program, *, real: tuple[str, float] | None = None, virtual: Virtual | None = None
    ) -> None:
        self.program, self.real, self.virtual = program, real, virtual
        self.now_ns = 0
        self.threads = {n: _Thread(n, ops) for n, ops in program.threads.items()}
        self.started: list[_Thread] = []
        self.on_core: list[_Thread] = []
        self.ready: deque[_Thread] = deque()
        self.holders: dict[str, _Thread] = {}
        self.queues: dict[str, deque[_Thread]] = {}
        self.joiners: dict[int, list[_Thread]] = {}
        self.result = Result(0)
        self.ledger: Any = None
        if virtual is not None:
            self.ledger = _native_for_tests.CausalLedger(program.cores)
        self._begin(self.threads[1])

    # --- the machine ---

    def run(self) -> Result:
        """Run the program to its end."""
        for _ in range(1_000_000):
            self._give_cores()
            if not self.on_core and all(thread.wakes_ns is None for thread in self.started):
                break
            self._pass_time()
        assert all(thread.is_over for thread in self.started), "the program is in a deadlock"
        self.result.effective_ns = self._effective_ns()
        self.result.delay_ns = self.ledger.delay_ns() if self.ledger is not None else 0
        return self.result

    def _effective_ns(self) -> int:
        return self.now_ns - (self.ledger.delay_ns() if self.ledger is not None else 0)

    def _give_cores(self) -> None:
        """Until every core has a thread that needs time: what needs none happens now."""
        while True:
            while self.ready and len(self.on_core) < self.program.cores:
                thread = self.ready.popleft()
                thread.sliced_ns = 0
                self.on_core.append(thread)
            waiting = [thread for thread in self.on_core if not self._needs_time(thread)]
            if not waiting:
                if not self.ready or len(self.on_core) == self.program.cores:
                    return
                continue
            self._act(waiting[0])

    def _needs_time(self, thread: _Thread) -> bool:
        return thread.pay_ns > 0 or thread.left_ns > 0

    def _time_to_event(self, thread: _Thread) -> int:
        if thread.pay_ns > 0:
            needed = thread.pay_ns
        else:
            needed = thread.left_ns
            if self.virtual is not None:
                needed = min(needed, QUANTUM_NS - thread.sampled_ns)
        return min(needed, SLICE_NS - thread.sliced_ns) if self.ready else needed

    def _pass_time(self) -> None:
        steps = [self._time_to_event(thread) for thread in self.on_core]
        steps += [thread.wakes_ns - self.now_ns for thread in self.started if thread.wakes_ns is not None]
        step = max(min(steps), 0)
        self.now_ns += step
        for thread in self.ready:
            thread.run_delay_ns += step
        self._count_waiting_payers(step)
        for thread in self.on_core:
            thread.cpu_ns += step
            thread.sliced_ns += step
            if thread.pay_ns > 0:
                thread.pay_ns -= step
            else:
                thread.left_ns -= step
                thread.sampled_ns += step
        self._count_sleepers(step)
        self._wake_sleepers()
        for thread in list(self.on_core):
            self._after_running(thread)

    def _count_waiting_payers(self, step: int) -> None:
        payers = [thread for thread in self.started if thread.why_asleep == "pay" and thread.wakes_ns is not None]
        if not payers or not self._rules().awake:
            return
        free = self.program.cores - len(self.on_core)
        for thread in payers:  # they take turns on what cores are left
            thread.run_delay_ns += step * max(len(payers) - free, 0) // len(payers)

    def _count_sleepers(self, step: int) -> None:
        """Whoever sleeps in the line hits; of those that sleep in it together, one: all would wake earlier at once."""
        if self.virtual is None:
            return
        if "tell sleeps" not in self._rules().without or "look at sleeps" in self._rules().without:
            return
        delay = round(step * self.virtual.speedup)
        asleep = [thread for thread in self.started if thread.wakes_ns is not None and thread.why_asleep == "sleep"]
        hits = [thread for thread in asleep if thread.sleeps_in == self.virtual.line]
        for thread in hits[:1]:
            self.ledger.hit_asleep(thread.number, delay, self.ledger.experiment())
        for thread in hits[1:]:
            self.ledger.excuse_hit(thread.number, delay, self.ledger.experiment())

    def _after_running(self, thread: _Thread) -> None:
        if thread.pays_asked_ns > 0 and thread.pay_ns == 0:
            self._pay(thread, thread.pays_asked_ns)
            self._owes_more(thread)
        elif self.virtual is not None and thread.sampled_ns >= QUANTUM_NS:
            self._sample(thread)
        if thread in self.on_core and thread.sliced_ns >= SLICE_NS and self.ready:
            self.on_core.remove(thread)
            self.ready.append(thread)

    def _wake_sleepers(self) -> None:
        for thread in self.started:
            if thread.wakes_ns is None or thread.wakes_ns > self.now_ns:
                continue
            thread.wakes_ns = None
            if thread.why_asleep == "pay":
                took = self.now_ns - thread.pay_from_ns
                self._pay(thread, took if "credit" not in self._rules().without else thread.pays_asked_ns)
                if "look after paying" not in self._rules().without:
                    self.ledger.look(thread.number, *self._clocks(thread))
                if self._owes_more(thread):
                    continue
            elif thread.why_asleep == "park":
                thread.is_blocked = False
                thread.ending = _native_for_tests.CausalWaitEnding.AS_MARKED
            self.ready.append(thread)

    def _block(self, thread: _Thread) -> None:
        self.on_core.remove(thread)
        thread.is_blocked = True
        if self.ledger is not None and "excuse woken" not in self._rules().without:
            self.ledger.wait_begins(thread.number, self.now_ns)

    def _wake(self, thread: _Thread, ending: Any, waker: _Thread) -> None:
        thread.is_blocked = False
        thread.wakes_ns = None
        thread.ending = ending
        self.ready.append(thread)
        if self.ledger is not None and "settle before unpark" in self._rules().without:
            # Nor is the waker's debt handed on: as if it were somebody who owes nothing.
            self.ledger.open(DEBT_FREE)
            self.ledger.woken(thread.number, DEBT_FREE, self.now_ns)
            self.ledger.close(DEBT_FREE)
        elif self.ledger is not None:
            self.ledger.woken(thread.number, waker.number, self.now_ns)

    def _begin(self, thread: _Thread) -> None:
        self.started.append(thread)
        self.ready.append(thread)
        if self.ledger is not None:
            self.ledger.open(thread.number)
            if "inherit" in self._rules().without:  # as if it had paid nothing so far
                self.ledger.pay(thread.number, -self.ledger.delay_ns(), self.ledger.experiment())
            self.ledger.look(thread.number, *self._clocks(thread))

    # --- the ledger's rules ---

    def _rules(self) -> Virtual:
        assert self.virtual is not None
        return self.virtual

    def _clocks(self, thread: _Thread) -> tuple[int, int, int]:
        return self.now_ns, thread.cpu_ns, thread.run_delay_ns

    def _sample(self, thread: _Thread) -> None:
        virtual = self._rules()
        thread.sampled_ns = thread.paid_ns = 0
        thread.has_paid = False
        if thread.ops[thread.at][1] == virtual.line:
            self.ledger.hit(thread.number, round(QUANTUM_NS * virtual.speedup), self.ledger.experiment())
        self._settle(thread, "samples")

    def _settle(self, thread: _Thread, rule: str) -> bool:
        """True: it has to pay first, and comes back when it has."""
        if self.virtual is None or rule in self.virtual.without or not self._owes_more(thread):
            return False
        if not self.virtual.spin:
            self.on_core.remove(thread)
        return True

    def _owes_more(self, thread: _Thread) -> bool:
        """It begins to pay what it owes; True if it does owe."""
        virtual = self._rules()
        if not self.ledger.is_in_debt(thread.number) or thread.paid_ns >= MOST_BEHIND_NS:
            return False
        if "excuse runnable" not in virtual.without:
            self.ledger.excuse(thread.number, *self._clocks(thread))
        owed = self.ledger.owed_ns(thread.number)
        if owed < LITTLE_NS:
            return False
        thread.paid_ns += owed if thread.has_paid else 0
        thread.has_paid = True
        thread.pays_asked_ns, thread.pay_from_ns = owed, self.now_ns
        if virtual.spin:
            thread.pay_ns = owed
        else:
            thread.wakes_ns, thread.why_asleep = self.now_ns + owed + virtual.oversleep_ns, "pay"
        return True

    def _pay(self, thread: _Thread, ns: int) -> None:
        self.ledger.pay(thread.number, ns, self.ledger.experiment())
        thread.pays_asked_ns = 0

    # --- operations ---

    def _act(self, thread: _Thread) -> None:
        if thread.ending is not None:
            ending, thread.ending = thread.ending, None
            if self.ledger is not None:
                if "owe timed out" in self._rules().without:
                    ending = _native_for_tests.CausalWaitEnding.WOKEN
                self.ledger.wait_ends(thread.number, ending, self.now_ns)
            self._next(thread)
            return
        if thread.at == len(thread.ops):
            self._end(thread)
            return
        op = thread.ops[thread.at]
        getattr(self, "_op_" + op[0])(thread, *op[1:])

    def _next(self, thread: _Thread) -> None:
        thread.at += 1
        thread.left_ns = -1
        thread.paid_ns, thread.has_paid = 0, False

    def _end(self, thread: _Thread) -> None:
        if self._settle(thread, "settle before end"):
            return
        self.on_core.remove(thread)
        thread.is_over = True
        for joiner in self.joiners.pop(thread.number, []):
            self._wake(joiner, self._woken(), thread)
        if self.ledger is not None:
            self.ledger.close(thread.number)

    def _woken(self) -> Any:
        return _native_for_tests.CausalWaitEnding.WOKEN

    def _op_run(self, thread: _Thread, line: str, ns: int) -> None:
        if thread.left_ns == 0:
            self._next(thread)
        elif self.real is not None and self.real[0] == line:
            thread.left_ns = round(ns * (1 - self.real[1]))
            if thread.left_ns == 0:
                self._next(thread)
        else:
            thread.left_ns = ns

    def _op_sleep(self, thread: _Thread, ns: int, line: str = "") -> None:
        if thread.left_ns == -1:
            self._fall_asleep(thread, ns, line)
        elif not self._wakes_in_debt(thread):
            self._next(thread)

    def _wakes_in_debt(self, thread: _Thread) -> bool:
        """What was not told before a sleep in the line is told after it; then the thread pays what it owes."""
        if thread.untold_ns > 0:
            self._tell_sleep(thread, thread.untold_ns)
            thread.untold_ns = 0
        return self._settle(thread, "settle after sleep")

    def _fall_asleep(self, thread: _Thread, ns: int, line: str) -> None:
        if self._settle(thread, "settle before sleep"):
            return
        if self.real is not None and self.real[0] == line:
            ns = round(ns * (1 - self.real[1]))
        self.on_core.remove(thread)
        thread.left_ns = -2
        thread.paid_ns, thread.has_paid = 0, False
        thread.wakes_ns, thread.why_asleep, thread.sleeps_in = self.now_ns + ns, "sleep", line
        if self.virtual is None or line != self.virtual.line:
            return
        if "tell sleeps" not in self.virtual.without:
            self._tell_sleep(thread, ns)
        elif "look at sleeps" in self.virtual.without:
            thread.untold_ns = ns

    def _tell_sleep(self, thread: _Thread, ns: int) -> None:
        """All others owe at once what the sleep is shorter, whoever else sleeps: they have paid for the others, or will."""
        self.ledger.hit_asleep(thread.number, round(ns * self._rules().speedup), self.ledger.experiment())

    def _op_try(self, thread: _Thread, name: str, ns: int, line: str) -> None:
        if thread.left_ns == -2:
            if self._wakes_in_debt(thread):
                return
            thread.left_ns = -1
        if name not in self.holders:
            self.holders[name] = thread
            self._next(thread)
        else:
            self._fall_asleep(thread, ns, line)

    def _op_outside(self, thread: _Thread, ns: int) -> None:
        if thread.left_ns == -2:
            self._next(thread)
            return
        self.on_core.remove(thread)
        thread.left_ns = -2
        thread.wakes_ns, thread.why_asleep = self.now_ns + ns, "outside"

    def _op_visit(self, thread: _Thread) -> None:
        self.result.visits_ns.append(self._effective_ns())
        self._next(thread)

    def _op_lock(self, thread: _Thread, name: str) -> None:
        if self.holders.get(name) is thread:
            self._next(thread)
        elif name not in self.holders:
            self.holders[name] = thread
            self._next(thread)
        elif not self._settle(thread, "settle before waiting") and name in self.holders:
            self.queues.setdefault(name, deque()).append(thread)
            self._block(thread)

    def _op_unlock(self, thread: _Thread, name: str) -> None:
        if self._settle(thread, "settle before unlock"):
            return
        del self.holders[name]
        if queue := self.queues.get(name):
            first = queue.popleft()
            self.holders[name] = first
            self._wake(first, self._woken(), thread)
        self._next(thread)

    def _op_park(self, thread: _Thread, limit_ns: int = 0) -> None:
        if self._settle(thread, "settle before waiting"):
            return
        if thread.has_permit:
            thread.has_permit = False
            self._next(thread)
            return
        self._block(thread)
        if limit_ns > 0:
            thread.wakes_ns, thread.why_asleep = self.now_ns + limit_ns, "park"

    def _op_unpark(self, thread: _Thread, target: int) -> None:
        if self._settle(thread, "settle before unpark"):
            return
        other = self.threads[target]
        if other.is_blocked and other.ops[other.at][0] == "park":
            self._wake(other, _native_for_tests.CausalWaitEnding.AS_MARKED, thread)
        else:
            other.has_permit = True
        self._next(thread)

    def _op_start(self, thread: _Thread, target: int) -> None:
        if self._settle(thread, "settle before start"):
            return
        self._begin(self.threads[target])
        self._next(thread)

    def _op_join(self, thread: _Thread, target: int) -> None:
        if self.threads[target].is_over:
            self._next(thread)
        elif not self._settle(thread, "settle before waiting"):
            self.joiners.setdefault(target, []).append(thread)
            self._block(thread)


def run(program: Program) -> Result:
    """Return how the program runs as it is."""
    return Machine(program).run()


def run_really(program: Program, line: str, speedup: float) -> Result:
    """Return how the program runs when its line is really faster, the truth that virtual speedups are held against."""
    return Machine(program, real=(line, speedup)).run()


def run_virtually(program: Program, virtual: Virtual) -> Result:
    """Return how the program runs under virtual speedup."""
    return Machine(program, virtual=virtual).run()


def bound_ns(program: Program, line: str, speedup: float) -> int:
    """Return by how much a virtual run may differ from the run whose line is really faster.

    A visit of a line that lasts L ns of CPU time is seen by n samples with |n * quantum - L| < quantum, since samples
    are a quantum apart: an error below speedup * quantum for each visit, of either sign. What others are told of a visit
    that goes on lags behind by less than one sample for each thread. Waits, wakings, sleeps and joins neither add to such
    errors nor make them greater: a time at which something happens is a maximum of sums of times that it waits for. And
    at its end a thread may owe what is too little to be paid.
    """
    threads = len(program.threads)
    return round(speedup * QUANTUM_NS * (program.visits_of(line) + threads)) + LITTLE_NS * threads
