"""The README's `why` output has the form of what headway prints today; its figures are of one run."""

from __future__ import annotations

import io
import re
from pathlib import Path

from headway.analyses.common.causes import TITLES
from headway.report.terminal.lost_cores import LINES, render_account
from headway.report.terminal.printing.console import make_console
from support.builders.account_builder import account

README = Path(__file__).parents[2] / "README.md"
TIME = r"[\d.]+ (?:ns|us|ms|s|min|h)"
SHARE = r"<?[\d.]+%"
CAUSES = "|".join(map(re.escape, sorted(TITLES.values(), key=len, reverse=True)))
ROW = re.compile(rf"(?:{CAUSES})(?: +\S.*?)? +{TIME} +{SHARE}(?: +(?:[<>]?[\d.]+x|-)){{2}}")
SENTENCE = re.compile(
    rf"\* [\d.]+ cores? x {TIME} = [\d.]+ core-(?:s|ms|min|h): {TIME} used by .* stolen by the host.*, {TIME} \({SHARE}\) lost\."
)


def shown() -> list[str]:
    """Return the lines of the README's first text block."""
    found = re.search(r"`headway why` begins so:\n\n```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def printed() -> list[str]:
    out = io.StringIO()
    render_account(account(rows=4), make_console(out))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def parts(lines: list[str]) -> tuple[str, str, list[str], list[str], list[str]]:
    """Return the sentence, the title of the table, its columns, its rows, and the evidence."""
    head = next(number for number, line in enumerate(lines) if line.startswith("lost to"))
    below = next(number for number, line in enumerate(lines) if line.startswith("  - "))
    sentence = " ".join(" ".join(lines[: head - 1]).split())
    evidence = re.split(r" ?  - ", " ".join(lines[below:]))[1:]
    return sentence, lines[head - 1], lines[head].split(), lines[head + 1 : below], evidence


def test_the_readme_shows_what_headway_prints() -> None:
    readme, today = parts(shown()), parts(printed())
    assert readme[1:3] == today[1:3]
    assert 1 <= len(readme[3]) <= LINES
    for sentence in (readme[0], today[0]):
        assert SENTENCE.fullmatch(sentence), sentence
    for row in (*readme[3], *today[3]):
        assert ROW.fullmatch(row), row
    for line in (*readme[4], *today[4]):
        assert line.partition(":")[0] in TITLES.values(), line
