"""HW7xx: programs on machines of several memory nodes (`headway numa`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW700",
        "a table of programs that can't be used",
        "{path}: {reason}",
        "Expected is CSV: a head line, then one line per program. A column `application` or `program` has its name, others its "
        "figures: main_instructions_pct, workers, imbalance_instructions_pct; shared_read_pct, shared_write_pct; "
        "read_single_node_pct, read_dual_node_pct, write_single_node_pct, write_dual_node_pct; docs/how-to/numa.md has them all. "
        "An empty cell is a figure that is not known.",
        "headway numa --help",
    ),
    Message(
        "HW701",
        "a program twice",
        "{path}: {program} has {column} already, from {other}",
        "Tables are joined by program, and each figure of a program may be there once: which of two is right can't be known.",
        "take one of the two rows out, or ask about one table at a time",
    ),
    Message(
        "HW702",
        "columns that are missing",
        "{path}: without {columns}, what needs them is not determined",
        "The columns of one published table belong together: a rule of a class needs several of them.",
        "headway explain HW700   (where the names of all columns are)",
        NOTE,
    ),
    Message(
        "HW703",
        "cores of a node that were not given",
        "a memory node is taken to have {cores} cores, as the machine of the published tables has",
        "How many threads a program must have to fill a node depends on the node, of which the tables say nothing.",
        "headway numa --cores-per-node N ...",
        NOTE,
    ),
    Message(
        "HW704",
        "suites without published figures",
        "suites without published figures: {suites}. Their programs are compared with all that have some",
        "There are published figures of DaCapo and Renaissance alone. Whether a program allocates or accesses much is judged "
        "by the mean of its own suite, where there is one.",
        "nothing needs to be done, unless the name of the suite is a mistake",
        NOTE,
    ),
    Message(
        "HW705",
        "an impossible figure",
        "{program}: {reason}; it is not used",
        "The imbalance is the standard deviation by the mean: of N threads it lies between 0 and the square root of N - 1 "
        "(equation 6.1). A figure beyond that belongs to another number of threads.",
        "correct the row of the program, then the same command once more",
    ),
    Message(
        "HW706",
        "a name that two suites have",
        "{path}: {program} is in the suites {suites}, and this table doesn't say which one it means",
        "Tables are joined by program; a table without a column `suite` can't name one of two programs of the same name.",
        "give that table a column `suite`",
    ),
    Message(
        "HW708",
        "a program that the tables don't have",
        "{program} is in none of the tables; the name that is spelled most like it is {closest}",
        "Programs are named as the column `application` or `program` of the tables has them.",
        "headway numa --table FILE.csv   (all programs of the tables)",
    ),
    Message(
        "HW709",
        "a table of programs that can't be simulated",
        "{path}: {reason}",
        "Expected is `published`, or CSV: a head line, then one line per program. A column `application` or `program` has its "
        "name, `all_nodes_speedup` how fast it is on all nodes, relative to one. Where the table has them, objects_k and "
        "objects_k_per_s say how long an iteration takes, and parallelism whether it has more threads than a node has cores.",
        "headway place --help",
    ),
    Message(
        "HW707",
        "columns that are not used",
        "{path}: nothing is read from {columns}",
        "Their names are none that headway knows: they may be misspelled.",
        "headway explain HW700   (where the names of all columns are)",
        NOTE,
    ),
)
