"""What comes from outside reaches no terminal, no spreadsheet and no JSON raw: every command, on recordings full of it."""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

import headway
from headway.cli import out
from headway.cli.main import cli
from headway.errors import MESSAGES, HeadwayError, Notice
from headway.model.live_lock import LiveLock, LiveTable
from headway.model.lock_sums import LockSums
from headway.record.live import live_locks
from headway.report.export.cells import FORMULA
from headway.report.terminal import make_console, print_notices
from headway.report.terminal.printing.text import printable, printable_lines
from support.builders import causal_builder, recording_builder, sample_builder, sweep_builder
from support.builders.allocation_spool_builder import access_recording, allocation_recording
from support.builders.edited_manifest import edit
from support.builders.extreme_recordings import counted
from support.builders.hostile_recording import FILE_NAME, HOSTILE, RAW, WITHOUT_NUL, raw_in, spoil
from support.builders.line_agent import line_recording
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread
from support.builders.window_agent import window_recording
from support.drivers.recording_cli import HEADWAY, Terminal

Run = Callable[..., tuple[int, str, str]]
SOURCE = Path(headway.__file__).parent


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recordings of every kind, each with hostile texts; in `anything` even words of fixed sets are."""
    place = tmp_path_factory.mktemp("hostile")
    switches = recording_builder.make(place / "s.headway", recording_builder.Shape(threads=9, slices=400))
    stack = (*LOCK_FRAMES, ("org.example.Server", "handle"), ("java.lang.Thread", "run"))
    waits = [Wait(0, 0, 100, 400, owner=2, waker=2, stack=0), Wait(1, 0, 150, 500, owner=2, waker=0, stack=0)]
    states = [("R", 100), ("B", 300), ("R", 500)]
    threads = [FakeThread(states=states), FakeThread(states=states), FakeThread(states=[("R", 900)])]
    locks = LockRecording(threads, waits, [LockHold(0, 2, 50, 400), LockHold(0, 0, 400, 500)], 1000, stacks=[stack])
    taken: list[sample_builder.Sample] = [(0, 10 * n, 10, ("App.main", "App.work")) for n in range(9)]
    samples = sample_builder.write(place / "p.headway", threads, 1000, {"cpu": taken})
    causal = causal_builder.write(
        place / "c.headway", causal_builder.data_of(causal_builder.CausalModel({"half": causal_builder.serial(0.5)}))
    )
    made = {"switches": switches, "locks": locks.write(place / "l.headway"), "samples": samples, "causal": causal}
    made |= {
        "accesses": access_recording(place / "a.headway", with_owners=True),
        "lines": line_recording(place / "lines"),
    }
    made |= {"windows": window_recording(place / "w")}
    made |= {"objects": allocation_recording(place / "o.headway"), "counted": counted(place / "n.headway")}
    spoiled = {name: spoil(path, place / f"{FILE_NAME}{name}.headway") for name, path in made.items()}
    edit(
        spoiled["counted"],
        counters=json.loads((spoiled["counted"] / "manifest.json").read_text())["counters"] | {"step": "CPI"},
    )
    return spoiled | {"anything": spoil(switches, place / f"{FILE_NAME}any.headway", everything=True)}


def flags_of(command: click.Command) -> list[list[str]]:
    """Return the ways to ask for a command's whole answer: as it is, as JSON, and with whatever shows more."""
    names = {option for each in command.params for option in each.opts}
    ways: list[list[str]] = [[], ["--json"] if "--json" in names else []]
    ways += [[each] for each in ("--all", "--tree", "--matrix") if each in names]
    return [way for n, way in enumerate(ways) if way or not n]


