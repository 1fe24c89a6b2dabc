"""HW40x to HW43x: windows, what predictions need, and waits for locks."""

from __future__ import annotations

from headway.errors.message import NOTE, ONCE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW400",
        "no thread states in this recording",
        "{path} was recorded in mode {mode}: it does not know when threads ran",
        "Parallelism and wall-time predictions need every thread's states, which the kernel tells only with "
        "CAP_BPF and CAP_PERFMON, or through perf events.",
        "headway doctor   (which mode this machine allows, and how to lift it), then record again",
    ),
    Message(
        "HW401",
        "a window outside the recording",
        "from {start:g}s to {end:g}s is no part of {path}, which lasts {length:g}s",
        "A window has to begin before it ends, and to lie between the recording's start and its end.",
        "headway parallelism {path}",
    ),
    Message(
        "HW402",
        "a recording that never began",
        "{path} has no recorded span",
        "The command never started, or the recorder died, or the disk was full, before it did.",
        "headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW403",
        "levels that do not add up",
        "the times per level add up to {total:.6f}s, the wall time is {wall:.6f}s",
        "Every moment has exactly one number of active threads, so the times of all levels have to add up to the wall"
        " time. Here records are missing or the computation is wrong, and every figure made of the levels is "
        "uncertain by at least the difference.",
        "record again; if it stays, please report it",
    ),
    Message(
        "HW405",
        "an unknown message",
        "there is no message {id}; the id that is spelled most like it is {closest}",
        "An id is HW and three digits. Not every number has a message; one that has keeps it for good.",
        "headway explain {closest}   (headway explain: every message, one line each)",
    ),
    Message(
        "HW406",
        "SQL that is not one SELECT",
        "only a single SELECT is run, this is {found}",
        "A recording is evidence: queries may read it, not change it, nor write files or reach the network.",
        'headway query {path} --schema, then headway query {path} "SELECT ..."',
    ),
    Message(
        "HW407",
        "a file of levels that can't be used",
        "{path}: {reason}",
        "Expected is CSV: a head line, then one line per number of active threads: that number first, the seconds"
        " spent at it in a column per program. A last line 'tot' may carry the sums.",
        "headway walltime --levels FILE.csv --column NAME --recorded-cores K --cores 1,2,4",
    ),
    Message(
        "HW408",
        "output that can't be written",
        "writing the output failed: {reason}",
        "Standard output goes to a file or device that takes no more.",
        "free some space, or write elsewhere; the recording itself is as it was",
    ),
    Message(
        "HW410",
        "threads that follow the number of processors",
        "the JVM saw {seen} processor{s} and {pools}; on {cores} cores it would start other threads",
        "The prediction assumes the same threads on any number of cores, but the JVM sizes its GC and fork/join pools by "
        "availableProcessors(), and programs do the same. The interval includes the prediction for threads that grow in "
        "number with the cores.",
        "headway record --jvm-processors {advice} ...   (every run then sees that number of processors)",
        severity=NOTE,
    ),
    Message(
        "HW411",
        "cores that share execution units",
        "{cores} CPUs are more than the {physical} physical cores of this machine: SMT siblings share one core",
        "The model counts every CPU as a full core, but two hardware threads on one core get less done than two "
        "cores. The interval is widened to what it would be if a second hardware thread brought nothing.",
        "headway record --cpus LIST ...   (one CPU of each core)",
        severity=NOTE,
    ),
    Message(
        "HW412",
        "processor time stolen by the host",
        "the host took {share:.1%} of the time the program's threads were on CPUs",
        "On a virtual machine other guests share the CPUs. Figures 'without steal' leave that out. As nobody "
        "knows what the host takes next time, the interval spans from none to twice as much.",
        "record again when the host is calm, or on hardware of your own",
        severity=NOTE,
    ),
    Message(
        "HW413",
        "a clock speed that is not constant",
        "the CPUs' frequency may change with the load ({reason})",
        "The model needs cores that keep their speed however many are busy. The interval is widened by the range of "
        "frequencies seen, or by 15% where none was sampled.",
        "sudo cpupower frequency-set -g performance, turbo off; then record again",
        severity=NOTE,
    ),
    Message(
        "HW414",
        "processors that were not free",
        "threads waited although fewer than {cores} of them ran, for {share:.1%} of the CPU time they could have "
        "used: on free CPUs the program would have taken at least about {free}; other processes took {other} of these "
        "CPUs{quota}",
        "The model assumes that as many active threads as there are cores all run. Other processes, a CPU quota or pinned "
        "threads were in the way. The interval reaches to the figure without that waiting. That figure is a lower bound: "
        "sleeps and other waits for a fixed time would not have been shorter, where they overlap with that waiting.",
        "stop what else runs on these CPUs, or --cpus with those that are free; then record again",
        severity=NOTE,
    ),
    Message(
        "HW415",
        "a program that mostly waits",
        "no thread was active for {share:.1%} of the time",
        "The model keeps that time as it is on any number of cores. It may shrink when the computing it waits for gets "
        "faster, or grow when it no longer overlaps with computing; the interval is widened by both.",
        "headway why {path}   (what it waited for; headway parallelism {path} --from T --to T takes a part in which it works)",
        severity=NOTE,
    ),
    Message(
        "HW416",
        "lost records",
        "{events} records were lost, which leaves {share:.2%} of the wall time uncertain",
        "Nobody knows what the threads did in those spans: the interval is widened by their length, and a prediction is "
        "withheld once they make up more than 5% of the wall time.",
        "record again with less load on the machine, or on fewer --cpus",
        severity=NOTE,
    ),
    Message(
        "HW417",
        "far from the recorded number of cores",
        "{cores} cores are up to {factor:g} times away from the {recorded} recorded",
        "The model was validated up to a factor of 4, with errors up to 15.6% there: contention for memory and locks is "
        "no part of it. The interval is widened by 16% per doubling beyond that, and past a factor of 64 the figure is "
        "withheld. Cores that the program can't use do not count.",
        "record on more cores, closer to those asked for",
        severity=NOTE,
    ),
    Message(
        "HW418",
        "one run only",
        "one recording can't tell how much runs differ: the intervals leave that out",
        "Threads are scheduled differently in every run. The parts of one run are no substitute for several runs:"
        " a program has phases, so resampling them says nothing of the next run.",
        "headway record --repeat 5 -o NAME.headway -- CMD",
        severity=NOTE,
    ),
    Message(
        "HW419",
        "levels from a file: preconditions are not known",
        "preconditions can't be checked for levels from a file, so the uncertainty is unknown",
        "A table of levels says nothing of the machine, the JVM or the runs behind it.",
        "headway record -o NAME.headway -- CMD, then headway walltime NAME.headway",
    ),
    Message(
        "HW420",
        "waiting for a processor that this mode can't see",
        "in mode {mode} a woken thread counts as active only once it runs, so more cores might help more than shown",
        "Without wake-up records, waiting for a CPU after a wake-up looks like blocking. The interval reaches "
        "down to the figure for a program that always had work for every core while all recorded ones were busy.",
        "headway doctor   (how to record in mode ebpf)",
        severity=NOTE,
    ),
    Message(
        "HW421",
        "a part of a run",
        "the recording is a part of a run ({reason}): predictions are for the work in that part",
        "The program's own end was not recorded, so its whole wall time is not known.",
        "headway record -o NAME.headway -- CMD   (from start to end)",
        severity=NOTE,
    ),
    Message(
        "HW422",
        "a printed total that differs",
        "column {column} adds up to {total:g}s, its line 'tot' says {printed:g}s",
        "Published tables are rounded; beyond that a figure may be misread or missing.",
        "compare {path} with its source",
    ),
    Message(
        "HW423",
        "a repeat that was left out",
        "{path} is left out: {reason}",
        "Only complete recordings of the same command, on as many cores and in the same mode, are alike enough to"
        " pool.",
        "headway record --repeat N --force -o NAME.headway -- CMD",
    ),
    Message(
        "HW424",
        "a number of cores that is not known",
        "{path} does not say on how many cores it was recorded",
        "Without it the levels can't be carried over to another number of cores.",
        "headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW425",
        "a run that warmed up",
        "the JVM's compilers used {share:.0%} of the CPU time: the program warmed up, and does so differently on another"
        " number of cores",
        "With fewer cores compiled code comes later, and until then the program does its work in slower code: the work is not"
        " the same. The interval goes from no compiling at all to twice as much.",
        "record a run that is long against its warm-up, or attach once it is warm: headway record --pid PID --duration S",
        severity=NOTE,
    ),
    Message(
        "HW426",
        "work that differs with the number of cores",
        "on {other} the program executes {text} as on {cores} ({path}), where predictions take the work to be the same",
        "More instructions on more cores are what dividing the work costs; more cycles for each come from caches and memory that "
        "cores share. Intervals reach to the figures for work that goes on to grow like that.",
        "headway counters {path} --by kind   (who executes them)",
    ),
    Message(
        "HW427",
        "work that can't be compared",
        "--against {path}: {reason}, so whether the work grows with the number of cores is not known",
        "Two complete recordings of the same task on different numbers of cores tell it, each with a count of instructions.",
        "headway record --counters cycles,instructions --cpus LIST -o NAME.headway -- CMD",
    ),
    Message(
        "HW430",
        "recorded without locks",
        "{path} was recorded without locks{reason}: who waited for what is not in it",
        "Waits of Java threads are seen by the agent, and only when it is told to look for them.",
        "headway record --locks -o NAME.headway -- CMD",
    ),
    Message(
        "HW431",
        "not every wait is recorded by itself",
        "{single} of {counted} waits are recorded one by one: sums per object are exact, but holders, sites, distributions and"
        " costs are of those only",
        "The agent's file for single waits was full. From then on waits are only summed up, so that memory stays bounded.",
        "headway record --locks --duration 10s ...   (a shorter stretch keeps every wait)",
        severity=ONCE,
    ),
    Message(
        "HW432",
        "what holders did is not known in this mode",
        "mode {mode} recorded no scheduling: whether holders ran or slept, and which cores were idle, is not known",
        "The kernel's record of running and waiting threads needs eBPF or perf events.",
        "headway doctor   (which mode this machine allows, and how to have more)",
    ),
    Message(
        "HW433",
        "waits are missing in a part of the recording",
        "single waits are missing in a part of this recording, perhaps in this window: its figures may be too low",
        "The agent's file for single waits was full; a window's figures are made from these alone.",
        "headway locks NAME.headway   (without --from and --to: the sums of the whole recording are exact)",
    ),
    Message(
        "HW434",
        "waits that began before the recording",
        "{count} waits had begun before headway attached: they count from the attach on",
        "The agent was attached to a running program whose threads waited already. Platform threads that were parked are seen at "
        "once; those blocked on a monitor or in Object.wait when that is over; virtual threads with their next wait only.",
        "start the program with headway record --locks -- CMD to see them from their start",
        severity=NOTE,
    ),
    Message(
        "HW435",
        "more waits than memory is for",
        "only {read} of {waits} single waits were read, those before {until}: figures about single waits are of "
        "these, while sums per object of a whole recording are exact. Reading all of them takes {needed} of "
        "memory; the limit is {limit}",
        "Waits are joined over the whole recording, so each takes memory. The limit (1G without a setting) keeps a long"
        " recording from filling the machine.",
        "the rest by --from {until} and --to, or all at once: HEADWAY_MEMORY={needed} headway ...",
    ),
    Message(
        "HW436",
        "a limit of memory that is no size",
        "{variable} is set to '{value}', which is no size of memory",
        "It limits what analyses of waits may take. Without it the limit is 1 GiB.",
        "unset {variable}   (or a size such as 512M or 8G)",
    ),
    Message(
        "HW437",
        "more objects than memory is for",
        "threads waited for {objects} objects: the {kept} with the most waiting have rows of their own, the other {folded} share "
        "one for each class and place, without holders. Rows for all take {needed} of memory; the limit is {limit}",
        "A program that makes an object for each request has as many as requests. Sums are exact in either case; holders and "
        "chains of waiting are known only for objects with a row of their own. The limit is 1G without a setting.",
        "HEADWAY_MEMORY={needed} headway ...   (gives each object its row)",
    ),
    Message(
        "HW438",
        "more places than memory is for",
        "threads waited for {objects} objects: the {kept} with the most waiting have rows of their own. The other {folded} share "
        "rows: one for each of the {shown} classes and places with the most waiting, and, of {places} more, one for each class "
        "or kind of waiting, without a place, nor a process where there are too many (its number is -1 then). Rows for all take "
        "{needed} of memory; the limit is {limit}",
        "Code that is made without end waits at places without end. Sums are exact in either case; holders, chains and places "
        "are known only for objects with a row of their own. The limit is 1G without a setting.",
        "HEADWAY_MEMORY={needed} headway ...   (gives each object its row)",
    ),
)
