"""HW46x, HW47x: possible speedups."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW456",
        "counts that do not say enough of a region",
        "{path}: cycles and instructions are not used in {parts}: {why}",
        "The counts of a stretch of running that reaches over the border of a region are divided by time, and groups of "
        "events that took turns are scaled. Where that leaves a count uncertain by more than a tenth, or running time has no "
        "counts, CPU time stands for both: more instructions and more cycles per instruction are one limit, work_inflation.",
        "headway sweep --counters cycles,instructions ...   (one group, and longer work in each region)",
    ),
    Message(
        "HW457",
        "waits for locks of virtual threads",
        "lock contention is not known: virtual threads waited for locks {count} times in {path}, {time} in all",
        "Lock time is how long the scheduler saw threads blocked during the recorded waits. It does not know virtual "
        "threads: while one waits, its carrier runs another or has nothing to do. So lock_contention is null, which "
        "is not the same as 1 (none of the time). What such waits cost shows as load imbalance or other waiting, and "
        "another limit may be named for it.",
        "headway locks {path}   (who waits for which lock, virtual threads too)",
    ),
    Message(
        "HW458",
        "runs whose regions are not known",
        "{count} of {of} recorded runs have no CPU samples and are left out: their regions are not known",
        "Their JVMs could not sample the event whose turn it was, though other runs of the same program and number of threads"
        " could.",
        "headway doctor   (and --sample cpu:2ms in the sweep, which needs no counters)",
    ),
    Message(
        "HW459",
        "sampled counts that are missing in some part",
        "sampled cycles and instructions are not used in {parts}: there are no samples of {what}{more}",
        "Recorded runs take the events of --sample in turn. Every region that used CPU time, and the rest, needs "
        "samples of cycles and of instructions, in both programs and at every number of threads: a count without any "
        "is not known, rather than 0. In these parts CPU time stands for both: more instructions and more cycles per "
        "instruction are one limit, work_inflation.",
        "headway sweep --resume {path}   (or one of more repeats, or of shorter intervals: cycles:1m,instructions:1m)",
    ),
    Message(
        "HW460",
        "no regions to compare",
        "no region was given and none was found: which part of the sequential program corresponds to the parallel "
        "part is not known",
        "The times with more than one active thread then stand for the parallel part of the parallel program; the "
        "sequential program has no such times. What compares the two part by part is null: the sequential fraction, "
        "and how much more work there is. Speedups, balance and waits are known.",
        "headway sweep --resume {path} --region NAME=REGEX   (headway top NAME.headway shows the frames; no run is made again)",
    ),
    Message(
        "HW461",
        "computed and real speedup differ",
        "{threads} threads: the computed speedup {computed:.2f} and the real one {real:.2f} differ by {difference}: {reasons}",
        "Computed is what the recorded runs say, real is the ratio of the plain runs' wall times. Where they differ by more than"
        " runs do, an assumption of the model does not hold, and possible speedups are off by as much.",
        "headway explain HW461; remove what is named, or record more repeats",
    ),
    Message(
        "HW462",
        "more threads than cores",
        "{threads} threads on {cores} cores: some of them are always waiting for a CPU",
        "The model takes a core for every thread. The lack of cores shows as the limit scheduling; the verdict is "
        "about the largest number of threads that have a core each.",
        "headway sweep --threads LIST ...   (up to the number of cores)",
    ),
    Message(
        "HW463",
        "a sequential program with several threads",
        "the sequential program keeps {ratio:.1f} threads busy on average: it is not a sequential program",
        "Its time is what the speedup is counted from. If it is parallel itself, speedups come out too low, and work inflation"
        " takes its CPU time for that of one thread.",
        "headway sweep --sequential CMD ...   (a version without threads; for parallel streams:"
        " -Djava.util.concurrent.ForkJoinPool.common.parallelism=0)",
    ),
    Message(
        "HW464",
        "a region that matches nothing",
        "region {region} matches nothing in the {program} program: its work counts there as the sequential fraction",
        "Regions are found by a regular expression on stack frames, org.example.KMeans.assign. In the sequential program the"
        " methods may be called otherwise.",
        "headway sweep --region NAME=REGEX --sequential-region NAME=REGEX ...   (headway top NAME.headway shows the frames)",
    ),
    Message(
        "HW465",
        "regions that match everything",
        "the {program} program has nothing outside its regions, so its sequential fraction is zero",
        "If the pattern matches a frame that is on every stack (the main class, for instance), the start-up and the "
        "sequential parts count as parallel, and their cost as load imbalance.",
        "headway sweep --region NAME=REGEX ...   (the methods that the threads run)",
    ),
    Message(
        "HW466",
        "instructions and cycles are not both known",
        "instructions and cycles are not both known: CPU time stands for cycles, more instructions and more cycles per"
        " instruction are one limit, work_inflation",
        "Known apart, they tell parallelism overhead (more instructions) from memory (more cycles per instruction). "
        "Where the processor's counters can be read, the runs of a sweep sample both in turn (--sample "
        "cpu:2ms,cycles,instructions). Most virtual machines hide them; counts that were taken elsewhere can be "
        "imported into the sweep.",
        "headway import counters.csv -o NAME.sweep/counters.headway",
        severity=NOTE,
    ),
    Message(
        "HW467",
        "one run only, no intervals",
        "{threads} threads: with one recorded run of a program nobody knows how much runs differ",
        "Intervals come from the repeats; without them a small gain may be chance. Limits whose gains differ by less than 5%"
        " (and half of what others had of the CPUs) are not told apart.",
        "headway sweep --repeat 5 ...",
    ),
    Message(
        "HW468",
        "no plain runs",
        "{threads} threads: the real speedup is not known, as there are no complete runs without recording",
        "The sweep runs both programs without recording, too, so that the true speedup and the overhead are known.",
        "headway sweep --resume {path}",
    ),
    Message(
        "HW469",
        "a sweep without the runs it takes",
        "{path} has no complete recorded run of the {program} program",
        "Possible speedups compare recorded runs of both programs.",
        "headway sweep --resume {path}",
    ),
    Message(
        "HW470",
        "an unknown region",
        "{path} has no region {region}; it has {known}",
        "Regions are named when the sweep is made, or found by themselves.",
        "headway speedups {path}",
    ),
    Message(
        "HW471",
        "a number of threads that is left out",
        "--threads {threads}: no complete recorded run, so there are no figures",
        "The program failed with that many threads, or the sweep was interrupted.",
        "headway sweep --resume {path}",
    ),
    Message(
        "HW472",
        "more threads at work than asked for",
        "region {region} keeps up to {busy:.1f} threads busy, where the sweep asked for {threads}",
        "The figures assume as many threads as the sweep asked for. Where the program uses more, its load balance "
        "comes out above 1, and possible speedups are those of a program that has only so many.",
        "headway sweep --parallel 'CMD {{threads}}' ...   (with the option of CMD that sets its number of threads)",
    ),
    Message(
        "HW473",
        "one thread stands for the sequential program",
        "no sequential program was given: the parallel one with one thread stands for it",
        "Parallelism overhead is then only what grows with the threads: what the parallel version costs from the first thread on"
        " is not seen.",
        "headway sweep --sequential CMD ...",
        severity=NOTE,
    ),
    Message(
        "HW474",
        "a window of runs that differ",
        "the window is cut out of every run by its own length: parts of the runs that are not the same work are compared",
        "Programs of different speed do different work at the same time; percentages fit runs that have the same "
        "phases.",
        "headway speedups {path} --region NAME   (regions are the same work in every run)",
    ),
    Message(
        "HW475",
        "a machine that others used",
        "others used the machine while the sweep ran: {share} of the time of its CPUs, or of the sequential program's",
        "What that cost is measured in both programs. The speedups include it; the verdict compares the limits "
        "without it. Besides, it makes runs differ, so that more repeats are needed to tell limits apart.",
        "stop what else runs, or --cpus with those that are free; then headway sweep again",
    ),
    Message(
        "HW476",
        "counters.headway holds no counters",
        "{path} has no table region_counter, which counters of a sweep come from",
        "A recording of this name inside a sweep holds what hardware counters elsewhere said of the same programs.",
        "headway import counters.csv --force -o {path}",
    ),
    Message(
        "HW477",
        "counters that are missing for some runs",
        "imported counters are not used: they lack cycles or instructions of {what}{more}",
        "Every region that used CPU time needs them, in both programs and at every number of threads. Counts of the "
        "rest of the program, (rest), are also known where the file has those of the whole run (no region) and of all"
        " its regions.",
        "add these rows to the CSV file, and import it again",
    ),
    Message(
        "HW478",
        "counters of whole runs do not fit a window",
        "imported counters are not used: they are of whole runs, and only a window of each run is looked at",
        "The count of a whole run does not say how much of it falls into a window. There CPU time stands for cycles.",
        "headway speedups {path}   (without --from and --to)",
    ),
    Message(
        "HW479",
        "counters, and warm-up that is left out",
        "the figures leave out up to {warmup} of warm-up at the begin of a run: imported counters are assumed to "
        "leave it out as well",
        "CPU time and waits are those after the warm-up. Counts from the start of the program hold more work than "
        "these, and instruction overhead, CPI overhead and the frequency would be those of other work.",
        "count from the same moment on (perf stat --delay), or headway sweep --keep-warmup ... and count whole runs",
    ),
)
