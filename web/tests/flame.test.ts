import { describe, expect, it } from "vitest";
import { amount, describe as inWords } from "../src/flame/describe";
import { fit } from "../src/flame/draw";
import { layout, NARROWEST, nodeAt } from "../src/flame/layout";
import { arrange, change, childrenOf, decode, nameOf, pathTo, unpack } from "../src/flame/model";
import { placeAmong, step } from "../src/flame/move";
import { findFrames, matched } from "../src/flame/search";
import { sums } from "../src/flame/table";
import type { Flame, FlameFrames, PackedTree } from "../src/payload/flame";

function packed(values: number[]): string {
  const bytes: number[] = [];
  for (let value of values) {
    for (; value >= 128; value = Math.floor(value / 128)) bytes.push(128 + (value % 128));
    bytes.push(value);
  }
  return btoa(String.fromCharCode(...bytes));
}

// all > main > (a > hot, b > (hot > hot, 3 smaller)); "b" is heavier, though it comes second.
const frames: FlameFrames = { names: ["all", "(smaller)", "main", "a", "b", "hot"], kinds: "jkaaad" };
const columns: PackedTree = {
  nodes: 8,
  ups: packed([0, 0, 0, 0, 2, 0, 0, 2]),
  frames: packed([0, 2, 3, 5, 4, 5, 5, 1]),
  self: packed([0, 1, 0, 30, 4, 50, 10, 5]),
  other: null,
  merged: packed([3]),
};
const tree = decode(columns);
const drawn = arrange(tree, "this");
const graph: Flame = {
  ...{ event: "cpu", label: "CPU", unit: "ns", total: 100, versus: null, merged: columns, by_thread: null, notes: [] },
};

describe("a packed tree", () => {
  it("holds numbers up to 2^53", () => {
    const values = [0, 1, 127, 128, 300, 2 ** 32, 2 ** 53 - 1];
    expect([...unpack(packed(values), values.length)]).toEqual(values);
    expect(() => unpack(packed([1]), 2)).toThrow("cut short");
  });

  it("knows parents, sums and children, the heaviest first", () => {
    expect([...tree.parent]).toEqual([-1, 0, 1, 2, 1, 4, 5, 4]);
    expect([...tree.total]).toEqual([100, 100, 30, 30, 69, 60, 10, 5]);
    expect([...childrenOf(tree, 1)]).toEqual([4, 2]);
    expect([...childrenOf(tree, 6)]).toEqual([]);
    expect([...drawn.start]).toEqual([0, 0, 69, 69, 0, 0, 0, 60]);
    expect(pathTo(tree, 6)).toEqual([0, 1, 4, 5, 6]);
    expect(nameOf(frames, tree, 7)).toBe("(3 smaller)");
  });
});

describe("the layout", () => {
  it("makes every box as wide as its share, and no wider than its caller", () => {
    const { rows, drawn: boxes } = layout(drawn, 0, 1000);
    expect(rows.map((row) => row.node)).toEqual([[0], [1], [4, 2], [5, 7, 3], [6]]);
    expect(rows[2]).toEqual({ node: [4, 2], x: [0, 690], w: [690, 300] });
    expect(rows[3]?.x).toEqual([0, 600, 690]);
    expect(boxes).toBe(8);
  });

  it("gives the zoomed frame the whole width, and keeps its callers above it", () => {
    const { rows } = layout(drawn, 5, 600);
    expect(rows.map((row) => row.node)).toEqual([[0], [1], [4], [5], [6]]);
    expect(rows[3]).toEqual({ node: [5], x: [0], w: [600] });
    expect(rows[4]).toEqual({ node: [6], x: [0], w: [100] });
  });

  it("draws nothing that is narrower than it must be, but one block for all of them", () => {
    const many = 10_000;
    const wide = decode({
      nodes: many + 2,
      ups: packed([0, 0, ...new Array<number>(many).fill(1)].map((up, i) => (i === 2 ? 1 : up))),
      frames: packed([0, ...new Array<number>(many + 1).fill(2)]),
      self: packed([0, 9 * many, ...new Array<number>(many).fill(1)]),
      other: null,
      merged: "",
    });
    const { rows, drawn: boxes } = layout(arrange(wide, "this"), 0, 1000);
    expect(wide.total[0]).toBe(10 * many);
    expect(boxes).toBe(3);
    expect(rows[1]?.node).toEqual([1, -1]); // the block of what the root calls, and is too narrow
    expect(rows[1]?.w.map((w) => Math.round(w * 1e6) / 1e6)).toEqual([900, 100]);
    for (const row of rows) for (const w of row.w) expect(w).toBeGreaterThanOrEqual(NARROWEST);
  });

  it("finds the box under the pointer", () => {
    const row = layout(drawn, 0, 1000).rows[3];
    expect([0, 599, 601, 649, 651, 700, 990].map((x) => nodeAt(row, x))).toEqual([5, 5, 7, 7, null, 3, null]);
    expect(nodeAt(undefined, 5)).toBeNull();
  });
});

