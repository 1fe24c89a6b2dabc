"""HW600 to HW619: causal recordings, from their start to their tables."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW600",
        "no progress point",
        "nothing tells what faster means for this program: no progress point was given",
        "Experiments need to see the program get something done: a method or a line that is visited once per unit of work,"
        " a pair of"
        " points between which time is counted, or, for a program that runs to its end, the time of the whole run.",
        "headway causal --suggest {target}   (methods worth using), then --progress CLASS.METHOD; or --end-to-end",
    ),
    Message(
        "HW601",
        "a causal recording",
        "{path} is a causal recording: headway {command} has nothing to show of it",
        "While experiments run, threads are delayed on purpose, which would falsify every other figure. So nothing else is"
        " recorded"
        " beside them.",
        "headway causal {path}   (headway report and headway query work, too; for headway {command}: headway run -- CMD)",
    ),
    Message(
        "HW602",
        "a progress point whose class was not loaded",
        "{name}: no class of that name has been loaded{yet} ({where}){near}",
        "A progress point counts from the moment that its class is loaded. A class has its full name with its package; a"
        " nested one"
        " is written Outer$Inner.",
        "headway causal --suggest ...   (lists methods that are called, as --progress takes them)",
    ),
    Message(
        "HW603",
        "a progress point that its class does not have",
        "{name}: the class is loaded, but there is no {where} in it{near}",
        "A method must be of the class itself, not inherited, and have code. A line must have code: comments, blanks and"
        " closing"
        " braces have none. The body of a lambda is a method called lambda$METHOD$N.",
        "headway causal --suggest ...   (lists methods that are called, as --progress takes them)",
    ),
    Message(
        "HW604",
        "a class without line numbers",
        "{name}: the class of {where} has no line numbers{near}",
        "Compilers leave them out when told so (javac -g:none), and obfuscators remove them. Lines of such a class can't be"
        " progress"
        " points; in results its methods stand for their lines.",
        "use a method, --progress CLASS.METHOD, or compile with javac -g",
    ),
    Message(
        "HW605",
        "a progress point that is not one place",
        "{name}: {where} is ambiguous{near}",
        "Several methods of the class have that name. All of them are counted together.",
        "name one of them with its parameters: --progress 'com.acme.Server.handle(Ljava/lang/String;)'",
    ),
    Message(
        "HW606",
        "a progress point that is never visited",
        "{name}: {where} is counted, but the program has not reached it, though it works",
        "Without visits experiments tell nothing. It may be that the program is only starting, that the work goes another"
        " way, or that"
        " an overriding method is called instead.",
        "headway causal --suggest ...   (lists methods that are called, with their rates)",
    ),
    Message(
        "HW607",
        "nothing is in scope",
        "no sample is in scope{scope}: the program works in {methods}",
        "A line counts if it is the innermost one in scope on a thread's stack. By default everything is in scope but the"
        " JDK, Kotlin"
        " and Scala.",
        "headway causal --scope 'com.acme.*' ...   (a pattern of class names with their packages; several --scope are fine)",
    ),
    Message(
        "HW608",
        "too short for an experiment",
        "the program ended after {ran}, before an experiment was complete: it would have to run for {needed} at least",
        "An experiment lasts until its progress point was visited often enough to measure its rate, and results take dozens"
        " of them.",
        "give it more work; or headway causal --end-to-end --repeat 20 -- CMD, where each run is an experiment",
    ),
    Message(
        "HW609",
        "something the agent could not do",
        "process {pid}: {text}",
        "The agent inside the JVM goes on as well as it can; what it could not have is missing from the results.",
        "headway doctor",
    ),
    Message(
        "HW610",
        "runs that can't be added up",
        "{path} holds runs of {what}: these runs can't be added to them",
        "Runs of one command add up when they have the same progress points and the same scope, and are of one kind: whole runs"
        " (--end-to-end) are not compared with experiments inside of runs.",
        "another -o NAME.headway; or --force, which replaces what is there",
    ),
    Message(
        "HW611",
        "no experiments were made",
        "no JVM made experiments: {reason}",
        "The agent makes them inside the JVM; without it there is nothing to show.",
        "headway doctor",
    ),
    Message(
        "HW612",
        "a progress point that can't be counted",
        "{name}: the JVM refused the counter in {where}{near}",
        "Counting takes a few instructions at the begin of a method or line. Native and abstract methods have none, and"
        " some classes"
        " can't be changed.",
        "use a method that calls it, or that it calls",
    ),
    Message(
        "HW613",
        "fewer runs than asked for",
        "{done} of {wanted} runs were made: {reason}",
        "Each run is one experiment: the fewer runs, the wider the intervals.",
        "the same command once more with the same -o: runs add up",
    ),
    Message(
        "HW614",
        "no line to make faster",
        "no line to make faster was found: the first run took no sample in scope",
        "End-to-end, lines are chosen by the samples of the first run, or of earlier runs of the recording.",
        "headway causal --end-to-end --target line:CLASS:LINE ... -- CMD; or another --scope",
    ),
    Message(
        "HW615",
        "a run that failed",
        "run {number} of {wanted} ended with exit code {code}: how long it took tells nothing",
        "Runs are compared by how long they take for the same work, so a run that failed does not count.",
        "make the command succeed when it is repeated; then the same once more: runs add up",
    ),
    Message(
        "HW616",
        "no progress point to suggest",
        "no method in scope was called between once and a million times a second{methods}",
        "A good progress point is visited steadily, some times to some ten thousand times a second, once per unit of work.",
        "headway causal --suggest --scope PATTERN ...; for a program that runs to its end: --end-to-end",
    ),
    Message(
        "HW617",
        "a progress point whose class could not be instrumented",
        "{name}: the class of {where} is loaded, but the counter could not be put into it",
        "Counting takes a few instructions at the begin of a method or line. They can't be put into classes that the "
        "JVM or another agent protects from changes, and into some that came from an archive or are made at run time.",
        "use a method of another class that calls it, or that it calls",
    ),
    Message(
        "HW618",
        "damaged notes",
        "{count} lines of the agent's notes in {path} could not be read and are left out",
        "The agent writes a line at once, so only a full disk or somebody else damages them.",
        "record again, to a disk with room",
    ),
    Message(
        "HW619",
        "experiments ended early",
        "the experiments ended after {ran}: the intervals of the leading lines are tight",
        "More experiments would hardly narrow these intervals, but would say more of the other lines. The program "
        "runs on without delays.",
        "headway causal --time TIME ...   (experiments for as long as that)",
        severity=NOTE,
    ),
)
