"""Regular expressions on names that are made for them: a limit of time for those that somebody gives; headway's need none."""

from __future__ import annotations

import itertools
import json
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.analyses.common import patterns
from headway.analyses.profile import cpu_time
from headway.analyses.profile.analysis import profile
from headway.analyses.stacks import labels
from headway.analyses.waits import rules
from headway.analyses.waits.classification import roles
from headway.analyses.whatif import pools
from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.sweep import SweepRegion, read_sweep
from support.builders import sample_builder, synthetic
from support.builders.extreme_recordings import everything

LONG = 1 << 16
"""The longest name that a recording may have."""
HOSTILE = [
    *(
        each * (LONG // len(each)) + "!"
        for each in ("1", "_", "$", "-", "-1", "Queue$", "Queue$a", "acquire", "ServerSocket", "busywait", "Barrier.a")
    ),
    "1" * LONG + "a",
    ".SynchronousQueue$" * (LONG // 18) + "\n",
    "AbstractQueuedSynchronizer." + "acquire" * (LONG // 7) + "!",
    "x." + "busywaitbarrier" * (LONG // 15) + "!",
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_rule_takes_the_square_of_a_name(name: str) -> None:
    """Of these names some took the minute, one the day: the limit is a thousand times what they take."""
    class_name, _, method = name.rpartition(".")
    begin = time.process_time()
    cpu_time.pattern_of(name)
    wait = rules.Wait("park", name, [(class_name or name, method or name), (f"{name}.Runner", "run")])
    rules.classify(wait)
    roles.native_rule(wait)
    pools.stem(name)
    pools._NO_FIXED_POOL.search(name)
    labels.plain_lambda(name)
    assert labels._CALLED_SO.fullmatch(name[-labels._LONGEST_CALL :]) is None
    assert time.process_time() - begin < 5


def all_texts(letters: str, most: int) -> list[str]:
    return ["".join(each) for length in range(most + 1) for each in itertools.product(letters, repeat=length)]


def test_names_of_threads_lose_their_numbers_as_by_a_regular_expression() -> None:
    as_before = re.compile(r"[-_#. ]*\d{1,18}$")
    for name in (*all_texts("#1a-", 6), "pool-1-thread-7", "a" + "1" * 20, "1" * 19, "\u0663", "a.\u0663"):
        assert pools.stem(name) == (as_before.sub("", name) or name)


def test_queues_are_found_as_ever() -> None:
    before = re.compile(r"(?P<type>[\w$]*(Queue|Deque)(\$\w+)*)\.(?P<method>\w+)")
    for length in range(6):
        for parts in itertools.product(("Queue", "Deque", "$", "a", ".", "!"), repeat=length):
            name = "".join(parts)
            as_before, now = before.fullmatch(name), rules._QUEUE.fullmatch(name)
            assert (now and (now["type"], now["method"])) == (as_before and (as_before["type"], as_before["method"]))


def test_numbers_in_names_are_found_as_ever() -> None:
    before = re.compile(r"(?<![A-Za-z0-9])#?\d+(?![A-Za-z0-9])|#?\d+$")
    texts = all_texts("#1a-", 7)
    assert [cpu_time.pattern_of(text) for text in texts] == [before.sub("#", text) for text in texts]


def test_accepting_sockets_are_found_as_ever() -> None:
    before = re.compile(
        r"\w*Server\w*Socket\w*\.(accept\w*|implAccept\w*)|(Net|NioSocketImpl|Poll\w*SocketImpl)\.accept\w*"
    ).fullmatch
    now = re.compile(next(each.frames for each in roles.NATIVE if each.id == "accept")).fullmatch
    parts = ["Server", "Socket", "x", ".", "accept", "$"]
    texts = ["".join(each) for length in range(7) for each in itertools.product(parts, repeat=length)]
    assert [bool(now(text)) for text in texts] == [bool(before(text)) for text in texts]
    assert sum(bool(now(text)) for text in texts) > 100


def test_a_call_longer_than_any_rule_knows_fits_none() -> None:
    known = rules.Wait("park", "x.Y", [("a.AbstractQueuedSynchronizer", "acquire")])
    longer = rules.Wait("park", "x.Y", [("a.AbstractQueuedSynchronizer", "acquire" + "e" * 300)])
    assert rules._ACQUIRE.fullmatch(known.calls[0])
    assert not rules._ACQUIRE.fullmatch(longer.calls[0])
    assert len(longer.calls[0]) < 300


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_CPU_S", 0.2)


ENDLESS = re.compile("(a+)+$")
HELD_UP = "a" * 60 + "!"


def by_thread(path: Path) -> None:
    recording = open_recording(sample_builder_recording(path, HELD_UP, "org.example.App.main"))
    profile(recording, "cpu", thread=ENDLESS)


def by_region(path: Path) -> None:
    recording = open_recording(sample_builder_recording(path, "main", f"org.example.{HELD_UP}.main"))
    profile(recording, "cpu", region=ENDLESS)


def by_region_of_a_sweep(path: Path) -> None:
    recording = open_recording(sample_builder_recording(path, "main", f"org.example.{HELD_UP}.main"))
    labels.load_stacks(recording, [SweepRegion("r", ENDLESS.pattern)])


def sample_builder_recording(path: Path, thread: str, frame: str) -> Path:
    threads = [synthetic.FakeThread("app", 0, [("R", 1000)], thread)]
    tables = sample_builder.tables({"cpu": [(0, at, 10, (frame,)) for at in range(10, 1000, 100)]})
    return synthetic.write(path, threads, 1000, tables=tables)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("ask", [by_thread, by_region, by_region_of_a_sweep])
def test_a_pattern_that_would_never_end_is_a_message(tmp_path: Path, ask: Callable[[Path], None]) -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(HeadwayError, match=r"HW327.*\(a\+\)\+\$.* more than 0.2 s"):
        ask(tmp_path / "r.headway")
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


@pytest.mark.usefixtures("at_once")
def test_a_pattern_beside_the_main_thread_is_looked_for_without_a_limit(tmp_path: Path) -> None:
    found: list[bool] = []

    def look() -> None:
        with patterns.in_time("a", tmp_path):
            found.append(bool(re.search("a", "banana")))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [True]


def test_the_first_region_that_fits_is_the_one(tmp_path: Path) -> None:
    recording = open_recording(everything(tmp_path / "r.headway"))
    regions = [SweepRegion("none", "nothing"), SweepRegion("work", "work"), SweepRegion("all", ".")]
    frames = labels._FrameLabels(recording, regions)
    names = [text.rpartition(":")[0] or text for text in frames.texts]
    assert frames.region.tolist() == [1 if "work" in name else 2 for name in names[: len(frames.ids)]]


@pytest.mark.parametrize("pattern", ["(", "a{5,1}", "(" * 5000 + ")" * 5000])
def test_a_sweeps_pattern_that_is_none_is_damage(tmp_path: Path, pattern: str) -> None:
    sweep = {"format": "headway-sweep", "version": 1, "parallel": "x {threads}", "threads": [1]}
    sweep |= {"regions": [{"name": "r", "pattern": pattern}]}
    (tmp_path / "sweep.json").write_text(json.dumps(sweep))
    with pytest.raises(HeadwayError, match=r"HW322.*the pattern of region r: "):
        read_sweep(tmp_path)
