"""HW2xx: losses and invariants."""

from __future__ import annotations

from headway.errors.message import NOTE, ONCE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW200",
        "scheduling records were lost",
        "{events} scheduling records were lost, in {spans} spans of time",
        "The kernel produced records faster than headway could read them, the disk refused them, or a CPU came online after the "
        "recording had begun: what runs there is not recorded. States around these spans (table `loss`) may be wrong, and "
        "counts are the least that there were.",
        "record fewer processes, or on a machine with a free core, whose CPUs stay as they are",
    ),
    Message(
        "HW201",
        "an invariant does not hold",
        "an invariant of this recording does not hold: {message}",
        "Some figures are computed in two independent ways, which have to agree. Here they do not, so records were "
        "lost or contradict each other.",
        "record once more; if it stays, report it with the manifest.json",
    ),
    Message(
        "HW202",
        "threads whose start is unknown",
        "{count} threads have no record of their start: their process and name are unknown, and they count as application "
        "threads",
        "The records of their start were lost, or the threads began before the recording and were missed in /proc.",
        'headway query NAME.headway "SELECT * FROM thread WHERE pid = 0"',
    ),
    Message(
        "HW203",
        "a raw file could not be read to its end",
        "raw records could not be read to their end: {problem}",
        "The file was damaged, or its writer died in the middle of a record. What came before is in the tables.",
        "record once more",
    ),
    Message(
        "HW204",
        "the agent lost records",
        "{count} records of the agents in the JVMs were lost: names of threads or GC pauses may be missing",
        "The disk was full, a JVM wrote more than the agent's file may hold, or the records of all JVMs are more than "
        "the memory holds: then those that wrote most lose most.",
        "free some space and record once more",
    ),
    Message(
        "HW205",
        "the recorder died",
        "the recorder died: this recording ends with the last record it had written, the program went on",
        "It was killed, or the machine ran out of memory. What was in the kernel's rings at that moment is lost.",
        "record once more for the whole run",
    ),
    Message(
        "HW206",
        "single waits end before the recording does",
        "from {after_s:.3f} s on blocks and holds were only summed: timelines, wakers and percentiles of locks end there",
        "An agent's file holds about 16 million blocks. Beyond that only the sums per lock go on, so the number of "
        "waits, their time and the utilisations are exact to the end.",
        "record a shorter span: headway record --duration 60 ...",
    ),
    Message(
        "HW207",
        "locks were not recorded in a JVM",
        "the locks of JVM {pid} were not recorded: {reason}",
        "The agent changes nothing in a JVM when it can't do all of it; everything else of the recording is whole.",
        "headway doctor",
    ),
    Message(
        "HW208",
        "parks on more objects than the table holds",
        "{count} parks were on objects that found no room in the table of locks: they are in no figure",
        "The table holds some hundred thousand objects at once, and the disk may have been full.",
        "headway record --forget-dead ...   (or --park-threshold 2)",
    ),
    Message(
        "HW209",
        "another agent took the hooks out for a while",
        "JVM {pid}: from {from_s:.3f} to {to_s:.3f} s parks may be missing: another agent had redefined LockSupport",
        "An agent that redefines a class (async-profiler's lock mode, OpenTelemetry's) throws out what others had put"
        " there. headway looks four times a second and puts its call sites in again. The times given are those of the"
        " last such gap.",
        "leave the other agent out, or attach it before headway",
    ),
    Message(
        "HW210",
        "another agent has taken the hooks out",
        "JVM {pid}: after {from_s:.3f} s parks are missing: another agent redefines LockSupport again and again",
        "headway put its call sites in again several times, or the other agent's class no longer has the calls that it "
        "redirects; then it gives up. Monitors and Object.wait are recorded to the end.",
        "leave the other agent out",
    ),
    Message(
        "HW211",
        "a JVM gave no stack samples",
        "JVM {pid} gave no stack samples: {reason}",
        "async-profiler takes them inside the JVM. Where it can't work, or must not for the program's sake, the recording goes "
        "on without them.",
        "headway doctor",
    ),
    Message(
        "HW212",
        "stack samples end before the JVM",
        "the stack samples of JVM {pid} from {from_s:.1f} s on are lost: it, or the recorder, ended before they were written out",
        "async-profiler writes its samples out about every ten seconds, and when the JVM ends normally. What it "
        "sampled since then is lost with a JVM or a recorder that is killed.",
        "end the program by SIGTERM, and headway by Ctrl-C, instead of SIGKILL",
    ),
    Message(
        "HW213",
        "stack samples were skipped",
        "JVM {pid} skipped {skipped} of {total} stack samples, because too many came at once",
        "async-profiler handles only a few samples at the same time and skips the others. Sums of CPU and wall "
        "time stay right, for the next sample stands for the time of those before; sums of allocations are too low.",
        "headway record --sample cpu:20ms ...   (a longer interval)",
        severity=ONCE,
    ),
    Message(
        "HW214",
        "stack samples could not be read",
        "stack samples of JVM {pid} could not be read to their end: {reason}",
        "The file is damaged, or its writer died. What came before is in the tables.",
        "record once more",
    ),
    Message(
        "HW215",
        "no stack samples",
        "no JVM of this recording took stack samples: none has headway's agent",
        "async-profiler is driven by the agent; other messages say why no JVM has it.",
        "headway record --sample cpu -o NAME.headway -- java ...",
    ),
    Message(
        "HW216",
        "an event could not be sampled in a JVM",
        "JVM {pid} did not sample {event}: {reason}",
        "perf events may be refused to the JVM's user, or by its container. The other events were sampled.",
        "headway doctor",
        severity=ONCE,
    ),
    Message(
        "HW217",
        "waits that were only counted",
        "--park-threshold {threshold}: for each lock the first {threshold} waits were only counted, {count} in all: "
        "their time is not known",
        "Times, sites and holders are those of the later waits, and averages are over these (times_measured). An "
        "object that was waited for no more often than that has no row.",
        "headway record --locks ...   (without --park-threshold every wait is measured)",
        severity=ONCE,
    ),
    Message(
        "HW218",
        "virtual threads that waited before the attach",
        "JVM {pid}: not all virtual threads that were parked before the attach are known ({reason})",
        "The JVM's list of threads has no virtual ones, so the JDK's own list is read: at most 100,000 virtual "
        "threads, in 5,000 executors and scopes, and 20,000 parked ones of these. The others are seen when they park "
        "the next time; until then their waits are missing.",
        "headway run --locks -- CMD   (from the start of the program nothing is missed)",
    ),
    Message(
        "HW219",
        "holds that were not timed",
        "{count} holds of contended locks were not timed: counts and percentiles of true hold times lack them",
        "Holds are timed in tables of a fixed size: four entries for all threads whose ids are equal modulo 256, "
        "and 64 for holds that have ended and are not yet written down. A hold that finds no free entry is not "
        "timed. Waits, holders and the other figures are whole.",
        "headway locks NAME.headway   (average_hold_time_ns is estimated from the waits, which are whole)",
    ),
    Message(
        "HW220",
        "a file that was imported in part",
        "{path} could not be read whole: places damaged or missing: {count}, the first {first}",
        "The file was cut off, changed, or its JVM died. What could be read is in the tables; sums over them are too low.",
        "jfr summary {path}   (what the JDK finds in it)",
    ),
    Message(
        "HW221",
        "an imported recording",
        "this was imported from {path}, {source}: it has what that file has, and no thread states",
        "Such a file does not know when threads ran. So there is no parallelism, no wall-time prediction, and nothing"
        " on what the holders of locks did.",
        "headway run -- CMD   (records thread states, too)",
        severity=NOTE,
    ),
    Message(
        "HW222",
        "locks of an imported recording",
        "locks are told apart by class and address, and {which} in {path}",
        "A garbage collection moves objects, so one lock may appear as several, and two as one. The number behind a name is "
        "made of the address. The JDK leaves out short waits by its settings.",
        "headway run --locks -- CMD   (every wait, and objects by identity)",
    ),
    Message(
        "HW223",
        "CPU samples that are estimates",
        "CPU weights come from jdk.ExecutionSample, which samples some of the threads in Java code every {period}",
        "That event looks at a few threads at a time and only at Java code, so its weights are not CPU time. JDK "
        "25's CPUTimeSample and async-profiler sample by CPU time.",
        "headway run --sample cpu -- CMD",
    ),
    Message(
        "HW224",
        "a recording without times",
        "{path} holds collapsed stacks: how often each was seen, not when",
        "Only profiles can be made of it: top, flame, and exports of these.",
        "headway top NAME.headway",
        severity=NOTE,
    ),
    Message(
        "HW225",
        "a sampler's own time in its profile",
        "{percent} % of the CPU time sampled in {path} is async-profiler's own: stacks with its ::signalHandler",
        "The sampler interrupts threads that run and, when it samples wall time, those that wait. Without the "
        "sampler the program would not use that CPU time, and the shares of other methods are too low by as much. "
        "A longer interval costs less.",
        "headway flame NAME.headway -o NAME.html   (search signalHandler), then: asprof start --wall 50ms --interval 10ms PID",
        severity=NOTE,
    ),
    Message(
        "HW226",
        "samples of CPU time or of wall time",
        "{path} holds samples of CPU time and of wall time, but does not say which of the two a sample of a "
        "running thread is",
        "Versions before 3 of async-profiler give both the same event and state. Samples of sleeping threads are wall time; "
        "those of running ones are counted as the event cpu-or-wall, one each, as nobody knows what they stand for.",
        "headway top NAME.headway --event cpu-or-wall   (or record again, with version 3 or later)",
    ),
    Message(
        "HW227",
        "samples that no profile is made of",
        "{path} holds samples of a profiler that headway does not know: {events}",
        "What such a sample stands for is not known, so top and flame leave them out. Their fields are in tables of their own.",
        'headway query NAME.headway "SHOW TABLES"   (jfr_...)',
    ),
    Message(
        "HW228",
        "samples whose weight is not known",
        "nothing says what a sample of {events} in {path} stands for, so each counts as one",
        "The file's settings have no interval for it, and headway knows no default.",
        "asprof start -e EVENT -i INTERVAL PID   (the interval is in the file then)",
    ),
    Message(
        "HW229",
        "a file of the agent's was cut off",
        "{path}, which the agent in a JVM writes, was cut off: {what}",
        "Somebody has emptied or shortened it while it was written, or the disk has lost a part of it. The program went on "
        "unharmed, and what does not come from that file is whole.",
        "record once more, and leave the files in NAME.headway/spool alone until the recording is complete",
    ),
    Message(
        "HW230",
        "waits of coroutines are not seen",
        "coroutines ran in JVM {pid} ({count} threads run them): what a coroutine waits for (a Mutex, a Channel, a delay), "
        "and for how long, is not recorded",
        "A coroutine that waits is an object, no thread. Its workers, which then have nothing to do, count as "
        "waiting for work: a Mutex that everything waits for is in no table of locks; it shows only in that few "
        "threads are active.",
        "headway why NAME.headway   (who works while the others wait)",
    ),
    Message(
        "HW231",
        "coroutines on the class path",
        "{jar} is on the class path of JVM {pid}: if its coroutines wait for each other, that is not recorded",
        "A coroutine that waits is an object, no thread. None of the threads that Kotlin starts for coroutines was seen, but a "
        "program may run them on others.",
        "headway locks NAME.headway   (it shows what threads wait for)",
        severity=ONCE,
    ),
    Message(
        "HW232",
        "samples of code that was compiled before the attach",
        "JVM {pid}: code that was compiled before headway attached knows its lines at safepoints only: samples may count for a "
        "line nearby, or for the method that calls an inlined one",
        "A loop may have no safepoint. Sums are right, also by thread and by compiled method. From the attach on the sampler has "
        "the JIT compiler keep all lines (-XX:+DebugNonSafepoints).",
        "headway run -- CMD   (lines are known from the start; what inlining still hides: docs/how-to/sampling.md)",
        severity=ONCE,
    ),
    Message(
        "HW233",
        "few stack samples were skipped",
        "JVM {pid} skipped {skipped} of {total} stack samples, because too many came at once: less than 1%",
        "As HW213, of which there are too few here to change a figure: sums of CPU and wall time stay right, those of "
        "allocations are too low by about that share.",
        "nothing needs to be done",
        severity=NOTE,
    ),
    Message(
        "HW234",
        "the process ended before its recording was to",
        "process {pid} ended after {after_s:.1f} s of the {asked_s:g} s to be recorded: the recording ends with it",
        "It came to its end, or was killed; of a process that headway did not start it can't tell which. What was recorded until "
        "then is complete, and every figure is of that time alone.",
        "headway run -- CMD   (a program that headway starts is recorded to its end, with its exit code)",
        severity=ONCE,
    ),
    Message(
        "HW235",
        "more threads than a recording may have",
        "{count} threads that began {after_s:.1f} s after the recording or later are left out: it has at most 1,048,576",
        "The program starts threads or processes without end, and each takes memory when the recording becomes tables. What "
        "the threads that are left out ran and waited for is in no table and no sum; times of the others are right. Where "
        "several processes ran when the recording began, each has its own share of that number, with all its descendants. "
        "Table `loss` has the span.",
        "headway record --duration 10s --pid PID   (a shorter recording has all its threads)",
    ),
)
