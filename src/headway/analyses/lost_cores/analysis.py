"""Computes the account of lost cores (`headway why`): cores x wall time, divided into used, stolen, idle and lost by cause.

Question   of cores x wall time, what was used (by the application, GC, JIT, VM, headway), what did the host steal, what had other
           processes; and the rest, which nothing ran on: to what was each core lost, where, and what could it give?
Method     a sweep over every state of every thread gives the idle cores of each instant to causes (account.attribution);
           what threads waited for comes from the agent's record of blocks (waits.pieces), names of places from stacks
           (lost_cores.places). Equal losses are put together (lost_cores.grouping), bounds of the speedup follow from how
           long each was there (gains.bounds), their order from what would likely be gained (gains.replay), phases
           from change points in parallelism (account.phases). What a recording can't tell is merged and named so
           (lost_cores.coarse_accounts), what hangs on the time before an attach marked (lost_cores.attach_doubts).
Assumes    what these modules assume, each at its head. The cores are those that the program could use
           (scheduling.available_cores).
Wrong when records were lost: what was lost to causes meanwhile counts as unknown (HW484).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING

from headway.analyses.common.causes import CAUSES, IDLE
from headway.analyses.common.notices import recorded_notices
from headway.analyses.lost_cores import coarse_accounts
from headway.analyses.lost_cores import counted as counted_cycles
from headway.analyses.lost_cores.account import attribution
from headway.analyses.lost_cores.account import phases as why_phases
from headway.analyses.lost_cores.gains import bound_inputs
from headway.analyses.lost_cores.losses import Losses
from headway.analyses.lost_cores.types import USED, Account, Phase, Why
from headway.analyses.scheduling import activity as activities
from headway.analyses.scheduling import available_cores
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.waits import pieces
from headway.errors import HeadwayError, Notice
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.lost_cores.account.attribution import AccountSegment, Attribution
    from headway.analyses.lost_cores.account.phases import Stretch
    from headway.analyses.lost_cores.changes import Gains
    from headway.analyses.scheduling.activity import Activity
    from headway.store import Recording

_IDLE = list(CAUSES).index(IDLE)


def why(
    recording: Recording,
    *,
    cores: int | None = None,
    window: tuple[int, int] | None = None,
    phase: int | None = None,
    gains: Gains | None = None,
) -> Why:
    """Account for cores x wall time.

    cores: account for so many instead of those that the program could use. window: (from, to) in ns from the recording's
    start, None for all of it. phase: number of one of the window's phases, which is then the window. gains: what predicts the
    gain without losses; None: it is estimated.

    Raises HeadwayError HW401 (window empty or outside), HW402 (no span), HW487 (more cores were used), HW488 (no such phase),
    and for a recording without thread states HW400 or HW450 where not even sums are known.
    """
    if not has_scheduling(recording):
        return coarse_accounts.of_sums(recording, cores, window, phase)
    active = activities.load(recording, window)
    number, quota = (cores, None) if cores is not None else available_cores.available(recording, active)
    if cores is not None:
        available_cores.check(recording, active, cores)
    stretches = why_phases.stretches(active, number)
    if phase is not None:
        stretches = (_chosen(recording, stretches, phase),)
        active = activities.load(recording, (stretches[0].start_ns, stretches[0].end_ns))
    asked = gains
    if gains is not None and (cores, window, phase) != (None, None, None):
        part = None if window is None and phase is None else (active.start_ns, active.end_ns)
        asked = gains.of_part(part, cores)
    return _answer(recording, active, number, stretches, phase or 1, () if quota is None else (quota,), asked)


def _chosen(recording: Recording, stretches: tuple[Stretch, ...], phase: int) -> Stretch:
    if not 1 <= phase <= len(stretches):
        some = f"{counted(len(stretches), 'phase')} there"
        raise HeadwayError("HW488", path=recording.path, phase=phase, phases=some)
    return stretches[phase - 1]


def _answer(
    recording: Recording,
    active: Activity,
    cores: int,
    stretches: tuple[Stretch, ...],
    first: int,
    notices: tuple[Notice, ...],
    gains: Gains | None,
) -> Why:
    span = (active.start_ns, active.end_ns)
    waits = pieces.load(recording, span)
    cuts = [each.start_ns for each in stretches[1:]]
    sweep = attribution.sweep(recording, waits, cores=float(cores), window=span, cuts=cuts)
    losses = Losses(recording, waits, span, gains)
    may_exceed = cores != available_cores.known_cpus(recording)
    whole = _account(losses, sweep.segments, active, sweep, may_exceed)
    parts = [whole]
    if len(sweep.segments) > 1:
        parts = [_account(losses, [segment], active, sweep, may_exceed) for segment in sweep.segments]
    cpis = counted_cycles.of_windows(recording, [(part.start_ns, part.end_ns) for part in parts])
    cpi = cpis[0] if len(cpis) == 1 else counted_cycles.of_windows(recording, [(whole.start_ns, whole.end_ns)])[0]
    phases = tuple(
        Phase(number, stretch.active, part, of_phase)
        for number, (stretch, part, of_phase) in enumerate(zip(stretches, parts, cpis, strict=True), first)
    )
    disorder = (Notice.of("HW497", path=recording.path, slices=sweep.out_of_order),) if sweep.out_of_order else ()
    return Why(
        account=whole,
        by_cause=_by_cause(whole),
        phases=phases,
        bin_ns=sweep.bin_ns,
        bins={name: sweep.bins[:, at].tolist() for at, name in enumerate(attribution.BIN_NAMES)},
        mode=recording.mode,
        notices=(*recorded_notices(recording), *notices, *disorder, *coarse_accounts.notices(recording, whole)),
        cpi=cpi,
    )


def _account(
    losses: Losses, segments: Sequence[AccountSegment], active: Activity, sweep: Attribution, may_exceed: bool
) -> Account:
    """Put segments that follow each other together as one account.

    Threads on more cores than there are (a quota's bursts apart) contradict each other: that counts as left over, too.
    """
    start, end = segments[0].start_ns, segments[-1].end_ns
    used = {kind: sum(segment.used_ns[kind] for segment in segments) for kind in USED}
    stolen = sum(segment.stolen_ns for segment in segments) if sweep.knows_steal else None
    other = sum(segment.other_ns for segment in segments) if sweep.others != "none" else None
    account = Account(start, end, sweep.cores, used, stolen, other, (), 0.0)
    is_whole = len(segments) == len(sweep.segments)
    lost = losses.of(
        segments,
        (start, end),
        bound_inputs.of_account(losses.recording, account, active),
        account.core_ns,
        is_whole=is_whole,
    )
    idle_ns = sum(int(segment.by_cause[_IDLE]) for segment in segments)
    outside_ns = sum(segment.outside_ns for segment in segments)
    idle = losses.idle() if is_whole and idle_ns else ()
    account = dataclasses.replace(account, lost=lost, idle_ns=idle_ns, outside_ns=outside_ns, idle=idle)
    left = account.core_ns - sum(used.values()) - (stolen or 0) - (other or 0) - idle_ns - account.lost_ns
    excess = sum(segment.excess_ns for segment in segments)
    error = (abs(left) + (0 if may_exceed else excess)) / max(account.core_ns, 1)
    account = counted_cycles.with_holders(losses.recording, account)
    return dataclasses.replace(account, invariant_error=error, excess_ns=excess)


def _by_cause(account: Account) -> tuple[tuple[str, int], ...]:
    sums: dict[str, int] = defaultdict(int)
    for loss in account.lost:
        sums[loss.cause] += loss.core_ns
    order = list(CAUSES)
    return tuple(sorted(sums.items(), key=lambda row: (-row[1], order.index(row[0]))))
