"""HW08x, HW09x: sweeps over numbers of threads."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW080",
        "a sweep's command that can't be used",
        "{option} '{command}': {reason}",
        "The command is split into words as a shell does, and the placeholder for the number of threads is "
        "replaced in each word. There is no other placeholder. No shell runs the command.",
        "write {{threads}} for the number of threads, {{{{name}}}} for the text {{name}}, sh -c '...' where a shell is needed",
    ),
    Message(
        "HW081",
        "a parallel command without a place for the number of threads",
        "--parallel '{command}' does not say where the number of threads goes: every run would be the same",
        "The sweep starts it once per number of threads, and puts the number where the command has its placeholder.",
        "--parallel 'CMD {{threads}}', or --parallel 'env THREADS={{threads}} CMD'",
    ),
    Message(
        "HW082",
        "a region or marker that can't be used",
        "{option} '{pattern}': {reason}",
        "Regions and the marker are Python regular expressions, found anywhere in a frame "
        "(org.example.KMeans.assign) or line. --sequential-region gives another pattern for the sequential "
        "program; its name has to be that of a --region.",
        "--region 'NAME=REGEX', as in --region 'kmeans=KMeans\\.(assign|tally)'",
    ),
    Message(
        "HW083",
        "more threads than cores",
        "{threads} threads are more than the {cores} cores the program may use: threads will wait for a core",
        "A thread that waits for a core makes the run longer, whatever the program is like. The time lost to it is shown as a "
        "limit of its own, but a speedup above the number of cores can't be measured here.",
        "leave out what is above the cores, or sweep on a larger machine",
    ),
    Message(
        "HW084",
        "a run of the sweep that failed",
        "{run}: {reason}; {rest}",
        "A run counts when its program ended with exit code 0, its recording is whole, and the marker (if asked for) was seen. "
        "Other numbers of threads are run all the same.",
        "less {output}, then: headway sweep --resume {path}",
    ),
    Message(
        "HW085",
        "a sweep that is not complete",
        "{path}: {done} of {wanted} runs are complete ({reason})",
        "What is complete is kept, and results are made from it; a number of threads without runs is left out of them.",
        "headway sweep --resume {path}   (runs only what is missing)",
    ),
    Message(
        "HW086",
        "a sequential program that runs threads beside each other",
        "the sequential program had {threads} application threads ({names}), and for {share:.0%} of its busy time more than one "
        "was active",
        "Speedups and efficiencies compare with one thread's work. Against a baseline that is parallel itself they are too low.",
        "give the sequential program one thread (parallel streams: -Djava.util.concurrent.ForkJoinPool.common.parallelism=0)",
    ),
    Message(
        "HW087",
        "a sweep that is being run already",
        "{path} is being run by another headway",
        "Two would disturb each other's measurements, and one would write over what the other noted.",
        "wait for it, or end it (Ctrl-C there keeps what is complete), then: headway sweep --resume {path}",
    ),
    Message(
        "HW088",
        "what is left out as warm-up",
        "left out of every run: all before the first line that matches '{marker}' ({least:.3f} to {most:.3f} s)",
        "The sequential and the parallel program have to print that line after the same work: only then is the same "
        "work left out of both.",
        "another --from-marker 'REGEX', if they do not",
        severity=NOTE,
    ),
    Message(
        "HW089",
        "the sweep is there already",
        "{path} exists already{what}; nothing was run",
        "headway never overwrites a sweep unasked, and nothing else at all.",
        "headway sweep --resume {path}   (to complete it), another -o NAME.sweep, or --force",
    ),
    Message(
        "HW090",
        "runs that are largely the start of the JVM",
        "the start of the JVM, until the main class is reached, is {share:.0%} of the recorded runs",
        "It is the same in the sequential and the parallel program and counts as sequential. Nothing is left out "
        "unless a line of the program's own output says where: time alone can't tell which work is the same in two "
        "programs.",
        "--from-marker 'REGEX' (a line that both programs print once they are warm), or longer runs",
    ),
    Message(
        "HW091",
        "warm-up that was found and left out",
        "left out of every run as warm-up: the first {iterations} of {of} iterations, recognised by the lines '{line}' "
        "({least:.3f} to {most:.3f} s); the JIT compiler kept {jit_before:.2f} cores busy in them, {jit_after:.2f} afterwards",
        "These iterations take longer than later ones. Of all numbers of threads, the one that takes longest to settle "
        "decides. The same lines end the warm-up in every run, so the same work is left out of all. In the lines # stands for"
        " digits.",
        "--keep-warmup to leave nothing out, or --from-marker 'REGEX' (a line that both programs print once they are warm)",
        severity=NOTE,
    ),
    Message(
        "HW092",
        "a program that does not settle",
        "its {of} iterations (lines '{line}') still get faster in the second half of the run: nothing is left out as "
        "warm-up",
        "So the measured program is still warming up: runs of another length would give other speedups.",
        "longer runs, or --from-marker 'REGEX' (a line that both programs print once they are warm)",
    ),
    Message(
        "HW093",
        "a sweep's event is not counted here",
        "--sample {event}: {event} can't be sampled on this machine: {reason}; nothing was run",
        "Regions are found by samples of the CPU. Cycles and instructions are counted by the processor, which virtual machines "
        "and containers often hide, or which is kept from ordinary users; cpu needs no counters.",
        "headway sweep --sample cpu:2ms ...   (a sweep begun with {event} is resumed where it was begun)",
    ),
)
