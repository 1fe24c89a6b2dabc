import { describe, expect, it } from "vitest";
import type { SweepPage, SweepRow } from "../src/payload/sweep";
import { ratio } from "../src/speedups/figures";
import { pairsOf } from "../src/speedups/pairs";
import { byGain, linesOf, rowsOf } from "../src/speedups/speedup";
import { segments } from "../src/speedups/stack";

const part = {
  ...{ name: "assign", computed_speedup: 3.5, low: null, high: null, efficiencies: {}, possible: { gc: 3.75 } },
  ...{ possible_intervals: {}, stack: { speedup: 3.5, gc: 0.5 } },
};
const row = {
  ...{ threads: 4, real_speedup: 2.1, computed_speedup: 2, low: 1.9, high: 2.1, regions: [part] },
  possible: { parallel_fraction: 2.2, gc: 2.001, lock_contention: 3, jit: null, all: 4 },
  possible_intervals: { lock_contention: [2.5, 3.5] },
  pairs: [
    { limits: ["parallel_fraction", "gc"], speedup: 2.201 },
    { limits: ["parallel_fraction", "lock_contention"], speedup: 3.4 },
    { limits: ["gc", "lock_contention"], speedup: 3.5 },
  ],
} as unknown as SweepRow;

describe("a speedup stack", () => {
  it("adds up to the number of threads, with what is won below nothing", () => {
    const found = segments({ gc: 0.5, speedup: 3, load_balance: -0.25, scheduling: 0.75, jit: 0 });
    expect(found).toEqual([
      { limit: "speedup", from: 0, to: 3 },
      { limit: "gc", from: 3, to: 3.5 },
      { limit: "load_balance", from: 0, to: -0.25 },
      { limit: "scheduling", from: 3.5, to: 4.25 },
    ]);
    expect(found.reduce((sum, s) => sum + s.to - s.from, 0)).toBe(4);
  });
});

describe("possible speedups", () => {
  it("come by gain, without those that give nothing", () => {
    expect(byGain([row])).toEqual(["lock_contention", "parallel_fraction"]);
    expect(byGain([])).toEqual([]);
  });

  it("of a region have no real speedup", () => {
    const page = { rows: [row] } as unknown as SweepPage;
    expect(rowsOf(page, "")).toEqual([row]);
    const [found] = rowsOf(page, "assign");
    expect([found?.threads, found?.real_speedup, found?.computed_speedup]).toEqual([4, null, 3.5]);
    expect(rowsOf(page, "nothing")).toEqual([]);
  });
});

describe("speedups without limits", () => {
  it("are drawn with their intervals where these are known", () => {
    const lines = linesOf([row], ["lock_contention", "gc"], { lock_contention: "locks", gc: "GC" });
    const [locks, gc] = lines.slice(-2);
    expect([locks?.label, locks?.values, locks?.low, locks?.high]).toEqual(["without locks", [3], [2.5], [3.5]]);
    expect([gc?.label, gc?.values, gc?.low, gc?.high]).toEqual(["without GC", [2.001], [null], [null]]);
  });

  it("in pairs come the best first, without those where one limit gives as much", () => {
    const fewer = { ...row, threads: 2, pairs: row.pairs.slice(0, 2) };
    expect(pairsOf([fewer, row])).toEqual([
      { limits: ["gc", "lock_contention"], values: [null, 3.5] },
      { limits: ["parallel_fraction", "lock_contention"], values: [3.4, 3.4] },
    ]);
    expect(pairsOf([])).toEqual([]);
  });

  it("in pairs are those of groups, not of their parts", () => {
    const limits = ["parallel_cpi_overhead", "cpi_overhead"].map((cpi) => ["gc", cpi]);
    const possible = { gc: 2.1, cpi_overhead: 3, parallel_cpi_overhead: 2.9 };
    const counted = { ...row, possible, pairs: limits.map((each) => ({ limits: each, speedup: 4 })) };
    expect(pairsOf([counted as unknown as SweepRow]).map((pair) => pair.limits)).toEqual([["gc", "cpi_overhead"]]);
  });

  it("in pairs are the program's, not those of a region", () => {
    expect(pairsOf(rowsOf({ rows: [row] } as unknown as SweepPage, "assign"))).toEqual([]);
  });
});

describe("ratios", () => {
  it("have three digits, and never a minus nought", () => {
    expect([1, 3.144, 12.34, 100.4, -0.001, -0.25].map(ratio)).toEqual([
      "1.00",
      "3.14",
      "12.3",
      "100",
      "0.00",
      "−0.25",
    ]);
  });
});
