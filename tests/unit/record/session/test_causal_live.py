"""What is told while experiments run: points that do not exist or are never visited, a scope that matches nothing, estimates."""

from __future__ import annotations

import contextlib
import os
import random
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from headway.analyses.causal.analysis import causal
from headway.errors import Notice
from headway.record.causal import messages
from headway.record.causal.estimate import estimates
from headway.record.causal.notes import Notes
from headway.record.finalise.finalise import finalise
from headway.record.request.causal_spec import CausalOptions, Latency, Mode, Point
from headway.record.session.experiments import CausalCapture, LiveNotes
from headway.store import open_recording
from support.builders import causal_notes_builder as notes_builder
from support.builders.causal_notes_builder import Note, S

WORK = notes_builder.profile(3, [[2, 2 * S, 0, 600]])


def taken(notes: Iterable[Note]) -> Notes:
    found = Notes()
    for line in notes_builder.text(notes).splitlines():
        found.take(line.encode())
    assert found.damaged == 0
    return found


def near(reason: str, where: str = "com.acme.Work.unt", names: tuple[str, ...] = ("com.acme.Work.unit",)) -> Note:
    return notes_builder.note("near", 0.2, name="work", where=where, reason=reason, near=list(names))


def notices_of(
    tmp_path: Path, notes: list[Note], after_s: float, *, suggests: bool = False, scope: tuple[str, ...] = ()
) -> list[Notice]:
    """Return what is told of notes, `after_s` from their begin; looked at twice, as time goes by."""
    (tmp_path / "causal-77.jsonl").write_text(notes_builder.text(notes))
    said: list[Notice] = []
    live = LiveNotes(tmp_path, said.append, scope)
    for _ in range(2):
        live.look()
        live.warn(notes_builder.BEGIN_NS + round(after_s * S), suggests=suggests)
    return said


@pytest.mark.parametrize(
    ("reason", "where", "message_id", "word"),
    [
        ("no_method", "com.acme.Work.unt", "HW603", "no method unt in it; near: com.acme.Work.unit"),
        ("no_method", "com.acme.Work.unit(I)V", "HW603", "no method unit(I)V in it"),
        ("no_line", "com.acme.Work:41", "HW603", "no line 41 in it"),
        ("no_line_numbers", "com.acme.Work:41", "HW604", "no line numbers"),
        ("ambiguous", "com.acme.Work.unit", "HW605", "com.acme.Work.unit is ambiguous"),
        ("refused", "com.acme.Work.unit", "HW612", "refused the counter in com.acme.Work.unit"),
    ],
)
def test_what_is_certain_is_told_at_once_and_once(
    tmp_path: Path, reason: str, where: str, message_id: str, word: str
) -> None:
    said = notices_of(tmp_path, [notes_builder.begin(), near(reason, where)], 0.5)
    assert [each.id for each in said] == [message_id]
    assert word in said[0].message


def test_a_class_may_be_loaded_late_and_is_missed_only_when_the_program_has_worked_for_some_seconds(
    tmp_path: Path,
) -> None:
    notes = [notes_builder.begin(), near("no_class"), WORK]
    assert notices_of(tmp_path, notes, 4.9) == []
    assert [each.id for each in notices_of(tmp_path, notes, 5)] == ["HW602"]
    assert notices_of(tmp_path, [notes_builder.begin(), near("no_class")], 60) == []  # it waits for something to do


def test_a_class_that_was_loaded_after_all_is_not_missed(tmp_path: Path) -> None:
    notes = [
        notes_builder.begin(),
        near("no_class", "com.acme.Work.unit"),
        notes_builder.point(),
        WORK,
        notes_builder.hits(3, 1),
    ]
    assert notices_of(tmp_path, notes, 60) == []


def test_a_class_that_is_there_but_could_not_be_instrumented_is_not_called_missing(tmp_path: Path) -> None:
    notes = [notes_builder.begin(), near("no_class", "com.acme.Work.unit(I)", ("com.acme.Work", "com.acme.Word")), WORK]
    (said,) = notices_of(tmp_path, notes, 5)
    assert said.id == "HW617"
    assert "work: the class of com.acme.Work.unit(I) is loaded" in said.message
    (said,) = notices_of(
        tmp_path, [notes_builder.begin(), near("no_class", "com.acme.Work:7", ("com.acme.Work",)), WORK], 5
    )
    assert said.id == "HW617"


