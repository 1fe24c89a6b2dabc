"""Values of wrong types anywhere in a manifest: damage that is named, and no defect of whoever looks into them later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import invoke
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders.edited_manifest import edit
from support.builders.extreme_recordings import everything, usual

WRONG: list[tuple[str, Any, str]] = [
    ("sampling", {"events": [["cpu"]]}, "sampling.events[0] is a list"),
    ("sampling", {"events": "cpu"}, "sampling.events is a str"),
    ("jvms", [{"pid": 1, "available_processors": {"0": 1}}], "jvms[0].available_processors is a dict"),
    ("jvms", [{"pid": "1"}], "jvms[0].pid is a str"),
    ("jvms", [{}, None], "jvms[1] is null"),
    ("host", {"governor": True}, "host.governor is a bool"),
    ("host", {"topology": [{"cpu": "\x1b[31m"}]}, "host.topology[0].cpu is a str"),
    ("host", {"topology": [{"cpu": 0, "smt_siblings": [None]}]}, "host.topology[0].smt_siblings[0] is null"),
    ("notices", [{"id": "HW200", "message": "m", "remedy": 1 << 31}], "notices[0].remedy is a int"),
    ("invariants", [{"id": "x", "ok": "no", "message": "m"}], "invariants[0].ok is a str"),
    ("affinity", [-1e308], "affinity[0] is a float of -1e+308"),
    ("window", {"start_ns": 0, "end_ns": 1e300}, "window.end_ns is a float of 1e+300"),
    ("window", {"start_ns": -(1 << 62), "end_ns": 5}, "window.start_ns is a int of -4.61e+18"),
    ("window", {"start_ns": 0, "end_ns": (1 << 61) + 1}, "window.end_ns is a int of 2.31e+18"),
    ("recorded_cores", -5, "recorded_cores is a int of -5"),
    ("recorded_cores", 1 << 40, "recorded_cores is a int of 1.1e+12"),
    ("steal_ns", {"x": 1}, "steal_ns has no CPU 'x'"),
    ("busy_ns", {"0": 1e40}, "busy_ns.0 is a float of 1e+40"),
    ("other_ns", [1, None], "other_ns.1 is null"),
    ("quota_cores", 1e30, "quota_cores is a float of 1e+30"),
    ("rusage", {"user_ns": "5"}, "rusage.user_ns is a str"),
    ("import", {"cores_used": {"mean": "1"}}, "import.cores_used.mean is a str"),
    ("causal", {"mode": 5}, "causal.mode is a int"),
    ("exit_code", True, "exit_code is a bool"),
    ("import", {"each": True}, "import.each is a bool"),
    ("quota_cores", False, "quota_cores is a bool"),
    ("accesses", [], "accesses is a list"),
    ("accesses", {"jvms": [{"classes_left_out": "5"}]}, "accesses.jvms[0].classes_left_out is a str"),
    ("objects", {"scope": 5}, "objects.scope is a int"),
    ("command", ["java", 5], "command[1] is a int"),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return everything(tmp_path_factory.mktemp("types") / "r.headway")


@pytest.mark.parametrize(("key", "value", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_a_value_of_a_wrong_type_is_named_with_its_place(
    recording: Path, tmp_path: Path, key: str, value: Any, said: str
) -> None:
    before = edit(recording)
    edit(recording, **{key: value})
    try:
        with pytest.raises(HeadwayError) as caught:
            open_recording(recording)
        assert caught.value.notice.id == "HW303"
        assert f"a value has the wrong type ({said})" in caught.value.notice.message
    finally:
        edit(recording, **{key: before.get(key)})


def test_what_headways_write_and_wrote_is_right(recording: Path) -> None:
    """Lists of CPUs' times, times with a point, and null wherever something is not known."""
    facts: dict[str, Any] = {
        "steal_ns": [1, 2],
        "other_ns": {"0": 5.0, "12": 1 << 62},
        "busy_ns": None,
        "quota_cores": 1.5,
        "jvms": [
            {"pid": 5, "available_processors": None, "version": "21", "vm": None, "flags": ["-Xmx1g"], "more": {}}
        ],
        "host": {"kernel": "6.1", "governor": None, "boost": None, "topology": [{"cpu": 0, "core": None}], "x": [[]]},
        "sampling": {"events": ["cpu"], "intervals": {"cpu": "10ms"}},
        "import": {"cores_used": None, "samples": None},
        "notices": [{"id": "HW200", "message": "m"}],
    }
    edit(recording, **facts)
    opened = open_recording(recording)
    assert opened.manifest.steal_ns == {"0": 1, "1": 2}
    assert opened.manifest.other_ns == {"0": 5, "12": 1 << 62}
    assert opened.manifest.jvms[0]["flags"] == ["-Xmx1g"]


@pytest.mark.parametrize(
    ("window", "ends"),
    [
        ({"start_ns": -5, "end_ns": 100}, {"whatif": "HW303", "why": ""}),
        ({"start_ns": (1 << 61) - (1 << 60), "end_ns": 1 << 61}, {"whatif": "HW303", "why": ""}),
        ({"start_ns": -(1 << 60), "end_ns": 1 << 60}, {"whatif": "HW303", "why": "HW303"}),
    ],
    ids=str,
)
def test_a_window_that_no_machine_has_ends_no_command_in_a_defects_message(
    tmp_path: Path, window: dict[str, int], ends: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Bins and slices lie far outside of it: `why` had more phases than parts, and `whatif` no numbers for it."""
    recording = usual(tmp_path / "r.headway")
    edit(recording, window=window)
    for command, message in ends.items():
        code = invoke([command, str(recording)])
        errors = capfd.readouterr().err
        assert (code, message in errors, "HW319" in errors) == (1 if message else 0, True, False), (command, errors)
