"""Compares all answers of two versions of headway about the same recordings, byte for byte: a guard of moves and rearrangements.

    python scripts/same_answers.py FOLDER [--before REVISION] [--after REVISION] [--only NAME,...]

FOLDER holds the recordings. Where it is empty or missing, it is filled with those that the tests build (legal ones at the edge of
what can be, a sweep, a causal one) and with imports of the JFR files in tests/golden/jfr. Put recordings of real programs beside
them (`headway record -o FOLDER/xalan.headway -- ...`). About each, every analysis is asked as JSON and as text, every format is
exported, and the report is written: by the Python of one revision (HEAD unless said) and of another one (the working tree unless
said), both with the native parts that are built here. What differs is named, and the exit code is then 1; both answers are kept
in FOLDER/answers.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILT = ("*.so", "report/html/app.html", "async_profiler/*/*.so")
"""What a build puts beside the sources: a revision is given that of the working tree."""
SHOWN_KEYS = 5


def fill(folder: Path) -> None:
    """Build the recordings of the tests, and import their JFR files."""
    sys.path[:0] = [str(ROOT / "tests")]
    from headway.cli.main import invoke
    from support.builders import sweep_builder
    from support.builders.extreme_recordings import EXTREMES

    folder.mkdir(parents=True, exist_ok=True)
    for name, build in EXTREMES.items():
        build(folder / f"{name}.headway")
    sweep_builder.make(folder / "two_programs.sweep")
    for packed in sorted((ROOT / "tests" / "golden" / "jfr").glob("*.jfr.gz")):
        file = folder / packed.stem
        file.write_bytes(gzip.decompress(packed.read_bytes()))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = invoke(["import", str(file), "-o", str(file.with_suffix(".headway"))])
        assert code == 0, f"{file} can't be imported"


def unpack(revision: str, folder: Path) -> Path:
    """Return the folder `src` of a revision, with what is built here."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
    for pattern in BUILT:
        for file in (ROOT / "src" / "headway").glob(pattern):
            target = folder / "src" / file.relative_to(ROOT / "src")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    return folder / "src"


def ask_all(source: Path, folder: Path, answers: Path, only: set[str]) -> None:
    """Write every answer about every recording, by the headway in `source`, to answers/RECORDING/QUESTION."""
    # An editable installation finds the working tree's headway wherever sys.path leads.
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
    sys.path[:0] = [str(source)]
    import headway

    assert Path(headway.__file__).is_relative_to(source), f"{headway.__file__} is not in {source}"
    for recording in sorted([*folder.glob("*.headway"), *folder.glob("*.sweep")]):
        if only and recording.stem not in only:
            continue
        kept = answers / recording.name
        kept.mkdir(parents=True)
        for name, words in questions(recording, answers.parent / "written"):  # the path is in what is printed
            (kept / name).write_bytes(answer(words))


def questions(recording: Path, file: Path) -> list[tuple[str, list[str]]]:
    """Return what is asked of a recording: a name for the answer, and the command's words; files are written to `file`."""
    from headway.report.registry import exporters, own_analyses

    of_sweep = recording.suffix == ".sweep"
    found = []
    for entry in own_analyses():
        if (entry.name == "speedups") == of_sweep:
            found += [(f"{entry.name}.json", [entry.name, str(recording), "--json"])]
            found += [(f"{entry.name}.txt", [entry.name, str(recording)])]
    written = ["-o", str(file), "--force"]
    for exporter in () if of_sweep else exporters():
        found.append((f"export.{exporter.name}", ["export", str(recording), "--format", exporter.name, *written]))
    found.append(("report", ["report", str(recording), *written]))
    return found


def answer(words: list[str]) -> bytes:
    """Return all that a command wrote: exit code, standard output and error, and its file."""
    from headway.cli.main import invoke

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "replace", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = invoke(words)
    texts = [stream.buffer.getvalue() for stream in (out, err)]
    written = Path(words[words.index("-o") + 1]) if "-o" in words else None
    if written is not None and written.is_file():
        texts.append(written.read_bytes())
        written.unlink()
    return b"\n".join([f"exit code {code}".encode(), *texts])


def differing(before: Path, after: Path) -> list[str]:
    """Return a line for each answer that is not the same."""
    names = {file.relative_to(each) for each in (before, after) for file in each.rglob("*") if file.is_file()}
    lines = []
    for name in sorted(names):
        old, new = ((each / name).read_bytes() if (each / name).is_file() else b"" for each in (before, after))
        if old != new:
            lines.append(f"{name}{_keys(old, new)}")
    return lines


def _keys(old: bytes, new: bytes) -> str:
    """Return which keys of two JSON objects differ, as text."""
    try:
        one, two = (json.loads(text.split(b"\n", 1)[1]) for text in (old, new))
    except (ValueError, IndexError):
        return ""
    if not isinstance(one, dict) or not isinstance(two, dict):
        return ""
    keys = sorted(key for key in {*one, *two} if one.get(key) != two.get(key))
    return f": {', '.join(keys[:SHOWN_KEYS]) or 'only the order or the spaces'}"


def main() -> int:
    """Ask both versions; return 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", default="HEAD", metavar="REVISION")
    parser.add_argument("--after", metavar="REVISION")
    parser.add_argument("--only", default="", metavar="NAME,...", help="only recordings of these names")
    parser.add_argument("--answers-of", type=Path, help=argparse.SUPPRESS)  # what this starts for each version
    options: Any = parser.parse_args()
    folder, answers = options.folder.resolve(), options.folder.resolve() / "answers"
    if options.answers_of is not None:
        ask_all(options.answers_of, folder, answers / options.answers_of.parent.name, {*options.only.split(",")} - {""})
        return 0
    if not any(folder.glob("*.headway")):
        fill(folder)
    shutil.rmtree(answers, ignore_errors=True)
    before = unpack(options.before, answers / "sources" / "before")
    after = answers / "sources" / "after" / "src"
    if options.after:
        unpack(options.after, after.parent)
    else:
        after.parent.mkdir()
        after.symlink_to(ROOT / "src")
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    environment.pop("HEADWAY_TRACEBACK", None)  # a question that fails by a defect is answered with its message
    for source in (before, after):
        words = [sys.executable, __file__, folder, "--only", options.only, "--answers-of", source]
        subprocess.run(words, env=environment, check=True)
    lines = differing(answers / "before", answers / "after")
    count = sum(file.is_file() for file in (answers / "after").rglob("*"))
    print("\n".join([*lines, f"{count} answers, {len(lines)} differ"]))
    return 1 if lines or not count else 0


if __name__ == "__main__":
    sys.exit(main())
