"""The rules that classify waiting by its stack: contention, results, conditions, work, timers, I/O; every result names its rule.

Question   does a thread wait because another one has what it needs, or because there is nothing to do?
Method     rules in order, the first that fits decides. They look at the stack of the wait, the class of the object and
           whether the wait has a time limit; never at names of threads. A frame is written Class.method, the class without its
           package, so that copies of java.util.concurrent in other packages are recognised, too. `depth` counts the frames
           that are no JDK code: a loop that serves a queue is close to its thread's run(), a wait inside a call is not.
Assumes    queues are taken from by those that do the work in them, unless the code says borrow, acquire or the like, or the
           takers put back what they took (classification.pools).
Wrong when a pool of resources is a plain queue that is taken from within three frames of run(), and is so seldom waited for that
           classification.pools does not tell it from a queue of work. Such rows stay visible, with their rule, under the idle
           waiting.
Checked    tests/golden/test_waiting_rules.py: real stacks, each with the rule that a person gave it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from headway.analyses.waits.object_names import CLASS_INITIALISATION, OF_CLASS, SLEEP, is_jdk, simple

CONTENTION = "lock contention"
CONDITION = "waiting for a condition"
RESULT = "waiting for a result"
WORK = "waiting for work"
TIMER = "timer"
IO = "waiting for I/O"

CONTENDED = frozenset({CONTENTION, CONDITION})
"""Those that hold up a thread that has something to do. Who waits for the result of work it gave away is not held up by a
lock, and that work has rows of its own."""

PUT_BACK = "put-back"
"""The rule of queues that classification.pools takes for pools of resources."""

_MECHANISM = re.compile(
    r"(Unsafe\.park|LockSupport\.park\w*|Object\.wait\w*|ForkJoinPool\.((un)?managedBlock|compensatedBlock)"
    r"|\w*Node\.(block|await)|[\w$]+\$\w*Node\.(block|await)|AbstractQueued(Long)?Synchronizer(\$ConditionObject)?\.\w+"
    r"|\w+\$Signaller\.block|VirtualThread\.\w+|VirtualThreads\.\w+|System\$\d+\.\w+|Continuation\w*\.\w+)"
)
_ACQUIRE = re.compile(r"AbstractQueued(Long)?Synchronizer\.(\w*[aA]cquire\w*|parkAndCheckInterrupt)")
_QUEUE = re.compile(r"(?P<type>(?>[\w$]*(?:Queue|Deque)(?=[$.]))(\$\w+)*+)\.(?P<method>\w+)")
_PUTS = re.compile(r"(put|offer|add|transfer|tryTransfer)")
_TAKES = re.compile(r"(take|poll|remove|drain|peek|pop|dequeue)", re.IGNORECASE)
_TAKES_OWN = re.compile(r"(?>[\w$]*?(?:Queue|Deque))[\w$]*\.(take|poll|remove|drain|peek|pop|dequeue)\w*")
_RESOURCE = re.compile(
    r"(borrow|acquire|check_?out|lease|reserve(?!d)|obtain|getConnection|getResource|fromPool)", re.IGNORECASE
)
_SERVES = re.compile(
    r"(take|poll|pop|dequeue|receive|mainLoop|idle|next(Task|Job|Work|Event|Message)|get(Task|Job|Work|Event|Message)"
    r"|(wait|await)For(Task|Job|Work|Event|Message)s?|(handle|process|dispatch|deliver)(Task|Job|Work|Event|Message|Request)s?"
    r"|(event|message|work(er)?)Loop)",
    re.IGNORECASE,
)
_COLLECTION = re.compile(r"(\w*(Queue|Deque|List|Vector|Stack))$")
_RESULTS = re.compile(
    r"(FutureTask|CompletableFuture|ForkJoinTask|CountedCompleter|AbstractExecutorService|ExecutorCompletionService"
    r"|ForkJoinPool\$\w+|StructuredTaskScope\w*|ThreadFlock|ThreadPerTaskExecutor|ProcessImpl|Process)\.\w+"
    r"|AbstractFuture(State)?\.(get|blockingGet)|ApplicationShutdownHooks\.\w+|[\w$]+\.join|Thread\.join\w*"
    r"|[\w$]+\.(await(Termination|Quiescence|Shutdown|Stop(ped)?|Close)|waitFor(Exit|Shutdown|Stop|Termination|End)"
    r"|waitUntil(Stopped|ShutDown|Terminated|Closed))"
)
_RUNS = re.compile(
    r"[\w$]+\.(run|runAndReset|call|exec|doExec|topLevelExec|runTask)"
    r"|CompletableFuture(\$\w+)?\.(tryFire|postFire|postComplete|(uni|bi|or)\w+)"
)
"""What runs a task, or what is to follow one, does not wait for its result: calls beyond these tell nothing of the wait."""
_LIBRARY_WORKERS = re.compile(
    r"CoroutineScheduler\$Worker\.(park|tryPark)|WorkerThread\.(park|parkLoop|parkUntilNextSleeper)"
    r"|QueuedThreadPool(\$\w+)?\.(idleJobPoll|run\w*)|ReservedThreadExecutor\$ReservedThread\.reservedWait"
    r"|EnhancedQueueExecutor\$(PoolThreadNode\.park|ThreadBody\.\w+)"
)
_RING_FULL = re.compile(r"(Multi|Single)ProducerSequencer\.next")
_RING_EMPTY = re.compile(r"\w*WaitStrategy\.(waitFor|applyWaitMethod)")
"""How the Disruptor, also in Log4j, waits for room in its ring, and for something in it: mostly by parks that nobody ends."""
_LATCH = re.compile(r"(?<![a-z])(Completion|CountDown|Boolean|OneShot)Latch\b|Promise|Future\b|Future\$")
"""Synchronisers and monitors of libraries that are waited for once, until something is done; a LimitLatch is a semaphore."""
_ANSWERS = re.compile(
    r"(?>[\w$]*?(?:Future|Promise|Deferred))[\w$]*\.(get|await|join|sync|result)\w*|ClientCalls\$ThreadlessExecutor\.\w+"
)
"""Futures of libraries that park by themselves, and where gRPC's blocking calls wait for their answers."""
_ARE_RESULTS = ("FutureTask", "CompletableFuture$Signaller", "BlockingCoroutine")
"""What is waited for until it is done itself; the last is Kotlin's runBlocking."""
_LOOP = re.compile(r".*\.(run|doWork)")
"""What a thread consists of: no call inside of its loop."""
_NEAR_RUN = 3
_LONGEST_CALL = 256


