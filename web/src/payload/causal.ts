// The page of a causal recording (report/html/causal.py).
//
// Speedups are in per cent: virtual ones of a line, the others of the program; 0 is no change, below 0 is slower.
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.
import type { MadeBy, Notice } from "./common";

/** Virtual speedup, program speedup and its interval, visits, experiments, those of them with a pause of the collector. */
export type PointRow = [number, number, number | null, number | null, number, number, number];

export type Shape = "gain" | "flattens" | "slower" | "none" | "unknown" | "untested";

/** What a line does to one progress point. */
export interface Curve {
  shape: Shape;
  significant: boolean;
  /** Per cent of program speedup per per cent of virtual speedup. */
  slope: number | null;
  slope_low: number | null;
  slope_high: number | null;
  /** The largest slope that delays allow; null: no limit is known. */
  slope_most: number | null;
  /** All of the slope's interval is more than that: noise, or threads that gain by standing still. */
  is_beyond_delays: boolean;
  maximum_pct: number | null;
  maximum_low_pct: number | null;
  maximum_high_pct: number | null;
  maximum_at_pct: number | null;
  flat_from_pct: number | null;
  /** Seconds more of such recording that would tell; null: not to be had, or not needed. */
  needs_s: number | null;
  points: PointRow[];
}

/** Lines of source around a place. */
export interface SourceLines {
  file: string;
  first: number;
  target: number;
  lines: string[];
}

/** A line of code, a method, a lock, or GC pauses, and what it would give. */
export interface CausalLine {
  /** "OrderBook.java:42", or a method, a lock, GC pauses. */
  name: string;
  kind: string;
  class_name: string;
  method: string;
  /** Share of the program's CPU time. */
  samples_pct: number;
  /** Time asleep in it, as a share of the recorded time; above 100 with several threads. */
  blocked_pct: number;
  phase_share: number;
  experiments: number;
  /** By progress point, as CausalPage.progress_points; null: no experiment counted for it. */
  curves: (Curve | null)[];
  source: SourceLines | null;
}

/** What counts the program's progress. */
export interface ProgressPoint {
  name: string;
  measure: "throughput" | "latency" | "run";
  kind: string;
  where: string;
  hits: number;
  hits_per_s: number;
  latency_ns: number | null;
}

/** The payload of a causal recording's page. */
export interface CausalPage {
  version: 1;
  page: "causal";
  made: MadeBy;
  title: string;
  mode: string;
  runs: number;
  recorded_ns: number;
  delay_ns: number;
  experiments: number;
  warm_up_experiments: number;
  gc_experiments: number;
  verdict: string;
  next: string;
  progress_points: ProgressPoint[];
  /** Ranked: those known to give most first. */
  lines: CausalLine[];
  /** What had no room on the page. */
  left_out: string[];
  /** Why no source is shown, or which lines have none; null where each has. */
  no_sources: string | null;
  notices: Notice[];
}
