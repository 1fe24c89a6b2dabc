"""Builds the result rows: one Lock per group, with its sites, holders, chain and patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.causes import CONDITION, FULL
from headway.analyses.locks.chains import Steps, chain, steps_of
from headway.analyses.locks.cost import slow_sides
from headway.analyses.locks.groups import OF_OBJECTS, SUMS
from headway.analyses.locks.metrics import Metrics, metrics
from headway.analyses.locks.patterns import LEAST_WAITS, are_typical, held_share, patterns
from headway.analyses.locks.row_figures import AT_ONCE, Distributions, RowFigures, figures_of, whole_ns
from headway.analyses.locks.row_parts import (
    HolderSummary,
    holder_summaries,
    parts_of,
    sites_of_groups,
    wakers_of_groups,
)
from headway.analyses.locks.types import Distribution, Link, Lock, Pattern, Site, Waker
from headway.analyses.lost_cores.gains.bounds import WaitSummary, bound_of_waits
from headway.analyses.lost_cores.gains.slow_side import SLOW
from headway.analyses.waits.classification.sites import fill_stacks, judge, line_of, stack_text
from headway.analyses.waits.object_names import TOGETHER, display
from headway.analyses.waits.resources import of_phaser
from headway.analyses.waits.rules import RULES, Rule, may_have_several_holders
from headway.analyses.waits.tables.blocks import KINDS
from headway.analyses.waits.wait_causes import CAUSE_OF_RULE
from headway.model.lock_sums import LockSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.locks.cost import Cost
    from headway.analyses.locks.groups import Groups
    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.waits.threads.holders import HolderStates

    Ints = NDArray[np.int64]

_MONITOR_OR_LOCK = {"monitor", "lock", "semaphore"}
_MOST_STACKS = 4096
"""Stacks whose texts are kept: a million rows may have one each."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Builder of rows. Whatever needs all blocks is computed once, on first use."""

    data: LockData
    sites: Sites
    groups: Groups
    found: HolderStates
    units_blocker: Ints
    units_group: Ints
    cost: Cost | None

    def row(self, group: int) -> Lock:
        """Return the row of a group."""
        return next(iter(self.rows_of(np.array([group], dtype=np.int64))))

    def rows_of(self, groups: Ints) -> Iterator[Lock]:
        """Yield the rows of some groups in order."""
        return map(self._row, self.figures(groups))

    def figures(self, groups: Ints) -> Iterator[RowFigures]:
        """Yield the figures behind some groups' rows in order."""
        for low in range(0, len(groups), AT_ONCE):
            yield from self._figures(groups[low : low + AT_ONCE])

    def _row(self, of: RowFigures) -> Lock:
        rule, by = RULES[of.rule], self.groups.by
        is_one = self.is_one(of)
        sites, more_sites = of.sites
        links, is_cycle = self.chain(of)
        sums = LockSums(
            of.times_parked, of.times_measured, of.parked_now, of.peak_parked,
            of.thread_time_ns, of.real_time_ns, of.first_ns, of.last_ns, self.groups.end_ns,
        )  # fmt: skip
        return Lock(
            name=self.name(of),
            place=self.place(of),
            blocker_id=of.blocker_id if is_one else None,
            objects=of.objects,
            class_name=of.class_name if of.objects == 1 or by in ("class", "place") else "",
            identity_hash=of.identity_hash if is_one and of.is_object else None,
            kind=KINDS[of.kind],
            site=self.groups.label[of.group] if by == "site" else None,
            waiting=rule.waiting,
            rule=rule,
            rule_share=of.rule_share,
            contention=rule.contention,
            first_thread=of.first_thread if is_one else None,
            first_stack=self.stack(of) if is_one else None,
            first_ns=sums.first_ns,
            last_ns=sums.last_ns,
            dead=of.is_dead,
            sums=sums,
            metrics=self.metrics(of),
            wait=of.wait,
            true_hold=of.true_hold,
            lost_core_ns=None if self.cost is None else whole_ns(of.lost_core_ns),
            speedup_bound=self.bound(of),
            sites=sites,
            more_sites=more_sites,
            holders=of.holders.holders,
            more_holders=of.holders.more,
            wakers=of.wakers[0],
            more_wakers=of.wakers[1],
            holding=of.holders.holding,
            chain=links,
            chain_is_cycle=is_cycle,
            patterns=self.patterns(of),
        )

    def _figures(self, groups: Ints) -> Iterator[RowFigures]:
        """Give the figures of some groups, taken out of the arrays together."""
        of, table = self.groups, self.data.blockers.table
        representative = of.one_object[groups]
        begins, holders = self._order[1], self._holders(groups)
        columns: dict[str, Iterable[Any]] = {
            "group": groups,
            "representative": representative,
            "objects": of.objects[groups],
            "kind": of.kind[groups],
            "is_dead": self._is_dead[groups],
            "is_object": self.data.blockers.is_object[representative],
            "blocker_id": table["blocker_id"][representative],
            "identity_hash": table["identity_hash"][representative],
            "first_stack": table["first_stack_id"][representative],
            "first_thread": map(str, table["first_thread"][representative]),
            "class_name": map(str, table["class_name"][representative]),
            **{name: of.columns[name][groups] for name in SUMS},
            "end_ns": [of.end_ns] * len(groups),
            "rule": self.known_rules[groups],
            "rule_share": self._rule_share[groups],
            "wait": self._waits.of(groups),
            "true_hold": self._true_holds(groups, holders),
            "first_block": begins[groups],
            "end_block": begins[groups + 1],
            "sites": self._sites(groups),
            "wakers": self._wakers(groups),
            "holders": holders,
            "main_holder": np.where(self._is_alone(groups), self._steps.holder[representative], -1),
            "lost_core_ns": np.zeros(len(groups)) if self.cost is None else self.cost.lost_core_ns[groups],
        }
        return figures_of(columns)

    # --- what it is ----------------------------------------------------------------------------------------------------

    def name(self, of: RowFigures) -> str:
        """Return a group's name for people: an object, or what several have in common."""
        if self.is_one(of):
            return display(of.class_name, of.identity_hash)
        label = self.groups.label[of.group]
        if self.groups.by == "place":
            return f"{label}, {of.objects} objects"
        return label if self.groups.by == "site" else display(label, 0).removesuffix(TOGETHER)

    def is_one(self, of: RowFigures) -> bool:
        """Return whether a group is a single object."""
        return self.groups.by == "lock" or (self.groups.by == "place" and of.objects == 1)

    def blocker_ids(self, of: RowFigures) -> list[int]:
        """Return the ids of a group's objects; none for sites, which have only some of an object's waits."""
        rows = (
            np.flatnonzero(self.groups.object_group == of.group) if self.groups.by != "site" else np.zeros(0, np.int64)
        )
        return [self.data.blockers.blocker_id(row) for row in rows.tolist()]

    def _is_alone(self, groups: Ints) -> NDArray[np.bool_]:
        alone: NDArray[np.bool_] = self.groups.objects[groups] == 1
        return alone if self.groups.by in OF_OBJECTS else np.zeros(len(groups), np.bool_)

    def place(self, of: RowFigures) -> str | None:
        """Return the line with most of the waiting; None where it is unknown, and for classes."""
        by = self.groups.by
        if by == "class":
            return None
        return self.groups.label[of.group] if by == "site" else self.groups.places.text(of.representative)

    @cached_property
    def _is_dead(self) -> NDArray[np.bool_]:
        """Return of which groups every object is dead; of a site no object is."""
        died: NDArray[np.bool_] = self.data.blockers.table["died_ns"] >= 0
        if self.groups.by == "lock":
            return np.asarray(died[self.groups.one_object])
        of_group = self.groups.object_group
        objects = np.bincount(of_group[of_group >= 0], minlength=self.groups.count)
        dead = np.bincount(of_group[(of_group >= 0) & died], minlength=self.groups.count)
        return np.asarray((objects > 0) & (dead == objects))

    @cached_property
    def _judging(self) -> tuple[Ints, NDArray[np.float64]]:
        """Return each group's rule, that of most of the time waited, and its share; -1 where no single block is known.

        An instant counts a little, so that empty blocks have a rule, too.
        """
        blocks, groups, rules = self.data.blocks, self.groups, len(RULES)
        found, share = np.full(groups.count, -1, dtype=np.int64), np.ones(groups.count)
        found[groups.group] = self.sites.rule
        # Most have one rule: only of the others a table of all rules is made.
        several = np.zeros(groups.count, dtype=bool)
        several[groups.group[found[groups.group] != self.sites.rule]] = True
        several_of = np.flatnonzero(several)
        of_several = np.flatnonzero(several[groups.group])
        row = np.searchsorted(several_of, groups.group[of_several])
        weight = (blocks.end - blocks.start)[of_several] + 1e-3
        flat = np.bincount(row * rules + self.sites.rule[of_several], weights=weight, minlength=len(several_of) * rules)
        times = flat.reshape(len(several_of), rules)
        if len(several_of):
            found[several_of] = times.argmax(axis=1)
            share[several_of] = times.max(axis=1) / times.sum(axis=1)
        return found, share

    @cached_property
    def _rule_share(self) -> NDArray[np.float64]:
        return self._judging[1]

    @cached_property
    def known_rules(self) -> Ints:
        """Return each group's rule number; by its first wait where no single block is known."""
        numbers = self._judging[0].copy()
        groups, blockers = self.groups, self.data.blockers
        for group in np.flatnonzero(numbers < 0).tolist():
            representative = int(groups.one_object[group])
            first = (
                KINDS[int(blockers.kind[representative])],
                blockers.class_name(representative),
                int(blockers.table["first_stack_id"][representative]),
            )
            numbers[group] = RULES.index(self._judged(*first))
        return numbers

    @cached_property
    def is_contended(self) -> NDArray[np.bool_]:
        """Return which groups are contention."""
        return np.array([rule.contention for rule in RULES])[self.known_rules]

    @cached_property
    def _judged(self) -> Callable[[str, str, int], Rule]:
        """Return what judges a first stack; the same one is judged once, unless there are very many."""
        return lru_cache(maxsize=_MOST_STACKS)(lambda kind, name, stack: judge(self.data, kind, name, stack, False))

    # --- how long ------------------------------------------------------------------------------------------------------

    @cached_property
    def _waits(self) -> Distributions:
        """Return how long the waits that began in the window lasted, per group."""
        blocks, window = self.data.blocks, self.data.window
        began = blocks.waits.begins & (self.data.is_whole | (blocks.began >= window[0]))
        return Distributions.from_values(self.groups.group[began], blocks.waits.ns[began], self.groups.count)

    @cached_property
    def _holds(self) -> Distributions:
        """Return how long the holds that began in the window lasted, per group; none by site."""
        holds, groups = self.data.holds, self.groups
        of_group = groups.object_group[holds.blocker]
        keep = (of_group >= 0) & (self.data.is_whole | (holds.start >= self.data.window[0]))
        by_owner = np.bincount(of_group[keep & holds.from_owner], minlength=groups.count)
        return Distributions.from_values(of_group[keep], (holds.end - holds.start)[keep], groups.count, by_owner)

    def _true_holds(self, groups: Ints, holders: Sequence[HolderSummary]) -> list[Distribution | None]:
        """Return the holds of some groups; None where none were seen, or they can't stand for those that others waited for."""
        of = self.groups
        if of.by == "site":
            return [None] * len(groups)
        real_ns, waits = (of.columns[name][groups].tolist() for name in ("real_time_ns", "times_measured"))
        rows = zip(self._holds.of(groups), holders, real_ns, waits, strict=True)
        return [
            seen if seen is not None and are_typical(seen, who.holding, real, count) else None
            for seen, who, real, count in rows
        ]

    def metrics(self, of: RowFigures) -> Metrics:
        """Return the metrics of a group."""
        several = may_have_several_holders(RULES[of.rule].id, of.class_name)
        return metrics(of, self.data.window[1] - self.data.window[0], several_holders=several)

    def bound(self, of: RowFigures) -> float | None:
        """Return the bound that `why` gives such a wait; None where it can't be said."""
        rule = RULES[of.rule]
        if self.cost is None or not rule.contention:
            return None
        cause, inputs = CAUSE_OF_RULE.get(rule.id, CONDITION), self.cost.inputs
        is_directed = cause not in SLOW or cause == FULL  # who serves a queue has no work of its own
        waited = WaitSummary(
            wall_ns=of.real_time_ns,
            first_ns=of.first_ns,
            thread_ns=of.thread_time_ns if is_directed else 0,
            peak=of.peak_parked if is_directed else 0,
        )
        maker_ns = self._slow_sides.get((of.group, cause)) if cause in SLOW else 0
        return bound_of_waits(
            cause,
            whole_ns(of.lost_core_ns),
            waited,
            inputs,
            maker_ns=inputs.work_ns if maker_ns is None else maker_ns,
            is_phaser=bool(self._of_phaser[of.group]),
        )

    @cached_property
    def _slow_sides(self) -> Mapping[tuple[int, str], int | None]:
        """Return by group and cause how long the slow side of a queue ran."""
        return slow_sides(self.data, self.sites, self.groups.group)

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

    def _sites(self, groups: Ints) -> list[tuple[tuple[Site, ...], int]]:
        order, begins = self._order
        rows, place = parts_of(begins, groups)
        return sites_of_groups(self.data, self.sites, order[rows], place, len(groups), self._stack_texts)

    @cached_property
    def _waker_stacks(self) -> Ints:
        """Return where each block was ended; without a stack of its own, where the same thread unparked others of the object.

        Who ended it otherwise (by an interrupt, or by letting a monitor go) did so at a place that nobody knows.
        """
        blocks = self.data.blocks
        filled = fill_stacks(blocks.blocker, blocks.waker, blocks.waker_stack)
        return np.where(blocks.is_kernel_waking, -1, filled)

    def _wakers(self, groups: Ints) -> list[tuple[tuple[Waker, ...], int]]:
        order, begins = self._order
        rows, place = parts_of(begins, groups)
        return wakers_of_groups(self.data, self._waker_stacks, order[rows], place, len(groups), self._stack_texts)

    def stack(self, of: RowFigures) -> tuple[str, ...]:
        """Return the stack of the first wait."""
        return self._stack_texts(of.first_stack)[1]

    @cached_property
    def _stack_texts(self) -> Callable[[int], tuple[str, tuple[str, ...], bool]]:
        """Return what gives a stack's line, frames and whether it is cut; each is made once, unless there are very many."""
        data = self.data
        return lru_cache(maxsize=_MOST_STACKS)(
            lambda stack: (line_of(data, stack), stack_text(data, stack), data.is_cut(stack))
        )

    # --- who holds it --------------------------------------------------------------------------------------------------

    def chain(self, of: RowFigures) -> tuple[tuple[Link, ...], bool]:
        """Return the chain from an object on, and whether it is a cycle; none of idle waiting, and of several objects."""
        if of.main_holder < 0 or not RULES[of.rule].contention:
            return (), False
        return chain(self.data, self._steps, of.representative)

    @cached_property
    def _steps(self) -> Steps:
        return steps_of(self.data, self.found, self.units_blocker)

    @cached_property
    def _doing(self) -> tuple[Ints, Ints]:
        """Return the rows of `found` sorted by group, and where each group begins."""
        group = self.units_group[self.found.unit]
        order = np.argsort(group, kind="stable")
        return order, np.searchsorted(group[order], np.arange(self.groups.count + 1))

    def _holders(self, groups: Ints) -> list[HolderSummary]:
        order, begins = self._doing
        rows, place = parts_of(begins, groups)
        return holder_summaries(self.data, self.found, order[rows], place, len(groups))

    def patterns(self, of: RowFigures) -> tuple[Pattern, ...]:
        """Name the patterns of a lock."""
        if not self.is_one(of) or RULES[of.rule].id not in _MONITOR_OR_LOCK:
            return ()
        wait, hold = of.wait, of.true_hold
        if wait is None or hold is None or wait.count < LEAST_WAITS:
            return ()
        blocks, of_lock = self.data.blocks, self._order[0][of.first_block : of.end_block]
        woken = of_lock[(blocks.waking[of_lock] >= 0) & ~blocks.is_open[of_lock]]
        latency = np.sort(blocks.full[woken] - blocks.waking[woken])
        return patterns(
            waits=wait.count,
            wait_p50_ns=wait.p50_ns,
            hold_p50_ns=hold.p50_ns,
            held_share=held_share(of.holders.holding, hold, of.real_time_ns),
            holds=hold.count,
            wakings=len(woken),
            wake_to_run_p50_ns=int(latency[(len(latency) - 1) // 2]) if len(latency) else None,
            crowded_ns=int(self.groups.blocks.crowded_ns[of.group]),
            real_time_ns=int(self.groups.blocks.real_time_ns[of.group]),
        )
