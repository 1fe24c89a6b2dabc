import { describe, expect, it } from "vitest";
import { nextState } from "../src/lanes/keys";
import { binAt, columns, decode, intervalAt, RUNNABLE, RUNNING, SLEEPING, search, sorted } from "../src/lanes/model";
import type { Lane } from "../src/payload/recording";

const base: Lane = {
  id: 0,
  pid: 1,
  tid: 7,
  name: "main",
  kind: "app",
  start_ns: 0,
  end_ns: null,
  running_ns: 10,
  stolen_ns: 0,
  runnable_ns: 0,
  blocked_ns: 0,
  switches: 1,
  share: 1,
  mean_parallelism: 1,
  bottle_height_ns: 10,
  bottle_width: 1,
  exact: null,
  exact_from_ns: 0,
  bins: null,
};

const exact = decode({ ...base, exact: [SLEEPING, 30, RUNNABLE, 10, RUNNING + 3, 60], exact_from_ns: 100 });
const binned = decode({
  ...base,
  bins: { n: 4, running: btoa("\xff\x00\x33\x00"), runnable: "", sleeping: btoa("\x00\xff\xcc\x00"), other: "" },
});

describe("a track with exact intervals", () => {
  it("knows the interval around a time, and nothing outside its life", () => {
    expect(intervalAt(exact, 135)).toEqual({ code: RUNNABLE, start_ns: 130, end_ns: 140 });
    expect(intervalAt(exact, 130)?.code).toBe(RUNNABLE);
    expect(intervalAt(exact, 99)).toBeNull();
    expect(intervalAt(exact, 200)).toBeNull();
  });

  it("fills pixel columns with the share of each state, whatever the zoom", () => {
    // [100, 200) in two columns: 30 asleep + 10 runnable + 10 running, then 50 running.
    expect([...columns(exact, 100, 200, 2, 1000)]).toEqual([0.2, 0.2, 0.6, 0, 1, 0, 0, 0].map(Math.fround));
    // Zoomed into a part of one interval every column is full.
    expect([...columns(exact, 150, 153, 3, 1000)]).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
  });

  it("keeps the total time of each state for any number of columns", () => {
    for (const count of [1, 3, 7, 50, 333]) {
      const shares = columns(exact, 90, 210, count, 1000);
      const total = [0, 0, 0, 0];
      shares.forEach((share, i) => {
        total[i % 4] = (total[i % 4] ?? 0) + (share * 120) / count;
      });
      expect(total.map((t) => Math.round(t * 1000) / 1000)).toEqual([60, 10, 30, 0]);
    }
  });

  it("is read state by state with the arrow keys, and stops at its ends", () => {
    expect(nextState(exact, -1, 1, 1000)).toBe(115);
    expect(nextState(exact, 115, 1, 1000)).toBe(135);
    expect(nextState(exact, 135, -1, 1000)).toBe(115);
    expect(nextState(exact, 115, -1, 1000)).toBe(115);
    expect(nextState(exact, 1000, -1, 1000)).toBe(170);
  });
});

describe("a track with shares of bins", () => {
  it("knows the bin around a time", () => {
    expect(binAt(binned, 600, 1000)).toEqual({ start_ns: 500, end_ns: 750, shares: [0.2, 0, 0.8, 0] });
    expect(binAt(binned, 1000, 1000)).toBeNull();
  });

  it("averages bins into wider columns and repeats them in narrower ones", () => {
    expect([...columns(binned, 0, 1000, 2, 1000)].slice(0, 4)).toEqual([0.5, 0, 0.5, 0]);
    expect([...columns(binned, 0, 250, 2, 1000)]).toEqual([1, 0, 0, 0, 1, 0, 0, 0]);
  });
});

describe("search", () => {
  const named = (name: string) => ({ ...base, name });
  it("finds a part of the name whatever its case, or the tid", () => {
    expect(search("MAI").matches(named("main"))).toBe(true);
    expect(search("7").matches(named("main"))).toBe(true);
    expect(search("worker").matches(named("main"))).toBe(false);
    expect(search("a.b").matches(named("axb"))).toBe(false);
  });

  it("takes /.../ for a regular expression, with flags", () => {
    expect(search("/^w.*[05]$/").matches(named("worker-5"))).toBe(true);
    expect(search("/^W/").matches(named("worker-5"))).toBe(false);
    expect(search("/^W/i").matches(named("worker-5"))).toBe(true);
    // A global expression would remember where it stopped and miss every other name.
    const found = search("/o/g");
    expect([1, 2, 3].map(() => found.matches(named("worker")))).toEqual([true, true, true]);
  });

  it("says what is wrong with a broken one, and finds nothing", () => {
    expect(search("/(/").problem).toContain("/(/");
    expect(search("/(/").matches(named("("))).toBe(false);
  });
});

describe("sorting", () => {
  const tracks = [
    { ...base, id: 1, name: "b-10", kind: "vm", running_ns: 5, start_ns: 3 },
    { ...base, id: 2, name: "b-9", kind: "app", running_ns: 50, start_ns: 9 },
    { ...base, id: 3, name: "a", kind: "gc", running_ns: 7, start_ns: 1 },
  ].map(decode);
  const ids = (key: Parameters<typeof sorted>[1]) => sorted(tracks, key).map((t) => t.lane.id);
  it("orders by each key, numbers in names by value", () => {
    expect(ids("running")).toEqual([2, 3, 1]);
    expect(ids("start")).toEqual([3, 1, 2]);
    expect(ids("name")).toEqual([3, 2, 1]);
    expect(ids("kind")).toEqual([2, 3, 1]);
  });
});
