"""HW5xx: reports and exports."""

from __future__ import annotations

from headway.errors.message import Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW500",
        "the output is there already",
        "{path} exists, and headway does not overwrite what it did not just make",
        "A report or an export takes the place of an ordinary file only when told to.",
        "the same command with --force, or another -o",
    ),
    Message(
        "HW501",
        "the output can't be written",
        "{path} can't be written: {reason}",
        "The file is made beside its final place and renamed once it is whole, so nothing half-written is left there.",
        "choose another place with -o",
    ),
    Message(
        "HW502",
        "the report's page is missing",
        "this installation of headway lacks the page of the HTML report: {reason}",
        "The page is built by Node from web/ and is part of every wheel; a source tree has it only once it was built.",
        "make web   (in a source tree), or install headway again",
    ),
    Message(
        "HW503",
        "more messages than a report shows",
        "{more} more messages mark this recording than the report shows",
        "The report's size is bounded, whatever the recording holds.",
        "headway parallelism NAME.headway --json",
    ),
    Message(
        "HW504",
        "mode agent has no thread states",
        "mode agent recorded no scheduling, so there is no parallelism over time, no prediction, and no thread state to draw",
        "Without eBPF and perf events only what the JVM reports is known: when threads lived, their CPU time, and "
        "GC pauses.",
        "headway doctor   (says what would lift it)",
    ),
    Message(
        "HW505",
        "the recording is empty",
        "the recording spans no time, so there is nothing to draw",
        "The program ended before it began to be recorded, or the recorder died at once.",
        "record it again: headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW506",
        "no thread states in this recording",
        "no switch of any thread is in this recording, so there is nothing to draw",
        "Either no thread ran while it was recorded, or the records were lost (see the other messages).",
        "headway doctor",
    ),
    Message(
        "HW507",
        "nothing to export",
        "{path} holds no {what}, so the export would be empty",
        "A table is empty where there was nothing to note, as `loss` is when no record was lost. Mode agent records no "
        "thread states, and a recording that was cut short may lack them too.",
        "headway query {path} --schema   (what each table holds)",
    ),
    Message(
        "HW508",
        "the findings could not be shown",
        "the findings of {path} could not be shown: {reason}",
        "The recording is complete, and the exit code is the program's.",
        "headway why {path}   (and for the page: headway report {path})",
    ),
    Message(
        "HW509",
        "nothing was sampled",
        "no stacks were sampled and no time blocked on locks was recorded, so there is no flame graph",
        "Flame graphs show where something happened: they need stack samples, or the stacks that lock records carry.",
        "headway run --sample cpu,alloc,wall --locks -- CMD",
    ),
    Message(
        "HW510",
        "an analysis or exporter of another package fails",
        "{name}, which the package {package} adds to headway, fails: {reason}",
        "Packages add analyses and exporters by entry points. Everything else of headway works as it does without.",
        "pip install --upgrade {package}   (or pip uninstall {package})",
    ),
    Message(
        "HW511",
        "more sources than are looked through",
        "below {directory} there is more than headway looks through for sources ({limit}): what lies beyond is not found",
        "Folders of sources hold some thousand files. A whole disk, or a tree of folders that somebody made without end, would "
        "take hours, so headway stops at a number of files, of folders, of levels, and after some seconds.",
        "headway report --sources DIR NAME.headway   (DIR: where the program's own sources begin)",
    ),
)
