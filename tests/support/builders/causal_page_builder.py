"""Builds causal results for tests of reports: a cold line that matters, a hot one that does not, and others."""

from __future__ import annotations

from headway.analyses.causal.types import Causal, Curve, CurvePoint, Kind, Line, ProgressPoint, Shape
from headway.errors import Notice

EVIL = "</script><script>window.hacked=1</script>\u202eevil"
REQUESTS = ProgressPoint(
    name="requests", measure="throughput", kind="method", where="a.Server.handle", hits=48_211, hits_per_s=401.75
)
LATENCY = ProgressPoint(
    name="order",
    measure="latency",
    kind="latency",
    where="a.Order.begin,a.Order.end",
    hits=900,
    hits_per_s=7.5,
    latency_ns=1.25e6,
)


def points(slope: float, flat_from: int = 100, spread: float = 2.0) -> tuple[CurvePoint, ...]:
    """Return a curve's points, rising by `slope` up to `flat_from`, with more experiments further right."""
    return tuple(
        CurvePoint(
            virtual_speedup_pct=pct,
            program_speedup_pct=slope * min(pct, flat_from) + (0.5 if pct % 20 else -0.5),
            low_pct=slope * min(pct, flat_from) - spread,
            high_pct=slope * min(pct, flat_from) + spread,
            visits=100 * pct,
            experiments=1 + pct // 5,
            gc_experiments=pct // 50,
        )
        for pct in range(10, 101, 10)
    )


def curve(
    shape: Shape,
    slope: float,
    *,
    point: ProgressPoint = REQUESTS,
    flat_from: int | None = None,
    needs_s: float | None = None,
) -> Curve:
    """Return a curve of this shape on a progress point."""
    known = shape not in ("unknown", "untested")
    most = slope * (flat_from or 100)
    return Curve(
        progress_point=point.name,
        measure=point.measure,
        shape=shape,
        significant=shape in ("gain", "flattens", "slower"),
        slope=slope if known else None,
        slope_low=slope - 0.05 if known else None,
        slope_high=slope + 0.05 if known else None,
        slope_most=None,
        p_value=0.001 if known else None,
        maximum_pct=most if known else None,
        maximum_low_pct=most - 3 if known else None,
        maximum_high_pct=most + 3 if known else None,
        maximum_at_pct=(flat_from or 100) if known else None,
        flat_from_pct=flat_from,
        needs_s=needs_s,
        points=points(slope, flat_from or 100, 2 if known else 60),
    )


def line(name: str, samples_pct: float, *curves: Curve, kind: Kind = "line", **more: object) -> Line:
    """Return a line "File.java:number" of the class a.File, or another target."""
    file, _, number = name.partition(":")
    values: dict[str, object] = {
        "class_name": f"a.{file.removesuffix('.java')}",
        "method": "run",
        "source_file": file,
        "line_number": int(number) if number else None,
        "blocked_pct": 0.0,
        "samples": round(samples_pct * 100),
        "phase_share": 1.0,
        "experiments": sum(point.experiments for each in curves[:1] for point in each.points),
    }
    return Line(line=name, kind=kind, samples_pct=samples_pct, curves=curves, **{**values, **more})  # type: ignore[arg-type]


def answer(lines: tuple[Line, ...] | None = None, **more: object) -> Causal:
    """Return a result with every shape of curve, two progress points, and hostile names."""
    usual = (
        line(
            "Store.java:42",
            3.0,
            curve("flattens", 0.8, flat_from=50),
            curve("gain", 0.3, point=LATENCY),
            blocked_pct=12.5,
        ),
        line("Order.java:7", 21.0, curve("gain", 0.25), phase_share=0.4),
        line("Lock.java:9", 9.0, curve("slower", -0.2)),
        line("Hot.java:100", 60.0, curve("none", 0.0)),
        line(
            f"{EVIL}:3",
            4.0,
            curve("unknown", 0.1, needs_s=150.0),
            class_name="a.Evil",
            source_file="Evil.java",
            line_number=3,
        ),
        line("GC pauses", 0.0, curve("none", 0.0), kind="gc", class_name="", method="", source_file=""),
        line("Never.java:1", 2.5),
    )
    values: dict[str, object] = {
        "mode": "experiments",
        "runs": 2,
        "recorded_ns": 120_000_000_000,
        "delay_ns": 6_000_000_000,
        "experiments": 320,
        "warm_up_experiments": 4,
        "gc_experiments": 12,
        "progress_points": (REQUESTS, LATENCY),
        "verdict": f"Making Store.java:42 half as slow makes the program 40 % faster. {EVIL}",
        "next": "headway causal made.headway --line Store.java:42",
        "notices": (Notice("HW630", f"A warning about {EVIL}", "headway causal --help"),),
    }
    return Causal(lines=usual if lines is None else lines, **{**values, **more})  # type: ignore[arg-type]
