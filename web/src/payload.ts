// What Python puts into the page (src/headway/report/html/payload.py writes it; keep the two alike).
// Times are ns from the start of the recording unless a name says otherwise. Never raw events: at most 2 MB, always.

import type { CausalPage } from "./causal/payload";
import type { FlamePage, FlameSet } from "./flame/payload";
import type { SweepPage } from "./speedups/payload";
import type { WhyView } from "./why/payload";

export const KINDS = ["app", "gc", "jit", "vm"] as const;
export type Kind = (typeof KINDS)[number];

export interface Notice {
  id: string;
  message: string;
  remedy: string;
}

export interface Finding {
  id: string;
  text: string;
  figures: Record<string, number | null>;
}

/** Wall time with `from`..`to` threads active, or running; one level where from = to. */
export interface LevelRow {
  from: number;
  to: number;
  active_ns: number;
  active_corrected_ns: number | null;
  running_ns: number;
  running_corrected_ns: number | null;
  by_kind: Record<Kind, number>;
}

export interface Profile {
  start_ns: number[];
  dur_ns: number[];
  active: Record<Kind, number[]>;
  running: Record<Kind, number[]>;
  stolen: number[] | null;
}

export interface Parallelism {
  wall_ns: number;
  corrected_wall_ns: number | null;
  mean_active: number;
  mean_running: number;
  max_active: number;
  max_running: number;
  idle_share: number;
  serial_share: number;
  stolen_core_ns: number | null;
  running_core_ns: Record<Kind, number>;
  percentiles: [number, number][];
  levels: LevelRow[];
  profile: Profile;
}

export interface Prediction {
  cores: number;
  ns: number | null;
  corrected_ns: number | null;
  low_ns: number | null;
  high_ns: number | null;
  interval: string;
  withheld: string | null;
  ideal_ns: number;
}

export interface Walltime {
  recorded_cores: number;
  runs: number;
  measured_ns: number;
  corrected_measured_ns: number | null;
  critical_ns: number;
  predictions: Prediction[];
}

/** Shares of each of `n` equal bins of the recording as bytes (255 = the whole bin), base64; "" is all zero. */
export interface BinnedStates {
  n: number;
  running: string;
  runnable: string;
  sleeping: string;
  other: string;
}

export interface Lane {
  id: number;
  pid: number;
  tid: number;
  name: string;
  kind: string;
  start_ns: number;
  end_ns: number | null;
  running_ns: number | null;
  stolen_ns: number | null;
  runnable_ns: number | null;
  blocked_ns: number | null;
  switches: number | null;
  share: number | null;
  mean_parallelism: number | null;
  /** Its part of the wall time, each moment divided among the active threads (Du Bois et al., OOPSLA 2013). */
  bottle_height_ns: number | null;
  /** The mean number of active threads while it is active itself. */
  bottle_width: number | null;
  /** State code, length in ns, state code, length, ... from `exact_from_ns`; codes in lanes/model.ts. */
  exact: number[] | null;
  exact_from_ns: number;
  bins: BinnedStates | null;
}

export interface RestOfThreads {
  threads: number;
  running_ns: number;
  runnable_ns: number;
  blocked_ns: number;
  switches: number;
  by_kind: Record<string, number>;
}

/** A distribution of times: nearest-rank percentiles. */
export interface Times {
  p50: number;
  p99: number;
  max: number;
  mean: number;
  count: number;
  source?: string;
}

export interface LockSite {
  line: string;
  share: number;
  wait_ns: number;
  times: number;
  stacks_taken: number;
  contention: boolean;
  stack: string[];
  is_cut: boolean;
}

export const DOINGS = [
  "running_ns",
  "runnable_ns",
  "blocked_ns",
  "gc_pause_ns",
  "sleeping_ns",
  "handoff_ns",
  "unknown_ns",
] as const;
export type Doing = (typeof DOINGS)[number];

export interface LockHolder {
  thread: string;
  share: number;
  wait_ns: number;
  doing: Record<Doing, number>;
  seen_by: string[];
  blocked_on: { name: string; wait_ns: number }[];
}

/** A thread that ended waits, and the line of its unpark; null: not known, as of monitors. */
export interface LockWaker {
  thread: string;
  line: string | null;
  share: number;
  times: number;
}

export interface ChainLink {
  thread: string;
  lock: string;
}

/** A row of `headway locks`; `waiters` is the mean number of waiting threads in each bin, null where it has no object. */
export interface LockRow {
  name: string;
  class_name: string;
  kind: string;
  waiting: string;
  rule: string;
  contention: boolean;
  objects: number;
  dead: boolean;
  deadlocked: boolean;
  first_thread: string | null;
  first_ns: number;
  last_ns: number;
  times_parked: number;
  parked_now: number;
  peak_parked: number;
  parking_thread_time_ns: number;
  parking_real_time_ns: number;
  average_parking_time_ns: number | null;
  average_hold_time_ns: number | null;
  real_time_util_pct: number | null;
  thread_time_util_pct: number | null;
  real_life_time_util_pct: number | null;
  thread_life_time_util_pct: number | null;
  wait_time_ns: Times | null;
  true_hold_time_ns: Times | null;
  lost_core_ns: number | null;
  speedup_bound: number | null;
  sites: LockSite[];
  more_sites: number;
  holders: LockHolder[];
  more_holders: number;
  wakers: LockWaker[];
  more_wakers: number;
  holding: Record<Doing, number> | null;
  chain: ChainLink[];
  chain_is_cycle: boolean;
  patterns: { name: string; text: string }[];
  waiters: number[] | null;
}

export interface LockView {
  bins: number;
  contended_ns: number;
  idle_ns: number;
  hidden: number;
  rows: LockRow[];
  deadlocks: ChainLink[][];
}

export interface Fact {
  label: string;
  value: string;
}

export interface Payload {
  version: 1;
  made: { headway: string; recorded_utc: string; recording: string };
  title: string;
  command: string;
  mode: string;
  wall_ns: number;
  recorded_cores: number | null;
  findings: Finding[];
  notices: Notice[];
  /** Where the cores went; null where it can't be said. */
  why: WhyView | null;
  parallelism: Parallelism | null;
  walltime: Walltime | null;
  locks: LockView | null;
  /** Flame graphs of what was sampled, and of time blocked; null where there is neither. */
  flames: FlameSet | null;
  /** Why parallelism, walltime or locks is null, or why there are no lanes: a view is never empty without saying why. */
  missing: Record<"parallelism" | "walltime" | "lanes" | "locks" | "flames" | "why", string | null>;
  threads: { total: number; lanes: Lane[]; rest: RestOfThreads | null };
  phases: { items: [number, number, string, string][]; left_out: number };
  facts: { heading: string; rows: Fact[] }[];
}

/** What a page may be made of: a recording, which has no `page`, or one of the others. */
export type AnyPayload = Payload | FlamePage | SweepPage | CausalPage;

/** Reads the payload that Python put into the page; null when there is none (the bare app was opened). */
export function readPayload(doc: Document): AnyPayload | null {
  const text = doc.getElementById("headway-payload")?.textContent?.trim();
  return text ? (JSON.parse(text) as AnyPayload) : null;
}
