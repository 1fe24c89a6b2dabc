"""HW710 to HW719: what kind of program a recording is of, for machines of several memory nodes (`headway numa NAME.headway`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW710",
        "recordings of different programs",
        "{path} and {other} are not the same program: {reason}",
        "The test of locality compares one program on one memory node with itself on two: the same command, JVM and options, and "
        "from begin to end.",
        "headway record --cpus LIST -o ONE.headway -- CMD   (and the same CMD with --cpus of two nodes)",
    ),
    Message(
        "HW711",
        "recordings on the wrong nodes",
        "{path} ran on {nodes}; the test of locality needs {needed}",
        "Which node a CPU belongs to is what sysfs says, or --nodes declares. What counts is where the program's threads ran for "
        "at least 1 % of their time.",
        "headway record --cpus LIST -o NAME.headway -- CMD   (lscpu says which CPUs a node has)",
    ),
    Message(
        "HW712",
        "cores of a node that were not given",
        "a memory node is taken to have {cores}, {why}",
        "How many threads a program must have to fill a node depends on the node.",
        "headway numa --cores-per-node N ...",
        NOTE,
    ),
    Message(
        "HW713",
        "a class with the warm-up in it",
        "the class is of the whole recording, its start and warm-up included",
        "Published classes are of the last iteration of a program that is warm. Until then the main thread has more of the "
        "work, as a rule: it loads classes, and runs code that is not compiled yet.",
        "headway numa NAME.headway --from 50%   (or record iterations: headway record --counters --iterations gc ...)",
        NOTE,
    ),
)
