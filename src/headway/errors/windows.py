"""HW896 to HW899: accesses that are counted in windows (`headway record --windows`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW898",
        "windows that cost more than to count everything",
        "--windows {text}: a window more often than every {least} slows the program down more than to count everything",
        "To begin and to end a window the JVM discards the code that it has compiled for the program, and compiles it again: "
        "some seconds of CPU time for a program of medium size, whatever the window's length. Between windows the program has "
        "its own speed. Without --windows everything is counted, and every count is exact.",
        "headway record --objects accesses --windows 300ms/60s -o NAME.headway -- CMD",
    ),
    Message(
        "HW899",
        "windows can't tell that",
        "--windows can't tell {what}: that depends on what happens between windows, where nothing is counted",
        "Objects are allocated and written to between windows, too. To note there by whom would cost nearly what counting "
        "everything does; without it the owners of most objects, or the last writers of a cache line, would be unknown or "
        "wrong.",
        "headway record --objects accesses --owner allocator -o NAME.headway -- CMD   (without --windows)",
    ),
    Message(
        "HW896",
        "windows that tell too little",
        "of threads with {share} % of the CPU time it is not known how often they read and write: what {windows} windows of "
        "{window} have counted is all that is known. Why, with shares of the CPU time: {why}",
        "An estimate needs windows in six of ten groups, so six at least; marks, pieces of code that are rarely executed, which "
        "the thread passes in the windows and before them, of two kinds at least; and windows like the spells before them, by "
        "these marks. Threads that are too short for that are taken together. What windows counted is exact. --by thread says of "
        "each thread what is missing.",
        "headway record --objects accesses -o NAME.headway -- CMD   (counts everything; or a longer run; or a shorter PERIOD, "
        "10s at least)",
    ),
    Message(
        "HW897",
        "accesses are estimated from windows",
        "accesses are estimates from {windows} windows of {window}, one every {period}, with 95 % intervals; the program's CPU "
        "time with windows is {cost} what it is without",
        "What windows counted is exact. For the time between them, each window tells what its thread did in the spell right "
        "before it, by the marks passed in both; these spells stand for all the time between. What happened in none of them is "
        "not in the estimates. Threads are slow while a window is opened and right after it: on a busy machine, or with periods "
        "near 10 s, estimates may be off by more than their intervals say. The cost is of the threads' slower work in windows; "
        "what the JVM takes to compile the program again after each one comes on top.",
        "headway record --objects accesses -o NAME.headway -- CMD   (counts everything, several times as slow)",
        NOTE,
    ),
)