def command_lines(name: str, recording: Path, place: Path) -> list[list[str]]:
    """Return what to call a command with. A new command is called with the recording, or has to be added here."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    texts = (
        "SELECT * FROM thread", 'SELECT 1 AS "\x1b]0;x\x07"', f"SELEC '{WITHOUT_NUL}'", "FROM frame", "FROM blocker",
        "SELECT name FROM thread LIMIT 1", f"SELECT nothing FROM \"{WITHOUT_NUL}\"",
    )  # fmt: skip
    others: dict[str, list[list[str]]] = {
        "record": [["record", "-o", f"{place}/{FILE_NAME}.headway", "--", f"no-such-{WITHOUT_NUL}"],
                   ["record", "-o", "x", "--cpus", WITHOUT_NUL, "--", "true"], ["record", f"--{WITHOUT_NUL}"]],
        "run": [["run", "-o", f"{place}/{FILE_NAME}.headway", "--", f"no-such-{WITHOUT_NUL}"]],
        "import": [["import", f"{place}/{FILE_NAME}.collapsed", "-o", f"{place}/{FILE_NAME}-{len(recording.name)}.headway"],
                   ["import", f"{place}/{FILE_NAME}", "-o", f"{place}/x.headway"],
                   ["import", f"{place}/{FILE_NAME}.csv", "-o", f"{place}/x.headway"]],
        "recover": [["recover", str(recording)], ["recover", f"{place}/{FILE_NAME}"]],
        "sweep": [["sweep", "--parallel", WITHOUT_NUL, "--threads", "1", "-o", f"{place}/{FILE_NAME}.sweep"],
                  ["sweep", "--resume", str(recording)], ["sweep", "--threads", WITHOUT_NUL]],
        "causal": [["causal", str(recording)], ["causal", str(recording), "--json"],
                   ["causal", str(recording), "--line", WITHOUT_NUL], ["causal", "--progress", WITHOUT_NUL, "--", "true"]],
        "dump": [["dump", "--pid", "1", "-o", f"{place}/{FILE_NAME}"]],
        "doctor": [["doctor"], ["doctor", "--json"]],
        "explain": [["explain"], ["explain", WITHOUT_NUL]],
        "query": [["query", str(recording), text, *more] for text in texts for more in ([], ["--json"])],
        "export": [["export", str(recording), "--format", form, "--force", "-o", f"{place}/{FILE_NAME}.{form}"]
                   for form in ("perfetto", "csv", "collapsed", "pprof", "speedscope", "coz")],
        "report": [["report", str(recording), "--force", "-o", f"{place}/{FILE_NAME}.html"]],
        "flame": [["flame", str(recording), "--force", "-o", f"{place}/{FILE_NAME}.html"],
                  ["flame", str(recording), "--event", WITHOUT_NUL], ["flame", f"{recording}{FILE_NAME}"]],
        "speedups": [["speedups", str(recording)]],
        "whatif": [["whatif", f"{recording}{FILE_NAME}"],
                   *[["whatif", str(recording), *more]
                     for more in ([], ["--json"], ["--pool", f"{WITHOUT_NUL}=2"], ["--queue", f"{WITHOUT_NUL}=2"],
                                 ["--balanced", WITHOUT_NUL], [f"--{WITHOUT_NUL}"])]],
        "numa": [["numa", "--table", f"{place}/{FILE_NAME}{of}", *more] for of in ("", ".csv", ".collapsed")
                 for more in ([], ["--json"], ["--program", WITHOUT_NUL])]
        + [["numa", str(recording), *more] for more in ([], ["--json"], [f"{recording}{FILE_NAME}"], [str(recording)])],
        "place": [["place", "--simulate", f"{place}/{FILE_NAME}.csv"], ["place", "--simulate", WITHOUT_NUL],
                  ["place", "--pid", str(os.getppid()), "--nodes", "0/1", "--dry-run", "--progress-file", f"/{FILE_NAME}"]],
    }  # fmt: skip
    if name in others:
        return others[name]
    assert any(
        isinstance(each, click.Argument) and each.name in ("recording_path", "path") for each in command.params
    ), name
    lines = [[name, str(recording), *flags] for flags in flags_of(command)]
    if name == "memory":
        lines += [[name, str(recording), other] for other in (f"{recording}{FILE_NAME}", str(recording))]
    return [*lines, [name, f"{recording}{FILE_NAME}"], [name, str(recording), f"--{WITHOUT_NUL}"]]


OF_KIND = {
    "locks": ("locks", "why", "flame", "query"),
    "samples": ("top", "flame", "export"),
    "causal": ("causal", "report", "export", "query"),
    "objects": ("objects", "memory"),
    "accesses": ("objects", "report"),
    "lines": ("objects",),
    "windows": ("objects", "export", "report"),
    "counted": ("counters",),
    "anything": ("why", "parallelism", "threads", "walltime", "whatif", "critical-path", "recover"),
}
"""Commands that show what a recording of switches lacks, or that read words of fixed sets."""


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder of files to import whose names and contents are hostile."""
    (tmp_path / f"{FILE_NAME}.collapsed").write_text(f"a;{printable_lines(HOSTILE)};b\x1b[31m 5\n")
    (tmp_path / f"{FILE_NAME}.csv").write_text(f"threads,program,{WITHOUT_NUL}\n1,{WITHOUT_NUL},2\n")
    (tmp_path / FILE_NAME).write_text(HOSTILE)
    return tmp_path


