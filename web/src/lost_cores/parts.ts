// The parts that the number of cores is made of: who used them, who else had them, and what they were lost to.
import type { Account, WhyView } from "../payload/lost_cores";

/** A part of an account: what used, took or lost core time. */
export interface Part {
  key: string;
  title: string;
  ns: number;
  isLost: boolean;
}

const TAKEN = /^(used_.*|stolen|other_processes|idle|left_over)$/;

/** All parts of an account that are not nothing: used, stolen, others, then causes, largest first. They add up to its core time. */
export const partsOf = (account: Account): Part[] =>
  account.parts.map(([key, title, ns]) => ({ key, title, ns, isLost: !TAKEN.test(key) }));

/** Starts and lengths of the bins; the last one ends with the account. */
export function binsOf(view: WhyView): { start_ns: number[]; dur_ns: number[] } {
  const { start_ns: from, end_ns: to } = view.account;
  const count = Math.max(0, ...Object.values(view.bins).map((values) => values.length));
  const start_ns = Array.from({ length: count }, (_, i) => from + i * view.bin_ns);
  return { start_ns, dur_ns: start_ns.map((start) => Math.min(view.bin_ns, to - start)) };
}

/** Mean cores per bin. */
export function coresIn(values: readonly number[] | undefined, dur_ns: readonly number[]): number[] {
  return dur_ns.map((dur, i) => (dur > 0 ? (values?.[i] ?? 0) / dur : 0));
}

/** Where a span lies within what is in sight, in percent of its width; null: out of sight. */
export function within(
  start: number,
  end: number,
  span: { from: number; to: number },
): { left: number; width: number } | null {
  const length = span.to - span.from;
  const [a, b] = [Math.max(start, span.from), Math.min(end, span.to)];
  return b > a && length > 0 ? { left: ((a - span.from) / length) * 100, width: ((b - a) / length) * 100 } : null;
}
