"""HW48x: the account of lost cores (`headway why`)."""

from __future__ import annotations

from headway.errors.message import Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW480",
        "lost cores without a record of locks",
        "locks were not recorded: {share} of the core time was lost to threads that waited for other threads, whatever for",
        "The kernel tells who woke a thread, but not whether it waited for a lock, a join or a queue: these are merged as "
        "waiting_for_threads, or blocked where not even the waker is known.",
        "headway run --locks -- CMD",
    ),
    Message(
        "HW481",
        "lost cores without wake-ups",
        "mode {mode} records no wake-ups: a thread that was ready to run counts as blocked until it ran, and what it waited for "
        "is not told",
        "perf events tell when threads are switched, not who woke them. Causes that follow waits to what ended them are merged "
        "as blocked, waiting_for_threads or unknown.",
        "headway doctor   (says what would lift it)",
    ),
    Message(
        "HW482",
        "lost cores without thread states",
        "{path} does not know when threads ran: only what was used and lost in all is told, not its causes",
        "Mode agent knows the CPU time of processes, imported JFR files the JVM's CPU load. Both are sums: which thread kept a "
        "core idle can't be told from them.",
        "headway run -- CMD   (as root, or see headway doctor)",
    ),
    Message(
        "HW483",
        "places without stack samples",
        "no stack samples: what a thread did that ran alone is known by the thread's name only",
        "A place's method and line come from samples of the thread that others waited for.",
        "headway run --locks --sample cpu -- CMD",
    ),
    Message(
        "HW484",
        "lost records widen what is unknown",
        "records were lost in {spans} spans: {share} of the core time, lost to causes then, counts as unknown",
        "A state after a lost record is a guess, so no cause is named for what was lost meanwhile.",
        "record fewer processes, or on a machine with a free core",
    ),
    Message(
        "HW485",
        "a recording that lacks what tells some causes apart",
        "{path} lacks {what}: {merged}",
        "It was made by an older headway, or in a mode that can't record it.",
        "headway run --locks -- CMD   (records it anew)",
    ),
    Message(
        "HW486",
        "cores of a CPU quota",
        "a CPU quota of {quota:g} on {cpus} CPUs: the account is of {cores} cores, as many as it allows or were used at once",
        "A quota is spent within a period (100 ms): threads may run on more CPUs for a part of it and are throttled after that. "
        "A fraction of a core counts as one. The time throttled is the cause cpu_quota.",
        "",
    ),
    Message(
        "HW487",
        "fewer cores than were used",
        "--cores {cores}: the program ran on more of them at once for {share} of the time",
        "An account of cores that were used beyond their number would not add up.",
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
        "losses that hang on what came before headway attached",
        "{path} was attached to: {losses} of its losses ({share} of the core time) hang on what came before, and are marked",
        "What a thread waits for that had begun to wait before is known when the wait is over, not sooner: until then what "
        "others do alone seems to be waited for by nobody. Who started a thread that was there is not known: one that watches "
        "over the thread that started it can't be told from one that joins its workers.",
        "headway run --locks -- CMD   (records from the start)",
    ),
    Message(
        "HW499",
        "waits that were not replayed",
        "locks were not recorded: what would likely be gained without sleep and I/O ({share} of the core time) is not told",
        "The likely gain comes from replaying the recording without a cause's waits, which needs to know who waited for whom. "
        "Without that such losses have a bound only, and are listed by their lost core time.",
        "headway run --locks -- CMD",
    ),
)