def test_what_was_missed_too_early_is_withdrawn_once_when_visits_come(tmp_path: Path) -> None:
    path = tmp_path / "causal-77.jsonl"
    notes = [notes_builder.begin(), near("no_class", "com.acme.Work.unit", ("com.acme.Worm",)), WORK]
    said: list[Notice] = []
    texts: list[str] = []
    live = LiveNotes(tmp_path, said.append, tell=texts.append)
    for _ in range(2):
        path.write_text(notes_builder.text(notes))
        live.look()
        live.warn(notes_builder.BEGIN_NS + 6 * S, suggests=False)
        assert texts == []
        assert [each.message.partition(" (")[0] for each in said] == ["work: no class of that name has been loaded yet"]
        notes += [notes_builder.hits(3, 0)]
    notes += [notes_builder.point(), notes_builder.hits(4, 1)]
    path.write_text(notes_builder.text(notes))
    for _ in range(2):
        live.look()
        live.warn(notes_builder.BEGIN_NS + 7 * S, suggests=False)
    assert texts == ["work is being visited now (HW602 is over)"]
    facts = {"mode": "experiments", "ended_by": "exit"}
    assert "yet" not in next(iter(messages.of_runs([(taken(notes[:3]), facts)]))).message


def test_a_point_that_is_never_visited_is_told_after_seconds_of_work(tmp_path: Path) -> None:
    notes = [notes_builder.begin(), notes_builder.point(), WORK, notes_builder.hits(3, 0)]
    assert notices_of(tmp_path, notes, 4.9) == []
    said = notices_of(tmp_path, notes, 5)
    assert [each.id for each in said] == ["HW606"]
    assert "work: com.acme.Work.unit" in said[0].message
    assert notices_of(tmp_path, [*notes, notes_builder.hits(4, 1)], 5) == []
    assert (
        notices_of(tmp_path, [notes_builder.begin(), notes_builder.point(places=0), WORK], 5) == []
    )  # it has no place yet


def test_a_call_that_the_program_never_makes_is_told(tmp_path: Path) -> None:
    notes = [notes_builder.begin(), WORK]
    (tmp_path / "causal-77.jsonl").write_text(notes_builder.text(notes))
    said: list[Notice] = []
    live = LiveNotes(tmp_path, said.append, calls=("orders",))
    live.look()
    live.warn(notes_builder.BEGIN_NS + 5 * S, suggests=False)
    assert [(each.id, "orders" in each.message) for each in said] == [("HW606", True)]
    facts = {"mode": "experiments", "ended_by": "exit", "progress": [{"name": "orders", "where": ""}]}
    assert [each.id for each in messages.of_runs([(taken(notes), facts)])] == ["HW606"]
    called = [
        *notes,
        notes_builder.point(name="orders", where="orders", kind="api"),
        notes_builder.hits(3, 2),
        notes_builder.experiment(0, 2, 0, visits=2),
    ]
    assert list(messages.of_runs([(taken(called), facts)])) == []


def test_candidates_need_not_be_visited(tmp_path: Path) -> None:
    assert (
        notices_of(
            tmp_path,
            [notes_builder.begin(mode="suggest"), notes_builder.point(kind="candidate"), WORK],
            60,
            suggests=True,
        )
        == []
    )


def test_a_scope_that_matches_nothing_is_told_with_where_the_program_works(tmp_path: Path) -> None:
    notes = [
        notes_builder.begin(),
        notes_builder.profile(3, [], outside_ns=2 * S, methods=["org.x.A.run", "org.x.B.run"]),
    ]
    said = notices_of(tmp_path, notes, 5, scope=("com.acme.*",))
    assert [each.id for each in said] == ["HW607"]
    assert "(com.acme.*): the program works in org.x.A.run, org.x.B.run" in said[0].message
    notes[1] = notes_builder.profile(3, [[2, 5, 0, 1]], outside_ns=2 * S)
    assert notices_of(tmp_path, notes, 5) == []


