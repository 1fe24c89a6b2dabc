"""Makes the rows of the answer: one Lock per group, with its sites, holders, chain and patterns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from headway.analyses.lock_arrays import numbered
from headway.analyses.lock_chains import Steps, chain, steps_of
from headway.analyses.lock_data import KINDS
from headway.analyses.lock_holders import SEEN_BY
from headway.analyses.lock_metrics import metrics, nearest_rank
from headway.analyses.lock_patterns import patterns
from headway.analyses.lock_rules import RULES, TOGETHER, Rule, display
from headway.analyses.lock_sites import judge, line_of, stack_text
from headway.analyses.lock_states import BLOCKED
from headway.analyses.lock_types import DOING, Distribution, Holder, Lock, OtherLock, Pattern, Site
from headway.analyses.why_bounds import Presence, bound
from headway.analyses.why_types import CONDITION
from headway.analyses.why_waits_causes import CAUSE_OF_RULE
from headway.analyses.why_waits_keys import of_phaser

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_cost import Cost
    from headway.analyses.lock_data import LockData
    from headway.analyses.lock_groups import Groups
    from headway.analyses.lock_holders import Doings
    from headway.analyses.lock_sites import Sites

    Ints = NDArray[np.int64]

MOST_SITES = 100
MOST_HOLDERS = 100
"""Per lock; what is left out is counted."""

_MONITOR_OR_LOCK = {"monitor", "lock", "semaphore"}


@dataclass(frozen=True, eq=False)
class Rows:
    """What rows are made of. Everything that needs all blocks is computed once, on first use."""

    data: LockData
    sites: Sites
    groups: Groups
    found: Doings
    units_blocker: Ints
    units_group: Ints
    cost: Cost | None

    def row(self, group: int) -> Lock:
        """Return the row of a group."""
        data, groups = self.data, self.groups
        sums = groups.sums(group)
        rule, rule_share = self.rule(group)
        one = int(groups.one_object[group])
        is_one = groups.by == "lock"
        table = data.blockers.table
        sites, more_sites = self._sites(group)
        holders, more_holders, holding = self._holders(group)
        links, is_cycle = chain(data, self._steps, one) if is_one and rule.contention else ((), False)
        return Lock(
            name=self._name(group),
            blocker_id=data.blockers.blocker_id(one) if is_one else None,
            objects=int(groups.objects[group]),
            class_name=data.blockers.class_name(one) if groups.objects[group] == 1 or groups.by == "class" else "",
            identity_hash=int(table["identity_hash"][one]) if is_one and data.blockers.is_object[one] else None,
            kind=KINDS[int(groups.kind[group])],
            site=groups.label[group] if groups.by == "site" else None,
            waiting=rule.waiting,
            rule=rule,
            rule_share=rule_share,
            contention=rule.contention,
            first_thread=str(table["first_thread"][one]) if is_one else None,
            first_stack=self._stack_texts(int(table["first_stack_id"][one]))[1] if is_one else None,
            first_ns=sums.first_ns,
            last_ns=sums.last_ns,
            dead=self._is_dead(group, one),
            sums=sums,
            metrics=metrics(sums, data.window[1] - data.window[0]),
            wait=self._wait(group),
            true_hold=self.true_hold(group),
            lost_core_ns=None if self.cost is None else round(float(self.cost.lost_core_ns[group])),
            speedup_bound=self._bound(group, rule),
            sites=sites,
            more_sites=more_sites,
            holders=holders,
            more_holders=more_holders,
            holding=holding,
            chain=links,
            chain_is_cycle=is_cycle,
            patterns=self._patterns(group, rule),
        )

    # --- what it is ----------------------------------------------------------------------------------------------------

    def _name(self, group: int) -> str:
        if self.groups.by == "lock":
            return self.data.blockers.name(int(self.groups.one_object[group]))
        label = self.groups.label[group]
        return label if self.groups.by == "site" else display(label, 0).removesuffix(TOGETHER)

    def _is_dead(self, group: int, one: int) -> bool:
        died = self.data.blockers.table["died_ns"]
        if self.groups.by == "lock":
            return bool(died[one] >= 0)
        mine = self.groups.object_group == group
        return bool(mine.any() and (died[mine] >= 0).all())

    @cached_property
    def _by_rule(self) -> NDArray[np.float64]:
        """Return the time waited per group and rule; an instant counts a little, so that empty blocks have a rule, too."""
        blocks, rules = self.data.blocks, len(RULES)
        weight = (blocks.end - blocks.start) + 1e-3
        flat = np.bincount(
            self.groups.group * rules + self.sites.rule, weights=weight, minlength=self.groups.count * rules
        )
        return flat.reshape(self.groups.count, rules).astype(np.float64)

    @cached_property
    def rules(self) -> Ints:
        """Return the number of each group's rule: that of most of the time waited; -1 where no single block is known."""
        if not self.groups.count:
            return np.zeros(0, dtype=np.int64)
        return np.where(self._by_rule.sum(axis=1) > 0, self._by_rule.argmax(axis=1), -1)

    def rule(self, group: int) -> tuple[Rule, float]:
        """Return the rule of a group, and its share of the time waited."""
        number = int(self.rules[group])
        if number >= 0:
            times = self._by_rule[group]
            return RULES[number], float(times[number] / times.sum())
        one = int(self.groups.one_object[group])
        blockers = self.data.blockers
        first = (KINDS[int(blockers.kind[one])], blockers.class_name(one), int(blockers.table["first_stack_id"][one]))
        return self._judged(*first), 1.0

    @cached_property
    def known_rules(self) -> Ints:
        """Return the number of each group's rule, also where no single block is known."""
        numbers = self.rules.copy()
        for group in np.flatnonzero(numbers < 0).tolist():
            numbers[group] = RULES.index(self.rule(group)[0])
        return numbers

    @cached_property
    def is_contended(self) -> NDArray[np.bool_]:
        """Return which groups are waited for in contention."""
        return np.array([rule.contention for rule in RULES])[self.known_rules]

    @cached_property
    def _judged(self) -> Callable[[str, str, int], Rule]:
        """Return what judges a first stack; the same one is judged once."""
        return lru_cache(maxsize=None)(lambda kind, name, stack: judge(self.data, kind, name, stack, False))

    # --- how long ------------------------------------------------------------------------------------------------------

    @cached_property
    def _waits(self) -> tuple[Ints, Ints, Ints]:
        """Return percentiles 50, 99, 100 of the waits that began in the window, their sums and counts, per group."""
        blocks, window = self.data.blocks, self.data.window
        began = np.ones(len(blocks), bool) if self.data.is_whole else blocks.began >= window[0]
        return _distribution(self.groups.group[began], (blocks.full - blocks.began)[began], self.groups.count)

    def _wait(self, group: int) -> Distribution | None:
        return _distribution_of(self._waits, group, None)

    @cached_property
    def _holds(self) -> tuple[tuple[Ints, Ints, Ints], Ints]:
        """Return the same of the holds that began in the window, and how many of them were seen at their owner."""
        holds, groups = self.data.holds, self.groups
        of_group = groups.object_group[holds.blocker]
        keep = (of_group >= 0) & (self.data.is_whole | (holds.start >= self.data.window[0]))
        by_owner = np.bincount(of_group[keep & holds.from_owner], minlength=groups.count)
        return _distribution(of_group[keep], (holds.end - holds.start)[keep], groups.count), by_owner

    def true_hold(self, group: int) -> Distribution | None:
        """Return how long the lock was held in contended acquisitions; None where none was seen."""
        if self.groups.by == "site":
            return None
        distribution, by_owner = self._holds
        count = int(distribution[2][group])
        owners = int(by_owner[group])
        return _distribution_of(distribution, group, "owner" if owners == count else "both" if owners else "waking")

    def _bound(self, group: int, rule: Rule) -> float | None:
        """Return the bound that `why` gives such a wait; infinite if it was there (nearly) all the time."""
        if self.cost is None or not rule.contention:
            return None
        cause, ground, sums = CAUSE_OF_RULE.get(rule.id, CONDITION), self.cost.ground, self.groups.blocks
        if self._of_phaser[group]:
            cause = CONDITION  # how many take part is not known: all of the wait may go
        waited = Presence(
            core_ns=round(float(self.cost.lost_core_ns[group])),
            wall_ns=int(sums.real_time_ns[group]),
            thread_ns=int(sums.thread_time_ns[group]),
            threads=int(sums.peak_parked[group]) + 1,
            maker_ns=ground.work_ns,  # of a queue: which thread was too slow is not asked here
        )
        limit = bound(cause, waited, ground)
        return math.inf if limit is None else limit

    @cached_property
    def _of_phaser(self) -> NDArray[np.bool_]:
        """Return in which groups threads wait at a phaser."""
        blocks, found = self.data.blocks, np.zeros(self.groups.count, bool)
        is_one = np.array([of_phaser(str(name)) for name in self.data.blockers.table["class_name"]], bool)
        if len(blocks):
            found[self.groups.group[is_one[blocks.blocker]]] = True
        return found

    # --- where ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _order(self) -> tuple[Ints, Ints]:
        """Return the blocks sorted by group, and where each group begins."""
        order = np.argsort(self.groups.group, kind="stable")
        return order, np.searchsorted(self.groups.group[order], np.arange(self.groups.count + 1))

    def _blocks_of(self, group: int) -> Ints:
        order, begins = self._order
        return order[begins[group] : begins[group + 1]]

    def _sites(self, group: int) -> tuple[tuple[Site, ...], int]:
        mine = self._blocks_of(group)
        if not len(mine):
            return (), 0
        blocks, sites = self.data.blocks, self.sites
        if len(mine) == 1:  # most objects of a program that makes one for each request
            return (self._only_site(int(mine[0])),), 0
        stacks, at = numbered(sites.stack[mine])
        waited = np.zeros(len(stacks), dtype=np.int64)
        np.add.at(waited, at, (blocks.end - blocks.start)[mine])
        times = np.bincount(at, minlength=len(stacks))
        taken = np.bincount(at[sites.taken[mine]], minlength=len(stacks))
        rule = np.zeros(len(stacks), dtype=np.int64)
        rule[at] = sites.rule[mine]
        total = int(waited.sum())
        order = np.lexsort((-times, -waited))[:MOST_SITES].tolist()
        found = tuple(
            Site(
                *self._stack_texts(int(stacks[i])),
                share=float(waited[i] / total) if total else float(times[i] / len(mine)),
                thread_time_ns=int(waited[i]),
                times=int(times[i]),
                stacks_taken=int(taken[i]),
                rule=RULES[int(rule[i])],
            )
            for i in order
        )
        return found, len(stacks) - len(found)

    def _only_site(self, block: int) -> Site:
        data, sites = self.data, self.sites
        stack = int(sites.stack[block])
        waited = int(data.blocks.end[block] - data.blocks.start[block])
        line, frames, is_cut = self._stack_texts(stack)
        return Site(line, frames, is_cut, 1.0, waited, 1, int(sites.taken[block]), RULES[int(sites.rule[block])])

    @cached_property
    def _stack_texts(self) -> Callable[[int], tuple[str, tuple[str, ...], bool]]:
        """Return what gives a stack's line, frames and whether it is cut; each is made once."""
        data = self.data
        return lru_cache(maxsize=None)(
            lambda stack: (line_of(data, stack), stack_text(data, stack), data.is_cut(stack))
        )

    # --- who holds it --------------------------------------------------------------------------------------------------

    @cached_property
    def _steps(self) -> Steps:
        return steps_of(self.data, self.found, self.units_blocker)

    @cached_property
    def _doing(self) -> tuple[Ints, Ints]:
        """Return the rows of `found` sorted by group, and where each group begins."""
        group = self.units_group[self.found.unit]
        order = np.argsort(group, kind="stable")
        return order, np.searchsorted(group[order], np.arange(self.groups.count + 1))

    def _holders(self, group: int) -> tuple[tuple[Holder, ...], int, dict[str, int] | None]:
        order, begins = self._doing
        rows = order[begins[group] : begins[group + 1]]
        if not len(rows):
            return (), 0, None
        found = self.found
        total = int(found.ns[rows].sum())
        holding = dict.fromkeys(DOING, 0)
        by_holder: dict[int, list[int]] = {}
        for row in rows.tolist():
            holding[DOING[int(found.state[row])]] += int(found.ns[row])
            if found.holder[row] >= 0:
                by_holder.setdefault(int(found.holder[row]), []).append(row)
        most = sorted(by_holder, key=lambda thread: -int(found.ns[by_holder[thread]].sum()))
        shown = tuple(self._holder(thread, by_holder[thread], total) for thread in most[:MOST_HOLDERS])
        return shown, len(most) - len(shown), holding

    def _holder(self, thread: int, rows: list[int], total: int) -> Holder:
        data, found = self.data, self.found
        doing = dict.fromkeys(DOING, 0)
        others: dict[int, int] = {}
        for row in rows:
            ns = int(found.ns[row])
            doing[DOING[int(found.state[row])]] += ns
            if found.state[row] == BLOCKED:
                others[int(found.lock[row])] = others.get(int(found.lock[row]), 0) + ns
        waited = sum(doing.values())
        seen = sorted({int(found.seen_by[row]) for row in rows})
        return Holder(
            thread=data.names[thread],
            tid=data.tids[thread],
            java_id=data.java_ids[thread],
            seen_by=tuple(SEEN_BY[each] for each in seen if each >= 0),
            share=waited / total,
            wait_ns=waited,
            doing=doing,
            blocked_on=tuple(
                OtherLock(data.blockers.blocker_id(lock), data.blockers.name(lock), ns)
                for lock, ns in sorted(others.items(), key=lambda item: -item[1])
            ),
        )

    def _patterns(self, group: int, rule: Rule) -> tuple[Pattern, ...]:
        if self.groups.by != "lock" or rule.id not in _MONITOR_OR_LOCK:
            return ()
        wait, hold = self._wait(group), self.true_hold(group)
        if wait is None or hold is None:
            return ()
        blocks, mine = self.data.blocks, self._blocks_of(group)
        woken = mine[(blocks.waking[mine] >= 0) & ~blocks.is_open[mine]]
        latency = np.sort(blocks.full[woken] - blocks.waking[woken])
        return patterns(
            waits=wait.count,
            wait_p50_ns=wait.p50_ns,
            hold_p50_ns=hold.p50_ns,
            hold_total_ns=round(hold.mean_ns * hold.count),
            holds=hold.count,
            wakings=len(woken),
            wake_to_run_p50_ns=int(latency[(len(latency) - 1) // 2]) if len(latency) else None,
            crowded_ns=int(self.groups.blocks.crowded_ns[group]),
            real_time_ns=int(self.groups.blocks.real_time_ns[group]),
        )


class MadeRows(Sequence[Lock]):
    """The rows of some groups, each made when it is asked for; the first ones are kept, which are asked for again."""

    _KEPT = 256

    def __init__(self, rows: Rows, groups: Ints) -> None:
        """Take where rows come from, and the groups in their order."""
        self._rows = rows
        self._groups = groups
        self._made: dict[int, Lock] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._groups)

    @overload
    def __getitem__(self, index: int) -> Lock: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Lock]: ...

    def __getitem__(self, index: int | slice) -> Lock | Sequence[Lock]:
        """Return a row, or some."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        made = self._made.get(place)
        if made is None:
            made = self._rows.row(int(self._groups[place]))
            if place < self._KEPT:
                self._made[place] = made
        return made


def _distribution(group: Ints, value: Ints, groups: int) -> tuple[Ints, Ints, Ints]:
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, group, value)
    return nearest_rank(group, value, groups, (50, 99, 100)), total, np.bincount(group, minlength=groups)


def _distribution_of(found: tuple[Ints, Ints, Ints], group: int, source: str | None) -> Distribution | None:
    ranks, total, counts = found
    count = int(counts[group])
    if not count:
        return None
    p50, p99, top = (int(each) for each in ranks[group])
    return Distribution(count, int(total[group]) / count, p50, p99, top, source)
