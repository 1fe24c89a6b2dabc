// What the views of a causal recording draw: lines as one progress point sees them, with the points of a curve by name.
import type { CausalLine, CausalPage, Curve, PointRow } from "../payload/causal";

/** A point of a curve, by name instead of by place. */
export interface CurvePoint {
  virtual_pct: number;
  program_pct: number;
  low_pct: number | null;
  high_pct: number | null;
  visits: number;
  experiments: number;
  gc_experiments: number;
}

/** A line seen by one progress point: what every view draws. */
export interface Row {
  line: CausalLine;
  curve: Curve | null;
  points: CurvePoint[];
}

/** Return every line as one progress point sees it. */
export function rowsOf(page: CausalPage, point: number): Row[] {
  return page.lines.map((line) => {
    const curve = line.curves[point] ?? null;
    return { line, curve, points: (curve?.points ?? []).map(pointOf) };
  });
}

const pointOf = ([virtual_pct, program_pct, low_pct, high_pct, visits, experiments, gc]: PointRow): CurvePoint => ({
  ...{ virtual_pct, program_pct, low_pct, high_pct, visits, experiments, gc_experiments: gc },
});
