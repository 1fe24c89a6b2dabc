"""HW3xx: the store and its files."""

from __future__ import annotations

from headway.errors.message import Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW301",
        "not a recording",
        "{path} is not a headway recording: {reason}",
        "A recording is a directory NAME.headway with a manifest.json that names its tables.",
        "headway record -o NAME.headway -- CMD",
    ),
    Message(
        "HW302",
        "a recording by a newer headway",
        "{path} has format version {version}; this headway reads up to {known}",
        "The meaning of stored figures may have changed since, so an older headway would misread them.",
        "read it with the headway that recorded it, or install that version here",
    ),
    Message(
        "HW303",
        "a damaged or cut-off file of a recording",
        "{path} can't be read: {reason}",
        "The file is shorter than when it was written, was changed since, or is gone: a copy that broke off, or a full "
        "disk. Where the recording's spool/ and manifest are there, headway recover NAME.headway makes its tables anew.",
        "{next}",
    ),
    Message(
        "HW304",
        "a recording that was never finalised",
        "{path} has no tables yet: {why}",
        "Tables are made of the spool when the recording has ended.",
        "{next}",
    ),
    Message(
        "HW305",
        "the output is there already",
        "{path} exists already; nothing was written",
        "headway never overwrites a recording unasked.",
        "choose another -o NAME.headway, or add --force",
    ),
    Message(
        "HW306",
        "a query that DuckDB refused",
        "DuckDB refused the query: {reason}",
        "The SQL is wrong, or names a table or column that this recording lacks.",
        'headway query {path} "SHOW TABLES"   (headway query {path} --schema: what the columns are and mean)',
    ),
    Message(
        "HW307",
        "a recording that is still being made",
        "{path} is being recorded right now by process {pid}",
        "Its spool still grows, so tables made now would miss the rest.",
        "kill -INT {pid}   (stops the recording and finalises it)",
    ),
    Message(
        "HW308",
        "nothing to recover",
        "{path} holds nothing to recover: {reason}",
        "Recovering makes the tables from the raw records in spool/, which a recording has no longer once all its tables "
        "are made.",
        "{next}",
    ),
    Message(
        "HW309",
        "the tables could not be written",
        "writing {path} failed: {reason}; the raw records are kept in {directory}/spool",
        "Usually the disk is full, or the directory became read-only.",
        "free some space, then: headway recover {directory}",
    ),
    Message(
        "HW310",
        "not a JFR file",
        "{path} is not a JFR file that can be read: {reason}",
        "A JFR file begins with FLR and holds chunks of format 1 or 2: those of JDK 9 and later, and of async-profiler.",
        "jfr summary {path}",
    ),
    Message(
        "HW311",
        "a JFR file of a newer format",
        "{path} has JFR format {version}; this headway reads up to 2",
        "The bytes of another major version may mean anything; JDK 9 to 25 write version 2.",
        "jfr print --json {path}   (with the JDK that wrote it)",
    ),
    Message(
        "HW312",
        "a compressed file that can't be unpacked",
        "{path} can't be unpacked: {reason}",
        "A JFR file is read from more than one place, so a compressed one is unpacked beside the output first.",
        "{command} {path}",
    ),
    Message(
        "HW313",
        "nothing to import",
        "{path} holds nothing that can be imported: {reason}",
        "headway imports JFR files (.jfr, .jfr.gz), collapsed stacks (.collapsed), and counters (.csv).",
        "headway import --help",
    ),
    Message(
        "HW314",
        "a line that can't be imported",
        "{path}, line {line}: {reason}",
        "A figure that is left out would make the sums wrong, so nothing was imported.",
        "headway import --help",
    ),
    Message(
        "HW315",
        "a file to import that can't be read",
        "{path} can't be imported: {reason}",
        "headway imports files that are there and that you may read. A name is looked up from the current directory.",
        "ls -l {path}",
    ),
    Message(
        "HW316",
        "a query that needs more memory than there is",
        "the query needs more memory than it may use: {reason}",
        "Queries run in memory only: what one query puts aside on disk, another one could read.",
        'headway query {path} "SELECT ... WHERE ..."   (fewer rows, fewer columns, no ORDER BY over all)',
    ),
    Message(
        "HW317",
        "a place that another user controls",
        "{path} is left alone: {reason}",
        "Whoever owns a directory, or may write in it, decides where the names in it lead. Written to as root, such a name could "
        "be any file of this machine, so root changes recordings only where nobody else can.",
        "{next}",
    ),
    Message(
        "HW318",
        "a file that can't be written to its end",
        "writing {path} failed: {reason}",
        "The disk is full, a limit is reached, or the device failed. A recording that was started is kept, with "
        "its raw records.",
        "df -h {path}; with more room: headway recover NAME.headway   (a recording), or the same command",
    ),
    Message(
        "HW319",
        "something that headway does not expect",
        "headway could not go on: {reason}",
        "Either the recording holds values that no program can have (damaged before it was written, or made by hand), or this is "
        "a defect of headway's. Nothing was changed. A report of it should hold the traceback.",
        "HEADWAY_TRACEBACK=1 {command}",
    ),
    Message(
        "HW320",
        "not a sweep",
        "{path} is not a headway sweep: {reason}",
        "A sweep is a directory NAME.sweep with a sweep.json that lists its runs.",
        "headway sweep --sequential 'CMD' --parallel 'CMD {{threads}}' --threads 1,2,4 -o NAME.sweep",
    ),
    Message(
        "HW321",
        "a sweep by a newer headway",
        "{path} has format version {version}; this headway reads up to {known}",
        "The meaning of stored figures may have changed since, so an older headway would misread them.",
        "read it with the headway that made it, or install that version here",
    ),
    Message(
        "HW322",
        "a damaged or cut-off sweep.json",
        "{path} can't be read: {reason}",
        "The file was changed by hand, or a copy broke off. The recordings in runs/ are whole by themselves.",
        "headway parallelism NAME.sweep/runs/RUN.headway   (each recording by itself)",
    ),
    Message(
        "HW323",
        "values that no program can have",
        "{path} holds what no program can have: table {table}, column {column}: {what}",
        "Its checksum fits, so it was written like that: by hand, by another program, or by a headway with a "
        "defect. Figures from it would be wrong. Valid times are at most a year after the recording's end, valid "
        "lengths are not negative, and valid ids number the rows of a table.",
        "headway record -o NAME.headway -- CMD   (anew; a report of what made {path} is welcome)",
    ),
    Message(
        "HW324",
        "values that no program can have, left out",
        "values that no program can have are left out: {counts}",
        "Records of an agent held times that are years away, lengths below zero or beyond 64 bits in all, or (of table frame) "
        "names longer than those of any program, which are cut short: the JVM's user "
        "wrote into the agent's file or memory, the JVM has a clock of its own, or headway has a defect. Sums lack them.",
        "headway notes NAME.headway",
    ),
    Message(
        "HW325",
        "tables that would fill the memory",
        "{path} is not read: with table {table} its tables would take {size} of memory, more than {limit}",
        "Equal values take almost no room in a file, but their full size in memory, so a small file can fill the "
        "memory of any machine. The tables of a recording may take half of the machine's memory (4 GiB at least), but no more "
        "than 256 times their files; the table slice, which is read in parts, 64 times its file. 64 MiB are always allowed.",
        "headway threads {path}   (on a machine with more memory; a recording of less time takes less)",
    ),
    Message(
        "HW326",
        "texts that are cut short",
        "texts are longer than a recording keeps, and end in '...': {counts}",
        "Names and texts are kept up to 64 KiB each, and up to 256 MiB of a column in all beyond 256 bytes each: longer ones "
        "would fill the memory of whoever reads the recording. Texts that differ after that place look the same.",
        "headway notes NAME.headway",
    ),
    Message(
        "HW327",
        "a pattern that takes too long",
        "looking for {pattern} in the names of {path} takes more than {seconds:g} s",
        "Some regular expressions, such as (a+)+ or several .* in one, take time that grows with the square of a name's "
        "length, or doubles with each letter. Names and patterns of somebody else's recording or sweep may be made for that.",
        "a simpler pattern, without one repetition in another; for names: headway query {path} 'SELECT name FROM thread'",
    ),
    Message(
        "HW328",
        "a file of a recording that the system refuses to open",
        "{path} can't be opened: {reason}",
        "The file may be as it was written: its permissions, or what this process may use, are in the way.",
        "ls -l {path}; ulimit -n; free -m",
    ),
    Message(
        "HW329",
        "more rows than a list in JSON has",
        "of {what} the {shown:,} first are listed and {count:,} more are left out",
        "A list in JSON has at most 65,536 rows, in the order that was asked for, so that it can be read in memory. The tables "
        "of the recording have all of them.",
        "headway locks RECORDING --by class --json   (fewer rows), or headway query RECORDING 'SELECT ... FROM thread' --csv",
    ),
    Message(
        "HW330",
        "a recording whose analyses take much memory",
        "{path} has {counts}: an analysis or a report of it may take {needed} of memory, and minutes",
        "Names and places are kept in memory, each once. Programs have some thousands of them, and a hundred thousand at most: "
        "more come from code or threads that are made without end, or from whoever made the recording. Ctrl-C ends it.",
        "ulimit -v 4000000   (KiB; before the command, if that is more than the machine can spare)",
    ),
)
