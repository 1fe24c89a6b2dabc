"""An option whose value was forgotten is refused: the option behind it is not taken for the value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from headway.cli.main import COMMANDS, cli
from headway.cli.missing_values import refuse_missing_values

Run = Callable[..., tuple[int, str, str]]
VALUES = [
    pytest.param(command, option, id=f"{entry.name} {option}")
    for entry in COMMANDS
    for command in (entry.command(),)
    for parameter in command.params
    if isinstance(parameter, click.Option)
    and not (parameter.is_flag or parameter.count or isinstance(parameter.flag_value, str))
    for option in parameter.opts
]


@pytest.mark.parametrize(("command", "option"), VALUES)
def test_an_option_that_needs_a_value_takes_no_other_option_for_it(command: click.Command, option: str) -> None:
    context = click.Context(cli, info_name="headway")
    for other in ("--", next(name for each in command.params for name in each.opts if name.startswith("-"))):
        with pytest.raises(click.UsageError, match=f"^{option} needs a value: {other} after it"):
            refuse_missing_values(command, context, [option, other, "x"])


def test_nothing_is_recorded_where_the_kind_of_objects_is_missing(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "x.headway"
    code, out, err = run("record", "--objects", "-o", output, "--", "true")
    assert (code, out) == (2, "")
    assert "--objects needs a value: -o after it is another option. If that is meant: --objects=-o" in err
    assert not output.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--counters", "-o", "x", "--", "true"],  # it may stand alone
        ["--counters", "cycles", "-o", "x", "--", "true"],
        ["-o", "x", "true", "--objects", "-o"],  # the command's own
        ["-o", "x", "--", "true", "--pid", "--"],
        ["--objects=-o", "-ox", "--", "true"],
        ["--force", "-o", "-x", "true"],  # no option of this command
    ],
)
def test_what_is_no_missing_value_is_left_alone(words: list[str]) -> None:
    record = next(entry for entry in COMMANDS if entry.name == "record").command()
    refuse_missing_values(record, click.Context(cli, info_name="headway"), words)