@dataclass(frozen=True, slots=True)
class Rule:
    """A classification rule: stable id, class of waiting, and its description."""

    id: str
    waiting: str
    text: str

    @property
    def contention(self) -> bool:
        """Return whether the waiting counts as contention."""
        return self.waiting in CONTENDED


@dataclass(frozen=True)
class Wait:
    """The input of the rules: `frames` are (class, method), innermost first; empty if no stack was taken."""

    kind: str
    class_name: str
    frames: Sequence[tuple[str, str]] = ()
    is_timed: bool = False
    is_cut: bool = False

    @cached_property
    def blocker(self) -> str:
        """Return the class of the object, without its package."""
        return "Class" if self.class_name.endswith(OF_CLASS) else simple(self.class_name)

    @cached_property
    def calls(self) -> tuple[str, ...]:
        """Return the frames as Class.method, without packages and without lambda proxies.

        What is longer than any that a rule knows is cut: some rules take the square of a name's length.
        """
        calls = (f"{simple(name)}.{method}" for name, method in self.frames if "$$Lambda" not in name)
        return tuple(call if len(call) <= _LONGEST_CALL else f"{call[:_LONGEST_CALL]}..." for call in calls)

    @cached_property
    def callers(self) -> tuple[str, ...]:
        """Return the calls outside the machinery that makes threads wait, innermost first."""
        skip = next((i for i, call in enumerate(self.calls) if not _MECHANISM.fullmatch(call)), len(self.calls))
        return self.calls[skip:]

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Return the calls outside the JDK."""
        return tuple(
            f"{simple(name)}.{method}" for name, method in self.frames if "$$Lambda" not in name and not is_jdk(name)
        )

    @property
    def caller(self) -> str:
        """Return the innermost call outside the machinery that makes threads wait."""
        return self.callers[0] if self.callers else ""

    @property
    def is_near_run(self) -> bool:
        """Return whether the wait is in its thread's outermost frames, as in a loop that serves something."""
        outside = itertools.dropwhile(_TAKES_OWN.fullmatch, self.own)  # a library's own queue is as deep as it likes
        depth = sum(not _LOOP.fullmatch(call) for call in outside)
        return not self.is_cut and bool(self.frames) and depth <= _NEAR_RUN

    @cached_property
    def queue_method(self) -> str:
        """Return the method by which a queue was entered, '' when the wait is not in a queue."""
        method = ""
        for call in self.callers:
            match = _QUEUE.fullmatch(call)
            if match is None:
                break
            method = match["method"]
        return method

    @property
    def acquires(self) -> bool:
        """Return whether the thread waits in a synchroniser's queue, rather than on one of its conditions."""
        inner = next((call for call in self.calls if call.startswith("AbstractQueued")), "")
        return self.kind == "park" and bool(_ACQUIRE.fullmatch(inner))


