"""HW4xx: analyses and their preconditions."""

from __future__ import annotations

from headway.errors.message import Message

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
        "The command never started, or the recorder died before it did.",
        "headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW403",
        "levels that do not add up",
        "the times per level add up to {total:.6f}s, the wall time is {wall:.6f}s",
        "Every moment of the wall time has exactly one number of active threads; where the sum differs, records "
        "are missing or the sweep is wrong, so every figure made of the levels is uncertain by at least the "
        "difference.",
        "record again; if it stays, please report it",
    ),
    Message(
        "HW405",
        "an unknown message",
        "there is no message {id}; the closest is {closest}",
        "Messages are numbered HW000 to HW999 and keep their number for good.",
        "headway explain {closest}",
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
        "The prediction assumes the same threads on any number of cores, but the JVM sizes its GC and fork/join "
        "pools by availableProcessors(), and programs do the same. The interval is widened by the figure for "
        "threads that scale with the cores.",
        "headway record --jvm-processors {advice} ...   (every run then sees that number of processors)",
    ),
    Message(
        "HW411",
        "cores that share execution units",
        "{cores} CPUs are more than the {physical} physical cores of this machine: SMT siblings share one core",
        "The model counts every CPU as a full core, but two hardware threads on one core get less done than two "
        "cores. The interval is widened to what it would be if a second hardware thread brought nothing.",
        "headway record --cpus LIST ...   (one CPU of each core)",
    ),
    Message(
        "HW412",
        "processor time stolen by the host",
        "the host took {share:.1%} of the time the program's threads were on CPUs",
        "On a virtual machine other guests share the CPUs. Figures 'without steal' leave that out. As nobody "
        "knows what the host takes next time, the interval spans from none to twice as much.",
        "record again when the host is calm, or on hardware of your own",
    ),
    Message(
        "HW413",
        "a clock speed that is not constant",
        "the CPUs' frequency may change with the load ({reason})",
        "The model needs cores that keep their speed however many are busy. The interval is widened by the range of "
        "frequencies seen, or by 15% where none was sampled.",
        "sudo cpupower frequency-set -g performance, turbo off; then record again",
    ),
    Message(
        "HW414",
        "processors that were not free",
        "threads waited although fewer than {cores} of them ran, for {share:.1%} of the CPU time they could have used: on "
        "free CPUs it would have taken about {free}; other processes took {other} of these CPUs{quota}",
        "The model assumes that as many active threads as there are cores all run. Other processes, a CPU quota or "
        "pinned threads were in the way. The interval is widened by the figure without that waiting.",
        "stop what else runs on these CPUs, or --cpus with those that are free; then record again",
    ),
    Message(
        "HW415",
        "a program that mostly waits",
        "no thread was active for {share:.1%} of the time",
        "The model keeps that time as it is on any number of cores. It may shrink when the computing it waits for gets "
        "faster, or grow when it no longer overlaps with computing; the interval is widened by both.",
        "headway parallelism {path} --from T --to T   (only the part of interest)",
    ),
    Message(
        "HW416",
        "lost records",
        "{events} records were lost, which leaves {share:.2%} of the wall time uncertain",
        "Nobody knows what the threads did in those spans: the interval is widened by their length, and a prediction is "
        "withheld once they make up more than 5% of the wall time.",
        "record again with less load on the machine, or on fewer --cpus",
    ),
    Message(
        "HW417",
        "far from what was recorded",
        "{cores} cores are up to {factor:g} times away from the {recorded} recorded",
        "The model was validated up to a factor of 4, with errors up to 15.6% there: contention for memory and locks is "
        "no part of it. The interval is widened by 16% per doubling beyond that, and past a factor of 64 the figure is "
        "withheld. Cores that the program can't use do not count.",
        "record on more cores, closer to those asked for",
    ),
    Message(
        "HW418",
        "one run only",
        "one recording can't tell how much runs differ: the intervals leave that out",
        "Threads are scheduled differently in every run. The parts of one run are no substitute for several runs:"
        " a program has phases, so resampling them says nothing of the next run.",
        "headway record --repeat 5 -o NAME.headway -- CMD",
    ),
    Message(
        "HW419",
        "a table whose circumstances are not known",
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
    ),
    Message(
        "HW421",
        "a part of a run",
        "the recording is a part of a run ({reason}): predictions are for the work in that part",
        "The program's own end was not recorded, so its whole wall time is not known.",
        "headway record -o NAME.headway -- CMD   (from start to end)",
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
        "not every wait is there by itself",
        "{single} of {counted} waits are recorded one by one: sums per object are exact, but holders, sites, distributions and"
        " costs are of those only",
        "The agent's file for single waits was full. From then on waits are only summed up, so that memory stays bounded.",
        "headway record --locks --duration 10s ...   (a shorter stretch keeps every wait)",
    ),
    Message(
        "HW432",
        "what holders did is not known in this mode",
        "mode {mode} recorded no scheduling: whether holders ran or slept, and which cores were idle, is not known",
        "The kernel's record of running and waiting threads needs eBPF or perf events.",
        "headway doctor   (what would lift it)",
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
        "{count} waits had begun before headway came: they count from then on",
        "The agent was attached to a running program whose threads waited already. Platform threads that were parked are seen at "
        "once; those blocked on a monitor or in Object.wait when that is over; virtual threads with their next wait only.",
        "start the program with headway record --locks -- CMD to see them from their begin",
    ),
    Message(
        "HW440",
        "an event that was not recorded",
        "{path} has no profile of {event}; it has: {recorded}",
        "cpu, wall, alloc and hardware events are sampled when they are asked for; lock needs the agent's record of locks, "
        "off-cpu the kernel's record of threads, and blame (code that kept cores idle) that and CPU samples.",
        "headway record {how} -o NAME.headway -- CMD",
    ),
    Message(
        "HW441",
        "no such thread in a profile",
        "no thread of {path} that {event} was seen in is called like {pattern}; there are: {examples}",
        "The regular expression may be found anywhere in a thread's name; all virtual threads together are called "
        "'(virtual threads)'.",
        "headway threads {path}",
    ),
    Message(
        "HW442",
        "a region that matches nothing",
        "no {event} stack of {path} has a frame that {pattern} is found in; frames are such as: {examples}",
        "A region is a regular expression that is looked for in each frame, written package.Class.method. A method that was "
        "inlined is there; one that never was on a stack when one was taken is not.",
        "headway top {path} --event {event}",
    ),
    Message(
        "HW443",
        "nothing of an event in a window",
        "no {event} from {start:g}s to {end:g}s of {path}",
        "The event was recorded, but did not happen then. For lock: nobody waited in contention (idle waiting is none).",
        "headway top {path} --event {event}   (without --from and --to)",
    ),
    Message(
        "HW444",
        "a region that matches everything",
        "every stack has a frame that {pattern} is found in, so the region leaves nothing out",
        "Such as run or main: these are on every stack of their threads.",
        "give the method that does the parallel work, such as --region 'KMeans\\.assign'",
    ),
    Message(
        "HW445",
        "blocked time without stacks",
        "no stacks were recorded, so blocked time is by thread only",
        "Stacks of blocked threads are taken by the agent together with locks.",
        "headway record --locks -o NAME.headway -- CMD",
    ),
    Message(
        "HW446",
        "profiles of different events",
        "{before} and {after} can't be compared: they count different things",
        "A difference is between two profiles of one event: the same unit, and the same meaning.",
        "headway flame BEFORE.headway --event {before} --diff AFTER.headway",
    ),
    Message(
        "HW447",
        "samples that were asked for, and are not there",
        "{path} was to have samples of {events}, and has none: {reason}",
        "The sampler ends its file when the recording or the JVM ends, and every 10 s in between. What a killed JVM had sampled "
        "since, a JVM that was too short, and a sampler that could not begin leave nothing to read.",
        "headway record --sample {events} -o NAME.headway -- CMD   (again, to its end)",
    ),
    Message(
        "HW448",
        "samples of virtual threads",
        "{share:.0%} of {event} in {path} was executed by virtual threads, and counts for the carriers that ran them",
        "Which virtual thread a carrier had at the time of a sample is not recorded: by thread the profile tells carriers "
        "apart, not virtual threads. After a wait the JVM puts back only the innermost frames of a virtual thread, and the next "
        "ones as these return: until then its stacks begin at cont_returnBarrier, and their callers' totals lack them.",
        "headway top {path} --event {event} --region 'VirtualThread\\.run$|return.?[bB]arrier'   (theirs alone)",
    ),
    Message(
        "HW450",
        "no thread states in an imported recording",
        "{path} was imported from {source}, which does not know when threads ran{known}",
        "Parallelism and wall-time predictions need every thread's states; profilers' files hold samples and events only.",
        "headway run -- CMD   (records them)",
    ),
    Message(
        "HW490",
        "a region that matches nothing",
        "region {name} ('{pattern}') is in no CPU sample of {path}",
        "A pattern is found in frames written org.example.KMeans.assign. Either no method is called so, or it ran too short for "
        "a sample.",
        "headway top {path}   (its methods), then another --region or --sequential-region",
    ),
    Message(
        "HW491",
        "a region that matches everything",
        "region {name} ('{pattern}') is in {share:.1%} of the CPU samples of {path}: there is no sequential part beside it",
        "With all of the program in the region, what one thread does while the others wait counts as load imbalance. A pattern "
        "such as 'main' or 'run' is found in too many frames.",
        "headway top {path}   (its methods), then a narrower --region",
    ),
    Message(
        "HW492",
        "regions can't be looked for",
        "{path} has no CPU samples: the times with more than one application thread active stand for the first region",
        "Which method a thread was in is known from samples alone.",
        "headway record --sample cpu --locks -o NAME.headway -- CMD",
    ),
    Message(
        "HW493",
        "regions that were found by themselves",
        "regions found by themselves: {regions}",
        "Where no --region is given, a region is made of the methods that pools' and other threads were given to run.",
        "headway sweep --resume NAME.sweep --region 'NAME=REGEX'   (to put it right; no run is made again)",
    ),
    Message(
        "HW494",
        "waits that can't be followed",
        "mode {mode} does not know who woke whom: {known}, and the path stays on threads that wait",
        "The critical path goes from a blocked thread to the one that ended its wait, which the kernel tells with CAP_BPF and "
        "CAP_PERFMON only. What is on the path in state unknown may hide other threads.",
        "headway doctor   (how to record in mode ebpf)",
    ),
    Message(
        "HW495",
        "no such thread to end a path in",
        "no thread of {path} is called like {pattern}; there are: {examples}",
        "The critical path ends in one thread, by default the one whose end is the program's. The regular expression may be "
        "found anywhere in a thread's name.",
        "headway threads {path}",
    ),
    Message(
        "HW496",
        "a region that comes and goes faster than samples",
        "region {name} comes and goes faster than samples tell: its stretches in {path} are {samples:.1f} samples long",
        "Where no worker shows when a region goes on (a sequential program, or workers with several regions), its begin and end "
        "are known to half a sampling interval. Its time over the whole run is right on average; its single instances, their "
        "number and their balance are not.",
        "headway sweep --sample cpu-clock:1ms ...   (cpu comes at the kernel's tick at most; or one --region for what "
        "alternates)",
    ),
    Message(
        "HW497",
        "slices that are not in order of their ends",
        "{path}: {slices} slices end later than those after them; the account takes each to end where the next one does",
        "Lost cores are counted backwards from slice to slice. headway writes them in order, so something else has made or "
        "changed the table `slice`, and parts of the account are wrong.",
        "record once more; if it stays, report it with the manifest.json",
    ),
)
