"""HW82x to HW87x, and HW893: replays of a recording on other cores (`headway whatif`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW820",
        "a recording that can't be replayed",
        "{path} was recorded in mode {mode}: it does not know which thread ended whose wait",
        "On other cores threads come earlier or later to where others wait for them. The kernel shows who ended whose wait "
        "only with CAP_BPF and CAP_PERFMON. headway walltime needs less: it predicts from how many threads were active.",
        "headway doctor   (which mode this machine allows, and how to lift it), then record again",
    ),
    Message(
        "HW821",
        "too many switches for a replay",
        "{path} has more than 12 million scheduling slices",
        "A replay has all of a run's slices in memory, and needs about 2 GiB for so many.",
        "record a shorter run of the same program, or: headway walltime {path} --cores 1,2,4",
    ),
    Message(
        "HW822",
        "a replay that differs from the run",
        "{path}: the unchanged run is replayed in {replayed}, and took {measured}: {error} off, more than {limit}",
        "A replay that is wrong for the run as it was is wrong for others, too. Reasons are threads that poll, or wait for a "
        "time instead of each other; records that are missing; an end that depends on something that is not recorded.",
        "headway notes {path}, then headway why {path}",
    ),
    Message(
        "HW823",
        "waits that nobody is known to have ended",
        "{path}: nobody knows who ended {share} of the waiting for other threads",
        "In a replay such a wait lasts as long as it did in the recording, which is wrong on other cores.",
        "headway notes {path}   (were records lost?), then record again",
    ),
    Message(
        "HW824",
        "a replay that does not come to its end",
        "{path}: threads wait for each other in a circle",
        "No run that happened has that: times in the tables run backwards, or do not fit each other.",
        "record again; if it stays, please report it",
    ),
    Message(
        "HW825",
        "waits for locks that keep the order of the recording",
        "{path}: threads waited for locks for {time} in all; in the replay they get them in the order in which they got them",
        "On other cores threads come to locks in another order, and a recording does not have acquisitions that nobody waited"
        " for. The lower end of the interval is without any waiting for locks; on more cores threads may also wait more than "
        "recorded.",
        "headway locks {path}",
        NOTE,
    ),
    Message(
        "HW826",
        "a part of a run that is replayed",
        "{path} is a part of a run (the program went on, or was ended from outside): the replay ends when every thread has "
        "done what it did in that part",
        "No thread of the program is known to have ended it. A thread that sleeps, or does something periodically, keeps the "
        "replay as long as the recording was, whatever more cores or a faster clock would bring. So the lower end of the "
        "interval is without the time in which no thread was ready.",
        "headway walltime {path}   (from how many threads were active), or record until the program ends by itself",
    ),
    Message(
        "HW827",
        "too far from the recorded number of cores for a replay",
        "{cores} cores are more than {limit} times away from the {recorded} recorded in {path}",
        "Nothing is known of contention for memory and locks there, so nothing is predicted.",
        "record on more cores, closer to those asked for",
    ),
    Message(
        "HW828",
        "a replay with the threads of the recording",
        "{path}: the JVM saw {seen} processor{s} and {pools}; the replay has the same threads on any number of cores",
        "The JVM sizes its GC and fork/join pools by availableProcessors(), and programs do the same. What other threads would "
        "do is not in the interval.",
        "headway record --jvm-processors {advice} ...   (every run then sees that number of processors)",
        NOTE,
    ),
    Message(
        "HW829",
        "a CPU quota that is left out of a replay",
        "{path} ran under a CPU quota of {quota} cores; predictions are for whole cores without one, as if it had all {cores}",
        "The time that a quota, the host and other processes took is left out. Under the same quota the run takes longer than"
        " predicted.",
        "headway whatif {path} --cores {advice}",
    ),
    Message(
        "HW830",
        "a lock that is not in the recording",
        "{path} has no lock {lock} that threads waited for{there}",
        "A lock is named as it is printed: an object, the hash after its @, or the line at which threads wait for it.",
        "headway locks {path}",
    ),
    Message(
        "HW831",
        "not a lock that one thread has at a time",
        "{lock} in {path} is not known to be a lock that one thread has at a time, or virtual threads waited for it",
        "Who has a semaphore, a read lock or a place in a queue is not recorded, so it can't be decided anew who gets it next. "
        "Of locks that a library made itself, nothing says whether one thread has them at a time.",
        "headway whatif {path} --no-wait {lock}   (as if there were enough for all)",
    ),
    Message(
        "HW832",
        "two changes of one lock",
        "{lock} is changed twice: {one}; {other}",
        "A line stands for all locks that are waited for there, so one lock may have two names.",
        "headway locks NAME.headway --by site   (which lock each line is of: then ask for one change of each)",
    ),
    Message(
        "HW833",
        "waits for locks that are missing",
        "{path} does not have every wait for a lock",
        "Who had a lock when is found by who waited for whom; where waits were only counted, nobody knows.",
        "headway record --locks --duration 10s ...   (a shorter stretch keeps every wait)",
    ),
    Message(
        "HW834",
        "threads that waited in a circle",
        "{path}: in another order of locks threads would have waited for each other in a circle; {count} of their waits were "
        "ended",
        "That one thread came after another in the recorded run need not mean that it had to. Which of these orders the program "
        "needs is not known.",
        "compare with the likely speedup of: headway why {path}",
    ),
    Message(
        "HW835",
        "uncontended acquisitions",
        "{path}: locks that were free when a thread took them are not recorded; that widens the intervals by {share} of the gain",
        "After the change threads come at other times, and may wait where they did not. On more cores than recorded that is "
        "frequent.",
        "headway locks {path}",
        NOTE,
    ),
    Message(
        "HW836",
        "changes without those of locks",
        "{path} was recorded without locks: no change of a lock is among those shown",
        "Waits of Java threads are seen by the agent, and only when it is told to look for them.",
        "headway record --locks -o NAME.headway -- CMD",
    ),
    Message(
        "HW837",
        "changes of locks that can't be predicted",
        "with the order of threads at locks decided anew: {reason}",
        "A replay that is wrong for the recorded run is wrong for a changed one, too: no change of a lock is among those shown.",
        "headway why {path}   (the most that could be gained at each lock)",
    ),
    Message(
        "HW838",
        "two programs together",
        "{one} and {other} together: such predictions have been compared with exact simulations, and with two real programs only "
        "on machines that ran others, too",
        "Programs that share cores also share caches and memory, which a replay does not know.",
        "headway record -o both.headway -- sh -c 'ONE & TWO & wait'   (both at once, to compare with)",
        NOTE,
    ),
    Message(
        "HW839",
        "an unchanged run whose locks go round in a circle",
        "{path}: where it is decided anew who gets a lock, threads of the unchanged run wait for each other in a circle; {count} "
        "of their waits had to be ended",
        "The run had no such circle, so something that it did is not in the recording, and what another lock would bring is not "
        "known. Ended waits leave the replay too long, and each change of a lock would seem to gain that.",
        "headway why {path}   (the most that could be gained at each lock)",
    ),
    Message(
        "HW850",
        "sleeps whose places are not known",
        "{path} does not have the place of any sleep",
        "The kernel knows that a thread sleeps; where in the program that is, samples of wall time tell, and of waits with a "
        "time limit recorded locks. All sleeps of a thread go by its name without them.",
        "headway record --sample wall:5ms -o NAME.headway -- CMD",
    ),
    Message(
        "HW851",
        "too many sleeps without a place",
        "{path}: the place of {share} of the time asleep is not known, more than {limit}",
        "A sleep that is shorter than the time between two samples may have no place, and any of these may be at the place "
        "that is changed.",
        "headway record --sample wall:5ms -o NAME.headway -- CMD   (shorter than the sleeps)",
    ),
    Message(
        "HW852",
        "no sleep at such a place",
        "{path}: {pattern} matches no place at which threads slept; there are: {places}",
        "A place is the line of the program that sleeps, as com.acme.Poller.run:42; a pattern may match a part of it, or "
        "else of the name of a thread, whose sleeps are all meant then.",
        "headway whatif {path} --no-sleep 'PLACE=SECONDS'",
    ),
    Message(
        "HW853",
        "sleeps of virtual threads",
        "{path}: virtual threads slept at {place}",
        "A sleeping virtual thread has no thread of the kernel, and the replay does not decide anew which carrier resumes it.",
        "headway why {path}   (the most that could be gained there)",
    ),
    Message(
        "HW854",
        "two changes of one sleep",
        "sleeps at {place} are changed twice: {one}; {other}",
        "Two patterns may match one place.",
        "ask for one change of each place",
    ),
    Message(
        "HW855",
        "sleeps that keep their number",
        "{path}: the prediction has threads sleep as often as recorded, each time as long as was asked",
        "A thread that looks for something between two sleeps looks, and sleeps, more often when they are shorter. One that "
        "sleeps before it tries again what has failed comes sooner, may fail more often, and computes that much more.",
        "make the change, record again, and compare",
        NOTE,
    ),
    Message(
        "HW856",
        "a method that no sample knows of",
        "{path} has no samples of CPU time",
        "Only samples tell which method used CPU time.",
        "headway record --sample cpu -o NAME.headway -- CMD",
    ),
    Message(
        "HW857",
        "a method that is not in the samples",
        "{path}: no sample of CPU time is in {method}; there are: {methods}",
        "A method is named as Class.method, with or without its package. One that is compiled into its caller, or uses little "
        "CPU time, may be in none.",
        "headway top {path} --event cpu",
    ),
    Message(
        "HW858",
        "CPU time without stacks",
        "{path}: for {share} of the program's CPU time no whole stack was read, more than {limit}",
        "Any of that time may be the method's: it was used in short threads, before a thread's first sample, or where the "
        "stack could not be walked.",
        "headway top {path} --event cpu   (whose it is), or record a longer run",
    ),
    Message(
        "HW859",
        "changes of methods of which one calls the other",
        "{path}: {one} and {other} are on one stack",
        "What the inner method computes is part of the outer one's CPU time, so it would be reduced twice.",
        "ask for one change after the other",
    ),
    Message(
        "HW860",
        "a number of CPUs that makes no whole cores",
        "{cores} CPUs make no whole number of cores of {per_core} CPUs each",
        "With --smt, --cores counts logical CPUs, and each core has all of its own.",
        "headway whatif NAME.headway --cores {per_core} --smt {per_core}=1.25",
    ),
    Message(
        "HW861",
        "cores that were whole when the run was recorded",
        "{path}: the prediction takes each thread to have had a whole core when it was recorded",
        "Where threads shared a core already, as two logical CPUs of it, they were slower and used more CPU time. The prediction "
        "counts that loss once more.",
        "headway doctor   (which CPUs this machine has)",
        NOTE,
    ),
    Message(
        "HW862",
        "a predicted run whose lost cores are not known",
        "{path}: predictions without an account of lost cores: {reason}",
        "There is none where the program has virtual threads (in a replay what they run belongs to their carriers), where a pool "
        "has another number of workers (their tasks are done by threads that the recording does not have), and for more than 36 "
        "million slices (they are not kept). What limits the run is then told by how many threads are ready.",
        "headway why {path}   (the account of the recorded run)",
    ),
    Message(
        "HW863",
        "a recording too long for the report's predictions",
        "{path} has {slices} scheduling slices; a report predicts changes of recordings with up to {limit}",
        "The report tries each of the best changes on several numbers of cores, some 200 replays in all.",
        "headway whatif {path}",
        NOTE,
    ),
    Message(
        "HW869",
        "answers over sockets that take as long as recorded",
        "{path}: threads waited {time} in all for answers of other threads of the program, and who sent these was not seen; in a "
        "replay they take as long as they took",
        "A packet wakes its reader in an interrupt, while the thread that sent it runs. Where the records of that thread are "
        "missing, a change that makes it answer sooner does not do so in the replay. So the lower end of the interval is the "
        "change with I/O that takes no time. What is likely gained without a lock or a sleep is in headway why.",
        "headway why {path}",
    ),
    Message(
        "HW870",
        "sleeps whose length a sample made uncertain",
        "{path}: samples woke a thread that slept, and it got a core so late that its sleeps may be {time} longer or shorter in "
        "all; above {limit} of the run nothing is predicted",
        "A sample of wall time wakes a thread. While the thread then waits for a core, its sleep may have ended; nothing says"
        " whether it slept on, or began another sleep.",
        "headway record -o NAME.headway -- CMD   (without samples of wall time, or on a machine that is less busy)",
    ),
    Message(
        "HW871",
        "a JVM that sleeps until its threads have stopped",
        "{path}: for {time} in all a JVM slept until its threads had stopped; on a quiet machine that would take another time",
        "A JVM that stops its threads naps until the last one has come to where it can be stopped. Where threads wait for cores, "
        "that takes longer, and in a replay as long as it took: the lower end of the interval is without these naps.",
        "headway record -o NAME.headway -- CMD   (again, on a machine that is less busy)",
    ),
    Message(
        "HW872",
        "a run that others kept from the cores",
        "{path}: for {time}, {share} of the run, others had the cores that it wanted; the lower end of the interval is without "
        "the time in which none of its threads was ready",
        "Threads that ran late slept at other times, and others waited for them: how much of that a machine that runs nothing "
        "else would have, the recording does not know.",
        "headway record -o NAME.headway -- CMD   (again, on a machine that is less busy)",
    ),
    Message(
        "HW873",
        "locks whose loss is not predicted",
        "{path}: for {time} in all threads waited for locks that are not among the changes shown: {places}",
        "Of semaphores, pools of connections, read locks and locks that a library made itself nothing says who has them, so it "
        "can't be decided anew who gets them next; virtual threads are not in the replay. One of them may matter more than all "
        "that is shown.",
        "headway why {path}   (the most that could be gained there)",
    ),
    Message(
        "HW893",
        "a heap that is never collected",
        "{path}: without collections; that a larger heap takes longer to touch for the first time is left out",
        "The kernel clears each page before its first use. In a heap so large that nothing is collected that may take longer "
        "than the collections did, and a larger one in which few are left is often the fastest.",
        "run it with a larger heap (-Xmn, -Xmx), record again, and compare",
        NOTE,
    ),
)
