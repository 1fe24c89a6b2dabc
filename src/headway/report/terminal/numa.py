"""Prints the answer of `headway numa`: a table of the programs' classes, or one program's classes with their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import significant
from headway.analyses.numa.advice import TEXTS
from headway.analyses.numa.types import DEPENDENCIES, LOCALITY, PARALLELISM, QUESTIONS, SINGLE, joined
from headway.errors.message import NOTE, ONCE
from headway.errors.plurals import counted
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import UNKNOWN, make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from headway.analyses.numa.types import ClassComparison, ClassEvidence, NumaAnswer, Placed, ProgramClass, SecondNode

_QUESTIONS = {PARALLELISM: "parallelism", DEPENDENCIES: "data dependencies", LOCALITY: "bound by locality"}
_MOST_DIFFERENCES, _MOST_ALIKE = 20, 4
_NEAR = "~"
_NOT_DETERMINED = f"; {UNKNOWN} is not determined"


def render_numa(result: NumaAnswer, console: Console) -> None:
    """Print what the programs are, and what weakens that."""
    if len(result.programs) == 1:
        _print_one(result.programs[0], console)
    else:
        _print_all(result, console)
    if result.comparison is not None:
        _print_comparison(result.comparison, console)
    print_notices(console, result.notices, also=(NOTE, ONCE))


def _print_all(result: NumaAnswer, console: Console) -> None:
    """Print a line for each program."""
    assert result.cores_per_node is not None  # of tables it is given, or that of the published machine
    console.print(f"{counted(len(result.programs), 'program')} on nodes of {counted(result.cores_per_node, 'core')}")
    for guideline, text in TEXTS.items():
        there = sum(1 for each in result.programs if each.guideline == guideline)
        if there:
            print_line(console, f"{guideline}, {counted(there, 'program')}: {text}", bullet="*")
    unknown = sum(1 for each in result.programs if each.guideline is None)
    if unknown:
        print_line(console, f"{counted(unknown, 'program')}: the tables don't tell how parallel", bullet="*")
    table = make_table(
        ("program", "left"),
        ("parallelism", "left"),
        ("dependencies", "left"),
        ("locality", "left"),
        ("", "left"),
        title="Classes",
    )
    for each in result.programs:
        answers = [_answer(each, question) for question in QUESTIONS]
        table.add_row(printable(each.application), *answers, each.guideline or UNKNOWN)
    print_table(console, table)
    if any(each.alternatives(question) for each in result.programs for question in QUESTIONS):
        print_line(
            console, f"near the border of another class, which --program NAME names{_NOT_DETERMINED}", bullet=_NEAR
        )
    else:
        print_line(
            console, f"--program NAME tells all that the classes of a program go by{_NOT_DETERMINED}", bullet=" "
        )


def _answer(each: ProgramClass, question: str) -> str:
    """Return a class as a cell: empty where there is nothing to ask, a dash where it is not known."""
    answer = each.answer(question)
    if answer is not None:
        return f"{answer} {_NEAR}" if each.alternatives(question) else answer
    return "" if each.answer(PARALLELISM) == SINGLE else UNKNOWN


def _second_node(found: SecondNode) -> str:
    """Return how fast published programs of the same classes are on two nodes."""
    alike = "the same classes" if found.by_all_classes else "the classes that are determined"
    named = joined(found.programs) if len(found.programs) <= _MOST_ALIKE else f"{len(found.programs)} programs"
    return f"published programs of {alike} on two nodes: {found.slowest:g}x to {found.fastest:g}x ({named})"


def _with_other(each: ClassEvidence) -> str:
    """Return a figure as words, with the class whose border it is near."""
    return f"{each.text} (near to {each.other})" if each.other is not None else each.text


def class_sentences(each: ProgramClass) -> Iterator[str]:
    """Yield what the classes of a program are, what they go by, and what to do, as sentences."""
    for question, words in _QUESTIONS.items():
        near = each.alternatives(question)
        also = f" (near to {joined(near)})" if near else ""
        evidence = "; ".join(map(_with_other, each.findings[question].evidence))
        if (answer := each.answer(question)) is not None:
            yield f"{words.capitalize()}: {answer}{also}{f': {evidence}' if evidence else ''}."
    if each.root_causes:
        yield f"Root causes: {joined(each.root_causes)}."
    if each.guideline is not None:
        yield f"Guideline {each.guideline}: {each.advice[0]}."
        yield from (f"\u2192 {text}." for text in each.advice[1:])
    if each.second_node is not None:
        text = _second_node(each.second_node)
        yield f"{text[0].upper()}{text[1:]}."
    yield from (f"Not determined: {text}." for text in each.undetermined)


def _print_one(each: ProgramClass, console: Console) -> None:
    """Print the classes of one program, what they go by, what to do, and how it uses memory."""
    console.print(printable(each.application) + (f" ({printable(each.suite)})" if each.suite else ""), style="bold")
    for question, words in _QUESTIONS.items():
        answer = each.answer(question)
        near = each.alternatives(question)
        also = f", near to {joined(near)}" if near else ""
        unknown = "not asked" if each.answer(PARALLELISM) == SINGLE else "not determined"
        print_line(console, f"{words}: {answer or unknown}{also}", bullet="*")
        for evidence in each.findings[question].evidence:
            print_line(console, _with_other(evidence), bullet="    ")
    if each.root_causes:
        print_line(console, f"root causes: {joined(each.root_causes)}", bullet="*")
    for text in each.undetermined:
        print_line(console, f"not determined: {text}", bullet="?")
    if each.guideline is not None:
        print_line(console, f"guideline {each.guideline}", bullet="*")
        for text in each.advice:
            print_line(console, text, bullet="  ->")
    if each.second_node is not None:
        print_line(console, _second_node(each.second_node), bullet="*")
    if each.memory:
        _print_memory(each, each.memory, console)


def _print_memory(each: ProgramClass, memory: dict[str, Placed], console: Console) -> None:
    """Print the figures of memory beside the published programs."""
    table = make_table(
        ("figure", "left"),
        ("value", "right"),
        ("mean", "right"),
        ("least", "right"),
        ("most", "right"),
        ("below", "right"),
        title="Memory, beside the published programs",
    )
    for column, placed in memory.items():
        mean = UNKNOWN if placed.geometric_mean is None else significant(placed.geometric_mean)
        rank = f"{placed.below} of {placed.programs}"
        value = significant(placed.value) + ("*" if placed.derived else "")
        table.add_row(column, value, mean, significant(placed.least), significant(placed.most), rank)
    print_table(console, table)
    if any(placed.derived for placed in memory.values()):
        print_line(console, "made of other columns", bullet="*")
    if each.memory_intensive is not None:
        kind = "memory-intensive" if each.memory_intensive else "not memory-intensive"
        print_line(
            console, f"{kind} by equation 5.1: both rates, of allocations and accesses, above their mean", bullet="*"
        )


def _print_comparison(comparison: ClassComparison, console: Console) -> None:
    """Print of how many programs the classes are those of a given table, and which are not."""
    console.print()
    programs = counted(comparison.programs, "program")
    print_line(console, f"the same classes as in the table that has them: {comparison.same} of {programs}", bullet="*")
    for each in comparison.differences[:_MOST_DIFFERENCES]:
        found, given = each.found or "not determined", each.table or "empty"
        print_line(
            console, f"{each.application}: {_QUESTIONS[each.question]} {found}, in the table {given}", bullet=" "
        )
    more = len(comparison.differences) - _MOST_DIFFERENCES
    if more > 0:
        print_line(console, f"and {more} more", bullet=" ")
