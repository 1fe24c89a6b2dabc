"""What a process may say of itself: any reply and any performance data give an answer or a message, any file a bounded copy."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.record.agent import attach_protocol
from headway.record.target_process import agent_file, jvm_facts
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.jvm_facts import JvmFacts, parse_performance_data
from headway.record.target_process.rights import Rights

FACTS = JvmFacts(7, 1, 7, Rights(1000, 1000, (), False), True, None, None, None)
HERE = Rights(os.geteuid(), os.getegid(), (), True)
INT = st.integers(-(2**31), 2**31 - 1)
ENTRY = struct.Struct("<iiibbbbi")


@st.composite
def performance_data(draw: st.DrawFn) -> bytes:
    """Data that begin as a JVM's, with entries of any sizes and places, cut off anywhere."""
    at = draw(st.one_of(st.just(32), INT))
    data = struct.pack("<4sBBBBiiqii", b"\xca\xfe\xc0\xc0", 1, 2, 0, 1, 32, 0, 0, at, draw(INT))
    small = st.one_of(st.integers(0, 64), INT)
    for _ in range(draw(st.integers(0, 5))):
        data += ENTRY.pack(draw(small), draw(small), draw(small), ord("B"), 0, 1, 1, draw(small))
        data += draw(st.binary(max_size=60))
    return data[: draw(st.integers(0, len(data)))]


@given(st.one_of(performance_data(), st.binary(max_size=200)))
def test_any_performance_data_give_texts_or_nothing(data: bytes) -> None:
    for name, value in parse_performance_data(data).items():
        assert len(name) + len(value) <= len(data) * 3


def test_performance_data_of_a_jvm_are_read() -> None:
    name, value = b"sun.rt.javaCommand\0", b"Main a\0"
    entry = ENTRY.pack(20 + len(name) + len(value), 20, len(value), ord("B"), 0, 1, 1, 20 + len(name)) + name + value
    head = struct.pack("<4sBBBBiiqii", b"\xca\xfe\xc0\xc0", 1, 2, 0, 1, 32, 0, 0, 32, 1)
    assert parse_performance_data(head + entry) == {"sun.rt.javaCommand": "Main a"}


OPTION = st.sampled_from(
    [
        b"-Xrs",
        b"-XX:+ReduceSignalUsage",
        b"-XX:+DisableAttachMechanism",
        b"-XX:-EnableDynamicAgentLoading",
        b"-Xmx1g",
        b"Main",
    ]
)
ANY_TEXT = st.one_of(st.binary(max_size=60), st.lists(OPTION, max_size=4).map(b"\n".join))
NAMES = [b"a", b"sub/a", b"../a", b"/a", b"loop", b"fifo", b"sub", b"out", b"x" * 5000]
NAME = st.one_of(st.sampled_from(NAMES), st.binary(max_size=20))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=ANY_TEXT, names=st.lists(NAME, max_size=6), direct=st.lists(ANY_TEXT, max_size=3), env=ANY_TEXT)
def test_any_argument_files_give_texts_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, names: list[bytes], direct: list[bytes], env: bytes
) -> None:
    """A JVM without performance data is judged by its command line and by the files that this names, in its own root."""
    root = tmp_path_factory.mktemp("root", numbered=True)
    (root / "sub").mkdir()
    for file in ("a", "sub/a"):
        (root / file).write_bytes(content)
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to("../../../../../../etc/hostname")  # stays inside that root
    os.mkfifo(root / "fifo")
    given = {
        "/proc/1/cmdline": b"\0".join([b"java", *direct, *(b"@" + each for each in names)]),
        "/proc/1/environ": b"JAVA_TOOL_OPTIONS=" + env,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jvm_facts, "_text_of", lambda path: given[path].decode(errors="replace"))
        patch.setattr(os, "readlink", lambda _: "/")
        patch.setattr(jvm_facts, "open_root", lambda *_: os.open(root, os.O_PATH | os.O_DIRECTORY))
        texts = [*jvm_facts._launch_texts(1, HERE, Deadline.after(30))]
        refusal = jvm_facts._refusal(1, {"State": "S", "SigCgt": "4"}, None, HERE, Deadline.after(30))
    assert all(isinstance(each, str) for each in texts)
    assert Path("/etc/hostname").read_text() not in texts, "no link leads out"
    read = [each for each in names[:64] if each in (b"a", b"sub/a", b"../a", b"/a")]
    said = b"\n".join([*direct, env, *([content] if read else [])]).decode(errors="replace")
    assert refusal is not None or not re.search(r"\+DisableAttachMechanism\b|(?m:^-Xrs$)", said.replace("\0", "\n"))


