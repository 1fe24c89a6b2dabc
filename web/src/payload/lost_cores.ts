// Where the cores went (report/html/lost_cores.py).
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.

export const CAUSES = [
  "serial_section",
  "lock_contention",
  "imbalance",
  "starved_consumer",
  "full_producer",
  "gc_pause",
  "safepoint",
  "jit",
  "sleep",
  "io",
  "too_few_tasks",
  "scheduler",
  "cpu_quota",
  "jvm_start",
  "jvm_end",
  "carriers",
  "condition",
  "waiting_for_threads",
  "blocked",
  "unknown",
  "idle",
] as const;
export type Cause = (typeof CAUSES)[number];

/** Core time lost to one cause at one place. */
export interface Loss {
  cause: string;
  core_ns: number;
  share: number;
  method: string | null;
  line: number | null;
  lock: string | null;
  thread: string | null;
  pid: number | null;
  /** More than 1: so many of a pool, `thread` is what their names have in common. */
  threads: number;
  /** How much faster at most, were it gone; null where that can't be said. */
  bound: number | null;
  /** How much faster it would likely be, no more than the bound; null where that is not told. */
  likely: number | null;
  evidence: string[];
}

/** What a list of losses leaves out. */
export interface MoreLosses {
  losses: number;
  core_ns: number;
}

/** Cores x time of a stretch, accounted for. */
export interface Account {
  start_ns: number;
  end_ns: number;
  cores: number;
  core_ns: number;
  used_ns: number;
  stolen_ns: number | null;
  other_processes_ns: number | null;
  lost_ns: number;
  /** Name, title and core time of who used them, who else had them, and of causes, largest first: `core_ns` in all. */
  parts: [string, string, number][];
  losses: Loss[];
  /** What `losses` leaves out. */
  more: MoreLosses;
}

/** A stretch with about the same number of active threads. */
export interface Phase {
  number: number;
  active: number;
  account: Account;
}

/** A box of the bottle graph: a thread's part of the wall time, and the mean number of threads active beside it. */
export interface Bottle {
  name: string;
  kind: string;
  height_ns: number;
  width: number;
  /** How many threads it stands for. */
  threads: number;
}

/** The critical path: by state (with its meaning) and by thread, ns. */
export interface CriticalPath {
  length_ns: number;
  states: [string, string, number][];
  threads: [string, number][];
}

/** The account of the whole recording and of its phases. */
export interface WhyView {
  account: Account;
  phases: Phase[];
  bin_ns: number;
  /** Core-ns per bin: "used_app" ..., "stolen", "other_processes", and the causes. */
  bins: Record<string, number[]>;
  titles: Record<string, string>;
  meanings: Record<string, string>;
  bottles: Bottle[];
  path: CriticalPath | null;
}
