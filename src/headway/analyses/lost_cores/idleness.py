"""Says of a recording for how long the whole program waited for work from outside, without the rest of the account.

Question   was the program idle, so that predictions are about its waiting more than about its work?
Method     the account's own sweep (account.attribution) and its sentence (text), without losses, places and gains.
Assumes    and errs as `headway why`, whose sentence it is.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from headway.analyses.common.idleness import Idleness
from headway.analyses.lost_cores.account import attribution
from headway.analyses.lost_cores.losses import Losses
from headway.analyses.lost_cores.text import idle_sentence
from headway.analyses.lost_cores.types import Account
from headway.analyses.scheduling import activity as activities
from headway.analyses.scheduling import available_cores
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.waits import pieces

if TYPE_CHECKING:
    from headway.store import Recording


def idleness(recording: Recording) -> Idleness | None:
    """Return how long the program waited for work from outside; None where hardly any time is known to be that.

    Raises HeadwayError HW402 (no recorded span), and as `open_recording` for damaged tables.
    """
    if not has_scheduling(recording):
        return None
    active = activities.load(recording)
    span = (active.start_ns, active.end_ns)
    cores, _ = available_cores.available(recording, active)
    waits = pieces.load(recording, span)
    swept = attribution.sweep(recording, waits, cores=float(cores), window=span, cuts=[])
    outside_ns = sum(segment.outside_ns for segment in swept.segments)
    account = Account(*span, float(cores), {}, None, None, (), 0.0, outside_ns=outside_ns)
    if not idle_sentence(account):
        return None
    return idleness_of(dataclasses.replace(account, idle=Losses(recording, waits, span).idle()))


def idleness_of(account: Account) -> Idleness | None:
    """Return the same of an account that is there already."""
    sentence = idle_sentence(account)
    return Idleness(account.outside_ns, sentence) if sentence else None
