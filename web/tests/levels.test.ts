import { describe, expect, it } from "vitest";
import { columnsThatFit } from "../src/charts/columns";
import { merged } from "../src/charts/histogram";
import { hasRoom } from "../src/lost_cores/over_time";
import type { LevelRow } from "../src/payload/recording";

const level = (from: number): LevelRow => ({
  ...{ from, to: from, active_ns: from + 1, active_corrected_ns: from, running_ns: 2, running_corrected_ns: null },
  by_kind: { app: 1, gc: 0, jit: 0, vm: 0 },
});
const levels = Array.from({ length: 101 }, (_, i) => level(i));

describe("levels in a narrow room", () => {
  it.each([346, 706, 1146])("are as many columns as it holds, and add up to the same (%d px)", (room) => {
    const most = columnsThatFit(room, 14);
    const shown = merged(levels, most);
    expect(shown.length).toBeLessThanOrEqual(most);
    expect(shown[0]).toEqual(level(0));
    expect(shown.map(({ from }) => from)).toEqual([0, ...shown.slice(0, -1).map(({ to }) => to + 1)]);
    expect(shown[shown.length - 1]?.to).toBe(100);
    const sum = (rows: LevelRow[], of: (row: LevelRow) => number) => rows.reduce((total, row) => total + of(row), 0);
    for (const of of [(r: LevelRow) => r.active_ns, (r: LevelRow) => r.by_kind.app, (r: LevelRow) => r.running_ns])
      expect(sum(shown, of)).toBe(sum(levels, of));
    expect(shown.every((row) => row.running_corrected_ns === null)).toBe(true);
  });

  it("are left alone where they fit", () => {
    expect(merged(levels, 101)).toEqual(levels);
    expect(merged([level(0)], 1)).toEqual([level(0)]);
    expect(merged([], 10)).toEqual([]);
  });
});

describe("the number on the button of a phase", () => {
  it("is left out where it would be cut", () => {
    expect([hasRoom(1, 12), hasRoom(1, 11), hasRoom(12, 20), hasRoom(12, 19)]).toEqual([true, false, true, false]);
  });
});
