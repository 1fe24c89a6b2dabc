"""Stacks that could not be read: what ran there is named, and above a tenth no line is a finding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.analyses.causal.analysis import analyse
from headway.analyses.causal.data import Data
from headway.analyses.causal.health import ran_ns
from support.builders.causal_builder import MADE, data_of, notice_ids, printed


def unread(share: float, **running: int) -> Data:
    """Return the made recording with so much of its CPU time unread, and what ran there in ns."""
    data = data_of(MADE)
    ns = round(ran_ns(data) * share / (1 - share))
    return replace(data, health={"unread_ns": ns, **{f"unread.{name}": value for name, value in running.items()}})


def text(data: Data, number: str) -> str:
    return next(notice.message for notice in analyse(data, "a.headway").notices if notice.id == number)


def test_where_all_stacks_are_read_lines_are_findings() -> None:
    result = analyse(unread(0.0), "a.headway")
    assert any(line.significant for line in result.lines)
    assert not {"HW623", "HW651"} & set(notice_ids(result))


def test_more_than_a_twentieth_unread_is_said_and_findings_stay() -> None:
    data = unread(0.08)
    result = analyse(data, "a.headway")
    assert any(line.significant for line in result.lines)
    assert "HW623" in notice_ids(result)
    assert "8.0%" in text(data, "HW623")


def test_above_a_tenth_no_line_is_a_finding_nor_without_effect() -> None:
    plain = analyse(unread(0.09), "a.headway")
    assert {line.shape for line in plain.lines} & {"gain", "flattens", "slower", "none"}
    data = unread(0.11)
    result = analyse(data, "a.headway")
    assert {line.shape for line in result.lines} <= {"unknown", "untested"}
    assert not any(curve.significant for line in result.lines for curve in line.curves)
    assert "HW651" in notice_ids(result)
    assert "HW623" not in notice_ids(result)
    assert "HW622" not in notice_ids(result)  # a longer recording would be as blind
    assert result.verdict == "Nothing can be said of any line: 11% of the CPU time has stacks that could not be read."
    assert "not known yet" not in result.verdict
    printed(result)


def test_what_ran_is_named_with_the_most_first() -> None:
    data = unread(0.5)
    whole = ran_ns(data)
    named = {"stub a": whole // 4, "library b.so": whole // 8, "interpreter": whole // 20, "system call": whole // 100}
    said = text(replace(data, health={**data.health, **{f"unread.{k}": v for k, v in named.items()}}), "HW651")
    assert "50%" in said
    assert "stub a 25%, library b.so 12%, interpreter 5.0%" in said
    assert "system call" not in said


@pytest.mark.parametrize(("old", "is_said"), [(0.0, False), (0.04, False), (0.2, True)])
def test_lines_of_code_that_was_compiled_before_an_attach_are_doubted(old: float, is_said: bool) -> None:
    data = data_of(MADE)
    result = analyse(replace(data, health={"old_code_ns": round(ran_ns(data) * old)}), "a.headway")
    assert ("HW652" in notice_ids(result)) is is_said


def test_lines_of_safepoints_throughout_are_said() -> None:
    assert "DebugNonSafepoints" in text(replace(data_of(MADE), health={"safepoint_lines": 1}), "HW652")
