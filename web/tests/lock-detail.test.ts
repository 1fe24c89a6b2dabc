import { describe, expect, it } from "vitest";
import { Detail, placesOf } from "../src/locks/detail";
import type { LockRow, LockSite } from "../src/payload/recording";

const waker = { thread: "worker", line: null, share: 0.5, times: 1 };
const holder = { thread: "worker", share: 0.5, wait_ns: 7, doing: { running_ns: 7 }, blocked_on: [] };
const figures = Object.fromEntries(
  ["times_parked", "parked_now", "peak_parked", "parking_thread_time_ns", "parking_real_time_ns", "first_ns", "last_ns"]
    .concat(["average_parking_time_ns", "average_hold_time_ns", "real_time_util_pct", "thread_time_util_pct"])
    .concat(["real_life_time_util_pct", "thread_life_time_util_pct", "lost_core_ns", "speedup_bound", "objects"])
    .map((name) => [name, 1]),
);
const row = {
  ...figures,
  ...{ name: "lock", sites: [], more_sites: 0, patterns: [], chain: [], wait_time_ns: null, true_hold_time_ns: null },
  ...{ wakers: [waker, { ...waker }], more_wakers: 0, holders: [holder, { ...holder }], more_holders: 0 },
} as unknown as LockRow;

interface Node {
  type: unknown;
  key: unknown;
  props: { children?: unknown };
}

/** Every element below one, components replaced by what they return. */
function elements(of: unknown): Node[] {
  if (Array.isArray(of)) return of.flatMap(elements);
  if (of === null || typeof of !== "object") return [];
  const node = of as Node;
  if (typeof node.type === "function") return elements(node.type(node.props));
  return [node, ...elements(node.props.children)];
}

describe("the details of a lock", () => {
  it.each(["li", "tr"])("tell threads of the same name apart by keys (%s)", (type) => {
    const keys = elements(Detail({ row }))
      .filter((node) => node.type === type && node.key !== undefined && node.key !== null)
      .map((node) => node.key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(2);
  });
});

describe("where a lock is waited for", () => {
  const site = {
    line: "Store.put:7",
    share: 0.25,
    wait_ns: 10,
    times: 2,
    stacks_taken: 1,
    stack: ["a"],
    is_cut: false,
    contention: true,
  };
  const sites: LockSite[] = [{ ...site, line: "Store.get:9", wait_ns: 15 }, site, { ...site, stack: ["b"] }];

  it("is told once for each line, however many stacks lead there", () => {
    const places = placesOf(sites);
    expect(places.map(({ line, wait_ns, times }) => [line, wait_ns, times])).toEqual([
      ["Store.put:7", 20, 4],
      ["Store.get:9", 15, 2],
    ]);
    expect(places[0]?.share).toBe(0.5);
    expect(places[0]?.stacks.map(({ stack }) => stack)).toEqual([["a"], ["b"]]);
    expect(sites[1]?.wait_ns).toBe(10);
  });
});
