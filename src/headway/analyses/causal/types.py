"""Result types of `causal`: for each line the program's speedup when that line is faster, with confidence intervals.

Percentages end in `_pct`: 100 is all of it. A *virtual* speedup of 40 % makes a line as if it took 60 % of its time. A *program*
speedup of 40 % makes what leads to a visit of a progress point take 60 % of its time; negative ones make it slower. `low_pct` and
`high_pct` are the ends of a 95 % interval, None where the recording can't tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from headway.errors import Notice
from headway.model.causal.comparisons import Measure

Kind = Literal["line", "method", "lock", "gc"]
"""What was made faster: a source line, a method, the critical sections of a class's locks, pauses of the collector."""

Shape = Literal["gain", "flattens", "slower", "none", "unknown", "untested"]
"""gain: the faster the line, the faster the program. flattens: so up to `flat_from_pct`, then no more. slower: a faster line
makes the program slower (contention). none: known to give less than `RELEVANT_PCT`. unknown: too few experiments (`needs_s`
more). untested: sampled, but no experiment was made on it."""

RELEVANT_PCT = 5.0
"""Less than so much program speedup from a line made free counts as no effect."""
FINDING_EXPERIMENTS = 6
"""Fewer tell nothing of how much experiments on the line itself differ."""
_ROUNDED = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPoint:
    """A progress point, or a latency pair (`measure` is latency; `hits` then counts its ends)."""

    name: str
    measure: Measure
    kind: str
    """method, line, api, latency, run."""
    where: str
    """As it was asked for: CLASS.METHOD, CLASS:LINE."""
    hits: int
    hits_per_s: float
    """Over the recorded time, delays apart."""
    latency_ns: float | None = None
    """Latency pairs: mean at 0 %, delays apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """All experiments on one line at one virtual speedup, compared with the baselines (0 %) beside them."""

    virtual_speedup_pct: int
    program_speedup_pct: float
    low_pct: float | None
    high_pct: float | None
    visits: int
    experiments: int
    gc_experiments: int = 0
    """Of `experiments`: with a pause of the collector in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line's effect on one progress point; `points` by ascending virtual speedup, (0 %, 0 %) left out.

    `slope`: percent of program speedup per percent of virtual speedup, of the straight line through the origin.
    The maximum is that of the fitted curve (straight, then flat from `flat_from_pct`); its place is `maximum_at_pct`.
    """

    progress_point: str
    measure: Measure
    shape: Shape
    significant: bool
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    slope_most: float | None
    """The largest slope that the delays allow (`causal.limits`); None: no limit is known."""
    p_value: float | None
    """Of no effect, this curve alone; `significant` accounts for the number of curves looked at."""
    maximum_pct: float | None
    maximum_low_pct: float | None
    maximum_high_pct: float | None
    maximum_at_pct: int | None
    flat_from_pct: int | None
    needs_s: float | None
    """Shape unknown: so many seconds more of such recording would tell; None: not to be had, or not needed."""
    points: tuple[CurvePoint, ...]

    @property
    def is_beyond_delays(self) -> bool:
        """Return whether the slope's whole interval exceeds what delays allow: noise, or threads that profit from stops."""
        if self.slope_most is None or self.slope_low is None:
            return False
        enough = sum(point.experiments for point in self.points) >= FINDING_EXPERIMENTS
        return enough and self.slope_low > self.slope_most + _ROUNDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line (or other target), its share of the flat profile, and its curves, one per progress point.

    `curves[0]` belongs to the first progress point, and is what `significant`, `slope` ... repeat.
    """

    line: str
    """`Class.java:42`; a method `Class.method`; `lock Class`; `GC pauses`."""
    kind: Kind
    class_name: str
    """With its package: com.acme.Server$1."""
    method: str
    source_file: str
    """As the class file names it, without a folder: "Server.java"; empty if it has none."""
    line_number: int | None
    samples_pct: float
    """Share of the CPU time of the program's threads: what a flat profile shows."""
    blocked_pct: float
    """Time that threads slept in this line, as a share of the recorded time; above 100 with several threads."""
    samples: int
    phase_share: float
    """1: the program is of one piece. 0.3: the line runs in 30 % of the time only, and results are scaled down to the whole."""
    experiments: int
    curves: tuple[Curve, ...]

    @property
    def curve(self) -> Curve | None:
        """Return the curve of the first progress point."""
        return self.curves[0] if self.curves else None

    @property
    def significant(self) -> bool:
        """Return whether the line has a significant effect, positive or negative."""
        return self.curve is not None and self.curve.significant

    @property
    def shape(self) -> Shape:
        """Return the shape of the first curve."""
        return "untested" if self.curve is None else self.curve.shape

    @property
    def slope(self) -> float | None:
        """Return the slope of the first curve."""
        return None if self.curve is None else self.curve.slope

    @property
    def slope_most(self) -> float | None:
        """Return the largest slope that the first curve's delays allow."""
        return None if self.curve is None else self.curve.slope_most

    @property
    def is_beyond_delays(self) -> bool:
        """Return whether the first curve's slope exceeds what its delays allow."""
        return self.curve is not None and self.curve.is_beyond_delays

    @property
    def points(self) -> tuple[CurvePoint, ...]:
        """Return the points of the first curve."""
        return () if self.curve is None else self.curve.points


@dataclass(frozen=True, slots=True, kw_only=True)
class Causal:
    """The result of `causal`: significant lines by the lower end of their slope, then the others.

    `verdict` is one sentence for people, `next` a command. `health` sums the recording's own counts (causal.health).
    """

    mode: str
    """experiments, end-to-end, suggest."""
    runs: int
    recorded_ns: int
    delay_ns: int
    """Of `recorded_ns`: delays inserted into the program."""
    experiments: int
    """Those that the results rest on."""
    warm_up_experiments: int
    """Left out: the program was still getting faster."""
    gc_experiments: int
    """Of `experiments`: with a pause of the collector in them."""
    progress_points: tuple[ProgressPoint, ...]
    lines: tuple[Line, ...]
    verdict: str
    next: str
    health: Mapping[str, int] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
