"""HW00x to HW07x, HW094: starting a program, attaching to one, recording it."""

from __future__ import annotations

from headway.errors.message import NOTE, ONCE, Message

ROWS: tuple[Message, ...] = (
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
        "chmod +x {path}   (if it is a program; else name what runs it: java -jar, sh, python3 ...)",
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
        "process {pid}: {reason}",
        "--pid takes the id of a process that runs now, as seen from here: a container numbers its processes itself.",
        "jcmd -l   (lists the JVMs of this user)",
    ),
    Message(
        "HW005",
        "another user's process",
        "process {pid} belongs to {owner}, and headway runs as {me}",
        "Watching another user's process needs privileges, for it shows what that user does.",
        'sudo env "PATH=$PATH" headway {command} --pid {pid} ...',
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
        "Two recorders would double the cost, and each would record what the other one causes.",
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
        severity=NOTE,
    ),
    Message(
        "HW011",
        "the processor count is set elsewhere",
        "--jvm-processors is overridden by -XX:ActiveProcessorCount in {where}",
        "The JVM takes the last of several settings, and the command's own comes after headway's.",
        "remove -XX:ActiveProcessorCount there, or leave --jvm-processors out",
        severity=ONCE,
    ),
    Message(
        "HW012",
        "the agent does not fit this java",
        "{java} is built for another processor or C library than the agent: recorded without it",
        "A JVM that can't load an agent it is told to load refuses to start, so the agent was left out. Threads have their "
        "kernel names only, and GC pauses are unknown.",
        "use a glibc build of the JDK for this machine's processor",
        severity=ONCE,
    ),
    Message(
        "HW013",
        "no agent while the JVM archives classes",
        "{option} makes a class-data archive, which the JVM refuses to do with an agent: recorded without it",
        "A JVM that dumps a class-data archive ends at once when it is told to load a native agent, so the agent was left out. "
        "Threads have their kernel names only, and GC pauses are unknown. A JVM below a build tool that does so would fail: "
        "record such a command with --no-agent.",
        "headway record --no-agent ...",
        severity=ONCE,
    ),
    Message(
        "HW014",
        "no agent where the command changes its root",
        "the command uses {tool}: a JVM in another file system could not find the agent and would not start, so none is used",
        "JAVA_TOOL_OPTIONS goes wherever the environment goes, and a JVM that can't find an agent it is told to load ends at "
        "once. headway sees such a tool in the command and in the script that it starts, not deeper: where a build tool or a "
        "second script changes the root, use --no-agent. Threads have their kernel names only, and GC pauses are unknown.",
        "headway record -o NAME.headway --pid PID   (once that JVM runs)",
        severity=ONCE,
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
        "the output exists and is no recording",
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
        "no JVM with headway's agent",
        "no JVM with headway's agent was seen in this recording: threads have their kernel names, and there are "
        "no GC pauses",
        "The program is no JVM, its JVM ended before the agent began, or it runs where the agent's library can't "
        "be loaded (another user, a container, JAVA_TOOL_OPTIONS removed).",
        "headway {command} -- java ...",
    ),
    Message(
        "HW054",
        "the agent could not be attached",
        "the agent could not be attached to process {pid}: {reason}; threads have their kernel names, and there "
        "are no GC pauses",
        "Everything the kernel knows (states, CPUs, wakers) is recorded all the same.",
        "{next}",
    ),
    Message(
        "HW055",
        "fewer recordings than asked for",
        "{done} of {wanted} recordings were made: {reason}",
        "Those that were completed are kept and used; fewer recordings give wider intervals.",
        "headway record --repeat {wanted} ... again",
        severity=ONCE,
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
        severity=NOTE,
    ),
    Message(
        "HW058",
        "the process ended while headway attached to it",
        "process {pid} ended before the recording began; nothing was recorded",
        "headway still saw it run when it looked, and it had ended when the collector started.",
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
        "{next}",
    ),
    Message(
        "HW061",
        "processes lived on after the command",
        "{count} of the command's processes still ran when it ended ({names}): what they did later is not recorded",
        "A recording ends with the command that was started. A daemon, or a server that a script leaves in the "
        "background, does its work afterwards.",
        "headway record -o NAME.headway --pid {pid} --duration 30s",
        severity=ONCE,
    ),
    Message(
        "HW062",
        "JVMs without the agent",
        "{count} JVMs ran without headway's agent (process {pids}): threads have their kernel names, GC pauses are unknown",
        "The agent goes into the JVMs that run when headway attaches, and, where headway starts the command, into those that "
        "inherit JAVA_TOOL_OPTIONS. A JVM that starts after an attach, or whose parent clears its environment, has none. Its "
        "threads' states are recorded all the same.",
        "headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW064",
        "locks are not being recorded there",
        "process {pid} is being recorded, but not its locks ({reason})",
        "One agent writes one recording at a time, and this one was started without --locks, or its JVM could not be reached.",
        "headway record --locks --pid {pid} -o NAME.headway   (once the other recording has ended)",
    ),
    Message(
        "HW065",
        "no table of locks",
        "{path} is not a table of locks: {reason}",
        "While locks are recorded, the agent keeps their sums in a file beside its records. This one was not made by it, was cut"
        " off, or is of another version.",
        "headway locks --pid PID   (once the process is recorded anew)",
    ),
    Message(
        "HW066",
        "the sampler's library is missing",
        "recorded without stack samples: no library of async-profiler: {reason}",
        "headway includes async-profiler's libraries for x86-64 and aarch64.",
        "{next}",
        severity=ONCE,
    ),
    Message(
        "HW067",
        "an event can't be sampled here",
        "{event} is not sampled: {reason}; the recording goes on without it",
        "Cycles, instructions, cache misses and the like are counted by the processor, which virtual machines and containers "
        "often hide. async-profiler takes one event of the CPU at a time, and alloc and wall beside it.",
        "headway doctor   (cpu, alloc and wall need no counters)",
        severity=ONCE,
    ),
    Message(
        "HW068",
        "no such event",
        "--sample {event}: there is no such event; nothing was started. Events: {known}",
        "Besides these, raw events of the processor (r1a8), events of a device (cpu/mem-loads/) and tracepoints "
        "(sched:sched_switch) are named as `perf list` shows them; mem:, kprobe: and uprobe: are followed by what "
        "async-profiler takes there.",
        "headway record --sample {near} ...",
    ),
    Message(
        "HW069",
        "root may not look into the process",
        "process {pid} can't be looked into, even by root: {reason}",
        "The process can't be traced: it belongs to another user namespace or container, or this one lacks "
        "CAP_SYS_PTRACE. So headway does not know whether it is a JVM.",
        "run headway where that process runs; pgrep -a java   (lists the JVMs)",
    ),
    Message(
        "HW070",
        "the program's CPUs changed meanwhile",
        "the CPUs that the program may use changed while it was recorded: {cpus}; all {all} count as its cores",
        "Its affinity or its cpuset changed. While it had fewer CPUs, the ones that it could not use count as lost "
        "cores. For a correct account, look at one part of the recording, with the number of cores of that part.",
        "headway why {path} --from {at_s:.1f}s --cores {cores}",
    ),
    Message(
        "HW071",
        "a process that does not behave like a JVM",
        "process {pid} does not behave like a JVM with headway's agent: {reason}",
        "The process claims to be a HotSpot JVM, or to have loaded the agent, but what it shows contradicts that. "
        "Nothing that it shows is used. Its threads are recorded all the same, by their kernel names.",
        "headway record --no-agent --pid {pid} ...",
    ),
    Message(
        "HW072",
        "only a part of the agent's records is kept",
        "process {pid}: {problem}",
        "An agent in a container or in another user's JVM writes below that JVM's /tmp. Its files are copied at the "
        "end, up to the size that the format allows and the disk has room for. What was not copied is missing in the "
        "tables.",
        "choose a place with more room with -o   (df -h .)",
    ),
    Message(
        "HW073",
        "locks that can't be watched",
        "the locks of process {pid} can't be watched: its agent's table of them can't be read from here",
        "headway's agent was loaded, but could not make its table (no room, or no right to write there), or the table"
        " is out of headway's reach, as in a chroot or a container. This JVM is not being recorded, and nothing stays"
        " behind in it.",
        "headway record --locks --pid {pid} -o NAME.headway",
    ),
    Message(
        "HW074",
        "files that may never answer",
        "process {pid}: headway does not touch {path}, which is on a file system of the kind {kind}",
        "The program or machine that serves such files (FUSE, NFS) decides when it answers, and until then a process "
        "of root that waits for it can't be ended. So root looks only at files that the kernel itself serves, and "
        "treats a mount that the process does not show in the same way. Without an agent, locks, samples and the "
        "JVM's phases are missing.",
        "give the JVM a /tmp of the kind tmpfs, ext4, xfs ..., or run headway as the JVM's user",
    ),
    Message(
        "HW094",
        "a native part that is older than its sources",
        "headway could not go on: {reason}; {source} was changed after headway's native part was built",
        "In a checkout of headway's sources the native part is built by itself: one of older sources need not fit to the rest.",
        "make native; {command}",
    ),
)