describe("search", () => {
  it("counts what matches once, however often it is nested", () => {
    const found = findFrames(frames, "HOT");
    expect(found && matched(tree, tree.total, found, 0)).toEqual({ nodes: 3, weight: 90, heaviest: 5 });
    expect(found && matched(tree, tree.total, found, 4)).toEqual({ nodes: 2, weight: 60, heaviest: 5 });
    expect(found && matched(tree, tree.total, found, 6)).toEqual({ nodes: 1, weight: 10, heaviest: 6 });
    expect(findFrames(frames, " ")).toBeNull();
  });

  it("takes /.../ for a regular expression, and never finds what is no frame", () => {
    const found = findFrames(frames, "/^(a|main)$/");
    expect([...(found?.frames ?? [])]).toEqual([0, 0, 1, 1, 0, 0]);
    expect(findFrames(frames, "smaller")?.frames.includes(1)).toBe(false);
    expect(findFrames(frames, "/(/")?.problem).toContain("/(/");
  });
});

describe("moving with the keyboard", () => {
  it("goes to the heaviest callee, the caller and the neighbours, and stops at ends", () => {
    expect(step(drawn, 1, "deeper")).toBe(4);
    expect(step(drawn, 4, "right")).toBe(2);
    expect(step(drawn, 2, "right")).toBe(2);
    expect(step(drawn, 2, "left")).toBe(4);
    expect(step(drawn, 4, "up")).toBe(1);
    expect(step(drawn, 0, "up")).toBe(0);
    expect(step(drawn, 0, "left")).toBe(0);
    expect(step(drawn, 6, "deeper")).toBe(6);
    expect(placeAmong(drawn, 2)).toEqual([2, 2]);
    expect(placeAmong(drawn, 0)).toEqual([1, 1]);
  });
});

describe("two profiles in one tree", () => {
  const both = decode({ ...columns, other: packed([0, 0, 0, 50, 0, 50, 0, 0]) });
  it("compares shares, not weights", () => {
    expect(change(tree, 1)).toBeNull();
    expect(change(both, 2)).toBeCloseTo(0.3 - 0.5);
    expect(change(both, 0)).toBe(0);
  });

  it("is as wide as either of them", () => {
    const other = arrange(both, "other");
    expect([...other.weight]).toEqual([100, 100, 50, 50, 50, 50, 0, 0]);
    expect(layout(other, 0, 100).rows.map((row) => row.node)).toEqual([[0], [1], [2, 4], [3, 5]]);
    expect(step(other, 5, "deeper")).toBe(5); // it calls nothing that weighs anything there
  });

  it("says the change in words", () => {
    const versus = { name: "old", total: 100 };
    expect(inWords({ ...graph, versus }, frames, both, 2, "this").lines).toContain(
      "−20.0 points against old, where it is 50 ns",
    );
  });
});

describe("in words", () => {
  it("a frame has its exact weight and its share", () => {
    expect(inWords(graph, frames, tree, 5, "this")).toEqual({
      title: "hot (Java, compiled by C1)",
      lines: ["60 ns (60 ns), 60% of all", "itself 50 ns, 50%"],
    });
  });

  it("amounts have the unit that fits", () => {
    expect(amount(3 * 2 ** 20, "bytes")).toBe("3.00 MiB");
    expect(amount(1000, "bytes")).toBe("1,000 bytes");
    expect(amount(1234, "count")).toBe("1,234");
    expect(amount(1.5e9, "ns")).toBe("1.50 s");
  });

  it("long names lose their packages first, then their end", () => {
    expect(fit("org.example.Foo.bar", 30)).toBe("org.example.Foo.bar");
    expect(fit("org.example.Foo.bar", 10)).toBe("Foo.bar");
    expect(fit("org/example/Foo.bar", 10)).toBe("Foo.bar");
    expect(fit("org.example.Foo.bar", 5)).toBe("Foo.…");
    expect(fit("__libc_start_main", 6)).toBe("__lib…");
  });
});

describe("the table", () => {
  it("counts a method that calls itself once", () => {
    const rows = sums(tree, tree.self, tree.total);
    expect(rows).toEqual([
      { frame: 5, self: 90, total: 90 },
      { frame: 1, self: 5, total: 5 },
      { frame: 4, self: 4, total: 69 },
      { frame: 2, self: 1, total: 100 },
      { frame: 3, self: 0, total: 30 },
    ]);
  });
});
