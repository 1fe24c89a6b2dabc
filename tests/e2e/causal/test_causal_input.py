"""A line that waits for input from another process is made faster for as long as it waits, by the program's own clock."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.asked_program import PATIENCE_S, PROGRAMS, line_of
from support.drivers.workloads import JAVAS, agent, compile_java

WAITS_S = (0.1, 0.3, 0.05, 0.4, 0.2, 0.15, 0.3, 0.1, 0.25, 0.35)
WITHIN = 0.1
"""Sleepers are looked at every 5 to 40 ms: what passes before the first look at a wait, and after its last one, is missed."""


@pytest.mark.parametrize("jdk", JAVAS)
def test_a_line_that_waits_for_another_process_is_hit_for_as_long_as_it_waits(jdk: str, tmp_path: Path) -> None:
    compile_java(tmp_path, PROGRAMS / "Reads.java")
    target = quote(f"line=Reads:{line_of('Reads', 'reads')}", safe="")
    option = f"-agentpath:{agent()}={agent_options(tmp_path, causal=f'target:{target};speedup:50')}"
    command = [str(JAVAS[jdk]), option, "-cp", str(tmp_path), "Reads"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        for seconds in WAITS_S:
            time.sleep(seconds)
            program.stdin.write("x")
            program.stdin.flush()
        out, _ = program.communicate(timeout=PATIENCE_S)
    assert program.returncode == 0
    waited_ns = int(out)
    assert waited_ns > 0.8e9 * sum(WAITS_S)
    notes = [json.loads(line) for path in tmp_path.glob("causal-*.jsonl") for line in path.read_text().splitlines()]
    (experiment,) = (note for note in notes if note["t"] == "experiment")
    assert experiment["hits_ns"] == pytest.approx(waited_ns, rel=WITHIN)
    assert experiment["delay_ns"] == pytest.approx(experiment["hits_ns"] / 2, rel=0.001)