def test_so_much_of_so_many_argument_files_is_read_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "long").write_bytes(b"")
    os.truncate(tmp_path / "long", 1 << 40)
    monkeypatch.setattr(jvm_facts, "_text_of", lambda _: "\0".join(["java", *["@long"] * 1000]))
    monkeypatch.setattr(jvm_facts, "_LONGEST_TEXT_BYTES", 1000)
    monkeypatch.setattr(os, "readlink", lambda _: "/")
    monkeypatch.setattr(jvm_facts, "open_root", lambda *_: os.open(tmp_path, os.O_PATH | os.O_DIRECTORY))
    texts = [*jvm_facts._launch_texts(1, HERE, Deadline.after(60))]
    assert [len(each) for each in texts[1:]] == [1000] * 64


CODES = st.integers(-(10**12), 10**12)


@given(st.one_of(st.binary(max_size=500), st.builds(lambda code: b"0\nreturn code: %d\n" % code, CODES)))
def test_any_reply_is_success_or_a_message_without_controls(reply: bytes) -> None:
    outcome = outcome_of(reply)
    if outcome == "":
        assert any(b"return code: %d" % code in reply for code in (0, 104)) or b"return code: -0" in reply
    elif outcome == "starting":
        assert b"105" in reply
    else:
        assert outcome[:5] in ("HW025", "HW026", "HW027")
        assert len(outcome) < 500


def outcome_of(reply: bytes) -> str:
    try:
        attach_protocol._require_success(FACTS, reply)
    except HeadwayError as error:
        return f"{error.notice.id}: {error.notice.message}"
    except attach_protocol._StillStartingError:
        return "starting"
    return ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200),
    st.lists(st.tuples(st.integers(0, 1 << 26), st.binary(min_size=1, max_size=99)), max_size=4),
)
def test_a_copy_has_what_the_file_has_and_only_the_extents_that_hold_data(
    tmp_path: Path, head: bytes, pieces: list[tuple[int, bytes]]
) -> None:
    path, copy = tmp_path / "agent-1.spool", tmp_path / "agent-2.spool"
    copy.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.write(head)
        for at, piece in pieces:
            file.seek(at)
            file.write(piece)
    fd = os.open(path, os.O_RDONLY)
    assert agent_file.copy(fd, copy) == 0
    os.close(fd)
    assert copy.stat().st_size == path.stat().st_size
    assert copy.stat().st_blocks <= path.stat().st_blocks + 64
    with path.open("rb") as one, copy.open("rb") as other:
        for at in (0, *(at for at, _ in pieces)):
            one.seek(at)
            other.seek(at)
            assert one.read(4096) == other.read(4096)


@pytest.mark.parametrize(
    ("name", "most"), [("agent-1.spool", 1 << 30), ("locks-1.table", agent_file.LONGEST_TABLE_BYTES)]
)
def test_a_copy_is_never_longer_than_the_format_allows(tmp_path: Path, name: str, most: int) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    fd = os.open(path, os.O_RDONLY)
    left_out = agent_file.copy(fd, tmp_path / name)
    os.close(fd)
    assert left_out == (1 << 40) - most
    assert (tmp_path / name).stat().st_size == most
    assert (tmp_path / name).stat().st_blocks < 64
