"""Every message headway can give that a person may have to act on, defined once.

A `Message` is one row of the table `MESSAGES`: what happened, why, and the next command to run. The CLI, the manifest,
the reports, `headway explain` and the reference docs all read this table. Two things are made from it:

* `HeadwayError(id, **facts)` stops a command (exit code 1);
* `Notice.of(id, **facts)` goes with a result that is still given, and marks it.

Ids are stable: never reuse or renumber one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that can go wrong or weaken a result. `text` and `remedy` are str.format templates over the facts."""

    id: str
    title: str
    text: str
    why: str
    remedy: str


_ROWS: tuple[Message, ...] = (
    # HW0xx: starting and attaching. HW1xx: what this machine allows. HW2xx: losses and invariants.
    # HW3xx: the store and its files. HW4xx: analyses and their preconditions. HW5xx: reports and exports.
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
        "mode agent ({reason}): no thread states, hence no parallelism; only the life and CPU time of Java threads",
        "Neither eBPF nor perf events are open to this user here (perf_event_paranoid 3 or more on Debian and Ubuntu, or "
        "a container's seccomp filter), so no scheduling record can be had. GC pauses are known from the agent.",
        "{command}",
    ),
    Message(
        "HW102",
        "the mode that was asked for can't be had here",
        "mode {mode} can't be had here: {reason}",
        "The mode was asked for by name, and this user on this machine may not use it.",
        "headway doctor",
    ),
    Message(
        "HW001",
        "no such program",
        "{command}: there is no such program: {reason}",
        "The command after -- is started as a shell starts it: a name is looked up in PATH, a path is taken as it"
        " is. Shell words such as aliases, functions, pipes and && are unknown here.",
        "command -v {command}",
    ),
    Message(
        "HW002",
        "the program is not executable",
        "{path} can't be started: {reason}",
        "A file is started only with the execute permission.",
        "chmod +x {path}   (or name its interpreter: sh {path}, java -jar {path})",
    ),
    Message(
        "HW003",
        "the system refused to start the program",
        "{path} can't be started: {reason}",
        "The file is there and executable, but the kernel could not run it. Nothing was recorded.",
        "file {path}",
    ),
    Message(
        "HW004",
        "no process to attach to",
        "process {pid} can't be recorded: {reason}",
        "--pid takes a process that runs now, as this pid namespace numbers it.",
        "jcmd -l   (lists the JVMs of this user)",
    ),
    Message(
        "HW005",
        "another user's process",
        "process {pid} belongs to {owner}, and headway runs as {me}",
        "Watching another user's process needs privileges, for it shows what that user does.",
        'sudo env "PATH=$PATH" headway record --pid {pid} ...',
    ),
    Message(
        "HW006",
        "the output can't be written",
        "{path} can't be written: {reason}",
        "A recording is a directory that headway makes and fills while the program runs.",
        "choose another place with -o",
    ),
    Message(
        "HW007",
        "no such CPUs",
        "--cpus {text}: {reason}",
        "--cpus takes CPU numbers and ranges of CPUs that are online and allowed to this process: 0-3,8.",
        "CPUs online: {online}   (lscpu -e shows them all)",
    ),
    Message(
        "HW008",
        "already being recorded",
        "process {pid} is already recorded by another headway (process {recorder}{part})",
        "Two recorders would double the cost and record what the other causes.",
        "kill -INT {recorder}   (ends that recording and finalises it)",
    ),
    Message(
        "HW009",
        "the collector could not start",
        "the {mode} collector could not start: {step}: {reason}",
        "The program was not started, and nothing is left behind.",
        "headway doctor",
    ),
    Message(
        "HW010",
        "child JVMs print one line",
        "{command} is not a java launcher: the agent goes in by JAVA_TOOL_OPTIONS, and each JVM prints one line about it",
        "A JVM that takes options from JAVA_TOOL_OPTIONS says so on its standard error, and can't be told not to. A direct "
        "java command gets the options in its argument list, where nothing is printed.",
        "headway record -o NAME.headway -- java ...",
    ),
    Message(
        "HW011",
        "the processor count is set elsewhere",
        "--jvm-processors is overridden by -XX:ActiveProcessorCount in {where}",
        "The JVM takes the last of several settings, and the command's own comes after headway's.",
        "remove -XX:ActiveProcessorCount there, or leave --jvm-processors out",
    ),
    Message(
        "HW012",
        "the agent does not fit this java",
        "{java} is built for another processor or C library than the agent: recorded without it",
        "A JVM that can't load an agent it is told to load refuses to start, so the agent was left out. Threads have their "
        "kernel names only, and GC pauses are unknown.",
        "use a glibc build of the JDK for this machine's processor",
    ),
    Message(
        "HW013",
        "no agent while the JVM archives classes",
        "{option} makes a class-data archive, which the JVM refuses to do with an agent: recorded without it",
        "A JVM that dumps a class-data archive ends at once when it is told to load a native agent, so the agent was left out. "
        "Threads have their kernel names only, and GC pauses are unknown. A JVM below a build tool that does so would fail: "
        "record such a command with --no-agent.",
        "headway record --no-agent ...",
    ),
    Message(
        "HW014",
        "no agent where the command changes its root",
        "the command uses {tool}: a JVM in another file system could not find the agent and would not start, so none is used",
        "JAVA_TOOL_OPTIONS goes wherever the environment goes, and a JVM that can't find an agent it is told to load ends at "
        "once. headway sees such a tool in the command and in the script that it starts, not deeper: where a build tool or a "
        "second script changes the root, use --no-agent. Threads have their kernel names only, and GC pauses are unknown.",
        "headway record -o NAME.headway --pid PID   (once that JVM runs)",
    ),
    Message(
        "HW020",
        "no such process",
        "there is no process {pid}, or it has ended",
        "A process id is looked up when the command starts and checked again while attaching.",
        "pgrep -a java",
    ),
    Message(
        "HW021",
        "not allowed to attach",
        "this user may not attach to process {pid}: {reason}",
        "A JVM takes attach requests from its own user and from root only.",
        'sudo env "PATH=$PATH" headway record --pid {pid} ...',
    ),
    Message(
        "HW022",
        "no HotSpot JVM",
        "process {pid} has no HotSpot JVM in it",
        "The agent needs libjvm.so of an OpenJDK. Without it threads are still recorded, by their kernel names.",
        "pgrep -a java",
    ),
    Message(
        "HW023",
        "the JVM must not be attached to",
        "process {pid} can't be attached to: {reason}",
        "The attach protocol begins with SIGQUIT. A JVM that does not expect it ends, or prints the stacks of all its threads "
        "into the program's output, so headway does not send it.",
        "start it with headway record -- CMD instead",
    ),
    Message(
        "HW024",
        "the JVM does not answer",
        "JVM {pid} did not answer the attach request in time",
        "Its attach thread waits for a safepoint, or the machine is overloaded. The request stays pending and does no harm.",
        "headway record --pid {pid} ...   (once more)",
    ),
    Message(
        "HW025",
        "the JVM could not load the agent",
        "JVM {pid} did not load the agent: {reason}",
        "The library is loaded inside the JVM's own file system and C library: a noexec /tmp, musl, or an old glibc refuse it.",
        "headway doctor",
    ),
    Message(
        "HW026",
        "the agent can't write its records",
        "the agent in JVM {pid} can't write its records: {reason}",
        "The agent writes with the JVM's user and into the JVM's file system.",
        "headway record -o DIR_THAT_THE_JVM_CAN_WRITE/NAME.headway --pid {pid} ...",
    ),
    Message(
        "HW027",
        "already being recorded",
        "JVM {pid} is already being recorded by another headway",
        "One agent writes one recording at a time.",
        "pgrep -a headway",
    ),
    Message(
        "HW050",
        "the output is there and is no recording",
        "{path} exists and is not a headway recording; headway never deletes or overwrites such a thing, even "
        "with --force",
        "It may be a directory of yours.",
        "choose another -o NAME.headway",
    ),
    Message(
        "HW051",
        "the disk filled up",
        "the disk under {path} was nearly full {after_s:.1f} s into the recording: it ended there, the program ran on",
        "What was recorded until then is kept, and room is left to finalise it. The rest of the program's run is "
        "not in it.",
        "choose a place with more room with -o   (df -h {path})",
    ),
    Message(
        "HW052",
        "finalising was stopped",
        "{path} is recorded but not finalised: you stopped it",
        "The raw records are kept in spool/; only the tables are missing.",
        "headway recover {path}",
    ),
    Message(
        "HW053",
        "no JVM told about itself",
        "no JVM with headway's agent was seen in this recording: threads have their kernel names, and there are "
        "no GC pauses",
        "The program is no JVM, its JVM ended before the agent began, or it runs where the agent's library can't "
        "be loaded (another user, a container, JAVA_TOOL_OPTIONS removed).",
        "headway record -o NAME.headway -- java ...",
    ),
    Message(
        "HW054",
        "the agent could not be attached",
        "the agent could not be attached to process {pid}: {reason}; threads have their kernel names, and there "
        "are no GC pauses",
        "Everything the kernel knows (states, CPUs, wakers) is recorded all the same.",
        "start it under headway: headway record -o NAME.headway -- java ...",
    ),
    Message(
        "HW055",
        "fewer recordings than asked for",
        "{done} of {wanted} recordings were made: {reason}",
        "Those that were completed are kept and used; fewer recordings give wider intervals.",
        "headway record --repeat {wanted} ... again",
    ),
    Message(
        "HW056",
        "finalising failed",
        "{path} is recorded but could not be finalised: {reason}",
        "The raw records are kept in spool/.",
        "headway recover {path}",
    ),
    Message(
        "HW057",
        "recorded without the agent",
        "recorded without the agent, as asked: threads have their kernel names, and there are no GC pauses",
        "--no-agent leaves the JVM untouched.",
        "leave out --no-agent",
    ),
    Message(
        "HW058",
        "the process ended while headway attached to it",
        "process {pid} ended before the recording began; nothing was recorded",
        "It was there when headway looked, and gone when the collector started.",
        "start it under headway: headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW059",
        "the program could not be forked",
        "the program can't be started: {reason}",
        "The system refused another process: a limit on processes or memory is reached.",
        "ulimit -u; free -m",
    ),
    Message(
        "HW060",
        "the agent's library is missing",
        "the agent's library {path} is missing: threads have their kernel names, and there are no GC pauses",
        "The native parts were not built or not installed with this headway.",
        "make setup",
    ),
    Message(
        "HW061",
        "processes lived on after the command",
        "{count} of the command's processes still ran when it ended ({names}): what they did later is not recorded",
        "A recording ends with the command that was started. A daemon, or a server that a script leaves in the "
        "background, does its work afterwards.",
        "headway record -o NAME.headway --pid {pid} --duration 30s",
    ),
    Message(
        "HW064",
        "locks are not being recorded there",
        "process {pid} is being recorded, but not its locks ({reason})",
        "One agent writes one recording at a time, and this one was told to leave locks alone (or its JVM could not be told).",
        "headway record --locks --pid {pid} -o NAME.headway   (once the other recording has ended)",
    ),
    Message(
        "HW065",
        "no table of locks",
        "{path} is no table of locks: {reason}",
        "While locks are recorded, the agent keeps their sums in a file beside its records. This one was not made by it, was cut"
        " off, or is of another version.",
        "headway locks --pid PID   (once the process is recorded anew)",
    ),
    Message(
        "HW062",
        "JVMs without the agent",
        "{count} JVMs ran without headway's agent (process {pids}): threads have their kernel names, GC pauses are unknown",
        "The agent goes into the JVMs that run when headway attaches, and, where headway starts the command, into those that "
        "inherit JAVA_TOOL_OPTIONS. A JVM that is born after an attach, or whose parent clears its environment, has none. Its "
        "threads' states are recorded all the same.",
        "headway record -o NAME.headway -- CMD",
    ),
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
        "HW301",
        "not a recording",
        "{path} is not a headway recording: {reason}",
        "A recording is a directory NAME.headway with a manifest.json that names its tables.",
        "headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW302",
        "a recording by a newer headway",
        "{path} has format version {version}; this headway reads up to {known}",
        "The meaning of stored figures may have changed since, so an older headway would misread them.",
        "read it with the headway that recorded it, or install that version here",
    ),
    Message(
        "HW303",
        "a damaged or cut-off file of a recording",
        "{path} can't be read: {reason}",
        "The file is shorter than when it was written, or was changed since: a copy that broke off, or a full disk. "
        "While the recording's spool/ is there, its tables can be made anew.",
        "headway recover {directory}",
    ),
    Message(
        "HW304",
        "a recording that was never finalised",
        "{path} is still in state 'recording': its tables are not made yet",
        "Either its recorder is still at work, or it died before it could turn the spool into tables.",
        "headway recover {path}",
    ),
    Message(
        "HW305",
        "the output is there already",
        "{path} exists already; nothing was written",
        "headway never overwrites a recording unasked.",
        "choose another -o NAME.headway, or add --force",
    ),
    Message(
        "HW306",
        "a query that DuckDB refused",
        "DuckDB refused the query: {reason}",
        "The SQL is wrong, or names a table or column that this recording lacks.",
        'headway query {path} "SHOW TABLES"',
    ),
    Message(
        "HW307",
        "a recording that is still being made",
        "{path} is being recorded right now by process {pid}",
        "Its spool still grows, so tables made now would miss the rest.",
        "kill -INT {pid}   (stops the recording and finalises it)",
    ),
    Message(
        "HW308",
        "nothing to recover",
        "{path} holds nothing to recover: {reason}",
        "Recovering makes the tables from the raw records in spool/; a complete recording has none, and needs none.",
        "headway parallelism {path}",
    ),
    Message(
        "HW309",
        "the tables could not be written",
        "writing {path} failed: {reason}; the raw records are kept in {directory}/spool",
        "Usually the disk is full, or the directory became read-only.",
        "free some space, then: headway recover {directory}",
    ),
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
        "The agent was attached to a running program whose threads waited already.",
        "start the program with headway record --locks -- CMD to see them from their begin",
    ),
    Message(
        "HW500",
        "the output is there already",
        "{path} exists, and headway does not overwrite what it did not just make",
        "A report or an export takes the place of an ordinary file only when told to.",
        "the same command with --force, or another -o",
    ),
    Message(
        "HW501",
        "the output can't be written",
        "{path} can't be written: {reason}",
        "The file is made beside its final place and renamed once it is whole, so nothing half-written is left there.",
        "choose another place with -o",
    ),
    Message(
        "HW502",
        "the report's page is missing",
        "this installation of headway lacks the page of the HTML report: {reason}",
        "The page is built by Node from web/ and is part of every wheel; a source tree has it only once it was built.",
        "make web   (in a source tree), or install headway again",
    ),
    Message(
        "HW503",
        "more messages than a report shows",
        "{more} more messages mark this recording than the report shows",
        "The report's size is bounded, whatever the recording holds.",
        "headway parallelism NAME.headway --json",
    ),
    Message(
        "HW504",
        "mode agent has no thread states",
        "mode agent recorded no scheduling, so there is no parallelism over time, no prediction, and no thread state to draw",
        "Without eBPF and perf events only the JVM's own word is had: threads' lives, their CPU time, and GC pauses.",
        "headway doctor   (says what would lift it)",
    ),
    Message(
        "HW505",
        "the recording is empty",
        "the recording spans no time, so there is nothing to draw",
        "The program ended before it began to be recorded, or the recorder died at once.",
        "record it again: headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW506",
        "no thread states in this recording",
        "no switch of any thread is in this recording, so there is nothing to draw",
        "Either no thread ran while it was recorded, or the records were lost (see the other messages).",
        "headway doctor",
    ),
    Message(
        "HW507",
        "nothing to export",
        "{path} holds no {what}, so the export would be empty",
        "A table is empty where there was nothing to note, as `loss` is when no record was lost. Mode agent records no "
        "thread states, and a recording that was cut short may lack them too.",
        "headway query {path} --schema   (what each table holds)",
    ),
    Message(
        "HW508",
        "the findings could not be shown",
        "the findings of {path} could not be shown: {reason}",
        "The recording is complete, and the exit code is the program's.",
        "headway report {path}",
    ),
)

MESSAGES: dict[str, Message] = {row.id: row for row in _ROWS}
assert len(MESSAGES) == len(_ROWS), "a message id is used twice"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message with its facts filled in: what marks a result. `message` is one line, `remedy` the next command."""

    id: str
    message: str
    remedy: str = ""

    @classmethod
    def of(cls, message_id: str, **facts: Any) -> Notice:
        """Fill in a message of the table.

        Raises KeyError for an unknown id or a fact its templates need and `facts` lacks.
        """
        row = MESSAGES[message_id]
        return cls(row.id, row.text.format(**facts), row.remedy.format(**facts))

    def as_json(self) -> dict[str, str]:
        """Return the stable form {id, message, remedy}."""
        return {"id": self.id, "message": self.message, "remedy": self.remedy}


class HeadwayError(Exception):
    """A command cannot go on: carries the `Notice` that says what, where, why and what to run next."""

    def __init__(self, message_id: str, **facts: Any) -> None:
        """Build the error from the table row `message_id`, filled in with `facts`."""
        self.notice = Notice.of(message_id, **facts)
        super().__init__(f"{self.notice.id}: {self.notice.message}")
