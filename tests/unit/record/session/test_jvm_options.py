"""How a command gets the agent, without running it: what ends up in the arguments and in the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import Notice
from headway.record.request.jvm_options import encode_value, find_java_launcher, plan_launch

AGENT = Path("/opt/headway/libheadway_agent.so")
SPOOL = Path("/var/spool/headway")


def fake_jdk(root: Path, content: bytes = b"\x7fELF...") -> Path:
    java = root / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_bytes(content)
    java.chmod(0o755)
    (root / "jdk" / "lib").mkdir()
    (root / "jdk" / "lib" / "libjli.so").touch()
    return java


def test_a_java_launcher_gets_the_agent_as_its_first_argument(tmp_path: Path) -> None:
    java = fake_jdk(tmp_path)
    plan = plan_launch([str(java), "-jar", "app.jar"], {"A": "b"}, AGENT, SPOOL)
    assert plan.how == "arguments"
    assert plan.argv == [str(java), f"-agentpath:{AGENT}=spool={SPOOL},children=1", "-jar", "app.jar"]
    assert plan.env == {"A": "b"}
    assert plan.notices == []


def test_a_launcher_found_in_the_path_through_symlinks_is_one_too(tmp_path: Path) -> None:
    java = fake_jdk(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(java)
    assert plan_launch(["java"], {"PATH": str(tmp_path / "bin")}, AGENT, SPOOL).how == "arguments"
    assert find_java_launcher("bin/java", {}, cwd=tmp_path) == java


def test_a_script_called_java_is_a_wrapper(tmp_path: Path) -> None:
    java = fake_jdk(tmp_path, b"#!/bin/sh\nexec real-java")
    plan = plan_launch([str(java), "App"], {}, AGENT, SPOOL)
    assert plan.how == "environment"
    assert plan.argv == [str(java), "App"]
    assert plan.env == {"JAVA_TOOL_OPTIONS": f"-agentpath:{AGENT}=spool={SPOOL}"}
    assert [notice.id for notice in plan.notices] == ["HW010"]


def test_what_java_tool_options_held_before_is_kept() -> None:
    plan = plan_launch(["mvn", "test"], {"JAVA_TOOL_OPTIONS": "-Xmx1g -Dx=y"}, AGENT, SPOOL, jvm_processors=2)
    assert plan.env["JAVA_TOOL_OPTIONS"] == (
        f"-Xmx1g -Dx=y -agentpath:{AGENT}=spool={SPOOL} -XX:ActiveProcessorCount=2"
    )


def test_the_processor_count_goes_the_same_way_and_to_children(tmp_path: Path) -> None:
    java = fake_jdk(tmp_path)
    plan = plan_launch([str(java), "App"], {}, AGENT, SPOOL, jvm_processors=3)
    assert plan.argv[1:3] == [
        f"-agentpath:{AGENT}=spool={SPOOL},children=1,processors=3",
        "-XX:ActiveProcessorCount=3",
    ]


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        (["-XX:ActiveProcessorCount=8", "App"], {}),
        (["App"], {"JDK_JAVA_OPTIONS": "-XX:ActiveProcessorCount=8"}),
        (["App"], {"_JAVA_OPTIONS": "-XX:ActiveProcessorCount=8"}),
    ],
)
def test_a_later_setting_of_the_processor_count_is_told(argv: list[str], env: dict[str, str], tmp_path: Path) -> None:
    java = fake_jdk(tmp_path)
    plan = plan_launch([str(java), *argv], env, AGENT, SPOOL, jvm_processors=2)
    assert [notice.id for notice in plan.notices] == ["HW011"]
    assert plan_launch([str(java), *argv], env, AGENT, SPOOL).notices == []


def test_a_missing_command_is_left_to_the_launcher() -> None:
    plan = plan_launch(["no-such-command"], {"PATH": "/nonexistent"}, AGENT, SPOOL)
    assert plan.argv == ["no-such-command"]
    assert plan.notices == []


def test_an_agent_for_another_machine_is_left_out(tmp_path: Path) -> None:
    java = fake_jdk(tmp_path, b"\x7fELF\x02" + b"\0" * 13 + b"\xb7\0")  # 64 bits, aarch64
    library = tmp_path / "agent.so"
    library.write_bytes(b"\x7fELF\x02" + b"\0" * 13 + b"\x3e\0")  # 64 bits, x86-64
    plan = plan_launch([str(java), "App"], {}, library, SPOOL)
    assert plan.argv == [str(java), "App"]
    assert [notice.id for notice in plan.notices] == ["HW012"]


@pytest.mark.parametrize("where", ["arguments", "argument file", "JDK_JAVA_OPTIONS"])
@pytest.mark.parametrize("option", ["-Xshare:dump", "-XX:ArchiveClassesAtExit=a.jsa", "-XX:+AutoCreateSharedArchive"])
def test_a_jvm_that_archives_classes_is_left_alone(option: str, where: str, tmp_path: Path) -> None:
    java = fake_jdk(tmp_path)
    (tmp_path / "options").write_text(option)
    argv = {"arguments": [option, "App"], "argument file": ["@options", "App"]}.get(where, ["App"])
    env = {"JDK_JAVA_OPTIONS": option} if where == "JDK_JAVA_OPTIONS" else {}
    plan = plan_launch([str(java), *argv], env, AGENT, SPOOL, cwd=tmp_path)
    assert plan.argv == [str(java), *argv]
    assert [notice.id for notice in plan.notices] == ["HW013"]


def test_a_path_that_option_syntax_cannot_hold_is_copied_away(tmp_path: Path) -> None:
    library = tmp_path / "a=b" / "agent.so"
    library.parent.mkdir()
    library.write_bytes(b"agent")
    plan = plan_launch(["mvn"], {}, library, SPOOL)
    assert plan.copy is not None
    used = plan.env["JAVA_TOOL_OPTIONS"].removeprefix("-agentpath:").partition("=")[0]
    assert Path(used).read_bytes() == b"agent"
    assert Path(used).parent == plan.copy.directory
    plan.copy.release()
    assert not plan.copy.directory.exists()


def test_a_path_with_spaces_is_quoted_for_the_environment_only(tmp_path: Path) -> None:
    java = fake_jdk(tmp_path)
    library = tmp_path / "with space" / "agent.so"
    assert plan_launch([str(java)], {}, library, SPOOL).argv[1].startswith(f"-agentpath:{library}=")
    assert plan_launch(["mvn"], {}, library, SPOOL).env["JAVA_TOOL_OPTIONS"].startswith(f'"-agentpath:{library}=')


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        (["chroot", "/srv/other", "java", "-jar", "app.jar"], "chroot"),
        (["env", "A=b", "/usr/sbin/chroot", "/srv", "java"], "chroot"),
        (["sh", "-c", "cd /x && podman run --env-host image java"], "podman"),
        (["unshare", "--mount", "--root=/srv", "java"], "unshare"),
        (["unshare", "-mR", "/srv", "java"], "unshare"),
        (["unshare", "--net", "java", "-jar", "app.jar"], None),
        (["nsenter", "-t", "1", "-m", "java"], "nsenter"),
        (["nsenter", "-t", "1", "-n", "java"], None),
        (["mvn", "-Dtool=chroot", "-Dhome=/chroot/x", "test"], None),
        (["./build.sh"], "bwrap"),
        (["bash", "build.sh"], "bwrap"),
        (["./harmless.sh"], None),
    ],
)
def test_a_command_that_goes_to_another_root_gets_no_agent_which_would_not_be_there(
    command: list[str], tool: str | None, tmp_path: Path
) -> None:
    (tmp_path / "build.sh").write_text("#!/bin/bash\n# builds\nexec /usr/bin/bwrap --ro-bind /srv / java\n")
    (tmp_path / "harmless.sh").write_text("#!/bin/bash\n# no chroot here\njava -jar app.jar\n")
    plan = plan_launch(command, {"PATH": "/nowhere"}, AGENT, SPOOL, cwd=tmp_path)
    assert ("JAVA_TOOL_OPTIONS" in plan.env) == (tool is None)
    assert [notice.message for notice in plan.notices if notice.id == "HW014"] == (
        [] if tool is None else [Notice.of("HW014", tool=tool).message]
    )


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_an_encoded_value_needs_no_quoting_and_loses_nothing(value: str) -> None:
    encoded = encode_value(value)
    assert not set(encoded) & set(" ,='\"\n\t\\")
    decoded = bytearray()
    at = 0
    while at < len(encoded):
        if encoded[at] == "%":
            decoded.append(int(encoded[at + 1 : at + 3], 16))
            at += 3
        else:
            decoded += encoded[at].encode("ascii")
            at += 1
    assert decoded.decode() == value