def may_have_several_holders(rule_id: str, class_name: str) -> bool:
    """Return whether several threads may have what is waited for at once: permits, a pool's resources, a lock that is read."""
    is_read = simple(class_name).startswith(("Semaphore$", "ReentrantReadWriteLock$", "StampedLock"))
    return is_read or rule_id in ("semaphore", "resource-pool", PUT_BACK)


def _is_latch(wait: Wait) -> bool:
    is_other = wait.acquires or wait.kind == "wait"
    return wait.blocker.startswith("CountDownLatch$") or bool(is_other and _LATCH.search(wait.blocker))


def _is_lock(wait: Wait) -> bool:
    return wait.acquires or wait.blocker.startswith(("ReentrantLock$", "ReentrantReadWriteLock$", "StampedLock"))


def _is_reference(wait: Wait) -> bool:
    return any(call.startswith(("ReferenceQueue.", "Reference.waitFor")) for call in wait.callers[:3])


def _is_fork_join_worker(wait: Wait) -> bool:
    return wait.caller == "ForkJoinPool.awaitWork" or (wait.blocker == "ForkJoinPool" and not wait.frames)


def _is_result(wait: Wait) -> bool:
    named = wait.blocker in _ARE_RESULTS or wait.blocker.startswith("ForkJoinTask")
    near = itertools.takewhile(lambda call: not _RUNS.fullmatch(call), wait.callers[:5])
    parks = wait.kind == "park" and bool(_ANSWERS.fullmatch(wait.caller)) and _parks_itself(wait)
    return named or parks or any(_RESULTS.fullmatch(call) for call in near if not _QUEUE.fullmatch(call))


def _takes_resource(wait: Wait) -> bool:
    near = wait.own[:6]
    pools = [call for call in near if "Pool." in call and not re.search(r"(Thread|Worker|Executor)s?Pool", call)]
    if pools and all("Pool." in call for call in wait.own):
        pools = []  # nobody calls that pool: the thread is its own
    return bool(_TAKES.match(wait.queue_method)) and (
        bool(pools) or any(_RESOURCE.match(c.rpartition(".")[2]) for c in near)
    )


def _waits_for_room(wait: Wait) -> bool:
    return bool(_PUTS.match(wait.queue_method)) or any(_RING_FULL.fullmatch(call) for call in wait.callers[:2])


