// What counters counted (report/html/counters.py).
// Made from headway.report.html.payloads by scripts/make_shared.py (make reference): change that, not this file.
import type { Kind } from "./common";

/** A count or a ratio with its 95 % interval; `value` null: withheld, an end null: not known. */
export interface CountedFigure {
  value: number | null;
  low: number | null;
  high: number | null;
}

/** What one thread counted: figures in the order of `events` and of `metrics`. */
export interface CountedThread {
  name: string;
  kind: string;
  tid: number;
  pid: number;
  running_ns: number;
  counts: CountedFigure[];
  metrics: CountedFigure[];
}

/** Events a second of wall time in each bin, of all threads of a kind; null: they ran, and what they counted is not known. */
export interface KindRates {
  kind: Kind;
  event: string;
  rates: (number | null)[];
}

/** An event that is not counted, and why. */
export interface AbsentEvent {
  event: string;
  reason: string;
}

/** What a unit of whole sockets counted of an event on one CPU that it is read on, in what sysfs counts it in (`of`). */
export interface UnitCount {
  event: string;
  cpu: number;
  socket: number | null;
  of: string;
  counted: CountedFigure;
}

/** The counters of a recording, by thread and over time; no `events` where only units of whole sockets were counted. */
export interface CountersView {
  /** Of the ladder of counters, and what it tells. */
  step: string;
  tells: string;
  events: string[];
  metrics: string[];
  rows: CountedThread[];
  /** Threads that ran less than those in `rows`. */
  left_out: number;
  /** Why figures are withheld. */
  withheld: string[];
  /** Groups that took turns, and for what part of the time each counted. */
  in_turn: string[];
  absent: AbsentEvent[];
  start_ns: number[];
  dur_ns: number[];
  rates: KindRates[];
  units: UnitCount[];
}
