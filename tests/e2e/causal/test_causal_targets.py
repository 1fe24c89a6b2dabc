"""Targets that are in many classes, and waits of which nobody has seen the begin."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.asked_program import PATIENCE_S, PROGRAMS, AskedProgram, line_of
from support.drivers.workloads import JAVAS, agent, compile_java

Note = dict[str, Any]
CLASSES = 30
MANIFOLD = """
import java.util.Scanner;

public final class Manifold {
    static volatile double sink;

    static double work(double x) {
        for (int i = 0; i < 200_000; i++) x = x * 1.0000001 + 1e-9;
        return x;
    }

    public static void main(String[] args) {
        Runnable[] parts = {%s};
        Scanner in = new Scanner(System.in);
        System.out.println("ready");
        for (String word = in.next(); !word.equals("end"); word = in.next()) {
            for (int i = in.nextInt(); i > 0; i--) for (Runnable part : parts) part.run();
            System.out.println(word);
        }
    }
}
"""
PART = "new Runnable() { public void run() { sink = work(sink); } }"
PARTS_LINE = 1 + MANIFOLD[: MANIFOLD.index("%s")].count("\n")


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def notes_of(spool: Path, kind: str) -> list[Note]:
    """Return what the JVM has noted so far; its last line may be half written while it runs."""
    lines = [line for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines(keepends=True)]
    return [note for note in map(json.loads, (line for line in lines if line.endswith("\n"))) if note["t"] == kind]


def test_a_line_of_many_classes_is_made_faster_in_all_of_them(java: Path, tmp_path: Path) -> None:
    source = tmp_path / "Manifold.java"
    source.write_text(MANIFOLD % ", ".join([PART] * CLASSES))
    compile_java(tmp_path, source)
    # What the parts call is out of scope: each of them is charged with that.
    target, scope = (quote(text, safe="") for text in (f"line=Manifold:{PARTS_LINE}", "Manifold$*"))
    option = f"-agentpath:{agent()}={agent_options(tmp_path, causal=f'target:{target};speedup:10;scope:{scope}')}"
    with AskedProgram(java, tmp_path, option, "Manifold") as program:
        assert program.ready == "ready"
        program.ask("work 200")
        program.end()
    (experiment,) = notes_of(tmp_path, "experiment")
    lines = notes_of(tmp_path, "profile")[-1]["lines"]
    assert len(lines) == CLASSES
    assert experiment["hits_ns"] > 0.9 * sum(ran_ns for _, ran_ns, *_ in lines)


@pytest.mark.parametrize(("request_", "mark"), [("wait", "waits"), ("hold", "parks")])
def test_a_wait_that_began_before_the_recording_is_no_sleep_of_its_line(
    java: Path, tmp_path: Path, request_: str, mark: str
) -> None:
    compile_java(tmp_path, PROGRAMS / "Sleepers.java")
    spool = tmp_path / "spool"
    spool.mkdir()
    with AskedProgram(java, tmp_path, "Sleepers", 1) as program:
        assert program.process.stdin is not None
        program.process.stdin.write(f"{request_} {1000 * PATIENCE_S}\n")
        program.process.stdin.flush()
        time.sleep(0.3)  # were it to begin later than the recording, the line would have no time either
        program.attach(agent_options(spool, causal="speedup:0"))
        slept_ns: dict[int, int] = {}
        end = time.monotonic() + PATIENCE_S
        while slept_ns.get(line_of("Sleepers", "sleeps"), 0) < 1_500_000_000:
            assert time.monotonic() < end
            time.sleep(0.1)
            numbers = {note["id"]: note["line"] for note in notes_of(spool, "line")}
            profile = notes_of(spool, "profile")[-1:]
            slept_ns = {numbers[line]: blocked_ns for note in profile for line, _, blocked_ns, _ in note["lines"]}
        assert slept_ns.get(line_of("Sleepers", mark), 0) == 0
