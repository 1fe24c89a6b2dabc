"""`headway top`, `headway flame` and the exports of profiles as a user meets them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.profile.analysis import profile
from headway.analyses.stacks.types import FlatRow, Frame
from headway.report.terminal.profile import flat_table
from headway.store import open_recording
from headway.store.sweep import Sweep, SweepRegion, write_sweep
from support.builders import sample_builder, synthetic
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import FakeThread
from support.oracles.pprof_schema import Profile as Pprof

Run = Callable[..., tuple[int, str, str]]
WALL = 1000
EVIL = "[red]x\x1b]0;title\x07\u202e.run"
MAIN = ("java.lang.Thread.run", "org.example.Main.main")
CPU: list[sample_builder.Sample] = [
    (0, 100, 500, (*MAIN, "org.example.KMeans.assign")),
    (0, 200, 250, (*MAIN, "org.example.KMeans.tally", "org.example.KMeans.add")),
    (1, 300, 150, ("java.lang.Thread.run", "org.example.KMeans.assign", "memcpy")),
    (1, 800, 60, ("java.lang.Thread.run", EVIL)),
    (None, 850, 30, ("java.lang.VirtualThread.run", "org.example.Task.call")),
    (0, 900, 10, None),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    threads = [
        FakeThread("app", 0, [("R", 800), ("B", 200)], "main"),
        FakeThread("app", 0, [("R", 400), ("B", 600)], "worker-[1]"),
        FakeThread("gc", 0, [("R", 900)], "GC Thread#0"),
    ]
    return sample_builder.write(
        tmp_path_factory.mktemp("top") / "a.headway", threads, WALL, {"cpu": CPU, "alloc": CPU[:1]}
    )


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stacks = [(*LOCK_FRAMES, ("org.example.Store", "put"), ("java.lang.Thread", "run"))]
    locks = LockRecording(
        [FakeThread("app", 0, [("R", 10), ("B", 80), ("R", 10)], f"t{i}") for i in range(2)],
        [Wait(0, 0, 10, 60, owner=1, stack=0), Wait(1, 0, 20, 90, owner=0, stack=0)],
        stacks=stacks,
    )
    return locks.write(tmp_path_factory.mktemp("locks") / "b.headway")


def top(run: Run, *arguments: object) -> Any:
    code, out, err = run("top", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


# --- top ---------------------------------------------------------------------------------------------------------------


def test_top_tells_the_totals_then_the_methods_by_their_own_weight(run: Run, recording: Path) -> None:
    code, out, err = run("top", recording)
    assert (code, err) == (0, "")
    assert " ".join(out.split()).startswith(
        "* cpu: 1.00 us in 6 samples of 3 threads, most in main (76%); 1.0% of it has no stack."
    )
    rows = [
        line.split() for line in out.splitlines() if line.strip().endswith((".assign", ".add", "memcpy", "Thread.run"))
    ]
    assert rows == [
        ["500", "ns", "50%", "650", "ns", "65%", "org.example.KMeans.assign"],
        ["250", "ns", "25%", "250", "ns", "25%", "org.example.KMeans.add"],
        ["150", "ns", "15%", "150", "ns", "15%", "memcpy"],
        ["0", "ns", "0%", "960", "ns", "96%", "java.lang.Thread.run"],
        ["0", "ns", "0%", "30.0", "ns", "3.0%", "java.lang.VirtualThread.run"],
    ]


def test_top_fits_80_columns_and_holds_nothing_that_a_terminal_obeys(run: Run, recording: Path, locked: Path) -> None:
    for path, options in ((recording, ["--tree", "--all", "--lines"]), (recording, ["--tree"]), (locked, ["--tree"])):
        code, out, _ = run("top", path, *options)
        assert code == 0
        assert max(map(len, out.splitlines())) <= 80
        assert all(char.isprintable() or char == "\n" for char in out)


def test_a_name_that_is_cut_says_the_same_and_a_wide_terminal_cuts_less(recording: Path) -> None:
    """A cut at the front made "(not sampled: thread ...)" read as "sampled: thread ..."."""
    method, thread = "org.example." + "a" * 60 + ".Store.put", f"(not sampled: thread {'pool-' * 20}#)"
    rows = [FlatRow(Frame("", name), "java", 1, 2) for name in (method, thread)]
    found = profile(open_recording(recording), "cpu")
    for width, longest in ((60, 50), (80, 50), (200, 170)):
        cells = [str(cell) for cell in flat_table(rows, found, width).columns[-1].cells]
        assert max(map(len, cells)) <= longest
        assert any(cell.endswith(".Store.put") for cell in cells)
        assert any(cell.startswith("(not sampled: thread pool-") and cell.endswith(")") for cell in cells)
        assert (method in cells) == (width == 200)


def test_the_tree_is_indented_where_calls_part(run: Run, recording: Path) -> None:
    _, out, _ = run("top", recording, "--tree", "--thread", "^main$")
    lines = [line.rstrip() for line in out[out.index("Call tree") :].splitlines()[2:]]
    assert lines == [
        "  99%   0% java.lang.Thread.run",
        "  99%   0% org.example.Main.main",
        "  66%  66%  org.example.KMeans.assign",
        "  33%   0%  org.example.KMeans.tally",
        "  33%  33%  org.example.KMeans.add",
        " 1.3% 1.3% (the stack could not be walked)",
    ]


def test_json_has_the_flat_profile_and_on_request_the_tree(run: Run, recording: Path) -> None:
    found = top(run, recording, "--tree")
    assert (found["event"], found["unit"], found["total"], found["samples"]) == ("cpu", "ns", 1000, 6)
    assert found["without_stack"] == 10
    assert [(each["thread"], each["weight"]) for each in found["threads"]] == [
        ("main", 760), ("worker-[1]", 210), ("(virtual threads)", 30),
    ]  # fmt: skip
    first = found["flat"][0]
    assert (first["class_name"], first["method"], first["kind"]) == ("org.example.KMeans", "assign", "java")
    assert (first["self"], first["total"], first["self_share"], first["total_share"]) == (500, 650, 0.5, 0.65)
    nodes = found["tree"]
    roots = [node for node in nodes if node["parent"] is None]
    assert sum(node["total"] for node in roots) == sum(node["self"] for node in nodes) == found["total"]
    for node in nodes:
        below = sum(each["total"] for each in nodes if each["parent"] is not None and nodes[each["parent"]] is node)
        assert node["total"] == node["self"] + below
    assert top(run, recording)["tree"] is None


def test_events_threads_regions_lines_and_windows_narrow_it_down(run: Run, recording: Path) -> None:
    assert top(run, recording, "--event", "alloc")["unit"] == "bytes"
    assert top(run, recording, "--thread", r"worker-\[")["total"] == 210
    assert top(run, recording, "--region", r"KMeans\.(assign|tally)")["total"] == 900
    assert top(run, recording, "--region", r"kmeans=KMeans\.(assign|tally)")["total"] == 900
    assert top(run, recording, "--from", "250ns", "--to", "85%")["total"] == 210
    assert top(run, recording, "--busiest-thread")["threads"][0]["thread"] == "main"
    lines = top(run, recording, "--lines")["flat"]
    assert (lines[0]["method"], lines[0]["line"]) == ("assign", 10)
    off_cpu = top(run, recording, "--event", "off-cpu")
    assert (off_cpu["total"], off_cpu["without_stack"]) == (800, 800)


def test_samples_of_virtual_threads_on_their_carriers_are_told_with_their_share(run: Run, tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 1000)], "main"),
        FakeThread("carrier", 0, [("R", 1000)], "ForkJoinPool-1-worker-1"),
    ]
    carrier = ("java.util.concurrent.ForkJoinWorkerThread.run", "java.lang.VirtualThread.runContinuation")
    samples: list[sample_builder.Sample] = [
        (0, 100, 300, ("java.lang.Thread.run", "org.example.Main.main")),
        (1, 200, 100, ("java.lang.VirtualThread.run", "org.example.Task.call")),
        # After a wait: what called is in the heap. The stub's name in JDK 25, and before.
        (1, 210, 250, ("cont_returnBarrier", "org.example.Task.call")),
        (1, 220, 150, ("Cont thaw return barrier", "org.example.Task.call")),
        (1, 300, 200, carrier),
        (1, 400, 0, None),
    ]
    path = sample_builder.write(tmp_path / "a.headway", threads, WALL, {"cpu": samples, "alloc": samples[4:5]})

    def notices_of(*options: object) -> list[str]:
        return [each["message"] for each in top(run, path, *options)["warnings"] if each["id"] == "HW448"]

    assert "50% of cpu" in "".join(notices_of())
    assert "HW448" in run("top", path)[1]
    theirs = ("--region", r"VirtualThread\.run$|return.?[bB]arrier")
    assert top(run, path, *theirs)["total"] == 500
    assert "100% of cpu" in "".join(notices_of(*theirs))
    for others in (("--event", "alloc"), ("--thread", "main"), ("--region", "runContinuation")):
        assert not notices_of(*others)


def test_a_lambda_is_found_by_the_method_around_it(run: Run, tmp_path: Path) -> None:
    samples: list[sample_builder.Sample] = [(0, 1, 5, ("org.example.KMeans.lambda$assign$0",)), (0, 2, 7, ("a.B.c",))]
    path = sample_builder.write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 10)])], 10, {"cpu": samples})
    assert top(run, path, "--region", r"KMeans\.assign")["total"] == 5


def test_the_busiest_thread_of_a_window_is_the_one_that_ran_most_in_it(run: Run, tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 300), ("B", 700)], "early"),
        FakeThread("app", 0, [("B", 800), ("R", 200)], "late"),
    ]
    samples: list[sample_builder.Sample] = [(0, 10, 1, ("a",)), (1, 900, 1, ("b",)), (0, 900, 50, ("a",))]
    path = sample_builder.write(tmp_path / "a.headway", threads, WALL, {"cpu": samples})
    assert top(run, path, "--busiest-thread")["threads"][0]["thread"] == "early"
    assert top(run, path, "--busiest-thread", "--from", "50%")["threads"][0]["thread"] == "late"


def test_a_region_of_a_sweep_has_the_sweeps_pattern(run: Run, tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", WALL)], "main")]
    (tmp_path / "s.sweep" / "runs").mkdir(parents=True)
    paths = [
        sample_builder.write(tmp_path / "s.sweep" / "runs" / name, threads, WALL, {"cpu": CPU[:2]})
        for name in ("parallel-1-1.headway", "sequential-1-1.headway")
    ]
    regions, others = (SweepRegion("hot", "assign$"),), (SweepRegion("hot", "tally$"),)
    write_sweep(Sweep(tmp_path / "s.sweep", "b", "a", (1,), regions=regions, sequential_regions=others))
    assert [top(run, path, "--region", "hot")["total"] for path in paths] == [500, 250]


def test_contended_and_blocked_time_need_no_samples(run: Run, locked: Path) -> None:
    found = top(run, locked)  # the first event that is there
    assert (found["event"], found["unit"], found["total"], found["samples"]) == ("lock", "ns", 120, 2)
    assert {each["method"]: each["total"] for each in found["flat"]}["put"] == 120
    blocked = top(run, locked, "--event", "off-cpu")
    assert (blocked["total"], blocked["without_stack"]) == (160, 40)


# --- what can be wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message", "words"),
    [
        (["--event", "cycles"], "HW440", ["cpu, alloc, off-cpu, blame", "--sample cycles"]),
        (["--event", "lock"], "HW440", ["--locks"]),
        (["--event", "no such event"], "HW440", []),
        (["--thread", "nobody"], "HW441", ["nobody", "main, worker-[1]", "headway threads"]),
        (["--thread", "wroker"], "HW441", ["such as: worker-[1], main"]),
        (["--region", "Thraed.run"], "HW442", ["such as: java.lang.Thread.run"]),
        (["--region", r"No\.such"], "HW442", [r"No\.such", "java.lang.Thread.run", "headway top"]),
        (["--region", "could not be walked"], "HW442", []),
        (["--from", "950ns"], "HW443", ["cpu", "without --from"]),
        (["--event", "alloc", "--thread", "worker"], "HW441", ["main"]),
    ],
)
def test_nothing_to_show_says_why_and_what_to_run(
    run: Run, recording: Path, arguments: list[str], message: str, words: list[str]
) -> None:
    for command in (["top"], ["export", "--format", "collapsed", "-o", recording.parent / "none"]):
        code, out, err = run(*command, recording, *arguments)
        assert (code, out) == (1, "")
        assert err.startswith(f"{message}: ")
        assert all(word in err for word in words)
    assert not (recording.parent / "none").exists()


def test_a_region_that_every_stack_has_is_said(run: Run, recording: Path) -> None:
    found = top(run, recording, "--region", "Thread.run")
    assert [each["id"] for each in found["warnings"]] == ["HW444"]
    assert found["total"] == 990
    assert top(run, recording, "--region", "Main")["warnings"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--region", "("], ["--thread", "[a"], ["--region", "a=("], ["--from", "50%", "--to", "20%"], ["--from", "2s"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_nonsense_is_wrong_usage(run: Run, recording: Path, arguments: list[str]) -> None:
    for command in ("top", "flame"):
        code, out, err = run(command, recording, *arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err


def test_a_recording_without_anything_says_that_it_has_none(run: Run, tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 10)])], 10, mode="agent")
    code, _, err = run("top", path, "--event", "cpu")
    assert (code, err.split(":")[0]) == (1, "HW440")


def test_blocked_time_without_stacks_says_how_to_have_them(run: Run, tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 10), ("B", 90)])], 100)
    found = top(run, path)
    assert (found["event"], found["total"]) == ("off-cpu", 90)
    assert [each["id"] for each in found["warnings"]] == ["HW445"]


def test_samples_that_were_asked_for_and_are_gone_are_missed_aloud(run: Run, tmp_path: Path) -> None:
    path = synthetic.write(
        tmp_path / "a.headway",
        [FakeThread("app", 0, [("R", 10), ("B", 90)])],
        100,
        sampling={"events": ["cpu"], "interval": {"cpu": 10_000_000}},
        notices=[{"id": "HW212", "message": "the samples of JVM 7 end at 0.0 s", "remedy": ""}],
    )
    found = top(run, path)
    assert found["event"] == "off-cpu"
    (said,) = (each for each in found["warnings"] if each["id"] == "HW447")
    assert "the samples of JVM 7 end at 0.0 s" in said["message"]
    code, out, err = run("top", path, "--event", "cpu")
    assert (code, out, err.split(":")[0]) == (1, "", "HW447")


def test_without_records_of_the_scheduler_weights_stay_and_that_is_said(run: Run, tmp_path: Path) -> None:
    sampling = {"events": ["cpu"], "interval": {"cpu": 10_000_000}}
    rows = sample_builder.tables({"cpu": CPU[:2]})
    path = tmp_path / "a.headway"
    synthetic.write(
        path, [FakeThread("app", 0, [], "main")], WALL, sampling=sampling, tables=rows, mode="agent", activity=[]
    )
    found = top(run, path)
    assert (found["total"], found["without_sample"]) == (750, 0)
    assert "HW451" in {each["id"] for each in found["warnings"]}


@pytest.mark.parametrize("asked", ["cpu", "cpu-clock"])
def test_cpu_time_is_there_by_whichever_clock_it_was_sampled(run: Run, tmp_path: Path, asked: str) -> None:
    threads = [FakeThread("app", 0, [("R", 800)], "main")]
    sampling = {"events": [asked], "interval": {asked: 10_000_000}}
    rows = sample_builder.tables({"cpu": CPU[:2]})
    there = synthetic.write(tmp_path / "there.headway", threads, WALL, sampling=sampling, tables=rows)
    for words in ([], ["--event", asked], ["--event", "cpu"]):
        found = top(run, there, *words)
        assert (found["event"], found["total"], found["without_sample"]) == ("cpu", 800, 50)  # as long as it ran
        assert {each["id"] for each in found["warnings"]} & {"HW447", "HW449"} == {"HW449"}
    without_samples = synthetic.write(tmp_path / "gone.headway", threads, WALL, sampling=sampling)
    for event in (asked, "cpu"):
        code, _, err = run("top", without_samples, "--event", event)
        assert (code, err.split(":")[0]) == (1, "HW447")
        assert asked in err


def test_a_thread_whose_name_ends_in_parentheses_is_named_whole(run: Run, tmp_path: Path) -> None:
    """NanoHTTPD names its threads so."""
    threads = [FakeThread("app", 0, [("R", 800)], "Request Processor (#17)")]
    sampling = {"events": ["cpu"], "interval": {"cpu": 10_000_000}}
    rows = sample_builder.tables({"cpu": CPU[:2]})
    path = synthetic.write(tmp_path / "a.headway", threads, WALL, sampling=sampling, tables=rows, jvms=[{"pid": 100}])
    (notice,) = (each for each in top(run, path)["warnings"] if each["id"] == "HW449")
    assert notice["message"].endswith(": thread Request Processor (#)"), notice


# --- flame and export --------------------------------------------------------------------------------------------------


def test_flame_writes_a_page_and_never_over_another_unless_told_to(run: Run, recording: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.html"
    code, out, _ = run("flame", recording, "--region", "kmeans=KMeans", "-o", target)
    assert (code, out.strip()) == (0, str(target))
    assert "</html>" in target.read_text(encoding="utf-8")
    code, _, err = run("flame", recording, "-o", target)
    assert (code, err.split(":")[0]) == (1, "HW500")
    assert run("flame", recording, "-o", target, "--force")[0] == 0


def test_a_dash_is_the_standard_output(
    run: Run, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["flame"], ["report"], *(["export", "--format", form] for form in ("collapsed", "pprof", "csv"))):
        shown = subprocess.run(
            [sys.executable, "-m", "headway", *words, recording, "-o", "-"],
            cwd=tmp_path,
            capture_output=True,
            check=True,
        )
        assert run(*words, recording, "-o", "file")[:2] == (0, "file\n")
        assert shown.stdout == (tmp_path / "file").read_bytes() != b""
        (tmp_path / "file").unlink()
    assert not list(tmp_path.iterdir())


def test_flame_compares_two_recordings_of_one_event(run: Run, recording: Path, locked: Path, tmp_path: Path) -> None:
    assert run("flame", recording, "--event", "off-cpu", "--diff", locked, "-o", tmp_path / "d.html")[0] == 0
    code, _, err = run("flame", recording, "--diff", locked, "-o", tmp_path / "e.html")
    assert (code, err.split(":")[0]) == (1, "HW440")  # the other one has no cpu
    assert str(locked) in err
    assert not (tmp_path / "e.html").exists()


@pytest.mark.parametrize("form", ["collapsed", "pprof", "speedscope"])
def test_export_writes_what_was_selected(run: Run, recording: Path, form: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    code, out, err = run("export", recording, "--format", form, "--region", "KMeans", "--from", "150ns", "-o", target)
    assert (code, out.strip(), err) == (0, str(target), "")
    if form == "collapsed":
        weights = [int(line.rpartition(" ")[2]) for line in target.read_text().splitlines()]
    elif form == "pprof":
        weights = [each.value[0] for each in Pprof.FromString(gzip.decompress(target.read_bytes())).sample]
    else:
        weights = json.loads(target.read_text())["profiles"][0]["weights"]
    assert sorted(weights) == [150, 250]


def test_options_of_profiles_go_with_formats_of_profiles(run: Run, recording: Path, tmp_path: Path) -> None:
    code, _, err = run("export", recording, "--format", "csv", "--event", "cpu", "-o", tmp_path / "x")
    assert (code, "collapsed" in err) == (2, True)
    code, _, err = run("export", recording, "--format", "pprof", "--table", "thread", "-o", tmp_path / "x")
    assert (code, "--table" in err) == (2, True)
