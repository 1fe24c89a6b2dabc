"""Refuses an option whose value is missing where another option follows: click would take that one for the value.

`record --objects -o app.headway -- CMD` would count objects of the kind "-o" and take app.headway for the command.
"""

from __future__ import annotations

from collections.abc import Sequence

import click


def refuse_missing_values(command: click.Command, group: click.Context, words: Sequence[str]) -> None:
    """Raise click.UsageError where an option of `command` that needs a value is followed by another of its options, or --.

    A value that is written like an option is given as --option=VALUE.
    """
    context = click.Context(command, parent=group, info_name=command.name)
    options = {
        name: each
        for each in command.get_params(context)
        if isinstance(each, click.Option)
        for name in (*each.opts, *each.secondary_opts)
    }
    may_follow_words = command.context_settings.get("allow_interspersed_args", command.allow_interspersed_args)
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--" or not (word.startswith("-") or may_follow_words):
            return
        option = options.get(word)
        if option is None or option.is_flag or option.count:
            continue
        if left and (left[0] == "--" or left[0] in options):
            if _may_lack_value(option):
                continue
            raise click.UsageError(
                f"{word} needs a value: {left[0]} after it is another option. If that is meant: {word}={left[0]}",
                context,
            )
        del left[: option.nargs]


def _may_lack_value(option: click.Option) -> bool:
    """Return whether an option may stand alone, as --counters does: click itself looks whether its value follows."""
    return isinstance(option.flag_value, str)
