"""HW44x, HW45x, HW49x: profiles, regions and critical paths."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW440",
        "an event that was not recorded",
        "{path} has no profile of {event}; it has: {recorded}",
        "cpu, wall, alloc and hardware events are sampled when they are asked for. lock needs the agent's record of "
        "locks, off-cpu the kernel's record of threads, and blame (code that kept cores idle) that record and CPU "
        "samples.",
        "headway record {how} -o NAME.headway -- CMD",
    ),
    Message(
        "HW441",
        "no such thread in a profile",
        "{path} has no {event} of a thread whose name matches {pattern}; its threads are such as: {examples}",
        "The regular expression may be found anywhere in a thread's name; all virtual threads together are called "
        "'(virtual threads)'.",
        "headway threads {path}",
    ),
    Message(
        "HW442",
        "a region that matches nothing",
        "no {event} stack of {path} has a frame that matches {pattern}; frames are such as: {examples}",
        "A region is a regular expression that is looked for in each frame, written package.Class.method. Inlined "
        "methods are found, too. A method that was on no stack whenever one was taken is not.",
        "headway top {path} --event {event}",
    ),
    Message(
        "HW443",
        "nothing of that event in the window",
        "no {event} from {start:g}s to {end:g}s of {path}",
        "The event was recorded, but did not happen then. For lock: nobody waited in contention (idle waiting is none).",
        "headway top {path} --event {event}   (without --from and --to)",
    ),
    Message(
        "HW444",
        "a region that matches everything",
        "every stack has a frame that matches {pattern}, so the region leaves nothing out",
        "Patterns such as run or main do so: these methods are on every stack of their threads.",
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
        "{path} was to hold samples of {events}, but has none: {reason}",
        "The sampler writes its samples out every 10 s, and when the recording or the JVM ends. So samples are "
        "missing where a JVM was killed before that or ended too soon, and where the sampler could not start.",
        "headway record --sample {events} -o NAME.headway -- CMD   (again, to its end)",
    ),
    Message(
        "HW448",
        "samples of virtual threads",
        "{share:.0%} of {event} in {path} was executed by virtual threads, and counts for the carriers that ran them",
        "Which virtual thread a carrier had at the time of a sample is not recorded: by thread the profile tells "
        "carriers apart, not virtual threads. After a wait the JVM puts back only the innermost frames of a "
        "virtual thread, and the next ones as these return: until then its stacks begin at cont_returnBarrier, and "
        "the totals of callers that are not on them lack this time.",
        "headway top {path} --event {event} --region 'VirtualThread\\.run$|return.?[bB]arrier'   (theirs alone)",
        severity=NOTE,
    ),
    Message(
        "HW449",
        "CPU time without a sample",
        "{share:.0%} of the CPU time in {path} has no sample: {who}",
        "A thread is sampled each time that it has executed for an interval. So no sample covers a thread that ends "
        "earlier, what comes after a thread's last sample or before the sampler begins, and a process without it. How"
        " long each thread executed is known exactly: this time is in the profile, as '(not sampled: ...)', without a"
        " stack.",
        "headway record --sample cpu:1ms -o NAME.headway -- CMD   (threads of a few ms have samples then)",
    ),
    Message(
        "HW450",
        "no thread states in an imported recording",
        "{path} was imported from {source}, which does not know when threads ran{known}",
        "Parallelism and wall-time predictions need every thread's states; profilers' files hold samples and events only.",
        "headway run -- CMD   (records them)",
    ),
    Message(
        "HW451",
        "CPU samples that stand for their interval",
        "CPU time in {path} is the number of samples times their interval: mode {mode} does not record when threads run",
        "Threads shorter than an interval have no samples, and timers that fire late or twice make sums wrong by some percent. "
        "With records of the scheduler each sample stands for what its thread executed, and sums are exact.",
        "headway doctor   (what mode ebpf needs here)",
    ),
    Message(
        "HW453",
        "more stacks than a profile has",
        "the profile of {event} would have more than {most:,} calls, or stacks of more than {frames:,} frames in all: the "
        "{count:,} lightest stacks are in it without their frames, as '(all lighter stacks)'",
        "With a root for each thread all calls of its stacks are its own, so that a small recording may be a profile that "
        "fills the memory. All sums are exact.",
        "headway export NAME.headway --format FORMAT --thread RE   (of some threads)",
    ),
    Message(
        "HW490",
        "a region that matches nothing",
        "region {name} ('{pattern}') is in no CPU sample of {path}",
        "A pattern is found in frames written org.example.KMeans.assign. Either no method has such a name, or it "
        "ran too briefly for a sample.",
        "headway top {path}   (its methods), then another pattern",
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
        "regions that headway found by itself",
        "regions found by themselves: {regions}",
        "Where no --region is given, the regions are the methods that threads, those of pools among them, were "
        "given to run.",
        "headway sweep --resume NAME.sweep --region 'NAME=REGEX'   (to put it right; no run is made again)",
    ),
    Message(
        "HW494",
        "waits that can't be followed",
        "mode {mode} does not know who woke whom: {known}, and the path stays on threads that wait",
        "The critical path goes from a blocked thread to the one that ended its wait, which the kernel tells with "
        "CAP_BPF and CAP_PERFMON only. Stretches in state unknown may hide what other threads did.",
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
        "region {name} comes and goes faster than samples can show: a stretch in {path} has {samples:.1f} samples",
        "Where no worker thread shows when a region goes on (a sequential program, or workers with several regions), "
        "its begin and end are known to half a sampling interval. Its time over the whole run is right on average; "
        "its single instances, their number and their balance are not.",
        "headway sweep --sample cpu-clock:1ms ...   (cpu comes at the kernel's tick at most; or one --region for what "
        "alternates)",
    ),
    Message(
        "HW497",
        "slices that are not in order of their ends",
        "{path}: {slices} slices end later than those after them; the account takes each to end where the next one ends",
        "Lost cores are counted backwards from slice to slice. headway writes them in order, so something else has made or "
        "changed the table `slice`, and parts of the account are wrong.",
        "record once more; if it stays, report it with the manifest.json",
    ),
)
