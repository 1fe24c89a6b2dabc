"""The first view's values: bounded whatever an account holds, and the same sums."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa

from headway.analyses.lost_cores.types import TOGETHER, Loss, Phase, Place, Why
from headway.analyses.scheduling.bottle_graph import Bottle, BottleGraph
from headway.report.html import build_payload
from headway.report.html.flame_pack import json_bytes
from headway.report.html.lost_cores import MAX_BINS, MAX_BOTTLES, WHY_BYTES, bottles, why_values
from headway.store import open_recording
from headway.store.writer import write_recording
from support.builders.lost_cores_page_builder import BIN_NS, BINNED, BINS, account, why_result
from support.builders.recording_builder import ONE_THREAD


def test_the_values_are_those_of_the_account() -> None:
    found = why_result()
    values = json.loads(json.dumps(why_values(found)))
    whole = values["account"]
    assert (whole["core_ns"], whole["lost_ns"]) == (found.account.core_ns, found.account.lost_ns)
    assert sum(ns for _, _, ns in whole["parts"]) == found.account.core_ns
    assert [(loss["cause"], loss["core_ns"]) for loss in whole["losses"]] == list(found.by_cause)
    assert values["bins"] == {key: bins for key, bins in BINNED.items() if any(bins)}
    assert sum(phase["account"]["lost_ns"] for phase in values["phases"]) == found.account.lost_ns
    assert (values["path"], values["bottles"]) == (None, [])


def test_more_bins_than_are_drawn_are_added_up() -> None:
    many = {key: values * 7 for key, values in BINNED.items()}
    whole = account()
    stretched = dataclasses.replace(whole, end_ns=7 * BINS * BIN_NS)
    values = why_values(dataclasses.replace(why_result(), account=stretched, bins=many))
    assert values["bin_ns"] == 3 * BIN_NS
    drawn = values["bins"]["used_app"]
    assert len(drawn) == -(-7 * BINS // 3) <= MAX_BINS
    assert sum(drawn) == 7 * sum(BINNED["used_app"])
    assert drawn[0] == sum(BINNED["used_app"][:3])


def worst(losses: int, text: str) -> Why:
    rows = tuple(Loss("unknown", 10, 0.1, Place(text, 1, text, text, 1), 1.5, (text,) * 40) for _ in range(losses))
    whole = dataclasses.replace(account(), lost=rows)
    return dataclasses.replace(why_result(), account=whole, phases=tuple(Phase(i, 1.0, whole) for i in range(200)))


def test_the_longest_names_do_not_break_the_bound_and_what_is_left_out_is_counted() -> None:
    graph = BottleGraph(10, 0, tuple(Bottle(i, i, "<" * 65_535, "app", 0, 1, 1.0) for i in range(500)), "ebpf", ())
    values = why_values(worst(5000, "<" * 65_535), graph)
    assert json_bytes(values) <= WHY_BYTES
    whole = values["account"]
    assert whole["more"] == {"losses": 5000 - len(whole["losses"]), "core_ns": 10 * (5000 - len(whole["losses"]))}
    assert len(values["phases"]) == 12


def test_threads_of_one_name_as_of_several_processes_have_their_numbers() -> None:
    twins = (Bottle(0, 11, "main", "app", 0, 5, 1.0), Bottle(1, 12, "main", "app", 5, 4, 1.0))
    named = bottles(BottleGraph(10**6, 0, (*twins, Bottle(2, 13, "gc", "gc", 9, 3, 1.0)), "ebpf", ()))
    assert [box["name"] for box in named] == ["main (tid 11)", "main (tid 12)", "gc"]


def test_threads_past_the_limit_share_a_box_of_the_same_area() -> None:
    boxes = tuple(Bottle(i, i, f"w{i}", "app" if i % 2 else "gc", 0, 1000 - i, 1 + i / 10) for i in range(60))
    shown = bottles(BottleGraph(10**6, 0, boxes, "ebpf", ()))
    assert len(shown) == MAX_BOTTLES + 1
    assert (shown[-1]["threads"], shown[-1]["kind"]) == (60 - MAX_BOTTLES, "several kinds")
    assert sum(box["height_ns"] for box in shown) == sum(box.height_ns for box in boxes)
    area = sum(box["height_ns"] * box["width"] for box in shown)
    assert round(area, 6) == round(sum(box.height_ns * box.width for box in boxes), 6)


def test_an_account_that_tells_no_users_apart_is_one_part(tmp_path: Path) -> None:
    whole = dataclasses.replace(account(), used_ns={TOGETHER: account().core_ns // 2}, lost=())
    values = why_values(dataclasses.replace(why_result(), account=whole, phases=()))
    assert values["account"]["parts"][0] == [f"used_{TOGETHER}", "the program", account().core_ns // 2]
    assert values["account"]["used_ns"] == account().core_ns // 2


def test_a_recording_without_thread_states_says_why_there_is_no_account(tmp_path: Path) -> None:
    manifest = {"mode": "agent", "window": {"start_ns": 0, "end_ns": 10**9}, "recorded_cores": 2}
    tables = {"thread": pa.table({**ONE_THREAD, "from_snapshot": [False]})}
    payload = build_payload(open_recording(write_recording(tmp_path / "agent.headway", manifest, tables)))
    assert payload["why"] is None
    assert "agent" in payload["missing"]["why"]
