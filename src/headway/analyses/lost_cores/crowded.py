"""Marks likely gains as uncertain where other processes kept the program from the cores nearly all the time.

Question   would the same program, recorded again, likely gain as much?
Method     a program that gets less than LEAST_GOT of the core time that it wants waits for cores more than for anything else: how
           long its waits and pauses last is then a matter of when other processes let it run. What it would likely gain is
           marked, where it is worth a line.
Assumes    that a thread that is ready wants a core, and nothing else.
Wrong when one long turn of another process decides about a run that had the cores otherwise: that is not marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.lost_cores.attach_doubts import ATTACHED
from headway.analyses.lost_cores.text import SMALL_GAIN

if TYPE_CHECKING:
    from headway.analyses.lost_cores.gains.bounds import BoundInputs

CROWDED = "HW452"
LEAST_GOT = 0.2
DOUBTS = {
    ATTACHED: "What came before headway attached is not known, and may be the reason",
    CROWDED: "Other processes had the cores nearly always when the program wanted them: its gain rests on little",
}


def kept_share(inputs: BoundInputs) -> float:
    """Return which part of the core time that a program wanted other processes had."""
    return inputs.others_ns / max(inputs.others_ns + inputs.work_ns, 1)


def doubts_of_gain(likely_speedup: float | None, inputs: BoundInputs) -> tuple[str, ...]:
    """Return the ids of the messages that say why a likely gain rests on little."""
    is_gain = likely_speedup is not None and likely_speedup >= 1 + SMALL_GAIN
    return (CROWDED,) if is_gain and kept_share(inputs) > 1 - LEAST_GOT else ()


def doubt_text(message: str) -> str:
    """Format a doubt as a line of evidence."""
    return f"{DOUBTS[message]} ({message})"
