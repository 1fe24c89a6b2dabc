"""What units of whole sockets counted, of recordings made by hand: exact totals, scales, turns, lost CPUs, and the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from headway.report.html import build_payload
from headway.report.html.counters import counters_view
from headway.report.html.page import script_safe_json
from headway.report.html.payloads.recording import Payload
from headway.store import open_recording
from headway.store.manifest import write_manifest
from support.builders import recording_builder
from support.builders.counted_builder import ORIGIN_NS, CountedSlice, counted_recording
from support.builders.edited_manifest import edit
from support.drivers.recording_cli import headway
from support.oracles.typed_json import differences

MS = 1_000_000
LENGTH_NS = 10_000 * MS
READS, WRITES = "imc/reads/", "imc/writes/"
Totals = tuple[int, int, int]
Run = Callable[..., tuple[int, str, str]]


def always(value: int) -> Totals:
    return value, LENGTH_NS, LENGTH_NS


def unit(totals_of: Mapping[int, tuple[Totals, ...]], events: tuple[str, ...] = (READS, WRITES)) -> dict[str, Any]:
    """Return what the manifest has of a unit with these readings by CPU."""
    names = ("value", "enabled_ns", "running_ns")
    rows = [
        {"cpu": cpu, "counter": counter, **dict(zip(names, each, strict=True))}
        for cpu, counters in totals_of.items()
        for counter, each in enumerate(counters)
    ]
    return {
        "unit": "imc",
        "scales": [{"event": READS, "scale": 0.5, "unit": "MiB"}],
        "step": "software clocks",
        "groups": [{"events": [*events]}],
        "absent": [],
        "from_ns": ORIGIN_NS,
        "to_ns": ORIGIN_NS + LENGTH_NS,
        "cpus": [*totals_of],
        "rows": rows,
    }


def write_recording(path: Path, *units: object, has_threads: bool = True) -> Path:
    counted_recording(path, [CountedSlice(0, 0, 0, 4 * MS, (40, 20))], LENGTH_NS, (("cycles", "instructions"),))
    topology: list[dict[str, Any]] = [
        {"cpu": cpu, "core": cpu, "package": cpu // 18, "node": cpu // 18, "smt_siblings": []} for cpu in (0, 18)
    ]
    manifest = edit(path, socket_counters=[*units], host={"topology": topology})
    if not has_threads:
        del manifest["counters"]
        write_manifest(path, manifest)
    return path


def asked(path: Path, *words: object) -> Any:
    done = headway("counters", path, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def printed_by(run: Run, path: Path) -> str:
    code, out, err = run("counters", path)
    assert code == 0, err
    return out


TWO_SOCKETS = {18: (always(30), always(1)), 0: (always(500), always(2))}


def test_counts_are_of_each_cpu_and_socket_and_scaled_to_what_sysfs_says(run: Run, tmp_path: Path) -> None:
    found = asked(write_recording(tmp_path / "a.headway", unit(TWO_SOCKETS)))
    (each,) = found["socket_units"]
    places = [(row["cpu"], row["socket"], row["counts"][READS]["value"]) for row in each["cpus"]]
    assert places == [(0, 0, 500), (18, 1, 30)]
    assert each["total"][READS] == {"value": 530, "low": 530, "high": 530}
    assert each["amounts"][READS] == {"unit": "MiB", "value": 265, "low": 265, "high": 265, "per_second": 26.5}
    assert each["amounts"][WRITES] == {"unit": "", "value": 3, "low": 3, "high": 3, "per_second": 0.3}
    assert found["total"].keys() == {"cycles", "instructions"}
    shown = [line.split() for line in printed_by(run, tmp_path / "a.headway").splitlines()]
    assert ["imc/reads/", "0", "0", "250", "MiB"] in shown
    assert ["imc/reads/", "all", "265", "MiB", "26.5", "MiB"] in shown


def test_a_unit_that_took_turns_is_scaled_and_one_that_counted_too_briefly_withheld(tmp_path: Path) -> None:
    half = LENGTH_NS // 2
    many = unit({0: ((50_000_000, LENGTH_NS, half), (3, LENGTH_NS, half))})
    (each,) = asked(write_recording(tmp_path / "a.headway", many))["socket_units"]
    reads = each["total"][READS]
    assert reads["low"] < reads["value"] == 100_000_000 < reads["high"]
    assert each["amounts"][READS]["value"] == 50_000_000
    assert each["total"][WRITES]["value"] is None
    assert each["amounts"][WRITES]["per_second"] is None


def test_zero_on_all_cpus_is_withheld_and_zero_on_one_of_them_is_a_count(run: Run, tmp_path: Path) -> None:
    of_one = unit({0: (always(0), always(0)), 18: (always(7), always(0))})
    (each,) = asked(write_recording(tmp_path / "a.headway", of_one))["socket_units"]
    assert [row["counts"][READS]["value"] for row in each["cpus"]] == [0, 7]
    assert [row["counts"][WRITES]["value"] for row in each["cpus"]] == [None, None]
    assert "nothing tells from not counting" in each["total"][WRITES]["withheld"]
    assert "of a unit is withheld" in printed_by(run, tmp_path / "a.headway")


def test_a_cpu_that_went_offline_leaves_the_least_that_there_was(tmp_path: Path) -> None:
    early = LENGTH_NS // 2
    (each,) = asked(write_recording(tmp_path / "a.headway", unit({0: ((9, early, early), (9, early, early))})))[
        "socket_units"
    ]
    assert each["total"][READS] == {"value": 9, "low": 9, "high": None}
    # 4.5 MiB in the five seconds in which it counted.
    assert each["amounts"][READS]["per_second"] == pytest.approx(0.9)


def test_units_are_told_whatever_counts_are_divided_by_but_not_of_a_part_of_the_time(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.headway", unit(TWO_SOCKETS))
    for by in ("thread", "kind", "cpu", "phase"):
        assert asked(path, "--by", by)["socket_units"][0]["total"][READS]["value"] == 530
    assert "socket_units" not in asked(path, "--to", "2ms")


def test_a_recording_of_units_alone_answers_by_cpu(run: Run, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.headway", unit(TWO_SOCKETS), has_threads=False)
    assert asked(path, "--by", "cpu")["socket_units"][0]["total"][READS]["value"] == 530
    assert run("counters", path)[2].startswith("HW116")


def test_a_unit_none_of_whose_events_open_is_absent_with_its_reason(run: Run, tmp_path: Path) -> None:
    absent = [{"event": READS, "reason": "no such event"}]
    path = write_recording(tmp_path / "a.headway", {**unit({}), "groups": [], "step": "none", "absent": absent})
    (each,) = asked(path)["socket_units"]
    assert (each["cpus"], each["absent"]) == ([], absent)
    assert "not counted of imc: imc/reads/: no such event" in " ".join(printed_by(run, path).split())


def test_the_page_shows_the_units_with_the_figures_of_the_command(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.headway", unit(TWO_SOCKETS))
    view = counters_view(open_recording(path)).values
    assert view is not None
    rows = [(row["event"], row["cpu"], row["socket"], row["of"], row["counted"]["value"]) for row in view["units"]]
    assert rows == [
        (READS, 0, 0, "MiB", 250),
        (WRITES, 0, 0, "", 2),
        (READS, 18, 1, "MiB", 15),
        (WRITES, 18, 1, "", 1),
    ]
    alone = counters_view(
        open_recording(write_recording(tmp_path / "b.headway", unit(TWO_SOCKETS), has_threads=False))
    ).values
    assert alone is not None
    assert (alone["events"], alone["rows"], alone["units"]) == ([], [], view["units"])
    whole = recording_builder.make(tmp_path / "c.headway", recording_builder.Shape())
    edit(whole, socket_counters=[unit(TWO_SOCKETS)])
    payload = json.loads(script_safe_json(build_payload(open_recording(whole))))
    assert payload["counters"]["units"]
    assert differences(payload, Payload, {}) == []


@pytest.mark.parametrize(
    "bad",
    [
        5,
        [5, {}, {"unit": 7}],
        [{**unit(TWO_SOCKETS), "rows": [{"cpu": 1 << 40, "counter": 0}], "cpus": "x"}],
        [{**unit(TWO_SOCKETS), "scales": [5, {"event": READS, "scale": "x"}, {"event": READS, "scale": 1e300}]}],
        [{**unit(TWO_SOCKETS), "from_ns": "x"}],
        [{**unit(TWO_SOCKETS), "absent": [{"event": "\x1b[31m", "reason": 5}], "groups": []}],
        [unit(TWO_SOCKETS)] * 1000,
    ],
)
def test_a_manifest_of_anybody_gives_units_or_none(run: Run, tmp_path: Path, bad: object) -> None:
    path = write_recording(tmp_path / "a.headway")
    edit(path, socket_counters=bad)
    done = headway("counters", path, "--json")
    assert done.returncode == 0, done.stderr
    assert "Infinity" not in done.stdout
    assert "\x1b" not in printed_by(run, path)
    assert counters_view(open_recording(path)).values is not None
