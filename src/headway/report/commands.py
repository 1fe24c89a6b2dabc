"""Headway's own commands as `headway --help` lists them: their names, sections and one-line summaries, without any import."""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """A command's place in `headway --help`."""

    name: str
    section: str
    summary: str


COMMANDS: tuple[Listed, ...] = (
    Listed("run", "Record", "Record a command, print the findings, write a report."),
    Listed("record", "Record", "Record a command or a running process."),
    Listed("import", "Record", "Make a recording of a JFR file, or of other tools' files."),
    Listed("recover", "Record", "Finalise a recording whose recorder died."),
    Listed("sweep", "Record", "Run a program at several numbers of threads."),
    Listed("causal", "Record", "Try out by experiments which line, made faster, would help."),
    Listed("why", "Understand", "Where the cores went: every lost core has a cause."),
    Listed("parallelism", "Understand", "How many threads were active, and for how long."),
    Listed("walltime", "Understand", "How long it would take on another number of cores."),
    Listed("whatif", "Understand", "How long it would take with a change: cores, locks, sleeps."),
    Listed("speedups", "Understand", "What limits the speedup, what removing it would give."),
    Listed("critical-path", "Understand", "What the end of the program waited for."),
    Listed("threads", "Understand", "What every thread spent its time on."),
    Listed("counters", "Understand", "What the CPUs counted: cycles, misses, faults, by thread."),
    Listed("memory", "Understand", "How it uses memory: what it allocates, executes, misses."),
    Listed("numa", "Understand", "Would a second memory node help: classes of programs."),
    Listed("numa-map", "Understand", "On which memory nodes the heap is, over time."),
    Listed("place", "Understand", "Keep a program on one memory node or on all, as measured."),
    Listed("locks", "Understand", "Who waits for which lock, and who holds it."),
    Listed("objects", "Understand", "Who allocates what, by class, thread and site."),
    Listed("top", "Understand", "Which methods use the CPU, allocate, block or wait for locks."),
    Listed("flame", "Understand", "The same as a flame graph."),
    Listed("dump", "Understand", "The locks of a running JVM, into a file."),
    Listed("notes", "Understand", "Everything that weakens a recording's figures."),
    Listed("query", "Understand", "Ask a recording's tables in SQL."),
    Listed("report", "Pass on", "Write the findings as one HTML file."),
    Listed("export", "Pass on", "Write a recording for other tools."),
    Listed("doctor", "Help", "What this machine allows, and how to allow more."),
    Listed("explain", "Help", "What a message such as HW301 means."),
)


def summary_of(name: str) -> str:
    """Return the summary of a command. Raises StopIteration where there is no such command."""
    return next(each.summary for each in COMMANDS if each.name == name)
