"""What kind of waiting is it? Idle waiting is told apart from contention by the rules below, and every result names its rule.

Question   does a thread wait because another one has what it needs, or because there is nothing to do?
Method     rules in order, the first that fits decides. They look at the stack of the wait, the class of the object and
           whether the wait has a time limit; never at names of threads. A frame is written Class.method, the class without its
           package, so that copies of java.util.concurrent in other packages are recognised, too. `depth` counts the frames
           that are no JDK code: a loop that serves a queue is close to its thread's run(), a wait inside a call is not.
Assumes    queues are taken from by those that do the work in them, unless the code says borrow, acquire or the like.
Wrong when a pool of resources is a plain queue that is taken from within three frames of run(): it counts as waiting for
           work. Such rows stay visible, with their rule, under the idle waiting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

CONTENTION = "lock contention"
CONDITION = "waiting for a condition"
RESULT = "waiting for a result"
WORK = "waiting for work"
TIMER = "timer"
WAITINGS = (CONTENTION, CONDITION, RESULT, WORK, TIMER)
"""The classes of waiting, most telling first."""

CONTENDED = frozenset({CONTENTION, CONDITION})
"""Those that hold up a thread that has something to do. Who waits for the result of work it gave away is not held up by a
lock, and that work has rows of its own."""

_JDK = re.compile(r"(java|javax|jdk|sun|com\.sun)\.")
_MECHANISM = re.compile(
    r"(Unsafe\.park|LockSupport\.park\w*|Object\.wait\w*|ForkJoinPool\.((un)?managedBlock|compensatedBlock)"
    r"|\w*Node\.(block|await)|[\w$]+\$\w*Node\.(block|await)|AbstractQueued(Long)?Synchronizer(\$ConditionObject)?\.\w+"
    r"|\w+\$Signaller\.block|VirtualThread\.\w+|VirtualThreads\.\w+|System\$\d+\.\w+|Continuation\w*\.\w+)"
)
_ACQUIRE = re.compile(r"AbstractQueued(Long)?Synchronizer\.(\w*[aA]cquire\w*|parkAndCheckInterrupt)")
_QUEUE = re.compile(r"(?P<type>[\w$]*(Queue|Deque)(\$\w+)*)\.(?P<method>\w+)")
_PUTS = re.compile(r"(put|offer|add|transfer|tryTransfer)")
_TAKES = re.compile(r"(take|poll|remove|drain|peek|pop|dequeue)", re.IGNORECASE)
_RESOURCE = re.compile(
    r"(borrow|acquire|check_?out|lease|reserve|obtain|getConnection|getResource|fromPool)", re.IGNORECASE
)
_SERVES = re.compile(
    r"(take|poll|pop|dequeue|receive|mainLoop|idle|next(Task|Job|Work|Event|Message)|get(Task|Job|Work|Event|Message)"
    r"|(wait|await)For(Task|Job|Work|Event|Message)s?)",
    re.IGNORECASE,
)
_COLLECTION = re.compile(r"(\w*(Queue|Deque|List|Vector|Stack))$")
_RESULTS = re.compile(
    r"(FutureTask|CompletableFuture|ForkJoinTask|CountedCompleter|AbstractExecutorService|ExecutorCompletionService"
    r"|ForkJoinPool\$\w+|StructuredTaskScope\w*|ThreadFlock|ThreadPerTaskExecutor|ProcessImpl|Process)\.\w+"
    r"|\w+\.(awaitTermination|awaitQuiescence)|Thread\.join\w*|ApplicationShutdownHooks\.\w+"
)
_LIBRARY_WORKERS = re.compile(
    r"CoroutineScheduler\$Worker\.(park|tryPark)|WorkerThread\.(park|parkLoop|parkUntilNextSleeper)|QueuedThreadPool\.\w+"
)
_NEAR_RUN = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that decided: stable id, the class of waiting, and the rule in words."""

    id: str
    waiting: str
    text: str

    @property
    def contention(self) -> bool:
        """Return whether the waiting counts as contention."""
        return self.waiting in CONTENDED


