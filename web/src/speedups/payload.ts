// What Python puts into a sweep's page (src/headway/report/html/sweep.py writes it; keep the two alike).
import type { FlameSet } from "../flame/payload";
import type { Notice } from "../payload";

/** By limit; null where it can't be known. */
export type ByLimit = Record<string, number | null>;

export interface RegionRow {
  name: string;
  computed_speedup: number;
  low: number | null;
  high: number | null;
  efficiencies: ByLimit;
  /** The speedup without each limit, and without `all`. */
  possible: ByLimit;
  possible_intervals: Record<string, [number, number]>;
  /** Adds up to the number of threads: `speedup`, and what each limit costs (below 0: less than in the sequential program). */
  stack: Record<string, number>;
}

export const POP = [
  "overall",
  "parallel",
  "load_balance",
  "communication",
  "computation",
  "instructions",
  "ipc",
  "frequency",
] as const;

export interface Metrics {
  recorded_wall_ns: number | null;
  plain_wall_ns: number | null;
  cpu_ns: number | null;
  instructions: number | null;
  cycles: number | null;
  cpi: number | null;
  cache_misses: number | null;
}

export interface SweepRow extends Omit<RegionRow, "name"> {
  threads: number;
  runs: number;
  plain_runs: number;
  real_speedup: number | null;
  real_low: number | null;
  real_high: number | null;
  pop: Record<(typeof POP)[number], number | null> | null;
  metrics: Metrics;
  /** What of the load balance is due to the number of instructions, and to their speed; null without counters per thread. */
  imbalance: { instructions: number | null; cpi: number | null };
  pairs: { limits: [string, string]; speedup: number }[];
  /** Per region, mean CPU ns of the busiest thread's largest frames. */
  flat: { region: string; frames: [string, number][] }[];
  regions: RegionRow[];
}

export interface SweepPage {
  version: 1;
  page: "sweep";
  made: { headway: string; recorded_utc: string; recording: string };
  title: string;
  commands: { parallel: string; sequential: string | null; repeat: number } | null;
  mode: string;
  counters: boolean;
  cores: number | null;
  regions: string[];
  region: string | null;
  labels: Record<string, string>;
  efficiency_labels: Record<string, string>;
  sequential: Metrics;
  rows: SweepRow[];
  verdict: {
    threads: number;
    limit: string | null;
    gain: number | null;
    place: string | null;
    evidence: string[];
    next: string;
    withheld: string | null;
    undecided: string[];
    text: string;
  };
  notices: Notice[];
  left_out: string[];
  flames: FlameSet | null;
  no_flames: string | null;
}
