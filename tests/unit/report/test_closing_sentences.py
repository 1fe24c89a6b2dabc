"""What remains on the screen after `run`, and tables that use the width there is: made accounts, at several widths."""

from __future__ import annotations

import dataclasses
import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from headway.analyses.common import causes
from headway.analyses.common.causes import CAUSES, TITLES
from headway.analyses.lost_cores.text import place_text
from headway.analyses.lost_cores.types import Account, Loss, Place
from headway.analyses.overview import Finding, Overview
from headway.analyses.scheduling.recording_cost import RecordingCost, recording_cost
from headway.analyses.scheduling.threads import ThreadRow, Threads
from headway.errors import Notice
from headway.report.terminal import make_console, print_table
from headway.report.terminal.closing import closing, cost_line
from headway.report.terminal.lost_cores import causes_table, fitted_place, largest, render_account
from headway.report.terminal.recorded import commands_for, cut_short
from headway.report.terminal.threads import threads_table
from headway.store import open_recording
from headway.store.manifest import Manifest, TableInfo
from support.builders import synthetic
from support.builders.account_builder import SECOND, why_result
from support.builders.synthetic import FakeThread

POOL = Place("org.example.ConnPool.borrow", 15, "Condition@1554d8d3", "http-6", 4711)


def sentences_of(account: Account) -> list[str]:
    whole = dataclasses.replace(why_result(), account=account)
    return closing(Overview((), None, None, Threads((), ()), (), None, whole), "my app.headway")


def account_of(*lost: Loss, app_ns: int = 4 * SECOND, other_ns: int = 0) -> Account:
    """4 cores for 10 s."""
    return Account(0, 10 * SECOND, 4.0, {"app": app_ns}, 0, other_ns, lost, 0.0)


def lost_to(cause: str, place: Place = POOL, core_ns: int = 20 * SECOND, likely: float | None = 2.5) -> Loss:
    return Loss(cause, core_ns, core_ns / (40 * SECOND), place, 4.0, likely_speedup=likely)


def test_three_sentences_say_how_many_cores_what_cost_most_and_where_and_what_to_ask_next() -> None:
    assert sentences_of(account_of(lost_to(causes.LOCK), lost_to(causes.GC, Place()))) == [
        "The program used 0.40 of 4 cores on average, for 10.0 s.",
        "Most was lost to lock contention at org.example.ConnPool.borrow:15, Condition@1554d8d3 (http-6): 20.0 s of core time "
        "(50%); without it the program would likely be 2.50 times as fast.",
        "Next: headway locks 'my app.headway'   (who held the lock, and what that thread did)",
    ]


def test_of_a_gain_that_is_unknown_doubts_are_said_and_a_busy_program_is_asked_about_by_the_estimate() -> None:
    loss = dataclasses.replace(
        lost_to(causes.LOCK, core_ns=4 * SECOND, likely=None),
        unknown_gain=Notice.of("HW824", path="a.headway"),
        estimated_speedup=2.5,
        doubts=("HW491",),
    )
    said = sentences_of(account_of(loss, app_ns=34 * SECOND))
    assert said[1].endswith("how much faster it would be without it is not known (HW824) (in doubt: HW491).")
    assert said[2].startswith("Next: headway locks")


def test_of_a_run_that_did_not_end_by_itself_it_is_said_what_ended_it() -> None:
    whole = dataclasses.replace(why_result(), account=account_of(lost_to(causes.LOCK)))
    found = Overview((), None, None, Threads((), ()), (), None, whole)
    assert closing(found, "a.headway", cut_short(Manifest(ended_by="interrupt")))[0] == (
        "The program used 0.40 of 4 cores on average, for 10.0 s, until it was interrupted."
    )
    assert cut_short(Manifest(ended_by="duration")) == "until the time of --duration was over"
    assert cut_short(Manifest(ended_by="exit", exit_code=3)) == ""
    assert cut_short(Manifest(ended_by="exit", exit_code=143)) == "until SIGTERM ended it"
    assert cut_short(Manifest(ended_by="exit", signal=2)) == "until SIGINT ended it"
    assert cut_short(Manifest(ended_by="interrupt", attached=True)) == ""


