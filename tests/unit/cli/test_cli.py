"""The command line as a user meets it: real processes for what only a process shows, else called in place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from headway.cli.main import COMMANDS, cli
from headway.report import registry
from support.builders import synthetic
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
WALL = 1000


def headway(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headway", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


# --- help, version, errors ---------------------------------------------------------------------------------------------


def test_help_names_every_command_and_imports_none() -> None:
    heavy = ["duckdb", "pyarrow", "numpy", "rich", "headway.store", "headway.analyses"]
    code = (
        "import sys; from headway.cli.main import invoke; code = invoke(['--help']); "
        f"print([m for m in sys.modules if m in {heavy!r}], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    for entry in COMMANDS:
        assert f"  {entry.name} " in done.stdout


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_has_help_with_examples_in_80_columns(run: Run, entry: Any) -> None:
    code, out, _ = run(entry.name, "--help")
    assert code == 0
    assert "Example" in out
    assert f"headway {entry.name}" in out
    assert max(map(len, out.splitlines())) <= 80


def test_every_command_file_is_listed() -> None:
    import headway.cli as package

    folder = Path(package.__file__).parent
    found = {path.stem for path in folder.glob("*.py") if "@click.command" in path.read_text() and path.stem != "main"}
    assert found == {entry.module.rpartition(".")[2] for entry in COMMANDS if entry.analysis is None}


def test_analyses_are_listed_as_they_call_themselves() -> None:
    for plugin in registry.own_analyses():
        analysis = registry.analysis(plugin)
        assert analysis.name == plugin.name
        assert plugin.name in {entry.name for entry in COMMANDS}
    understood = {entry.name for entry in COMMANDS if entry.section == "Understand"}
    others = {"flame", "dump", "query", "place"}  # a picture, a file, whatever is asked in SQL, and models of programs
    assert understood - others == {plugin.name for plugin in registry.own_analyses()}
    for plugin in registry.exporters():
        assert registry.exporter(plugin).name == plugin.name


def test_the_version_is_the_packages(run: Run) -> None:
    from headway import __version__

    assert run("--version") == (0, f"headway {__version__}\n", "")


def test_without_a_command_the_usage_is_shown(run: Run) -> None:
    code, out, err = run()
    assert code == 2
    assert "Usage: headway" in out + err


def test_an_unknown_command_is_wrong_usage_and_names_the_closest(run: Run) -> None:
    code, out, err = run("paralelism")
    assert (code, out) == (2, "")
    assert "'parallelism'" in err


def test_an_unknown_option_is_wrong_usage(run: Run, recording: Path) -> None:
    assert run("threads", recording, "--nonsense")[0] == 2


def test_choices_of_a_missing_option_stand_one_below_the_other(run: Run, recording: Path) -> None:
    code, _, err = run("export", recording)
    assert code == 2
    assert "    perfetto,\n    pprof,\n" in err
    assert "\\x09" not in err


def test_an_error_says_what_why_and_what_to_run_next_and_exits_1(run: Run, tmp_path: Path) -> None:
    for command in (["parallelism"], ["threads"], ["walltime", "--cores", "1"]):
        code, out, err = run(*command, tmp_path / "missing.headway")
        assert (code, out) == (1, "")
        lines = err.splitlines()
        assert lines[0].startswith("HW301: ")
        assert "missing.headway" in lines[0]
        assert lines[1].startswith("  why:  ")
        assert lines[2].startswith("  next: ")
        assert "Traceback" not in err


def test_output_that_nobody_reads_any_more_is_no_error(recording: Path) -> None:
    script = f'"{sys.executable}" -m headway query "{recording}" "SELECT range FROM range(300000)" --csv'
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script} | head -n 2"], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "range\n0\n", "")


@pytest.mark.parametrize("command", ["parallelism", "threads", "walltime --cores 2"])
def test_tables_that_nobody_reads_any_more_are_no_error(recording: Path, command: str) -> None:
    script = f'"{sys.executable}" -m headway {command} "{recording}"'
    # The reader is gone before the first word.
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; (sleep 0.2; {script}) | true"], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_output_that_is_full_is_an_error_without_a_traceback(recording: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "headway", "threads", str(recording)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


@pytest.mark.parametrize("command", [["threads"], ["query", "--csv"], ["query"]])
def test_names_that_the_locale_cannot_write_are_spelled_out(tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "a.headway"
    synthetic.write(path, [FakeThread("app", 0, [("R", 1000)], "w\u00f6rker-\u7dda\u7a0b")], 1000)
    sql = ["SELECT name FROM thread"] if command[0] == "query" else []
    words = [sys.executable, "-m", "headway", command[0], str(path), *sql, *command[1:]]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"w\xf6rker-\u7dda\u7a0b" in done.stdout


def test_a_closed_standard_output_is_no_crash(recording: Path) -> None:
    script = f'"{sys.executable}" -m headway threads "{recording}" >&-'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


# --- parallelism -------------------------------------------------------------------------------------------------------


def test_parallelism_json_has_the_promised_keys(run: Run, recording: Path) -> None:
    code, out, err = run("parallelism", recording, "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["wall_ns"] == WALL
    assert data["mode"] == "ebpf"
    assert data["max_active"] == 3
    assert data["mean_active"] == 1.6
    assert [(row["active"], row["ns"]) for row in data["levels"]] == [(0, 0), (1, 600), (2, 200), (3, 200)]
    assert sum(row["ns"] for row in data["running_levels"]) == WALL
    assert [row["running"] for row in data["running_levels"]] == [0, 1, 2, 3]
    assert set(data["by_kind"]) == {"app", "gc", "jit", "vm"}
    assert [(row["active"], row["ns"]) for row in data["by_kind"]["gc"]] == [(0, 600), (1, 400)]
    assert data["warnings"] == []


def test_warnings_in_json_carry_id_and_message(run: Run, tmp_path: Path) -> None:
    path = synthetic.write(
        tmp_path / "a.headway",
        [FakeThread("app", 0, [("R", 10)])],
        10,
        notices=[{"id": "HW100", "message": "what", "remedy": "do"}],
    )
    data = json.loads(run("parallelism", path, "--json")[1])
    assert data["warnings"] == [{"id": "HW100", "message": "what", "remedy": "do"}]


def test_kinds_are_chosen_by_name(run: Run, recording: Path) -> None:
    data = json.loads(run("parallelism", recording, "--json", "--kind", "gc,jit")[1])
    assert data["kinds"] == ["gc", "jit"]
    assert [row["ns"] for row in data["levels"]] == [600, 400]


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [
        ("100ns", "300ns", (100, 300)),
        (".0000001", "0.0000003s", (100, 300)),
        ("0.1us", "0.3 us", (100, 300)),
        ("10%", "30%", (100, 300)),
        (None, "50%", (0, 500)),
        ("50%", None, (500, 1000)),
        ("0", "100%", (0, 1000)),
    ],
)
def test_windows_are_given_in_any_unit_or_percent(
    run: Run, recording: Path, start: str | None, end: str | None, wanted: tuple[int, int]
) -> None:
    options = [*(["--from", start] if start else []), *(["--to", end] if end else [])]
    code, out, _ = run("parallelism", recording, "--json", *options)
    data = json.loads(out)
    assert code == 0
    assert (data["from_ns"], data["to_ns"], data["wall_ns"]) == (*wanted, wanted[1] - wanted[0])


@pytest.mark.parametrize(
    "options",
    [
        ["--from", "300ns", "--to", "100ns"],
        ["--from", "100ns", "--to", "100ns"],
        ["--from", "1000ns"],
        ["--from", "2s"],
        ["--to", "1001ns"],
        ["--to", "0"],
        ["--from", "-1s"],
        ["--from", "abc"],
        ["--from", ""],
        ["--from", "1h30"],
        ["--from", "nan"],
        ["--from", "1e3"],
        ["--from", "101%"],
        ["--from", "\u0663"],
        ["--kind", "gcc"],
        ["--kind", ""],
        ["--kind", "app,,gc"],
    ],
    ids=" ".join,
)
def test_nonsense_windows_and_kinds_are_wrong_usage(run: Run, recording: Path, options: list[str]) -> None:
    code, out, err = run("parallelism", recording, *options)
    assert (code, out) == (2, "")
    assert options[0] in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("asked", "length"),
    [("30s", "22.3 s"), ("22.3187s", "22.318618781 s"), ("22.4s", "22.318618781 s")],
)
def test_a_recordings_length_is_rounded_where_that_contradicts_nothing(asked: str, length: str) -> None:
    import click

    from headway.cli.options import TimeType, resolve_window

    end = TimeType().convert(asked, None, None)
    with pytest.raises(click.UsageError, match=f"^--to {asked} is outside: the recording lasts {length} "):
        resolve_window(None, end, 22_318_618_781)


# --- walltime ----------------------------------------------------------------------------------------------------------


def test_walltime_json_has_the_promised_keys(run: Run, recording: Path) -> None:
    code, out, _ = run("walltime", recording, "--cores", "1,2,4", "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["recorded_cores"], data["measured_ns"]) == (2, WALL)
    assert [each["cores"] for each in data["predictions"]] == [1, 2, 4]
    assert [each["ns"] for each in data["predictions"]] == [1400, 1000, 933]
    for each in data["predictions"]:
        assert set(each) >= {"cores", "ns", "low_ns", "high_ns", "withheld"}
    assert all(set(each) >= {"id", "message"} for each in data["warnings"])


def test_walltime_asks_for_no_numbers_of_cores(run: Run, recording: Path, tmp_path: Path) -> None:
    """Without them it is one, half, as recorded, twice and four times, of a table of levels as well."""
    data = json.loads(run("walltime", recording, "--json")[1])
    assert [each["cores"] for each in data["predictions"]] == [1, 2, 4, 8]
    (tmp_path / "x.csv").write_text("active_threads,a\n4,2\n1,1.5\n", encoding="utf-8")
    options = ["--levels", tmp_path / "x.csv", "--column", "a", "--recorded-cores", 4, "--json"]
    of_levels = json.loads(run("walltime", *options)[1])
    assert [each["cores"] for each in of_levels["predictions"]] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    "cores",
    ["0", "-1", "abc", "", ",", "1,", "1.5", "1e3", "8193", "99999999999999999999", "0x2", "\u0662", "1;2", "1 2"],
)
def test_nonsense_cores_are_wrong_usage(run: Run, recording: Path, cores: str) -> None:
    code, out, err = run("walltime", recording, f"--cores={cores}")
    assert (code, out) == (2, "")
    assert "cores" in err


def test_cores_may_be_spaced_and_repeated_and_as_many_as_linux_knows(run: Run, recording: Path) -> None:
    data = json.loads(run("walltime", recording, "--cores", "2, 1,2,8192", "--json")[1])
    assert [each["cores"] for each in data["predictions"]] == [2, 1, 8192]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--cores", "1"],
        ["REC", "--levels", "x.csv", "--cores", "1"],
        ["--levels", "x.csv", "--cores", "1"],
        ["--levels", "x.csv", "--column", "a", "--cores", "1"],
        ["--levels", "x.csv", "--column", "a", "--recorded-cores", "0", "--cores", "1"],
        ["--levels", "x.csv", "--column", "a", "--recorded-cores", "two", "--cores", "1"],
        ["REC", "--column", "a", "--cores", "1"],
        ["REC", "--recorded-cores", "1", "--cores", "1"],
    ],
    ids=" ".join,
)
def test_walltime_options_that_do_not_go_together_are_wrong_usage(
    run: Run, recording: Path, arguments: list[str]
) -> None:
    code, out, _ = run("walltime", *(recording if each == "REC" else each for each in arguments))
    assert (code, out) == (2, "")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no lines"),
        (b"active_threads,a\n", "no lines"),
        (b"active_threads,b\n0,1\n", "no column 'a', there are b"),
        (b"active_threads,a\n0,x\n", "line 2: 'x' is no number of seconds"),
        (b"active_threads,a\n0,nan\n", "line 2"),
        (b"active_threads,a\n0,-1\n", "line 2"),
        (b"active_threads,a\n0,1e400\n", "line 2"),
        (b"active_threads,a\n-1,1\n", "'-1' is no number of threads"),
        (b"active_threads,a\n99999999,1\n", "no number of threads"),
        (b"active_threads,a\n1.5,1\n", "no number of threads"),
        (b"active_threads,a\n0,1\n0,2\n", "line 3: a second line for 0"),
        (b"active_threads,a\n0,1,2\n", "3 cells"),
        (b"active_threads,a\n0,0\n1,\n", "holds no time"),
        (b"active_threads,a\n0,\xff\n", "not CSV text"),
        (b"PAR1\x00\x00", "no"),
    ],
)
def test_a_levels_file_that_cannot_be_used_is_an_error_with_its_line(
    run: Run, tmp_path: Path, content: bytes, reason: str
) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    options = ["--levels", tmp_path / "x.csv", "--column", "a", "--recorded-cores", 1, "--cores", 2]
    code, out, err = run("walltime", *options)
    assert (code, out) == (1, "")
    assert err.startswith("HW407: ")
    assert reason in err


def test_levels_may_have_gaps_any_order_and_a_byte_order_mark(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("\ufeffactive_threads,a\n4,2\n\n1,1.5\ntot,3.5\n", encoding="utf-8")
    options = ["--levels", tmp_path / "x.csv", "--column", "a", "--recorded-cores", 1, "--cores", 2, "--json"]
    data = json.loads(run("walltime", *options)[1])
    assert data["measured_ns"] == 3_500_000_000
    assert data["predictions"][0]["ns"] == 2_500_000_000
    assert [each["id"] for each in data["warnings"]] == ["HW419"]


def test_a_printed_total_that_rounding_cannot_explain_is_a_warning(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("active_threads,a\n0,1.00\n1,1.00\ntot,2.02\n")
    options = ["--levels", tmp_path / "x.csv", "--column", "a", "--recorded-cores", 1, "--cores", 2, "--json"]
    assert "HW422" in [each["id"] for each in json.loads(run("walltime", *options)[1])["warnings"]]


# --- threads, tables, output -------------------------------------------------------------------------------------------


def test_threads_json_is_a_list_with_the_promised_keys(run: Run, recording: Path) -> None:
    code, out, err = run("threads", recording, "--json")
    rows = json.loads(out)
    assert (code, err) == (0, "")
    assert [row["tid"] for row in rows] == [100, 101, 102]
    promised = [
        "pid",
        "tid",
        "name",
        "kind",
        "start_ns",
        "end_ns",
        "running_ns",
        "runnable_ns",
        "blocked_ns",
        "switches",
    ]
    assert all(set(row) >= set(promised) for row in rows)
    first = {key: rows[0][key] for key in promised}
    assert list(first.values()) == [100, 100, "main", "app", 0, None, 750, 50, 200, 2]
    assert rows[2]["name"] == "[bold]\x1b[31mred\u202e[/bold]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["parallelism", "REC"],
        ["threads", "REC"],
        ["walltime", "REC", "--cores", "1,2,8"],
        ["query", "REC", "FROM thread"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_piped_output_fits_80_columns_without_colour_or_control_characters(
    recording: Path, arguments: list[str]
) -> None:
    done = headway(*(recording if each == "REC" else each for each in arguments))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines
    assert max(map(len, lines)) <= 80
    assert all(char.isprintable() for line in lines for char in line)


def test_a_thread_name_that_holds_markup_and_escapes_is_shown_as_it_is(run: Run, recording: Path) -> None:
    out = run("threads", recording)[1]
    assert "[bold]\\x1b[31mred" in out


def test_many_threads_are_cut_off_and_it_says_so(run: Run, tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 10 + i)], f"t{i}") for i in range(50)]
    path = synthetic.write(tmp_path / "a.headway", threads, 100)
    out = run("threads", path)[1]
    assert "10 more that ran less: --all" in out
    assert len([line for line in run("threads", path, "--all")[1].splitlines() if line.startswith("t")]) == 51


# --- explain -----------------------------------------------------------------------------------------------------------


def test_explain_lists_all_messages_and_explains_each(run: Run) -> None:
    from headway.errors import MESSAGES

    code, out, _ = run("explain")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == sorted(MESSAGES)
    for written in ("hw301", "301", " 301 "):
        code, out, _ = run("explain", written)
        assert code == 0
        assert out.startswith("HW301: ")
    assert (
        run("explain", "056")[1] == run("explain", "56")[1] == run("explain", "hw56")[1] == run("explain", "HW056")[1]
    )
    code, out, _ = run("explain", "hw301")
    assert code == 0
    assert out.startswith("HW301: ")
    assert max(map(len, out.splitlines())) <= 80
    assert json.loads(run("explain", "HW301", "--json")[1])["id"] == "HW301"
    assert len(json.loads(run("explain", "--json")[1])) == len(MESSAGES)


@pytest.mark.parametrize("wanted", ["HW999", "HW3O1", "HW41", "", "nonsense"])
def test_an_unknown_message_is_an_error_that_names_the_closest(run: Run, wanted: str) -> None:
    code, out, err = run("explain", wanted)
    assert (code, out) == (1, "")
    assert err.startswith("HW405: ")
    assert "HW999" not in err.split(wanted or "HW405: ", 1)[1], "no number is said to be there that is not"
    if wanted == "HW3O1":
        assert "HW301" in err
    if wanted == "HW41":
        assert "is HW41" in err, "one that begins so, not HW001, which is as near to HW041"


@pytest.mark.parametrize("words", [("record", "--duration"), ("causal", "--time"), ("dump", "--interval")])
@pytest.mark.parametrize("value", ["abc", "25%"])
def test_a_time_that_is_not_of_a_recording_is_not_offered_as_a_part_of_one(
    run: Run, words: tuple[str, str], value: str
) -> None:
    code, _, err = run(words[0], words[1], value, "--pid", "1")
    assert code == 2
    said = " ".join(err.split())
    assert f"'{value}' is no time: write 1.5s, 200ms, 30us, 2m or 1.5 (seconds)" in said
    code, _, err = run("why", "x.headway", "--from", "abc")
    assert (code, "or 25%" in err) == (2, True)


def test_a_plain_file_is_said_to_be_no_directory(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    path.write_text("x")
    for command in ("why", "recover", "locks"):
        code, _, err = run(command, path)
        assert code == 1
        assert f"HW301: {path} is not a headway recording: it is no directory" in " ".join(err.split())


def test_the_group_is_a_click_command_for_tools_that_document_it() -> None:
    assert isinstance(cli, click.Group)
