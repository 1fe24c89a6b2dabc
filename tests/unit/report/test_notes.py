"""Which messages beside a result are printed in full, which are folded, and where the folded ones are told."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from headway.errors import Notice
from headway.errors.message import NOTE, ONCE, WARNING
from headway.report.terminal import make_console
from headway.report.terminal.printing.notices import print_notices

Run = Callable[..., tuple[int, str, str]]
LOST = Notice.of("HW200", events=3, spans=1)
FEW = Notice.of("HW418")
ASKED = Notice.of("HW217", threshold=3, count=7)


def printed(notices: Sequence[Notice], also: Sequence[str] = ()) -> str:
    out = io.StringIO()
    print_notices(make_console(out), notices, also=also)
    return " ".join(out.getvalue().split())


def test_warnings_are_printed_and_the_rest_is_one_line_of_ids() -> None:
    text = printed([FEW, LOST, ASKED, FEW])
    assert text.startswith("Warnings (headway explain ID says more) HW200 3 scheduling records were lost")
    assert text.endswith("2 notes: HW418, HW217 (in full: headway notes NAME.headway)")
    assert FEW.message not in text
    assert "Warnings" not in printed([FEW])
    assert printed([]) == ""


def test_what_belongs_to_the_recording_is_printed_by_the_command_that_made_it() -> None:
    text = printed([FEW, ASKED], also=(ONCE,))
    assert text.startswith("Notes (headway explain ID says more) HW217 ")
    assert "Warnings" not in text  # a message has one heading, whichever command prints it
    assert "1 note: HW418" in text
    both = printed([ASKED, LOST], also=(ONCE,))
    assert both.index("Warnings (") < both.index("HW200 ") < both.index("Notes (") < both.index("HW217 ")
    assert FEW.message in printed([FEW], also=(ONCE, NOTE))


def test_a_note_may_be_a_warning_where_it_matters() -> None:
    assert (FEW.level, replace(FEW, severity=WARNING).level) == (NOTE, WARNING)
    assert FEW.message in printed([replace(FEW, severity=WARNING)])
    assert Notice("HW999", "of another version").level == WARNING


def test_notes_tells_all_and_json_keeps_all(run: Run, recording: Path) -> None:
    code, out, _ = run("notes", recording)
    assert code == 0
    assert FEW.message in " ".join(out.split())
    found = json.loads(run("notes", recording, "--json")[1])
    assert {each["severity"] for each in found} <= {WARNING, NOTE, ONCE}
    assert "HW418" in {each["id"] for each in found}
