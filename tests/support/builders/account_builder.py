"""Builds accounts of lost cores, for tests of what is computed from them or shown."""

from __future__ import annotations

import itertools

from headway.analyses.common import causes
from headway.analyses.lost_cores.types import Account, Loss, Phase, Place, Why
from headway.errors import Notice

SECOND = 1_000_000_000
EVIL = "[red]x[/red]\x1b]0;title\x07\u202e"


def loss(cause: str, core_ns: int, of: int, place: Place | None = None, bound: float | None = 1.5) -> Loss:
    """Return a loss of `core_ns` to a cause, with invented evidence."""
    words = (f"{cause} was there for {core_ns} ns", "half of it in the first second")
    return Loss(cause, core_ns, core_ns / of, place or Place(), bound, words, {"waits": 3})


def account(start_ns: int = 0, end_ns: int = 10 * SECOND, rows: int = 3) -> Account:
    """Return an account of 2 cores: 60 % application, 8 % other threads, 8 % stolen or other processes, the rest lost evenly."""
    total = 2 * (end_ns - start_ns)
    used = {"app": total * 60 // 100, "gc": total * 5 // 100, "jit": total * 2 // 100, "vm": 0, "headway": total // 100}
    stolen, other = total * 3 // 100, total * 5 // 100
    left = total - sum(used.values()) - stolen - other
    places = (
        Place("org.example.storage.cache.Store.put", 41, "ReentrantLock@1000", "worker-1"),
        Place("org.example.Main.main", None, None, "main"),
        Place(thread=EVIL),
    )
    names = (causes.LOCK, causes.SERIAL, causes.SLEEP, causes.UNKNOWN)
    first = left - sum(left // rows for _ in range(rows - 1))
    sizes = [first, *([left // rows] * (rows - 1))]
    lost = [
        loss(names[i % 4], size, total, places[i % 3], None if i % 4 == 3 else 2.0 - i / 100)
        for i, size in enumerate(sizes)
    ]
    return Account(start_ns, end_ns, 2.0, used, stolen, other, tuple(lost), 0.0)


def why_result(rows: int = 3, phases: int = 2) -> Why:
    """Return a result of `why` with so many losses and phases."""
    whole = account(rows=rows)
    sums: dict[str, int] = {}
    for each in whole.lost:
        sums[each.cause] = sums.get(each.cause, 0) + each.core_ns
    edges = [10 * SECOND * i // phases for i in range(phases + 1)]
    parts = [Phase(i + 1, 1.5 + i, account(a, b)) for i, (a, b) in enumerate(itertools.pairwise(edges))]
    by_cause = tuple(sorted(sums.items(), key=lambda item: -item[1]))
    bins = {name: [ns] for name, ns in sums.items()} | {f"used_{kind}": [ns] for kind, ns in whole.used_ns.items()}
    notices = (Notice("HW100", "long " * 60, "sudo " * 40),)
    return Why(whole, by_cause, tuple(parts), 10 * SECOND, bins, "ebpf", notices)
