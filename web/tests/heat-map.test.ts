import { describe, expect, it } from "vitest";
import { count, shade, sorted } from "../src/charts/heat_map";
import type { HeatRow } from "../src/payload/recording";

const rows: HeatRow[] = [
  {
    name: "w1",
    groups: [
      [1, 0],
      [9, 9],
    ],
    cells: [
      [5, 0],
      [5, 9],
    ],
    own: 0,
  },
  {
    name: "main",
    groups: [
      [3, 2],
      [4, 0],
    ],
    cells: [
      [7, 1],
      [0, 1],
    ],
    own: null,
  },
];

describe("the heat map", () => {
  it("counts one kind, or all together", () => {
    expect(count([5, 7], 1)).toBe(7);
    expect(count([5, 7], -1)).toBe(12);
  });

  it("sorts by names, by groups and by columns, of what is counted", () => {
    const names = (column: number, descending: boolean, kind = -1) =>
      sorted(rows, kind, { column, descending }).map((row) => row.name);
    expect(sorted(rows, -1, null)).toBe(rows);
    expect(names(0, false)).toEqual(["main", "w1"]);
    expect(names(1, true)).toEqual(["main", "w1"]);
    expect(names(2, true)).toEqual(["w1", "main"]);
    expect(names(3, true)).toEqual(["main", "w1"]);
    expect(names(4, false, 1)).toEqual(["main", "w1"]);
  });

  it("shades by the logarithm, nothing at zero, the most at 45 percent", () => {
    expect(shade(0, 100)).toBe("transparent");
    expect(shade(999, 999)).toContain("45.0%");
    expect(shade(9, 999)).toContain("15.0%");
  });
});