@pytest.mark.parametrize(
    "kind", ["switches", "locks", "samples", "causal", "objects", "accesses", "lines", "windows", "counted", "anything"]
)
def test_no_command_prints_what_a_recording_holds_raw(
    run: Run, recordings: dict[str, Path], inputs: Path, kind: str, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(inputs)
    names = cli.list_commands(click.Context(cli))  # with a recording of switches all of them, in every way
    few = OF_KIND.get(kind, names)
    shown = refused = 0
    for name in [each for each in names if each in few]:
        for line in command_lines(name, recordings[kind], inputs):
            try:
                code, stdout, stderr = run(*line)
            except Exception as error:
                # What a command does not expect ends as Python's own traceback, which main() prints.
                out.show_traceback(type(error), error, error.__traceback__)
                code, stdout, stderr = 1, *capfd.readouterr()
            assert raw_in(stdout) == raw_in(stderr) == set(), (line, code)
            if "--json" in line and code == 0:
                assert stdout.isascii(), line
                json.loads(stdout)
            shown += "\\x1b]52" in stdout or "\\u001b]52" in stdout
            refused += "HW323" in stderr
    # It was there to be printed, and was; or, where a word of a fixed set was spoiled, it is what refused tables hold.
    # Tables of objects shorten names to the terminal's width: there it is whole in JSON alone.
    assert (refused if kind == "anything" else shown) > (
        0 if kind in ("objects", "accesses", "lines", "windows") else 2
    )
    assert (refused == 0) == (kind != "anything")


def test_a_sweep_of_somebody_elses_prints_nothing_raw(run: Run, tmp_path: Path) -> None:
    sweep = sweep_builder.make(tmp_path / f"{FILE_NAME}.sweep", threads=(1, 2), repeat=1)
    file = sweep.path / "sweep.json"
    data = json.loads(file.read_text())
    data |= {
        "sequential": HOSTILE,
        "parallel": HOSTILE,
        "cwd": HOSTILE,
        "regions": [{"name": HOSTILE, "pattern": "App"}],
    }
    data["notices"] = [{"id": "HW086", "message": HOSTILE, "remedy": HOSTILE}]
    data["runs"][0]["reason"] = HOSTILE
    file.write_text(json.dumps(data))
    for line in (["speedups", sweep.path], ["speedups", sweep.path, "--json"], ["sweep", "--resume", sweep.path],
                 ["report", sweep.path, "-o", tmp_path / f"{FILE_NAME}.html"], ["parallelism", sweep.path]):  # fmt: skip
        _, stdout, stderr = run(*line)
        assert raw_in(stdout) == raw_in(stderr) == set(), line


def test_the_locks_of_a_running_jvm_are_printed_plainly(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = ((HOSTILE, HOSTILE, 7),)
    sums = LockSums(*([10**9] * len(LockSums.__dataclass_fields__)))
    lock = LiveLock(1, "park", HOSTILE, 0x10, 3, HOSTILE, frames, False, 0, sums, 1, 10**6, False)
    table = SimpleNamespace(read=lambda: LiveTable(1, 0, 2 * 10**9, (lock,), 0, 0, 0, 0))

    @contextlib.contextmanager
    def events_of(pid: int, *_: object) -> Iterator[tuple[Any, bool]]:
        yield table, False

    monkeypatch.setattr(live_locks, "live_locks", events_of)
    monkeypatch.setattr("headway.cli.live.process_descriptor", lambda pid: contextlib.nullcontext(None))
    texts = [run("locks", "--pid", 1, *more) for more in ([], ["--all"], ["--json"])]
    texts += [run("dump", "--pid", 1, "-o", "-", *more) for more in ([], ["--json"])]
    for code, stdout, stderr in texts:
        assert code == 0
        assert "=cmd" in stdout
        assert raw_in(stdout) == raw_in(stderr) == set()
    for name in ("locks.txt", "locks.json"):
        run("dump", "--pid", 1, "-o", tmp_path / name, *(["--json"] if name.endswith("json") else []))
        assert raw_in((tmp_path / name).read_text()) == set()


def test_messages_are_printed_plainly_and_no_line_of_one_passes_for_another(capfd: pytest.CaptureFixture[str]) -> None:
    from headway.cli import main, recording

    for row in MESSAGES.values():
        notice = Notice(row.id, f"{HOSTILE}{row.text}", f"{HOSTILE}{row.remedy}")
        error = HeadwayError("HW301", path="x", reason="y")
        error.notice = notice
        main._report(error)
        recording.say(notice)
        recording.tell(HOSTILE)
        print_notices(make_console(sys.stderr), [notice])
        stdout, stderr = capfd.readouterr()
        assert (stdout, raw_in(stderr)) == ("", set())


def test_an_error_nobody_expected_is_printed_plainly(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError(HOSTILE) from KeyError(HOSTILE)
    except ValueError as error:
        out.show_traceback(type(error), error, error.__traceback__)
    _, stderr = capfd.readouterr()
    assert "ValueError" in stderr
    assert "\\x1b]52" in stderr
    assert set(RAW) & set(stderr) == set()


def test_a_process_that_fails_unexpectedly_prints_its_traceback_plainly() -> None:
    import subprocess

    code = (
        "import sys, headway.cli.main as m\nm.invoke = lambda: (_ for _ in ()).throw(ValueError('\\x1b[31m'))\nm.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, "\x1b" in done.stderr) == (1, "", False)
    assert done.stderr.endswith("ValueError: \\x1b[31m\n")


@pytest.mark.parametrize("words", [["query", "REC", "FROM thread", "--csv"], ["export", "REC", "--format", "csv",
                                   "--table", "thread", "-o", "-"]])  # fmt: skip
def test_csv_that_goes_to_a_terminal_is_printed_plainly(recordings: dict[str, Path], words: list[str]) -> None:
    recording = str(recordings["switches"])
    terminal = Terminal([*HEADWAY, *(recording if word == "REC" else word for word in words)])
    assert terminal.wait() == 0
    text = terminal.output.decode()
    assert "\\x1b]52" in text
    assert set(RAW) & set(text) <= {"\r"}  # the terminal's own line ends


def test_text_is_spelled_out_character_by_character() -> None:
    assert printable("a\tb\nc\x1b\u202e\U000e0041é漢 ") == "a\\x09b\\x0ac\\x1b\\u202e\\U000e0041é漢 "
    assert printable_lines("a\nb\r\n\x9b") == "a\nb\\x0d\n\\x9b"
    assert set(printable(RAW)) & set(RAW) == set()


# --- nothing else writes ---------------------------------------------------------------------------------------------

WRITERS = {"cli/out.py", "report/output.py"}
"""The modules that may write to a standard stream."""
STREAMS = {
    "cli/main.py",
    "cli/query.py",
    "cli/recording.py",
    "cli/sweep.py",
    "cli/causal_listener.py",
    "cli/run.py",
    "cli/live_counters.py",
    "cli/live_locks.py",
    "model/interruptible.py",
}
"""Those that name one: to ask whether it is a terminal, to flush it, to make a console of it, or to write CSV."""


def test_nothing_in_headway_writes_to_a_standard_stream_but_one_module() -> None:
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        text = path.read_text()
        if not any(word in text for word in ("echo", "print(", "std", "Console(")):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call | ast.Attribute):
                continue
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            place = f"{name}:{getattr(node, 'lineno', 0)}"
            if name not in WRITERS:
                assert called not in ("click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"), (
                    place
                )
                assert called != "rich.print", place
            if called == "Console":
                raise AssertionError(f"{place}: make_console makes consoles")
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr"):
                assert name in WRITERS | STREAMS, place


# --- spreadsheets ----------------------------------------------------------------------------------------------------


def formulas(text: str, texts: set[str]) -> list[str]:
    """Return the cells of text columns that a spreadsheet would take for a formula."""
    rows = list(csv.reader(io.StringIO(text)))
    return [cell for row in rows[1:] for name, cell in zip(rows[0], row, strict=True) if name in texts and cell[:1] in
            tuple(FORMULA)]  # fmt: skip


def test_no_cell_of_a_table_is_a_formula(run: Run, recordings: dict[str, Path], tmp_path: Path) -> None:
    recording = recordings["switches"]
    words = ("export", recording, "--format", "csv", "--table", "thread", "-o")
    assert run(*words, tmp_path / "safe.csv")[0] == run(*words, tmp_path / "raw.csv", "--raw-text")[0] == 0
    texts = {"name", "comm", "kind"}
    safe, raw = ((tmp_path / name).open(newline="").read() for name in ("safe.csv", "raw.csv"))
    assert formulas(safe, texts) == []
    assert len(formulas(raw, texts)) == 18  # nine threads, two names each
    rows = [list(csv.reader(io.StringIO(text))) for text in (safe, raw)]
    assert [[cell.removeprefix("'") for cell in row] for row in rows[0]] == rows[1]


def test_no_cell_of_a_query_is_a_formula_and_numbers_stay(run: Run, recordings: dict[str, Path]) -> None:
    recording = recordings["locks"]
    cells = ", ".join(f"'{begin}1+1' AS \"{begin}c{n}\"" for n, begin in enumerate("=+-@"))
    sql = f"SELECT {cells}, chr(9) || '=1' AS t, -5 AS n, NULL AS e, 'a=b' AS s, '' AS z"
    safe = list(csv.reader(io.StringIO(run("query", recording, sql, "--csv")[1])))
    assert safe == [["'=c0", "'+c1", "'-c2", "'@c3", "t", "n", "e", "s", "z"],
                    ["'=1+1", "'+1+1", "'-1+1", "'@1+1", "'\t=1", "-5", "", "a=b", ""]]  # fmt: skip
    raw = list(csv.reader(io.StringIO(run("query", recording, sql, "--csv", "--raw-text")[1])))
    assert raw[1] == ["=1+1", "+1+1", "-1+1", "@1+1", "\t=1", "-5", "", "a=b", ""]


def test_no_cell_of_any_exported_table_is_a_formula(run: Run, recordings: dict[str, Path], tmp_path: Path) -> None:
    from headway.store import TABLES

    assert run("export", recordings["locks"], "--format", "csv", "--table", "all", "-o", tmp_path / "all.zip")[0] == 0
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        names = archive.namelist()
        for name in names:
            columns = TABLES[name.removesuffix(".csv")].columns
            text = archive.read(name).decode(errors="surrogateescape")
            assert formulas(text, {column.name for column in columns if column.type == "VARCHAR"}) == [], name
    assert {"thread.csv", "frame.csv", "blocker.csv"} <= set(names)


@pytest.mark.parametrize("words", [["query", "x.headway", "FROM thread", "--raw-text"],
                                   ["export", "x.headway", "--format", "coz", "--raw-text"]])  # fmt: skip
def test_raw_text_without_csv_is_wrong_usage(run: Run, words: list[str]) -> None:
    code, _, err = run(*words)
    assert code == 2
    assert "--raw-text goes with" in err


# --- other formats ---------------------------------------------------------------------------------------------------


def test_exports_of_hostile_names_are_what_their_format_wants(
    run: Run, recordings: dict[str, Path], tmp_path: Path
) -> None:
    def export(form: str, kind: str = "samples") -> bytes:
        path = tmp_path / form
        assert run("export", recordings[kind], "--format", form, "-o", path)[0] == 0
        return path.read_bytes()

    lines = export("collapsed").decode().splitlines()
    assert lines
    for line in lines:
        stack, _, weight = line.rpartition(" ")
        assert weight.isdigit()
        assert len(stack.split(";")) == 2  # App.main and App.work: no name ends a frame, or a line
    profile = json.loads(export("speedscope"))
    assert any("evil" in frame["name"] for frame in profile["shared"]["frames"])
    for line in export("coz", "causal").decode().splitlines():
        assert line.split("\t")[0] in (
            "startup",
            "runtime",
            "experiment",
            "throughput-point",
            "samples",
            "latency-point",
            "shutdown",
        )
