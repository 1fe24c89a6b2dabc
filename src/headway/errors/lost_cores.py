"""HW48x: the account of lost cores (`headway why`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW480",
        "lost cores without a record of locks",
        "locks were not recorded: {share} of the core time was lost to threads that waited for other threads, for "
        "whatever reason",
        "The kernel tells who woke a thread, but not whether it waited for a lock, a join or a queue: these are merged as "
        "waiting_for_threads, or blocked where not even the waker is known.",
        "headway run --locks -- CMD",
    ),
    Message(
        "HW481",
        "lost cores without wake-ups",
        "mode {mode} records no wake-ups: a thread that was ready to run counts as blocked until it ran, and what it "
        "waited for is not known",
        "perf events tell when threads are switched, not who woke them. Causes that follow waits to what ended them are merged "
        "as blocked, waiting_for_threads or unknown.",
        "headway doctor   (says what would lift it)",
    ),
    Message(
        "HW482",
        "lost cores without thread states",
        "{path} does not know when threads ran: only the sums of used and lost core time are known, not the causes",
        "Mode agent knows the CPU time of processes, imported JFR files the JVM's CPU load. Both are sums: which thread kept a "
        "core idle can't be told from them.",
        "headway run -- CMD   (as root, or see headway doctor)",
    ),
    Message(
        "HW483",
        "places without stack samples",
        "no stack samples: the account names the threads that ran alone, but not the methods that they ran",
        "A place's method and line come from samples of the thread that others waited for.",
        "headway run --locks --sample cpu -- CMD",
        severity=NOTE,
    ),
    Message(
        "HW484",
        "lost records make more unknown",
        "records were lost in {spans} spans of time: the core time lost in them ({share} of all) counts as unknown",
        "A state after a lost record is a guess, so no cause is named for cores that were lost meanwhile.",
        "record fewer processes, or on a machine with a free core",
    ),
    Message(
        "HW485",
        "a recording that can't tell some causes apart",
        "{path} lacks {what}: {merged}",
        "It was made by an older headway, or in a mode that can't record it.",
        "headway run --locks -- CMD   (records it anew)",
        severity=NOTE,
    ),
    Message(
        "HW486",
        "cores of a CPU quota",
        "a CPU quota of {quota:g} on {cpus} CPUs: the account is of {cores} cores, as many as the quota allows or as "
        "were used at once",
        "A quota is spent within a period (100 ms): threads may run on more CPUs for a part of it and are throttled after that. "
        "A fraction of a core counts as one. The time throttled is the cause cpu_quota.",
        "headway why NAME.headway --cores N   (an account of another number of cores)",
        severity=NOTE,
    ),
    Message(
        "HW487",
        "fewer cores than were used",
        "--cores {cores}: the program used more cores than that at once for {share} of the time",
        "Sums would not add up: more cores were used than would be accounted for.",
        "headway walltime {path} --cores {cores}   (predicts the time on so many)",
    ),
    Message(
        "HW488",
        "no such phase",
        "phase {phase}: {path} has {phases}",
        "Phases are stretches of about constant parallelism; how many there are depends on the window.",
        "headway why {path}   (lists them)",
    ),
    Message(
        "HW489",
        "an account that does not add up",
        "the account is off by {error:.2%} of the core time",
        "Used, stolen, other processes' and lost core time come from different records: their sum should be cores x wall time "
        "to 0.1 %. More threads on CPUs than there were cores, or lost records, break that.",
        "record once more; if it stays, report it with the manifest.json",
    ),
    Message(
        "HW498",
        "losses that depend on what came before the attach",
        "{path} was recorded by an attach: {losses} of its losses ({share} of the core time) depend on what came "
        "before, and are marked",
        "For a wait that began before the attach, headway learns what it was for only when it ends. Until then, "
        "work that others wait for looks like work that nobody waits for. Nor does headway know which thread "
        "started those that existed already, so a watchdog of the thread that started it looks like a thread that "
        "joins its workers. The stacks of waiting platform threads are taken at the attach, those of virtual "
        "threads are not.",
        "headway run --locks -- CMD   (records from the start)",
    ),
    Message(
        "HW499",
        "waits that were not replayed",
        "locks were not recorded: the likely gain without sleep and I/O ({share} of the core time) is not known",
        "The largest losses of a program are replayed as the kernel saw it. Of long runs and of smaller losses "
        "only the waits are, for which headway must know who waited for whom. Without locks "
        "such losses have a bound only, and are ordered by their lost core time. Besides, the stacks of waiting "
        "threads are then taken only once, at an attach. Waits for work that begin later (event loops, accept "
        "loops, timers), or in a program that headway starts, look like I/O and sleep, and a server's idle time "
        "looks like lost time.",
        "headway run --locks -- CMD",
        severity=NOTE,
    ),
    Message(
        "HW455",
        "gains of threads that come and go",
        "{path} is of a program that would have gone on, and {why}",
        "How much faster such a program is, is how much more its threads do together in the same time: those that were there "
        "for most of it, and ran in its second half. A thread that ends with its task does no more when it waits less: others "
        "take its place, and what these would do is not recorded.",
        "headway why {path}   (the bound is the most that can be gained)",
        NOTE,
    ),
    Message(
        "HW454",
        "gains of threads that wait for each other's work",
        "{path} is of a program that would have gone on, and threads waited for what others hand over",
        "Without such a wait a thread does not do what it did: it has nothing to do it with, or hands over more than the others "
        "take. What threads do together then is what the slowest of them does, and which one that is, is not known.",
        "headway why {path}   (the bound is the most that can be gained)",
        NOTE,
    ),
    Message(
        "HW452",
        "gains of a program that seldom got a core",
        "other processes had the cores for {others} of the core time, the program for {own}: its likely gains rest on little "
        "evidence, and are marked",
        "How long waits and pauses last then depends on when other processes let the program have a core, and another run may"
        " well have other figures. What the program lost and used is exact all the same.",
        "stop what else runs on these CPUs, or --cpus with those that are free; then record again",
        severity=NOTE,
    ),
)
