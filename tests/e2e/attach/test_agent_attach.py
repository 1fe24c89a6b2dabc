"""Attaching to real JVMs: what is found, what is refused, and that the program never notices."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.record.agent import attach_protocol
from headway.record.agent.attach import attach, find_jvm
from headway.record.target_process.deadline import Deadline
from support.drivers.live_process import blocked_times, state, thread_names
from support.drivers.ordinary_user import ordinary_user
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, agent, java_command
from support.oracles.agent_reader import ATTACHED, DAEMON, read_agent_spool

IN_NAMESPACES = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
# A /tmp that is not ours. A checkout below /tmp is brought back, since the programs to run are in it.
OWN_TMP = """
here=$1; shift
case $here in
/tmp/*) keep=$(mktemp -d -p /run) && mount --rbind /tmp "$keep" && mount -t tmpfs tmpfs /tmp &&
        mkdir -p "$here" && mount --bind "$keep/${here#/tmp/}" "$here" && umount -l "$keep" && rmdir "$keep" ;;
*) mount -t tmpfs tmpfs /tmp ;;
esac && exec "$@"
"""
CHECKOUT = str(Path(__file__).resolve().parents[3])


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@contextmanager
def sleeper(
    java: Path,
    output: Path,
    *jvm: str,
    before: tuple[str, ...] = (),
    seconds: int = 600,
    ready: bool = True,
    env: dict[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A running Sleeper; its output goes to OUTPUT/out and OUTPUT/err. It must live until its test ends it."""
    with (output / "out").open("wb") as out, (output / "err").open("wb") as err:
        command = [*before, *java_command(java, "Sleeper", seconds, 2, 20, jvm=jvm)]
        process = subprocess.Popen(command, stdout=out, stderr=err, env=env)
        try:
            while ready and b"ready" not in (output / "out").read_bytes():
                assert process.poll() is None, (output / "err").read_bytes()
                time.sleep(0.02)
            yield process
            assert process.poll() is None, (output / "err").read_bytes()
        finally:
            process.kill()
            process.wait()


def descendant_jvm(root: int) -> int:
    """The Sleeper below a wrapper process, or in its place, as seen from here."""

    def look() -> int | None:
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with contextlib.suppress(OSError):  # ended meanwhile
                if root in (pid, *_parents(pid)) and find_jvm(pid) is not None:
                    return pid
        return None

    return wait_for(look)


def _parents(pid: int) -> list[int]:
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def printed(output: Path) -> tuple[int, bytes]:
    """How many lines the program printed on standard output, and what came out on standard error."""
    return (output / "out").read_bytes().count(b"\n"), (output / "err").read_bytes()


def brief_numbers(path: Path) -> list[int]:
    """One each: a thread that begins just as the agent comes is announced twice, alike."""
    spool = read_agent_spool(path)
    return sorted({int(start.name.removeprefix("brief-")) for start in spool.starts if start.name.startswith("brief-")})


def wait_for_rounds(pid: int, spool: Path) -> None:
    """Wait until the program has started and ended several further threads: in each round its main thread sleeps twice
    and more. By then no record of a thread before them is still being written.
    """
    main = read_agent_spool(spool).thread("main").tid
    seen = blocked_times(pid, main)
    wait_for(lambda: blocked_times(pid, main) >= seen + 40)


def test_threads_that_already_run_are_found_with_their_os_threads(java: Path, tmp_path: Path) -> None:
    with sleeper(java, tmp_path) as process:
        result = attach(process.pid, agent(), tmp_path)
        result.detach()
        tasks = thread_names(process.pid)
        spool = read_agent_spool(result.collect())
    existing = {start.name: start for start in spool.starts if start.flags & ATTACHED}
    assert {"main", "sleeper-0", "sleeper-1", "Reference Handler", "Finalizer"} <= set(existing)
    for name in ("sleeper-0", "sleeper-1"):  # the kernel's name of an OS thread is cut to 15 bytes
        assert tasks[existing[name].tid] == name
        assert existing[name].flags & DAEMON
    assert existing["main"].tid in tasks
    assert spool.info["attached"] == "true"
    assert spool.info["command"].startswith("headway.workloads.Sleeper")


def test_threads_that_begin_later_are_recorded_until_the_agent_is_told_to_stop(java: Path, tmp_path: Path) -> None:
    with sleeper(java, tmp_path) as process:
        result = attach(process.pid, agent(), tmp_path)
        wait_for(lambda: len(brief_numbers(result.spool)) >= 2)
        result.stop()
        wait_for_rounds(process.pid, result.spool)
        first = brief_numbers(result.spool)
        wait_for_rounds(process.pid, result.spool)
        assert brief_numbers(result.spool) == first == list(range(first[0], first[-1] + 1))
        again = attach(process.pid, agent(), tmp_path)  # a second recording of the same JVM
        assert again.spool != result.spool
        wait_for(lambda: brief_numbers(again.spool))
        again.detach()
        second = brief_numbers(again.spool)
        assert second[0] > first[-1] + 1
        assert "agent-" not in Path(f"/proc/{process.pid}/maps").read_text(), "both files are let go of"
        assert printed(tmp_path) == (1, b"")


def test_the_jvms_flag_about_dynamic_agents_is_put_back(tmp_path: Path) -> None:
    with sleeper(JAVAS["jdk25"], tmp_path) as process:
        result = attach(process.pid, agent(), tmp_path)
        result.detach()
        assert read_agent_spool(result.spool).info["dynamic_loading_warning"] == "hidden"
        facts = find_jvm(process.pid)
        assert facts is not None
        words = ["jcmd", "VM.flags -all", "", ""]
        reply = attach_protocol._conversation(facts, words, Deadline.after(20)).decode()
        (line,) = (line for line in reply.splitlines() if " EnableDynamicAgentLoading " in line)
        assert line.split()[-1] == "{default}"
        assert printed(tmp_path) == (1, b"")


def test_a_jvm_that_is_recorded_already_is_left_to_the_first(java: Path, tmp_path: Path) -> None:
    with sleeper(java, tmp_path) as process:
        first = attach(process.pid, agent(), tmp_path)
        with pytest.raises(HeadwayError, match="HW027"):
            attach(process.pid, agent(), tmp_path)
        known = len(brief_numbers(first.spool))
        wait_for(lambda: len(brief_numbers(first.spool)) > known)  # the first goes on
        first.detach()


def test_a_jvm_that_ends_leaves_its_records(java: Path, tmp_path: Path) -> None:
    with sleeper(java, tmp_path) as process:
        result = attach(process.pid, agent(), tmp_path)
        wait_for(lambda: brief_numbers(result.spool))
        process.kill()
        process.wait()
        result.detach()
        assert brief_numbers(result.collect())
        process.poll = lambda: None  # type: ignore[method-assign]


# --- refusals: nothing happens to the process ----------------------------------------------------------------------


def test_a_process_that_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(HeadwayError, match="HW020"):
        attach(process.pid, agent(), tmp_path)


def test_a_process_without_a_jvm_gets_no_signal(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        with pytest.raises(HeadwayError, match="HW022"):
            attach(process.pid, agent(), tmp_path)
        time.sleep(0.1)
        assert process.poll() is None
        process.kill()


@pytest.mark.parametrize("by_file", ["", "argument file", "no performance data"])
@pytest.mark.parametrize("flag", ["-XX:+DisableAttachMechanism", "-Xrs"])
def test_a_jvm_that_would_print_its_stacks_or_die_is_refused(
    java: Path, flag: str, by_file: str, tmp_path: Path
) -> None:
    options = [flag]
    if by_file:
        options.append("-XX:-UsePerfData")
    if by_file == "argument file":
        (tmp_path / "options").write_text("\n".join(options))
        options = [f"@{tmp_path / 'options'}"]
    with sleeper(java, tmp_path, *options) as process:
        with pytest.raises(HeadwayError, match="HW023"):
            attach(process.pid, agent(), tmp_path)
        time.sleep(0.1)
        assert printed(tmp_path) == (1, b"")


def test_a_stopped_jvm_is_refused(tmp_path: Path) -> None:
    with sleeper(JAVAS["jdk17"], tmp_path) as process:
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: state(process.pid) == "T")
        with pytest.raises(HeadwayError, match=r"HW023.*stopped"):
            attach(process.pid, agent(), tmp_path)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
        assert printed(tmp_path) == (1, b"")


def test_a_jvm_that_is_just_starting_survives_every_attempt(java: Path, tmp_path: Path) -> None:
    for number in range(10):  # whether it still starts when we first look is up to the machine
        place = tmp_path / str(number)
        place.mkdir()
        with sleeper(java, place, ready=False) as process:
            attempts = 0
            while True:
                attempts += 1
                try:
                    result = attach(process.pid, agent(), place)
                    break
                except HeadwayError as error:
                    if error.notice.id not in ("HW022", "HW023"):
                        raise
            result.detach()
            assert printed(place)[1] == b""
        if attempts > 1:
            return
    pytest.fail("the JVM was up at the first attempt ten times")


def test_a_jvm_that_forbids_dynamic_agents_is_refused(java: Path, tmp_path: Path) -> None:
    with sleeper(java, tmp_path, "-XX:-EnableDynamicAgentLoading") as process:
        with pytest.raises(HeadwayError, match=r"HW023.*EnableDynamicAgentLoading"):
            attach(process.pid, agent(), tmp_path)
        assert printed(tmp_path) == (1, b"")


def test_a_library_that_is_no_agent_is_reported_with_the_jvms_words(java: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    with sleeper(java, tmp_path) as process, pytest.raises(HeadwayError, match=r"HW025.*broken\.so"):
        attach(process.pid, broken, tmp_path)


def test_a_full_disk_is_reported_and_leaves_nothing(java: Path, tmp_path: Path) -> None:
    missing = tmp_path / "spool"
    missing.mkdir()
    with sleeper(java, tmp_path, "-XX:-UsePerfData") as process:
        subprocess.run(["prlimit", "--pid", str(process.pid), "--fsize=100000"], check=True)
        with pytest.raises(HeadwayError, match="HW026"):
            attach(process.pid, agent(), missing)
        assert list(missing.iterdir()) == []
        assert printed(tmp_path) == (1, b"")


# --- other namespaces, other users ---------------------------------------------------------------------------------


@pytest.mark.root
@pytest.mark.parametrize("own_tmp", [False, True])
def test_a_jvm_in_a_container_is_recorded(java: Path, own_tmp: bool, tmp_path: Path) -> None:
    # Its own process ids, and (own_tmp) a /tmp that is not ours, so that it can neither read our agent's copies nor our files.
    script = OWN_TMP if own_tmp else 'shift; exec "$@"'
    with sleeper(java, tmp_path, before=(*IN_NAMESPACES, "sh", "-c", script, "sh", CHECKOUT)) as wrapper:
        pid = descendant_jvm(wrapper.pid)
        facts = find_jvm(pid)
        assert facts is not None
        assert facts.ns_pid != pid
        assert not facts.same_mounts
        result = attach(pid, agent(), tmp_path)
        wait_for(lambda: brief_numbers(result.spool))
        result.detach()
        collected = result.collect()
        left = set(os.listdir(f"/proc/{pid}/root/tmp"))
        result.close()
        now = set(os.listdir(f"/proc/{pid}/root/tmp"))
        (private,) = (name for name in left if name.startswith(".headway-"))
        assert not {private, f".attach_pid{facts.ns_pid}"} & now
        assert printed(tmp_path) == (1, b"")
    assert collected.parent == tmp_path
    spool = read_agent_spool(collected)
    assert (spool.pid, spool.host_pid) == (facts.ns_pid, pid)
    assert spool.thread("sleeper-0").flags & ATTACHED
    assert brief_numbers(collected)


@pytest.mark.root
def test_the_records_of_a_container_outlive_it(java: Path, tmp_path: Path) -> None:
    with sleeper(java, tmp_path, before=(*IN_NAMESPACES, "sh", "-c", OWN_TMP, "sh", CHECKOUT)) as wrapper:
        pid = descendant_jvm(wrapper.pid)
        result = attach(pid, agent(), tmp_path)
        wait_for(lambda: brief_numbers(result.spool))
        os.kill(pid, signal.SIGKILL)
        wrapper.wait()
        wrapper.poll = lambda: None  # type: ignore[method-assign]
        result.detach()
        assert brief_numbers(result.collect())
        result.close()


@pytest.mark.other_users
@pytest.mark.root
def test_root_records_another_users_jvm(java: Path, tmp_path: Path) -> None:
    with ordinary_user() as user:
        if subprocess.run(user.argv([str(java), "-version"]), capture_output=True).returncode != 0:
            pytest.skip(f"an ordinary user may not run {java}")
        tmp_path.chmod(0o700)
        with sleeper(java, tmp_path, before=tuple(user.argv([]))) as wrapper:
            pid = descendant_jvm(wrapper.pid)
            facts = find_jvm(pid)
            assert facts is not None
            assert (facts.uid, facts.gid) == (user.uid, user.gid)
            result = attach(pid, agent(), tmp_path)
            wait_for(lambda: brief_numbers(result.spool))
            result.detach()
            collected = result.collect()
            result.close()
            assert os.geteuid() == 0, "this process is still root"
            assert Path("/proc/self/environ").read_bytes() is not None
            assert printed(tmp_path) == (1, b"")
        assert brief_numbers(collected)


@pytest.mark.other_users
@pytest.mark.root
@pytest.mark.parametrize("trick", ["symlink", "hardlink", "fifo"])
def test_a_jvms_user_cannot_turn_roots_recorder_upon_files_of_root(tmp_path: Path, trick: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(bytes(4096))
    tmp_path.chmod(0o700)  # so the agent writes into a directory of the JVM's user
    with ordinary_user() as user:
        java = JAVAS["jdk17"]
        with sleeper(java, tmp_path, before=tuple(user.argv([]))) as wrapper:
            result = attach(descendant_jvm(wrapper.pid), agent(), tmp_path)
            wait_for(lambda: brief_numbers(result.spool))
            result.spool.unlink()
            if trick == "symlink":
                result.spool.symlink_to(victim)
            elif trick == "hardlink":
                link = Path("/tmp") / f"headway-victim-{os.getpid()}"
                link.write_bytes(bytes(4096))
                result.spool.hardlink_to(link)
                link.rename(victim)
            else:
                os.mkfifo(result.spool, 0o666)
            result.stop()  # by the file that headway made and holds open, whatever its name leads to by now
            collected = result.collect()
            result.close()
    assert victim.read_bytes() == bytes(4096)
    assert brief_numbers(collected)


@pytest.mark.root
def test_an_ordinary_user_may_not_attach_to_roots_jvm(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from headway.record.agent.attach import attach\n"
        "from headway.errors import HeadwayError\n"
        "try: attach(int(sys.argv[1]), Path('/nonexistent'), Path('/tmp'))\n"
        "except HeadwayError as error: print(error)\n"
    )
    with ordinary_user() as user, sleeper(JAVAS["jdk17"], tmp_path) as process:
        done = user.run([user.python, "-c", script, str(process.pid)])
        assert done.stdout.startswith("HW021"), done
        assert printed(tmp_path) == (1, b"")
    assert sys.version_info >= (3, 11)
