"""HW1xx: what this machine allows."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW100",
        "recorded as an ordinary user (mode perf-switch)",
        "mode perf-switch ({reason}): a woken thread that waits for a CPU counts as blocked; no wakers, no stolen time",
        "Without CAP_BPF and CAP_PERFMON headway records PERF_RECORD_SWITCH: every switch of every thread of the process "
        "tree, but no wake-ups. 'Active' is then running, or preempted in the midst of work, so parallelism above the "
        "number of CPUs is underestimated. Each running interval lacks the microseconds of the switch itself. Totals of "
        "waiting and executed time come from /proc/PID/task/TID/schedstat, read about once a second.",
        "{command}",
    ),
    Message(
        "HW101",
        "recorded by the agent alone (mode agent)",
        "mode agent ({reason}): no thread states, hence no parallelism; only when Java threads lived, and their "
        "CPU time",
        "Neither eBPF nor perf events are open to this user here (perf_event_paranoid 3 or more on Debian and "
        "Ubuntu, or a container's seccomp filter), so scheduling can't be recorded. GC pauses are known from the "
        "agent.",
        "{command}",
    ),
    Message(
        "HW102",
        "the requested mode is not available here",
        "mode {mode} is not available here: {reason}",
        "The mode was asked for by name, and this user on this machine may not use it.",
        "headway doctor",
    ),
    Message(
        "HW103",
        "no such event to count",
        "--counters: no event is called {event!r}; {near}",
        "Events are the generic ones of perf (cycles, LLC-load-misses, page-faults ...), raw codes (r01b1), those of sysfs "
        "(PMU/NAME/ or PMU/event=0x3c,umask=1/), and watched addresses (mem:ADDRESS/BYTES:w); :u or :k behind one counts in user "
        "space or in the kernel alone.",
        "headway doctor   (which events count here)",
    ),
    Message(
        "HW104",
        "a group of more events than the CPU counts at once",
        "--counters: the CPU does not count {events} at once, though it does each alone",
        "A group is counted together or not at all, so that its events can be divided by each other.",
        "make it two groups, with ; between them: they take turns on the counters",
    ),
    Message(
        "HW105",
        "a list of groups of events that can't be read",
        "{option} {text!r}: {reason}",
        "Events are separated by commas, groups by semicolons. Each event is read at every switch of the program's threads, and "
        "kept with every slice: that is why there is a limit.",
        "headway record --counters 'cycles,instructions;cache-references,cache-misses' -o NAME.headway -- CMD",
    ),
    Message(
        "HW106",
        "an event that can't be divided by thread",
        "--counters: {event} can't be counted by thread: {reason}",
        "Such a counter grows by what any CPU of its socket does.",
        "headway record --counters EVENT --counter-scope cpu ...   (for each socket, as root)",
    ),
    Message(
        "HW107",
        "events that are not counted here",
        "not counted here: {events}",
        "Each event was tried with a loop that must make it count. An event that can't be opened, stays at zero, or gives "
        "another figure each time, is reported as absent, which is not zero.",
        "headway doctor   (which events count here)",
    ),
    Message(
        "HW108",
        "counts of whole threads, without eBPF",
        "--counters: each thread is counted as a whole, as the recording is made in mode {mode}: not by phase, region, lock, "
        "CPU, iteration or time",
        "In mode ebpf a program in the kernel reads the counters of the CPUs at every switch. In other modes each thread has "
        "counters of its own, which the recorder opens from outside when it first sees the thread: the program's first thread "
        "before it begins, others within a tenth of a second. What a thread ran before has no counts (>=), and a thread that "
        "ended before has none at all; each thread takes a descriptor for each event.",
        "headway doctor   (what keeps eBPF from this machine)",
    ),
    Message(
        "HW109",
        "a recording without counters",
        "{path} was recorded without counters{why}",
        "Counters are recorded only when they are asked for.",
        "headway record --counters -o NAME.headway -- CMD",
    ),
    Message(
        "HW110",
        "running time whose counts are not known",
        "for {share:.1%} of the running time the counters could not be read: what happened then is missing from the figures",
        "A slice has counts when both of its switches are on record and the counters could be read at both. CPUs that came "
        "online later, or were offline for a while, have none from then on, nor do the switches that were lost. Without eBPF,"
        " what threads ran before the recorder first saw them has no counts either.",
        "record with less going on beside it, or on CPUs that stay online",
    ),
    Message(
        "HW111",
        "a recording without iterations",
        "{path} has no iterations by {marks}: {why}",
        "Marks of iterations are explicit collections of the only JVM that calls System.gc() (gc), stretches in the methods that "
        "a pattern names, as samples show them (method=REGEX), or lines that the recorder was told to look for (marker=TEXT).",
        "{remedy}",
    ),
    Message(
        "HW112",
        "iterations that samples tell apart",
        "iterations by method={pattern} are stretches in which samples show threads busy in it, not its single calls",
        "Calls without a break of some samples between them are one stretch; a call in which nobody is busy for a while, as it "
        "waits for others, is several. Explicit collections and printed lines are exact marks.",
        "headway counters NAME.headway --by iteration --iterations gc",
    ),
    Message(
        "HW113",
        "events none of which count here",
        "nothing can be counted here: {events}",
        "Each event was tried with a loop that must make it count. Virtual machines show few counters of the processor; "
        "ordinary users may count user space alone (event:u), and nothing where kernel.perf_event_paranoid is 3 or more.",
        "headway doctor   (which events count here), or as root",
    ),
    Message(
        "HW114",
        "a process that can't be counted",
        "the threads of process {pid} can't be counted: {reason}",
        "Counters are opened for each thread of the process. Its own user and root may do that, unless the kernel or a "
        "container forbids it.",
        "sudo headway counters --pid {pid}",
    ),
    Message(
        "HW115",
        "threads without counters",
        "{count} threads of process {pid} are not counted: {reason}",
        "From outside each thread takes a descriptor for each event. A recording in mode ebpf reads the counters of CPUs "
        "instead, and has any number of threads.",
        "ulimit -n 65536, or fewer events (--counters page-faults)",
    ),
    Message(
        "HW116",
        "counts of whole CPUs alone",
        "{path} counts CPUs as a whole, whatever runs there: {why}",
        "With --counter-scope cpu the counters of each CPU are read when the recording begins and ends, and not at switches.",
        "headway counters {path} --by cpu   (or record with --counter-scope thread+cpu)",
    ),
    Message(
        "HW117",
        "units of whole sockets are for root",
        "--counters: {event} counts for a whole socket, whoever runs there, and is refused: {reason}",
        "Memory controllers, energy meters and interconnects tell what all users of the machine do, so the kernel keeps them for "
        "root, CAP_PERFMON, or a kernel.perf_event_paranoid of 0.",
        "sudo headway record ...   (or without {event})",
    ),
    Message(
        "HW118",
        "counts joined from several runs",
        "{path} counted each group of events in a run of its own, and the runs are joined by the threads' names and order of "
        "start: {why}",
        "Two runs of a program have no times, CPUs or locks in common. What can be matched are threads of the same kind, name"
        " and order of start, kinds of threads, phases, regions and iterations.",
        "headway counters {path}   (or {path}/repeats/2.headway: the second run alone)",
    ),
    Message(
        "HW119",
        "one run of several, each of which counts one group",
        "of {runs} runs this one counted {events} alone: --counters-by-runs",
        "Each group was counted in a run of its own, so that groups did not take turns on the CPU's counters. Only headway "
        "counters joins the runs; all other commands use the counts of this run.",
        "headway counters {path}",
        NOTE,
    ),
    Message(
        "HW120",
        "iterations whose marks were read late",
        "{out} of {all} iterations by {marks} are left out: {late} lines came together with others, so it is not known when "
        "they were printed",
        "The recorder reads what the program prints, and notes when. Lines that it reads at once were printed at different "
        "times, of which none is known: the program buffers what it prints, or printed while the recorder had no CPU.",
        "make the program write each line at once (flush), or use --iterations gc",
    ),
    Message(
        "HW121",
        "counters that another tool took during the recording",
        "for {share:.1%} of the running time {events} are not known: on some CPU they did not count from {begin} to {end}",
        "Another tool that has the counters for itself, as perf stat -e EVENT:D does, leaves none to a group for as long as it "
        "counts. What ran meanwhile is not scaled from the rest, as it may have done something else: counts are the least that "
        "there were.",
        "stop what else counts (perf, another profiler, the NMI watchdog), and record again",
    ),
    Message(
        "HW122",
        "a machine that slept while it was recorded",
        "the machine was suspended for {time} while {path} was recorded",
        "Times come from a clock that stands still while the machine sleeps: what the program did before and after appears "
        "without a gap, and nothing shows how long it slept. Counters of CPUs that were taken offline for it do not count any"
        " more.",
        "record again on a machine that stays awake: systemd-inhibit headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW123",
        "counts of whole threads alone",
        "{path} counts each thread as a whole, from outside: {why}",
        "The recording is made without eBPF (HW108): nothing read the counters when threads were switched, so that what they "
        "counted in a part of the time is not known.",
        "headway counters {path}   (or --by kind; or record as root, in mode ebpf)",
    ),
    Message(
        "HW124",
        "a watched address, whose breakpoint can end the program",
        "{option}: a breakpoint may end the program by SIGTRAP: {events}",
        "A watched address is a breakpoint of the processor. On virtual machines a hit has been seen to come without its reason, "
        "once in a million, in bursts: Linux then sends SIGTRAP, as for an INT1 instruction, and a program that does not "
        "handle that ends. Whoever opens the breakpoint can't prevent it; it happens with perf stat as well. In scope cpu the "
        "address is watched in every program of the machine.",
        "headway doctor   (what else counts here), or --allow-breakpoints (record, run, counters --pid) where it may end",
    ),
    Message(
        "HW125",
        "default events that are not counted here",
        "some of the events that are counted by default are not counted here: {events}",
        "They were not asked for by name, and the other counts are whole without them. HW107 says the same of events that "
        "were asked for by name.",
        "headway doctor   (which events count here)",
        NOTE,
    ),
)
