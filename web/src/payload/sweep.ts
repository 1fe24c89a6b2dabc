// The page of a sweep (report/html/speedups.py).
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.
import type { MadeBy, Notice } from "./common";
import type { FlameSet } from "./flame";

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
export type PopMetric = (typeof POP)[number];

/** By limit; null where it can't be known. */
export type ByLimit = Record<string, number | null>;

/** What a region and the whole program have alike. */
export interface Figures {
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

/** A region at a number of threads. */
export interface RegionRow extends Figures {
  name: string;
}

/** Sums of a number of threads' runs. */
export interface Metrics {
  recorded_wall_ns: number | null;
  plain_wall_ns: number | null;
  cpu_ns: number | null;
  instructions: number | null;
  cycles: number | null;
  cpi: number | null;
  cache_misses: number | null;
}

/** What of the load balance is due to the number of instructions, and to their speed; null without counters per thread. */
export interface Imbalance {
  instructions: number | null;
  cpi: number | null;
}

/** The speedup without two limits at once. */
export interface Pair {
  limits: [string, string];
  speedup: number;
}

/** Mean CPU ns of the busiest thread's largest frames in a region. */
export interface FlatProfile {
  region: string;
  frames: [string, number][];
}

/** A number of threads. */
export interface SweepRow extends Figures {
  threads: number;
  runs: number;
  plain_runs: number;
  real_speedup: number | null;
  real_low: number | null;
  real_high: number | null;
  pop: Record<PopMetric, number | null> | null;
  metrics: Metrics;
  imbalance: Imbalance;
  pairs: Pair[];
  flat: FlatProfile[];
  regions: RegionRow[];
}

/** What was run. */
export interface Commands {
  parallel: string;
  sequential: string | null;
  repeat: number;
}

/** What limits the speedup most. */
export interface Verdict {
  threads: number;
  limit: string | null;
  gain: number | null;
  place: string | null;
  evidence: string[];
  next: string;
  withheld: string | null;
  undecided: string[];
  text: string;
}

/** The payload of a sweep's page. */
export interface SweepPage {
  version: 1;
  page: "sweep";
  made: MadeBy;
  title: string;
  commands: Commands | null;
  mode: string;
  counters: boolean;
  cores: number | null;
  regions: string[];
  region: string | null;
  labels: Record<string, string>;
  efficiency_labels: Record<string, string>;
  sequential: Metrics;
  rows: SweepRow[];
  verdict: Verdict;
  notices: Notice[];
  left_out: string[];
  flames: FlameSet | null;
  no_flames: string | null;
}