def test_of_several_jvms_one_that_visits_the_point_is_enough(tmp_path: Path) -> None:
    (tmp_path / "causal-78.jsonl").write_text(
        notes_builder.text([notes_builder.begin(78), notes_builder.point(), WORK, notes_builder.hits(3, 1)])
    )
    assert notices_of(tmp_path, [notes_builder.begin(), notes_builder.point(), WORK], 6) == []


def test_what_an_agent_could_not_do_is_told_in_its_words(tmp_path: Path) -> None:
    notes = [notes_builder.begin(), notes_builder.note("problem", 1, id="HW609", text="no timers")]
    (said,) = notices_of(tmp_path, notes, 1)
    assert (said.id, said.message) == ("HW609", "process 77: no timers")
    (said,) = notices_of(
        tmp_path, [notes_builder.begin(), notes_builder.note("problem", 1, id="HW699", text="of a newer agent")], 1
    )
    assert (said.id, said.message) == ("HW609", "process 77: of a newer agent")


def at_end(notes: list[Note], **facts: object) -> list[Notice]:
    return list(messages.of_runs([(taken(notes), {"mode": "experiments", "ended_by": "exit", **facts})]))


def test_a_program_too_short_for_an_experiment_is_told_how_long_it_takes() -> None:
    notes = [
        notes_builder.begin(),
        notes_builder.point(),
        notes_builder.experiment(0, 2, 0, visits=4, complete=0),
        notes_builder.hits(2, 8),
        notes_builder.note("end", 2),
    ]
    (said,) = at_end(notes)
    assert said.id == "HW608"
    assert "after 2.0 s" in said.message
    assert "10 s at least" in said.message  # 4 visits per second, and two experiments of 20
    assert at_end([*notes, notes_builder.experiment(1, 2, 50, visits=9)]) == []
    assert at_end(notes, ended_by="interrupt") == []


def test_a_point_that_was_found_in_one_run_is_not_missed_in_all() -> None:
    found = taken(
        [
            notes_builder.begin(),
            notes_builder.point(),
            notes_builder.hits(1, 5),
            notes_builder.experiment(0, 2, 0, visits=5),
        ]
    )
    missed = taken([notes_builder.begin(), near("no_class", "com.acme.Work.unit")])
    facts = {"mode": "experiments", "ended_by": "exit"}
    assert list(messages.of_runs([(missed, facts), (found, facts)])) == []
    assert [each.id for each in messages.of_runs([(missed, facts)])] == ["HW602"]


def experiments(gain: float, noise: float, count: int) -> list[Note]:
    """Return experiments on line 2 in which the program gains `gain` times the virtual speedup."""
    chance = random.Random(7)
    notes = [notes_builder.begin(), notes_builder.point(), notes_builder.line(2, 42)]
    for number in range(count):
        pct = 0 if number % 2 == 0 else chance.choice([25, 50, 75, 100])
        visits = 1e5 / (1 - gain * pct / 100) * chance.gauss(1, noise)
        notes.append(notes_builder.experiment(number, 2, pct, visits=round(visits)))
    return notes


def test_the_estimate_of_a_line_is_what_the_rates_were_made_with() -> None:
    (found,) = estimates([taken(experiments(0.3, 0, 40))], ["work"])
    assert (found.name, found.point, found.experiments) == ("Work.java:42", "work", 40)
    assert found.gain == pytest.approx(0.3, abs=1e-4)
    assert found.half_width == pytest.approx(0, abs=1e-3)


def test_the_interval_of_an_estimate_holds_the_truth_and_gets_narrower() -> None:
    (few,) = estimates([taken(experiments(0.3, 0.05, 40))], ["work"])
    (many,) = estimates([taken(experiments(0.3, 0.05, 400))], ["work"])
    assert few.half_width is not None
    assert many.half_width is not None
    assert abs(few.gain - 0.3) < few.half_width
    assert abs(many.gain - 0.3) < many.half_width
    assert many.half_width < few.half_width / 2


