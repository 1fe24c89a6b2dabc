"""HW2xx: losses and invariants."""

from __future__ import annotations

from headway.errors.message import Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW200",
        "scheduling records were lost",
        "{events} scheduling records were lost, in {spans} spans of time",
        "The kernel produced records faster than they could be taken away, or the disk refused them. States and counts "
        "around these spans (table `loss`) may be wrong.",
        "record fewer processes, or on a machine with a free core",
    ),
    Message(
        "HW201",
        "an invariant does not hold",
        "an invariant of this recording does not hold: {message}",
        "Figures that come about in two ways must agree; here they do not, so records were lost or contradict each other.",
        "record once more; if it stays, report it with the manifest.json",
    ),
    Message(
        "HW202",
        "threads of unknown birth",
        "{count} threads have no record of their birth: their process and name are unknown, they count as app",
        "Records of the start of threads were lost, or they began before the recording and were missed in /proc.",
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
        "The disk was full, or a JVM wrote more than the agent's file may hold.",
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
        "single blocks end before the recording",
        "from {after_s:.3f} s on blocks and holds were only summed: timelines, wakers and percentiles of locks end there",
        "An agent's file holds about 16 million blocks. Past that the sums per lock go on, so times parked, the times and "
        "the utilisations are exact to the end.",
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
        "{count} parks were on objects that found no room in the table of locks: no figure has them",
        "The table holds some hundred thousand objects at once, and the disk may have been full.",
        "headway record --forget-dead ...   (or --park-threshold 2)",
    ),
    Message(
        "HW209",
        "another agent had taken the hooks out for a while",
        "JVM {pid}: from {from_s:.3f} to {to_s:.3f} s parks may be missing: another agent had redefined LockSupport",
        "An agent that redefines a class (async-profiler's lock mode, OpenTelemetry's) throws out what others had put "
        "there. headway looks four times a second and puts its call sites in again; times are of the last such gap.",
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
        "the stack samples of JVM {pid} from {from_s:.1f} s on are lost: it ended before they were written out",
        "async-profiler completes its file about every ten seconds and when the JVM ends in order; what a JVM had begun that is "
        "killed or crashes is lost with it.",
        "end the program by SIGTERM instead of SIGKILL",
    ),
    Message(
        "HW213",
        "stack samples were skipped",
        "JVM {pid}: {skipped} of {total} stack samples were skipped, because too many came at once",
        "async-profiler takes a few samples at the same time and leaves out what comes beyond. Sums of CPU and wall time stay "
        "right, for the next sample stands for the time of those before; sums of allocations are too low.",
        "headway record --sample cpu:20ms ...   (a longer interval)",
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
    ),
    Message(
        "HW217",
        "waits that were only counted",
        "--park-threshold {threshold}: of a lock the first {threshold} waits were only counted, {count} in all: no time has them",
        "Times, sites and holders are of the waits that follow; averages are over these (times_measured). What was waited "
        "for no more often than that has no row.",
        "headway record --locks ...   (without --park-threshold every wait is measured)",
    ),
    Message(
        "HW218",
        "virtual threads that waited before the attach",
        "JVM {pid}: of the virtual threads that were parked before headway came not all are known ({reason})",
        "The JVM's list of threads has no virtual ones; the JDK's own has. Of it 100,000 virtual threads are looked at, in 5,000"
        " executors and scopes, and of those that are parked 20,000 are looked after. The others are seen when they park the"
        " next time: until then waits and waiters of their locks are too few.",
        "headway run --locks -- CMD   (from the start of the program nothing is missed)",
    ),
    Message(
        "HW219",
        "holds that were not timed",
        "{count} holds of contended locks were not timed: counts and percentiles of true hold times lack them",
        "A thread's holds are timed in one of four places that it shares with the threads whose ids are equal modulo 256, and "
        "kept in one of 64 until the agent is told; where more are held at once, or have ended, they find none. Waits, holders "
        "and the other figures are whole.",
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
        "Such a file does not know when threads ran: no parallelism, no wall-time prediction, and of locks no holders' doings.",
        "headway run -- CMD   (records thread states, too)",
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
        "CPU weights come from jdk.ExecutionSample: some of the threads in Java code, every {period}",
        "It looks at a few threads at a time and only at Java code, so weights are no CPU time. JDK 25's CPUTimeSample and "
        "async-profiler sample by CPU time.",
        "headway run --sample cpu -- CMD",
    ),
    Message(
        "HW224",
        "a recording without times",
        "{path} holds collapsed stacks: how often each was seen, not when",
        "Only profiles can be made of it: top, flame, and exports of these.",
        "headway top NAME.headway",
    ),
    Message(
        "HW225",
        "a sampler's own time in its profile",
        "{percent} % of the CPU time sampled in {path} is async-profiler's own: stacks with its ::signalHandler",
        "It interrupts threads that run, and those that wait when it samples wall time; what its handler takes is CPU time that "
        "the program does not use without it. Shares of other methods are too low by as much. A longer interval takes less.",
        "headway flame NAME.headway -o NAME.html   (search signalHandler), then: asprof start --wall 50ms --interval 10ms PID",
    ),
)
