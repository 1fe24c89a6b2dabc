"""HW62x to HW65x: results of causal profiling."""

from __future__ import annotations

from headway.errors.message import Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW620",
        "a line without results",
        "{path} has no results for {line}; it has {near}",
        "Lines are named FILE:LINE, CLASS:LINE or CLASS.METHOD, and have results if they were sampled inside the scope.",
        "headway causal {path}",
    ),
    Message(
        "HW621",
        "no experiment that counts",
        "{path}: {experiments} experiments, none of which can be compared: {reason}",
        "A result needs whole experiments with a virtual speedup, and at 0 % beside them, with visits of a progress point.",
        "record longer: headway causal --time 60s ... -o {path}   (runs add up)",
    ),
    Message(
        "HW622",
        "results that are not known well enough",
        "{lines} lines have too few experiments to be findings ({names}); the quickest needs about {needs} more",
        "An interval that holds zero and a gain worth having says nothing yet. The time is what the spread between experiments"
        " asks for, if recording goes on as it was; more progress points per second help as well.",
        "headway causal ... -o {path}   (runs of the same command add up)",
    ),
    Message(
        "HW623",
        "stacks that could not be read",
        "{share} of the sampled CPU time has a stack that could not be read",
        "The JVM can't always walk a stack from a signal handler. Such samples count for no line, so lines that are hit then are"
        " made less fast than the experiment says, and their results come out too small, by up to this share.",
        "headway query {path} \"SELECT key, value FROM causal_health WHERE key LIKE 'refused%'\"",
    ),
    Message(
        "HW624",
        "delays that came late",
        "{share} of the samples found a thread that could not be delayed just then",
        "A thread in the JVM's own code is never delayed: it pays at its next sample. Where that is often so, others get on"
        " meanwhile, and results come out too small.",
        "a longer --period, or a scope without the calls into native code",
    ),
    Message(
        "HW625",
        "delays that took too long",
        "threads slept longer than they had to, by {share} of the experiments' time",
        "Sleeping ends late on a machine that is busy, or whose host is. What was too long is credited to the thread, but it"
        " stood still while others ran: results are noisier, and may be too small.",
        "close what else runs on the machine, then headway causal again",
    ),
    Message(
        "HW626",
        "threads that are not profiled",
        "{count} of {threads} threads are neither sampled nor delayed",
        "The machine gave them no timer, or there was no account for them: a JVM has 32,768, and a thread looks for one in 256"
        " places. A thread that is never delayed gets ahead of those that are, as if it were faster: results are too large"
        " where it competes with the line, and its own lines are missing.",
        "headway doctor",
    ),
    Message(
        "HW627",
        "more threads than cores",
        "{ratio:.1f} threads waited for a core at a time: more of the program's wanted to run than there are cores",
        "Delays then keep the core busy (they are spun), so that no thread gains from another's delay. What the scheduler does"
        " with the program's real threads differs from that in detail: take gains of a few percent with care.",
        "headway causal on a machine with more cores, or with fewer threads",
    ),
    Message(
        "HW628",
        "garbage collection differs between experiments",
        "pauses of the collector took {treated} of the experiments with a virtual speedup and {base} of those at 0 %",
        "A visit costs as much collection in both, in the long run. Too few pauses fell into the recording to even that out, and"
        " each of them is as long as many visits.",
        "record longer, or with a larger heap (-Xmx) or a collector of short pauses (-XX:+UseZGC)",
    ),
    Message(
        "HW629",
        "experiments during warm-up",
        "{count} experiments of the first {seconds} are left out: the program was still getting faster",
        "What is hot while code is being compiled is not what is hot later.",
        "headway causal --warmup {seconds} ...",
    ),
    Message(
        "HW630",
        "lines that run in a part of the time",
        "results of {names} are scaled down: the line runs in {share} of the time only",
        "Experiments take place while the line runs. What they find holds for that phase; shown is what it means for the whole"
        " run.",
        "headway causal {path} --json   (divided by phase_share, a point is that of the phase)",
    ),
    Message(
        "HW631",
        "a progress point without visits in experiments",
        "progress point {name} was not visited in any experiment",
        "Without visits nothing can be measured.",
        "headway causal --suggest -- CMD",
    ),
    Message(
        "HW632",
        "time outside the scope",
        "{share} of the sampled CPU time has no frame inside the scope",
        "Samples count for the innermost frame in scope. Threads whose stacks hold none, such as those of libraries, have no"
        " lines to be made faster.",
        "headway causal --scope 'com.acme.*' ...   (all packages whose code you can change)",
    ),
    Message(
        "HW633",
        "few visits per experiment",
        "progress point {name} is visited {visits:.1f} times per experiment",
        "Experiments can't be told apart by a handful of visits. A progress point nearer to the work, or longer experiments, give"
        " results sooner.",
        "headway causal --suggest -- CMD",
    ),
    Message(
        "HW634",
        "reading a stack failed hard",
        "{count} times reading a stack touched memory that is not there; the sample was given up, the program went on",
        "The JVM's stack walker is not made for signal handlers. headway guards it; each of these would have been a crash.",
        "headway causal without it: none needed. With many of them, another JDK.",
    ),
    Message(
        "HW635",
        "no causal recording",
        "{path} is no causal recording: it has no experiments",
        "Experiments are made by headway causal, which records nothing else beside them.",
        "headway causal --progress CLASS.METHOD -- CMD",
    ),
    Message(
        "HW636",
        "other programs had the cores",
        "{ratio:.1f} threads at a time waited for a core that another program had: gains come out too small",
        "A line is charged with its CPU time. While it waits for a core that somebody else has, it would gain from being faster,"
        " too, but nothing tells the line of a thread that does not run.",
        "close what else runs on the machine, then headway causal again",
    ),
    Message(
        "HW637",
        "a latency whose begins and ends do not match",
        "latency {name}: {what}",
        "A mean latency is the time that all requests are in flight by their number (Little's law). Requests that had begun"
        " before the recording are as many as are missing later, at least; latencies are too short by the others. Where"
        " begins have no end (a request that fails), or requests pile up, the mean grows through the recording, and says little.",
        "headway causal --latency BEGIN,END ...   (with an END that every request comes by)",
    ),
    Message(
        "HW638",
        "several JVMs in a run",
        "{count} JVMs are left out of the comparison of whole runs: others of the same run did more in scope",
        "End to end a run of the command is compared by one JVM, the one that worked most in scope; launchers and build tools are"
        " JVMs of another length. What the others take of the command's time is not in the results.",
        "headway causal --end-to-end --scope 'com.acme.*' ... -- CMD   (with a CMD that starts the program itself)",
    ),
    Message(
        "HW639",
        "a target that is not there",
        "no class in scope that was loaded has {what}, which was to be made faster{near}",
        "Targets are looked for in the classes that the program loads, as far as they are in scope; until one is found no"
        " experiment can be made on it.",
        "headway causal --target line:CLASS:LINE ... (or method:CLASS.METHOD), and a --scope that includes the class",
    ),
    Message(
        "HW640",
        "a lock that nobody takes",
        "{text}",
        "Critical sections are looked for in the classes in scope and in the one that was named: synchronized methods and blocks,"
        " and from lock() to unlock() in one method. A lock goes by the class that the code declares it with.",
        "headway causal --target lock:CLASS ...   (or CLASS.METHOD or CLASS:LINE, where the lock is taken)",
    ),
    Message(
        "HW641",
        "the program closes files of others",
        "{text}",
        "Some programs close every descriptor that they know nothing of, as daemons do before they begin. headway's timers and"
        " its file of notes have descriptors, too. It never writes to a number that is somebody else's by now, and opens its own"
        " again; for up to a second threads were not sampled and not delayed.",
        "headway causal --warmup 5s ...   if the program does so when it begins",
    ),
    Message(
        "HW642",
        "visits of few sampling periods",
        "{name} takes {visit} of CPU time a visit; samples come every {period}: high speedups may be off by ten points and more",
        "A sample stands for the whole time since the one before. Where threads meet, spin or take a lock several times within"
        " that time, a delay comes too late or too early. docs/explanation/causal.md says how far predictions were off, by the"
        " length of visits.",
        "headway causal --period 250us ...   (costs more CPU time), or a progress point around a larger unit of work",
    ),
    Message(
        "HW643",
        "waits for cores that are not known",
        "the kernel did not say how long threads had waited for a core, {share} of the times they asked",
        "A thread that waits for a core is excused of what the line brings meanwhile. Where the kernel keeps no account of it"
        " (/proc/PID/schedstat), or the program has no file descriptor left to read it by, nothing is excused: with more threads"
        " than cores results come out too large.",
        "ulimit -n   in the shell that starts the program, if it runs out of descriptors; else a machine with a core per thread",
    ),
    Message(
        "HW644",
        "a finding whose line sleeps most of the time",
        "threads sleep in {name} for {share} of the time: whether the program gains by it is in doubt",
        "While such a line is made faster all others stand still for most of the time, and what they do to each other between"
        " two delays can count for more than the line. A thread that nobody waits for has come out as a finding so. A line"
        " that sleeps some of the time is not concerned.",
        "make that sleep shorter in the program and measure; or headway why: who waits for that thread?",
    ),
    Message(
        "HW645",
        "delays that cost more than their time",
        "what follows a delay is slower in this program: {share} (± {error}) of the time without delays are taken off for"
        " that in experiments with {name} {speedup} faster, less in others",
        "While threads stand still for a virtual speedup, other programs and the host's other guests take their caches, and"
        " what follows is slower. How much so is measured in experiments in which all threads stand still and nothing is"
        " faster, and taken off; intervals include how well it is known. What a sleeping thread loses so counts as well.",
        "a machine of its own, where caches stay; or a longer recording, which knows the cost better",
    ),
    Message(
        "HW646",
        "delays whose cost is not known",
        "what delays cost beyond their time is not known for {points}: of {made} control experiments fewer than {least} count;"
        " gains may be too low, the more so the longer the delays",
        "What follows a delay is slower where other programs or the host's other guests take the caches meanwhile. That is"
        " measured in control experiments, and taken off. They count between two experiments at 0 %, with cores that are free,"
        " and with visits of the progress point.",
        "headway causal --time 120s ... -o {path}   (runs add up)",
    ),
    Message(
        "HW647",
        "delays without a free core",
        "{share} of the delays for {name} were spun, as no core was free: what these cost beyond their time is not known, and"
        " nothing is taken off for it; gains may be too low, the more so the longer the delays",
        "A thread that spins keeps its core, but what follows may be slower all the same. Control experiments tell how much"
        " so only where threads stand still asleep.",
        "headway causal on a machine with more cores, or with fewer threads",
    ),
    Message(
        "HW648",
        "delays whose cost is not taken off",
        "what delays cost this program beyond their time is not taken off {what}: gains may be too low, the more so the longer"
        " the delays",
        "Control experiments tell what delays cost by the CPU time that a visit takes. Neither a latency nor a whole run"
        " tells of that.",
        "headway causal --progress CLASS.METHOD -- CMD   (beside --latency, or instead of --end-to-end)",
    ),
    Message(
        "HW649",
        "a finding beyond what its delays allow",
        "{name}: {gain}, where delays allow {most} at most: threads go on faster once they stood still",
        "An experiment has no more visits per time, delays included, than the program has without, unless standing still makes"
        " threads faster: they contend less for a lock or a cache. A line that is really faster does not make them stand still:"
        " it need not give that gain.",
        "make it faster in the program and measure; or headway locks: what is contended?",
    ),
    Message(
        "HW650",
        "delays in recordings of an earlier headway",
        "{share} of the delays are in runs that an earlier headway recorded, without how long threads stood still: what"
        " these cost beyond their time is not taken off, and gains may be too low",
        "What follows a delay is slower where others take the caches meanwhile. It is known for the later runs alone.",
        "headway causal ... -o NEW.headway   (a recording of its own)",
    ),
)
