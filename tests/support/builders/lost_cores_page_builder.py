"""Builds an account of lost cores for tests of reports: two cores over ten seconds, correct by construction."""

from __future__ import annotations

from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.types import USED, Account, Loss, Phase, Place, Why

MS = 1_000_000
MARKUP = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u202e"
LOCK_NAME = "java.util.concurrent.locks.ReentrantLock@1f (OrderBook.lock)"
BIN_NS = 100 * MS
BINS = 100


def _bins() -> dict[str, list[int]]:
    """Return bins that add up to two cores each: JVM start, serial, parallel with a lock, a barrier, and the end."""
    bins = {key: [0] * BINS for key in (*(f"used_{kind}" for kind in USED), "stolen", "other_processes", *CAUSES)}

    def give(first: int, last: int, **percents: int) -> None:
        assert sum(percents.values()) == 200
        for i in range(first, last):
            for key, percent in percents.items():
                bins[key][i] += percent * MS

    give(0, 5, used_vm=40, used_jit=20, jvm_start=135, stolen=5)
    give(5, 30, used_app=95, used_jit=20, used_headway=1, serial_section=80, jit=4)
    give(30, 60, used_app=110, used_gc=5, stolen=7, other_processes=8, lock_contention=60, scheduler=5, gc_pause=5)
    give(60, 95, used_app=140, used_gc=10, gc_pause=10, imbalance=25, io=10, sleep=5)
    give(95, 100, used_vm=15, jvm_end=170, unknown=15)
    return bins


BINNED = _bins()
PLACES = {
    "lock_contention": Place(
        method="org.example.OrderBook.match", line=112, lock=LOCK_NAME, thread="worker-3", pid=4000
    ),
    "serial_section": Place(method="org.example.Loader.parse", line=57, thread="main", pid=4000),
    "imbalance": Place(method="org.example.Join.all", line=9, lock="CountDownLatch@7", thread=MARKUP, pid=4000),
}
EVIDENCE = {
    "lock_contention": ("3 threads waited for it at once, for 4.20 s together.", f"Its holder was in {MARKUP}."),
    "serial_section": ("main ran alone for 2.00 s: 80% of it in Loader.parse.",),
}


def account(start_ns: int = 0, end_ns: int = BINS * BIN_NS) -> Account:
    """Return the account of whole bins between two points in time."""
    low, high = start_ns // BIN_NS, end_ns // BIN_NS
    sums = {key: sum(values[low:high]) for key, values in BINNED.items()}
    core_ns, wall_ns = 2 * (end_ns - start_ns), end_ns - start_ns
    lost = []
    for cause in CAUSES:
        if ns := sums[cause]:
            bound = None if cause == "unknown" else wall_ns / (wall_ns - ns / 2)
            likely = None if bound is None or cause == "io" else (1 + bound) / 2  # I/O that was not replayed
            place, evidence = PLACES.get(cause, Place()), EVIDENCE.get(cause, ())
            lost.append(Loss(cause, ns, ns / core_ns, place, bound, evidence, likely_speedup=likely))
    used = {kind: sums[f"used_{kind}"] for kind in USED}
    ranked = tuple(sorted(lost, key=lambda loss: -loss.core_ns))
    return Account(start_ns, end_ns, 2.0, used, sums["stolen"], sums["other_processes"], ranked, 0.0)


def why_result() -> Why:
    """Return the account of all ten seconds, with four phases."""
    whole = account()
    edges = [0, 5, 30, 60, 100]
    phases = tuple(
        Phase(i + 1, (1.0, 1.1, 2.9, 1.8)[i], account(edges[i] * BIN_NS, edges[i + 1] * BIN_NS)) for i in range(4)
    )
    by_cause = tuple((loss.cause, loss.core_ns) for loss in whole.lost)
    return Why(whole, by_cause, phases, BIN_NS, BINNED, "ebpf", ())