@dataclass(frozen=True)
class Wait:
    """What the rules look at: `frames` are (class, method), innermost first; none if no stack was taken."""

    kind: str
    class_name: str
    frames: Sequence[tuple[str, str]] = ()
    is_timed: bool = False
    is_cut: bool = False

    @cached_property
    def blocker(self) -> str:
        """Return the class of the object, without its package."""
        return simple(self.class_name)

    @cached_property
    def calls(self) -> tuple[str, ...]:
        """Return the frames as Class.method, without packages and without the proxies of lambdas."""
        return tuple(f"{simple(name)}.{method}" for name, method in self.frames if "$$Lambda" not in name)

    @cached_property
    def callers(self) -> tuple[str, ...]:
        """Return the calls from the one on that is no part of how threads are made to wait."""
        skip = next((i for i, call in enumerate(self.calls) if not _MECHANISM.fullmatch(call)), len(self.calls))
        return self.calls[skip:]

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Return the calls that are no JDK code."""
        return tuple(
            f"{simple(name)}.{method}"
            for name, method in self.frames
            if "$$Lambda" not in name and not _JDK.match(name)
        )

    @property
    def caller(self) -> str:
        """Return who asked to wait."""
        return self.callers[0] if self.callers else ""

    @property
    def is_near_run(self) -> bool:
        """Return whether the wait is in the outermost frames of its thread, as a loop that serves something is."""
        return not self.is_cut and bool(self.frames) and len(self.own) <= _NEAR_RUN

    def calls_any(self, *names: str) -> bool:
        """Return whether one of the frames is in progress."""
        return any(call in names for call in self.calls)

    @cached_property
    def queue_method(self) -> str:
        """Return the method by which a queue was entered, '' when the wait is in no queue."""
        method = ""
        for call in self.callers:
            match = _QUEUE.fullmatch(call)
            if match is None:
                break
            method = match["method"]
        return method

    @property
    def acquires(self) -> bool:
        """Return whether the thread waits in the queue of a synchroniser, not on a condition of it."""
        inner = next((call for call in self.calls if call.startswith("AbstractQueued")), "")
        return self.kind == "park" and bool(_ACQUIRE.fullmatch(inner))


TOGETHER = " (together)"
"""Behind the name of a class whose objects are not told apart."""


CLASS_INITIALISATION = "class initialisation"
"""What the agent calls the JVM's own locks of classes, instead of int[]; mostly followed by "for" and a class."""


def simple(class_name: str) -> str:
    """Return a class name without its package: AbstractQueuedSynchronizer$ConditionObject."""
    return class_name.split("/", 1)[0].rpartition(".")[2]


def display(class_name: str, identity_hash: int, is_rest: bool = False) -> str:
    """Return what people see of an object: ReentrantLock@1f2e3d. Inner classes that only say how are left out.

    `is_rest`: no object, but all of the class that are not told apart: short-lived ones, and forgotten ones.
    """
    if not class_name:
        return "(no blocker)"
    if class_name.startswith(CLASS_INITIALISATION):  # which object the JVM takes for its lock tells nobody anything
        return class_name
    name = _shown(class_name)
    return f"{name}{TOGETHER}" if is_rest or not identity_hash else f"{name}@{identity_hash & 0xFFFFFFFF:x}"


@lru_cache(maxsize=1024)
def _shown(class_name: str) -> str:
    name = re.sub(r"\$(NonfairSync|FairSync|Sync)$", "", simple(class_name))
    return re.sub(r"^AbstractQueued(Long)?Synchronizer\$ConditionObject$", "Condition", name)


def is_jdk(class_name: str) -> bool:
    """Return whether a class belongs to the JDK."""
    return bool(_JDK.match(class_name))


def is_proxy(class_name: str) -> bool:
    """Return whether a class is one that the JVM made for a lambda."""
    return "$$Lambda" in class_name


def _is_lock(wait: Wait) -> bool:
    return wait.acquires or wait.blocker.startswith(("ReentrantLock$", "ReentrantReadWriteLock$", "StampedLock"))


def _is_reference(wait: Wait) -> bool:
    return any(call.startswith(("ReferenceQueue.", "Reference.waitFor")) for call in wait.callers[:3])


def _is_fork_join_worker(wait: Wait) -> bool:
    return wait.caller == "ForkJoinPool.awaitWork" or (wait.blocker == "ForkJoinPool" and not wait.frames)


def _is_result(wait: Wait) -> bool:
    named = wait.blocker in ("FutureTask", "CompletableFuture$Signaller") or wait.blocker.startswith("ForkJoinTask")
    return named or any(_RESULTS.fullmatch(call) for call in wait.callers[:5] if not _QUEUE.fullmatch(call))


def _takes_resource(wait: Wait) -> bool:
    near = wait.own[:6]
    pools = [call for call in near if "Pool." in call and not re.search(r"(Thread|Worker|Executor)s?Pool", call)]
    if pools and all("Pool." in call for call in wait.own):
        pools = []  # nobody calls that pool: the thread is its own
    return bool(_TAKES.match(wait.queue_method)) and (
        bool(pools) or any(_RESOURCE.match(c.rpartition(".")[2]) for c in near)
    )


def _is_worker(wait: Wait) -> bool:
    serves = bool(wait.own) and bool(_SERVES.match(wait.own[0].rpartition(".")[2]))
    return not _signals_for_itself(wait) and wait.is_near_run and (serves or bool(_COLLECTION.fullmatch(wait.blocker)))


def _signals_for_itself(wait: Wait) -> bool:
    return wait.kind == "park" and not wait.blocker.endswith("ConditionObject")


def _is_own_park(wait: Wait) -> bool:
    return wait.kind == "park" and bool(wait.own) and wait.caller == wait.own[0] and _parks_itself(wait)