@pytest.mark.parametrize(("gain", "noise", "delay_s"), [(0.3, 0.05, 0.0), (0.3, 0.2, 0.2), (-0.2, 0.1, 0.1)])
def test_what_is_told_meanwhile_is_what_the_answer_says_of_the_same_experiments(
    tmp_path: Path, gain: float, noise: float, delay_s: float
) -> None:
    notes = experiments(gain, noise, 200)
    for each in notes[3:]:
        each["delay_ns"] = round(delay_s * S * each["speedup_pct"] / 100)
    (live,) = estimates([taken(notes)], ["work"])
    profile = notes_builder.profile(101, [[2, 2 * S, 0, 600]])
    directory = notes_builder.recording(tmp_path / "r.headway", {77: notes_builder.text([*notes, profile])})
    finalise(directory)
    with contextlib.closing(open_recording(directory)) as recording:
        line = causal(recording).lines[0]
    assert (line.line, line.curves[0].progress_point) == (live.name, live.point)
    assert line.slope == pytest.approx(live.gain, rel=1e-12)
    assert line.curve is not None
    assert line.curve.slope_low is not None
    assert line.curve.slope_high is not None
    assert live.half_width == pytest.approx((line.curve.slope_high - line.curve.slope_low) / 2, rel=0.25)  # resamples


def looked_at(
    tmp_path: Path,
    notes: list[Note],
    after_s: float,
    mode: Mode = "experiments",
    progress: Sequence[Point] = (Point("work", "com.acme.Work.unit"),),
    latency: Sequence[Latency] = (),
) -> tuple[CausalCapture, list[str]]:
    """Return a capture that has looked at notes, `after_s` from its begin, and what it showed."""
    spool = tmp_path / f"spool-{len([*tmp_path.iterdir()])}"
    spool.mkdir()
    (spool / "causal-77.jsonl").write_text(notes_builder.text(notes))
    shown: list[str] = []
    options = CausalOptions(mode=mode, progress=tuple(progress), latency=tuple(latency))
    capture = CausalCapture(spool, os.getpid(), options, lambda notice: None, shown.append)
    capture.start(is_running=False)
    capture.tick(time.monotonic_ns() + round(after_s * S))
    capture.stop()
    return capture, shown


def test_experiments_end_when_the_leading_lines_are_known_well(tmp_path: Path) -> None:
    sharp = experiments(0.3, 0.02, 400)
    capture, shown = looked_at(tmp_path, sharp, 40)
    assert capture.has_enough
    assert re.fullmatch(
        r"400 experiments; best so far Work\.java:42: (29|30|31) % if it took no time \(\+-[01]\)", shown[0]
    )
    assert not looked_at(tmp_path, sharp, 20)[0].has_enough  # never so early
    assert not looked_at(tmp_path, sharp, 40, "end-to-end")[0].has_enough


def test_experiments_go_on_while_any_of_the_leading_lines_is_not_known_well(tmp_path: Path) -> None:
    assert not looked_at(tmp_path, experiments(0.3, 0.5, 400), 40)[0].has_enough
    assert not looked_at(tmp_path, experiments(0.3, 0.0, 30), 40)[0].has_enough  # too few
    two = [*experiments(0.3, 0.02, 400), notes_builder.line(3, 43)]
    two += [{**each, "target": 3} for each in experiments(0.1, 0.5, 300)[3:]]
    assert not looked_at(tmp_path, two, 40)[0].has_enough
    capture, shown = looked_at(tmp_path, [notes_builder.begin(), notes_builder.point()], 40)
    assert (capture.has_enough, shown) == (False, ["0 experiments; no line is known to give anything yet"])


ORDERS = Point("orders", "com.acme.Order.done")
REQUESTS = Latency("requests", "com.acme.Request.begin", "com.acme.Request.end")


def with_orders(notes: list[Note], noise: float, number: int = 1) -> list[Note]:
    """Return the notes with a second point, whose visits are a tenth of the others and vary by `noise`."""
    chance = random.Random(11)
    seconds = [notes_builder.point(number, "orders", ORDERS.where)]
    for each in notes:
        if each["t"] == "experiment":
            ((point, count),) = each["visits"]
            orders = round(count / 10 * chance.gauss(1, noise))
            each = {**each, "visits": [[point, count], [number, orders]]}
        seconds.append(each)
    return [notes[0], *seconds]