def test_what_was_asked_for_beside_the_cores_has_its_own_command() -> None:
    tables = dict.fromkeys(("slice", "allocation", "access", "heap_node"), TableInfo(0, 0))
    asked = Manifest(tables=tables, extra={"counters": {"groups": []}})
    assert commands_for(asked, "my app.headway") == [
        "headway objects 'my app.headway'",
        "headway numa-map 'my app.headway'",
        "headway counters 'my app.headway'",
    ]
    assert commands_for(Manifest(), "a.headway") == []


def test_headways_own_share_of_the_cores_is_none_of_the_programs_and_others_are_told() -> None:
    busy = dataclasses.replace(
        account_of(lost_to(causes.LOCK), other_ns=30 * SECOND),
        used_ns={"app": 3 * SECOND, "gc": SECOND, "headway": SECOND},
    )
    first, second, third = sentences_of(busy)
    assert first == "The program used 0.40 of 4 cores on average, for 10.0 s; other processes had 3.00."
    assert second.startswith("Most was lost to lock contention at org.example.ConnPool.borrow:15")
    assert third.startswith("Next: stop what else runs on this machine and record again; or as it is: headway locks")


def test_a_program_that_keeps_the_cores_busy_is_led_to_its_methods() -> None:
    _, second, third = sentences_of(account_of(app_ns=39 * SECOND))
    assert second == "Nothing of its own kept it from using them."
    assert third.startswith("Next: headway top 'my app.headway' ")
    _, _, third = sentences_of(account_of(lost_to(causes.SCHEDULER, Place(), SECOND, 1.02), app_ns=38 * SECOND))
    assert third.startswith("Next: headway top ")


