// Figures and sentences about causal speedups.
import type { CurvePoint, Row } from "./rows";

/** A speedup in per cent with its sign: "+12.3%", "−0.4%", "0%". */
export function signed(pct: number): string {
  const text = Math.abs(pct) >= 99.95 ? Math.round(pct).toString() : pct.toFixed(1);
  if (Number(text) === 0) return "0%";
  return `${pct > 0 ? "+" : ""}${text.replace("-", "−")}%`;
}

/** A share in per cent: "4.2%", "37%". */
export const plain = (pct: number): string => `${pct >= 9.95 || pct === 0 ? Math.round(pct) : pct.toFixed(1)}%`;

/** What one point says, in words: for those who do not see the curve. */
export function pointText(point: CurvePoint): string {
  const { low_pct, high_pct, experiments } = point;
  const interval = low_pct === null || high_pct === null ? "" : `, ${signed(low_pct)} to ${signed(high_pct)}`;
  const ran = `${experiments} ${experiments === 1 ? "experiment" : "experiments"}`;
  return `line ${plain(point.virtual_pct)} faster: program ${signed(point.program_pct)}${interval}; ${ran}`;
}

/** What is known of a line in a few words. */
export function outcome({ curve }: Row): string {
  if (curve === null || curve.shape === "untested") return "no experiment";
  if (curve.shape === "unknown") {
    const more = curve.needs_s === null ? "too little to say" : needs(curve.needs_s);
    if (!curve.is_beyond_delays) return more;
    return `more than its delays allow (${signed(100 * (curve.slope_most ?? 0))} at most); ${more}`;
  }
  if (curve.shape === "none" || curve.maximum_pct === null) return "no effect";
  const at = curve.maximum_at_pct === null ? "" : ` at ${plain(curve.maximum_at_pct)}`;
  const flat = curve.flat_from_pct === null ? "" : `, flat from ${plain(curve.flat_from_pct)}`;
  return `${signed(curve.maximum_pct)}${at}${flat}`;
}

/** Return how much longer to record before a line's effect is known. */
export function needs(seconds: number): string {
  if (seconds < 60) return "needs less than 1 more minute";
  const minutes = Math.ceil(seconds / 60);
  return `needs ${minutes.toLocaleString("en-US")} more ${minutes === 1 ? "minute" : "minutes"}`;
}

/** Too little is known of it to be shown as a finding. */
export const isWeak = ({ curve }: Row): boolean =>
  curve === null || curve.shape === "unknown" || curve.shape === "untested";

/** The most a line gives; 0 where it is known to have no effect, null where nothing is known. */
export function gain(row: Row): number | null {
  if (isWeak(row)) return null;
  return row.curve?.shape === "none" ? 0 : (row.curve?.maximum_pct ?? null);
}
