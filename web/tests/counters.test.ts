import { describe, expect, it } from "vitest";
import { darkBins, unitOf } from "../src/counters/over_time";
import { columnsOf, mark, shownValue, sorted } from "../src/counters/rows";
import type { CountedThread, CountersView, KindRates } from "../src/payload/counters";
import { compact } from "../src/ui/format";
import { orderAfter } from "../src/ui/order";

const figure = (value: number | null, low = value, high = value) => ({ value, low, high });
const thread = (name: string, running_ns: number, cycles: number | null): CountedThread => ({
  ...{ name, kind: "app", tid: running_ns, pid: 1, running_ns },
  ...{ counts: [figure(cycles)], metrics: [figure(cycles === null ? null : cycles / 100)] },
});
const rows = [thread("b", 30, 200), thread("a", 10, null), thread("c", 20, 100)];
const view = { events: ["cycles"], metrics: ["CPI"], rows } as unknown as CountersView;
const column = (name: string) => {
  const found = columnsOf(view).find((each) => each.name === name);
  if (!found) throw new Error(name);
  return found;
};
const names = (sortedRows: CountedThread[]) => sortedRows.map((row) => row.name).join("");

describe("the table of counters", () => {
  it("sorts by any column, and what is not known comes last either way", () => {
    expect(names(sorted(rows, column("thread"), false))).toBe("abc");
    expect(names(sorted(rows, column("running"), true))).toBe("bca");
    expect(names(sorted(rows, column("cycles"), true))).toBe("bca");
    expect(names(sorted(rows, column("cycles"), false))).toBe("cba");
    expect(names(sorted(rows, column("CPI"), false))).toBe("cba");
    expect(names(rows as CountedThread[])).toBe("bac");
  });

  it("turns the order round at a second click, and begins with the largest, of names with A", () => {
    expect(orderAfter({ column: 3, descending: true }, 3, false)).toEqual({ column: 3, descending: false });
    expect(orderAfter({ column: 3, descending: false }, 4, false)).toEqual({ column: 4, descending: true });
    expect(orderAfter({ column: 3, descending: true }, 0, true)).toEqual({ column: 0, descending: false });
  });

  it("marks what is not exact, and shows the least where nothing bounds a count above", () => {
    expect([mark(figure(5)), shownValue(figure(5))]).toEqual(["", 5]);
    expect([mark(figure(5, 4, 6)), shownValue(figure(5, 4, 6))]).toEqual(["~", 5]);
    const atLeast = { value: 5, low: 4, high: null };
    expect([mark(atLeast), shownValue(atLeast)]).toEqual(["≥", 4]);
    const ratio = { value: 5, low: null, high: null };
    expect([mark(ratio), shownValue(ratio)]).toEqual(["~", 5]);
    expect(shownValue({ value: null, low: null, high: null })).toBeNull();
  });

  it("writes counts with three digits", () => {
    expect([0, 999, 9999, 12345, 12345678, 1.5e9, 3e12].map(compact)).toEqual([
      ...["0", "999", "9,999", "12.3 k", "12.3 M", "1.50 G", "3.00 T"],
    ]);
  });
});

describe("counters over time", () => {
  const rates = (...values: (number | null)[]): KindRates => ({ kind: "app", event: "cycles", rates: values });

  it("is drawn in a unit of thousands, and says where nothing is known", () => {
    expect(unitOf([rates(1, 999)])).toBe(1);
    expect(unitOf([rates(null, 2e6), rates(5, 0)])).toBe(1e6);
    expect(unitOf([])).toBe(1);
    expect(darkBins([rates(1, null, 0), rates(0, 0, null)])).toEqual([1, 2]);
    expect(darkBins([])).toEqual([]);
  });
});
