"""What is built for a page has the keys and types that web/src/payload says: both come from report/html/payloads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.profile.analysis import profile
from headway.analyses.speedups.analysis import speedups
from headway.report.html import build_payload, render_flame
from headway.report.html.causal import build_causal
from headway.report.html.page import script_safe_json
from headway.report.html.payloads.causal import CausalPage
from headway.report.html.payloads.flame import FlamePage
from headway.report.html.payloads.recording import Payload
from headway.report.html.payloads.sweep import SweepPage
from headway.report.html.source_lines import Sources
from headway.report.html.speedups import build_sweep
from headway.store import open_recording
from support.builders import causal_page_builder, recording_builder, sweep_builder
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread
from support.oracles.typed_json import differences


def shown(payload: dict[str, Any]) -> Any:
    """Return a payload as the page reads it."""
    return json.loads(script_safe_json(payload))


def test_a_recording(tmp_path: Path) -> None:
    path = recording_builder.make(tmp_path / "a.headway", recording_builder.Shape(markup=True))
    payload = shown(build_payload(open_recording(path)))
    assert payload["parallelism"] is not None
    assert payload["why"] is not None
    assert payload["threads"]["lanes"]
    assert differences(payload, Payload, {}) == []


def test_a_recording_with_locks(tmp_path: Path) -> None:
    stacks = [(*LOCK_FRAMES, ("org.example.Server", "handle"), ("java.lang.Thread", "run"))]
    waits = [Wait(0, 0, 100, 400, owner=3, waker=3, stack=0), Wait(1, 0, 150, 500, owner=3, waker=0, stack=0)]
    lock_recording = LockRecording(
        [FakeThread() for _ in range(4)], waits, [LockHold(0, 3, 50, 400)], wall=1000, stacks=stacks
    )
    payload = shown(build_payload(open_recording(lock_recording.write(tmp_path / "a.headway"))))
    assert payload["locks"]["rows"]
    assert differences(payload, Payload, {}) == []


def test_a_sweep(tmp_path: Path) -> None:
    sweep = sweep_builder.make(tmp_path / "a.sweep")
    payload = shown(build_sweep(sweep, speedups(sweep)))
    assert payload["rows"]
    assert payload["flames"] is not None
    assert differences(payload, SweepPage, {}) == []


def test_a_causal_recording(tmp_path: Path) -> None:
    payload = shown(build_causal(causal_page_builder.answer(), Sources([tmp_path]), name="a"))
    assert payload["lines"]
    assert differences(payload, CausalPage, {}) == []


def test_a_flame_graph(tmp_path: Path) -> None:
    sweep = sweep_builder.make(tmp_path / "a.sweep")
    recording = sweep.open(sweep.select("parallel", recorded=True)[0])
    page = render_flame(profile(recording, "cpu"), tmp_path / "a.html", recording=recording)
    text = re.search(r'id="headway-payload">(.*?)</script>', page.read_text(), re.DOTALL)
    assert text is not None
    assert differences(json.loads(text[1]), FlamePage, {}) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wall_ns": "5"}, ".wall_ns: '5' is no whole number"),
        ({"more": 1}, ": more is not in Payload"),
        ({"facts": [{"heading": "A", "rows": [{"label": "b"}]}]}, ".facts[0].rows[0]: value of Fact is missing"),
        ({"phases": {"items": [[1, 2, "x"]], "left_out": 0}}, ".phases.items[0]: [1, 2, 'x'] are not 4 values"),
    ],
)
def test_what_differs_is_told(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = recording_builder.make(tmp_path / "a.headway", recording_builder.Shape(threads=4, slices=400))
    payload = shown(build_payload(open_recording(path)))
    assert differences({**payload, **change}, Payload, {}) == [said]