def _parks_itself(wait: Wait) -> bool:
    inner = [call for call in wait.calls if _MECHANISM.fullmatch(call)]
    return all(
        call.startswith(("Unsafe.", "LockSupport.", "VirtualThread", "System$", "Continuation")) for call in inner
    )


_Test = Callable[[Wait], bool]
_TABLE: tuple[tuple[Rule, _Test], ...] = (
    (
        Rule("class-initialisation", CONTENTION, "using a class that another thread is about to link or to initialise"),
        lambda w: w.kind == "monitor" and w.class_name.startswith(CLASS_INITIALISATION),
    ),
    (Rule("monitor", CONTENTION, "entering a synchronized block or method"), lambda w: w.kind == "monitor"),
    (
        Rule("latch", RESULT, "CountDownLatch.await: until others have counted down"),
        lambda w: w.blocker.startswith("CountDownLatch$"),
    ),
    (
        Rule("semaphore", CONTENTION, "Semaphore.acquire: for a permit that others have"),
        lambda w: w.blocker.startswith("Semaphore$"),
    ),
    (
        Rule("lock", CONTENTION, "acquiring a lock or another synchroniser, also again after Condition.await"),
        _is_lock,
    ),
    (
        Rule("references", WORK, "ReferenceQueue.remove: for references that the collector has found"),
        _is_reference,
    ),
    (
        Rule("scheduled-delay", TIMER, "DelayedWorkQueue: a scheduled pool waits for a task's time to come"),
        lambda w: w.is_timed and any("DelayedWorkQueue." in call for call in w.callers[:2]),
    ),
    (
        Rule("pool-worker", WORK, "ThreadPoolExecutor.getTask: a pool's thread has no task"),
        lambda w: any(call.endswith("ThreadPoolExecutor.getTask") for call in w.calls),
    ),
    (
        Rule("fork-join-worker", WORK, "ForkJoinPool.awaitWork: a pool's thread (or a carrier) has no task"),
        _is_fork_join_worker,
    ),
    (
        Rule("timer", TIMER, "TimerThread.mainLoop, or DelayQueue with something in it: until its time has come"),
        lambda w: "TimerThread.mainLoop" in w.callers[:1] or (w.is_timed and w.caller.startswith("DelayQueue.")),
    ),
    (
        Rule("sleep", TIMER, "Thread.sleep or TimeUnit.sleep"),
        lambda w: w.caller.startswith(("Thread.sleep", "TimeUnit.sleep")),
    ),
    (
        Rule("result", RESULT, "join, Future.get, awaitTermination, waitFor: until work that was given away is done"),
        _is_result,
    ),
    (
        Rule("barrier", CONDITION, "CyclicBarrier, Phaser or Exchanger: until the others have arrived"),
        lambda w: w.caller.split(".")[0].split("$")[0] in ("CyclicBarrier", "Phaser", "Exchanger"),
    ),
    (
        Rule("queue-full", CONDITION, "put, offer or transfer: a producer waits until its element is taken or fits in"),
        lambda w: bool(_PUTS.match(w.queue_method)),
    ),
    (
        Rule(
            "resource-pool",
            CONDITION,
            "a queue taken from by code that says borrow, acquire, getConnection ... or Pool",
        ),
        _takes_resource,
    ),
    (
        Rule("queue-consumer", WORK, f"take or poll of a queue within {_NEAR_RUN} frames of the thread's run()"),
        lambda w: bool(_TAKES.match(w.queue_method)) and w.is_near_run,
    ),
    (
        Rule("queue-in-a-call", CONDITION, f"take or poll of a queue more than {_NEAR_RUN} frames below run()"),
        lambda w: bool(_TAKES.match(w.queue_method)),
    ),
    (
        Rule("library-worker", WORK, "an idle thread of a scheduler that is known (coroutines, fibers, Jetty)"),
        lambda w: any(_LIBRARY_WORKERS.fullmatch(call) for call in w.callers[:3]),
    ),
    (
        Rule("jdk-thread", WORK, "a background thread of the JDK: no other code is on its stack"),
        lambda w: bool(w.frames) and not w.own and not w.is_cut,
    ),
    (
        Rule("worker", WORK, "wait or await near run() in a method named take, poll, nextTask ..., or on a collection"),
        _is_worker,
    ),
    (
        Rule("timed-park", TIMER, "parkNanos or parkUntil called by the program itself: a pause, backoff or timer"),
        lambda w: w.is_timed and _is_own_park(w),
    ),
    (
        Rule("own-park", CONDITION, "LockSupport.park called by the program itself: until another thread unparks it"),
        _is_own_park,
    ),
)

OTHER = Rule("condition", CONDITION, "Object.wait, Condition.await or a park that no other rule knows")
RULES: tuple[Rule, ...] = (*(rule for rule, _ in _TABLE), OTHER)
"""Every rule, in the order they are tried."""


def classify(wait: Wait) -> Rule:
    """Return the first rule that fits a wait."""
    return next((rule for rule, fits in _TABLE if fits(wait)), OTHER)
