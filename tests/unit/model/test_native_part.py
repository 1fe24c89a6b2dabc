"""A native part that was built of older sources is named where something goes wrong that nobody expects."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import headway.model.native_part
from headway.cli.main import invoke
from headway.errors import HeadwayError
from headway.model.native_part import _of_agent, _with_included, newer_source
from headway.record.session.finish import explained_failures
from support.builders import recording_builder

SOURCES = {
    "python/module.cpp": '#include "decode/decoder.h"\n',
    "python/bind_tests.cpp": '#include "agent/core/text.h"\n',
    "decode/decoder.h": '#include "wire/records.h"\n#include <vector>\n',
    "decode/decoder.cpp": '#include "decode/decoder.h"\n',
    "kernel/sched.bpf.c": "",
    "counters/event.h": "",
    "counters/event.cpp": '#include "counters/event.h"\n',
    "wire/records.h": "",
    "wire/of_nobody.h": "",
    "agent/CMakeLists.txt": "SOURCES own_group.cpp ${CMAKE_SOURCE_DIR}/native/counters/event.cpp)",
    "agent/core/text.h": '#include "wire/records.h"\n',
    "agent/core/text.cpp": '#include "agent/core/text.h"\n',
    "agent/counters/own_group.cpp": '  #  include "counters/event.h"\n',
    "agent/hooks/Hook.java": "",
    "agent/tests/text_test.cpp": "",
    "notes.md": "",
}


def file(path: Path, seconds: int, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (seconds, seconds))
    return path


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Write sources of the module and of the agent that are older than both libraries."""
    for name, text in SOURCES.items():
        file(tmp_path / "native" / name, 90, text)
    file(tmp_path / "libheadway_agent.so", 200)
    return tmp_path / "native"


@pytest.mark.parametrize(
    ("changed", "of"),
    [
        *((name, "module") for name in ("python/module.cpp", "decode/decoder.h", "decode/decoder.cpp")),
        ("kernel/sched.bpf.c", "module"),
        *((name, "both") for name in ("wire/records.h", "counters/event.h", "counters/event.cpp")),
        *((name, "agent") for name in ("agent/core/text.h", "agent/core/text.cpp", "agent/counters/own_group.cpp")),
        ("agent/hooks/Hook.java", "agent"),
        *((name, "none") for name in ("agent/tests/text_test.cpp", "notes.md", "python/bind_tests.cpp")),
        ("wire/of_nobody.h", "none"),
    ],
)
def test_a_source_is_compared_with_the_library_that_is_made_of_it(sources: Path, changed: str, of: str) -> None:
    """A change of the agent makes the agent anew alone, which says nothing of the module; and the other way round."""
    module, agent = sources.parent / "_native.so", sources.parent / "libheadway_agent.so"
    source = file(sources / changed, 150, SOURCES[changed])
    for module_s, agent_s in ((100, 100), (100, 200), (200, 100), (200, 200)):
        file(module, module_s)
        file(agent, agent_s)
        is_newer = (of in ("module", "both") and module_s < 150) or (of in ("agent", "both") and agent_s < 150)
        assert newer_source(module, sources) == (source if is_newer else None), (module_s, agent_s)


def test_of_several_newer_sources_the_last_one_is_named_and_without_an_agent_none_of_its(sources: Path) -> None:
    module = file(sources.parent / "_native.so", 100)
    file(sources / "python" / "module.cpp", 101, SOURCES["python/module.cpp"])
    later = file(sources / "wire" / "records.h", 102)
    file(sources / "agent" / "core" / "text.cpp", 300, SOURCES["agent/core/text.cpp"])
    assert newer_source(module, sources) == sources / "agent" / "core" / "text.cpp"
    (sources.parent / "libheadway_agent.so").unlink()
    assert newer_source(module, sources) == later


def test_each_header_that_is_here_belongs_to_a_library() -> None:
    native = Path(headway.__file__).parents[2] / "native"
    compiled = {path for path in native.rglob("*.cpp") if not {"tests", "testing"} & {*path.parts}}
    headers = {path for path in native.rglob("*.h") if not {"tests", "testing"} & {*path.parts}}
    assert len(headers) > 100
    assert headers <= _with_included(compiled, native)
    agent = _with_included(_of_agent(compiled, native), native)
    assert {native / name for name in ("counters/event.cpp", "counters/event.h", "wire/records.h")} <= agent
    assert not any(native / folder in path.parents for path in agent for folder in ("decode", "python", "jfr"))


def test_without_sources_as_in_a_wheel_nothing_is_said(tmp_path: Path) -> None:
    assert newer_source(file(tmp_path / "_native.so", 100), tmp_path / "native") is None


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the native part look older than one of its sources."""
    source = Path("/src/native/wire/records.h")
    monkeypatch.setattr(headway.model.native_part, "newer_native_source", lambda: source)
    monkeypatch.setattr("headway.record.session.finish.newer_native_source", lambda: source)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], int]:
    """Return a command that meets a module without what it asks for."""
    monkeypatch.delenv("HEADWAY_TRACEBACK", raising=False)
    path = recording_builder.make(tmp_path / "a.headway", recording_builder.Shape(threads=9, slices=300))

    def open_recording(*_: object, **__: object) -> None:
        raise AttributeError("module 'headway._native' has no attribute 'sums'")

    monkeypatch.setattr("headway.store.open_recording", open_recording)
    return lambda: invoke(["threads", str(path)])


@pytest.mark.usefixtures("older")
def test_a_command_that_fails_says_what_is_older_and_what_to_do(
    failing: Callable[[], int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert failing() == 1
    said = " ".join(capfd.readouterr().err.split())
    assert "HW094" in said
    assert "no attribute 'sums'; /src/native/wire/records.h was changed after headway's native part was built" in said
    assert "make native; headway threads" in said


def test_a_command_that_fails_with_a_module_of_these_sources_says_only_what_went_wrong(
    failing: Callable[[], int], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(headway.model.native_part, "newer_native_source", lambda: None)
    assert failing() == 1
    assert "HW319" in capfd.readouterr().err


@pytest.mark.usefixtures("older")
def test_finalising_that_fails_says_it_too_and_where_the_records_are(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError) as caught, explained_failures(tmp_path / "a.headway"):
        raise TypeError("incompatible function arguments")
    assert caught.value.notice.id == "HW056"
    assert "make native first" in caught.value.notice.message
    assert "headway recover" in caught.value.notice.remedy
