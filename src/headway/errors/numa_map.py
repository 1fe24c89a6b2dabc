"""HW732 to HW734: on which memory nodes the heap of a program is (`headway numa-map`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW732",
        "a process whose memory nodes are not known",
        "on which memory nodes the heap of process {pid} is can't be asked: {reason}",
        "The kernel tells it those who may trace the process: its user, if it has not made itself undumpable, and root. A kernel "
        "without support for several nodes tells nobody.",
        "headway doctor",
    ),
    Message(
        "HW733",
        "a recording without the nodes of the heap",
        "{path} does not say on which memory nodes the heap is: it was not asked for, or no JVM ran for long enough",
        "The kernel is asked where the pages of a heap are while the program runs, at intervals, and only with --numa-map.",
        "headway record --numa-map 1s -o NAME.headway -- CMD",
    ),
    Message(
        "HW734",
        "a heap that is not known",
        "where the heap of process {pid} lies is not known: what is shown is all of its memory that belongs to no file",
        "A JVM's performance data say how large its heap may get, and a stretch of addresses of just that size is taken for "
        "the heap. There are no such data with -XX:-UsePerfData, and in a process that is no JVM.",
        "headway record --numa-map 1s -o NAME.headway -- CMD   (without -XX:-UsePerfData)",
        NOTE,
    ),
)
