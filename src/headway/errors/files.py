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
        "The file is shorter than when it was written, or was changed since: a copy that broke off, or a full disk. "
        "While the recording's spool/ and manifest are there, its tables can be made anew.",
        "{next}",
    ),
    Message(
        "HW304",
        "a recording that was never finalised",
        "{path} is still in state 'recording': its tables are not made yet",
        "Either its recorder is still at work, or it died before it could turn the spool into tables.",
        "headway recover {path}",
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
        'headway query {path} "SHOW TABLES"',
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
        "Recovering makes the tables from the raw records in spool/; a complete recording has none, and needs none.",
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
)
