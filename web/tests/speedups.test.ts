import { describe, expect, it } from "vitest";
import { ratio } from "../src/speedups/figures";
import type { SweepPage, SweepRow } from "../src/speedups/payload";
import { byGain, rowsOf } from "../src/speedups/speedup";
import { segments } from "../src/speedups/stack";

const part = {
  ...{ name: "assign", computed_speedup: 3.5, low: null, high: null, efficiencies: {}, possible: { gc: 3.75 } },
  ...{ possible_intervals: {}, stack: { speedup: 3.5, gc: 0.5 } },
};
const row = {
  ...{ threads: 4, real_speedup: 2.1, computed_speedup: 2, low: 1.9, high: 2.1, regions: [part] },
  possible: { parallel_fraction: 2.2, gc: 2.001, lock_contention: 3, jit: null, all: 4 },
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