def with_requests(notes: list[Note], noise: float, before: int = 0) -> list[Note]:
    """Return the notes with a pair instead of their visits: as many requests, each in flight for 1 ms less what the line gives.

    `before`: requests in flight at the attach, of which the agent saw no begin.
    """
    chance = random.Random(13)
    found = [notes_builder.point(1, "requests", REQUESTS.begin, kind="latency_begin", latency=0)]
    found.append(notes_builder.point(2, "requests", REQUESTS.end, kind="latency_end", latency=0))
    for each in notes:
        if each["t"] == "experiment":
            gain = 0.3 * each["speedup_pct"] / 100
            effective_ns = each["dur_ns"] - each["delay_ns"]
            in_flight_ns = round(1000 * 1e6 * (1 - gain) * chance.gauss(1, noise)) - before * effective_ns
            each = {**each, "visits": [], "latency": [[0, 1000, 1000, -before, in_flight_ns]]}
        found.append(each)
    return [notes[0], *found]


def test_experiments_go_on_until_every_point_that_was_asked_for_is_known_well(tmp_path: Path) -> None:
    sharp = experiments(0.3, 0.02, 400)
    both = [Point("work", "com.acme.Work.unit"), ORDERS]
    assert looked_at(tmp_path, with_orders(sharp, 0.02), 40, progress=both)[0].has_enough
    rough = with_orders(sharp, 0.5)
    assert not looked_at(tmp_path, rough, 40, progress=both)[0].has_enough
    assert looked_at(tmp_path, rough, 40, progress=both[:1])[0].has_enough  # nobody asked for the other one
    assert not looked_at(tmp_path, rough, 40, progress=both[1:])[0].has_enough  # nor for the one visited most
    assert not looked_at(tmp_path, sharp, 40, progress=both)[0].has_enough  # of the other one nothing is known
    _, shown = looked_at(tmp_path, with_orders(sharp, 0.02), 40, progress=both)
    assert re.search(r" % of (work|orders) if it took no time", shown[0])


def test_experiments_end_when_latencies_are_known_well_and_not_before(tmp_path: Path) -> None:
    plain = experiments(0.3, 0.02, 400)
    sharp, rough = with_requests(plain, 0.02), with_requests(plain, 0.5)
    assert looked_at(tmp_path, sharp, 40, progress=[], latency=[REQUESTS])[0].has_enough
    assert not looked_at(tmp_path, rough, 40, progress=[], latency=[REQUESTS])[0].has_enough
    beside = [*rough[:1], notes_builder.point(), *rough[1:]]
    for each, first in zip([each for each in beside if each["t"] == "experiment"], plain[3:], strict=True):
        each["visits"] = first["visits"]
    work = [Point("work", "com.acme.Work.unit")]
    assert looked_at(tmp_path, beside, 40, progress=work)[0].has_enough
    assert not looked_at(tmp_path, beside, 40, progress=work, latency=[REQUESTS])[0].has_enough


def test_the_estimate_of_a_latency_is_what_it_was_made_with_also_of_a_jvm_that_was_attached_to() -> None:
    plain = experiments(0.0, 0, 60)
    for before in (0, 7):
        (found,) = estimates([taken(with_requests(plain, 0, before))], ["requests"])
        assert (found.name, found.point) == ("Work.java:42", "requests")
        assert found.gain == pytest.approx(0.3, abs=1e-4)


def test_an_experiment_in_which_a_visit_was_read_half_has_no_part_in_a_latency() -> None:
    notes = with_requests(experiments(0.0, 0, 60), 0)
    odd = next(each for each in notes if each["t"] == "experiment" and each["speedup_pct"] > 0)
    for impossible_ns in (-(10**17), 10**17):
        odd["latency"] = [[0, 1000, 1000, 0, impossible_ns]]
        (found,) = estimates([taken(notes)], ["requests"])
        assert found.gain == pytest.approx(0.3, abs=1e-4)


def test_without_a_baseline_or_visits_there_is_no_estimate() -> None:
    assert (
        estimates(
            [taken([notes_builder.begin(), notes_builder.point(), notes_builder.experiment(0, 2, 50, visits=9)])],
            ["work"],
        )
        == []
    )
    assert (
        estimates(
            [taken([notes_builder.begin(), notes_builder.point(), notes_builder.experiment(0, 2, 0, visits=0)])],
            ["work"],
        )
        == []
    )
    assert estimates([taken([notes_builder.begin()])], ["work"]) == []
