"""Whatever is typed behind --counters, and whatever sysfs says, is an event, or a message: never a traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.record.counters import events, groups
from headway.record.counters.usable import native_events

PARTS = [
    *("cycles", "instructions", "L1-dcache", "-", "loads", "page-faults", "default", "r", "01b1", "mem:", "0x", "0100"),
    *("/", "8", ":", "u", "k", "rw", "x", ",", ";", "=", "cpu", "msr", "software", "event", "umask", "9" * 20),
    *("\u0664", "\udc80", "\0", "..", " "),
]
SYSFS = ["4", "9" * 20, "\u00b2", "config:0-7,32-35", "config1:63-2", "event=1", "config:999"]
texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(PARTS), max_size=9).map("".join),
    st.from_regex(events._WATCHED, fullmatch=True),
    st.from_regex(events._PMU, fullmatch=True),
    st.from_regex(events._RAW, fullmatch=True).map(lambda text: f"{text}:u"),
)
words = st.one_of(st.text(max_size=12), st.sampled_from(SYSFS))


def parsed(text: str, *, allow_breakpoints: bool = True) -> groups.CounterOptions | HeadwayError:
    try:
        return groups.parse(text, allow_breakpoints=allow_breakpoints)
    except HeadwayError as error:
        return error


@settings(max_examples=300)
@given(texts)
@example("mem:0100")
@example("mem:99999999999999999999/8:w")
@example("cpu/event=\udc80/")
@example(",".join(["a/"] * 2000))
def test_any_text_is_groups_of_events_or_a_message(text: str) -> None:
    answer, refused = parsed(text), parsed(text, allow_breakpoints=False)
    if isinstance(answer, HeadwayError):
        assert answer.notice.id in ("HW103", "HW105", "HW106")
        assert answer.notice.message.isprintable()
        return
    found = [event for group in answer.groups for event in group]
    assert found
    if isinstance(refused, HeadwayError):
        assert refused.notice.id == "HW124"
        assert refused.notice.message.isprintable()
    assert isinstance(refused, HeadwayError) == any(each.is_breakpoint for each in found)
    assert all(0 <= number < 1 << 64 for each in found for number in (each.config, each.config1, each.config2))
    native_events(answer.groups)  # fits what the native part takes


@settings(max_examples=100)
@given(
    kind=words,
    form=words,
    terms=words,
    asked=st.sampled_from(["pmu/event=3/", "pmu/named/", "pmu/event/", "pmu/event=0x/"]),
)
def test_any_text_in_sysfs_is_an_event_or_a_message(kind: str, form: str, terms: str, asked: str) -> None:
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(events, "DEVICES", Path(folder)):
        for name, text in (("type", kind), ("format/event", form), ("events/named", terms)):
            path = Path(folder) / "pmu" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, errors="replace", encoding="utf-8")
        answer = parsed(asked)
        if isinstance(answer, HeadwayError):
            assert answer.notice.id == "HW103"
        else:
            native_events(answer.groups)
