// The page of a recording (report/html/payload.py). Never raw events: at most 2 MB, always.
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.
import type { Kind, MadeBy, Notice } from "./common";
import type { CountersView } from "./counters";
import type { FlameSet } from "./flame";
import type { WhyView } from "./lost_cores";
import type { PlacementsView } from "./placements";

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

/** A line of the verdict, and the figures that it is made of. */
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

/** The mean number of threads over time, by kind. */
export interface Profile {
  start_ns: number[];
  dur_ns: number[];
  active: Record<Kind, number[]>;
  running: Record<Kind, number[]>;
  stolen: number[] | null;
}

/** How many threads were active. */
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

/** The wall time on a number of cores. */
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

/** Wall times on other numbers of cores. */
export interface Walltime {
  recorded_cores: number;
  runs: number;
  measured_ns: number;
  corrected_measured_ns: number | null;
  critical_ns: number;
  critical_low_ns: number | null;
  /** The sentence that says for how much of the time the program waited for requests from outside; None: hardly ever. */
  idle: string | null;
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

/** A thread, and what it did over time. */
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

/** The threads that have no lane, together. */
export interface RestOfThreads {
  threads: number;
  running_ns: number;
  runnable_ns: number;
  blocked_ns: number;
  switches: number;
  by_kind: Record<string, number>;
}

/** The threads that ran longest, and the rest. */
export interface Lanes {
  total: number;
  lanes: Lane[];
  rest: RestOfThreads | null;
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

/** A line at which a lock is waited for. */
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

/** What a holder waited for itself. */
export interface BlockedOn {
  name: string;
  wait_ns: number;
}

/** A thread that held a lock while others waited, and what it did. */
export interface LockHolder {
  thread: string;
  share: number;
  wait_ns: number;
  doing: Record<Doing, number>;
  seen_by: string[];
  blocked_on: BlockedOn[];
}

/** A thread that ended waits, and the line of its unpark; null: not known, as of monitors. */
export interface LockWaker {
  thread: string;
  line: string | null;
  share: number;
  times: number;
}

/** A thread, and the lock that it waits for. */
export interface ChainLink {
  thread: string;
  lock: string;
}

/** Something typical that a lock shows. */
export interface LockPattern {
  name: string;
  text: string;
}

/** A row of `headway locks`; `waiters` is the mean number of waiting threads in each bin, null where it has no object. */
export interface LockRow {
  name: string;
  /** The line at which most of the time was waited; null: not known. */
  place: string | null;
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
  patterns: LockPattern[];
  waiters: number[] | null;
}

/** The locks that cost most. */
export interface LockView {
  bins: number;
  contended_ns: number;
  idle_ns: number;
  hidden: number;
  rows: LockRow[];
  deadlocks: ChainLink[][];
}

/** A fact of the recording, as text. */
export interface Fact {
  label: string;
  value: string;
}

/** Facts under a heading. */
export interface FactGroup {
  heading: string;
  rows: Fact[];
}

/** A table of an analysis that a package adds; null cells are not known, `left_out` rows are not here. */
export interface AddedTable {
  title: string;
  columns: string[];
  rows: (string | number | number | null)[][];
  left_out: number;
}

/** A point with its figures, in the order of the axes; null: not known. */
export interface ScatterPoint {
  name: string;
  figures: (number | null)[];
}

/** Points any two of whose figures are drawn; the reader's own comes first where there is one. */
export interface Scatter {
  title: string;
  axes: string[];
  points: ScatterPoint[];
  has_own: boolean;
}

/** One row of a heat map: its counts by kind of access, column and group, and which column is the row's own (null: none). */
export interface HeatRow {
  name: string;
  cells: number[][];
  groups: number[][];
  own: number | null;
}

/** Counts by row and column, coloured by size; `left_out` rows and columns are not here. */
export interface HeatMap {
  title: string;
  kinds: string[];
  groups: string[];
  columns: string[];
  rows: HeatRow[];
  marks: string;
  left_out: number;
}

/** The answer of an analysis that a package adds. */
export interface AddedSection {
  name: string;
  package: string;
  title: string;
  sentences: string[];
  tables: AddedTable[];
  scatter: Scatter | null;
  heat_map: HeatMap | null;
}

/** The JVM's phases: start_ns, dur_ns, kind, cause. */
export interface Phases {
  items: [number, number, string, string][];
  left_out: number;
}

export type ViewName = "parallelism" | "walltime" | "lanes" | "locks" | "flames" | "why" | "counters";

/** The payload of a recording's page. */
export interface Payload {
  version: 1;
  made: MadeBy;
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
  /** What was counted while threads ran; null where nothing was. */
  counters: CountersView | null;
  /** When the program was on one memory node and when on all; null where no records of that were given. */
  placements: PlacementsView | null;
  /** Flame graphs of what was sampled, and of time blocked; null where there is neither. */
  flames: FlameSet | null;
  /** Why a view has nothing to show, or there are no lanes: a view is never empty without saying why. */
  missing: Record<ViewName, string | null>;
  threads: Lanes;
  phases: Phases;
  /** Answers of analyses that packages add. */
  sections: AddedSection[];
  facts: FactGroup[];
}
