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
        "{share} of the sampled CPU time has a stack that could not be read{running}",
        "The JVM can't always walk a stack from a signal handler. Such samples count for no line. So a line that runs"
        " in them is sped up less than the experiment says, and its results are too small, by up to this share.",
        "headway query {path} \"SELECT key, value FROM causal_health WHERE key LIKE 'refused%'\"",
    ),
    Message(
        "HW624",
        "delays that came late",
        "{share} of the samples found a thread that could not be delayed just then",
        "A thread in the JVM's own code is never delayed: it is delayed at its next sample instead. Where that "
        "happens often, other threads get ahead meanwhile, and results come out too small.",
        "a longer --period, or a scope without the calls into native code",
    ),
    Message(
        "HW625",
        "delays that took too long",
        "threads slept longer than they had to, by {share} of the experiments' time",
        "Sleeps end late on a busy machine or a busy host. The excess is credited to the thread, but it stood "
        "still while others ran: results are noisier, and may be too small.",
        "close what else runs on the machine, then headway causal again",
    ),
    Message(
        "HW626",
        "threads that are not profiled",
        "{count} of {threads} threads are neither sampled nor delayed",
        "The system refused them a timer, or the agent's table of threads had no free entry for them (it has "
        "32,768, and a thread looks at 256 of them). A thread that is never delayed gets ahead of those that are, "
        "as if it were faster: results are too large where it competes with the line, and its own lines are "
        "missing.",
        "headway doctor",
    ),
    Message(
        "HW627",
        "more threads than cores",
        "on average {ratio:.1f} threads waited for a core: the program wanted to run more threads than there are cores",
        "A delayed thread then keeps its core busy (it spins), so that no other one gains from its delay. The "
        "scheduler treats the program's real threads differently in detail: take gains of a few percent with care.",
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
        "reading a stack hit invalid memory",
        "{count} times reading a stack touched memory that is not there; the sample was given up, the program went on",
        "The JVM's stack walker is not made for signal handlers. headway catches such faults; each of them would have"
        " been a crash.",
        "nothing to do while these are few; with many, another JDK",
    ),
    Message(
        "HW635",
        "no causal recording",
        "{path} is not a causal recording: it has no experiments",
        "Experiments are made by headway causal, which records nothing else beside them.",
        "headway causal --progress CLASS.METHOD -- CMD",
    ),
    Message(
        "HW636",
        "other programs had the cores",
        "{ratio:.1f} threads at a time waited for a core that another program had: gains come out too small",
        "A line is charged with its CPU time. While its thread waits for a core that another program has, the line "
        "would gain from being faster as well; but a thread that does not run does not show its line.",
        "close what else runs on the machine, then headway causal again",
    ),
    Message(
        "HW637",
        "a latency whose begins and ends do not match",
        "latency {name}: {what}",
        "The mean latency is the time that all requests were in flight, divided by their number (Little's law). How "
        "many were in flight when the recording began is estimated from the ends without a begin; if there were more,"
        " latencies come out too short. Where begins have no end (a request that fails), or requests pile up, the "
        "mean grows through the recording, and says little.",
        "headway causal --latency BEGIN,END ...   (with an END that every request reaches)",
    ),
    Message(
        "HW638",
        "several JVMs in a run",
        "{count} JVMs are left out of the comparison of whole runs: others of the same run did more in scope",
        "With --end-to-end, runs of the command are compared by one JVM each, the one that worked most in scope; "
        "launchers and build tools are JVMs of other lengths. What these take of the command's time is not in the "
        "results.",
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
        "in {share} of the cases the kernel did not say how long a thread had waited for a core",
        "A thread that waits for a core is excused from the delays that fall due meanwhile. Where the kernel keeps no"
        " account of such waits (/proc/PID/schedstat), or the program has no file descriptor left to read it by, "
        "nothing is excused: with more threads than cores results come out too large.",
        "ulimit -n   in the shell that starts the program, if it runs out of descriptors; else a machine with a core per thread",
    ),
    Message(
        "HW644",
        "a finding whose line sleeps most of the time",
        "threads sleep in {name} for {share} of the time: whether the program gains by it is in doubt",
        "While such a line is made faster all others stand still for most of the time, and what they do to each other"
        " between two delays can count for more than the line. In this way a thread that nobody waits for has come "
        "out as a finding. Lines that sleep only some of the time are not concerned.",
        "make that sleep shorter in the program and measure; or headway why: who waits for that thread?",
    ),
    Message(
        "HW645",
        "delays that cost more than their time",
        "code runs slower after a delay in this program: {share} (± {error}) of the time without delays are taken off"
        " for that in experiments with {name} {speedup} faster, less in others",
        "While threads stand still for a virtual speedup, other programs and the host's other guests fill the caches,"
        " and what runs next is slower. How much slower is measured in experiments in which all threads stand still "
        "and nothing is faster, and taken off; intervals include how well it is known. What a sleeping thread loses "
        "in this way counts as well.",
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
        "With delays included, an experiment has no more visits per time than the program has without, unless "
        "standing still makes threads faster: they contend less for a lock or a cache. A line that is really faster "
        "does not make them stand still, so it need not give that gain.",
        "make it faster in the program and measure; or headway locks: what is contended?",
    ),
    Message(
        "HW650",
        "delays in recordings of an earlier headway",
        "{share} of the delays are in runs that an earlier headway recorded, without how long threads stood still: what"
        " these cost beyond their time is not taken off, and gains may be too low",
        "Code runs slower after a delay where others take the caches meanwhile. How much slower is known for the "
        "later runs alone.",
        "headway causal ... -o NEW.headway   (a recording of its own)",
    ),
    Message(
        "HW651",
        "no finding, as too many stacks could not be read",
        "{share} of the sampled CPU time has a stack that could not be read{running}: no line is a finding",
        "Samples without a stack count for no line. A line that runs in them is made less fast than an experiment says, and may"
        " seem to have no effect where it has the largest: above 10 % nothing is said of any line. headway finds the Java"
        " caller of the JVM's stubs (array copies, checksums, ciphers, Math.sin) and of the native functions that compiled code"
        " calls; what is named here is what it could not.",
        "headway query {path} \"SELECT key, value FROM causal_health WHERE key LIKE 'unread.%' ORDER BY value DESC\"",
    ),
    Message(
        "HW652",
        "lines that are known at safepoints only",
        "{share} in scope ran in compiled code that knows the lines of safepoints alone, as {reason}: a sample there counts for"
        " the line of the next safepoint, which may be another one of the method",
        "The JIT compiler keeps every line only with -XX:+DebugNonSafepoints. headway turns that on where it launches the JVM,"
        " and at an attach for what is compiled from then on. Methods that were compiled before stay as they are until they are"
        " compiled again.",
        "launch the program with headway causal; or start it with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints",
    ),
    Message(
        "HW653",
        "latency figures that no table holds",
        "{count} figures are left out of latencies: no table holds numbers as large",
        "Of the requests in flight an experiment notes their number, and their time in all, with 64 bits. Only billions of "
        "requests that began and never ended, or notes that somebody changed, go beyond. What the experiments say of other "
        "progress points counts all the same.",
        "headway causal --latency BEGIN,END ...   (with an END that every request reaches)",
    ),
    Message(
        "HW654",
        "more messages than are kept",
        "{count} more messages about the agents' notes are not kept",
        "A recording keeps some hundred of them. Those about the notes as a whole come first, then those about single "
        "progress points.",
        "headway causal --progress CLASS.METHOD -- CMD   (with fewer progress points)",
    ),
)
