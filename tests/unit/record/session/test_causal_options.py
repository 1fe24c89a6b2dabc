"""What `headway causal` is asked: progress points, pairs, scopes, targets; refused with reasons; as the agent takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from headway.errors import HeadwayError
from headway.record.finalise.finalise import finalise
from headway.record.request.causal_spec import (
    CausalOptions,
    Latency,
    Point,
    parse_latency,
    parse_point,
    parse_scope,
    parse_target,
)
from headway.record.request.jvm_options import agent_options
from headway.record.series.causal_runs import _end_to_end
from headway.record.session.causal_dir import CausalPlace
from headway.record.session.plan import Plan
from support.builders import causal_notes_builder as notes_builder

Run = Callable[..., tuple[int, str, str]]
WORK = Point("work", "com.acme.Work.unit")


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("com.acme.Server.handle", Point("com.acme.Server.handle", "com.acme.Server.handle")),
        ("Orders=com.acme.Order:42", Point("Orders", "com.acme.Order:42")),
        ("App$Inner.<init>", Point("App$Inner.<init>", "App$Inner.<init>")),
        ("a=App.lambda$main$0(ILjava/lang/String;[J)V", Point("a", "App.lambda$main$0(ILjava/lang/String;[J)V")),
        ("größe=de.Größe.miß", Point("größe", "de.Größe.miß")),
        ("orders", Point("orders", "")),
    ],
)
def test_progress_points_are_methods_lines_and_names(text: str, point: Point) -> None:
    assert parse_point(text) == point


@pytest.mark.parametrize(
    "text", ["", "=", "a=", "a=b", "com.acme.Order:0", "com.acme.Order:x", "a b.c", "a..b", ".a", "a.b;c=1"]
)
def test_what_is_no_progress_point_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no progress point: write com\.acme"):
        parse_point(text)


def test_latency_pairs_scopes_and_targets_are_read() -> None:
    assert parse_latency("a.B.begin,a.B:7") == Latency("a.B.begin,a.B:7", "a.B.begin", "a.B:7")
    assert parse_latency("req=a.B.begin, a.B.end") == Latency("req", "a.B.begin", "a.B.end")
    assert parse_scope("com.acme.*") == "com.acme.*"
    assert [parse_target(each) for each in ("line:a.B:42", "method:a.B.c", "gc")] == [
        "line=a.B:42",
        "method=a.B.c",
        "gc",
    ]


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_latency, "a.B.begin"),
        (parse_latency, "a.B.begin,"),
        (parse_latency, "a.B.begin,b"),
        (parse_scope, ""),
        (parse_scope, "com/acme"),
        (parse_target, "a.B:42"),
        (parse_target, "line:a.B.c"),
        (parse_target, "method:a.B:1"),
        (parse_target, "gc:1"),
        (parse_target, "lock"),
    ],
)
def test_what_is_none_of_them_is_refused(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (pair|pattern|target)"):
        parse(text)


def pairs(spec: str) -> list[tuple[str, str]]:
    """Return a SPEC as the agent reads it."""
    split = [part.partition(":") for part in spec.split(";")]
    return [(key, unquote(value)) for key, _, value in split]


def test_the_agent_is_told_what_was_asked() -> None:
    options = CausalOptions(
        progress=(WORK, Point("api", ""), Point("a;b,c", "a.B:7")),
        latency=(Latency("req", "a.B.begin", "a.B.end"),),
        scope=("com.acme.*", "org.*"),
        target="line=a.B:42",
        period_us=2000,
        warmup_ms=500,
    )
    assert pairs(options.spec) == [
        ("progress", "work=com.acme.Work.unit"),
        ("progress", "a;b,c=a.B:7"),
        ("latency", "req=a.B.begin,a.B.end"),
        ("scope", "com.acme.*"),
        ("scope", "org.*"),
        ("target", "line=a.B:42"),
        ("period_us", "2000"),
        ("warmup_ms", "500"),
    ]
    whole = agent_options(Path("/tmp/s"), causal=options.spec)
    found = re.fullmatch(r"spool=/tmp/s,causal=([^,\s'\"]*)", whole)
    assert found is not None
    assert unquote(found[1]) == options.spec
    assert agent_options(Path("/tmp/s"), causal="") == "spool=/tmp/s,causal="
    assert "causal" not in agent_options(Path("/tmp/s"))


def test_a_point_of_the_api_alone_leaves_something_to_ask_of_the_agent_to_which_nothing_means_no_experiments() -> None:
    assert pairs(CausalOptions(progress=(parse_point("orders"),)).spec) == [("warmup_ms", "0")]


def test_suggesting_and_end_to_end_runs_are_told_so() -> None:
    assert pairs(CausalOptions(mode="suggest").spec) == [("suggest", "1")]
    assert pairs(CausalOptions(mode="end-to-end", speedup_pct=0).spec) == [("speedup", "0")]


def test_end_to_end_runs_alternate_between_the_program_as_it_is_and_a_faster_target(tmp_path: Path) -> None:
    options = CausalOptions(mode="end-to-end", targets=("gc", "lock=a.B"), repeat=10)
    runs = list(_end_to_end(Plan(tmp_path / "a.headway", ("x",)), options))
    assert [(each.target, each.speedup_pct) for each in runs] == [
        ("gc", 0), ("gc", 100), ("lock=a.B", 0), ("lock=a.B", 100), ("gc", 0), ("gc", 50), ("lock=a.B", 0), ("lock=a.B", 50),
        ("gc", 0), ("gc", 75),
    ]  # fmt: skip


def test_end_to_end_without_targets_the_first_run_takes_samples_and_its_lines_are_tried(tmp_path: Path) -> None:
    directory = tmp_path / "a.headway"
    runs = _end_to_end(Plan(directory, ("x",)), CausalOptions(mode="end-to-end", repeat=9))
    first = next(runs)
    assert (first.target, first.speedup_pct) == ("", 0)
    notes_builder.recording(directory, {77: notes_builder.text(notes_builder.a_run())})
    finalise(directory)
    assert [(each.target, each.speedup_pct) for each in runs] == [
        ("line=com.acme.Work:42", 0), ("line=com.acme.Work:42", 100), ("line=com.acme.Work:43", 0),
        ("line=com.acme.Work:43", 100), ("line=com.acme.Work:42", 0), ("line=com.acme.Work:42", 50),
        ("line=com.acme.Work:43", 0), ("line=com.acme.Work:43", 50),
    ]  # fmt: skip


def test_end_to_end_without_a_sample_there_is_no_line_to_try(tmp_path: Path) -> None:
    runs = _end_to_end(Plan(tmp_path / "a.headway", ("x",)), CausalOptions(mode="end-to-end", repeat=9))
    next(runs)
    with pytest.raises(HeadwayError, match="HW614"):
        next(runs)


# --- a recording that is there already -------------------------------------------------------------------------------


def there(tmp_path: Path) -> Path:
    directory = notes_builder.recording(tmp_path / "a.headway", {77: notes_builder.text(notes_builder.a_run())})
    finalise(directory)
    return directory


def test_a_place_that_is_not_kept_leaves_an_earlier_recording_as_it_was(tmp_path: Path) -> None:
    directory = there(tmp_path)
    before = (directory / "manifest.json").read_text()
    with CausalPlace(directory, False, CausalOptions(progress=(WORK,)), ["java", "Work"]) as place:
        assert place.inherited["causal_run"] == 1
        (directory / "manifest.json").write_text("{}")
    assert json.loads((directory / "manifest.json").read_text()) == json.loads(before)
    assert not (directory / "spool").exists()


@pytest.mark.parametrize(
    ("options", "command", "word"),
    [
        (CausalOptions(progress=(WORK,)), ["java", "Other"], "another command"),
        (CausalOptions(progress=(Point("work", "a.B.c"),)), ["java", "Work"], "other progress points"),
        (CausalOptions(progress=(WORK,), scope=("a.*",)), ["java", "Work"], "other scope"),
        (CausalOptions(mode="suggest", progress=(WORK,)), ["java", "Work"], "other --suggest"),
        (CausalOptions(mode="end-to-end", progress=(WORK,)), ["java", "Work"], "other --end-to-end"),
    ],
)
def test_runs_of_something_else_are_not_added(
    tmp_path: Path, options: CausalOptions, command: list[str], word: str
) -> None:
    directory = there(tmp_path)
    with pytest.raises(HeadwayError, match=f"HW610.*{word}"), CausalPlace(directory, False, options, command):
        pass
    with CausalPlace(directory, True, options, command) as place:
        place.keep()
    assert [path.name for path in directory.iterdir()] == ["spool"]


def test_a_recording_whose_recorder_died_is_to_be_recovered_first(tmp_path: Path) -> None:
    directory = notes_builder.recording(tmp_path / "a.headway", {77: notes_builder.text(notes_builder.a_run())})
    options = CausalOptions(progress=(WORK,))
    with pytest.raises(HeadwayError, match="HW304"), CausalPlace(directory, False, options, ["java", "Work"]):
        pass
    assert (directory / "spool" / "causal-77.jsonl").exists()


# --- the command line -------------------------------------------------------------------------------------------------


def test_without_a_progress_point_suggest_is_shown_and_the_exit_code_is_that_of_wrong_usage(run: Run) -> None:
    code, out, err = run("causal", "--", "true")
    assert (code, out) == (2, "")
    assert "HW600" in err
    assert "headway causal --suggest -- CMD" in err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--progress", "x y", "--", "true"], "is no progress point"),
        (["--suggest", "--end-to-end", "--", "true"], "not both"),
        (["--end-to-end", "--time", "3s", "--", "true"], "--time"),
        (["--end-to-end", "--repeat", "1", "--", "true"], "--repeat 2"),
        (["--progress", "a.B.c", "--time", "0s", "--", "true"], "above zero"),
        (["--progress", "a.B.c", "--target", "lock:a.B:0", "--", "true"], "lock:com.acme.Store"),
        (["--progress", "a.B.c", "--period", "1%", "--", "true"], "--period"),
        (["--progress", "a.B.c"], "give a command"),
        (["--progress", "a.B.c", "--pid", "1", "--", "true"], "give a command"),
        (["--progress", "a.B.c", "--pid", "1", "--repeat", "3"], "not for --pid"),
        (["--progress", "a.B.c", "x.headway"], "--progress makes a recording"),
    ],
)
def test_a_combination_that_makes_no_sense_is_wrong_usage(run: Run, words: list[str], reason: str) -> None:
    code, _, err = run("causal", *words)
    assert code == 2
    assert reason in err


@pytest.mark.parametrize(
    "command", ["why", "parallelism", "threads", "locks", "top", "flame", "critical-path", "walltime"]
)
def test_other_commands_say_what_a_causal_recording_is_for(run: Run, tmp_path: Path, command: str) -> None:
    words = ["--cores", "2"] if command == "walltime" else []
    code, _, err = run(command, there(tmp_path), *words)
    assert code == 1
    assert f"HW601: {tmp_path / 'a.headway'} is a causal recording: headway {command}" in err


def test_queries_see_the_tables_of_a_causal_recording(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("query", there(tmp_path), "SELECT count(*) AS n FROM experiment", "--json")
    assert (code, json.loads(out)) == (0, [{"n": 5}])


def test_a_causal_recording_is_recovered_by_the_command(run: Run, tmp_path: Path) -> None:
    directory = notes_builder.recording(
        tmp_path / "a.headway", {77: notes_builder.text(notes_builder.a_run())}, ended_by="recorder-died"
    )
    code, _, err = run("recover", directory)
    assert code == 0
    assert f"next: headway causal {directory}" in err


def test_another_recording_or_none_is_refused(run: Run, tmp_path: Path) -> None:
    directory = notes_builder.recording(tmp_path / "a.headway", {}, kind="", state="complete", tables={})
    assert "HW635" in run("causal", directory)[2]
    assert "HW301" in run("causal", tmp_path / "none.headway")[2]


def suggested(tmp_path: Path, stacks: dict[str, int] | None = None, **candidates: tuple[int, ...]) -> Path:
    """Return a recording of 4 s made with --suggest; `candidates`: cumulative calls after each second, by method.

    `stacks`: on how many of 100 stacks each method is, its frames in scope further out being as many as those before it.
    """
    notes: list[dict[str, Any]] = [notes_builder.begin(mode="suggest")]
    for number, name in enumerate(candidates):
        notes.append(notes_builder.point(number, f"a.B.{name}", f"a.B.{name}", kind="candidate"))
        notes += [notes_builder.hits(1 + at, count, number) for at, count in enumerate(candidates[name])]
    if stacks is not None:
        rows = [["a.B", name, count, at * count] for at, (name, count) in enumerate(stacks.items())]
        notes.append(notes_builder.note("callers", 4, samples=100, methods=rows))
    notes.append(notes_builder.note("end", 4))
    directory = notes_builder.recording(
        tmp_path / "s.headway", {77: notes_builder.text(notes)}, causal={"mode": "suggest", "scope": [], "progress": []}
    )
    finalise(directory)
    return directory


def test_suggestions_are_steady_methods_first_with_the_line_to_paste(run: Run, tmp_path: Path) -> None:
    directory = suggested(
        tmp_path,
        rare=(0, 0, 1, 1),
        steady=(100, 200, 300, 400),
        bursts=(10, 400, 410, 900),
        hot=(10**7, 2 * 10**7, 3 * 10**7, 4 * 10**7),
    )
    code, out, _ = run("causal", directory, "--json")
    assert code == 0
    found = json.loads(out)["suggestions"]
    assert [each["where"] for each in found] == ["a.B.steady", "a.B.bursts", "a.B.rare"]
    assert found[0] == {
        "where": "a.B.steady",
        "hits": 400,
        "hits_per_s": 100.0,
        "variation": 0.0,
        "on_stacks_pct": None,
        "option": "--progress 'a.B.steady'",
    }
    code, out, _ = run("causal", directory)
    assert code == 0
    assert "next: headway causal --progress 'a.B.steady'" in out


def test_of_methods_as_steady_as_each_other_the_rarer_one_is_first_since_it_calls_the_others(
    run: Run, tmp_path: Path
) -> None:
    directory = suggested(tmp_path, inner=(5000, 10000, 15000, 20000), unit=(50, 100, 150, 200))
    found = json.loads(run("causal", directory, "--json")[1])["suggestions"]
    assert [each["where"] for each in found] == ["a.B.unit", "a.B.inner"]


def test_methods_that_are_called_as_often_as_the_first_are_said_to_count_the_same(run: Run, tmp_path: Path) -> None:
    units = {"handle": (50, 100, 150, 200), "parse": (50, 100, 150, 201), "part": (100, 200, 300, 400)}
    out = run("causal", suggested(tmp_path / "same", None, **units))[1]
    assert "Called as often as a.B.handle: a.B.parse. Each of them counts the same units; one is enough." in out
    other = run("causal", suggested(tmp_path / "other", unit=(50, 100, 150, 200), more=(50, 101, 152, 210)))[1]
    few = run("causal", suggested(tmp_path / "few", one=(5, 10, 15, 20), same=(5, 10, 15, 20)))[1]
    assert "as often as" not in other + few


def test_what_was_not_called_in_the_last_third_is_not_suggested(run: Run, tmp_path: Path) -> None:
    directory = suggested(tmp_path, start=(100, 200, 200, 200), work=(0, 900, 1800, 3000))
    found = json.loads(run("causal", directory, "--json")[1])["suggestions"]
    assert [each["where"] for each in found] == ["a.B.work"]


def test_work_of_most_of_a_run_is_suggested_though_the_run_ends_otherwise(run: Run, tmp_path: Path) -> None:
    calls = {"add": (100, 200, 200, 200), "merge": (0, 0, 900, 2000)}
    few = suggested(tmp_path / "few", {"add": 10, "merge": 60}, **calls)
    assert [each["where"] for each in json.loads(run("causal", few, "--json")[1])["suggestions"]] == ["a.B.merge"]
    most = suggested(tmp_path / "most", {"add": 55, "merge": 40}, **calls)
    found = json.loads(run("causal", most, "--json")[1])["suggestions"]
    assert [(each["where"], each["on_stacks_pct"]) for each in found] == [("a.B.add", 55.0), ("a.B.merge", 40.0)]


def test_it_is_said_when_none_is_steady(run: Run, tmp_path: Path) -> None:
    bursts = suggested(tmp_path / "bursts", bursts=(10, 400, 410, 900))  # 390, 10, 490 a second: 297 +- 207
    assert "None is steady: the first varies by 70 % from second to second" in run("causal", bursts)[1]
    steady = suggested(tmp_path / "steady", steady=(100, 200, 300, 400))
    assert "None is steady" not in run("causal", steady)[1]


def test_nothing_is_recommended_after_a_run_too_short_to_tell_what_is_steady(run: Run, tmp_path: Path) -> None:
    out = run("causal", suggested(tmp_path, once=(1,)))[1]
    assert "a.B.once" in out
    assert "--progress 'a.B.once'" not in out
    assert "too short to tell" in out


def test_where_no_method_was_called_there_is_nothing_to_suggest(run: Run, tmp_path: Path) -> None:
    code, out, err = run("causal", suggested(tmp_path))
    assert (code, out) == (0, "")
    assert "HW616" in err
