"""HW720 to HW736: where a running program is placed (`headway place --pid`)."""

from __future__ import annotations

from headway.errors.message import Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW720",
        "a program with one memory node",
        "process {pid} may use CPUs {cpus}, which are of one memory node: there is nothing to place",
        "With one node there is no choice. Other nodes may be there that its affinity or its cpuset (taskset, numactl, a "
        "container) keeps it from.",
        "{next}",
    ),
    Message(
        "HW721",
        "a program that is not one's own",
        "the kernel does not let this user look into process {pid}: its threads are left alone",
        "Placing moves threads, which changes how fast a program is. headway does that only with programs that the kernel lets "
        "it look into: one's own, and for root all but a few (those of other containers, for example).",
        "sudo headway place --pid {pid}   (root already: choose another program)",
    ),
    Message(
        "HW722",
        "a program that is placed already",
        "{other} places process {pid} already",
        "Two that place one program would move its threads to and fro, each by what the other causes. The first one has not "
        "ended, or its threads are just being put back.",
        "ps -fp PID   (of the other one; Ctrl-C or SIGTERM ends it and puts all threads back)",
    ),
    Message(
        "HW723",
        "nothing that tells how fast a program is",
        "nothing tells how much the program does: cycles and instructions can't be counted here ({reason})",
        "CPU time alone is no progress: a program that waits for memory uses as much of it. Placing by it would be a guess, so "
        "nothing is placed, unless the nodes of its memory are known and the policy is headway's.",
        "headway place --pid PID --progress-file LOG   (its lines are the units of work; run --place takes the same option)",
    ),
    Message(
        "HW724",
        "a file that does not tell progress",
        "{path}: {reason}",
        "The lines that a program appends to this file are taken for its units of work. It has to be an ordinary file that can "
        "be read.",
        "headway place --help",
    ),
    Message(
        "HW725",
        "an event that does not tell progress",
        "the event can't tell how much the program does: {reason}",
        "The event has to count for threads of the program on this machine.",
        "headway doctor   (which counters count here)",
    ),
    Message(
        "HW726",
        "the process that moves threads was ended",
        "the process that moves threads was ended by somebody: another one put them back, and placing has ended",
        "A process of its own moves the program's threads, so that it can put them back when headway is killed. Without it "
        "nothing is moved.",
        "headway place --pid PID   (again)",
    ),
    Message(
        "HW727",
        "CPUs that are not online",
        "--nodes: CPUs {cpus} are not online; {online} are",
        "A set of CPUs that is declared as a node has to be one that a program can run on.",
        "headway doctor",
    ),
    Message(
        "HW728",
        "a program that no node holds",
        "process {pid} has more memory than any of its nodes: it is left on all of them",
        "Its threads on one node would read most of their memory from others.",
        "headway numa NAME.headway   (what kind of program it is)",
    ),
    Message(
        "HW729",
        "threads that were not put back",
        "threads of process {pid} may still be kept on CPUs {cpus}: whoever was to put them back was ended, too",
        "A process of its own puts the threads back, and another one where that was ended. Somebody ended or stopped both.",
        "taskset -a -c -p {all} {pid}",
    ),
    Message(
        "HW730",
        "records of placing that can't be read",
        "{where}: {reason}",
        "What is read back is what 'headway place --json' writes: one record a line, in the order of time.",
        "headway place --pid PID --json > placed.jsonl",
    ),
    Message(
        "HW731",
        "records of placing that are not of a recording",
        "{path}: {reason}",
        "Times of both are compared, so both have to be of one program, on one machine, since its last start.",
        "headway place --show {path}   (what the records tell by themselves)",
    ),
    Message(
        "HW736",
        "placing that the system does not allow",
        "process {pid} can't be placed: {reason}",
        "Placing takes a process of its own and open files. The program runs on as it is; a limit is reached, perhaps by the "
        "program itself.",
        "ulimit -u; ulimit -n; free -m",
    ),
)