def test_the_loss_that_would_gain_most_is_not_said_to_be_the_largest() -> None:
    """The order is that of likely gains: what lost most core time may come second."""
    sleep = lost_to(causes.SLEEP, Place(thread="rx-w"), SECOND, 1.3)
    assert sentences_of(account_of(sleep, lost_to(causes.LOCK, core_ns=4 * SECOND, likely=1.1)))[1] == (
        "Most would be gained without sleep: rx-w: 1.00 s of core time (2.5%); without it the program would likely be 1.30 times"
        " as fast."
    )
    assert sentences_of(account_of(sleep, lost_to(causes.LOCK, core_ns=SECOND // 2)))[1].startswith(
        "Most was lost to sleep"
    )
    unknown = lost_to(causes.IO, core_ns=SECOND, likely=None)
    assert sentences_of(account_of(unknown, lost_to(causes.LOCK)))[1].startswith("Most was lost to lock contention")


@pytest.mark.parametrize(
    ("lost_core_ns", "said"),
    [
        (0, "No core stood idle for it, but threads waited"),
        (10_100_000, "Almost no core stood idle for it (10.1 ms of core time), but threads waited"),
        (None, "Threads waited"),
    ],
)
def test_what_threads_waited_for_is_told_where_busy_cores_lost_little_to_it(
    lost_core_ns: int | None, said: str
) -> None:
    account = account_of(lost_to(causes.START, Place(), SECOND // 10, 1.4), other_ns=36 * SECOND)
    text = "Threads waited 22.5 s at ConnPool.borrow:15 for Condition@1."
    finding = Finding("locks", text, {"lost_core_ns": lost_core_ns})
    whole = dataclasses.replace(why_result(), account=account)
    _, second, third = closing(Overview((finding,), None, None, Threads((), ()), (), None, whole), "a.headway")
    assert second == f"{said} 22.5 s at ConnPool.borrow:15 for Condition@1."
    assert third.endswith("headway locks a.headway   (who held the lock, and what that thread did)")


@pytest.mark.parametrize("share", [0.0005, 0.002, 0.02])
@pytest.mark.parametrize("likely", [None, 1.001, 1.03, 1.26])
@pytest.mark.parametrize("cause", [causes.LOCK, causes.GC, causes.START])
def test_nothing_was_lost_to_speak_of_only_where_why_lists_nothing(
    cause: str, likely: float | None, share: float
) -> None:
    loss = lost_to(cause, Place(), round(share * 40 * SECOND), likely)
    account = account_of(loss)
    second = sentences_of(account)[1]
    assert (second == "It lost nothing to speak of.") == (largest(account) == [])
    stands_out = likely == 1.26 and cause != causes.START
    assert (TITLES[cause] in second) == (largest(account) == [loss] and (share >= 0.001 or stands_out))
    assert ("Nothing stands out" in second) == (largest(account) == [loss] and share < 0.001 and not stands_out)


def test_what_lost_little_is_said_to_be_little() -> None:
    little = lost_to(causes.SCHEDULER, Place(), 40 * SECOND // 500, 1.001)
    assert sentences_of(account_of(little))[1] == (
        "It lost little, most of it to scheduling delay: 80.0 ms of core time (0.2%)."
    )


def test_of_a_gain_that_nobody_would_notice_and_next_to_no_core_time_nothing_is_said() -> None:
    """A gain of 1.02 times beside less than a microsecond of core time contradicts itself, and helps nobody."""
    pause = lost_to(causes.GC, Place(), 700, 1.02)
    _, second, third = sentences_of(account_of(pause, lost_to(causes.START, Place(), 900, 1.001)))
    assert second == "Nothing stands out in what it lost."
    assert "GC" not in third


def test_what_recording_cost_is_one_line_made_of_the_agents_clock_and_of_counts() -> None:
    known = RecordingCost(hooks_ns=20_000_000, timed=37, samples=48, program_ns=400_000_000, own_ns=56_000_000)
    assert cost_line(known) == (
        "recording cost the program about 20.0 ms of its CPU time in the lock hooks (37 calls timed, 5.0% of what it used); "
        "48 CPU samples interrupted the program's threads, at a cost that is not measured; headway's own threads took 56.0 ms "
        "beside it"
    )
    samples = "48 CPU samples interrupted the program's threads, at a cost that is not measured"
    assert cost_line(RecordingCost(None, 0, 48, None, None)) == samples
    assert cost_line(RecordingCost(None, 0, None, 400, 50)) == ""


def test_hooks_of_which_no_call_was_timed_are_not_said_to_have_cost_nothing() -> None:
    assert cost_line(RecordingCost(hooks_ns=0, timed=0, samples=48, program_ns=400, own_ns=56_000_000)) == (
        "what the lock hooks took is not known: none of their calls was timed, as they were called seldom; 48 CPU samples "
        "interrupted the program's threads, at a cost that is not measured; headway's own threads took 56.0 ms beside it"
    )
    alone = cost_line(RecordingCost(hooks_ns=0, timed=0, samples=None, program_ns=400, own_ns=None))
    assert alone.startswith("what the lock hooks took is not known")
    assert "0 ns" not in alone


def test_a_few_timed_calls_of_hooks_do_not_stand_for_all() -> None:
    """One call in 64 is timed, and the first ones are the dearest: a single one was said to be a hundredth of the program."""
    for timed, said in ((1, "only 1 of their calls was timed"), (19, "only 19 of their calls were timed")):
        line = cost_line(RecordingCost(hooks_ns=1_500_000, timed=timed, samples=9, program_ns=180_000_000, own_ns=None))
        assert said in line
        assert "1.50 ms" not in line
    assert "1.50 ms" in cost_line(RecordingCost(1_500_000, 20, 9, 180_000_000, None))


def test_what_recording_cost_is_read_from_what_the_agents_said(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 300), ("B", 200)]), FakeThread("headway", 0, [("R", 40)])]
    said = [("locks.hooks_ns", "1000"), ("locks.hooks_timed", "3"), ("gc", "G1"), ("locks.hooks_ns", "500")]
    facts = [{"pid": 100 + at, "key": key, "value": value} for at, (key, value) in enumerate(said)]
    path = synthetic.write(tmp_path / "a.headway", threads, 1000, tables={"jvm": facts})
    assert recording_cost(open_recording(path)) == RecordingCost(1500, 3, None, 300, 40)
    path = synthetic.write(tmp_path / "b.headway", threads, 1000, tables={"jvm": facts[2:3]})
    assert recording_cost(open_recording(path)).hooks_ns is None


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_leads_on(cause: str) -> None:
    assert sentences_of(account_of(lost_to(cause, Place())))[2].startswith("Next: ")


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_place_is_told_by_method_and_line_first_at_any_width_with_more_where_there_is_room(width: int) -> None:
    losses = [lost_to(causes.LOCK), lost_to(causes.CONDITION, dataclasses.replace(POOL, pid=4712))]
    out = io.StringIO()
    console = make_console(out)
    console.width = width
    render_account(account_of(*losses), console)
    rows = [line.rstrip() for line in out.getvalue().splitlines() if "ConnPool.borrow:15" in line]
    assert len(rows) == 2
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert ("Condition@1554d8d3" in rows[0]) == (width > 80)
    assert ("http-6 of 4711" in rows[0]) == ("http-6 of 4712" in rows[1]) == (width > 80)
    alone = io.StringIO()
    print_table(make_console(alone), causes_table(losses[:1]))
    assert "4711" not in alone.getvalue()


@pytest.mark.parametrize("width", [60, 70])
def test_on_a_narrow_terminal_a_place_goes_on_in_the_next_line(width: int) -> None:
    place = dataclasses.replace(POOL, method="org.example.store.TransactionalStore.put", line=421)
    out = io.StringIO()
    console = make_console(out)
    console.width = width
    print_table(console, causes_table([lost_to(causes.LOCK, place)], width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    begin, end = next((each, after) for each, after in itertools.pairwise(lines) if each.startswith("lock contention"))
    assert begin[16:].split()[0] + end.split()[0] == "TransactionalStore.put:421"


def test_what_says_least_of_a_place_goes_first() -> None:
    assert fitted_place(POOL, 60) == "org.example.ConnPool.borrow:15, Condition@1554d8d3 (http-6)"
    assert fitted_place(POOL, 27) == "ConnPool.borrow:15 (http-6)"
    assert fitted_place(POOL, 20) == "ConnPool.borrow:15"
    assert fitted_place(POOL, 14) == "…ool.borrow:15"
    assert fitted_place(Place(thread="worker-1"), 10) == "worker-1"
    assert fitted_place(Place(thread="exec-*", threads=10), 40) == "10 threads exec-*"
    assert place_text(Place("Pool.run", 3, thread="exec-*", threads=10)) == "Pool.run:3 (10 threads exec-*)"
    assert fitted_place(Place(), 10) == ""


@pytest.mark.parametrize(
    ("width", "class_name", "method"),
    [
        (80, "RequestHandl…actoryBuilder", "…ngRequestsOneByOne:1234"),
        (100, "RequestHandlerFactoryBuilder", "processIncomingRequestsOneByOne:1234"),
    ],
)
def test_a_long_method_goes_below_its_class_in_a_narrow_table(width: int, class_name: str, method: str) -> None:
    name = "com.acme.requests.RequestHandlerFactoryBuilder.processIncomingRequestsOneByOne"
    out = io.StringIO()
    losses = [Loss("condition", 10**9, 0.5, Place(name, 1234), 3.8)]
    print_table(Console(width=width, file=out), causes_table(losses, width))
    first, second = out.getvalue().splitlines()[-2:]
    assert class_name in first
    assert second.strip() == method
    assert max(len(first), len(second)) <= width


def row(pid: int, tid: int, name: str) -> ThreadRow:
    facts: dict[str, Any] = {each.name: None for each in dataclasses.fields(ThreadRow)}
    facts |= {"pid": pid, "tid": tid, "name": name, "kind": "app", "running_ns": SECOND, "switches": 5, "share": 0.5}
    return ThreadRow(**facts)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_threads_of_several_processes_carry_the_process_and_their_whole_name_where_it_fits(width: int) -> None:
    name = "https-openssl-nio-8443-exec-17 of connector"
    out = io.StringIO()
    console = make_console(out)
    console.width = width
    print_table(console, threads_table([row(17, 20, name), row(18, 20, name)], width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert [line.split(" app ")[0].split()[-2:] for line in lines if " app " in line] == [["17", "20"], ["18", "20"]]
    assert (name in out.getvalue()) == (width > 80)
    single = io.StringIO()
    print_table(make_console(single), threads_table([row(17, 20, name)]))
    assert "process" not in single.getvalue()


def test_what_would_gain_much_is_named_however_little_core_time_it_lost_where_others_had_the_cores() -> None:
    first = lost_to(causes.LOCK, core_ns=800, likely=1.19)
    _, second, third = sentences_of(account_of(first, lost_to(causes.START, Place(), 700, 1.01)))
    assert second.startswith("Most would be gained without lock contention at org.example.ConnPool.borrow:15")
    assert second.endswith(
        ": the program would likely be 1.19 times as fast, although hardly a core stood idle for it (<1 us of core time)."
    )
    assert third.startswith("Next: headway locks")


def kept_from_cores(other_s: int, ready_s: int, ran_s: int = 4) -> list[str]:
    """Return the sentences for two threads that were ready, and ran, for so long, and waited 22.5 s for a lock."""
    unknown: dict[str, Any] = {each.name: None for each in dataclasses.fields(ThreadRow)}
    row = ThreadRow(**{**unknown, "thread_id": 1, "kind": "app"})
    half = SECOND // 2
    threads = [dataclasses.replace(row, running_ns=ran_s * half, runnable_ns=ready_s * half) for _ in range(2)]
    text = "Threads waited 22.5 s at ConnPool.borrow:15 for Condition@1."
    finding = Finding("locks", text, {"lost_core_ns": 0, "parking_thread_time_ns": 22_500_000_000})
    account = account_of(app_ns=ran_s * SECOND, other_ns=other_s * SECOND)
    whole = dataclasses.replace(why_result(), account=account)
    return closing(Overview((finding,), None, None, Threads((*threads,), ()), (), None, whole), "a.headway")


@pytest.mark.parametrize(("other_s", "ready_s", "is_kept"), [(36, 25, True), (36, 20, False), (12, 25, False)])
def test_a_program_that_others_kept_from_the_cores_is_told_so_before_a_lock_of_less_time(
    other_s: int, ready_s: int, is_kept: bool
) -> None:
    """Of 40 core-seconds others had 36; threads waited 22.5 s for a lock, and 25 s for cores."""
    _, second, third = kept_from_cores(other_s, ready_s)
    assert second.startswith("Other programs kept it from the cores: ") is is_kept
    if is_kept:
        assert "waited for one, for 25.0 s in all, and ran for 4.00 s." in second
        assert third == "Next: stop what else runs on this machine and record again; or as it is: " + (
            "headway top a.headway   (the methods that the CPU time is spent in)"
        )


@pytest.mark.parametrize(("other_s", "is_told"), [(36, True), (12, False)])
def test_whose_the_cores_were_comes_first_in_the_account_if_they_were_not_the_program_s(
    other_s: int, *, is_told: bool
) -> None:
    out = io.StringIO()
    render_account(
        account_of(app_ns=4 * SECOND if is_told else 28 * SECOND, other_ns=other_s * SECOND), make_console(out)
    )
    said = "* Other processes had the cores for 90% of the core time, the program for 10%: close what else runs"
    assert " ".join(out.getvalue().split()).startswith(said) is is_told


@pytest.mark.parametrize(("outside_s", "is_told"), [(9.9, False), (5, True)])
def test_an_idle_program_s_account_begins_with_what_it_waited_for_whoever_has_the_cores(
    outside_s: float, *, is_told: bool
) -> None:
    """Others take nothing from who waits for work from outside: closing them would change nothing."""
    out = io.StringIO()
    busy = account_of(app_ns=SECOND, other_ns=36 * SECOND)
    render_account(dataclasses.replace(busy, outside_ns=round(outside_s * SECOND)), make_console(out))
    said = " ".join(out.getvalue().split())
    assert said.startswith("* The program waited for work from outside for ")
    assert ("Other processes had the cores for 90%" in said) is is_told


def test_threads_that_wait_for_a_core_as_they_are_too_many_are_not_kept_from_it_by_others() -> None:
    """Of 400 s on 4 cores, which have 40 s, 364 s are beyond what the cores could do in any case."""
    assert "for 6 min 40 s in all (6 min 4 s of it for each other), and ran for 4.00 s." in kept_from_cores(36, 400)[1]
    assert "Other programs" not in kept_from_cores(20, 400, ran_s=20)[1]
