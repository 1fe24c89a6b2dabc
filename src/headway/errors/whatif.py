"""HW82x: replays of a recording on other cores (`headway whatif`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW820",
        "a recording that can't be replayed",
        "{path} was recorded in mode {mode}: it does not know which thread ended whose wait",
        "On other cores threads come earlier or later to where others wait for them. Who waits for whom, the kernel tells only "
        "with CAP_BPF and CAP_PERFMON. Wall times from how many threads were active need less: headway walltime.",
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
        "{path}: replayed without any change it takes {error} more or less than it took, more than {limit}",
        "A replay that is wrong for the run as it was is wrong for others, too. Reasons are threads that poll, or wait for a "
        "time instead of each other; records that are missing; an end that hangs on something that is not recorded.",
        "headway notes {path}, then headway why {path}",
    ),
    Message(
        "HW823",
        "waits that nobody is known to have ended",
        "{path}: of {share} of the time that threads waited for each other it is not known who ended it",
        "In a replay such a wait lasts as long as it lasted, which is wrong on other cores.",
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
        "waits for locks that are in the order of the recording",
        "{path}: {threads} threads waited for locks on average; in the replay they get them in the order in which they got them",
        "On other cores threads come to locks in another order, and a recording does not have acquisitions that nobody waited "
        "for. The lower end of the interval is without any waiting for locks; on more cores it may also become more.",
        "headway locks {path}",
        NOTE,
    ),
)