def _serves_ring(wait: Wait) -> bool:
    return any(_RING_EMPTY.fullmatch(call) for call in wait.callers[:3]) and any(
        "EventProcessor." in c for c in wait.calls
    )


def serves_ring(frames: Sequence[tuple[str, str]]) -> bool:
    """Return whether a stack waits for something in the Disruptor's ring, which its stages never put back."""
    return _serves_ring(Wait("park", "", frames))


def _is_worker(wait: Wait) -> bool:
    serves = bool(wait.own) and bool(_SERVES.match(wait.own[0].rpartition(".")[2]))
    return not _signals_for_itself(wait) and wait.is_near_run and (serves or bool(_COLLECTION.fullmatch(wait.blocker)))


def _signals_for_itself(wait: Wait) -> bool:
    return wait.kind == "park" and not wait.blocker.endswith("ConditionObject")


def _waits_for_network(wait: Wait) -> bool:
    return wait.kind == "park" and any(
        name.startswith("sun.nio.ch.") and simple(name).split("$")[0] == "Poller" for name, _ in wait.frames[:12]
    )


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
        Rule(
            "latch", RESULT, "a latch or promise (CountDownLatch.await, Scala's Await): until others have counted down"
        ),
        _is_latch,
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
        Rule("library-worker", WORK, "an idle thread of a scheduler that is known (coroutines, fibers, Jetty, JBoss)"),
        lambda w: any(_LIBRARY_WORKERS.fullmatch(call) for call in w.callers[:3]),
    ),
    (
        Rule("timer", TIMER, "TimerThread.mainLoop, or DelayQueue with something in it: until its time has come"),
        lambda w: "TimerThread.mainLoop" in w.callers[:1] or (w.is_timed and w.caller.startswith("DelayQueue.")),
    ),
    (
        Rule("sleep", TIMER, "Thread.sleep or TimeUnit.sleep"),
        lambda w: w.class_name == SLEEP or w.caller.startswith(("Thread.sleep", "TimeUnit.sleep")),
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
        _waits_for_room,
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
        Rule(
            PUT_BACK,
            CONDITION,
            "a queue whose takers put one back for each that they took: things of a pool, or tasks that each add one",
        ),
        lambda _: False,  # no stack tells it: classification.pools does
    ),
    (
        Rule("queue-consumer", WORK, f"take or poll of a queue within {_NEAR_RUN} frames of the thread's run()"),
        lambda w: _serves_ring(w) or (bool(_TAKES.match(w.queue_method)) and w.is_near_run),
    ),
    (
        Rule("queue-in-a-call", CONDITION, f"take or poll of a queue more than {_NEAR_RUN} frames below run()"),
        lambda w: bool(_TAKES.match(w.queue_method)),
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
        Rule(
            "network",
            IO,
            "a virtual thread in a call that waits for a socket or pipe: until the JVM's poller unparks it",
        ),
        _waits_for_network,
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
GATE = Rule("gate", CONDITION, "CountDownLatch.await of several threads at once: until another one opens it for all")
"""Not told by a stack: of a `latch` for which several threads waited together (locks.barrier_latches)."""
PERIODIC = Rule(
    "periodic", TIMER, "a loop near run() that waits its time again and again, and nobody waits for its thread"
)
"""Not told by a stack, either: classification.periodic_threads looks at what the thread and others did."""
TIMED_WAIT = Rule("timed-wait", TIMER, "a wait or await with a time limit that nobody ends before: a pause")
"""Not told by a stack: classification.polls looks for who ends such waits."""
RULES: tuple[Rule, ...] = (*(rule for rule, _ in _TABLE), OTHER, GATE, PERIODIC, TIMED_WAIT)
"""Every rule, in the order they are tried; the last three are told by what threads did."""


def classify(wait: Wait) -> Rule:
    """Return the first rule that matches a wait."""
    return next((rule for rule, fits in _TABLE if fits(wait)), OTHER)
