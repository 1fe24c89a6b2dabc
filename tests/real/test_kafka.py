"""A Kafka broker that one attaches to while a throttled producer feeds it: is anything holding it back?"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.analyses.overview import overview
from headway.store import open_recording
from support.drivers.real_servers import Server, active_ns, asked, attach, command, lost, serving, warnings_of
from support.drivers.recording_cli import headway

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SECONDS = 3
MESSAGES_PER_S = 25
HANDLER_POOLS = 2
"""The broker's request handlers and those of its controller share one meter."""


@dataclass
class Measured:
    """The recording, and what the broker, its producer and the kernel measured themselves meanwhile."""

    recording: Path
    handlers_idle: float
    active_ns: int
    messages: int
    sent: int
    acknowledged: int
    errors: str
    code: int | None


@contextmanager
def feeding(broker: Server, counts: list[int]) -> Iterator[None]:
    """Send messages to a broker; how many were sent and acknowledged is known at the end."""
    pipe = subprocess.PIPE
    words = command("KafkaFeeder", broker.port, MESSAGES_PER_S)
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as feeder:
        assert feeder.stdout is not None
        assert feeder.stdout.readline() == "sending\n"
        try:
            yield
        finally:
            counts += [int(word) for word in feeder.communicate("end\n", timeout=60)[0].split()]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("kafka")
    recording, counts = folder / "kafka.headway", list[int]()
    (folder / "broker").mkdir()
    with serving("KafkaBroker", folder / "broker") as broker:
        with feeding(broker, counts):
            time.sleep(1.5)  # what a broker loads and elects for its first messages is no part of the question
            idle_ns, began_ns, _ = broker.ask()
            began_active_ns = active_ns(broker.process.pid)
            attach(broker, recording, SECONDS, "--locks")
            worked_ns = active_ns(broker.process.pid) - began_active_ns
            idle_again_ns, ended_ns, _ = broker.ask()
        messages = broker.ask()[2]
    idle = (idle_again_ns - idle_ns) / HANDLER_POOLS / (ended_ns - began_ns)
    return Measured(recording, idle, worked_ns, messages, counts[0], counts[1], broker.errors, broker.code)


def test_that_it_waited_for_messages_comes_first_and_for_as_long_as_the_broker_and_the_kernel_say(
    measured: Measured,
) -> None:
    done = headway("why", measured.recording)
    assert done.returncode == 0, done.stderr
    first = next(line for line in done.stdout.splitlines() if line.lstrip().startswith("*"))
    assert "waited for work from outside for" in first, done.stdout
    said = asked(measured.recording, "why")
    assert measured.handlers_idle > 0.9
    # At most one thread was at work, or about to, at a time.
    assert said["wall_ns"] - said["outside_ns"] < measured.active_ns + 0.05 * said["wall_ns"], measured
    findings = [each.id for each in overview(open_recording(measured.recording)).findings if each.id != "others"]
    assert findings[:2] == ["idle", "cores"]


def test_threads_that_wait_for_messages_are_no_cause(measured: Measured) -> None:
    said = asked(measured.recording, "why")
    false = {"lock_contention", "io", "condition", "sleep", "gc_pause", "imbalance", "starved_consumer", "latch"}
    assert not [loss for loss in lost(said) if loss["cause"] in false and loss["share"] > 0.02], said["lost"]
    assert all((loss["likely_speedup"] or 1) < 1.1 for loss in lost(said)), said["lost"]
    waiting = {each["name"].partition("-ListenerName")[0]: each["role"] for each in said["idle"]}
    for name in ("data-plane-kafka-network-thread-*", "data-plane-kafka-socket-acceptor"):
        assert waiting[name] == "event loop", said["idle"]


def test_no_idle_condition_is_contention(measured: Measured) -> None:
    rows = asked(measured.recording, "locks")
    contended = [row for row in rows if row["contention"]]
    assert not [row for row in contended if "Condition" in row["class_name"]], contended
    # The selector's own lock is contended for a moment where the thread that wakes it up loses its core.
    assert sum(row["lost_core_ns"] for row in contended) < 0.01 * 2 * SECONDS * 1e9, contended
    handlers = [row for row in rows if "receiveRequest" in (row["place"] or "")]
    assert [row["waiting"] for row in handlers if not row["contention"]] == ["waiting for work"]


def test_every_command_ends_well(measured: Measured, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    for words in (
        ("report", measured.recording, "-o", tmp_path / "report.html"),
        ("export", measured.recording, "--format", "perfetto", "-o", trace),
        ("threads", measured.recording),
    ):
        done = headway(*words)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert trace.stat().st_size > 100_000


def test_the_broker_took_every_message_and_wrote_nothing_else(measured: Measured) -> None:
    assert measured.code == 0
    assert measured.errors == ""
    assert measured.acknowledged == measured.sent > SECONDS * MESSAGES_PER_S / 2
    assert measured.messages == measured.sent + 1


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
